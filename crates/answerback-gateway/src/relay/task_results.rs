//! Results that come later than the answers to their calls: those of tasks.

use std::sync::{Arc, PoisonError};

use answerback_mcp::link::unsent;
use answerback_mcp::wire::{Id, Message, Object, Shape, code, word};
use answerback_store::StoreError;

use super::pending_requests::too_many;
use super::{Exchanged, REPEATED, Refusal, Relay, Stage, lock};
use crate::serve::merge;
use crate::task_notes::{RenamedTask, TaskKey, TaskOwner, related};
use crate::tasks::{Late, Place, Task, subject_of};
use crate::{ToolCallRequest, Toolbox, Upstream};

impl Relay {
    /// Takes in a request that asks what became of a task.
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
                // It names no task, and passes.
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

    /// A task of this server, as the server calls it.
    fn key<'a>(&'a self, id: &'a str) -> TaskKey<'a> {
        let (principal, server) = (self.client.principal(), self.server.name.as_str());
        TaskKey { principal, server, id, door: &self.door }
    }

    /// The task that a message is about; what is answered, where it is not this client's or that cannot be found out.
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
            // Whose it is instead is nothing to be told.
            TaskOwner::Others => {
                let text = "there is no such task";
                return Err(Message::error(request, code::INVALID_PARAMS, text, None));
            }
        };
        Ok(Some(Late { task, shown }))
    }

    /// Whose a task is that somebody names, client or server, and what the client calls it where that is another name.
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

    /// Whether a call of this client made a task with this id, and the id is enough to name it among those of all servers,
    /// or is not.
    pub(crate) async fn has_task(&self, id: &str, is_plain: bool) -> bool {
        let found = self.gateway.task(self.key(id)).await;
        matches!(found, Ok(TaskOwner::Own(task)) if task.is_qualified != is_plain)
    }

    /// Whether an id is enough to name a task of this server among those of all servers.
    pub(crate) async fn names_alone(&self, id: &str) -> bool {
        self.gateway.is_plain(self.key(id)).await.unwrap_or(true)
    }

    /// What a client calls a task of this server that has no name of its own among those of all servers.
    pub(crate) fn qualified(&self, id: &str) -> RenamedTask {
        self.key(id).qualified()
    }

    /// A list of tasks without those of other principals; nothing, where there are none in it.
    pub(super) async fn without_others(&self, list: &str) -> Option<String> {
        let items = merge::items(list, "tasks");
        let mut kept = Vec::with_capacity(items.len());
        for item in &items {
            let is_others = match merge::text(item, "taskId") {
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

    /// What the server says, with the client's name for the task that it belongs to.
    pub(super) async fn named_for_client(&self, message: Message) -> Message {
        self.renamed(message, &["params"], RenamedTask::to_client).await
    }

    /// What the client answers, with the server's name for the task that it belongs to.
    pub(super) async fn named_for_server(&self, message: Message) -> Message {
        self.renamed(message, &["result"], RenamedTask::to_server).await
    }

    /// A message with the other side's name for the task that it belongs to; as it is, where both call it the same.
    async fn renamed(
        &self,
        message: Message,
        place: &[&str],
        rename: fn(&RenamedTask, &str, &[&str]) -> Option<String>,
    ) -> Message {
        // Most messages belong to none, and that is seen without reading them.
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

    /// Carries a request for what became of a task to its answer; none, when the client does not want it any more.
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
        // A gateway that has just begun has not seen the tools yet.
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

    /// Looks at what a server tells of a task without having been asked; nothing, where it cannot be given.
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

    /// The server as it was seen last; without any tools, where nobody has.
    fn as_known(&self) -> Arc<Upstream> {
        let known = self.server.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        known
            .unwrap_or_else(|| Arc::new(Upstream::new(&self.server.name, None, Toolbox::default())))
    }
}
