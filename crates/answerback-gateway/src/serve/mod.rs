//! Many clients over HTTP, and several servers behind.

mod api;
mod backend;
mod body;
mod check;
mod endpoint;
mod event;
mod figures;
mod header_validation;
mod hub;
mod inspect;
pub(crate) mod merge;
mod name_store;
mod names;
mod session;
mod session_peer;
mod stateless;
mod stream;
mod stream_usage;
mod streams;

use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use answerback_http::{Principal, Routes, Scope};
use answerback_ledger::leaf::Subject;
use answerback_mcp::wire::Message;
use answerback_store::{Health, StoreError};
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use serde_json::{Value, json};

pub use backend::{Backend, Place, Within};
pub use inspect::Inspected;
pub(crate) use name_store::NameFile;
pub(crate) use streams::Streams;

use crate::client_sink::ClientSink;
use crate::{Client, Gateway, Sharing};
use session::ClientSessions;
use session_peer::Partner;
use stateless::{FaceKey, Faces, NoFace, Stateless};

/// The gateway as a service: every endpoint with every client of it.
pub struct Service {
    current: RwLock<Arc<Current>>,
    sessions: Arc<ClientSessions>,
    faces: Arc<Faces>,
    before: figures::Before,
}

/// What holds for clients that come now.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) gateway: Arc<Gateway>,
    /// The servers that are one at `/mcp`.
    pub(crate) backends: Vec<Backend>,
    /// Servers that have an endpoint of their own, and no part in `/mcp`.
    apart: Vec<Backend>,
    /// What tools are called where all servers are one.
    pub(crate) names: NameFile,
}

/// A server behind the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeenServer {
    /// Its name in the configuration.
    pub name: String,
    /// The program or the URL.
    pub place: String,
    /// Whether it is there.
    pub is_up: bool,
    /// What anybody saw of it last; nothing, as long as nobody did.
    pub upstream: Option<Arc<crate::Upstream>>,
}

impl Service {
    /// A service in front of these servers, in their order.
    pub fn new(gateway: Arc<Gateway>, backends: impl IntoIterator<Item = Backend>) -> Arc<Self> {
        let current = Arc::new(Current::new(gateway, backends, None));
        let (sessions, faces, before) = Default::default();
        Arc::new(Self { current: RwLock::new(current), sessions, faces, before })
    }

    /// Serves clients that come from now on with another gateway and other servers. Sessions that are open, and calls
    /// that are under way, go on as they began.
    ///
    /// # Errors
    ///
    /// When what is in force from now on cannot be recorded. Then all stays as it was.
    pub async fn replace(
        &self,
        gateway: Arc<Gateway>,
        backends: impl IntoIterator<Item = Backend>,
    ) -> Result<(), StoreError> {
        let before = self.current();
        let next = Arc::new(Current::new(gateway, backends, Some(&before.names)));
        next.gateway.note_start(None, &next.described()).await?;
        self.before.keep(&before);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
        self.faces.retire();
        Ok(())
    }

    pub(crate) fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The servers as they are now: name, where it is, whether it is there, and what anybody saw of it last.
    pub fn seen(&self) -> Vec<SeenServer> {
        let seen = |backend: &Backend| SeenServer {
            name: backend.name().to_owned(),
            place: backend.served.place.clone(),
            is_up: backend.is_up(),
            upstream: backend.known(),
        };
        self.current().all().map(seen).collect()
    }

    /// The names of the servers.
    pub fn servers(&self) -> Vec<String> {
        self.current().backends.iter().map(|backend| backend.name().to_owned()).collect()
    }

    /// Whether every server that was started is there, and every other can be; which are not, otherwise.
    ///
    /// # Errors
    ///
    /// When some are gone.
    pub fn is_up(&self) -> Result<(), String> {
        let current = self.current();
        let (missing, down): (Vec<&Backend>, Vec<&Backend>) = current
            .backends
            .iter()
            .filter(|backend| !backend.is_up())
            .partition(|backend| backend.is_missing());
        let told = [
            (missing, "cannot be started: there is no program; the log of the start says which"),
            (down, "ended, and will be started again"),
        ];
        let told = told.into_iter().filter(|(backends, _)| !backends.is_empty());
        let told = told.map(|(backends, reason)| {
            let names: Vec<&str> = backends.into_iter().map(Backend::name).collect();
            format!("{} {reason}", names.join(", "))
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    }

    /// The endpoints: `/mcp` for all servers as one, `/mcp/NAME` for each.
    pub fn routes(self: &Arc<Self>) -> Routes {
        let (all, posts, one) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        let all = any(move |request: Request<Body>| async move {
            endpoint::answer(&all, None, request).await
        });
        let posts = move |request: Request<Body>| -> Pin<Box<dyn Future<Output = _> + Send>> {
            let service = Arc::clone(&posts);
            Box::pin(async move { endpoint::answer(&service, None, request).await })
        };
        let one = any(move |Path(name): Path<String>, request: Request<Body>| async move {
            let current = one.current();
            let Some(backend) = current.all().find(|backend| backend.name() == name) else {
                return StatusCode::NOT_FOUND.into_response();
            };
            let principal = request.extensions().get::<Principal>();
            if let Some(scope) = backend.apart
                && !principal.is_some_and(|principal| principal.has(scope))
            {
                return StatusCode::FORBIDDEN.into_response();
            }
            endpoint::answer(&one, Some(&name), request).await
        });
        Routes::with_body_limit(self.current().gateway.settings().largest_message)
            .route_with_posts("/mcp", Scope::Call, all, posts)
            .route("/mcp/{name}", Scope::Call, one)
            .merge(api::routes(self))
    }

    /// Whether what happens can be recorded; why not, otherwise.
    ///
    /// # Errors
    ///
    /// When the store does not take anything.
    pub fn is_recording(&self) -> Result<(), String> {
        match self.current().gateway.recorder() {
            Some(recorder) => {
                let store = recorder.store();
                store.head().map_err(|error| {
                    tracing::warn!(cause = %error, "the store cannot be read");
                    error.public_message().into_owned()
                })?;
                match store.stats().health {
                    // Whoever can reach the server reads this; why it failed is for who reads the log.
                    Health::Poisoned { .. } => {
                        Err("the store cannot be written; the log says why".to_owned())
                    }
                    health => health.check(),
                }
            }
            None => Ok(()),
        }
    }

    /// Says that a case was decided here: calls that wait for it go on at once.
    pub fn tell_decided(&self) {
        // Who reads its configuration anew goes on with the record that there is.
        if let Some(recorder) = self.current().gateway.recorder() {
            recorder.tell_decided();
        }
    }

    /// Notes that the service begins, and keeps its sessions in order from then on.
    ///
    /// # Errors
    ///
    /// When that cannot be recorded.
    pub async fn start(&self) -> Result<(), StoreError> {
        let current = self.current();
        current.gateway.note_start(None, &current.described()).await?;
        tokio::spawn(Arc::clone(&self.sessions).sweep());
        tokio::spawn(Arc::clone(&self.faces).sweep());
        Ok(())
    }

    /// Ends every session, and notes that the service ends.
    ///
    /// # Errors
    ///
    /// When that cannot be recorded.
    pub async fn stop(&self) -> Result<(), StoreError> {
        self.sessions.end_all().await;
        self.faces.end_all().await;
        let current = self.current();
        current.gateway.note(Subject::Stop, None, &current.described()).await
    }

    /// What a client talks to at an endpoint; nothing, where the endpoint is none any more.
    fn partner(
        &self,
        endpoint: Option<&str>,
        client: Client,
        streams: &Arc<Streams>,
    ) -> Option<Partner> {
        let current = self.current();
        let outlet = ClientSink::Streams(Arc::clone(streams));
        let named = match endpoint {
            Some(name) => Some(current.all().find(|backend| backend.name() == name)?),
            None => None,
        };
        Some(Partner::to(named, &current, &Arc::new(client), outlet))
    }

    /// Whether the headers of a call say what its arguments do, where its tool is known to ask for that; the error is
    /// its answer.
    fn check_arguments(
        &self,
        endpoint: Option<&str>,
        headers: &HeaderMap,
        message: &Message,
    ) -> Result<(), Message> {
        let current = self.current();
        let asks =
            |backend: &Backend| backend.known().filter(|known| known.tools.asks_for_headers());
        if !current.all().any(|backend| asks(backend).is_some()) {
            return Ok(());
        }
        let Some(call) = header_validation::call_of(message) else { return Ok(()) };
        let names = current.names.now();
        let (backend, tool) = match (endpoint, current.backends.as_slice()) {
            (Some(name), backends) => {
                (backends.iter().find(|backend| backend.name() == name), call.name.as_str())
            }
            (None, [alone]) => (Some(alone), call.name.as_str()),
            // Where all servers are one, a tool may have another name than its server gave it.
            (None, backends) => match names.behind(&call.name) {
                Some((server, tool)) => (backends.get(server), tool),
                None => return Ok(()),
            },
        };
        let Some(known) = backend.and_then(asks) else { return Ok(()) };
        let asked = known.tools.header_arguments(tool);
        asked.map_or(Ok(()), |asked| header_validation::check_arguments(headers, &call, asked))
    }

    /// What a client talks to that has no session and sent this request.
    fn face(
        &self,
        principal: &str,
        endpoint: Option<&str>,
        request: &Message,
    ) -> Result<Arc<Stateless>, NoFace> {
        let key = FaceKey::shared(principal, endpoint);
        let key = match self.current().gateway.settings().sharing {
            Sharing::Shared => key,
            Sharing::PerClient => key.of_client(request),
        };
        self.faces.get(key, || {
            let streams = Arc::new(Streams::shared());
            let partner = self.partner(endpoint, Client::stateless(principal), &streams)?;
            Some(Stateless::new(partner, streams))
        })
    }
}

impl Current {
    fn new(
        gateway: Arc<Gateway>,
        backends: impl IntoIterator<Item = Backend>,
        before: Option<&NameFile>,
    ) -> Self {
        let (apart, mut backends): (Vec<Backend>, Vec<Backend>) =
            backends.into_iter().partition(|backend| backend.apart.is_some());
        let names = NameFile::of(&backends, before);
        // One that is alone has its own names, and is to keep them when others come.
        if let [alone] = backends.as_mut_slice() {
            alone.served.names = Some(names.clone());
        }
        Self { gateway, backends, apart, names }
    }

    fn all(&self) -> impl Iterator<Item = &Backend> {
        self.backends.iter().chain(&self.apart)
    }

    fn described(&self) -> Value {
        let place = |backend: &Backend| {
            (backend.name().to_owned(), Value::from(backend.served.place.clone()))
        };
        let upstreams: serde_json::Map<_, _> = self.backends.iter().map(place).collect();
        json!({"surface": "serve", "upstreams": upstreams})
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("current", &self.current).finish_non_exhaustive()
    }
}
