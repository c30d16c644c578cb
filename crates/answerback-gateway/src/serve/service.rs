use std::sync::{Arc, PoisonError, RwLock};

use answerback_ledger::leaf::Subject;
use answerback_mcp::wire::Message;
use answerback_store::StoreError;
use axum::http::HeaderMap;

use super::client_session::ClientSessions;
use super::client_upstream::ClientUpstream;
use super::service_config::ServiceConfig;
use super::service_metrics::PastRestarts;
use super::shared_connection::{
    SharedConnection, SharedConnectionError, SharedConnectionKey, SharedConnections,
};
use super::{Backend, header_validation};
use crate::client_sink::ClientSink;
use crate::response_streams::ResponseStreams;
use crate::{Client, Gateway, Sharing};

/// The gateway as a service, with all its endpoints and clients.
pub struct GatewayService {
    config: RwLock<Arc<ServiceConfig>>,
    pub(super) sessions: Arc<ClientSessions>,
    pub(super) shared_connections: Arc<SharedConnections>,
    pub(super) past_restarts: PastRestarts,
}

impl GatewayService {
    /// Creates a service in front of these servers, in their order.
    pub fn new(gateway: Arc<Gateway>, backends: impl IntoIterator<Item = Backend>) -> Arc<Self> {
        let config = Arc::new(ServiceConfig::new(gateway, backends, None));
        let (sessions, shared_connections, past_restarts) = Default::default();
        Arc::new(Self { config: RwLock::new(config), sessions, shared_connections, past_restarts })
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
        let before = self.config();
        let next = Arc::new(ServiceConfig::new(gateway, backends, Some(&before.names)));
        next.gateway.record_start(None, &next.description()).await?;
        self.past_restarts.add(&before);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = next;
        self.shared_connections.retire();
        Ok(())
    }

    pub(crate) fn config(&self) -> Arc<ServiceConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The names of the servers that `/mcp` combines.
    pub fn servers(&self) -> Vec<String> {
        self.config().backends.iter().map(|backend| backend.name().to_owned()).collect()
    }

    /// Notifies this process of a decision, so that waiting calls continue at once.
    pub fn notify_decided(&self) {
        // A reloaded configuration keeps the existing recorder.
        if let Some(recorder) = self.config().gateway.recorder() {
            recorder.notify_decided();
        }
    }

    /// Records the start of the service, and begins to end idle sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if the start cannot be recorded.
    pub async fn start(&self) -> Result<(), StoreError> {
        let config = self.config();
        config.gateway.record_start(None, &config.description()).await?;
        tokio::spawn(Arc::clone(&self.sessions).end_idle_periodically());
        tokio::spawn(Arc::clone(&self.shared_connections).close_idle_periodically());
        Ok(())
    }

    /// Ends every session and records the end of the service.
    ///
    /// # Errors
    ///
    /// Returns an error if the end cannot be recorded.
    pub async fn stop(&self) -> Result<(), StoreError> {
        self.sessions.end_all().await;
        self.shared_connections.end_all().await;
        let config = self.config();
        config.gateway.record_config(Subject::Stop, None, &config.description()).await
    }

    /// Connects a client to the servers of an endpoint. Returns `None` if the endpoint no longer exists.
    pub(super) fn connect(
        &self,
        endpoint: Option<&str>,
        client: Client,
        streams: &Arc<ResponseStreams>,
    ) -> Option<ClientUpstream> {
        let config = self.config();
        let sink = ClientSink::Streams(Arc::clone(streams));
        let backend = match endpoint {
            Some(name) => Some(config.all().find(|backend| backend.name() == name)?),
            None => None,
        };
        Some(ClientUpstream::connect(backend, &config, &Arc::new(client), sink))
    }

    /// Checks that the headers of a call repeat its arguments, if its tool is known to require that. The error is
    /// the response.
    pub(super) fn check_argument_headers(
        &self,
        endpoint: Option<&str>,
        headers: &HeaderMap,
        message: &Message,
    ) -> Result<(), Message> {
        let config = self.config();
        let with_header_arguments = |backend: &Backend| {
            backend.upstream().filter(|upstream| upstream.tools.has_header_arguments())
        };
        if !config.all().any(|backend| with_header_arguments(backend).is_some()) {
            return Ok(());
        }
        let Some(call) = header_validation::call_of(message) else { return Ok(()) };
        let names = config.names.current();
        let (backend, tool) = match (endpoint, config.backends.as_slice()) {
            (Some(name), backends) => {
                (backends.iter().find(|backend| backend.name() == name), call.name.as_str())
            }
            (None, [only]) => (Some(only), call.name.as_str()),
            // In the combined list, a tool may have another name than at its server.
            (None, backends) => match names.server_tool(&call.name) {
                Some((server, tool)) => (backends.get(server), tool),
                None => return Ok(()),
            },
        };
        let Some(upstream) = backend.and_then(with_header_arguments) else { return Ok(()) };
        match upstream.tools.header_arguments(tool) {
            Some(required) => header_validation::check_arguments(headers, &call, required),
            None => Ok(()),
        }
    }

    /// Finds or creates the shared connection for a request of a client without a session.
    pub(super) fn shared_connection(
        &self,
        principal: &str,
        endpoint: Option<&str>,
        request: &Message,
    ) -> Result<Arc<SharedConnection>, SharedConnectionError> {
        let key = SharedConnectionKey::shared(principal, endpoint);
        let key = match self.config().gateway.settings().sharing {
            Sharing::Shared => key,
            Sharing::PerClient => key.of_client(request),
        };
        self.shared_connections.get(key, || {
            let streams = Arc::new(ResponseStreams::shared());
            let upstream = self.connect(endpoint, Client::stateless(principal), &streams)?;
            Some(SharedConnection::new(upstream, streams))
        })
    }
}

impl std::fmt::Debug for GatewayService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GatewayService")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
