//! Handles the messages of the client.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use answerback::finding::display_name;
use answerback_mcp::link::unsent_error;
use answerback_mcp::wire::{Id, Message, Object, Shape, code, splice};
use serde_json::{Value, json};

use super::RelaySession;
use super::outbound_queue::SendOutcome;
use super::own_requests::RequestRecipient;
use super::pending_calls::{CallConflict, CancelledStage};
use super::pending_requests::PendingRequest;
use super::request_timeout::NOT_READING;
use crate::ToolCallRequest;
use crate::running_calls::{BoxedCall, CallFuture};
use crate::task::TaskResultPlace;
use crate::tool_call_request::has_form_capability;

/// The reason for rejecting a call whose id is in use.
pub(super) const REPEATED_ID: &str = "a call with this id is under way";

impl RelaySession {
    /// Handles a message of the client.
    pub(crate) async fn receive_from_client(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, method } if method == ToolCallRequest::METHOD => {
                let call = self.start_call(id.clone(), message);
                self.running.spawn(call);
            }
            Shape::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                match TaskResultPlace::in_response_to(&method) {
                    Some(place) => self.start_task_request(id, method, place, message).await,
                    None => self.forward_request(id, &method, message).await,
                }
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                if let Some(id) = cancelled_request(&message) {
                    let is_at_server = self.cancel(&id);
                    self.to_client.close(&id);
                    if !is_at_server {
                        return;
                    }
                }
                self.to_server.send(message);
            }
            Shape::Response { id } => {
                let id = id.clone();
                self.receive_response_from_client(&id, message).await;
            }
            Shape::Batch => {
                // One revision of the protocol allowed batches. A call in a batch would not be checked.
                let text = "batches are not taken: send each message on a line of its own";
                let answer = Message::error(None, code::INVALID_REQUEST, text, None);
                self.send_to_client(answer).await;
            }
            // A call without an id would not be checked.
            Shape::Notification { method } if !method.starts_with("notifications/") => {
                tracing::warn!(upstream = %self.server.name, "a client sent a request without an id; it was dropped");
            }
            Shape::Notification { method } => {
                if self.to_server.send(message.clone()) == SendOutcome::Full {
                    tracing::warn!(upstream = %self.server.name, method, "the server does not read; a notification was dropped");
                }
            }
        }
    }

    async fn receive_response_from_client(&self, id: &Id, message: Message) {
        match self.own_requests.take(id, RequestRecipient::Client) {
            Some(response) => {
                let _ = response.send(message);
            }
            None if self.own_requests.has_issued(id) => {
                tracing::debug!(upstream = %self.server.name, "an answer to what we asked comes too late");
            }
            None => {
                self.requests.remove_of_server(id);
                self.to_server.send(self.with_server_task_id(message).await);
            }
        }
    }

    /// Starts a call that runs in its reader's task. Returns a message that is not a call.
    pub(crate) fn start_call_in_reader(
        self: &Arc<Self>,
        message: Message,
    ) -> Result<CallFuture, Message> {
        match message.shape() {
            Shape::Request { id, method } if method == ToolCallRequest::METHOD => {
                let id = id.clone();
                Ok(self.running.run_in_reader(self.start_call(id, message)))
            }
            _ => Err(message),
        }
    }

    /// Starts a call and returns the future that runs it to its response. The future is boxed because it is large
    /// and moved more than once.
    fn start_call(self: &Arc<Self>, id: Id, message: Message) -> BoxedCall {
        let relay = Arc::clone(self);
        let reject = |code, reason: &str| {
            let answer = Message::error(Some(&id), code, reason, None);
            let relay = Arc::clone(self);
            Box::pin(async move { relay.send_to_client(answer).await })
        };
        let call = match ToolCallRequest::read(message) {
            Ok(call) => {
                // Without a session, the call itself declares this capability.
                let may_ask_user = if call.is_modern {
                    call.supports_forms()
                } else {
                    self.supports_forms.load(Ordering::Acquire)
                };
                let call = call.with_failed_calls_before(self.client.failed_calls());
                Box::new(call.with_may_ask_user(may_ask_user))
            }
            Err(error) => return reject(code::INVALID_PARAMS, &error.to_string()),
        };
        match self.calls.register(&id, self.gateway.settings().most_calls) {
            Ok(()) => {}
            Err(CallConflict::Repeated) => return reject(code::INVALID_REQUEST, REPEATED_ID),
            Err(CallConflict::Busy) => {
                return Box::pin(async move {
                    let upstream = relay.tools.upstream();
                    let (client, server) = (&relay.client, &relay.server.name);
                    let answer =
                        relay.gateway.reject_as_busy(client, server, upstream.as_deref(), &call);
                    relay.send_to_client(answer.await).await;
                });
            }
        }
        Box::pin(async move {
            let answer = relay.run_traced_call(&id, call).await;
            relay.calls.remove(&id);
            if let Some(answer) = answer {
                relay.send_to_client(answer).await;
            }
        })
    }

    /// Forwards a request that is not a call.
    pub(super) async fn forward_request(self: &Arc<Self>, id: Id, method: &str, message: Message) {
        if method == "initialize" {
            self.supports_forms.store(declares_forms(&message), Ordering::Release);
        }
        let request = PendingRequest::of(method, &message);
        let is_subscription = request.is_subscription;
        let limit = self.gateway.settings().most_calls;
        if let Err(reason) = self.requests.add(&id, request, limit) {
            let answer = Message::error(Some(&id), code::INVALID_REQUEST, &reason, None);
            return self.send_to_client(answer).await;
        }
        let reason = match self.to_server.send(message) {
            SendOutcome::Sent if is_subscription => return,
            SendOutcome::Sent => return self.start_timeout(id),
            SendOutcome::Gone => "the server has ended",
            SendOutcome::Full => NOT_READING,
        };
        self.requests.take(&id);
        self.send_to_client(unsent_error(&id, reason)).await;
    }

    /// Handles a cancellation by the client. Returns true if the server must be notified.
    fn cancel(&self, id: &Id) -> bool {
        let was_sent = !self.to_server.take_back(id);
        match self.calls.cancel(id, was_sent) {
            CancelledStage::Checking => return false,
            CancelledStage::Forwarded => {}
            CancelledStage::Unknown => {
                self.requests.take(id);
            }
        }
        was_sent
    }
}

/// Builds the notification that cancels a request.
pub(crate) fn cancellation(id: &Id, reason: &str) -> Message {
    let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = json!({"requestId": request, "reason": reason});
    Message::notification("notifications/cancelled", &params)
}

/// Returns the reason for rejecting a client's message with a repeated name. Parsers behind us could use another
/// value than the one that we checked. Messages of servers are forwarded as they are.
pub(crate) fn repeated_name(message: &Message) -> String {
    let object = Object::read_repeating(message.text()).ok();
    let name = object.as_ref().and_then(Object::repeated).map(display_name);
    let name = name.unwrap_or_else(|| "a name".to_owned());
    format!(
        "{name} stands twice among the members of the message, and readers may take either value: send the message \
         again with each member once"
    )
}

/// Returns true if a client declares that it can show forms to its user.
fn declares_forms(message: &Message) -> bool {
    let message: Value = serde_json::from_str(message.text()).unwrap_or_default();
    has_form_capability(&message["params"]["capabilities"])
}

/// Returns the id of the request that a client cancels.
fn cancelled_request(message: &Message) -> Option<Id> {
    splice::id_at(message.text(), &["params", "requestId"])
}
