//! Forwards the messages of the servers to the client, and responses to the tasks that wait for them.

use std::sync::Arc;

use answerback_mcp::link::Incoming;
use answerback_mcp::wire::Shape;
use tokio::sync::mpsc;

use super::request_id::{client_id, translate_cancellation};
use super::set::{UpstreamSet, lock};
use super::subscriptions::ACKNOWLEDGED;

impl UpstreamSet {
    /// Forwards the messages of a server.
    pub(super) async fn forward_server_messages(
        self: Arc<Self>,
        index: usize,
        mut messages: mpsc::Receiver<Incoming>,
    ) {
        let mut is_closed = self.is_closed.subscribe();
        loop {
            // Messages that arrived earlier are still forwarded.
            let incoming = tokio::select! {
                biased;
                incoming = messages.recv() => incoming,
                _ = is_closed.wait_for(|is_closed| *is_closed) => None,
            };
            let Some(incoming) = incoming else { return };
            match incoming.message.shape() {
                Shape::Response { id } => {
                    if self.handle_subscription_end(index, id, &incoming.message).await {
                        continue;
                    }
                    let receiver = {
                        let mut pending = lock(&self.pending_responses);
                        let is_expected =
                            pending.get(id).is_some_and(|(server, _)| *server == index);
                        if is_expected { pending.remove(id) } else { None }
                    };
                    match receiver {
                        Some((_, sender)) => {
                            let _ = sender.send(incoming.message);
                        }
                        None => {
                            lock(&self.routes).remove(id);
                            self.client_sink.send(incoming).await;
                        }
                    }
                }
                Shape::Request { id, .. } => {
                    // Each server has its own ids, so a prefix identifies the server.
                    let ours = client_id(index, id);
                    let message = incoming.message.with_id(&ours);
                    self.send_to_client(message, incoming.about).await;
                }
                Shape::Notification { method } if method == "notifications/cancelled" => {
                    let message = translate_cancellation(index, &incoming.message);
                    self.send_to_client(message.unwrap_or(incoming.message), incoming.about).await;
                }
                Shape::Notification { method } => {
                    if method == "notifications/tools/list_changed" {
                        lock(&self.tool_cache).mark_changed();
                    }
                    let is_ours = method == ACKNOWLEDGED
                        && self.handle_acknowledgment(index, &incoming.message).await;
                    if !is_ours {
                        self.client_sink.send(incoming).await;
                    }
                }
                Shape::Batch => {}
            }
        }
    }
}
