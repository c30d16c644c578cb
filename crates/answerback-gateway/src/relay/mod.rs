//! What crosses between one client and one server: calls are held and looked at, the rest passes.

mod person;
mod tools;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use answerback_ledger::leaf::Subject;
use answerback_mcp::link::{Answering, Direct, Incoming, broken_because, was_unsent};
use answerback_mcp::wire::{Id, Message, Object, Shape, code, meta, splice};
use answerback_store::StoreError;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::call::takes_forms;
use crate::outlet::Outlet;
use crate::serve::NameFile;
use crate::{Admission, Client, Forwarded, Gateway, Running, ToolCall, Upstream};

/// What our own requests are called, on both sides.
const OURS: &str = "answerback";
/// How many calls that were given up are remembered.
const GIVEN_UP: usize = 1024;

/// A request of the client that we have to see the answer to.
enum Watched {
    Initialize,
    Tools {
        is_whole: bool,
    },
    /// It asks for the result of a call that was answered with a task.
    TaskResult(Box<Running>),
}

/// What became of a call that was forwarded.
enum Reply {
    Message(Message),
    Cancelled,
}

/// What carries messages between one client and one server, and keeps what has to be known between two of them.
pub(crate) struct Relay {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    server: Served,
    to_client: Outlet,
    /// Nothing, once the server was left.
    to_server: RwLock<Option<mpsc::Sender<Message>>>,
    /// How calls are carried that need not wait for anything else.
    direct: Direct,
    /// The calls under way; the sender is there once the call was forwarded.
    calls: Mutex<HashMap<Id, Stage>>,
    tasks: Mutex<JoinSet<()>>,
    /// Whether the server said its last word.
    has_ended: watch::Sender<bool>,
    /// Requests of our own, each with who may answer it.
    ours: Mutex<HashMap<Id, (Answerer, oneshot::Sender<Message>)>>,
    /// What begins the ids of our own requests, which nobody can guess.
    prefix: String,
    /// Calls that the client gave up and the server has not answered yet; the newest.
    given_up: Mutex<VecDeque<Id>>,
    watched: Mutex<HashMap<Id, Watched>>,
    upstream: RwLock<Option<Arc<Upstream>>>,
    version: RwLock<Option<String>>,
    listing: tokio::sync::Mutex<()>,
    numbers: AtomicU64,
    /// Whether the client can put a question to its user.
    can_ask: AtomicBool,
    /// How often the server said that its tools changed.
    changes: AtomicU64,
}

/// The server as whoever operates us calls it.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// Its name in the configuration.
    pub(crate) name: String,
    /// The program that it is, or where it is.
    pub(crate) place: String,
    /// The file that keeps its tools' definitions as they were first seen.
    pub(crate) pins: Option<PathBuf>,
    /// The server as any relay to it saw it last: what is the same is compiled and recorded once.
    pub(crate) known: Arc<RwLock<Option<Arc<Upstream>>>>,
    /// Where the names that its tools have are kept, while it is alone and they are its own.
    pub(crate) names: Option<NameFile>,
}

impl Served {
    pub(crate) fn new(name: String, place: String, pins: Option<PathBuf>) -> Self {
        Self { name, place, pins, known: Arc::default(), names: None }
    }
}

/// Who is asked something by us.
#[derive(Clone, Copy)]
enum Side<'a> {
    Server,
    /// The client, about a call of its own.
    Client(&'a Id),
}

/// Who may answer a request of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answerer {
    Client,
    Server,
}

/// Why a call is not taken in.
enum Refusal {
    /// There is a call with its id.
    Repeated,
    /// There are as many calls as there may be.
    Busy,
}

enum Stage {
    /// It is being looked at.
    Admitting { is_cancelled: bool },
    /// The server has it.
    Forwarded(oneshot::Sender<Reply>),
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Relay {
    /// A relay between what is written to the client and what is written to the server.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        client: Arc<Client>,
        server: Served,
        to_client: Outlet,
        to_server: mpsc::Sender<Message>,
    ) -> Self {
        Self {
            gateway,
            client,
            server,
            to_client,
            to_server: RwLock::new(Some(to_server)),
            direct: Direct::default(),
            calls: Mutex::default(),
            tasks: Mutex::default(),
            has_ended: watch::Sender::new(false),
            ours: Mutex::default(),
            prefix: own_prefix(),
            given_up: Mutex::default(),
            watched: Mutex::default(),
            upstream: RwLock::default(),
            version: RwLock::default(),
            listing: tokio::sync::Mutex::new(()),
            numbers: AtomicU64::new(0),
            can_ask: AtomicBool::new(false),
            changes: AtomicU64::new(0),
        }
    }

    /// With a way past the queues to the server.
    pub(crate) fn with_direct(mut self, direct: Direct) -> Self {
        self.direct = direct;
        self
    }

    /// Notes that the relay begins, and what is in force from then on.
    pub(crate) async fn note_start(&self, surface: &str) -> Result<(), StoreError> {
        self.gateway.note_start(Some(&self.server.name), &self.described(surface)).await
    }

    /// Notes that the relay ends.
    pub(crate) async fn note_stop(&self, surface: &str) -> Result<(), StoreError> {
        let document = self.described(surface);
        self.gateway.note(Subject::Stop, Some(&self.server.name), &document).await
    }

    fn described(&self, surface: &str) -> Value {
        let Served { name, place, .. } = &self.server;
        json!({"surface": surface, "upstream": name, "program": place})
    }

    /// Waits for the calls that are under way.
    pub(crate) async fn finish(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        while tasks.join_next().await.is_some() {}
    }

    /// Tells the client something.
    pub(crate) async fn tell(&self, said: impl Into<Incoming>) {
        self.to_client.send(said.into()).await;
    }

    /// Takes a message of the client.
    pub(crate) async fn hear(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, method } if method == ToolCall::METHOD => {
                self.begin(id.clone(), message).await;
            }
            Shape::Request { id, method } => {
                let watched = match method.as_str() {
                    "initialize" | "server/discover" => Some(Watched::Initialize),
                    "tools/list" => Some(Watched::Tools { is_whole: !has_cursor(&message) }),
                    Gateway::TASK_RESULT => {
                        let (client, server) = (&self.client, &self.server.name);
                        match Box::pin(self.gateway.asked_for(client, server, &message)).await {
                            Some(Ok(running)) => Some(Watched::TaskResult(Box::new(running))),
                            Some(Err(answer)) => return self.tell(answer).await,
                            None => None,
                        }
                    }
                    _ => None,
                };
                if method == "initialize" {
                    self.can_ask.store(can_ask(&message), Ordering::Release);
                }
                if let Some(watched) = watched {
                    lock(&self.watched).insert(id.clone(), watched);
                }
                self.send(message).await;
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                if let Some(id) = cancelled(&message) {
                    let has_server = self.cancel(&id);
                    self.to_client.close(&id);
                    if !has_server {
                        return;
                    }
                }
                self.send(message).await;
            }
            Shape::Response { id } => {
                let id = id.clone();
                match self.answered(&id, Answerer::Client) {
                    Some(waits) => {
                        let _ = waits.send(message);
                    }
                    None => {
                        self.send(message).await;
                    }
                }
            }
            Shape::Batch => {
                // One revision of the protocol had them. A call in it would pass unchecked.
                let text = "batches are not taken: send each message on a line of its own";
                self.tell(Message::error(None, code::INVALID_REQUEST, text, None)).await;
            }
            // A call without an id would be one that nobody looks at.
            Shape::Notification { method } if !method.starts_with("notifications/") => {
                tracing::warn!(upstream = %self.server.name, "a client sent a request without an id; it was dropped");
            }
            Shape::Notification { .. } => {
                self.send(message).await;
            }
        }
    }

    /// Tells the server something. Says whether it is there.
    async fn send(&self, message: Message) -> bool {
        let to = self.to_server.read().unwrap_or_else(PoisonError::into_inner).clone();
        match to {
            Some(to) => to.send(message).await.is_ok(),
            None => false,
        }
    }

    /// Leaves the server, which hears what it was told before.
    pub(crate) fn close(&self) {
        *self.to_server.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes a call in.
    async fn begin(self: &Arc<Self>, id: Id, message: Message) {
        let call = match ToolCall::read(message) {
            Ok(call) => call.arrived_after(self.client.answers()),
            Err(error) => {
                let answer =
                    Message::error(Some(&id), code::INVALID_PARAMS, &error.to_string(), None);
                return self.tell(answer).await;
            }
        };
        let refusal = {
            let mut under_way = lock(&self.calls);
            if under_way.contains_key(&id) {
                Some(Refusal::Repeated)
            } else if under_way.len() >= self.gateway.settings().most_calls {
                Some(Refusal::Busy)
            } else {
                under_way.insert(id.clone(), Stage::Admitting { is_cancelled: false });
                // Whoever uses an id again means the new call.
                lock(&self.given_up).retain(|call| *call != id);
                None
            }
        };
        match refusal {
            None => {}
            Some(Refusal::Repeated) => {
                let reason = "a call with this id is under way";
                let answer = Message::error(Some(&id), code::INVALID_REQUEST, reason, None);
                return self.tell(answer).await;
            }
            Some(Refusal::Busy) => {
                let known = self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone();
                let (client, server) = (&self.client, &self.server.name);
                let answer = self.gateway.refuse_busy(client, server, known.as_deref(), &call);
                // What is rare does not make every other future larger.
                return self.tell(Box::pin(answer).await).await;
            }
        }
        let relay = Arc::clone(self);
        let mut tasks = lock(&self.tasks);
        // Calls that are done are forgotten.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            // A task is moved when it is made and again when it ends; what is large stays in its place.
            let answer = Box::pin(relay.carry_traced(&id, call)).await;
            lock(&relay.calls).remove(&id);
            if let Some(answer) = answer {
                relay.tell(answer).await;
            }
        });
    }

    /// Carries a call to its answer, with a span where somebody collects them.
    #[cfg(feature = "otel")]
    async fn carry_traced(&self, id: &Id, mut call: ToolCall) -> Option<Message> {
        let Some(tracer) = &self.gateway.tracer else { return self.carry(id, call).await };
        let Some(span) = crate::trace::Span::begin(&call, &self.server.name) else {
            return self.carry(id, call).await;
        };
        call.message = span.passed_on(call.message);
        let answer = self.carry(id, call).await;
        tracer.end(span, answer.as_ref());
        answer
    }

    #[cfg(not(feature = "otel"))]
    async fn carry_traced(&self, id: &Id, call: ToolCall) -> Option<Message> {
        self.carry(id, call).await
    }

    /// Carries a call to its answer; none, when the client does not want it any more.
    async fn carry(&self, id: &Id, call: ToolCall) -> Option<Message> {
        let upstream = match self.upstream(&call).await {
            Ok(upstream) => upstream,
            Err(reason) => {
                let (client, server) = (&self.client, &self.server.name);
                let answer = self.gateway.refuse_unlisted(client, server, &call, &reason);
                return Some(Box::pin(answer).await);
            }
        };
        let mut admission = self.admit(&upstream, call).await;
        if let Admission::Ask(asked) = admission {
            admission = Box::pin(self.ask_person(&upstream, *asked)).await;
        }
        let answer = match admission {
            Admission::Forward(forwarded) => return self.run(id, &upstream, *forwarded).await,
            Admission::Answer(answer) => answer,
            // A person was asked already, and once is enough.
            Admission::Ask(asked) => asked.answer,
        };
        self.client.answered();
        Some(answer)
    }

    /// Carries a call that runs to its answer; none, when the client does not want it any more.
    async fn run(&self, id: &Id, upstream: &Upstream, forwarded: Forwarded) -> Option<Message> {
        let (running, message) = (forwarded.running, forwarded.message);
        let (sender, reply) = oneshot::channel();
        let is_cancelled = {
            let mut calls = lock(&self.calls);
            let stage = calls.insert(id.clone(), Stage::Forwarded(sender));
            matches!(stage, Some(Stage::Admitting { is_cancelled: true }))
        };
        if is_cancelled {
            self.gateway.give_up(running, false).await;
            return None;
        }
        let is_gone = *self.has_ended.borrow();
        let asked = if is_gone { Err(message) } else { self.direct.ask(message) };
        let (answering, is_sent) = match asked {
            Ok(answering) => (Some(answering), true),
            Err(message) => (None, !is_gone && self.send(message).await),
        };
        if !is_sent {
            return Some(self.gateway.fail_unsent(running, "the server has ended").await);
        }
        let most = self.gateway.settings().call_time;
        match tokio::time::timeout(most, heard(answering, reply)).await {
            Ok(Ok(Reply::Message(reply))) => Some(match broken_because(&reply) {
                Some(reason) if was_unsent(&reply) => {
                    self.gateway.fail_unsent(running, &reason).await
                }
                Some(reason) => self.gateway.fail(running, &reason).await,
                None => self.gateway.deliver(upstream, running, reply).await,
            }),
            Ok(Ok(Reply::Cancelled)) => {
                self.gateway.give_up(running, true).await;
                None
            }
            Ok(Err(_)) => {
                Some(self.gateway.fail(running, "the server ended before it answered").await)
            }
            Err(_) => {
                let request_id: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
                let params = json!({"requestId": request_id, "reason": "it took too long"});
                self.send(Message::notification("notifications/cancelled", &params)).await;
                let reason = format!("the server did not answer within {} seconds", most.as_secs());
                Some(self.gateway.fail(running, &reason).await)
            }
        }
    }

    /// Whoever waits for this answer, if it comes from the side that was asked.
    fn answered(&self, id: &Id, from: Answerer) -> Option<oneshot::Sender<Message>> {
        let mut ours = lock(&self.ours);
        let is_asked = ours.get(id).is_some_and(|(answerer, _)| *answerer == from);
        if is_asked { ours.remove(id).map(|(_, waits)| waits) } else { None }
    }

    /// Whether an answer is one to a call that the client gave up. It is asked once.
    fn was_given_up(&self, id: &Id) -> bool {
        let mut given_up = lock(&self.given_up);
        let place = given_up.iter().position(|call| call == id);
        place.is_some_and(|place| given_up.remove(place).is_some())
    }

    /// Waits until the server is gone.
    pub(crate) async fn gone(&self) {
        // The sender is ours, so there is an end to it.
        let _ = self.has_ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Notes that the client does not want an answer any more. Says whether the server has to know.
    fn cancel(&self, id: &Id) -> bool {
        let mut calls = lock(&self.calls);
        match calls.get_mut(id) {
            Some(Stage::Admitting { is_cancelled }) => {
                *is_cancelled = true;
                false
            }
            Some(Stage::Forwarded(_)) => {
                if let Some(Stage::Forwarded(waits)) = calls.remove(id) {
                    let _ = waits.send(Reply::Cancelled);
                }
                let mut given_up = lock(&self.given_up);
                if given_up.len() == GIVEN_UP {
                    given_up.pop_front();
                }
                given_up.push_back(id.clone());
                true
            }
            None => true,
        }
    }

    /// Reads what the server says until it leaves.
    pub(crate) async fn from_server(self: Arc<Self>, mut from: mpsc::Receiver<Incoming>) {
        while let Some(incoming) = from.recv().await {
            self.pass(incoming).await;
        }
        // Nobody will answer any more.
        self.has_ended.send_replace(true);
        lock(&self.calls).retain(|_, stage| matches!(stage, Stage::Admitting { .. }));
        lock(&self.ours).clear();
    }

    async fn pass(&self, incoming: Incoming) {
        let Incoming { message, about, .. } = incoming;
        match message.shape() {
            Shape::Response { id } => {
                let id = id.clone();
                if let Some(waits) = self.answered(&id, Answerer::Server) {
                    let _ = waits.send(message);
                    return;
                }
                if self.was_given_up(&id) {
                    // It is in the record that nobody waited for it.
                    return;
                }
                let call = {
                    let mut calls = lock(&self.calls);
                    match calls.get(&id) {
                        Some(Stage::Forwarded(_)) => calls.remove(&id),
                        _ => None,
                    }
                };
                if let Some(Stage::Forwarded(waits)) = call {
                    let _ = waits.send(Reply::Message(message));
                    return;
                }
                let watched = lock(&self.watched).remove(&id);
                let message = match watched {
                    Some(watched) => self.look_at(watched, message).await,
                    None => message,
                };
                self.tell(message).await;
            }
            Shape::Notification { method } => {
                if method == "notifications/tools/list_changed" {
                    self.changes.fetch_add(1, Ordering::AcqRel);
                    *self.upstream.write().unwrap_or_else(PoisonError::into_inner) = None;
                }
                self.pass_on(message, about).await;
            }
            Shape::Request { .. } | Shape::Batch => self.pass_on(message, about).await,
        }
    }

    async fn pass_on(&self, message: Message, about: Option<Id>) {
        let said = match about {
            Some(request) => Incoming::about(message, request),
            None => Incoming::from(message),
        };
        self.tell(said).await;
    }

    /// Learns from an answer to the client, and takes out what the client may not see.
    async fn look_at(&self, watched: Watched, message: Message) -> Message {
        if let Watched::TaskResult(running) = watched {
            let known = self.server.known.read().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(upstream) = known else { return message };
            return self.gateway.deliver(&upstream, *running, message).await;
        }
        let Ok(object) = Object::read(message.text()) else { return message };
        let Some(result) = object.get("result") else { return message };
        match watched {
            Watched::TaskResult(_) => message,
            Watched::Initialize => {
                *self.version.write().unwrap_or_else(PoisonError::into_inner) = version(result);
                message
            }
            Watched::Tools { is_whole } => {
                let changes = self.changes.load(Ordering::Acquire);
                let is_last = Object::read(result)
                    .is_ok_and(|page| page.get("nextCursor").is_none_or(|cursor| cursor == "null"));
                if is_whole && is_last {
                    self.adopt(&[result.to_owned()], changes).await;
                }
                match self.listed(result) {
                    Some(listed) => {
                        let text = object.with("result", &listed);
                        message.with_text(text)
                    }
                    None => message,
                }
            }
        }
    }

    /// Asks one side something of our own.
    async fn request(
        &self,
        side: Side<'_>,
        method: &str,
        params: &Value,
        most: Duration,
    ) -> Result<Message, String> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let id = Id::of_text(&format!("{}/{number}", self.prefix));
        let (sender, answer) = oneshot::channel();
        let answerer = match side {
            Side::Server => Answerer::Server,
            Side::Client(_) => Answerer::Client,
        };
        lock(&self.ours).insert(id.clone(), (answerer, sender));
        let request = Message::request(&id, method, params);
        match side {
            Side::Server => {
                self.send(request).await;
            }
            Side::Client(call) => self.tell(Incoming::about(request, call.clone())).await,
        }
        let answer = tokio::time::timeout(most, answer).await;
        lock(&self.ours).remove(&id);
        match answer {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the server has ended".to_owned()),
            Err(_) => Err(format!("{method} was not answered within {} seconds", most.as_secs())),
        }
    }
}

/// The answer to a call, on whichever way it comes.
async fn heard(
    answering: Option<Answering>,
    mut reply: oneshot::Receiver<Reply>,
) -> Result<Reply, oneshot::error::RecvError> {
    if let Some(answering) = answering {
        tokio::select! {
            answer = answering => if let Some(answer) = answer {
                return Ok(Reply::Message(answer));
            },
            reply = &mut reply => return reply,
        }
    }
    reply.await
}

/// How the ids of one relay's own requests begin. Without randomness there is no relay: its client has none, either.
fn own_prefix() -> String {
    let random: [u8; 8] = answerback_record::surroundings::random().unwrap_or_default();
    format!("{OURS}/{:016x}", u64::from_be_bytes(random))
}

fn has_cursor(message: &Message) -> bool {
    splice::at(message.text(), &["params", "cursor"]).is_some_and(|cursor| cursor != "null")
}

/// Whether a client says that it can put a form to its user.
fn can_ask(message: &Message) -> bool {
    let message: Value = serde_json::from_str(message.text()).unwrap_or_default();
    takes_forms(&message["params"]["capabilities"])
}

/// Which request a client gives up.
fn cancelled(message: &Message) -> Option<Id> {
    splice::id_at(message.text(), &["params", "requestId"])
}

/// The version that a server gives itself.
fn version(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let legacy = result["serverInfo"]["version"].as_str();
    let modern = result["_meta"][meta::SERVER]["version"].as_str();
    legacy.or(modern).map(str::to_owned)
}
