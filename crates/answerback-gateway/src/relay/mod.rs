//! Relays messages between one client and one server. Calls are checked first, and other messages are forwarded.

mod call_future;
mod elicitation;
mod outbound_queue;
mod pending_requests;
mod task_results;
mod tools;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use answerback::finding::shown_name;
use answerback_ledger::leaf::Subject;
use answerback_mcp::link::{
    Answering, Direct, Flow, Incoming, WAITING, broken, broken_because, unsent, was_unsent,
};
use answerback_mcp::wire::{Id, Message, Object, Shape, code, meta, splice};
use answerback_store::StoreError;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::call::takes_forms;
use crate::client_sink::ClientSink;
use crate::serve::NameFile;
use crate::task_notes::TaskScope;
use crate::tasks::Place;
use crate::{Admission, Client, Forwarded, Gateway, Running, ToolCallRequest, Upstream};
pub(crate) use call_future::CarriedCall;
use call_future::RunningCalls;
use outbound_queue::{OutboundQueue, Told};
pub(crate) use pending_requests::cancellation;
use pending_requests::{Asked, Heard, UNREAD, Watched};
pub(crate) use tools::Listed;

/// The prefix of the ids of our own requests, on both sides.
const OURS: &str = "answerback";
/// The reason for rejecting a call whose id is in use.
const REPEATED: &str = "a call with this id is under way";
/// The time that running calls have when the client leaves.
const LEAVING: Duration = Duration::from_secs(5);
/// The time to record that calls were not answered.
const RECORDING: Duration = Duration::from_millis(200);

/// Tells how a forwarded call ended.
enum ForwardOutcome {
    Message(Message),
    /// The client cancelled the call. `was_sent` is true if the server had received it.
    Cancelled {
        was_sent: bool,
    },
}

/// Relays messages between one client and one server, and holds the state of both.
pub(crate) struct Relay {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    server: Served,
    /// Tells which connection's tasks the client can see.
    door: TaskScope,
    to_client: ClientSink,
    to_server: Arc<OutboundQueue>,
    /// Sends calls without the queues, if the link supports it.
    direct: Direct,
    /// The running calls by request id.
    calls: Mutex<HashMap<Id, Stage>>,
    /// The client's other pending requests. A response that matches neither a call nor one of these is dropped.
    asked: Mutex<HashMap<Id, Asked>>,
    /// The pending requests of the server to the client.
    questions: Mutex<HashSet<Id>>,
    under_way: Mutex<RunningCalls>,
    /// Notifies waiters that a call in a reader's task has ended.
    has_ended_elsewhere: Notify,
    /// Notifies waiters that a request other than a call was answered.
    has_answered_other: Notify,
    /// True once the server has sent its last message.
    has_ended: watch::Sender<bool>,
    /// Notifies waiters that the client cancelled a call.
    given_up: Notify,
    /// Our own requests, each with the side that must answer it.
    ours: Mutex<HashMap<Id, (Answerer, oneshot::Sender<Message>)>>,
    /// The unguessable prefix of the ids of our own requests.
    prefix: String,
    upstream: RwLock<Option<Arc<Upstream>>>,
    version: RwLock<Option<String>>,
    listing: tokio::sync::Mutex<()>,
    numbers: AtomicU64,
    /// True if the client can show forms to its user.
    can_ask: AtomicBool,
    /// Counts how often the server reported changed tools.
    changes: AtomicU64,
}

/// Describes the configured server.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The server's name in the configuration.
    pub(crate) name: String,
    /// The server's program or URL.
    pub(crate) place: String,
    /// The file with the pinned definitions of the server's tools.
    pub(crate) pins: Option<PathBuf>,
    /// The server's last known state, shared by all relays. Unchanged tools are compiled and recorded only once.
    pub(crate) known: Arc<RwLock<Option<Arc<Upstream>>>>,
    /// The tools that the server last listed to any client.
    pub(crate) listed: Arc<RwLock<Option<Listed>>>,
    /// The store for tool names, if this is the only server, so that its tools keep their own names.
    pub(crate) names: Option<NameFile>,
    /// True if the server is one of several behind one endpoint. The hub then stores the listed tools.
    pub(crate) is_one_of_many: bool,
    /// True if all clients share one remote server. Otherwise each client has its own server process.
    pub(crate) is_remote: bool,
}

impl Served {
    pub(crate) fn new(name: String, place: String, pins: Option<PathBuf>) -> Self {
        let (known, listed) = (Arc::default(), Arc::default());
        let (is_one_of_many, is_remote) = (false, false);
        Self { name, place, pins, known, listed, names: None, is_one_of_many, is_remote }
    }
}

/// Names the side that must answer a request of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answerer {
    Client,
    Server,
}

/// Tells why a call is rejected before it is checked.
enum Refusal {
    /// A call with this id is already running.
    Repeated,
    /// Too many calls are running.
    Busy,
}

/// Tells how an exchange with the server ended.
enum Exchanged {
    Answer(Message),
    /// The message was never sent.
    Unsent(String),
    /// The server received the message and will not answer.
    Unanswered(String),
    /// The client cancelled the call. `was_sent` is true if the server had received it.
    Cancelled {
        was_sent: bool,
    },
}

enum Stage {
    /// The call is being checked.
    Admitting { is_cancelled: bool },
    /// The call was forwarded to the server.
    Forwarded { waits: oneshot::Sender<ForwardOutcome>, heard: Heard },
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Relay {
    /// Creates a relay between a client's sink and a server's channel.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        client: Arc<Client>,
        server: Served,
        to_client: ClientSink,
        to_server: mpsc::Sender<Message>,
    ) -> Self {
        let most = gateway.settings().most_calls + WAITING;
        let connection = (!server.is_remote).then(|| client.connection());
        let door = TaskScope { connection, is_shared: server.is_one_of_many };
        Self {
            gateway,
            client,
            server,
            door,
            to_client,
            to_server: OutboundQueue::new(to_server, most),
            direct: Direct::default(),
            calls: Mutex::default(),
            asked: Mutex::default(),
            questions: Mutex::default(),
            under_way: Mutex::default(),
            has_ended_elsewhere: Notify::new(),
            has_answered_other: Notify::new(),
            has_ended: watch::Sender::new(false),
            given_up: Notify::new(),
            ours: Mutex::default(),
            prefix: own_prefix(),
            upstream: RwLock::default(),
            version: RwLock::default(),
            listing: tokio::sync::Mutex::new(()),
            numbers: AtomicU64::new(0),
            can_ask: AtomicBool::new(false),
            changes: AtomicU64::new(0),
        }
    }

    /// Sets the direct path to the server.
    pub(crate) fn with_direct(mut self, direct: Direct) -> Self {
        self.direct = direct;
        self
    }

    /// Records the start of the relay and the active policy.
    pub(crate) async fn note_start(&self, surface: &str) -> Result<(), StoreError> {
        self.gateway.note_start(Some(&self.server.name), &self.described(surface)).await
    }

    /// Records the end of the relay.
    pub(crate) async fn note_stop(&self, surface: &str) -> Result<(), StoreError> {
        let document = self.described(surface);
        self.gateway.note(Subject::Stop, Some(&self.server.name), &document).await
    }

    fn described(&self, surface: &str) -> Value {
        let Served { name, place, .. } = &self.server;
        json!({"surface": surface, "upstream": name, "program": place})
    }

    /// Waits until the pending requests are answered, but not longer than `most`. After that, requests that were
    /// sent are answered with `reason`, and requests that were not sent are answered as calls that did not run.
    /// Returns true if every request was answered in time.
    ///
    /// The wait does not depend on the server: a server that never answers must not keep us running after the
    /// client left.
    pub(crate) async fn finish(&self, most: Duration, reason: &str) -> bool {
        let mut tasks = std::mem::take(&mut lock(&self.under_way).tasks);
        let until = Instant::now() + most;
        let is_done = timeout_at(until, async {
            while tasks.join_next().await.is_some() {}
            while !lock(&self.asked).is_empty() {
                self.has_answered_other.notified().await;
            }
        });
        if is_done.await.is_ok() {
            return true;
        }
        self.give_up_all(reason).await;
        // Each of these tasks records that its call was not answered.
        let until = Instant::now() + RECORDING;
        while tasks.len() > self.looked_at()
            && matches!(timeout_at(until, tasks.join_next()).await, Ok(Some(_)))
        {}
        let kept_back = self.keep_back();
        // Dropping the set aborts the tasks, so they answer nothing.
        drop(tasks);
        for id in kept_back {
            let reason = "the gateway ended before it had judged the call, which did not run";
            self.tell(unsent(&id, reason)).await;
        }
        false
    }

    /// Answers every request that was sent to the server, and cancels it there.
    async fn give_up_all(&self, reason: &str) {
        let mut forwarded = Vec::new();
        {
            let mut calls = lock(&self.calls);
            let ids: Vec<Id> = calls.keys().cloned().collect();
            for id in ids {
                if matches!(calls.get(&id), Some(Stage::Forwarded { .. }))
                    && let Some(Stage::Forwarded { waits, .. }) = calls.remove(&id)
                {
                    forwarded.push((id, waits));
                }
            }
        }
        for (id, waits) in forwarded {
            let was_sent = !self.to_server.take_back(&id);
            if was_sent {
                self.to_server.tell(cancellation(&id, reason));
            }
            let reply = if was_sent { broken(&id, reason, None) } else { unsent(&id, reason) };
            let _ = waits.send(ForwardOutcome::Message(reply));
        }
        let asked: Vec<Id> = lock(&self.asked).keys().cloned().collect();
        for id in asked {
            if self.take_asked(&id).is_some() {
                self.tell(broken(&id, reason, None)).await;
            }
        }
    }

    /// Sends a message to the client.
    pub(crate) async fn tell(&self, said: impl Into<Incoming>) {
        self.to_client.send(said.into()).await;
    }

    /// Handles a message of the client.
    pub(crate) async fn hear(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, method } if method == ToolCallRequest::METHOD => {
                self.begin(id.clone(), message);
            }
            Shape::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                match Place::asked_with(&method) {
                    Some(place) => self.begin_late(id, method, place, message).await,
                    None => self.ask(id, &method, message).await,
                }
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                if let Some(id) = cancelled(&message) {
                    let has_server = self.cancel(&id);
                    self.to_client.close(&id);
                    if !has_server {
                        return;
                    }
                }
                self.to_server.tell(message);
            }
            Shape::Response { id } => {
                let id = id.clone();
                match self.answered(&id, Answerer::Client) {
                    Some(waits) => {
                        let _ = waits.send(message);
                    }
                    None if self.is_ours(&id) => {
                        tracing::debug!(upstream = %self.server.name, "an answer to what we asked comes too late");
                    }
                    None => {
                        lock(&self.questions).remove(&id);
                        self.to_server.tell(self.named_for_server(message).await);
                    }
                }
            }
            Shape::Batch => {
                // One revision of the protocol allowed batches. A call in a batch would not be checked.
                let text = "batches are not taken: send each message on a line of its own";
                self.tell(Message::error(None, code::INVALID_REQUEST, text, None)).await;
            }
            // A call without an id would not be checked.
            Shape::Notification { method } if !method.starts_with("notifications/") => {
                tracing::warn!(upstream = %self.server.name, "a client sent a request without an id; it was dropped");
            }
            Shape::Notification { method } => {
                if self.to_server.tell(message.clone()) == Told::Full {
                    tracing::warn!(upstream = %self.server.name, method, "the server does not read; a notification was dropped");
                }
            }
        }
    }

    /// Closes the connection to the server after the messages that were already sent.
    pub(crate) fn close(&self) {
        self.to_server.close();
    }

    /// Closes the connection after the running calls were answered, or after a short time.
    pub(crate) async fn leave(&self) {
        let mut tasks = {
            let mut under_way = lock(&self.under_way);
            under_way.is_leaving = true;
            std::mem::take(&mut under_way.tasks)
        };
        let finishing = self.ended(&mut tasks, || 0);
        // A server whose input ends need not answer its pending requests.
        let _ = tokio::time::timeout(LEAVING, finishing).await;
        self.close();
        // Calls that are still being checked never reached the server. Their checks end by themselves.
        self.ended(&mut tasks, || self.looked_at()).await;
        lock(&self.under_way).has_left = true;
    }

    /// Waits until at most `most` calls are running, in these tasks or in those of readers.
    async fn ended(&self, tasks: &mut JoinSet<()>, most: impl Fn() -> usize) {
        loop {
            let mut ended = pin!(self.has_ended_elsewhere.notified());
            ended.as_mut().enable();
            let most = most();
            if tasks.len() + lock(&self.under_way).elsewhere <= most {
                return;
            }
            tokio::select! {
                Some(_) = tasks.join_next() => {}
                () = ended => {}
            }
        }
    }

    /// Returns the number of calls that were not forwarded yet.
    fn looked_at(&self) -> usize {
        let calls = lock(&self.calls);
        calls.values().filter(|stage| matches!(stage, Stage::Admitting { .. })).count()
    }

    /// Prevents calls that were not forwarded yet from being sent. Returns the ids of those that the client still
    /// waits for.
    fn keep_back(&self) -> Vec<Id> {
        let mut calls = lock(&self.calls);
        let kept_back = calls.iter_mut().filter_map(|(id, stage)| match stage {
            Stage::Admitting { is_cancelled } => {
                (!std::mem::replace(is_cancelled, true)).then(|| id.clone())
            }
            Stage::Forwarded { .. } => None,
        });
        kept_back.collect()
    }

    /// Starts a call that runs in its reader's task. Returns a message that is not a call.
    pub(crate) fn take_call(self: &Arc<Self>, message: Message) -> Result<CarriedCall, Message> {
        match message.shape() {
            Shape::Request { id, method } if method == ToolCallRequest::METHOD => {
                let id = id.clone();
                Ok(CarriedCall::new(self, self.take_in(id, message)))
            }
            _ => Err(message),
        }
    }

    /// Starts a call in a task of its own.
    fn begin(self: &Arc<Self>, id: Id, message: Message) {
        let call = self.take_in(id, message);
        lock(&self.under_way).spawn(call);
    }

    /// Starts a call and returns the future that runs it to its response. The future is boxed because it is large
    /// and moved more than once.
    fn take_in(
        self: &Arc<Self>,
        id: Id,
        message: Message,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let relay = Arc::clone(self);
        let refuse = |code, reason: &str| {
            let answer = Message::error(Some(&id), code, reason, None);
            let relay = Arc::clone(self);
            Box::pin(async move { relay.tell(answer).await })
        };
        let call = match ToolCallRequest::read(message) {
            Ok(call) => {
                // Without a session, the call itself declares this capability.
                let asks_user = if call.is_modern {
                    call.can_ask()
                } else {
                    self.can_ask.load(Ordering::Acquire)
                };
                Box::new(call.arrived_after(self.client.answers()).with_user_asked(asks_user))
            }
            Err(error) => return refuse(code::INVALID_PARAMS, &error.to_string()),
        };
        match self.enter(&id) {
            Ok(()) => {}
            Err(Refusal::Repeated) => return refuse(code::INVALID_REQUEST, REPEATED),
            Err(Refusal::Busy) => {
                return Box::pin(async move {
                    let known = relay.known();
                    let (client, server) = (&relay.client, &relay.server.name);
                    let answer = relay.gateway.refuse_busy(client, server, known.as_deref(), &call);
                    relay.tell(answer.await).await;
                });
            }
        }
        Box::pin(async move {
            let answer = relay.carry_traced(&id, call).await;
            lock(&relay.calls).remove(&id);
            if let Some(answer) = answer {
                relay.tell(answer).await;
            }
        })
    }

    /// Registers a call that is being checked.
    fn enter(&self, id: &Id) -> Result<(), Refusal> {
        let mut under_way = lock(&self.calls);
        if under_way.contains_key(id) {
            return Err(Refusal::Repeated);
        }
        if under_way.len() >= self.gateway.settings().most_calls {
            return Err(Refusal::Busy);
        }
        under_way.insert(id.clone(), Stage::Admitting { is_cancelled: false });
        Ok(())
    }

    /// Runs a call to its response, within a span if a tracer is configured.
    #[cfg(feature = "otel")]
    async fn carry_traced(&self, id: &Id, mut call: Box<ToolCallRequest>) -> Option<Message> {
        let Some(tracer) = &self.gateway.tracer else { return self.carry(id, call).await };
        let Some(span) = crate::trace::CallSpan::begin(&call, &self.server.name) else {
            return self.carry(id, call).await;
        };
        call.message = span.passed_on(call.message);
        let answer = self.carry(id, call).await;
        tracer.end(span, answer.as_ref());
        answer
    }

    #[cfg(not(feature = "otel"))]
    async fn carry_traced(&self, id: &Id, call: Box<ToolCallRequest>) -> Option<Message> {
        self.carry(id, call).await
    }

    /// Runs a call to its response. Returns `None` if the client cancelled it.
    async fn carry(&self, id: &Id, call: Box<ToolCallRequest>) -> Option<Message> {
        let upstream = match self.known() {
            Some(upstream) => upstream,
            None => match Box::pin(self.listed_in_time(&call)).await {
                Ok(upstream) => upstream,
                Err(reason) => {
                    let (client, server) = (&self.client, &self.server.name);
                    let answer = self.gateway.refuse_unlisted(client, server, &call, &reason);
                    return Some(Box::pin(answer).await);
                }
            },
        };
        let mut admission = self.admit(&upstream, call).await;
        if let Admission::Ask(asked) = admission {
            admission = Box::pin(self.ask_person(&upstream, *asked)).await;
        }
        let answer = match admission {
            Admission::Forward(forwarded) => return self.run(id, &upstream, *forwarded).await,
            Admission::Answer(answer) => answer,
            // The user was already asked once.
            Admission::Ask(asked) => asked.answer,
        };
        self.client.answered();
        Some(answer)
    }

    /// Runs an admitted call to its response. Returns `None` if the client cancelled it.
    async fn run(&self, id: &Id, upstream: &Upstream, forwarded: Forwarded) -> Option<Message> {
        let running = Running { door: self.door.clone(), ..forwarded.running };
        Some(match self.exchange(id, forwarded.message).await {
            Exchanged::Answer(reply) => self.gateway.deliver(upstream, running, reply).await,
            Exchanged::Unsent(reason) => self.gateway.fail_unsent(running, &reason).await,
            Exchanged::Unanswered(reason) => self.gateway.fail(running, &reason).await,
            Exchanged::Cancelled { was_sent } => {
                Box::pin(self.gateway.give_up(running, was_sent)).await;
                return None;
            }
        })
    }

    /// Sends a registered call to the server and waits for the response.
    async fn exchange(&self, id: &Id, message: Message) -> Exchanged {
        let (waits, reply) = oneshot::channel();
        let is_cancelled = {
            let stage = Stage::Forwarded { waits, heard: Heard::of(&message) };
            let stage = lock(&self.calls).insert(id.clone(), stage);
            matches!(stage, Some(Stage::Admitting { is_cancelled: true }))
        };
        if is_cancelled {
            return Exchanged::Cancelled { was_sent: false };
        }
        let is_gone = *self.has_ended.borrow();
        let asked =
            if is_gone { Err(message) } else { self.direct.ask(message, self.to_client.watch(id)) };
        let (answering, told) = match asked {
            Ok(answering) => (Some(answering), Told::Sent),
            Err(_) if is_gone => (None, Told::Gone),
            Err(message) => (None, self.to_server.tell(message)),
        };
        match told {
            Told::Sent => {}
            Told::Gone => return Exchanged::Unsent("the server has ended".to_owned()),
            Told::Full => return Exchanged::Unsent(UNREAD.to_owned()),
        }
        let reply = tokio::select! {
            biased;
            reply = first_of(answering, reply) => Ok(reply),
            reason = self.overdue(id) => Err(reason),
        };
        match reply {
            Ok(Ok(ForwardOutcome::Message(reply))) => match broken_because(&reply) {
                Some(reason) if was_unsent(&reply) => Exchanged::Unsent(reason),
                Some(reason) => Exchanged::Unanswered(reason),
                None => Exchanged::Answer(reply),
            },
            Ok(Ok(ForwardOutcome::Cancelled { was_sent })) => Exchanged::Cancelled { was_sent },
            Ok(Err(_)) => Exchanged::Unanswered("the server ended before it answered".to_owned()),
            Err(reason) => {
                // A later response of the server is dropped.
                lock(&self.calls).remove(id);
                if self.to_server.take_back(id) {
                    return Exchanged::Unsent(UNREAD.to_owned());
                }
                self.withdraw(id);
                Exchanged::Unanswered(reason)
            }
        }
    }

    /// Returns the sender that waits for this response, if the response comes from the expected side.
    fn answered(&self, id: &Id, from: Answerer) -> Option<oneshot::Sender<Message>> {
        let mut ours = lock(&self.ours);
        let is_asked = ours.get(id).is_some_and(|(answerer, _)| *answerer == from);
        if is_asked { ours.remove(id).map(|(_, waits)| waits) } else { None }
    }

    /// Waits until the server is gone.
    pub(crate) async fn gone(&self) {
        // `self` owns the sender, so the channel stays open.
        let _ = self.has_ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Handles a cancellation by the client. Returns true if the server must be notified.
    fn cancel(&self, id: &Id) -> bool {
        let was_sent = !self.to_server.take_back(id);
        let mut calls = lock(&self.calls);
        match calls.get_mut(id) {
            Some(Stage::Admitting { is_cancelled }) => {
                *is_cancelled = true;
                self.given_up.notify_waiters();
                return false;
            }
            Some(Stage::Forwarded { .. }) => {
                if let Some(Stage::Forwarded { waits, .. }) = calls.remove(id) {
                    let _ = waits.send(ForwardOutcome::Cancelled { was_sent });
                }
            }
            None => {
                self.take_asked(id);
            }
        }
        was_sent
    }

    /// Reads the server's messages until it ends. Returns the ids of the client's requests, other than calls,
    /// that it left unanswered.
    pub(crate) async fn from_server(
        self: Arc<Self>,
        mut from: mpsc::Receiver<Incoming>,
    ) -> Vec<Id> {
        while let Some(incoming) = from.recv().await {
            self.pass(incoming).await;
        }
        // The server answers nothing from now on.
        self.has_ended.send_replace(true);
        lock(&self.calls).retain(|_, stage| matches!(stage, Stage::Admitting { .. }));
        lock(&self.ours).clear();
        let mut asked: Vec<Id> = lock(&self.asked).keys().cloned().collect();
        asked.retain(|id| self.take_asked(id).is_some());
        asked
    }

    async fn pass(&self, incoming: Incoming) {
        let Incoming { message, about, is_streamed, .. } = incoming;
        match message.shape() {
            Shape::Response { id } => {
                let id = id.clone();
                if is_streamed {
                    self.to_client.flows(&id, Flow::Begun);
                }
                if let Some(waits) = self.answered(&id, Answerer::Server) {
                    let _ = waits.send(message);
                    return;
                }
                let call = {
                    let mut calls = lock(&self.calls);
                    match calls.get(&id) {
                        Some(Stage::Forwarded { .. }) => calls.remove(&id),
                        _ => None,
                    }
                };
                if let Some(Stage::Forwarded { waits, .. }) = call {
                    let _ = waits.send(ForwardOutcome::Message(message));
                    return;
                }
                let Some(watched) = self.take_asked(&id) else {
                    // The response is late, repeated or unrequested. It was not checked and no request waits for
                    // it.
                    tracing::debug!(upstream = %self.server.name, "an answer that nobody waits for was dropped");
                    return;
                };
                let message = match watched {
                    Watched::Not => message,
                    watched => self.look_at(watched, message).await,
                };
                self.tell(message).await;
            }
            Shape::Notification { method } => {
                if method == "notifications/tools/list_changed" {
                    self.changes.fetch_add(1, Ordering::AcqRel);
                    *self.upstream.write().unwrap_or_else(PoisonError::into_inner) = None;
                }
                self.heard(&message, about.as_ref());
                let told = match Place::told_with(method) {
                    Some(place) => Box::pin(self.look_at_news(place, message)).await,
                    None => Some(self.named_for_client(message).await),
                };
                if let Some(told) = told {
                    self.pass_on(told, about).await;
                }
            }
            Shape::Request { .. } => {
                self.heard(&message, about.as_ref());
                let message = self.named_for_client(message).await;
                self.pass_on(message, about).await;
            }
            // Links split batches into messages. A batch that arrives here was not checked, so it is dropped.
            Shape::Batch => {
                tracing::warn!(upstream = %self.server.name, "a batch that nobody took apart was dropped");
            }
        }
    }

    async fn pass_on(&self, message: Message, about: Option<Id>) {
        let said = match about {
            Some(request) => Incoming::about(message, request),
            None => Incoming::from(message),
        };
        self.tell(said).await;
    }

    /// Stores facts from a response to the client, and removes items that the client may not see.
    async fn look_at(&self, watched: Watched, message: Message) -> Message {
        let Ok(object) = Object::read(message.text()) else { return message };
        let Some(result) = object.get("result") else {
            return match watched {
                Watched::Tools { is_whole: true, is_modern } => self.remembered(message, is_modern),
                _ => message,
            };
        };
        match watched {
            Watched::Not => message,
            Watched::Tasks => match self.without_others(result).await {
                Some(listed) => {
                    let text = object.with("result", &listed);
                    message.with_text(text)
                }
                None => message,
            },
            Watched::Initialize => {
                *self.version.write().unwrap_or_else(PoisonError::into_inner) = version(result);
                message
            }
            Watched::Tools { is_whole, .. } => {
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

    /// Returns true if this is the id of a request of ours.
    fn is_ours(&self, id: &Id) -> bool {
        let text = id.as_json().strip_prefix('"');
        text.and_then(|text| text.strip_prefix(&self.prefix)).is_some_and(|it| it.starts_with('/'))
    }

    /// Returns a new id for a request of ours, and the receiver for its response.
    fn expect_answer(&self, from: Answerer) -> (Id, oneshot::Receiver<Message>) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let id = Id::of_text(&format!("{}/{number}", self.prefix));
        let (sender, answer) = oneshot::channel();
        lock(&self.ours).insert(id.clone(), (from, sender));
        (id, answer)
    }

    /// Cancels our requests to the client, because the client has left.
    pub(crate) fn client_left(&self) {
        // A subscription has no response to wait for.
        lock(&self.asked).retain(|_, asked| !asked.is_subscription());
        lock(&self.ours).retain(|_, (answerer, _)| *answerer != Answerer::Client);
    }

    /// Sends a request of ours to the server and waits for the response.
    async fn request(
        &self,
        method: &str,
        params: &Value,
        most: Duration,
    ) -> Result<Message, String> {
        let (id, answer) = self.expect_answer(Answerer::Server);
        if self.to_server.tell(Message::request(&id, method, params)) == Told::Gone {
            lock(&self.ours).remove(&id);
            return Err("the server has ended".to_owned());
        }
        let answer = tokio::time::timeout(most, answer).await;
        lock(&self.ours).remove(&id);
        match answer {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the server has ended".to_owned()),
            Err(_) => {
                if !self.to_server.take_back(&id) {
                    self.withdraw(&id);
                }
                Err(format!("{method} was not answered within {} seconds", most.as_secs()))
            }
        }
    }
}

/// Waits for the response to a call, which may arrive directly or over the link.
async fn first_of(
    answering: Option<Answering>,
    mut reply: oneshot::Receiver<ForwardOutcome>,
) -> Result<ForwardOutcome, oneshot::error::RecvError> {
    if let Some(answering) = answering {
        tokio::select! {
            answer = answering => if let Some(answer) = answer {
                return Ok(ForwardOutcome::Message(answer));
            },
            reply = &mut reply => return reply,
        }
    }
    reply.await
}

/// Returns the reason for rejecting a client's message with a repeated name. Parsers behind us could use another
/// value than the one that we checked. Messages of servers are forwarded as they are.
pub(crate) fn repeated_name(message: &Message) -> String {
    let object = Object::read_repeating(message.text()).ok();
    let name = object.as_ref().and_then(Object::repeated).map(shown_name);
    let name = name.unwrap_or_else(|| "a name".to_owned());
    format!(
        "{name} stands twice among the members of the message, and readers may take either value: send the message \
         again with each member once"
    )
}

/// Returns the prefix for the ids of a relay's own requests. Without randomness there is no client either, so no
/// relay uses the default.
fn own_prefix() -> String {
    let random: [u8; 8] = answerback_store::system::random().unwrap_or_default();
    format!("{OURS}/{:016x}", u64::from_be_bytes(random))
}

/// Returns true if a client declares that it can show forms to its user.
fn can_ask(message: &Message) -> bool {
    let message: Value = serde_json::from_str(message.text()).unwrap_or_default();
    takes_forms(&message["params"]["capabilities"])
}

/// Returns the id of the request that a client cancels.
fn cancelled(message: &Message) -> Option<Id> {
    splice::id_at(message.text(), &["params", "requestId"])
}

/// Returns the version that a server reports.
fn version(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let legacy = result["serverInfo"]["version"].as_str();
    let modern = result["_meta"][meta::SERVER]["version"].as_str();
    legacy.or(modern).map(str::to_owned)
}
