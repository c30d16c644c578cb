//! Handles results that arrive later than the responses to their calls: those of tasks.

use std::sync::Arc;

use answerback_mcp::link::unsent_error;
use answerback_mcp::wire::{Id, Message, Object, Shape, code, word};
use answerback_store::StoreError;

use super::RelaySession;
use super::call_exchange::ExchangeOutcome;
use super::client_messages::REPEATED_ID;
use super::pending_calls::CallConflict;
use super::pending_requests::too_many;
use crate::ToolCallRequest;
use crate::list_page::{list_items, string_member};
use crate::task::{
    Task, TaskIdMapping, TaskKey, TaskReference, TaskResultPlace, related_task_id, task_id_in,
};
use crate::task_notes::TaskOwner;

impl RelaySession {
    /// Handles a request for the result or the state of a task.
    pub(super) async fn start_task_request(
        self: &Arc<Self>,
        id: Id,
        method: String,
        place: TaskResultPlace,
        message: Message,
    ) {
        if let Err(conflict) = self.calls.register(&id, self.gateway.settings().most_calls) {
            let reason = match conflict {
                CallConflict::Repeated => REPEATED_ID.to_owned(),
                CallConflict::Busy => too_many(self.gateway.settings().most_calls),
            };
            let answer = Message::error(Some(&id), code::INVALID_REQUEST, &reason, None);
            return self.send_to_client(answer).await;
        }
        let relay = Arc::clone(self);
        self.running.spawn(async move {
            let answer = match relay.task_of(&message).await {
                Ok(Some(reference)) => {
                    Box::pin(relay.run_task_request(&id, place, message, reference)).await
                }
                // The request names no task, so it is forwarded.
                Ok(None) => {
                    let is_cancelled = relay.calls.remove(&id);
                    if !is_cancelled {
                        relay.forward_request(id, &method, message).await;
                    }
                    return;
                }
                Err(answer) => Some(answer),
            };
            relay.calls.remove(&id);
            if let Some(answer) = answer {
                relay.send_to_client(answer).await;
            }
        });
    }

    /// Returns the key of a task of this server.
    fn task_key<'a>(&'a self, id: &'a str) -> TaskKey<'a> {
        let (principal, server) = (self.client.principal(), self.server.name.as_str());
        TaskKey { principal, server, id, scope: &self.scope }
    }

    /// Returns the task that a message refers to. Returns an error response if the task belongs to another
    /// principal, or if its owner cannot be read.
    async fn task_of(&self, message: &Message) -> Result<Option<TaskReference>, Message> {
        let Some(client_id) = task_id_in(message)? else { return Ok(None) };
        let request = match message.shape() {
            Shape::Request { id, .. } => Some(id),
            _ => None,
        };
        let owner = match self.find_owner(&client_id).await {
            Ok(owner) => owner,
            Err(error) => {
                tracing::warn!(cause = %error, "the record of a task cannot be read");
                let text = format!(
                    "what becomes of a task is recorded, and the record cannot be read: {}",
                    error.public_message()
                );
                return Err(Message::error(request, code::INTERNAL_ERROR, &text, None));
            }
        };
        let (owner, id_mapping) = owner;
        let task = match owner {
            TaskOwner::Own(task) => *task,
            TaskOwner::Unknown => {
                let server_id = id_mapping
                    .as_ref()
                    .map_or(client_id.as_str(), |id_mapping| &id_mapping.server_id);
                Task::unknown(self.task_key(server_id))
            }
            // The response must not reveal the actual owner.
            TaskOwner::OtherPrincipal => {
                let text = "there is no such task";
                return Err(Message::error(request, code::INVALID_PARAMS, text, None));
            }
        };
        Ok(Some(TaskReference { task, id_mapping }))
    }

    async fn owner(&self, key: TaskKey<'_>) -> Result<TaskOwner, StoreError> {
        self.gateway.task_notes.owner(self.gateway.recorder(), key).await
    }

    /// Returns the owner of a task, and the mapping of ids if the client uses another id than the server.
    async fn find_owner(
        &self,
        client_id: &str,
    ) -> Result<(TaskOwner, Option<TaskIdMapping>), StoreError> {
        let task_key = self.task_key(client_id);
        let owner = self.owner(task_key).await?;
        if !self.scope.is_shared {
            return Ok((owner, None));
        }
        let is_qualified =
            |owner: &TaskOwner| matches!(owner, TaskOwner::Own(task) if task.is_qualified);
        let is_plain = matches!(&owner, TaskOwner::Own(task) if !task.is_qualified);
        match client_id.strip_prefix(&*self.server.name).and_then(|rest| rest.strip_prefix('/')) {
            Some(server_id) if !is_plain => {
                let task_key = self.task_key(server_id);
                Ok((self.owner(task_key).await?, Some(task_key.qualified_id())))
            }
            _ => {
                let id_mapping = is_qualified(&owner).then(|| task_key.qualified_id());
                Ok((owner, id_mapping))
            }
        }
    }

    /// Returns true if a call of this client created a task with this id, and the id is used in this form.
    /// `is_plain` selects the plain or the qualified form.
    pub(crate) async fn owns_task(&self, id: &str, is_plain: bool) -> bool {
        let owner = self.owner(self.task_key(id)).await;
        matches!(owner, Ok(TaskOwner::Own(task)) if task.is_qualified != is_plain)
    }

    /// Returns true if the plain id of a task of this server is unique among all servers.
    pub(crate) async fn has_unique_task_id(&self, id: &str) -> bool {
        self.gateway
            .task_notes
            .has_unique_id(self.gateway.recorder(), self.task_key(id))
            .await
            .unwrap_or(true)
    }

    /// Returns the qualified id of a task whose plain id is not unique among all servers.
    pub(crate) fn qualified_task_id(&self, id: &str) -> TaskIdMapping {
        self.task_key(id).qualified_id()
    }

    /// Returns a list of tasks without those of other principals, or `None` if it contains none.
    pub(super) async fn visible_tasks(&self, list: &str) -> Option<String> {
        let items = list_items(list, "tasks");
        let mut visible = Vec::with_capacity(items.len());
        for item in &items {
            let is_hidden = match string_member(item, "taskId") {
                Some(id) => {
                    matches!(self.owner(self.task_key(&id)).await, Ok(TaskOwner::OtherPrincipal))
                }
                None => false,
            };
            if !is_hidden {
                visible.push(item.as_str());
            }
        }
        let list = Object::read(list).ok().filter(|_| visible.len() < items.len())?;
        Some(list.with("tasks", &format!("[{}]", visible.join(","))))
    }

    /// Replaces the server's task id with the client's in a message of the server.
    pub(super) async fn with_client_task_id(&self, message: Message) -> Message {
        self.with_renamed_task(message, &["params"], TaskIdMapping::to_client).await
    }

    /// Replaces the client's task id with the server's in a response of the client.
    pub(super) async fn with_server_task_id(&self, message: Message) -> Message {
        self.with_renamed_task(message, &["result"], TaskIdMapping::to_server).await
    }

    /// Replaces the task id in a message with the other side's. The message stays unchanged if both sides use the
    /// same id.
    async fn with_renamed_task(
        &self,
        message: Message,
        place: &[&str],
        rename: fn(&TaskIdMapping, &str, &[&str]) -> Option<String>,
    ) -> Message {
        // Most messages belong to no task, which a quick search shows.
        if !self.scope.is_shared || !word::TASK.is_in(&message) {
            return message;
        }
        let Some(client_id) = related_task_id(message.text(), place) else { return message };
        let with_renamed_task = match self.find_owner(&client_id).await {
            Ok((_, Some(id_mapping))) => rename(&id_mapping, message.text(), place),
            _ => None,
        };
        match with_renamed_task {
            Some(text) => message.with_text(text),
            None => message,
        }
    }

    /// Runs a request about a task to its response. Returns `None` if the client cancelled it.
    async fn run_task_request(
        &self,
        id: &Id,
        place: TaskResultPlace,
        message: Message,
        reference: TaskReference,
    ) -> Option<Message> {
        let request = ToolCallRequest::about_task(message.clone(), &reference.task.tool)?;
        let client_id =
            reference.id_mapping.as_ref().and_then(|it| it.to_server(message.text(), &["params"]));
        let message = match client_id {
            Some(text) => message.with_text(text),
            None => message,
        };
        // After a restart the gateway does not know the tools yet.
        let upstream = match self.tools.upstream() {
            Some(upstream) => upstream,
            None => self
                .upstream_in_time(&request)
                .await
                .unwrap_or_else(|_| self.server.upstream_or_empty()),
        };
        Some(match self.exchange(id, message).await {
            ExchangeOutcome::Answer(reply) => {
                let running =
                    self.gateway.task_result_context(&self.client, &upstream, request, reference);
                self.gateway.deliver_task_result(&upstream, running, reply, place).await
            }
            ExchangeOutcome::Unsent(reason) => unsent_error(id, &reason),
            ExchangeOutcome::Unanswered(reason) => {
                Message::error(Some(id), code::INTERNAL_ERROR, &reason, None)
            }
            ExchangeOutcome::Cancelled { .. } => return None,
        })
    }

    /// Checks a server's notification about a task. Returns `None` if it must be dropped.
    pub(super) async fn check_task_notification(
        &self,
        place: TaskResultPlace,
        message: Message,
    ) -> Option<Message> {
        let reference = match self.task_of(&message).await {
            Ok(Some(reference)) => reference,
            Ok(None) => return Some(message),
            Err(_) => {
                tracing::warn!(upstream = %self.server.name, "what the server told of a task was dropped: it is another client's, or it cannot be told which one, or recorded");
                return None;
            }
        };
        let upstream = self.server.upstream_or_empty();
        let request = ToolCallRequest::about_task(message.clone(), &reference.task.tool)?;
        let running = self.gateway.task_result_context(&self.client, &upstream, request, reference);
        let delivered = self.gateway.deliver_task_result(&upstream, running, message, place).await;
        matches!(delivered.shape(), Shape::Notification { .. }).then_some(delivered)
    }
}
