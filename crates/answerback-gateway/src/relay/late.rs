//! Results that come later than the answers to their calls: those of tasks.

use std::sync::{Arc, PoisonError};

use answerback_mcp::link::unsent;
use answerback_mcp::wire::{Id, Message, Shape, code};

use super::asked::too_many;
use super::{Exchanged, REPEATED, Refusal, Relay, Stage, lock};
use crate::tasks::{Place, Task, subject_of};
use crate::{ToolCall, Toolbox, Upstream};

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
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let answer = match relay.task_of(&message).await {
                Ok(Some(task)) => Box::pin(relay.carry_late(&id, place, message, task)).await,
                // It is about nothing that we know, and passes.
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

    /// The task of a call of this client that a message is about; what is answered, where that cannot be found out.
    async fn task_of(&self, message: &Message) -> Result<Option<Task>, Message> {
        let Some(id) = subject_of(message)? else { return Ok(None) };
        self.gateway.task(&self.client, &self.server.name, &id).await.map_err(|error| {
            let request = match message.shape() {
                Shape::Request { id, .. } => Some(id),
                _ => None,
            };
            let text = format!(
                "what becomes of a task is recorded, and the record cannot be read: {error}"
            );
            Message::error(request, code::INTERNAL_ERROR, &text, None)
        })
    }

    /// Carries a request for what became of a task to its answer; none, when the client does not want it any more.
    async fn carry_late(
        &self,
        id: &Id,
        place: Place,
        message: Message,
        task: Task,
    ) -> Option<Message> {
        let request = ToolCall::named(message.clone(), task.tool())?;
        // A gateway that has just begun has not seen the tools yet.
        let upstream = match self.known() {
            Some(upstream) => upstream,
            None => self.listed_in_time(&request).await.unwrap_or_else(|_| self.as_known()),
        };
        Some(match self.exchange(id, message).await {
            Exchanged::Answer(reply) => {
                let running = self.gateway.late(&self.client, &upstream, request, task);
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
        let task = match self.task_of(&message).await {
            Ok(Some(task)) => task,
            Ok(None) => return Some(message),
            Err(_) => {
                tracing::warn!(upstream = %self.server.name, "what the server told of a task was dropped: it cannot be told which one, or recorded");
                return None;
            }
        };
        let upstream = self.as_known();
        let request = ToolCall::named(message.clone(), task.tool())?;
        let running = self.gateway.late(&self.client, &upstream, request, task);
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
