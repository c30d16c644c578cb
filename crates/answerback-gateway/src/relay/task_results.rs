//! Handles results that arrive later than the responses to their calls: those of tasks.

use std::sync::{Arc, PoisonError};

use answerback_mcp::link::unsent;
use answerback_mcp::wire::{Id, Message, Object, Shape, code, word};
use answerback_store::StoreError;

use super::pending_requests::too_many;
use super::{Exchanged, REPEATED, Refusal, Relay, Stage, lock};
use crate::list_page::{list_items, string_member};
use crate::task_notes::{RenamedTask, TaskKey, TaskOwner, related};
use crate::tasks::{Late, Place, Task, subject_of};
use crate::{ToolCallRequest, Toolbox, Upstream};

impl Relay {
    /// Handles a request for the result or the state of a task.
    pub(super) async fn begin_late(
        self: &Arc<Self>,
        id: Id,
        method: String,
        place: Place,
        message: Message,
    ) {
        if let Err(refusal) = self.enter(&id) {
            let reason = match refusal {
                Refusal::Repeated => REPEATED.to_owned(),
                Refusal::Busy => too_many(self.gateway.settings().most_calls),
            };
            let answer = Message::error(Some(&id), code::INVALID_REQUEST, &reason, None);
            return self.tell(answer).await;
        }
        let relay = Arc::clone(self);
        lock(&self.under_way).spawn(async move {
            let answer = match relay.task_of(&message).await {
                Ok(Some(late)) => Box::pin(relay.carry_late(&id, place, message, late)).await,
                // The request names no task, so it is forwarded.
                Ok(None) => {
                    let stage = lock(&relay.calls).remove(&id);
                    if !matches!(stage, Some(Stage::Admitting { is_cancelled: true })) {
                        relay.ask(id, &method, message).await;
                    }
                    return;
                }
                Err(answer) => Some(answer),
            };
            lock(&relay.calls).remove(&id);
            if let Some(answer) = answer {
                relay.tell(answer).await;
            }
        });
    }

    /// Returns the key of a task of this server.
    fn key<'a>(&'a self, id: &'a str) -> TaskKey<'a> {
        let (principal, server) = (self.client.principal(), self.server.name.as_str());
        TaskKey { principal, server, id, door: &self.door }
    }

    /// Returns the task that a message refers to. Returns an error response if the task belongs to another
    /// principal, or if its owner cannot be read.
    async fn task_of(&self, message: &Message) -> Result<Option<Late>, Message> {
        let Some(named) = subject_of(message)? else { return Ok(None) };
        let request = match message.shape() {
            Shape::Request { id, .. } => Some(id),
            _ => None,
        };
        let found = match self.find(&named).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(cause = %error, "the record of a task cannot be read");
                let text = format!(
                    "what becomes of a task is recorded, and the record cannot be read: {}",
                    error.public_message()
                );
                return Err(Message::error(request, code::INTERNAL_ERROR, &text, None));
            }
        };
        let (found, shown) = found;
        let task = match found {
            TaskOwner::Own(task) => *task,
            TaskOwner::Nobody => {
                let own = shown.as_ref().map_or(named.as_str(), |shown| &shown.own);
                Task::unknown(self.key(own))
            }
            // The response must not reveal the actual owner.
            TaskOwner::Others => {
                let text = "there is no such task";
                return Err(Message::error(request, code::INVALID_PARAMS, text, None));
            }
        };
        Ok(Some(Late { task, shown }))
    }

    /// Returns the owner of a task, and the mapping of ids if the client uses another id than the server.
    async fn find(&self, named: &str) -> Result<(TaskOwner, Option<RenamedTask>), StoreError> {
        let key = self.key(named);
        let found = self.gateway.task(key).await?;
        if !self.door.is_shared {
            return Ok((found, None));
        }
        let is_qualified =
            |found: &TaskOwner| matches!(found, TaskOwner::Own(task) if task.is_qualified);
        let is_plain = matches!(&found, TaskOwner::Own(task) if !task.is_qualified);
        match named.strip_prefix(&*self.server.name).and_then(|rest| rest.strip_prefix('/')) {
            Some(own) if !is_plain => {
                let key = self.key(own);
                Ok((self.gateway.task(key).await?, Some(key.qualified())))
            }
            _ => {
                let shown = is_qualified(&found).then(|| key.qualified());
                Ok((found, shown))
            }
        }
    }

    /// Returns true if a call of this client created a task with this id, and the id is used in this form.
    /// `is_plain` selects the plain or the qualified form.
    pub(crate) async fn has_task(&self, id: &str, is_plain: bool) -> bool {
        let found = self.gateway.task(self.key(id)).await;
        matches!(found, Ok(TaskOwner::Own(task)) if task.is_qualified != is_plain)
    }

    /// Returns true if the plain id of a task of this server is unique among all servers.
    pub(crate) async fn names_alone(&self, id: &str) -> bool {
        self.gateway.is_plain(self.key(id)).await.unwrap_or(true)
    }

    /// Returns the qualified id of a task whose plain id is not unique among all servers.
    pub(crate) fn qualified(&self, id: &str) -> RenamedTask {
        self.key(id).qualified()
    }

    /// Returns a list of tasks without those of other principals, or `None` if it contains none.
    pub(super) async fn without_others(&self, list: &str) -> Option<String> {
        let items = list_items(list, "tasks");
        let mut kept = Vec::with_capacity(items.len());
        for item in &items {
            let is_others = match string_member(item, "taskId") {
                Some(id) => matches!(self.gateway.task(self.key(&id)).await, Ok(TaskOwner::Others)),
                None => false,
            };
            if !is_others {
                kept.push(item.as_str());
            }
        }
        let list = Object::read(list).ok().filter(|_| kept.len() < items.len())?;
        Some(list.with("tasks", &format!("[{}]", kept.join(","))))
    }

    /// Replaces the server's task id with the client's in a message of the server.
    pub(super) async fn named_for_client(&self, message: Message) -> Message {
        self.renamed(message, &["params"], RenamedTask::to_client).await
    }

    /// Replaces the client's task id with the server's in a response of the client.
    pub(super) async fn named_for_server(&self, message: Message) -> Message {
        self.renamed(message, &["result"], RenamedTask::to_server).await
    }

    /// Replaces the task id in a message with the other side's. The message stays unchanged if both sides use the
    /// same id.
    async fn renamed(
        &self,
        message: Message,
        place: &[&str],
        rename: fn(&RenamedTask, &str, &[&str]) -> Option<String>,
    ) -> Message {
        // Most messages belong to no task, which a quick search shows.
        if !self.door.is_shared || !word::TASK.is_in(&message) {
            return message;
        }
        let Some(named) = related(message.text(), place) else { return message };
        let renamed = match self.find(&named).await {
            Ok((_, Some(shown))) => rename(&shown, message.text(), place),
            _ => None,
        };
        match renamed {
            Some(text) => message.with_text(text),
            None => message,
        }
    }

    /// Runs a request about a task to its response. Returns `None` if the client cancelled it.
    async fn carry_late(
        &self,
        id: &Id,
        place: Place,
        message: Message,
        late: Late,
    ) -> Option<Message> {
        let request = ToolCallRequest::named(message.clone(), late.task.tool())?;
        let named = late.shown.as_ref().and_then(|it| it.to_server(message.text(), &["params"]));
        let message = match named {
            Some(text) => message.with_text(text),
            None => message,
        };
        // After a restart the gateway does not know the tools yet.
        let upstream = match self.known() {
            Some(upstream) => upstream,
            None => self.listed_in_time(&request).await.unwrap_or_else(|_| self.as_known()),
        };
        Some(match self.exchange(id, message).await {
            Exchanged::Answer(reply) => {
                let running = self.gateway.late(&self.client, &upstream, request, late);
                self.gateway.deliver_late(&upstream, running, reply, place).await
            }
            Exchanged::Unsent(reason) => unsent(id, &reason),
            Exchanged::Unanswered(reason) => {
                Message::error(Some(id), code::INTERNAL_ERROR, &reason, None)
            }
            Exchanged::Cancelled { .. } => return None,
        })
    }

    /// Checks a server's notification about a task. Returns `None` if it must be dropped.
    pub(super) async fn look_at_news(&self, place: Place, message: Message) -> Option<Message> {
        let late = match self.task_of(&message).await {
            Ok(Some(late)) => late,
            Ok(None) => return Some(message),
            Err(_) => {
                tracing::warn!(upstream = %self.server.name, "what the server told of a task was dropped: it is another client's, or it cannot be told which one, or recorded");
                return None;
            }
        };
        let upstream = self.as_known();
        let request = ToolCallRequest::named(message.clone(), late.task.tool())?;
        let running = self.gateway.late(&self.client, &upstream, request, late);
        let given = self.gateway.deliver_late(&upstream, running, message, place).await;
        matches!(given.shape(), Shape::Notification { .. }).then_some(given)
    }

    /// Returns the server's last known state, or a server without tools.
    fn as_known(&self) -> Arc<Upstream> {
        let known = self.server.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        known
            .unwrap_or_else(|| Arc::new(Upstream::new(&self.server.name, None, Toolbox::default())))
    }
}
