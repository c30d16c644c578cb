//! Serves one Streamable HTTP endpoint, for clients of both eras.

use std::sync::Arc;
use std::time::Duration;

use answerback_http::{Alarm, Closing, Principal};
use answerback_mcp::wire::{Id, LEGACY_REVISIONS, Message, MessageError, Shape, code, splice};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::mpsc;

use super::body::{EventBody, Leave, empty, json};
use super::header_validation::{self, VERSION_HEADER, VERSIONS};
use super::session::{ClientSession, NoRoom};
use super::stateless::{FaceKey, NoFace};
use super::stream::Due;
use super::streams::Told;
use super::{Service, Streams};
use crate::Client;
use crate::relay::repeated_name;
use crate::settings::Answers;

/// The header with the session id.
const SESSION: &str = "mcp-session-id";
/// The header with the id of the last event that the client received.
const LAST_EVENT: &str = "last-event-id";
/// The first revision whose clients understand events with an id and no message, and resume a stream that ends
/// early. For older clients such an event is an error.
const PRIMED: &str = "2025-11-25";
/// The time after which a response becomes a stream, so that the client knows that the request is in progress.
const QUIET: Duration = Duration::from_secs(5);

/// Holds the context of an HTTP request.
struct EndpointRequest<'a> {
    service: &'a Arc<Service>,
    /// The server of the endpoint, or `None` for all servers.
    endpoint: Option<&'a str>,
    principal: String,
    closing: Closing,
    /// The timer of the connection.
    alarm: Alarm,
}

/// Handles an HTTP request at an endpoint.
pub(crate) async fn answer(
    service: &Arc<Service>,
    endpoint: Option<&str>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    // The guard always sets both. Without them the request is not authenticated.
    let (Some(principal), Some(closing)) =
        (parts.extensions.get::<Principal>(), parts.extensions.get::<Closing>())
    else {
        return empty(StatusCode::UNAUTHORIZED);
    };
    let principal = principal.name().to_owned();
    let alarm = parts.extensions.get().cloned().unwrap_or_default();
    let visit = EndpointRequest { service, endpoint, principal, closing: closing.clone(), alarm };
    match parts.method {
        Method::POST => {
            if let Err(refused) = fits(&parts.headers) {
                return unread(refused);
            }
            match body.collect().await {
                Ok(body) => visit.post(&parts.headers, body.to_bytes()).await,
                // The body exceeds the guard's limit, or the client is gone.
                Err(error) => refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &error.to_string()),
            }
        }
        Method::GET => visit.listen(&parts.headers),
        Method::DELETE => Box::pin(visit.end(&parts.headers)).await,
        _ => not_allowed(),
    }
}

/// Checks the content type and the `Accept` header of a request.
fn fits(headers: &HeaderMap) -> Result<(), MessageReadError> {
    let said = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kind = said(header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        let text = "the body has to be application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, code::INVALID_REQUEST, text.to_owned()));
    }
    let accepted = said(header::ACCEPT).unwrap_or_default();
    // Most clients send exactly this value.
    if accepted == "application/json, text/event-stream" {
        return Ok(());
    }
    let accepted = accepted.to_ascii_lowercase();
    let takes = |words: [&str; 3]| words.iter().any(|word| accepted.contains(word));
    let takes_json = takes(["application/json", "application/*", "*/*"]);
    let takes_events = takes(["text/event-stream", "text/*", "*/*"]);
    if !takes_json || !takes_events {
        let text = "the header Accept has to name application/json and text/event-stream";
        return Err((StatusCode::NOT_ACCEPTABLE, code::INVALID_REQUEST, text.to_owned()));
    }
    Ok(())
}

impl EndpointRequest<'_> {
    async fn post(&self, headers: &HeaderMap, body: Bytes) -> Response {
        let message = match read(body) {
            Ok(message) => message,
            Err(refused) => return unread(refused),
        };
        if matches!(message.shape(), Shape::Batch) {
            let text = "batches are not taken: send each message on its own";
            return refuse(StatusCode::BAD_REQUEST, None, text);
        }
        if message.repeats() {
            return refuse(StatusCode::BAD_REQUEST, Some(&message), &repeated_name(&message));
        }
        if let Shape::Notification { method } = message.shape()
            && !method.starts_with("notifications/")
        {
            return refuse(StatusCode::BAD_REQUEST, None, "a request needs an id");
        }
        let stated = header_validation::version(&message);
        let named = headers.get(VERSION_HEADER).and_then(|value| value.to_str().ok());
        let is_modern = stated.is_some() || named.is_some_and(|name| VERSIONS.contains(&name));
        if is_modern {
            let answer = self.post_stateless(headers, message, stated.as_deref());
            return Box::pin(answer).await;
        }
        if let Some(name) = named.filter(|name| !LEGACY_REVISIONS.contains(name)) {
            let text = format!(
                "the revision {name} of the protocol is not supported; known are {}",
                [&LEGACY_REVISIONS[..], VERSIONS].concat().join(", ")
            );
            return refuse(StatusCode::BAD_REQUEST, Some(&message), &text);
        }
        match headers.get(SESSION).map(|name| name.to_str().unwrap_or_default()) {
            Some(name) => match self.session(name) {
                Some(session) => self.post_in(&session, message, named).await,
                None => gone(&message),
            },
            // This happens once per session. Boxing keeps the future small for other requests.
            None if is_greeting(&message) => Box::pin(self.begin(message)).await,
            None => {
                let text = "the header Mcp-Session-Id is missing: begin with initialize, or say \
                            io.modelcontextprotocol/protocolVersion in _meta";
                refuse(StatusCode::BAD_REQUEST, Some(&message), text)
            }
        }
    }

    fn session(&self, name: &str) -> Option<Arc<ClientSession>> {
        self.service.sessions.get(name, &self.principal, self.endpoint)
    }

    /// Creates a session and handles its first message.
    async fn begin(&self, initialize: Message) -> Response {
        let current = self.service.current();
        let settings = current.gateway.settings();
        if let Err(full) = self.service.sessions.check_room(&self.principal, settings.limits) {
            return no_room(full, &initialize);
        }
        let (Ok(client), Ok(name)) =
            (Client::new(&self.principal), answerback_store::system::uuid())
        else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, Some(&initialize), NO_RANDOMNESS);
        };
        let Ok(word) = answerback_store::system::random::<4>() else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, Some(&initialize), NO_RANDOMNESS);
        };
        let word = format!("{:08x}", u32::from_be_bytes(word));
        let streams = Arc::new(Streams::of_client(word));
        let Some(partner) = self.service.partner(self.endpoint, client, &streams) else {
            return refuse(StatusCode::NOT_FOUND, Some(&initialize), NO_SERVER);
        };
        let session =
            ClientSession::new(&self.principal, self.endpoint, streams, partner, settings);
        let session = Arc::new(session);
        let name = name.to_string();
        let opened =
            self.service.sessions.insert(name.clone(), Arc::clone(&session), settings.limits);
        if let Err(full) = opened {
            session.partner.leave().await;
            return no_room(full, &initialize);
        }
        // The client understands the revision that it requests.
        let asked = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
        let asked = asked.filter(|name| LEGACY_REVISIONS.contains(&name.as_str()));
        let mut response = self.post_in(&session, initialize, asked.as_deref()).await;
        if let Ok(name) = HeaderValue::from_str(&name) {
            response.headers_mut().insert(SESSION, name);
        }
        response
    }

    /// Handles a message in a session. `revision` is the one that the client states.
    async fn post_in(
        &self,
        session: &Arc<ClientSession>,
        message: Message,
        revision: Option<&str>,
    ) -> Response {
        let Shape::Request { id, .. } = message.shape() else {
            session.partner.hear(message).await;
            return empty(StatusCode::ACCEPTED);
        };
        let id = id.clone();
        let Some(told) = session.streams.open(&message, &id) else {
            let text = "a request with this id is under way";
            return refuse(StatusCode::BAD_REQUEST, Some(&message), text);
        };
        let call = match session.partner.take_call(message) {
            Ok(call) => Some(call),
            Err(message) => {
                Box::pin(session.partner.hear(message)).await;
                None
            }
        };
        let due = match session.answers {
            Answers::AsNeeded => {
                self.alarm.within(QUIET, told.due_of(call)).await.unwrap_or(Due::Stream)
            }
            Answers::Stream | Answers::Poll => Due::Stream,
        };
        respond_in(session, &id, told, due, revision)
    }

    async fn post_stateless(
        &self,
        headers: &HeaderMap,
        message: Message,
        version: Option<&str>,
    ) -> Response {
        if let Err(answer) = header_validation::check(headers, &message, version) {
            return json(StatusCode::BAD_REQUEST, answer);
        }
        if let Err(answer) = self.service.check_arguments(self.endpoint, headers, &message) {
            return json(StatusCode::BAD_REQUEST, answer);
        }
        let Shape::Request { id, method } = message.shape() else {
            // In these revisions, servers send no requests, and a client cancels by closing the response. So a
            // response or a cancellation could only refer to other clients' requests.
            let is_harmless = matches!(message.shape(), Shape::Notification { method } if method != "notifications/cancelled");
            // A message that does not state its revision could belong to another one.
            if version.is_some() && is_harmless {
                // A notification need not describe its client, so all connections of the principal receive it.
                let key = FaceKey::shared(&self.principal, self.endpoint);
                for face in self.service.faces.beside(&key) {
                    face.tell(message.clone()).await;
                }
            }
            return empty(StatusCode::ACCEPTED);
        };
        let face = match self.service.face(&self.principal, self.endpoint, &message) {
            Ok(face) => face,
            Err(NoFace::NoServer) => {
                return refuse(StatusCode::NOT_FOUND, Some(&message), NO_SERVER);
            }
            Err(NoFace::TooMany) => {
                let text = "too many different clients of this token have requests under way; try again later";
                return refuse(StatusCode::SERVICE_UNAVAILABLE, Some(&message), text);
            }
        };
        let (id, closing) = (id.clone(), self.closing_of(method));
        let (told, leave) = face.ask(message, &id).await.into_parts();
        respond(&id, told, leave, closing, header_validation::status).await
    }

    /// Returns the event that ends the response to this method early. A call keeps its response until it is
    /// answered. A subscription ends when the server begins to close.
    fn closing_of(&self, method: &str) -> Option<Closing> {
        (method == "subscriptions/listen").then(|| self.closing.clone())
    }

    /// Opens the stream for messages that belong to no request.
    fn listen(&self, headers: &HeaderMap) -> Response {
        let Some(name) = headers.get(SESSION) else { return not_allowed() };
        let takes_events = headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/event-stream") || accept.contains("*/*"));
        if !takes_events {
            let text = "the header Accept has to name text/event-stream";
            return refuse(StatusCode::NOT_ACCEPTABLE, None, text);
        }
        match self.session(name.to_str().unwrap_or_default()) {
            Some(session) => self.listen_in(&session, headers),
            None => refuse(StatusCode::NOT_FOUND, None, GONE),
        }
    }

    /// Opens the stream for messages that belong to no request, or resumes a stream after an event.
    fn listen_in(&self, session: &ClientSession, headers: &HeaderMap) -> Response {
        let Some(last) = headers.get(LAST_EVENT) else {
            return EventBody::kept(session.streams.listen(), Some(self.closing.clone()))
                .into_response();
        };
        let Ok(told) = session.streams.resume(last.to_str().unwrap_or_default()) else {
            return refuse(StatusCode::BAD_REQUEST, None, NO_EVENT);
        };
        // A stream that waits for a response ends with that response instead.
        let closing = told.is_own().then(|| self.closing.clone());
        events_in(session, told, closing).into_response()
    }

    async fn end(&self, headers: &HeaderMap) -> Response {
        let Some(name) = headers.get(SESSION) else { return not_allowed() };
        let name = name.to_str().unwrap_or_default();
        if self.session(name).is_none() {
            return refuse(StatusCode::NOT_FOUND, None, GONE);
        }
        // A separate task finishes this even if the client does not wait for it.
        let (sessions, name) = (Arc::clone(&self.service.sessions), name.to_owned());
        let ending = tokio::spawn(async move { sessions.end(&name).await });
        let _ = ending.await;
        empty(StatusCode::OK)
    }
}

/// Builds the response for a client with a session. It is a single message if that is complete and the server
/// answers that way. Otherwise, or if the settings require it, it is an event stream.
///
/// A client of these revisions that disconnects has not cancelled its request. Once it has received an event, it
/// can resume the stream.
fn respond_in(
    session: &ClientSession,
    id: &Id,
    told: Told,
    due: Due,
    revision: Option<&str>,
) -> Response {
    match due {
        Due::Whole(answer) => json(StatusCode::OK, answer),
        Due::Nothing => json(StatusCode::OK, unanswered(id)),
        Due::Stream => {
            let is_primed = revision.is_some_and(|revision| revision >= PRIMED);
            let priming = told.begin(is_primed);
            events_in(session, told, None).after(priming).into_response()
        }
    }
}

/// Returns the body of a stream for a client with a session.
fn events_in(session: &ClientSession, told: Told, closing: Option<Closing>) -> EventBody {
    let is_polled = session.answers == Answers::Poll && !told.is_own();
    let events = EventBody::kept(told, closing);
    if is_polled { events.polled() } else { events }
}

/// Builds the error for a request that gets no response.
fn unanswered(id: &Id) -> Message {
    let text = "there is no answer: the request was given up, or its session ended";
    Message::error(Some(id), code::INTERNAL_ERROR, text, None)
}

/// Builds the response for a client without a session. It is a single message if that is complete, and an event
/// stream otherwise.
async fn respond(
    id: &Id,
    mut told: mpsc::Receiver<Message>,
    leave: Leave,
    closing: Option<Closing>,
    status: impl Fn(&Message) -> StatusCode,
) -> Response {
    // A client that stops waiting has cancelled the request.
    let mut leaving = Leaving(Some(leave));
    let first = match tokio::time::timeout(QUIET, told.recv()).await {
        Ok(Some(message)) if matches!(message.shape(), Shape::Response { .. }) => {
            return json(status(&message), message);
        }
        Ok(Some(message)) => Some(message),
        Ok(None) => return json(StatusCode::OK, unanswered(id)),
        Err(_) => None,
    };
    EventBody::passing(first.as_ref(), told, closing, leaving.0.take()).into_response()
}

/// Runs the callback when dropped, unless the callback was taken.
struct Leaving(Option<Leave>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

/// The seconds after which a client should try again to open a session.
const RETRY_AFTER: &str = "10";
const NO_RANDOMNESS: &str = "there is no randomness for a session's name";
const NO_SERVER: &str = "there is no such server here any more";
const GONE: &str = "there is no such session; begin a new one with initialize";
const NO_EVENT: &str =
    "this session has no event of this id any more: nothing can be gone on with behind it";

/// Rejects a client because there are too many sessions.
fn no_room(full: NoRoom, initialize: &Message) -> Response {
    let (status, text) = match full {
        NoRoom::OfToken(most) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "this token has {most} sessions already: end one with DELETE, or raise gateway.most_sessions_per_token"
            ),
        ),
        NoRoom::Total(most) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "there are {most} sessions already: try again later, or raise gateway.most_sessions"
            ),
        ),
    };
    let mut response = refuse(status, Some(initialize), &text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    response
}

fn gone(message: &Message) -> Response {
    refuse(StatusCode::NOT_FOUND, Some(message), GONE)
}

fn is_greeting(message: &Message) -> bool {
    matches!(message.shape(), Shape::Request { method, .. } if method == "initialize")
}

/// Holds the reason why a message could not be read: HTTP status, JSON-RPC code and text.
type MessageReadError = (StatusCode, i32, String);

fn read(body: Bytes) -> Result<Message, MessageReadError> {
    let bad = |code, text: &str| (StatusCode::BAD_REQUEST, code, text.to_owned());
    let text = String::from_utf8(body.into())
        .map_err(|_| bad(code::PARSE_ERROR, "the body is not UTF-8"))?;
    Message::read(text).map_err(|error| {
        let code = match error {
            MessageError::NotJson(_) => code::PARSE_ERROR,
            MessageError::NoMessage => code::INVALID_REQUEST,
        };
        bad(code, &error.to_string())
    })
}

fn unread((status, code, text): MessageReadError) -> Response {
    json(status, Message::error(None, code, &text, None))
}

/// Returns a JSON-RPC error with this HTTP status.
fn refuse(status: StatusCode, message: Option<&Message>, text: &str) -> Response {
    let id = match message.map(Message::shape) {
        Some(Shape::Request { id, .. }) => Some(id),
        _ => None,
    };
    json(status, Message::error(id, code::INVALID_REQUEST, text, None))
}

fn not_allowed() -> Response {
    let allow = [(header::ALLOW, "POST")];
    (StatusCode::METHOD_NOT_ALLOWED, allow).into_response()
}
