//! Combines several servers. Requests are routed to the server that they refer to, and lists are merged.

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

/// The time that each server has to answer a request to several servers. A server may have to be downloaded
/// first.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same time for a server that has timed out before.
const LATE: Duration = Duration::from_secs(1);
/// The reason for cancelling a request after a timeout.
const TOO_LONG: &str = "it took too long";
/// The reason for cancelling a request that was just forwarded.
const GIVEN_UP: &str = "the client gave it up";
/// The prefix of the ids that clients see for servers' requests.
const OF_SERVER: char = 's';

/// Holds one client's connections to all servers.
pub(crate) struct Hub {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    outlet: ClientSink,
    servers: Vec<HubServer>,
    /// The names of tools in the combined list.
    names: NameFile,
    /// The requests whose responses the hub reads itself, each with the server that may answer it.
    waiting: Mutex<HashMap<Id, (usize, oneshot::Sender<Message>)>>,
    /// The unguessable prefix of the ids of the hub's own requests.
    prefix: String,
    /// The client's open requests and the servers that they went to.
    routes: Mutex<HashMap<Id, Route>>,
    /// The client's subscriptions at all servers.
    listening: Mutex<HashMap<Id, ListenRequest>>,
    tools: Mutex<KnownTools>,
    /// Only one task at a time requests the tools of all servers.
    refreshing: tokio::sync::Mutex<()>,
    is_refreshing: AtomicBool,
    /// True if the client has a session, and so receives notifications of changes without a subscription.
    has_session: AtomicBool,
    prompts: RwLock<Arc<ToolNames>>,
    /// Maps the URI of a resource or template to its server.
    resources: RwLock<HashMap<String, usize>>,
    number: AtomicU64,
    tasks: Mutex<JoinSet<()>>,
    /// True once the client has left. The tasks that read from servers hold a reference to the hub, and end then.
    has_left: watch::Sender<bool>,
}

struct HubServer {
    backend: Backend,
    relay: Arc<Relay>,
    /// True while the server is listing its tools.
    is_listing: AtomicBool,
    greeting: Mutex<GreetingState>,
}

/// Tracks the `initialize` request of a server.
enum GreetingState {
    /// The request was answered, or was never sent.
    Done,
    /// The server has not answered yet. The client's `initialized` notification is held back until then.
    Asked { initialized: Option<Message> },
}

/// Tells where a request of the client went.
#[derive(Clone, Copy)]
enum Route {
    /// Its server is not known yet, or the hub answers it itself.
    Undecided,
    /// The client cancelled the request before its server was known, so it must not be sent.
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
                let random: [u8; 8] = answerback_store::system::random().unwrap_or_default();
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

    /// Forwards the messages of a server.
    async fn from(self: Arc<Self>, index: usize, mut said: mpsc::Receiver<Incoming>) {
        let mut has_left = self.has_left.subscribe();
        loop {
            // Messages that arrived earlier are still forwarded.
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
                    // Each server has its own ids, so a prefix identifies the server.
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

    /// Sends the response to a request and closes the request.
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

    /// Handles a message of the client.
    pub(crate) async fn hear(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { id, .. } => {
                // The request is registered first, because the client's next message may cancel it.
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

    /// Cancels a request of the client in any state.
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
            // The task that looks for the server checks this state.
            Some(Route::Undecided | Route::GivenUp) | None => {}
        }
    }

    /// Updates the route of a request. Returns false if the client cancelled it, in which case it is removed and
    /// must not be sent.
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
            // The stateless revisions do not have these methods, and each server would reject them.
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

    /// Forwards a request of the client to a server, unless the client has cancelled it.
    async fn forward(&self, server: usize, id: &Id, message: Message) {
        self.is_forwarded(server, id, message).await;
    }

    /// Forwards a request of the client to a server. Returns false if the client has cancelled it.
    async fn is_forwarded(&self, server: usize, id: &Id, message: Message) -> bool {
        // A cancellation before the server has the request is handled below.
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
                // The request was already answered.
                None => false,
            }
        };
        if is_given_up {
            relay.hear(cancellation(id, GIVEN_UP)).await;
        }
        !is_given_up
    }

    /// Sends a request of the hub to a server, in the client's name. Without `most`, the timeout for calls
    /// applies.
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
        // The relay answers after its own timeout.
        let Some(most) = most.into() else { return answer.await.ok() };
        let answer = tokio::time::timeout(most, answer).await;
        if answer.is_err() {
            lock(&self.waiting).remove(&id);
            self.servers[server].relay.hear(cancellation(&id, TOO_LONG)).await;
        }
        answer.ok()?.ok()
    }

    /// Sends a request to all servers at once and returns the successful results.
    async fn ask_all(self: &Arc<Self>, method: &str, params: &str) -> Vec<(usize, String)> {
        self.of_all(|hub, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { result(&hub.ask(server, &method, &params, PATIENCE).await?) }
        })
        .await
    }

    /// Runs work for all servers at once. Returns the results in the order of the servers. A server that timed
    /// out gets little time, for any client, until it answers again. Late results cause a notification.
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
            // Results that have already arrived are used, even after the deadline.
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

    /// Handles a result that arrived after the timeout: the client is notified of changed tools.
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
            // A server that answers late may offer these lists, so they are declared.
            let lists = json!({"capabilities": {"prompts": {}, "resources": {}}});
            greetings.push(("", lists));
        }
        let greeting = merge::greeting(&greetings, is_modern);
        self.answer(id, &greeting.to_string()).await;
    }

    /// Initializes one server. There is no short timeout, so a slow server can still complete.
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

    /// Asks one server after the other until one returns a result. Otherwise the client receives the first error.
    /// Each server receives the client's request and id, so that notifications and cancellations work. `first` is
    /// the most likely server.
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
                // The client cancelled the request.
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
    /// Holds back the `initialized` notification for a server that has not answered `initialize`. Returns false
    /// if the server may receive it.
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

    /// Returns true if the server is initialized, so that it may receive requests.
    fn is_greeted(&self) -> bool {
        matches!(*lock(&self.greeting), GreetingState::Done)
    }
}

/// Returns the id that clients see for a server's request.
fn as_seen(server: usize, theirs: &Id) -> Id {
    Id::of_text(&format!("{OF_SERVER}{server}/{}", theirs.as_json()))
}

/// Returns a server's cancellation of its own request, with the id that the client knows.
fn taken_back(server: usize, message: &Message) -> Option<Message> {
    let place = ["params", "requestId"];
    let theirs = splice::id_at(message.text(), &place)?;
    let text = splice::with(message.text(), &place, as_seen(server, &theirs).as_json()).ok()?;
    Some(message.clone().with_text(text))
}

/// Returns the server of a request with this id, and the server's own id.
fn of_server(id: &Id) -> Option<(usize, Id)> {
    let text: String = serde_json::from_str(id.as_json()).ok()?;
    let (server, theirs) = text.strip_prefix(OF_SERVER)?.split_once('/')?;
    Some((server.parse().ok()?, Id::read(theirs)?))
}

/// Returns parameters that contain only the client's `_meta`.
fn meta_of(params: &str) -> String {
    let meta = splice::at(params, &["_meta"]);
    meta.map_or_else(|| "{}".to_owned(), |meta| format!(r#"{{"_meta":{meta}}}"#))
}

/// Returns true if a response says that the method does not exist.
fn says_unknown(answer: &Message) -> bool {
    splice::at(answer.text(), &["error", "code"]) == Some("-32601")
}

/// Returns the result of a response as JSON text.
fn result(answer: &Message) -> Option<String> {
    splice::at(answer.text(), &["result"]).map(str::to_owned)
}

/// Returns a request with the server's own name.
fn renamed(message: &Message, name: &str) -> Option<Message> {
    with(message, &["params", "name"], &Value::from(name).to_string())
}

/// Returns a request with another value at this place.
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
