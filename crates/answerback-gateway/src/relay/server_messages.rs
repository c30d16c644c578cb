//! Handles the messages of the server.

use std::sync::Arc;

use answerback_mcp::link::{Incoming, StreamState};
use answerback_mcp::wire::{Id, Message, Object, Shape, meta};
use serde_json::Value;
use tokio::sync::mpsc;

use super::RelaySession;
use super::own_requests::RequestRecipient;
use super::pending_requests::ResponseHandling;
use crate::task::TaskResultPlace;

impl RelaySession {
    /// Reads the server's messages until it ends. Returns the ids of the client's requests, other than calls,
    /// that it left unanswered.
    pub(crate) async fn read_server(
        self: Arc<Self>,
        mut from: mpsc::Receiver<Incoming>,
    ) -> Vec<Id> {
        while let Some(incoming) = from.recv().await {
            self.receive_from_server(incoming).await;
        }
        // The server answers nothing from now on.
        self.has_server_ended.send_replace(true);
        self.calls.drop_forwarded();
        self.own_requests.clear();
        self.requests.take_all()
    }

    async fn receive_from_server(&self, incoming: Incoming) {
        let Incoming { message, about, is_streamed, .. } = incoming;
        match message.shape() {
            Shape::Response { id } => {
                let id = id.clone();
                if is_streamed {
                    self.to_client.flows(&id, StreamState::Begun);
                }
                self.receive_response_from_server(&id, message).await;
            }
            Shape::Notification { method } => {
                if method == "notifications/tools/list_changed" {
                    self.tools.invalidate();
                }
                self.record_activity(&message, about.as_ref());
                let notification = match TaskResultPlace::in_notification(method) {
                    Some(place) => Box::pin(self.check_task_notification(place, message)).await,
                    None => Some(self.with_client_task_id(message).await),
                };
                if let Some(notification) = notification {
                    self.forward_to_client(notification, about).await;
                }
            }
            Shape::Request { .. } => {
                self.record_activity(&message, about.as_ref());
                let message = self.with_client_task_id(message).await;
                self.forward_to_client(message, about).await;
            }
            // Links split batches into messages. A batch that arrives here was not checked, so it is dropped.
            Shape::Batch => {
                tracing::warn!(upstream = %self.server.name, "a batch that nobody took apart was dropped");
            }
        }
    }

    async fn receive_response_from_server(&self, id: &Id, message: Message) {
        if let Some(response) = self.own_requests.take(id, RequestRecipient::Server) {
            let _ = response.send(message);
            return;
        }
        let Err(message) = self.calls.respond(id, message) else { return };
        let Some(handling) = self.requests.take(id) else {
            // The response is late, repeated or unrequested. It was not checked and no request waits for it.
            tracing::debug!(upstream = %self.server.name, "an answer that nobody waits for was dropped");
            return;
        };
        let message = match handling {
            ResponseHandling::Forward => message,
            handling => self.process_response(handling, message).await,
        };
        self.send_to_client(message).await;
    }

    async fn forward_to_client(&self, message: Message, about: Option<Id>) {
        let incoming = match about {
            Some(request) => Incoming::about(message, request),
            None => Incoming::from(message),
        };
        self.send_to_client(incoming).await;
    }

    /// Stores facts from a response to the client, and removes items that the client may not see.
    async fn process_response(&self, handling: ResponseHandling, message: Message) -> Message {
        let Ok(object) = Object::read(message.text()) else { return message };
        let Some(result) = object.get("result") else {
            return match handling {
                ResponseHandling::Tools { is_whole: true, is_modern } => {
                    self.replace_with_recent_tools(message, is_modern)
                }
                _ => message,
            };
        };
        let changed = match handling {
            ResponseHandling::Forward => None,
            ResponseHandling::Tasks => self.visible_tasks(result).await,
            ResponseHandling::Initialize => {
                self.tools.set_version(reported_version(result));
                None
            }
            ResponseHandling::Tools { is_whole, .. } => {
                let changes = self.tools.changes();
                let is_last = Object::read(result)
                    .is_ok_and(|page| page.get("nextCursor").is_none_or(|cursor| cursor == "null"));
                if is_whole && is_last {
                    self.adopt_tools(&[result.to_owned()], changes).await;
                }
                self.allowed_tools(result)
            }
        };
        match changed {
            Some(result) => {
                let text = object.with("result", &result);
                message.with_text(text)
            }
            None => message,
        }
    }
}

/// Returns the version that a server reports.
fn reported_version(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let legacy = result["serverInfo"]["version"].as_str();
    let modern = result["_meta"][meta::SERVER]["version"].as_str();
    legacy.or(modern).map(str::to_owned)
}
