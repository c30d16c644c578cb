//! Runs a call to its response: admits it, sends it to the server, and delivers the result.

use answerback_mcp::link::{DirectResponse, is_unsent_error, link_error_reason};
use answerback_mcp::wire::{Id, Message};
use tokio::sync::oneshot;

use super::RelaySession;
use super::outbound_queue::SendOutcome;
use super::pending_calls::ForwardOutcome;
use super::pending_requests::RequestActivity;
use super::request_timeout::NOT_READING;
use crate::{Admission, ForwardedCall, ToolCallRequest, Upstream};

/// Describes how an exchange with the server ended.
pub(super) enum ExchangeOutcome {
    Answer(Message),
    /// The message was never sent.
    Unsent(String),
    /// The server received the message and will not answer.
    Unanswered(String),
    /// The client cancelled the call. `was_sent` is true if the server had received it.
    Cancelled {
        was_sent: bool,
    },
}

impl RelaySession {
    /// Runs a call to its response, within a span if a tracer is configured.
    #[cfg(feature = "otel")]
    pub(super) async fn run_traced_call(
        &self,
        id: &Id,
        mut call: Box<ToolCallRequest>,
    ) -> Option<Message> {
        let Some(tracer) = &self.gateway.tracer else { return self.run_call(id, call).await };
        let Some(span) = crate::tracer::CallSpan::begin(&call, &self.server.name) else {
            return self.run_call(id, call).await;
        };
        call.message = span.propagate(call.message);
        let answer = self.run_call(id, call).await;
        tracer.end(span, answer.as_ref());
        answer
    }

    #[cfg(not(feature = "otel"))]
    pub(super) async fn run_traced_call(
        &self,
        id: &Id,
        call: Box<ToolCallRequest>,
    ) -> Option<Message> {
        self.run_call(id, call).await
    }

    /// Runs a call to its response. Returns `None` if the client cancelled it.
    async fn run_call(&self, id: &Id, call: Box<ToolCallRequest>) -> Option<Message> {
        let upstream = match self.tools.upstream() {
            Some(upstream) => upstream,
            None => match Box::pin(self.upstream_in_time(&call)).await {
                Ok(upstream) => upstream,
                Err(reason) => {
                    let (client, server) = (&self.client, &self.server.name);
                    let answer =
                        self.gateway.reject_with_unknown_tools(client, server, &call, &reason);
                    return Some(Box::pin(answer).await);
                }
            },
        };
        let mut admission = self.admit(&upstream, call).await;
        if let Admission::Ask(blocked) = admission {
            admission = Box::pin(self.ask_user(&upstream, *blocked)).await;
        }
        let answer = match admission {
            Admission::Forward(forwarded) => {
                return self.run_forwarded_call(id, &upstream, forwarded).await;
            }
            Admission::Answer(answer) => answer,
            // The user was already asked once.
            Admission::Ask(blocked) => blocked.answer,
        };
        self.client.count_failed_call();
        Some(answer)
    }

    /// Runs an admitted call to its response. Returns `None` if the client cancelled it.
    async fn run_forwarded_call(
        &self,
        id: &Id,
        upstream: &Upstream,
        forwarded: ForwardedCall,
    ) -> Option<Message> {
        let ForwardedCall { message, mut context } = forwarded;
        context.scope = self.scope.clone();
        Some(match self.exchange(id, message).await {
            ExchangeOutcome::Answer(reply) => self.gateway.deliver(upstream, context, reply).await,
            ExchangeOutcome::Unsent(reason) => self.gateway.fail_unsent(context, &reason).await,
            ExchangeOutcome::Unanswered(reason) => self.gateway.fail(context, &reason).await,
            ExchangeOutcome::Cancelled { was_sent } => {
                Box::pin(self.gateway.record_cancellation(context, was_sent)).await;
                return None;
            }
        })
    }

    /// Sends a registered call to the server and waits for the response.
    pub(super) async fn exchange(&self, id: &Id, message: Message) -> ExchangeOutcome {
        let (sender, response) = oneshot::channel();
        if !self.calls.mark_forwarded(id, sender, RequestActivity::of(&message)) {
            return ExchangeOutcome::Cancelled { was_sent: false };
        }
        let has_server_ended = *self.has_server_ended.borrow();
        let direct = if has_server_ended {
            Err(message)
        } else {
            self.direct.send(message, self.to_client.watch(id))
        };
        let (answering, sent) = match direct {
            Ok(answering) => (Some(answering), SendOutcome::Sent),
            Err(_) if has_server_ended => (None, SendOutcome::Gone),
            Err(message) => (None, self.to_server.send(message)),
        };
        match sent {
            SendOutcome::Sent => {}
            SendOutcome::Gone => return ExchangeOutcome::Unsent("the server has ended".to_owned()),
            SendOutcome::Full => return ExchangeOutcome::Unsent(NOT_READING.to_owned()),
        }
        let response = tokio::select! {
            biased;
            response = first_response(answering, response) => Ok(response),
            reason = self.wait_for_timeout(id) => Err(reason),
        };
        match response {
            Ok(Ok(ForwardOutcome::Message(reply))) => match link_error_reason(&reply) {
                Some(reason) if is_unsent_error(&reply) => ExchangeOutcome::Unsent(reason),
                Some(reason) => ExchangeOutcome::Unanswered(reason),
                None => ExchangeOutcome::Answer(reply),
            },
            Ok(Ok(ForwardOutcome::Cancelled { was_sent })) => {
                ExchangeOutcome::Cancelled { was_sent }
            }
            Ok(Err(_)) => {
                ExchangeOutcome::Unanswered("the server ended before it answered".to_owned())
            }
            Err(reason) => {
                // A later response of the server is dropped.
                self.calls.remove(id);
                if self.to_server.take_back(id) {
                    return ExchangeOutcome::Unsent(NOT_READING.to_owned());
                }
                self.cancel_at_server(id);
                ExchangeOutcome::Unanswered(reason)
            }
        }
    }
}

/// Waits for the response to a call, which may arrive directly or over the link.
async fn first_response(
    answering: Option<DirectResponse>,
    mut response: oneshot::Receiver<ForwardOutcome>,
) -> Result<ForwardOutcome, oneshot::error::RecvError> {
    if let Some(answering) = answering {
        tokio::select! {
            answer = answering => if let Some(answer) = answer {
                return Ok(ForwardOutcome::Message(answer));
            },
            response = &mut response => return response,
        }
    }
    response.await
}
