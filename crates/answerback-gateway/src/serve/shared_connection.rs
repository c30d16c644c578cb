use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use answerback::Digest;
use answerback_mcp::wire::{Id, Message, Object, Shape, meta, splice, word};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::client_session::SERVER_EXIT_TIMEOUT;
use super::client_upstream::ClientUpstream;
use super::event_stream_body::OnDisconnect;
use crate::response_streams::ResponseStreams;

/// The interval at which a closing connection checks if all requests are answered.
const RETIRE_INTERVAL: Duration = Duration::from_secs(1);
/// The interval at which unused connections are closed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// The time after which an unused connection is closed. Each has its own processes or connections to the servers.
const IDLE_TIMEOUT: Duration = Duration::from_mins(30);
/// The largest number of connections of one principal. A client can state any name, so this must be limited.
const MAX_PER_PRINCIPAL: usize = 32;
/// The longest client description that is compared directly. Longer ones are compared by digest.
const MAX_DESCRIPTION: usize = 4096;

/// A connection to the servers that clients of one principal share if they have no sessions. Each request gets a
/// unique id. Its response gets the client's id back.
pub(crate) struct SharedConnection {
    /// The time of the last use.
    last_used: Mutex<Instant>,
    upstream: ClientUpstream,
    streams: Arc<ResponseStreams>,
    next_request: AtomicU64,
    /// The client's own id and progress token for each request.
    client_ids: Arc<Mutex<HashMap<Id, ClientIds>>>,
}

/// The id and the progress token that a client chose for a request.
#[derive(Clone, Debug)]
struct ClientIds {
    id: Id,
    progress_token: Option<String>,
}

impl SharedConnection {
    pub(crate) fn new(upstream: ClientUpstream, streams: Arc<ResponseStreams>) -> Self {
        let (last_used, next_request) = (Mutex::new(Instant::now()), AtomicU64::new(0));
        Self { last_used, upstream, streams, next_request, client_ids: Arc::default() }
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection once all its requests are answered.
    async fn retire(self: Arc<Self>) {
        while !self.streams.is_idle() {
            tokio::time::sleep(RETIRE_INTERVAL).await;
        }
        self.close().await;
    }

    fn client_ids(&self) -> std::sync::MutexGuard<'_, HashMap<Id, ClientIds>> {
        self.client_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. The result receives the messages about it, and can cancel it.
    pub(crate) async fn send_request(self: &Arc<Self>, request: Message, id: &Id) -> SharedRequest {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let ours = Id::of_text(&format!("c{number}"));
        let (request, progress_token) = replace_progress_token(request, &ours);
        let request = request.with_id(&ours);
        self.client_ids().insert(ours.clone(), ClientIds { id: id.clone(), progress_token });
        // Unread messages stay in the stream, where they are counted.
        let (sender, messages) = mpsc::channel(1);
        if let Some(reader) = self.streams.open(&request, &ours) {
            let (connection, ours) = (Arc::clone(self), ours.clone());
            tokio::spawn(async move {
                while let Some(message) = reader.message().await {
                    if sender.send(connection.restore_client_ids(message, &ours)).await.is_err() {
                        break;
                    }
                }
                connection.client_ids().remove(&ours);
            });
        }
        self.upstream.handle_message(request).await;
        SharedRequest { messages, connection: Arc::clone(self), id: ours }
    }

    /// Sends a message that has no response.
    pub(crate) async fn send_notification(&self, message: Message) {
        self.upstream.handle_message(message).await;
    }

    /// Cancels a request whose response is no longer read.
    fn cancel(self: Arc<Self>, id: &Id) {
        if !self.streams.close(id) {
            // The request was already answered.
            return;
        }
        self.client_ids().remove(id);
        let request: serde_json::Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        let params = json!({"requestId": request, "reason": "the client left"});
        tokio::spawn(async move {
            let cancelled = Message::notification("notifications/cancelled", &params);
            self.upstream.handle_message(cancelled).await;
        });
    }

    /// Replaces our ids in a message with those of the client.
    fn restore_client_ids(&self, message: Message, ours: &Id) -> Message {
        let Some(ids) = self.client_ids().get(ours).cloned() else { return message };
        match message.shape() {
            Shape::Response { .. } => message.with_id(&ids.id),
            Shape::Notification { method } if method == "notifications/progress" => {
                replace_value(message, &["params", "progressToken"], ids.progress_token.as_deref())
            }
            Shape::Notification { .. } => replace_value(
                message,
                &["params", "_meta", meta::SUBSCRIPTION],
                Some(ids.id.as_json()),
            ),
            _ => message,
        }
    }

    /// Closes the connection and its streams.
    pub(crate) async fn close(&self) {
        self.upstream.close().await;
        self.streams.end();
    }
}

/// A pending request of a client without a session.
pub(crate) struct SharedRequest {
    /// Receives the messages about the request. The response is the last one.
    pub(crate) messages: mpsc::Receiver<Message>,
    connection: Arc<SharedConnection>,
    id: Id,
}

impl SharedRequest {
    /// Splits the request into the receiver for its messages and the callback that cancels it. A client of these
    /// revisions cancels a request by closing the response.
    pub(crate) fn into_parts(self) -> (mpsc::Receiver<Message>, OnDisconnect) {
        let Self { messages, connection, id } = self;
        (messages, Box::new(move || connection.cancel(&id)))
    }
}

/// Replaces the progress token of a request with our id. The second value is the client's token.
fn replace_progress_token(request: Message, id: &Id) -> (Message, Option<String>) {
    if !word::PROGRESS.is_in(&request) {
        return (request, None);
    }
    let place = ["params", "_meta", "progressToken"];
    let token = splice::at(request.text(), &place).map(str::to_owned);
    match token {
        Some(token) => (replace_value(request, &place, Some(id.as_json())), Some(token)),
        None => (request, None),
    }
}

/// Replaces a value that exists at this place. Otherwise the message stays unchanged.
fn replace_value(message: Message, place: &[&str], value: Option<&str>) -> Message {
    let exists = splice::at(message.text(), place).is_some();
    match value.filter(|_| exists).map(|value| splice::with(message.text(), place, value)) {
        Some(Ok(text)) => message.with_text(text),
        _ => message,
    }
}

/// Identifies clients without sessions that may share a connection. A server must see the same description for
/// all of them. Its questions to one client must not reach another.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct SharedConnectionKey {
    pub(crate) principal: String,
    /// The server of the endpoint, or `None` for all servers.
    pub(crate) endpoint: Option<String>,
    /// The client's description and capabilities. It is empty if all clients of a principal share a connection.
    client: String,
}

impl SharedConnectionKey {
    /// The key that all clients of a principal share at an endpoint.
    pub(crate) fn shared(principal: &str, endpoint: Option<&str>) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        Self { principal, endpoint, client: String::new() }
    }

    /// Adds the description of the client that sent a message.
    pub(crate) fn of_client(self, message: &Message) -> Self {
        let meta = splice::at(message.text(), &["params", "_meta"]);
        let meta = meta.and_then(|meta| Object::read(meta).ok());
        let member = |name| meta.as_ref().and_then(|meta| meta.get(name)).unwrap_or("null");
        let client = format!("{} {}", member(meta::CLIENT), member(meta::CAPABILITIES));
        let is_long = client.len() > MAX_DESCRIPTION;
        let client = if is_long { Digest::of_bytes(client.as_bytes()).to_string() } else { client };
        Self { client, ..self }
    }

    fn has_same_endpoint(&self, other: &Self) -> bool {
        self.principal == other.principal && self.endpoint == other.endpoint
    }
}

/// The reason why a client gets no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SharedConnectionError {
    /// The endpoint no longer exists.
    NoServer,
    /// The principal has reached its limit, and all its connections are in use.
    TooMany,
}

/// The shared connections of clients without sessions.
#[derive(Default)]
pub(crate) struct SharedConnections {
    open: Mutex<HashMap<SharedConnectionKey, Arc<SharedConnection>>>,
}

impl SharedConnections {
    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<SharedConnectionKey, Arc<SharedConnection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds or creates the connection for a key. At the limit, the principal's least recently
    /// used idle connection is closed first.
    pub(crate) fn get(
        &self,
        key: SharedConnectionKey,
        connect: impl FnOnce() -> Option<SharedConnection>,
    ) -> Result<Arc<SharedConnection>, SharedConnectionError> {
        let mut open = self.lock();
        if let Some(connection) = open.get(&key) {
            connection.touch();
            return Ok(Arc::clone(connection));
        }
        let of_principal = || open.iter().filter(|(other, _)| other.principal == key.principal);
        if of_principal().count() >= MAX_PER_PRINCIPAL {
            let idle = of_principal().filter(|(_, connection)| connection.streams.is_idle());
            let oldest = idle
                .min_by_key(|(_, connection)| connection.last_used())
                .map(|(key, _)| key.clone());
            let oldest = oldest.ok_or(SharedConnectionError::TooMany)?;
            if let Some(connection) = open.remove(&oldest) {
                tokio::spawn(connection.retire());
            }
        }
        let connection = Arc::new(connect().ok_or(SharedConnectionError::NoServer)?);
        open.insert(key, Arc::clone(&connection));
        Ok(connection)
    }

    /// All connections of a principal at an endpoint.
    pub(crate) fn at_endpoint(&self, key: &SharedConnectionKey) -> Vec<Arc<SharedConnection>> {
        let open = self.lock();
        open.iter()
            .filter(|(other, _)| other.has_same_endpoint(key))
            .map(|(_, connection)| Arc::clone(connection))
            .collect()
    }

    /// Closes unused connections periodically, until the task is dropped.
    pub(crate) async fn close_idle_periodically(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let unused: Vec<_> = {
                let mut open = self.lock();
                let is_unused =
                    |_: &SharedConnectionKey, connection: &mut Arc<SharedConnection>| {
                        connection.streams.is_idle()
                            && connection.last_used().elapsed() >= IDLE_TIMEOUT
                    };
                open.extract_if(is_unused).map(|(_, connection)| connection).collect()
            };
            for connection in unused {
                tokio::spawn(connection.retire());
            }
        }
    }

    /// Creates new connections from now on. The existing ones close once their requests are answered.
    pub(crate) fn retire(&self) {
        let retired: Vec<_> = self.lock().drain().map(|(_, connection)| connection).collect();
        for connection in retired {
            tokio::spawn(connection.retire());
        }
    }

    /// Closes all connections and waits until the servers are gone.
    pub(crate) async fn end_all(&self) {
        let connections: Vec<_> = self.lock().drain().map(|(_, connection)| connection).collect();
        let mut closing = tokio::task::JoinSet::new();
        for connection in connections {
            closing.spawn(async move {
                connection.close().await;
                let _ =
                    tokio::time::timeout(SERVER_EXIT_TIMEOUT, connection.upstream.closed()).await;
            });
        }
        while closing.join_next().await.is_some() {}
    }
}
