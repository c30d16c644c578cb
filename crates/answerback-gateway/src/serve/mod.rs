//! Many clients over HTTP, and several servers behind.

mod api;
mod backend;
mod body;
mod endpoint;
mod hub;
mod inspect;
mod merge;
mod names;
mod partner;
mod session;
mod stated;
mod stateless;
mod streams;

use std::sync::Arc;

use answerback_http::{Routes, Scope};
use answerback_ledger::leaf::Subject;
use answerback_store::StoreError;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use serde_json::json;

pub use backend::{Backend, Place};
pub use inspect::Inspected;
pub(crate) use streams::Streams;

use crate::outlet::Outlet;
use crate::{Client, Gateway};
use partner::Partner;
use session::Sessions;
use stateless::{Faces, Stateless};

/// The gateway as a service: every endpoint with every client of it.
pub struct Service {
    gateway: Arc<Gateway>,
    backends: Vec<Backend>,
    sessions: Arc<Sessions>,
    faces: Faces,
}

impl Service {
    /// A service in front of these servers, in their order.
    pub fn new(gateway: Arc<Gateway>, backends: impl IntoIterator<Item = Backend>) -> Arc<Self> {
        let backends = backends.into_iter().collect();
        Arc::new(Self { gateway, backends, sessions: Arc::default(), faces: Faces::default() })
    }

    /// The servers.
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// The endpoints: `/mcp` for all servers as one, `/mcp/NAME` for each.
    pub fn routes(self: &Arc<Self>) -> Routes {
        let (all, one) = (Arc::clone(self), Arc::clone(self));
        let all = any(move |request: Request<Body>| async move {
            endpoint::answer(&all, None, request).await
        });
        let one = any(move |Path(name): Path<String>, request: Request<Body>| async move {
            if one.backend(&name).is_none() {
                return StatusCode::NOT_FOUND.into_response();
            }
            endpoint::answer(&one, Some(&name), request).await
        });
        Routes::with_body_limit(self.gateway.settings().largest_message)
            .route("/mcp", Scope::Call, all)
            .route("/mcp/{name}", Scope::Call, one)
            .merge(api::routes(self))
    }

    /// Whether what happens can be recorded; why not, otherwise.
    ///
    /// # Errors
    ///
    /// When the store does not take anything.
    pub fn is_recording(&self) -> Result<(), String> {
        match self.gateway.recorder() {
            Some(recorder) => {
                recorder.store().head().map(|_| ()).map_err(|error| error.to_string())
            }
            None => Ok(()),
        }
    }

    /// Notes that the service begins, and keeps its sessions in order from then on.
    ///
    /// # Errors
    ///
    /// When that cannot be recorded.
    pub async fn start(&self) -> Result<(), StoreError> {
        self.note(Subject::Start).await?;
        tokio::spawn(Arc::clone(&self.sessions).sweep());
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
        self.note(Subject::Stop).await
    }

    async fn note(&self, subject: Subject) -> Result<(), StoreError> {
        let Some(recorder) = self.gateway.recorder() else { return Ok(()) };
        let upstreams: serde_json::Map<_, _> = self
            .backends
            .iter()
            .map(|backend| (backend.name().to_owned(), backend.served.place.clone().into()))
            .collect();
        let document = json!({"surface": "serve", "upstreams": upstreams});
        let written = recorder.config(subject, None, &document).await;
        written.or_else(|error| recorder.store().excuse(error))
    }

    fn backend(&self, name: &str) -> Option<&Backend> {
        self.backends.iter().find(|backend| backend.name() == name)
    }

    /// What a client talks to at an endpoint.
    fn partner(&self, endpoint: Option<&str>, client: Client, streams: &Arc<Streams>) -> Partner {
        let outlet = Outlet::Streams(Arc::clone(streams));
        let named = endpoint.and_then(|name| self.backend(name));
        Partner::to(named, &self.backends, &self.gateway, &Arc::new(client), outlet)
    }

    /// What the clients of a principal talk to that have no sessions.
    fn face(&self, principal: &str, endpoint: Option<&str>) -> Arc<Stateless> {
        self.faces.get(principal, endpoint, || {
            let streams = Arc::new(Streams::default());
            let client = Client::stateless(principal);
            let partner = self.partner(endpoint, client, &streams);
            Stateless::new(partner, streams)
        })
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("backends", &self.backends).finish_non_exhaustive()
    }
}
