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

/// How often a face that leaves looks whether it can.
const RETIRING: Duration = Duration::from_secs(1);
/// How often faces that nobody uses any more are looked for.
const SWEEP: Duration = Duration::from_mins(1);
/// How long a face is there that nobody uses. Each has processes or connections of its own.
const IDLE: Duration = Duration::from_mins(30);
/// The most faces of one principal, because a client can call itself anything.
const MOST_OF_ONE: usize = 32;
/// How much of what a client says of itself is compared as it is. Of more only the digest is.
const DESCRIPTION: usize = 4096;

/// Clients of one principal that have no sessions, on one connection to their servers: each request gets an id of its
/// own among them, and its answer the client's id again.
pub(crate) struct Stateless {
    /// When somebody used it last.
    used: Mutex<Instant>,
    partner: Partner,
    streams: Arc<Streams>,
    number: AtomicU64,
    /// What the client called its request, and its token of progress.
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

    /// Leaves as soon as its requests were answered.
    async fn retire(self: Arc<Self>) {
        while !self.streams.is_idle() {
            tokio::time::sleep(RETIRING).await;
        }
        self.leave().await;
    }

    fn theirs(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Theirs>> {
        self.theirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request, and gives what will be said about it, with the way to give it up.
    pub(crate) async fn ask(self: &Arc<Self>, request: Message, id: &Id) -> Asked {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let ours = Id::of_text(&format!("c{number}"));
        let (request, token) = with_token(request, &ours);
        let request = request.with_id(&ours);
        self.theirs().insert(ours.clone(), Theirs { id: id.clone(), token });
        // What is not read waits where it is counted.
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

    /// Takes something that wants no answer.
    pub(crate) async fn tell(&self, message: Message) {
        self.partner.hear(message).await;
    }

    /// Gives a request up: nobody reads its answer any more.
    fn give_up(self: Arc<Self>, id: &Id) {
        if !self.streams.close(id) {
            // It was answered.
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

    /// A message about a request of ours as the client knows it.
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

/// A request of a client without a session, under way.
pub(crate) struct Asked {
    /// What is said about it; its answer is the last.
    pub(crate) told: mpsc::Receiver<Message>,
    face: Arc<Stateless>,
    id: Id,
}

impl Asked {
    /// What is said about the request, and what to do when nobody reads it any more: a client of these revisions gives
    /// a request up by closing its answer.
    pub(crate) fn into_parts(self) -> (mpsc::Receiver<Message>, super::body::Leave) {
        let Self { told, face, id } = self;
        (told, Box::new(move || face.give_up(&id)))
    }
}

/// A request with its id for a token of progress, where it has one; and the client's token.
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

/// A message with another value where there is one; as it is, where there is none.
fn replaced(message: Message, place: &[&str], value: Option<&str>) -> Message {
    let is_there = splice::at(message.text(), place).is_some();
    match value.filter(|_| is_there).map(|value| splice::with(message.text(), place, value)) {
        Some(Ok(text)) => message.with_text(text),
        _ => message,
    }
}

/// What clients without sessions have to have in common to share a connection: what a server is told of one of them
/// must be true of all, and what it asks one of them must not be put to another.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct FaceKey {
    pub(crate) principal: String,
    /// The server whose endpoint it is; none, where it is that of all.
    pub(crate) endpoint: Option<String>,
    /// What the client calls itself and what it can do; nothing, where all clients of a principal share.
    client: String,
}

impl FaceKey {
    /// The key that all clients of a principal share at an endpoint.
    pub(crate) fn shared(principal: &str, endpoint: Option<&str>) -> Self {
        let (principal, endpoint) = (principal.to_owned(), endpoint.map(str::to_owned));
        Self { principal, endpoint, client: String::new() }
    }

    /// The key of the client that sent a message.
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

/// Why there is no face for a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoFace {
    /// The endpoint is none any more.
    NoServer,
    /// The principal has as many as there may be, and all of them are used.
    TooMany,
}

/// The clients without sessions that were seen.
#[derive(Default)]
pub(crate) struct Faces {
    open: Mutex<HashMap<FaceKey, Arc<Stateless>>>,
}

impl Faces {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<FaceKey, Arc<Stateless>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The face of a client, made where there is none. Where the principal has too many, the one that was not used for
    /// longest makes room, unless all of them are in use.
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

    /// The faces of a principal at an endpoint, whoever its clients are.
    pub(crate) fn beside(&self, key: &FaceKey) -> Vec<Arc<Stateless>> {
        let open = self.lock();
        open.iter()
            .filter(|(other, _)| other.is_beside(key))
            .map(|(_, face)| Arc::clone(face))
            .collect()
    }

    /// Leaves now and then what nobody used for long, as long as there is anybody to serve.
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

    /// Makes new faces from now on. The ones that there are leave when their requests were answered.
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
