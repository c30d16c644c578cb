//! Serves many clients over HTTP, in front of several servers.

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
use answerback_store::{StoreError, StoreHealth};
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

/// Runs the gateway as a service, with all its endpoints and clients.
pub struct Service {
    current: RwLock<Arc<Current>>,
    sessions: Arc<ClientSessions>,
    faces: Arc<Faces>,
    before: figures::Before,
}

/// Holds the configuration for new clients.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) gateway: Arc<Gateway>,
    /// The servers that `/mcp` combines.
    pub(crate) backends: Vec<Backend>,
    /// The servers that have their own endpoint and are not part of `/mcp`.
    apart: Vec<Backend>,
    /// The names of tools in the combined list.
    pub(crate) names: NameFile,
}

/// Describes the state of a server behind the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeenServer {
    /// The server's name in the configuration.
    pub name: String,
    /// The server's program or URL.
    pub place: String,
    /// True if the server is up.
    pub is_up: bool,
    /// The server's last known state, or `None` if it was never used.
    pub upstream: Option<Arc<crate::Upstream>>,
}

impl Service {
    /// Creates a service in front of these servers, in their order.
    pub fn new(gateway: Arc<Gateway>, backends: impl IntoIterator<Item = Backend>) -> Arc<Self> {
        let current = Arc::new(Current::new(gateway, backends, None));
        let (sessions, faces, before) = Default::default();
        Arc::new(Self { current: RwLock::new(current), sessions, faces, before })
    }

    /// Replaces the gateway and the servers for new clients. Open sessions and running calls continue unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the new policy cannot be recorded. Nothing is replaced then.
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

    /// Returns the current state of all servers.
    pub fn seen(&self) -> Vec<SeenServer> {
        let seen = |backend: &Backend| SeenServer {
            name: backend.name().to_owned(),
            place: backend.served.place.clone(),
            is_up: backend.is_up(),
            upstream: backend.known(),
        };
        self.current().all().map(seen).collect()
    }

    /// Returns the names of the servers.
    pub fn servers(&self) -> Vec<String> {
        self.current().backends.iter().map(|backend| backend.name().to_owned()).collect()
    }

    /// Checks that every server is running or can be started.
    ///
    /// # Errors
    ///
    /// Returns the names of the other servers with the reasons.
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

    /// Returns the routes: `/mcp` for all servers combined, and `/mcp/NAME` for each server.
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

    /// Checks that calls can be recorded.
    ///
    /// # Errors
    ///
    /// Returns the reason if the store accepts no entries.
    pub fn is_recording(&self) -> Result<(), String> {
        match self.current().gateway.recorder() {
            Some(recorder) => {
                let store = recorder.store();
                store.head().map_err(|error| {
                    tracing::warn!(cause = %error, "the store cannot be read");
                    error.public_message().into_owned()
                })?;
                match store.stats().health {
                    // Every client can read this text, so it leaves the cause to the log.
                    StoreHealth::Poisoned { .. } => {
                        Err("the store cannot be written; the log says why".to_owned())
                    }
                    health => health.check(),
                }
            }
            None => Ok(()),
        }
    }

    /// Notifies this process of a decision, so that waiting calls continue at once.
    pub fn tell_decided(&self) {
        // A reloaded configuration keeps the existing recorder.
        if let Some(recorder) = self.current().gateway.recorder() {
            recorder.tell_decided();
        }
    }

    /// Records the start of the service, and begins to end idle sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if the start cannot be recorded.
    pub async fn start(&self) -> Result<(), StoreError> {
        let current = self.current();
        current.gateway.note_start(None, &current.described()).await?;
        tokio::spawn(Arc::clone(&self.sessions).sweep());
        tokio::spawn(Arc::clone(&self.faces).sweep());
        Ok(())
    }

    /// Ends every session and records the end of the service.
    ///
    /// # Errors
    ///
    /// Returns an error if the end cannot be recorded.
    pub async fn stop(&self) -> Result<(), StoreError> {
        self.sessions.end_all().await;
        self.faces.end_all().await;
        let current = self.current();
        current.gateway.note(Subject::Stop, None, &current.described()).await
    }

    /// Connects a client to the servers of an endpoint. Returns `None` if the endpoint no longer exists.
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

    /// Checks that the headers of a call repeat its arguments, if its tool is known to require that. The error is
    /// the response.
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
            // In the combined list, a tool may have another name than at its server.
            (None, backends) => match names.behind(&call.name) {
                Some((server, tool)) => (backends.get(server), tool),
                None => return Ok(()),
            },
        };
        let Some(known) = backend.and_then(asks) else { return Ok(()) };
        let asked = known.tools.header_arguments(tool);
        asked.map_or(Ok(()), |asked| header_validation::check_arguments(headers, &call, asked))
    }

    /// Returns the shared connection for a request of a client without a session.
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
        // The tools of a single server keep their names. These are stored, so that they stay valid when another
        // server is added.
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
