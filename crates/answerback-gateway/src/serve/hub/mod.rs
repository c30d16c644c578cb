//! Several servers as one: each request goes to the server that it is about, and lists are put together.

mod listening;
mod lists;
mod tools;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use answerback_mcp::link::{Incoming, WAITING};
use answerback_mcp::wire::{Id, Message, Shape, code, splice};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::merge::{self, text};
use super::names::ToolNames;
use super::{Backend, Current, NameFile, header_validation, session_peer};
use crate::client_sink::ClientSink;
use crate::relay::{Relay, cancellation};
use crate::{Client, Gateway};
use listening::ListenRequest;
use tools::KnownTools;

/// How long a server has to say something that several are asked. It may have to be fetched first.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one has that was waited for in vain before.
const LATE: Duration = Duration::from_secs(1);
/// Why a server is told that nobody waits for its answer.
const TOO_LONG: &str = "it took too long";
/// Why a server is told so about a request that it has just got.
const GIVEN_UP: &str = "the client gave it up";
/// How the ids of servers' requests begin, as the client sees them.
const OF_SERVER: char = 's';

/// One client's connections to all servers.
pub(crate) struct Hub {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    outlet: ClientSink,
    servers: Vec<HubServer>,
    /// What tools are called.
    names: NameFile,
    /// Requests whose answers we look at ourselves, each with the server that may answer it.
    waiting: Mutex<HashMap<Id, (usize, oneshot::Sender<Message>)>>,
    /// What begins the ids of our own, which nobody can guess.
    prefix: String,
    /// The client's requests that are open, and where each went.
    routes: Mutex<HashMap<Id, Route>>,
    /// What the client listens for at all servers.
    listening: Mutex<HashMap<Id, ListenRequest>>,
    tools: Mutex<KnownTools>,
    /// Only one at a time asks all servers for their tools.
    refreshing: tokio::sync::Mutex<()>,
    is_refreshing: AtomicBool,
    /// Whether the client has a session, and hears of changes without having asked for that.
    has_session: AtomicBool,
    prompts: RwLock<Arc<ToolNames>>,
    /// Which server has a resource or a template.
    resources: RwLock<HashMap<String, usize>>,
    number: AtomicU64,
    tasks: Mutex<JoinSet<()>>,
    /// Whether the client left: those who carry what servers say hold on to us, and go then.
    has_left: watch::Sender<bool>,
}

struct HubServer {
    backend: Backend,
    relay: Arc<Relay>,
    /// Whether it is listing its tools.
    is_listing: AtomicBool,
    greeting: Mutex<GreetingState>,
}

/// How far a server is that is greeted.
enum GreetingState {
    /// It was not, or it answered.
    Done,
    /// It has not answered yet. What the client said when it heard of the others is for it to hear then.
    Asked { initialized: Option<Message> },
}

/// Where a request of the client went.
#[derive(Clone, Copy)]
enum Route {
    /// Nowhere yet: whose it is has to be found out, or we answer it ourselves.
    Undecided,
    /// Nowhere, and it is not to go anywhere: the client gave it up before that was found out.
    GivenUp,
    One(usize),
    All,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new(current: &Current, client: &Arc<Client>, outlet: ClientSink) -> Arc<Self> {
        let Current { gateway, backends, names, .. } = current;
        let mut queues = Vec::new();
        let servers = backends
            .iter()
            .map(|backend| {
                let (queue, said) = mpsc::channel(WAITING);
                queues.push(said);
                let mut backend = backend.clone();
                backend.served.is_one_of_many = true;
                let to_us = ClientSink::OneOfMany { queue, client: Box::new(outlet.clone()) };
                let relay = session_peer::relay(&backend, gateway, client, to_us);
                let (is_listing, greeting) =
                    (AtomicBool::new(false), Mutex::new(GreetingState::Done));
                HubServer { backend, relay, is_listing, greeting }
            })
            .collect();
        let hub = Arc::new(Self {
            gateway: Arc::clone(gateway),
            client: Arc::clone(client),
            outlet,
            servers,
            names: names.clone(),
            waiting: Mutex::default(),
            prefix: {
                let random: [u8; 8] = answerback_record::system::random().unwrap_or_default();
                format!("hub/{:016x}", u64::from_be_bytes(random))
            },
            routes: Mutex::default(),
            listening: Mutex::default(),
            tools: Mutex::default(),
            refreshing: tokio::sync::Mutex::new(()),
            is_refreshing: AtomicBool::new(false),
            has_session: AtomicBool::new(false),
            prompts: RwLock::default(),
            resources: RwLock::default(),
            number: AtomicU64::new(0),
            tasks: Mutex::default(),
            has_left: watch::Sender::new(false),
        });
        for (index, said) in queues.into_iter().enumerate() {
            tokio::spawn(Arc::clone(&hub).from(index, said));
        }
        hub
    }

    pub(crate) async fn gone(&self) {
        for server in &self.servers {
            server.relay.gone().await;
        }
    }

    pub(crate) async fn leave(&self) {
        let mut leaving = JoinSet::new();
        for server in &self.servers {
            let relay = Arc::clone(&server.relay);
            leaving.spawn(async move { relay.leave().await });
        }
        while leaving.join_next().await.is_some() {}
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        self.has_left.send_replace(true);
    }

    /// Carries what a server says.
    async fn from(self: Arc<Self>, index: usize, mut said: mpsc::Receiver<Incoming>) {
        let mut has_left = self.has_left.subscribe();
        loop {
            // What was said before is still told.
            let incoming = tokio::select! {
                biased;
                incoming = said.recv() => incoming,
                _ = has_left.wait_for(|left| *left) => None,
            };
            let Some(incoming) = incoming else { return };
            match incoming.message.shape() {
                Shape::Response { id } => {
                    if self.heard_last(index, id, &incoming.message).await {
                        continue;
                    }
                    let waits = {
                        let mut waiting = lock(&self.waiting);
                        let is_asked = waiting.get(id).is_some_and(|(server, _)| *server == index);
                        if is_asked { waiting.remove(id) } else { None }
                    };
                    match waits {
                        Some((_, waits)) => {
                            let _ = waits.send(incoming.message);
                        }
                        None => {
                            lock(&self.routes).remove(id);
                            self.outlet.send(incoming).await;
                        }
                    }
                }
                Shape::Request { id, .. } => {
                    // Servers count on their own: an id says whose it is.
                    let ours = as_seen(index, id);
                    let message = incoming.message.with_id(&ours);
                    self.tell(message, incoming.about).await;
                }
                Shape::Notification { method } if method == "notifications/cancelled" => {
                    let message = taken_back(index, &incoming.message);
                    self.tell(message.unwrap_or(incoming.message), incoming.about).await;
                }
                Shape::Notification { method } => {
                    if method == "notifications/tools/list_changed" {
                        lock(&self.tools).change();
                    }
                    let is_ours = method == listening::ACKNOWLEDGED
                        && self.acknowledged(index, &incoming.message).await;
                    if !is_ours {
                        self.outlet.send(incoming).await;
                    }
                }
                Shape::Batch => {}
            }
        }
    }

    async fn tell(&self, message: Message, about: Option<Id>) {
        let said = match about {
            Some(request) => Incoming::about(message, request),
            None => Incoming::from(message),
        };
        self.outlet.send(said).await;
    }

    /// Gives the client the answer to a request, which is not open any more then.
    async fn close(&self, id: &Id, answer: Message) {
        lock(&self.routes).remove(id);
        self.outlet.send(answer.into()).await;
    }

    async fn answer(&self, id: &Id, result: &str) {
        self.close(id, Message::result(id, result)).await;
    }

    async fn fail(&self, id: &Id, code: i32, text: &str) {
        self.close(id, Message::error(Some(id), code, text, None)).await;
    }

    /// Takes a message of the client.
    pub(crate) async fn hear(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, .. } => {
                // Known before anything else is heard: the client may give it up in its next message.
                lock(&self.routes).insert(id.clone(), Route::Undecided);
                let hub = Arc::clone(self);
                let mut tasks = lock(&self.tasks);
                while tasks.try_join_next().is_some() {}
                tasks.spawn(async move { hub.take(message).await });
            }
            Shape::Response { id } => {
                if let Some((server, theirs)) = of_server(id)
                    && let Some(server) = self.servers.get(server)
                {
                    server.relay.hear(message.with_id(&theirs)).await;
                }
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                let id = splice::id_at(message.text(), &["params", "requestId"]);
                if let Some(id) = id {
                    self.cancel(&id, message).await;
                }
            }
            Shape::Notification { method } => {
                let is_initialized = method == "notifications/initialized";
                for server in &self.servers {
                    if !(is_initialized && server.holds(&message)) {
                        server.relay.hear(message.clone()).await;
                    }
                }
            }
            Shape::Batch => {
                let text = "batches are not taken: send each message on its own";
                let answer = Message::error(None, code::INVALID_REQUEST, text, None);
                self.outlet.send(answer.into()).await;
            }
        }
    }

    /// Gives a request of the client up, wherever it is.
    async fn cancel(&self, id: &Id, message: Message) {
        lock(&self.waiting).remove(id);
        lock(&self.listening).remove(id);
        let route = {
            let mut routes = lock(&self.routes);
            match routes.get_mut(id) {
                Some(route @ Route::Undecided) => Some(std::mem::replace(route, Route::GivenUp)),
                _ => routes.remove(id),
            }
        };
        self.outlet.close(id);
        match route {
            Some(Route::One(server)) => self.servers[server].relay.hear(message).await,
            Some(Route::All) => {
                for server in &self.servers {
                    server.relay.hear(message.clone()).await;
                }
            }
            // Whoever finds out where it was to go sees it.
            Some(Route::Undecided | Route::GivenUp) | None => {}
        }
    }

    /// Notes how far a request is. Says whether it is still wanted: one that the client gave up is forgotten, and goes
    /// nowhere.
    fn goes(&self, id: &Id, route: Route) -> bool {
        let mut routes = lock(&self.routes);
        match routes.get_mut(id) {
            Some(Route::GivenUp) => {
                routes.remove(id);
                false
            }
            Some(before) => {
                *before = route;
                true
            }
            None => false,
        }
    }

    async fn take(self: Arc<Self>, message: Message) {
        let Shape::Request { id, method } = message.shape().clone() else { return };
        let is_modern = header_validation::version(&message).is_some();
        let params = splice::at(message.text(), &["params"]).unwrap_or("{}").to_owned();
        match method.as_str() {
            // Without sessions there is none of these, and each server by itself would say so.
            "initialize" | "ping" | "logging/setLevel" if is_modern => {
                self.fail(&id, code::METHOD_NOT_FOUND, "this revision has no such method").await;
            }
            "initialize" | "server/discover" => self.greet(&id, &method, &params).await,
            "ping" => self.answer(&id, "{}").await,
            "tools/list" => {
                let tools = self.fresh_tools(&params).await;
                self.answer(&id, &merge::page("tools", &tools.items, is_modern)).await;
            }
            "tools/call" => self.call(&id, message, &params).await,
            "prompts/list" => self.list_prompts(&id, &params, is_modern).await,
            "prompts/get" => self.get_prompt(&id, message, &params).await,
            "resources/list" => {
                self.list_resources(&id, &method, ("resources", "uri"), &params, is_modern).await;
            }
            "resources/templates/list" => {
                let members = ("resourceTemplates", "uriTemplate");
                self.list_resources(&id, &method, members, &params, is_modern).await;
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                let uri = text(&params, "uri").unwrap_or_default();
                self.about_resource(&id, message, &uri).await;
            }
            "completion/complete" => self.complete(&id, message, &params).await,
            "logging/setLevel" => {
                self.ask_all(&method, &params).await;
                self.answer(&id, "{}").await;
            }
            "subscriptions/listen" => self.listen(&id, message).await,
            "tasks/list" => self.list_tasks(&id, message, &params, is_modern).await,
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
                self.about_task(&id, message, &params).await;
            }
            _ => self.ask_in_turn(&id, message, None).await,
        }
    }

    /// Sends a request of the client on to a server, unless the client gave it up meanwhile.
    async fn forward(&self, server: usize, id: &Id, message: Message) {
        self.is_forwarded(server, id, message).await;
    }

    /// Sends a request of the client on to a server, and says whether the client still wants its answer.
    async fn is_forwarded(&self, server: usize, id: &Id, message: Message) -> bool {
        // Whoever gives it up before the server has it is heard below.
        if !self.goes(id, Route::Undecided) {
            return false;
        }
        let relay = &self.servers[server].relay;
        relay.hear(message).await;
        let is_given_up = {
            let mut routes = lock(&self.routes);
            match routes.get_mut(id) {
                Some(Route::GivenUp) => routes.remove(id).is_some(),
                Some(route) => {
                    *route = Route::One(server);
                    false
                }
                // It was answered already.
                None => false,
            }
        };
        if is_given_up {
            relay.hear(cancellation(id, GIVEN_UP)).await;
        }
        !is_given_up
    }

    /// Asks a server something of our own, which it takes for the client's. Where nothing is said, it has as long as a
    /// call may take.
    async fn ask(
        &self,
        server: usize,
        method: &str,
        params: &str,
        most: impl Into<Option<Duration>>,
    ) -> Option<Message> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let id = Id::of_text(&format!("{}/{number}", self.prefix));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":{},"params":{params}}}"#,
            id.as_json(),
            Value::from(method)
        );
        let message = Message::read(text).ok()?;
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id.clone(), (server, sender));
        self.servers[server].relay.hear(message).await;
        // The relay answers when that is over.
        let Some(most) = most.into() else { return answer.await.ok() };
        let answer = tokio::time::timeout(most, answer).await;
        if answer.is_err() {
            lock(&self.waiting).remove(&id);
            self.servers[server].relay.hear(cancellation(&id, TOO_LONG)).await;
        }
        answer.ok()?.ok()
    }

    /// Asks all servers at once, and gives the results of those that have one.
    async fn ask_all(self: &Arc<Self>, method: &str, params: &str) -> Vec<(usize, String)> {
        self.of_all(|hub, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { result(&hub.ask(server, &method, &params, PATIENCE).await?) }
        })
        .await
    }

    /// Does something for all servers at once; the answers come in the order of the servers. Who was waited for in vain
    /// once is not waited for again, by any client, until it answers; and what comes late is heard when it comes.
    async fn of_all<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl Fn(Arc<Self>, usize) -> F,
    ) -> Vec<(usize, T)>
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let (sender, mut working) = mpsc::channel(self.servers.len().max(1));
        for server in 0..self.servers.len() {
            let (hub, future, sender) =
                (Arc::clone(self), work(Arc::clone(self), server), sender.clone());
            lock(&self.tasks).spawn(async move {
                let value = future.await;
                let has_value = value.is_some();
                if has_value {
                    hub.servers[server].backend.is_late.store(false, Ordering::Release);
                }
                if sender.send((server, value)).await.is_err() && has_value {
                    hub.came_late().await;
                }
            });
        }
        drop(sender);
        let begun = Instant::now();
        let mut missing: Vec<usize> = (0..self.servers.len()).collect();
        let mut done: Vec<(usize, T)> = Vec::new();
        while !missing.is_empty() {
            let is_late = missing.iter().all(|server| self.servers[*server].is_late());
            let until = begun + if is_late { LATE } else { PATIENCE };
            // What is there already is taken, however late it is.
            match tokio::time::timeout_at(until, working.recv()).await {
                Ok(Some((server, value))) => {
                    missing.retain(|one| *one != server);
                    done.extend(value.map(|value| (server, value)));
                }
                Ok(None) | Err(_) => break,
            }
        }
        for server in missing {
            self.servers[server].backend.is_late.store(true, Ordering::Release);
        }
        done.sort_by_key(|(server, _)| *server);
        done
    }

    /// Notes that a server answered whom nobody waited for any more: what it has is there from now on.
    async fn came_late(&self) {
        lock(&self.tools).change();
        if self.has_session.load(Ordering::Acquire) {
            let name = "notifications/tools/list_changed";
            self.outlet.send(Message::notification(name, &json!({})).into()).await;
        }
    }

    async fn greet(self: &Arc<Self>, id: &Id, method: &str, params: &str) {
        let is_modern = method != "initialize";
        if !is_modern {
            self.has_session.store(true, Ordering::Release);
        }
        let answers = self.of_all(|hub, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { hub.greet_one(server, &method, &params).await }
        });
        let answers = answers.await;
        if answers.is_empty() {
            return self.fail(id, code::INTERNAL_ERROR, "none of the servers answers").await;
        }
        let mut greetings: Vec<(&str, Value)> = answers
            .iter()
            .filter_map(|(server, answer)| {
                Some((self.servers[*server].backend.name(), serde_json::from_str(answer).ok()?))
            })
            .collect();
        if answers.len() < self.servers.len() {
            // What a server has that comes later can be asked for then: we list it.
            let lists = json!({"capabilities": {"prompts": {}, "resources": {}}});
            greetings.push(("", lists));
        }
        let greeting = merge::greeting(&greetings, is_modern);
        self.answer(id, &greeting.to_string()).await;
    }

    /// Greets one server. It has its time: what is late is not given up.
    async fn greet_one(&self, server: usize, method: &str, params: &str) -> Option<String> {
        let greeting = &self.servers[server].greeting;
        if method == "initialize" {
            *lock(greeting) = GreetingState::Asked { initialized: None };
        }
        let answer = self.ask(server, method, params, None).await;
        let before = std::mem::replace(&mut *lock(greeting), GreetingState::Done);
        if let GreetingState::Asked { initialized: Some(initialized) } = before {
            self.servers[server].relay.hear(initialized).await;
        }
        result(&answer?)
    }

    /// Asks one server after the other until one has a result; what the first said otherwise. Each is asked as the client
    /// asked: what it says about the request, and whoever gives it up, finds the way. Who is likely to have one is asked
    /// first.
    async fn ask_in_turn(self: &Arc<Self>, id: &Id, message: Message, first: Option<usize>) {
        let most = self.gateway.settings().call_time;
        let end = Instant::now() + most;
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        order.sort_by_key(|server| (Some(*server) != first, self.servers[*server].is_late()));
        let mut refused = None;
        for server in order {
            let (sender, answer) = oneshot::channel();
            lock(&self.waiting).insert(id.clone(), (server, sender));
            if !self.is_forwarded(server, id, message.clone()).await {
                lock(&self.waiting).remove(id);
                return;
            }
            match tokio::time::timeout_at(end, answer).await {
                Ok(Ok(answer)) if result(&answer).is_some() => {
                    return self.close(id, answer).await;
                }
                Ok(Ok(answer)) => {
                    refused.get_or_insert(answer);
                }
                // The client gave it up.
                Ok(Err(_)) => return,
                Err(_) => {
                    lock(&self.waiting).remove(id);
                    self.servers[server].relay.hear(cancellation(id, TOO_LONG)).await;
                    let text = format!("no server answered within {} seconds", most.as_secs());
                    return self.fail(id, code::INTERNAL_ERROR, &text).await;
                }
            }
        }
        match refused {
            Some(answer) => self.close(id, answer).await,
            None => self.fail(id, code::INTERNAL_ERROR, "there is no server").await,
        }
    }
}

impl HubServer {
    /// Keeps the end of a greeting for a server that has not answered its beginning.
    fn holds(&self, message: &Message) -> bool {
        match &mut *lock(&self.greeting) {
            GreetingState::Done => false,
            GreetingState::Asked { initialized } => {
                *initialized = Some(message.clone());
                true
            }
        }
    }

    fn is_late(&self) -> bool {
        self.backend.is_late.load(Ordering::Acquire)
    }

    /// Whether it may be asked something: not before it was greeted.
    fn is_greeted(&self) -> bool {
        matches!(*lock(&self.greeting), GreetingState::Done)
    }
}

/// The id of a server's request, as the client sees it.
fn as_seen(server: usize, theirs: &Id) -> Id {
    Id::of_text(&format!("{OF_SERVER}{server}/{}", theirs.as_json()))
}

/// What a server says of a request of its own that it takes back, under the id that the client knows.
fn taken_back(server: usize, message: &Message) -> Option<Message> {
    let place = ["params", "requestId"];
    let theirs = splice::id_at(message.text(), &place)?;
    let text = splice::with(message.text(), &place, as_seen(server, &theirs).as_json()).ok()?;
    Some(message.clone().with_text(text))
}

/// Whose request it is that has this id, and what its server calls it.
fn of_server(id: &Id) -> Option<(usize, Id)> {
    let text: String = serde_json::from_str(id.as_json()).ok()?;
    let (server, theirs) = text.strip_prefix(OF_SERVER)?.split_once('/')?;
    Some((server.parse().ok()?, Id::read(theirs)?))
}

/// Parameters that say nothing but who asks.
fn meta_of(params: &str) -> String {
    let meta = splice::at(params, &["_meta"]);
    meta.map_or_else(|| "{}".to_owned(), |meta| format!(r#"{{"_meta":{meta}}}"#))
}

/// Whether an answer says that there is no such method.
fn says_unknown(answer: &Message) -> bool {
    splice::at(answer.text(), &["error", "code"]) == Some("-32601")
}

/// The result of an answer, as it is written.
fn result(answer: &Message) -> Option<String> {
    splice::at(answer.text(), &["result"]).map(str::to_owned)
}

/// A request about a thing under its server's own name.
fn renamed(message: &Message, name: &str) -> Option<Message> {
    with(message, &["params", "name"], &Value::from(name).to_string())
}

/// A request with another value in this place.
fn with(message: &Message, place: &[&str], value: &str) -> Option<Message> {
    let text = splice::with(message.text(), place, value).ok()?;
    Some(message.clone().with_text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_whose_it_is() {
        for theirs in ["7", r#""a/b""#] {
            let theirs = Id::read(theirs).unwrap();
            assert_eq!(of_server(&as_seen(3, &theirs)), Some((3, theirs.clone())));
            let said = cancellation(&theirs, "no more");
            let told = taken_back(3, &said).unwrap();
            let told = splice::id_at(told.text(), &["params", "requestId"]).unwrap();
            assert_eq!(of_server(&told), Some((3, theirs)));
        }
        assert_eq!(of_server(&Id::of_text("x")), None);
        assert_eq!(of_server(&Id::of_text("sx/1")), None);
    }
}
