use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use answerback::Digest;
use answerback_mcp::wire::{Id, Message, Object, Shape, meta, splice, word};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Streams;
use super::session::GOING;
use super::session_peer::Partner;

/// The interval at which a closing connection checks if all requests are answered.
const RETIRING: Duration = Duration::from_secs(1);
/// The interval at which unused connections are closed.
const SWEEP: Duration = Duration::from_mins(1);
/// The time after which an unused connection is closed. Each has its own processes or connections to the servers.
const IDLE: Duration = Duration::from_mins(30);
/// The largest number of connections of one principal. A client can state any name, so this must be limited.
const MOST_OF_ONE: usize = 32;
/// The longest client description that is compared directly. Longer ones are compared by digest.
const DESCRIPTION: usize = 4096;

/// Shares one connection to the servers among clients of one principal that have no sessions. Each request gets a
/// unique id. Its response gets the client's id back.
pub(crate) struct Stateless {
    /// The time of the last use.
    used: Mutex<Instant>,
    partner: Partner,
    streams: Arc<Streams>,
    number: AtomicU64,
    /// The client's own id and progress token for each request.
    theirs: Arc<Mutex<HashMap<Id, Theirs>>>,
}

#[derive(Clone, Debug)]
struct Theirs {
    id: Id,
    token: Option<String>,
}

impl Stateless {
    pub(crate) fn new(partner: Partner, streams: Arc<Streams>) -> Self {
        let (used, number) = (Mutex::new(Instant::now()), AtomicU64::new(0));
        Self { used, partner, streams, number, theirs: Arc::default() }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection once all its requests are answered.
    async fn retire(self: Arc<Self>) {
        while !self.streams.is_idle() {
            tokio::time::sleep(RETIRING).await;
        }
        self.leave().await;
    }

    fn theirs(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Theirs>> {
        self.theirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. Returns the receiver for its messages, which also cancels the request.
    pub(crate) async fn ask(self: &Arc<Self>, request: Message, id: &Id) -> Asked {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let ours = Id::of_text(&format!("c{number}"));
        let (request, token) = with_token(request, &ours);
        let request = request.with_id(&ours);
        self.theirs().insert(ours.clone(), Theirs { id: id.clone(), token });
        // Unread messages stay in the stream, where they are counted.
        let (sender, told) = mpsc::channel(1);
        if let Some(said) = self.streams.open(&request, &ours) {
            let (face, ours) = (Arc::clone(self), ours.clone());
            tokio::spawn(async move {
                while let Some(message) = said.message().await {
                    if sender.send(face.as_theirs(message, &ours)).await.is_err() {
                        break;
                    }
                }
                face.theirs().remove(&ours);
            });
        }
        self.partner.hear(request).await;
        Asked { told, face: Arc::clone(self), id: ours }
    }

    /// Sends a message that has no response.
    pub(crate) async fn tell(&self, message: Message) {
        self.partner.hear(message).await;
    }

    /// Cancels a request whose response is no longer read.
    fn give_up(self: Arc<Self>, id: &Id) {
        if !self.streams.close(id) {
            // The request was already answered.
            return;
        }
        self.theirs().remove(id);
        let request: serde_json::Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        let params = json!({"requestId": request, "reason": "the client left"});
        tokio::spawn(async move {
            let cancelled = Message::notification("notifications/cancelled", &params);
            self.partner.hear(cancelled).await;
        });
    }

    /// Replaces our ids in a message with those of the client.
    fn as_theirs(&self, message: Message, ours: &Id) -> Message {
        let Some(theirs) = self.theirs().get(ours).cloned() else { return message };
        match message.shape() {
            Shape::Response { .. } => message.with_id(&theirs.id),
            Shape::Notification { method } if method == "notifications/progress" => {
                replaced(message, &["params", "progressToken"], theirs.token.as_deref())
            }
            Shape::Notification { .. } => replaced(
                message,
                &["params", "_meta", meta::SUBSCRIPTION],
                Some(theirs.id.as_json()),
            ),
            _ => message,
        }
    }

    pub(crate) async fn leave(&self) {
        self.partner.leave().await;
        self.streams.end();
    }
}

/// Holds a pending request of a client without a session.
pub(crate) struct Asked {
    /// Receives the messages about the request. The response is the last one.
    pub(crate) told: mpsc::Receiver<Message>,
    face: Arc<Stateless>,
    id: Id,
}

impl Asked {
    /// Returns the receiver for the messages, and the callback that cancels the request. A client of these
    /// revisions cancels a request by closing the response.
    pub(crate) fn into_parts(self) -> (mpsc::Receiver<Message>, super::body::Leave) {
        let Self { told, face, id } = self;
        (told, Box::new(move || face.give_up(&id)))
    }
}

/// Replaces the progress token of a request with our id. Also returns the client's token, if there is one.
fn with_token(request: Message, id: &Id) -> (Message, Option<String>) {
    if !word::PROGRESS.is_in(&request) {
        return (request, None);
    }
    let place = ["params", "_meta", "progressToken"];
    let token = splice::at(request.text(), &place).map(str::to_owned);
    match token {
        Some(token) => (replaced(request, &place, Some(id.as_json())), Some(token)),
        None => (request, None),
    }
}

/// Replaces a value that exists at this place. Otherwise the message stays unchanged.
fn replaced(message: Message, place: &[&str], value: Option<&str>) -> Message {
    let is_there = splice::at(message.text(), place).is_some();
    match value.filter(|_| is_there).map(|value| splice::with(message.text(), place, value)) {
        Some(Ok(text)) => message.with_text(text),
        _ => message,
    }
}

/// Identifies clients without sessions that may share a connection. A server must see the same description for
/// all of them. Its questions to one client must not reach another.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct FaceKey {
    pub(crate) principal: String,
    /// The server of the endpoint, or `None` for all servers.
    pub(crate) endpoint: Option<String>,
    /// The client's description and capabilities. It is empty if all clients of a principal share a connection.
    client: String,
}

impl FaceKey {
    /// Returns the key that all clients of a principal share at an endpoint.
    pub(crate) fn shared(principal: &str, endpoint: Option<&str>) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        Self { principal, endpoint, client: String::new() }
    }

    /// Adds the description of the client that sent a message.
    pub(crate) fn of_client(self, message: &Message) -> Self {
        let about = splice::at(message.text(), &["params", "_meta"]);
        let about = about.and_then(|about| Object::read(about).ok());
        let member = |name| about.as_ref().and_then(|about| about.get(name)).unwrap_or("null");
        let client = format!("{} {}", member(meta::CLIENT), member(meta::CAPABILITIES));
        let is_long = client.len() > DESCRIPTION;
        let client = if is_long { Digest::of_bytes(client.as_bytes()).to_string() } else { client };
        Self { client, ..self }
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.principal == other.principal && self.endpoint == other.endpoint
    }
}

/// Tells why a client gets no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoFace {
    /// The endpoint no longer exists.
    NoServer,
    /// The principal has reached its limit, and all its connections are in use.
    TooMany,
}

/// Holds the shared connections of clients without sessions.
#[derive(Default)]
pub(crate) struct Faces {
    open: Mutex<HashMap<FaceKey, Arc<Stateless>>>,
}

impl Faces {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<FaceKey, Arc<Stateless>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection for a key and creates it if necessary. At the limit, the principal's least recently
    /// used idle connection is closed first.
    pub(crate) fn get(
        &self,
        key: FaceKey,
        make: impl FnOnce() -> Option<Stateless>,
    ) -> Result<Arc<Stateless>, NoFace> {
        let mut open = self.lock();
        if let Some(face) = open.get(&key) {
            face.touch();
            return Ok(Arc::clone(face));
        }
        let own = || open.iter().filter(|(other, _)| other.principal == key.principal);
        if own().count() >= MOST_OF_ONE {
            let unused = own().filter(|(_, face)| face.streams.is_idle());
            let oldest =
                unused.min_by_key(|(_, face)| face.last_used()).map(|(key, _)| key.clone());
            let oldest = oldest.ok_or(NoFace::TooMany)?;
            if let Some(face) = open.remove(&oldest) {
                tokio::spawn(face.retire());
            }
        }
        let face = Arc::new(make().ok_or(NoFace::NoServer)?);
        open.insert(key, Arc::clone(&face));
        Ok(face)
    }

    /// Returns all connections of a principal at an endpoint.
    pub(crate) fn beside(&self, key: &FaceKey) -> Vec<Arc<Stateless>> {
        let open = self.lock();
        open.iter()
            .filter(|(other, _)| other.is_beside(key))
            .map(|(_, face)| Arc::clone(face))
            .collect()
    }

    /// Closes unused connections periodically, until the task is dropped.
    pub(crate) async fn sweep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let unused: Vec<_> = {
                let mut open = self.lock();
                let is_unused = |_: &FaceKey, face: &mut Arc<Stateless>| {
                    face.streams.is_idle() && face.last_used().elapsed() >= IDLE
                };
                open.extract_if(is_unused).map(|(_, face)| face).collect()
            };
            for face in unused {
                tokio::spawn(face.retire());
            }
        }
    }

    /// Creates new connections from now on. The existing ones close once their requests are answered.
    pub(crate) fn retire(&self) {
        let retired: Vec<_> = self.lock().drain().map(|(_, face)| face).collect();
        for face in retired {
            tokio::spawn(face.retire());
        }
    }

    pub(crate) async fn end_all(&self) {
        let faces: Vec<_> = self.lock().drain().map(|(_, face)| face).collect();
        let mut leaving = tokio::task::JoinSet::new();
        for face in faces {
            leaving.spawn(async move {
                face.leave().await;
                let _ = tokio::time::timeout(GOING, face.partner.gone()).await;
            });
        }
        while leaving.join_next().await.is_some() {}
    }
}
