//! Several servers as one: each request goes to the server that it is about, and lists are put together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use answerback_mcp::link::{Incoming, WAITING};
use answerback_mcp::wire::{Id, Message, Object, Shape, code, splice};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::merge::{self, text, with_text};
use super::names::Names;
use super::{Backend, Current, NameFile, partner, stated};
use crate::outlet::Outlet;
use crate::relay::Relay;
use crate::{Admission, Client, Gateway, Pins, ToolCall, Toolbox, Upstream};

/// How long a server has to say something that several are asked.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most pages of one list.
const PAGES: usize = 1000;
/// How long the tools of a server that is gone are still listed.
const GRACE: Duration = Duration::from_mins(5);
/// When a server that did not list its tools is asked again.
const AGAIN: Duration = Duration::from_secs(30);
/// The name of what has no server of its own, in records.
const GATEWAY: &str = "gateway";
/// How the ids of servers' requests begin, as the client sees them.
const OF_SERVER: char = 's';

/// One client's connections to all servers.
pub(crate) struct Hub {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    outlet: Outlet,
    servers: Vec<Server>,
    /// What tools are called.
    names: NameFile,
    /// Requests of our own, which the servers take for the client's, each with the server that may answer it.
    waiting: Mutex<HashMap<Id, (usize, oneshot::Sender<Message>)>>,
    /// What begins their ids, which nobody can guess.
    prefix: String,
    /// Which server a request of the client went to.
    routes: Mutex<HashMap<Id, usize>>,
    /// The tools that were listed last, and until when they hold where a server did not answer.
    tools: RwLock<Option<(Arc<Tools>, Option<Instant>)>>,
    prompts: RwLock<Arc<Names>>,
    /// Which server has a resource or a template.
    resources: RwLock<HashMap<String, usize>>,
    number: AtomicU64,
    tasks: Mutex<JoinSet<()>>,
    /// Whether the client left: those who carry what servers say hold on to us, and go then.
    has_left: watch::Sender<bool>,
}

struct Server {
    backend: Backend,
    relay: Arc<Relay>,
    /// The tools that it listed last, and when.
    listed: Mutex<Option<(Instant, Vec<String>)>>,
}

/// All tools, as clients see them.
struct Tools {
    names: Arc<Names>,
    items: Vec<String>,
    /// For calls of what no server has.
    upstream: Upstream,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new(current: &Current, client: &Arc<Client>, outlet: Outlet) -> Arc<Self> {
        let Current { gateway, backends, names, .. } = current;
        let mut queues = Vec::new();
        let servers = backends
            .iter()
            .map(|backend| {
                let (queue, said) = mpsc::channel(WAITING);
                queues.push(said);
                let relay = partner::relay(backend, gateway, client, Outlet::Queue(queue));
                Server { backend: backend.clone(), relay, listed: Mutex::default() }
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
                let random: [u8; 8] = answerback_record::surroundings::random().unwrap_or_default();
                format!("hub/{:016x}", u64::from_be_bytes(random))
            },
            routes: Mutex::default(),
            tools: RwLock::default(),
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
        for server in &self.servers {
            server.relay.close();
        }
        for server in &self.servers {
            server.relay.finish().await;
        }
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
                    lock(&self.routes).remove(id);
                    let waits = {
                        let mut waiting = lock(&self.waiting);
                        let is_asked = waiting.get(id).is_some_and(|(server, _)| *server == index);
                        if is_asked { waiting.remove(id) } else { None }
                    };
                    match waits {
                        Some((_, waits)) => {
                            let _ = waits.send(incoming.message);
                        }
                        None => self.outlet.send(incoming).await,
                    }
                }
                Shape::Request { id, .. } => {
                    // Servers count on their own: an id says whose it is.
                    let ours = Id::of_text(&format!("{OF_SERVER}{index}/{}", id.as_json()));
                    let message = incoming.message.with_id(&ours);
                    self.tell(message, incoming.about).await;
                }
                Shape::Notification { method } => {
                    if method == "notifications/tools/list_changed" {
                        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = None;
                    }
                    self.outlet.send(incoming).await;
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

    async fn answer(&self, id: &Id, result: &str) {
        self.outlet.send(Message::result(id, result).into()).await;
    }

    async fn fail(&self, id: &Id, code: i32, text: &str) {
        self.outlet.send(Message::error(Some(id), code, text, None).into()).await;
    }

    /// Takes a message of the client.
    pub(crate) async fn hear(self: &Arc<Self>, message: Message) {
        match message.shape() {
            Shape::Request { .. } => {
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
                let server = id.and_then(|id| lock(&self.routes).get(&id).copied());
                if let Some(server) = server {
                    self.servers[server].relay.hear(message).await;
                }
            }
            Shape::Notification { .. } => {
                for server in &self.servers {
                    server.relay.hear(message.clone()).await;
                }
            }
            Shape::Batch => {
                let text = "batches are not taken: send each message on its own";
                let answer = Message::error(None, code::INVALID_REQUEST, text, None);
                self.outlet.send(answer.into()).await;
            }
        }
    }

    async fn take(self: Arc<Self>, message: Message) {
        let Shape::Request { id, method } = message.shape().clone() else { return };
        let is_modern = stated::version(&message).is_some();
        let params = splice::at(message.text(), &["params"]).unwrap_or("{}").to_owned();
        match method.as_str() {
            "initialize" | "server/discover" => self.greet(&id, &method, &params).await,
            "ping" => self.answer(&id, "{}").await,
            "tools/list" => {
                let tools = self.all_tools(&params).await;
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
            _ => self.ask_in_turn(&id, message).await,
        }
    }

    /// Sends a request of the client on to a server.
    async fn forward(&self, server: usize, id: &Id, message: Message) {
        lock(&self.routes).insert(id.clone(), server);
        self.servers[server].relay.hear(message).await;
    }

    /// Asks a server something of our own.
    async fn ask(&self, server: usize, method: &str, params: &str) -> Option<Message> {
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
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        lock(&self.waiting).remove(&id);
        answer.ok()?.ok()
    }

    /// Asks all servers at once, and gives the results of those that have one.
    async fn ask_all(self: &Arc<Self>, method: &str, params: &str) -> Vec<(usize, String)> {
        self.of_all(|hub, server| {
            let (method, params) = (method.to_owned(), params.to_owned());
            async move { result(&hub.ask(server, &method, &params).await?) }
        })
        .await
    }

    /// Does something for all servers at once; the answers come in the order of the servers.
    async fn of_all<T: Send + 'static, F>(
        self: &Arc<Self>,
        work: impl Fn(Arc<Self>, usize) -> F,
    ) -> Vec<(usize, T)>
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let mut working = JoinSet::new();
        for server in 0..self.servers.len() {
            let future = work(Arc::clone(self), server);
            working.spawn(async move { (server, future.await) });
        }
        let mut done = Vec::new();
        while let Some(worked) = working.join_next().await {
            if let Ok((server, Some(value))) = worked {
                done.push((server, value));
            }
        }
        done.sort_by_key(|(server, _)| *server);
        done
    }

    async fn greet(self: &Arc<Self>, id: &Id, method: &str, params: &str) {
        let answers = self.ask_all(method, params).await;
        if answers.is_empty() {
            return self.fail(id, code::INTERNAL_ERROR, "none of the servers answers").await;
        }
        let answers: Vec<(&str, Value)> = answers
            .iter()
            .filter_map(|(server, answer)| {
                Some((self.servers[*server].backend.name(), serde_json::from_str(answer).ok()?))
            })
            .collect();
        let greeting = merge::greeting(&answers, method != "initialize");
        self.answer(id, &greeting.to_string()).await;
    }

    /// All items of a list of a server, page by page; nothing, where it has no such list.
    async fn items(
        self: Arc<Self>,
        server: usize,
        method: String,
        member: &'static str,
        params: String,
    ) -> Option<Vec<String>> {
        let mut params = Object::read(&params).ok()?.without("cursor");
        let mut items = Vec::new();
        for _ in 0..PAGES {
            let answer = self.ask(server, &method, &params).await?;
            let Some(page) = result(&answer) else {
                // A server that does not know the method has nothing to list, and has said so.
                return says_unknown(&answer).then_some(items);
            };
            items.extend(merge::items(&page, member));
            let Some(cursor) = text(&page, "nextCursor") else { return Some(items) };
            params = with_text(&params, "cursor", &cursor)?;
        }
        None
    }

    async fn lists(
        self: &Arc<Self>,
        method: &str,
        member: &'static str,
        params: &str,
    ) -> Vec<(usize, Vec<String>)> {
        self.of_all(|hub, server| hub.items(server, method.to_owned(), member, params.to_owned()))
            .await
    }

    /// The tools of all servers, which are asked for where something changed.
    async fn all_tools(self: &Arc<Self>, params: &str) -> Arc<Tools> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((known, until)) = known
            && until.is_none_or(|until| Instant::now() < until)
        {
            return known;
        }
        let lists = self.lists("tools/list", "tools", params).await;
        let is_complete = lists.len() == self.servers.len();
        for (server, items) in lists {
            *lock(&self.servers[server].listed) = Some((Instant::now(), items));
        }
        let listed: Vec<Vec<String>> = self.servers.iter().map(Server::listed_lately).collect();
        let servers: Vec<&str> = self.servers.iter().map(|server| server.backend.name()).collect();
        let pinned: Vec<Vec<String>> = self.servers.iter().map(Server::pinned).collect();
        let read_names =
            |items: &Vec<String>| items.iter().filter_map(|item| text(item, "name")).collect();
        let claimed: Vec<Vec<String>> = listed.iter().map(read_names).collect();
        // What was pinned keeps its name, while its server is down and when another comes to list the same.
        let names = self.names.give(&servers, |kept| {
            let of = |names: &[Vec<String>]| -> Vec<(&str, Vec<String>)> {
                servers.iter().copied().zip(names.iter().cloned()).collect()
            };
            kept.and(of(&pinned)).and(of(&claimed))
        });
        let mut items = Vec::new();
        for (server, listed) in listed.iter().enumerate() {
            for item in listed {
                let name = text(item, "name");
                let shown = name.as_deref().and_then(|name| names.shown(server, name));
                items.push(match shown.filter(|shown| Some(*shown) != name.as_deref()) {
                    Some(shown) => with_text(item, "name", shown).unwrap_or_else(|| item.clone()),
                    None => item.clone(),
                });
            }
        }
        let page = merge::page("tools", &items, false);
        let toolbox = Toolbox::read([page.as_str()], |_| true).unwrap_or_default();
        let upstream = Upstream::new(GATEWAY, Some(env!("CARGO_PKG_VERSION")), toolbox);
        let tools = Arc::new(Tools { names, items, upstream });
        // A server that did not answer is asked again, but not for every call to the others.
        let until = (!is_complete).then(|| Instant::now() + AGAIN);
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) =
            Some((Arc::clone(&tools), until));
        tools
    }

    async fn call(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        // A stateless server wants to know in every request who asks.
        let tools = self.all_tools(&meta_of(params)).await;
        let called = text(params, "name").unwrap_or_default();
        if let Some((server, name)) = tools.names.behind(&called) {
            let renamed = if name == called { None } else { renamed(&message, name) };
            return self.forward(server, id, renamed.unwrap_or(message)).await;
        }
        let call = match ToolCall::read(message) {
            Ok(call) => call,
            Err(error) => return self.fail(id, code::INVALID_PARAMS, &error.to_string()).await,
        };
        let answer = match self.gateway.admit(&self.client, &tools.upstream, call.clone()).await {
            Admission::Answer(answer) => answer,
            Admission::Ask(asked) => asked.answer,
            // Nothing has this name, so there is nothing that could run.
            Admission::Forward(forwarded) => {
                self.gateway.fail_unsent(forwarded.running, "no server has this tool").await
            }
        };
        self.client.answered();
        self.outlet.send(answer.into()).await;
    }

    async fn list_prompts(self: &Arc<Self>, id: &Id, params: &str, is_modern: bool) {
        let names = self.all_prompts(params).await;
        let mut items = Vec::new();
        for (server, item) in names.1 {
            let name = text(&item, "name").unwrap_or_default();
            let shown = names.0.shown(server, &name).unwrap_or(&name);
            items.push(if shown == name {
                item
            } else {
                with_text(&item, "name", shown).unwrap_or(item)
            });
        }
        self.answer(id, &merge::page("prompts", &items, is_modern)).await;
    }

    async fn all_prompts(self: &Arc<Self>, params: &str) -> (Arc<Names>, Vec<(usize, String)>) {
        let lists = self.lists("prompts/list", "prompts", params).await;
        let by_server: HashMap<usize, &Vec<String>> =
            lists.iter().map(|(server, items)| (*server, items)).collect();
        let claimed = self.servers.iter().enumerate().map(|(index, server)| {
            let items = by_server.get(&index).map(|items| items.as_slice()).unwrap_or_default();
            let names = items.iter().filter_map(|item| text(item, "name")).collect();
            (server.backend.name(), names)
        });
        let names = Arc::new(Names::assign(claimed));
        *self.prompts.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        let items = lists
            .into_iter()
            .flat_map(|(server, items)| items.into_iter().map(move |item| (server, item)));
        (names, items.collect())
    }

    async fn get_prompt(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let shown = text(params, "name").unwrap_or_default();
        let known = self.prompts.read().unwrap_or_else(PoisonError::into_inner).clone();
        let names = if known.behind(&shown).is_some() {
            known
        } else {
            self.all_prompts(&meta_of(params)).await.0
        };
        match names.behind(&shown) {
            Some((server, name)) => {
                let renamed = renamed(&message, name);
                self.forward(server, id, renamed.unwrap_or(message)).await;
            }
            None => self.ask_in_turn(id, message).await,
        }
    }

    async fn list_resources(
        self: &Arc<Self>,
        id: &Id,
        method: &str,
        (member, key): (&'static str, &str),
        params: &str,
        is_modern: bool,
    ) {
        let lists = self.lists(method, member, params).await;
        let mut items = Vec::new();
        {
            let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
            for (server, listed) in lists {
                for item in listed {
                    let Some(uri) = text(&item, key) else { continue };
                    let owner = *resources.entry(uri).or_insert(server);
                    // Of two servers with one address the first has it.
                    if owner == server {
                        items.push(item);
                    }
                }
            }
        }
        self.answer(id, &merge::page(member, &items, is_modern)).await;
    }

    async fn about_resource(self: &Arc<Self>, id: &Id, message: Message, uri: &str) {
        let owner =
            || self.resources.read().unwrap_or_else(PoisonError::into_inner).get(uri).copied();
        match owner() {
            Some(server) => self.forward(server, id, message).await,
            None => self.ask_in_turn(id, message).await,
        }
    }

    async fn complete(self: &Arc<Self>, id: &Id, message: Message, params: &str) {
        let reference: Value = serde_json::from_str::<Value>(params).unwrap_or_default();
        let reference = &reference["ref"];
        if let Some(uri) = reference["uri"].as_str() {
            return self.about_resource(id, message, uri).await;
        }
        let names = self.prompts.read().unwrap_or_else(PoisonError::into_inner).clone();
        let behind = reference["name"].as_str().and_then(|name| names.behind(name));
        match behind {
            Some((server, name)) => {
                let mut reference = reference.clone();
                reference["name"] = name.into();
                let renamed = with_params(&message, "ref", &reference.to_string());
                self.forward(server, id, renamed.unwrap_or(message)).await;
            }
            None => self.ask_in_turn(id, message).await,
        }
    }

    /// Asks one server after the other until one has a result; what the first said otherwise.
    async fn ask_in_turn(self: &Arc<Self>, id: &Id, message: Message) {
        let Shape::Request { method, .. } = message.shape() else { return };
        let params = splice::at(message.text(), &["params"]).unwrap_or("{}");
        let mut refused = None;
        for server in 0..self.servers.len() {
            if let Some(answer) = self.ask(server, method, params).await {
                if result(&answer).is_some() {
                    return self.outlet.send(answer.with_id(id).into()).await;
                }
                refused.get_or_insert(answer);
            }
        }
        match refused {
            Some(answer) => self.outlet.send(answer.with_id(id).into()).await,
            None => self.fail(id, code::INTERNAL_ERROR, "none of the servers answers").await,
        }
    }
}

impl Server {
    /// The tools that it listed, if that is not too long ago.
    fn listed_lately(&self) -> Vec<String> {
        let listed = lock(&self.listed);
        let lately = listed.as_ref().filter(|(when, _)| when.elapsed() < GRACE);
        lately.map(|(_, items)| items.clone()).unwrap_or_default()
    }

    /// The names of its tools as they were first seen.
    fn pinned(&self) -> Vec<String> {
        let pins = self.backend.served.pins.as_ref().and_then(|file| Pins::read(file).ok());
        pins.map(|pins| pins.names().map(str::to_owned).collect()).unwrap_or_default()
    }
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
    with_params(message, "name", &Value::from(name).to_string())
}

fn with_params(message: &Message, member: &str, value: &str) -> Option<Message> {
    let text = splice::with(message.text(), &["params", member], value).ok()?;
    Some(message.clone().with_text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_whose_it_is() {
        for theirs in ["7", r#""a/b""#] {
            let theirs = Id::read(theirs).unwrap();
            let ours = Id::of_text(&format!("{OF_SERVER}3/{}", theirs.as_json()));
            assert_eq!(of_server(&ours), Some((3, theirs)));
        }
        assert_eq!(of_server(&Id::of_text("x")), None);
        assert_eq!(of_server(&Id::of_text("sx/1")), None);
    }
}
