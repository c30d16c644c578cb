use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use answerback_mcp::wire::{Id, Message, Shape, meta, splice, word};
use serde_json::json;
use tokio::sync::mpsc;

use super::Streams;
use super::partner::Partner;
use super::session::GOING;

/// How often a face that leaves looks whether it can.
const RETIRING: Duration = Duration::from_secs(1);

/// Clients of one principal that have no sessions, on one connection to their servers: each request gets an id of its
/// own among them, and its answer the client's id again.
pub(crate) struct Stateless {
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
        Self { partner, streams, number: AtomicU64::new(0), theirs: Arc::default() }
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

/// The clients without sessions that were seen, by principal and endpoint.
#[derive(Default)]
pub(crate) struct Faces {
    open: Mutex<HashMap<Whose, Arc<Stateless>>>,
}

/// A principal, and the server whose endpoint it is; none, where it is that of all.
type Whose = (String, Option<String>);

impl Faces {
    /// The face of a principal at an endpoint, made where there is none.
    pub(crate) fn get(
        &self,
        principal: &str,
        endpoint: Option<&str>,
        make: impl FnOnce() -> Option<Stateless>,
    ) -> Option<Arc<Stateless>> {
        let key = (principal.to_owned(), endpoint.map(str::to_owned));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(face) = open.get(&key) {
            return Some(Arc::clone(face));
        }
        let face = Arc::new(make()?);
        open.insert(key, Arc::clone(&face));
        Some(face)
    }

    /// Makes new faces from now on. The ones that there are leave when their requests were answered.
    pub(crate) fn retire(&self) {
        let retired: Vec<_> = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.drain().map(|(_, face)| face).collect()
        };
        for face in retired {
            tokio::spawn(async move {
                while !face.streams.is_idle() {
                    tokio::time::sleep(RETIRING).await;
                }
                face.leave().await;
            });
        }
    }

    pub(crate) async fn end_all(&self) {
        let faces: Vec<_> = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.drain().map(|(_, face)| face).collect()
        };
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
