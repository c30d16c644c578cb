//! Sends HTTP requests to a server and stores the state of its session.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::sync::{Notify, mpsc};

use super::connection_pool::{ConnectionPool, PooledBody, SendError};
use super::fault::Fault;
use super::header_arguments::HeaderAnnotations;
use super::header_params::{self, PROTOCOL_VERSION};
use super::remote::Remote;
use crate::link::Incoming;
use crate::wire::Message;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// The usual number of headers of a request, including those that the connection adds.
const USUAL_HEADERS: usize = 8;
/// The time that a server has to accept a message without a response.
const POST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that a server has to answer the DELETE that ends a session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// Holds a server and the state of its session.
#[derive(Debug)]
pub(super) struct HttpUpstream {
    /// The configured name of the server.
    pub(super) name: String,
    /// The limit for a message of the server, in bytes.
    pub(super) max_message_bytes: usize,
    /// Sends the server's messages to the link.
    pub(super) to_client: mpsc::Sender<Incoming>,
    /// Notifies the link's task that the server no longer knows our session.
    pub(super) session_gone: Notify,
    remote: Remote,
    connections: ConnectionPool,
    session: Mutex<LegacySession>,
    annotations: Mutex<HeaderAnnotations>,
}

/// Holds the values that a legacy server expects in every request of its session.
#[derive(Debug, Default)]
struct LegacySession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// True once the server has accepted `notifications/initialized`.
    is_initialized: bool,
}

#[derive(serde::Deserialize)]
struct InitializeResponse {
    result: InitializeResult,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
}

/// Classifies a response by its content type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AnswerKind {
    Json,
    Events,
    Other,
}

impl HttpUpstream {
    pub(super) fn new(
        name: &str,
        remote: Remote,
        connections: ConnectionPool,
        max_message_bytes: usize,
        to_client: mpsc::Sender<Incoming>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            max_message_bytes,
            to_client,
            session_gone: Notify::new(),
            remote,
            connections,
            session: Mutex::default(),
            annotations: Mutex::default(),
        }
    }

    /// Closes idle connections while it is polled.
    pub(super) async fn close_idle(&self) -> std::convert::Infallible {
        self.connections.close_idle().await
    }

    /// Returns the longest wait for the next bytes of a response.
    pub(super) fn idle(&self) -> Duration {
        self.remote.timeouts.idle
    }

    /// Returns the headers of a modern message, or `None` for a legacy one.
    pub(super) fn request_headers(&self, message: &Message) -> Option<HeaderMap> {
        header_params::request_headers(message, &lock(&self.annotations))
    }

    /// Reads from a list of tools which arguments must be repeated in headers.
    pub(super) fn learn_annotations(&self, answer: &Message) {
        lock(&self.annotations).learn(&self.name, answer);
    }

    /// Clears the session, because a new one begins.
    pub(super) fn begin_session(&self) {
        *lock(&self.session) = LegacySession::default();
    }

    /// Stores the session id that the response to `initialize` contains.
    pub(super) fn store_session(&self, headers: &HeaderMap) {
        lock(&self.session).id = headers.get(&SESSION).cloned().map(|mut id| {
            id.set_sensitive(true);
            id
        });
    }

    /// Stores the protocol version that the response to `initialize` names.
    pub(super) fn store_version(&self, answer: &Message) {
        let version = serde_json::from_str::<InitializeResponse>(answer.text()).ok();
        let version = version.and_then(|answer| answer.result.protocol_version.parse().ok());
        lock(&self.session).version = version;
    }

    /// Records that the server has accepted `notifications/initialized`.
    pub(super) fn set_initialized(&self) {
        lock(&self.session).is_initialized = true;
    }

    /// Returns true if a legacy server has accepted `notifications/initialized`, so that requests may follow.
    pub(super) fn is_initialized(&self) -> bool {
        lock(&self.session).is_initialized
    }

    /// Posts a message and waits for the head of the response. A modern message has its own headers; a legacy one
    /// uses those of the session.
    pub(super) async fn post(
        &self,
        message: Message,
        modern: Option<HeaderMap>,
        limit: Duration,
    ) -> Result<Response<PooledBody>, Fault> {
        let is_legacy = modern.is_none();
        let mut headers = match modern {
            Some(modern) => {
                let mut headers = self.configured_headers();
                headers.extend(modern);
                headers
            }
            None => self.session_headers(),
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let had_session = is_legacy && headers.contains_key(&SESSION);
        let body = Bytes::from(message.into_text());
        self.send(Method::POST, headers, body, had_session, limit).await
    }

    /// Posts a message that has no response. A failure is only logged.
    pub(super) async fn notify(&self, message: Message) {
        let modern = self.request_headers(&message);
        let sending = async {
            let response = self.post(message, modern, POST_TIMEOUT).await?;
            let status = response.status();
            if !status.is_success() {
                return Err(Fault::of_answer(status, format!("the server answered {status}")));
            }
            // The body should be empty, but the connection can be reused only after its end.
            drain(response.into_body()).await;
            Ok(())
        };
        match sending.await {
            Ok(()) => {}
            Err(Fault::SessionGone) => self.session_gone.notify_one(),
            Err(fault) => {
                tracing::warn!(upstream = %self.name, fault = fault.reason(), "the server did not take a message");
            }
        }
    }

    /// Opens the stream of a legacy server's own messages, or resumes a broken stream after an event.
    pub(super) async fn get(
        &self,
        last_event: Option<&str>,
    ) -> Result<Response<PooledBody>, Fault> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(LAST_EVENT, id);
        }
        let had_session = headers.contains_key(&SESSION);
        self.send(Method::GET, headers, Bytes::new(), had_session, self.idle()).await
    }

    /// Ends the session, if there is one.
    pub(super) async fn leave(&self) {
        let headers = self.session_headers();
        if headers.contains_key(&SESSION) {
            // The result does not matter: a server that rejects DELETE, or is gone, expires its sessions itself.
            let _ = self.send(Method::DELETE, headers, Bytes::new(), true, DELETE_TIMEOUT).await;
        }
    }

    /// Returns the configured headers and those of a legacy session.
    fn session_headers(&self) -> HeaderMap {
        let mut headers = self.configured_headers();
        let LegacySession { id, version, .. } = &*lock(&self.session);
        for (name, value) in [(SESSION, id), (PROTOCOL_VERSION, version)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        headers
    }

    /// Returns the configured headers.
    fn configured_headers(&self) -> HeaderMap {
        let mut headers = self.remote.headers.clone();
        // Reserves space for all headers of a request at once.
        headers.reserve(USUAL_HEADERS);
        headers
    }

    async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        had_session: bool,
        limit: Duration,
    ) -> Result<Response<PooledBody>, Fault> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let response = match tokio::time::timeout(limit, self.connections.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(SendError::Unreached(error))) => {
                let fault = Fault::of_connection("the server cannot be reached", &*error);
                return Err(fault.unsent());
            }
            Ok(Err(SendError::Broke(error))) => {
                return Err(Fault::of_connection("the connection to the server broke", &error));
            }
            Err(_) => {
                return Err(Fault::new(format!("the server did not answer within {limit:?}")));
            }
        };
        if had_session && response.status() == StatusCode::NOT_FOUND {
            return Err(Fault::SessionGone);
        }
        Ok(response)
    }
}

/// Returns the kind of a response from its content type.
pub(super) fn kind(headers: &HeaderMap) -> AnswerKind {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(JSON) {
        AnswerKind::Json
    } else if essence.eq_ignore_ascii_case(EVENTS) {
        AnswerKind::Events
    } else {
        AnswerKind::Other
    }
}

/// Reads the rest of a response that is not needed, within a limit of bytes and time. The connection can then be
/// reused.
pub(super) async fn drain(mut body: PooledBody) {
    const ENOUGH: usize = 1 << 16;
    const LONG: Duration = Duration::from_millis(500);
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Buf::remaining);
            if read > ENOUGH {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(LONG, reading).await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
