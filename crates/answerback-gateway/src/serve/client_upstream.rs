use std::sync::Arc;

use answerback_mcp::link::Link;
use answerback_mcp::wire::Message;

use super::Backend;
use super::service_config::ServiceConfig;
use super::upstream_set::UpstreamSet;
use crate::client_sink::ClientSink;
use crate::relay::RelaySession;
use crate::running_calls::CallFuture;
use crate::{Client, Gateway};

/// A client's connection to one server, or to several combined servers.
#[derive(Clone)]
pub(crate) enum ClientUpstream {
    One(Arc<RelaySession>),
    Set(Arc<UpstreamSet>),
}

impl ClientUpstream {
    /// Opens connections for a client to a server, or to all of them if none is named. Messages for the client go
    /// to `sink`.
    pub(crate) fn connect(
        backend: Option<&Backend>,
        config: &ServiceConfig,
        client: &Arc<Client>,
        sink: ClientSink,
    ) -> Self {
        let gateway = &config.gateway;
        match (backend, config.backends.as_slice()) {
            // A single server needs no set.
            (Some(backend), _) | (None, [backend]) => {
                Self::One(connect_relay(backend, gateway, client, sink))
            }
            (None, _) => Self::Set(UpstreamSet::new(config, client, sink)),
        }
    }

    /// Handles a message of the client.
    pub(crate) async fn handle_message(&self, message: Message) {
        match self {
            Self::One(relay) => relay.receive_from_client(message).await,
            Self::Set(set) => set.handle_message(message).await,
        }
    }

    /// Starts a call that runs in its reader's task. Returns the message if it is not a call, or if there are
    /// several servers.
    pub(crate) fn take_call(&self, message: Message) -> Result<CallFuture, Message> {
        match self {
            Self::One(relay) => relay.start_call_in_reader(message),
            Self::Set(_) => Err(message),
        }
    }

    /// Waits until the servers are gone after the connections were closed.
    pub(crate) async fn closed(&self) {
        match self {
            Self::One(relay) => relay.wait_for_server_end().await,
            Self::Set(set) => set.closed().await,
        }
    }

    /// Closes the connections after the running calls were answered.
    pub(crate) async fn close(&self) {
        match self {
            Self::One(relay) => relay.leave().await,
            Self::Set(set) => set.close().await,
        }
    }
}

/// Creates a relay to a server with its own link.
pub(crate) fn connect_relay(
    backend: &Backend,
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    sink: ClientSink,
) -> Arc<RelaySession> {
    let Link { to, from, direct } = backend.connect(client.principal(), gateway.settings());
    let relay = RelaySession::new(
        Arc::clone(gateway),
        Arc::clone(client),
        backend.served.clone(),
        sink,
        to,
    )
    .with_direct(direct);
    let relay = Arc::new(relay);
    tokio::spawn(Arc::clone(&relay).read_server(from));
    relay
}
