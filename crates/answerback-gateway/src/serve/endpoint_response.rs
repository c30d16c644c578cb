//! Builds the HTTP responses of an endpoint: a single message, an event stream or a rejection.

use std::time::Duration;

use answerback_http::ShutdownSignal;
use answerback_mcp::wire::{Id, Message, Shape, code};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;

use super::client_session::{ClientSession, SessionLimitError};
use super::event_stream_body::{EventStreamBody, OnDisconnect};
use crate::ResponseMode;
use crate::response_streams::{ResponseKind, StreamReader};

/// The first revision whose clients understand events with an id and no message, and resume a stream that ends
/// early. For older clients such an event is an error.
const PRIMING_REVISION: &str = "2025-11-25";
/// The time after which a response becomes a stream, so that the client knows that the request is in progress.
pub(super) const STREAM_DELAY: Duration = Duration::from_secs(5);
/// The seconds after which a client should try again to open a session.
const RETRY_AFTER: &str = "10";
pub(super) const NO_RANDOMNESS: &str =
    "the operating system provides no random bytes for a session id";
pub(super) const NO_SERVER: &str = "the server of this endpoint no longer exists";
const UNKNOWN_SESSION: &str = "there is no session with this id; begin a new one with initialize";
pub(super) const UNKNOWN_EVENT: &str =
    "this session has no event with this id any more, so its stream cannot be resumed";

/// Builds the response for a client with a session. It is a single message if that is complete and the server
/// answers that way. Otherwise, or if the settings require it, it is an event stream.
///
/// A client of these revisions that disconnects has not cancelled its request. Once it has received an event, it
/// can resume the stream.
pub(super) fn session_response(
    session: &ClientSession,
    id: &Id,
    reader: StreamReader,
    kind: ResponseKind,
    revision: Option<&str>,
) -> Response {
    match kind {
        ResponseKind::Single(message) => message_response(StatusCode::OK, message),
        ResponseKind::None => message_response(StatusCode::OK, no_response(id)),
        ResponseKind::Stream => {
            let is_primed = revision.is_some_and(|revision| revision >= PRIMING_REVISION);
            let priming = reader.begin(is_primed);
            session_events(session, reader, None).with_first(priming).into_response()
        }
    }
}

/// Builds the body of a stream for a client with a session.
pub(super) fn session_events(
    session: &ClientSession,
    reader: StreamReader,
    shutdown: Option<ShutdownSignal>,
) -> EventStreamBody {
    let is_polled = session.response_mode == ResponseMode::Poll && !reader.is_general();
    let events = EventStreamBody::resumable(reader, shutdown);
    if is_polled { events.ending_when_idle() } else { events }
}

/// Builds the error for a request that gets no response.
fn no_response(id: &Id) -> Message {
    let text = "there is no response: the request was cancelled, or its session ended";
    Message::error(Some(id), code::INTERNAL_ERROR, text, None)
}

/// Builds the response for a client without a session. It is a single message if that is complete, and an event
/// stream otherwise.
pub(super) async fn stateless_response(
    id: &Id,
    mut messages: mpsc::Receiver<Message>,
    on_disconnect: OnDisconnect,
    shutdown: Option<ShutdownSignal>,
    status: impl Fn(&Message) -> StatusCode,
) -> Response {
    // A client that stops waiting has cancelled the request.
    let mut guard = DisconnectGuard(Some(on_disconnect));
    let first = match tokio::time::timeout(STREAM_DELAY, messages.recv()).await {
        Ok(Some(message)) if matches!(message.shape(), Shape::Response { .. }) => {
            return message_response(status(&message), message);
        }
        Ok(Some(message)) => Some(message),
        Ok(None) => return message_response(StatusCode::OK, no_response(id)),
        Err(_) => None,
    };
    EventStreamBody::unresumable(first.as_ref(), messages, shutdown, guard.0.take()).into_response()
}

/// Runs the callback when dropped, unless the callback was taken.
struct DisconnectGuard(Option<OnDisconnect>);

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        if let Some(on_disconnect) = self.0.take() {
            on_disconnect();
        }
    }
}

/// Rejects a client because there are too many sessions.
pub(super) fn too_many_sessions(error: SessionLimitError, initialize: &Message) -> Response {
    let (status, text) = match error {
        SessionLimitError::PerToken(limit) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "this token has {limit} sessions already: end one with DELETE, or raise gateway.most_sessions_per_token"
            ),
        ),
        SessionLimitError::Total(limit) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "there are {limit} sessions already: try again later, or raise gateway.most_sessions"
            ),
        ),
    };
    let mut response = reject(status, Some(initialize), &text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    response
}

pub(super) fn unknown_session(message: Option<&Message>) -> Response {
    reject(StatusCode::NOT_FOUND, message, UNKNOWN_SESSION)
}

/// The reason why a message could not be read.
pub(super) struct MessageReadError {
    pub(super) status: StatusCode,
    /// The JSON-RPC error code.
    pub(super) code: i32,
    pub(super) text: String,
}

impl IntoResponse for MessageReadError {
    fn into_response(self) -> Response {
        message_response(self.status, Message::error(None, self.code, &self.text, None))
    }
}

/// Builds a JSON-RPC error with this HTTP status.
pub(super) fn reject(status: StatusCode, message: Option<&Message>, text: &str) -> Response {
    let id = match message.map(Message::shape) {
        Some(Shape::Request { id, .. }) => Some(id),
        _ => None,
    };
    message_response(status, Message::error(id, code::INVALID_REQUEST, text, None))
}

/// Builds the response to a method that the endpoint does not support for this client.
pub(super) fn method_not_allowed() -> Response {
    let allow = [(header::ALLOW, "POST")];
    (StatusCode::METHOD_NOT_ALLOWED, allow).into_response()
}

/// A response that is one message.
pub(super) fn message_response(status: StatusCode, message: Message) -> Response {
    let mut response = Response::new(Body::from(message.into_text()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// A response without a body.
pub(super) fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
