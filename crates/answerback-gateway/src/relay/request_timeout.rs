//! Ends requests that the server does not answer in time.

use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::link::unsent_error;
use answerback_mcp::wire::{Id, Message, Shape, code, splice};
use tokio::time::Instant;

use super::{RelaySession, cancellation};

/// The reason for a message that is not sent.
pub(super) const NOT_READING: &str = "the server does not read what it is told";

impl RelaySession {
    /// Starts the timeout of a request that is not a call.
    pub(super) fn start_timeout(self: &Arc<Self>, id: Id) {
        let relay = Arc::clone(self);
        let request = id.clone();
        let timer = tokio::spawn(async move {
            let reason = relay.wait_for_timeout(&request).await;
            if !relay.requests.remove_expired(&request) {
                return;
            }
            let was_sent = !relay.to_server.take_back(&request);
            let answer = if was_sent {
                relay.cancel_at_server(&request);
                Message::error(Some(&request), code::INTERNAL_ERROR, &reason, None)
            } else {
                unsent_error(&request, NOT_READING)
            };
            relay.send_to_client(answer).await;
        });
        self.requests.set_timer(&id, timer.abort_handle());
    }

    /// Cancels a request at the server after a timeout.
    pub(super) fn cancel_at_server(&self, id: &Id) {
        self.to_server.send(cancellation(id, "it took too long"));
    }

    /// Waits until a request that starts now times out, and returns the reason. There is a limit in total and one
    /// since the last message about the request. The second is suspended while the client must answer the server.
    pub(super) async fn wait_for_timeout(&self, id: &Id) -> String {
        let settings = self.gateway.settings();
        let end = Instant::now() + settings.call_time;
        let Some(idle) = settings.idle_time else {
            tokio::time::sleep_until(end).await;
            return too_long(settings.call_time);
        };
        let mut since = Instant::now();
        loop {
            tokio::time::sleep_until(end.min(since + idle)).await;
            let now = Instant::now();
            if now >= end {
                return too_long(settings.call_time);
            }
            if self.requests.has_server_requests() {
                since = now;
                continue;
            }
            let last = self.calls.last_activity(id).or_else(|| self.requests.last_activity(id));
            let last = last.unwrap_or(since).max(since);
            if last + idle <= now {
                return format!("nothing was heard of it for {} seconds", idle.as_secs());
            }
            since = last;
        }
    }

    /// Sets the time of the last message for the requests that a server's message belongs to.
    pub(super) fn record_activity(&self, message: &Message, about: Option<&Id>) {
        let token = match message.shape() {
            Shape::Request { id, .. } => {
                self.requests.add_of_server(id, self.gateway.settings().most_calls);
                None
            }
            Shape::Notification { method } => match method.as_str() {
                "notifications/progress" => {
                    splice::id_at(message.text(), &["params", "progressToken"])
                }
                "notifications/cancelled" => {
                    if let Some(id) = splice::id_at(message.text(), &["params", "requestId"]) {
                        self.requests.remove_of_server(&id);
                    }
                    None
                }
                _ => None,
            },
            _ => None,
        };
        if about.is_none() && token.is_none() {
            return;
        }
        let now = Instant::now();
        self.calls.record_activity(about, token.as_ref(), now);
        self.requests.record_activity(about, token.as_ref(), now);
    }
}

/// Returns the reason for ending a request after its timeout.
pub(super) fn too_long(limit: Duration) -> String {
    format!("the server did not answer within {} seconds", limit.as_secs())
}
