use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use answerback_mcp::link::{Incoming, WAITING};
use answerback_mcp::wire::{Id, Message};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::member::UpstreamMember;
use super::request_route::RequestRoute;
use super::subscriptions::ClientSubscription;
use super::tools::ToolListCache;
use crate::client_sink::ClientSink;
use crate::serve::service_config::ServiceConfig;
use crate::tool_naming::{ToolNameStore, ToolNames};
use crate::{Client, Gateway};

/// One client's connections to all upstreams of an endpoint.
pub(crate) struct UpstreamSet {
    pub(super) gateway: Arc<Gateway>,
    pub(super) client: Arc<Client>,
    pub(super) client_sink: ClientSink,
    pub(super) servers: Vec<UpstreamMember>,
    /// The names of tools in the combined list.
    pub(super) names: ToolNameStore,
    /// The requests whose responses the set reads itself, each with the server that may answer it.
    pub(super) pending_responses: Mutex<HashMap<Id, (usize, oneshot::Sender<Message>)>>,
    /// The unguessable prefix of the ids of the set's own requests.
    pub(super) id_prefix: String,
    /// The client's open requests and the servers that they went to.
    pub(super) routes: Mutex<HashMap<Id, RequestRoute>>,
    /// The client's subscriptions at all servers.
    pub(super) subscriptions: Mutex<HashMap<Id, ClientSubscription>>,
    pub(super) tool_cache: Mutex<ToolListCache>,
    /// Only one task at a time requests the tools of all servers.
    pub(super) refreshing: tokio::sync::Mutex<()>,
    pub(super) is_refreshing: AtomicBool,
    /// True if the client has a session, and so receives notifications of changes without a subscription.
    pub(super) has_session: AtomicBool,
    pub(super) prompt_names: RwLock<Arc<ToolNames>>,
    /// Maps the URI of a resource or template to its server.
    pub(super) resource_owners: RwLock<HashMap<String, usize>>,
    pub(super) next_request: AtomicU64,
    pub(super) tasks: Mutex<JoinSet<()>>,
    /// True once the client has left. The tasks that read from servers hold a reference to the set, and end then.
    pub(super) is_closed: watch::Sender<bool>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UpstreamSet {
    /// Connects a client to all upstreams of an endpoint.
    pub(crate) fn new(
        config: &ServiceConfig,
        client: &Arc<Client>,
        client_sink: ClientSink,
    ) -> Arc<Self> {
        let ServiceConfig { gateway, backends, names, .. } = config;
        let mut queues = Vec::new();
        let servers = backends
            .iter()
            .map(|backend| {
                let (queue, messages) = mpsc::channel(WAITING);
                queues.push(messages);
                let mut backend = backend.clone();
                backend.served.is_one_of_many = true;
                let to_set = ClientSink::OneOfMany { queue, client: Box::new(client_sink.clone()) };
                UpstreamMember::connect(backend, gateway, client, to_set)
            })
            .collect();
        let set = Arc::new(Self {
            gateway: Arc::clone(gateway),
            client: Arc::clone(client),
            client_sink,
            servers,
            names: names.clone(),
            pending_responses: Mutex::default(),
            id_prefix: {
                let random: [u8; 8] = answerback_store::system::random().unwrap_or_default();
                format!("hub/{:016x}", u64::from_be_bytes(random))
            },
            routes: Mutex::default(),
            subscriptions: Mutex::default(),
            tool_cache: Mutex::default(),
            refreshing: tokio::sync::Mutex::new(()),
            is_refreshing: AtomicBool::new(false),
            has_session: AtomicBool::new(false),
            prompt_names: RwLock::default(),
            resource_owners: RwLock::default(),
            next_request: AtomicU64::new(0),
            tasks: Mutex::default(),
            is_closed: watch::Sender::new(false),
        });
        for (index, messages) in queues.into_iter().enumerate() {
            tokio::spawn(Arc::clone(&set).forward_server_messages(index, messages));
        }
        set
    }

    /// Waits until the servers are gone after the connections were closed.
    pub(crate) async fn closed(&self) {
        for server in &self.servers {
            server.relay.wait_for_server_end().await;
        }
    }

    /// Closes the connections after the running calls were answered.
    pub(crate) async fn close(&self) {
        let mut closing = JoinSet::new();
        for server in &self.servers {
            let relay = Arc::clone(&server.relay);
            closing.spawn(async move { relay.leave().await });
        }
        while closing.join_next().await.is_some() {}
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        self.is_closed.send_replace(true);
    }

    /// Sends a message to the client, on the stream of the request that it is about.
    pub(super) async fn send_to_client(&self, message: Message, about: Option<Id>) {
        let incoming = match about {
            Some(request) => Incoming::about(message, request),
            None => Incoming::from(message),
        };
        self.client_sink.send(incoming).await;
    }

    /// Sends the response to a request and closes the request.
    pub(super) async fn respond(&self, id: &Id, response: Message) {
        lock(&self.routes).remove(id);
        self.client_sink.send(response.into()).await;
    }

    /// Responds with a result.
    pub(super) async fn respond_result(&self, id: &Id, result: &str) {
        self.respond(id, Message::result(id, result)).await;
    }

    /// Responds with a JSON-RPC error.
    pub(super) async fn respond_error(&self, id: &Id, code: i32, text: &str) {
        self.respond(id, Message::error(Some(id), code, text, None)).await;
    }
}
