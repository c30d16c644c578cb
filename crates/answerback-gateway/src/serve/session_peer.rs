use std::sync::Arc;

use answerback_mcp::link::Link;
use answerback_mcp::wire::Message;

use super::hub::Hub;
use super::{Backend, Current};
use crate::client_sink::ClientSink;
use crate::relay::RelaySession;
use crate::running_calls::CallFuture;
use crate::{Client, Gateway};

/// Connects a client to one server, or to several combined servers.
#[derive(Clone)]
pub(crate) enum Partner {
    One(Arc<RelaySession>),
    All(Arc<Hub>),
}

impl Partner {
    /// Opens connections for a client to a server, or to all of them if none is named. Messages for the client go
    /// to `outlet`.
    pub(crate) fn to(
        named: Option<&Backend>,
        current: &Current,
        client: &Arc<Client>,
        outlet: ClientSink,
    ) -> Self {
        let gateway = &current.gateway;
        match (named, current.backends.as_slice()) {
            // A single server needs no hub.
            (Some(backend), _) | (None, [backend]) => {
                Self::One(relay(backend, gateway, client, outlet))
            }
            (None, _) => Self::All(Hub::new(current, client, outlet)),
        }
    }

    /// Handles a message of the client.
    pub(crate) async fn hear(&self, message: Message) {
        match self {
            Self::One(relay) => relay.receive_from_client(message).await,
            Self::All(hub) => hub.hear(message).await,
        }
    }

    /// Starts a call that runs in its reader's task. Returns the message if it is not a call, or if there are
    /// several servers.
    pub(crate) fn take_call(&self, message: Message) -> Result<CallFuture, Message> {
        match self {
            Self::One(relay) => relay.start_call_in_reader(message),
            Self::All(_) => Err(message),
        }
    }

    /// Waits until the servers are gone after the connections were closed.
    pub(crate) async fn gone(&self) {
        match self {
            Self::One(relay) => relay.wait_for_server_end().await,
            Self::All(hub) => hub.gone().await,
        }
    }

    /// Closes the connections after the running calls were answered.
    pub(crate) async fn leave(&self) {
        match self {
            Self::One(relay) => relay.leave().await,
            Self::All(hub) => hub.leave().await,
        }
    }
}

/// Creates a relay to a server with its own link.
pub(crate) fn relay(
    backend: &Backend,
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    outlet: ClientSink,
) -> Arc<RelaySession> {
    let Link { to, from, direct } = backend.link(client.principal(), gateway.settings());
    let relay = RelaySession::new(
        Arc::clone(gateway),
        Arc::clone(client),
        backend.served.clone(),
        outlet,
        to,
    )
    .with_direct(direct);
    let relay = Arc::new(relay);
    tokio::spawn(Arc::clone(&relay).read_server(from));
    relay
}
