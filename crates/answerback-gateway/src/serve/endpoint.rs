//! One endpoint of Streamable HTTP, for clients of both eras.

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

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// The header that names the last event which a client has heard of a stream.
const LAST_EVENT: &str = "last-event-id";
/// The first revision whose clients know events that have an id and no message, and come back to a stream that ends
/// early. To others such an event is an error.
const PRIMED: &str = "2025-11-25";
/// How long an answer may take before its stream is opened, so that the client knows that it is worked on.
const QUIET: Duration = Duration::from_secs(5);

/// Who asks, and at which endpoint.
struct EndpointRequest<'a> {
    service: &'a Arc<Service>,
    /// The server that the endpoint is of; all of them, where none is named.
    endpoint: Option<&'a str>,
    principal: String,
    closing: Closing,
    /// The clock of the connection.
    alarm: Alarm,
}

/// Answers a request at an endpoint.
pub(crate) async fn answer(
    service: &Arc<Service>,
    endpoint: Option<&str>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    // The guard puts both there; without them there is nobody to answer.
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
                // The guard's limit, or a client that is gone.
                Err(error) => refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &error.to_string()),
            }
        }
        Method::GET => visit.listen(&parts.headers),
        Method::DELETE => Box::pin(visit.end(&parts.headers)).await,
        _ => not_allowed(),
    }
}

/// Whether a client sends and takes what the transport has.
fn fits(headers: &HeaderMap) -> Result<(), MessageReadError> {
    let said = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kind = said(header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        let text = "the body has to be application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, code::INVALID_REQUEST, text.to_owned()));
    }
    let accepted = said(header::ACCEPT).unwrap_or_default();
    // As most write it.
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
            // Once a session; every other request would have to have the room for it.
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

    /// Begins a session with its first message.
    async fn begin(&self, initialize: Message) -> Response {
        let current = self.service.current();
        let settings = current.gateway.settings();
        if let Err(full) = self.service.sessions.check_room(&self.principal, settings.limits) {
            return no_room(full, &initialize);
        }
        let (Ok(client), Ok(name)) =
            (Client::new(&self.principal), answerback_record::system::uuid())
        else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, Some(&initialize), NO_RANDOMNESS);
        };
        let Ok(word) = answerback_record::system::random::<4>() else {
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
        // What a client asks for it understands.
        let asked = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
        let asked = asked.filter(|name| LEGACY_REVISIONS.contains(&name.as_str()));
        let mut response = self.post_in(&session, initialize, asked.as_deref()).await;
        if let Ok(name) = HeaderValue::from_str(&name) {
            response.headers_mut().insert(SESSION, name);
        }
        response
    }

    /// Takes a message in a session, of a client of this revision, where it says so.
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
            // These revisions have no requests of servers to answer, and a request is given up by closing its answer: by
            // an answer or a cancellation a client could only mean the requests of others.
            let is_harmless = matches!(message.shape(), Shape::Notification { method } if method != "notifications/cancelled");
            // What does not say of which revision it is could be taken for a message of another.
            if version.is_some() && is_harmless {
                // A notification need not say who sent it.
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

    /// What ends the answer to a request before it is answered: the end of a server is no reason to leave a call without
    /// its answer, but who listens for whatever may come has heard all that there was.
    fn closing_of(&self, method: &str) -> Option<Closing> {
        (method == "subscriptions/listen").then(|| self.closing.clone())
    }

    /// The stream for what belongs to no request.
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

    /// The stream for what belongs to no request, or the one that broke after an event.
    fn listen_in(&self, session: &ClientSession, headers: &HeaderMap) -> Response {
        let Some(last) = headers.get(LAST_EVENT) else {
            return EventBody::kept(session.streams.listen(), Some(self.closing.clone()))
                .into_response();
        };
        let Ok(told) = session.streams.resume(last.to_str().unwrap_or_default()) else {
            return refuse(StatusCode::BAD_REQUEST, None, NO_EVENT);
        };
        // One on which an answer is waited for ends with it.
        let closing = told.is_own().then(|| self.closing.clone());
        events_in(session, told, closing).into_response()
    }

    async fn end(&self, headers: &HeaderMap) -> Response {
        let Some(name) = headers.get(SESSION) else { return not_allowed() };
        let name = name.to_str().unwrap_or_default();
        if self.session(name).is_none() {
            return refuse(StatusCode::NOT_FOUND, None, GONE);
        }
        // On its own: a client that does not wait for it has ended the session all the same.
        let (sessions, name) = (Arc::clone(&self.service.sessions), name.to_owned());
        let ending = tokio::spawn(async move { sessions.end(&name).await });
        let _ = ending.await;
        empty(StatusCode::OK)
    }
}

/// The answer to a request of a client with a session: one message, where that is all there is to say and the server
/// answers so, too; a stream of events otherwise, or where all answers are to be streams.
///
/// A client of these revisions that leaves has not given its request up. Once it has heard of an event it may come back.
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

/// A stream of a client with a session.
fn events_in(session: &ClientSession, told: Told, closing: Option<Closing>) -> EventBody {
    let is_polled = session.answers == Answers::Poll && !told.is_own();
    let events = EventBody::kept(told, closing);
    if is_polled { events.polled() } else { events }
}

/// What is said where there is no answer.
fn unanswered(id: &Id) -> Message {
    let text = "there is no answer: the request was given up, or its session ended";
    Message::error(Some(id), code::INTERNAL_ERROR, text, None)
}

/// The answer to a request of a client without a session: one message, where that is all there is to say; a stream of
/// events otherwise.
async fn respond(
    id: &Id,
    mut told: mpsc::Receiver<Message>,
    leave: Leave,
    closing: Option<Closing>,
    status: impl Fn(&Message) -> StatusCode,
) -> Response {
    // Whoever stops waiting has left.
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

/// Does what is to be done when somebody leaves, unless it was taken over.
struct Leaving(Option<Leave>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

/// How many seconds a client waits before it tries to open a session again.
const RETRY_AFTER: &str = "10";
const NO_RANDOMNESS: &str = "there is no randomness for a session's name";
const NO_SERVER: &str = "there is no such server here any more";
const GONE: &str = "there is no such session; begin a new one with initialize";
const NO_EVENT: &str =
    "this session has no event of this id any more: nothing can be gone on with behind it";

/// The answer to a client for whose session there is no room.
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

/// Why something was not read as a message: the status, the code of the protocol, and the words.
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

/// An error of the protocol with the status that fits it.
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
