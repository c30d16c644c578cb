//! Serves one Streamable HTTP endpoint, for clients of both eras.

use std::sync::Arc;

use answerback_http::{ConnectionTimer, Principal, ShutdownSignal};
use answerback_mcp::wire::{LEGACY_REVISIONS, Message, MessageError, Shape, code, splice};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use super::GatewayService;
use super::client_session::ClientSession;
use super::endpoint_response::{
    MessageReadError, NO_RANDOMNESS, NO_SERVER, STREAM_DELAY, UNKNOWN_EVENT, empty_response,
    message_response, method_not_allowed, reject, session_events, session_response,
    stateless_response, too_many_sessions, unknown_session,
};
use super::event_stream_body::EventStreamBody;
use super::header_validation::{self, VERSION_HEADER, VERSIONS};
use super::shared_connection::{SharedConnectionError, SharedConnectionKey};
use crate::relay::repeated_name;
use crate::response_streams::{ResponseKind, ResponseStreams};
use crate::{Client, ResponseMode};

/// The header with the session id.
const SESSION_HEADER: &str = "mcp-session-id";
/// The header with the id of the last event that the client received.
const LAST_EVENT_HEADER: &str = "last-event-id";

/// The context of an HTTP request.
struct EndpointRequest<'a> {
    service: &'a Arc<GatewayService>,
    /// The server of the endpoint, or `None` for all servers.
    endpoint: Option<&'a str>,
    principal: String,
    shutdown: ShutdownSignal,
    /// The timer of the connection.
    timer: ConnectionTimer,
}

/// Handles an HTTP request at an endpoint.
pub(super) async fn handle_request(
    service: &Arc<GatewayService>,
    endpoint: Option<&str>,
    request: Request<Body>,
) -> Response {
    let (parts, body) = request.into_parts();
    // The guard always sets both. Without them the request is not authenticated.
    let (Some(principal), Some(shutdown)) =
        (parts.extensions.get::<Principal>(), parts.extensions.get::<ShutdownSignal>())
    else {
        return empty_response(StatusCode::UNAUTHORIZED);
    };
    let principal = principal.name().to_owned();
    let timer = parts.extensions.get().cloned().unwrap_or_default();
    let shutdown = shutdown.clone();
    let context = EndpointRequest { service, endpoint, principal, shutdown, timer };
    match parts.method {
        Method::POST => {
            if let Err(error) = check_content_headers(&parts.headers) {
                return error.into_response();
            }
            match body.collect().await {
                Ok(body) => context.post(&parts.headers, body.to_bytes()).await,
                // The body exceeds the guard's limit, or the client is gone.
                Err(error) => reject(StatusCode::PAYLOAD_TOO_LARGE, None, &error.to_string()),
            }
        }
        Method::GET => context.listen(&parts.headers),
        Method::DELETE => Box::pin(context.end(&parts.headers)).await,
        _ => method_not_allowed(),
    }
}

/// Checks the content type and the `Accept` header of a request.
fn check_content_headers(headers: &HeaderMap) -> Result<(), MessageReadError> {
    let text_of = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let content_type = text_of(header::CONTENT_TYPE).unwrap_or_default();
    let media_type =
        content_type.split_once(';').map_or(content_type, |(media_type, _)| media_type);
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        return Err(MessageReadError {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code: code::INVALID_REQUEST,
            text: "the body must be application/json".to_owned(),
        });
    }
    let accepted = text_of(header::ACCEPT).unwrap_or_default();
    // Most clients send exactly this value.
    if accepted == "application/json, text/event-stream" {
        return Ok(());
    }
    let accepted = accepted.to_ascii_lowercase();
    let accepts = |types: [&str; 3]| types.iter().any(|media| accepted.contains(media));
    let accepts_json = accepts(["application/json", "application/*", "*/*"]);
    let accepts_events = accepts(["text/event-stream", "text/*", "*/*"]);
    if !accepts_json || !accepts_events {
        let text = "the header Accept must contain application/json and text/event-stream";
        return Err(MessageReadError {
            status: StatusCode::NOT_ACCEPTABLE,
            code: code::INVALID_REQUEST,
            text: text.to_owned(),
        });
    }
    Ok(())
}

impl EndpointRequest<'_> {
    /// Handles a message of a client.
    async fn post(&self, headers: &HeaderMap, body: Bytes) -> Response {
        let message = match read_message(body) {
            Ok(message) => message,
            Err(error) => return error.into_response(),
        };
        if matches!(message.shape(), Shape::Batch) {
            let text = "batches are not supported: send each message on its own";
            return reject(StatusCode::BAD_REQUEST, None, text);
        }
        if message.repeats() {
            return reject(StatusCode::BAD_REQUEST, Some(&message), &repeated_name(&message));
        }
        if let Shape::Notification { method } = message.shape()
            && !method.starts_with("notifications/")
        {
            return reject(StatusCode::BAD_REQUEST, None, "a request needs an id");
        }
        let version = header_validation::version(&message);
        let header_version = headers.get(VERSION_HEADER).and_then(|value| value.to_str().ok());
        let is_modern =
            version.is_some() || header_version.is_some_and(|version| VERSIONS.contains(&version));
        if is_modern {
            let response = self.post_stateless(headers, message, version.as_deref());
            return Box::pin(response).await;
        }
        if let Some(name) = header_version.filter(|name| !LEGACY_REVISIONS.contains(name)) {
            let text = format!(
                "the revision {name} of the protocol is not supported; the supported ones are {}",
                [&LEGACY_REVISIONS[..], VERSIONS].concat().join(", ")
            );
            return reject(StatusCode::BAD_REQUEST, Some(&message), &text);
        }
        match headers.get(SESSION_HEADER).map(|id| id.to_str().unwrap_or_default()) {
            Some(id) => match self.session(id) {
                Some(session) => self.post_in_session(&session, message, header_version).await,
                None => unknown_session(Some(&message)),
            },
            // This happens once per session. Boxing keeps the future small for other requests.
            None if is_initialize(&message) => Box::pin(self.begin_session(message)).await,
            None => {
                let text = "the header Mcp-Session-Id is missing: begin with initialize, or put \
                            io.modelcontextprotocol/protocolVersion into _meta";
                reject(StatusCode::BAD_REQUEST, Some(&message), text)
            }
        }
    }

    fn session(&self, id: &str) -> Option<Arc<ClientSession>> {
        self.service.sessions.get(id, &self.principal, self.endpoint)
    }

    /// Creates a session and handles its first message.
    async fn begin_session(&self, initialize: Message) -> Response {
        let config = self.service.config();
        let settings = config.gateway.settings();
        if let Err(error) = self.service.sessions.check_limits(&self.principal, settings.limits) {
            return too_many_sessions(error, &initialize);
        }
        let (Ok(client), Ok(id)) = (Client::new(&self.principal), answerback_store::system::uuid())
        else {
            return reject(StatusCode::SERVICE_UNAVAILABLE, Some(&initialize), NO_RANDOMNESS);
        };
        let Ok(prefix) = answerback_store::system::random::<4>() else {
            return reject(StatusCode::SERVICE_UNAVAILABLE, Some(&initialize), NO_RANDOMNESS);
        };
        let prefix = format!("{:08x}", u32::from_be_bytes(prefix));
        let streams = Arc::new(ResponseStreams::of_client(prefix));
        let Some(upstream) = self.service.connect(self.endpoint, client, &streams) else {
            return reject(StatusCode::NOT_FOUND, Some(&initialize), NO_SERVER);
        };
        let session =
            ClientSession::new(&self.principal, self.endpoint, streams, upstream, settings);
        let session = Arc::new(session);
        let id = id.to_string();
        let inserted =
            self.service.sessions.insert(id.clone(), Arc::clone(&session), settings.limits);
        if let Err(error) = inserted {
            session.upstream.close().await;
            return too_many_sessions(error, &initialize);
        }
        // The client understands the revision that it requests.
        let revision = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
        let revision = revision.filter(|name| LEGACY_REVISIONS.contains(&name.as_str()));
        let mut response = self.post_in_session(&session, initialize, revision.as_deref()).await;
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION_HEADER, id);
        }
        response
    }

    /// Handles a message in a session. `revision` is the one that the client states.
    async fn post_in_session(
        &self,
        session: &Arc<ClientSession>,
        message: Message,
        revision: Option<&str>,
    ) -> Response {
        let Shape::Request { id, .. } = message.shape() else {
            session.upstream.handle_message(message).await;
            return empty_response(StatusCode::ACCEPTED);
        };
        let id = id.clone();
        let Some(reader) = session.streams.open(&message, &id) else {
            let text = "a request with this id is already in progress";
            return reject(StatusCode::BAD_REQUEST, Some(&message), text);
        };
        let call = match session.upstream.take_call(message) {
            Ok(call) => Some(call),
            Err(message) => {
                Box::pin(session.upstream.handle_message(message)).await;
                None
            }
        };
        let kind = match session.response_mode {
            ResponseMode::AsNeeded => {
                let kind = self.timer.timeout(STREAM_DELAY, reader.response_kind(call)).await;
                kind.unwrap_or(ResponseKind::Stream)
            }
            ResponseMode::Stream | ResponseMode::Poll => ResponseKind::Stream,
        };
        session_response(session, &id, reader, kind, revision)
    }

    /// Handles a message of a client without a session.
    async fn post_stateless(
        &self,
        headers: &HeaderMap,
        message: Message,
        version: Option<&str>,
    ) -> Response {
        if let Err(error) = header_validation::check(headers, &message, version) {
            return message_response(StatusCode::BAD_REQUEST, error);
        }
        if let Err(error) = self.service.check_argument_headers(self.endpoint, headers, &message) {
            return message_response(StatusCode::BAD_REQUEST, error);
        }
        let Shape::Request { id, method } = message.shape() else {
            // In these revisions, servers send no requests, and a client cancels by closing the response. So a
            // response or a cancellation could only refer to other clients' requests.
            let is_harmless = matches!(message.shape(), Shape::Notification { method } if method != "notifications/cancelled");
            // A message that does not state its revision could belong to another one.
            if version.is_some() && is_harmless {
                // A notification need not describe its client, so all connections of the principal receive it.
                let key = SharedConnectionKey::shared(&self.principal, self.endpoint);
                for connection in self.service.shared_connections.at_endpoint(&key) {
                    connection.send_notification(message.clone()).await;
                }
            }
            return empty_response(StatusCode::ACCEPTED);
        };
        let connection = self.service.shared_connection(&self.principal, self.endpoint, &message);
        let connection = match connection {
            Ok(connection) => connection,
            Err(SharedConnectionError::NoServer) => {
                return reject(StatusCode::NOT_FOUND, Some(&message), NO_SERVER);
            }
            Err(SharedConnectionError::TooMany) => {
                let text = "too many different clients of this token have requests in progress; try again later";
                return reject(StatusCode::SERVICE_UNAVAILABLE, Some(&message), text);
            }
        };
        let (id, shutdown) = (id.clone(), self.shutdown_of(method));
        let request = connection.send_request(message, &id).await;
        let (messages, on_disconnect) = request.into_parts();
        let status = header_validation::status;
        stateless_response(&id, messages, on_disconnect, shutdown, status).await
    }

    /// The signal that ends the response to this method early. A call keeps its response until it is
    /// answered. A subscription ends when the server begins to stop.
    fn shutdown_of(&self, method: &str) -> Option<ShutdownSignal> {
        (method == "subscriptions/listen").then(|| self.shutdown.clone())
    }

    /// Opens the stream for messages that belong to no request.
    fn listen(&self, headers: &HeaderMap) -> Response {
        let Some(id) = headers.get(SESSION_HEADER) else { return method_not_allowed() };
        let accepts_events = headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/event-stream") || accept.contains("*/*"));
        if !accepts_events {
            let text = "the header Accept must contain text/event-stream";
            return reject(StatusCode::NOT_ACCEPTABLE, None, text);
        }
        match self.session(id.to_str().unwrap_or_default()) {
            Some(session) => self.listen_in_session(&session, headers),
            None => unknown_session(None),
        }
    }

    /// Opens the stream for messages that belong to no request, or resumes a stream after an event.
    fn listen_in_session(&self, session: &ClientSession, headers: &HeaderMap) -> Response {
        let Some(last) = headers.get(LAST_EVENT_HEADER) else {
            return EventStreamBody::resumable(
                session.streams.listen(),
                Some(self.shutdown.clone()),
            )
            .into_response();
        };
        let Ok(reader) = session.streams.resume(last.to_str().unwrap_or_default()) else {
            return reject(StatusCode::BAD_REQUEST, None, UNKNOWN_EVENT);
        };
        // A stream that waits for a response ends with that response instead.
        let shutdown = reader.is_general().then(|| self.shutdown.clone());
        session_events(session, reader, shutdown).into_response()
    }

    /// Ends a session.
    async fn end(&self, headers: &HeaderMap) -> Response {
        let Some(id) = headers.get(SESSION_HEADER) else { return method_not_allowed() };
        let id = id.to_str().unwrap_or_default();
        if self.session(id).is_none() {
            return unknown_session(None);
        }
        // A separate task finishes this even if the client does not wait for it.
        let (sessions, id) = (Arc::clone(&self.service.sessions), id.to_owned());
        let ending = tokio::spawn(async move { sessions.end(&id).await });
        let _ = ending.await;
        empty_response(StatusCode::OK)
    }
}

fn is_initialize(message: &Message) -> bool {
    matches!(message.shape(), Shape::Request { method, .. } if method == "initialize")
}

fn read_message(body: Bytes) -> Result<Message, MessageReadError> {
    let bad_request = |code, text: &str| MessageReadError {
        status: StatusCode::BAD_REQUEST,
        code,
        text: text.to_owned(),
    };
    let text = String::from_utf8(body.into())
        .map_err(|_| bad_request(code::PARSE_ERROR, "the body is not UTF-8"))?;
    Message::read(text).map_err(|error| {
        let code = match error {
            MessageError::NotJson(_) => code::PARSE_ERROR,
            MessageError::NotMessage => code::INVALID_REQUEST,
        };
        bad_request(code, &error.to_string())
    })
}
