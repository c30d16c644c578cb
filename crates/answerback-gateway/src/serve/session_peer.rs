use std::sync::Arc;

use answerback_mcp::link::Link;
use answerback_mcp::wire::Message;

use super::hub::Hub;
use super::{Backend, Current};
use crate::client_sink::ClientSink;
use crate::relay::{CarriedCall, Relay};
use crate::{Client, Gateway};

/// What a client talks to: one server, or several as one.
#[derive(Clone)]
pub(crate) enum Partner {
    One(Arc<Relay>),
    All(Arc<Hub>),
}

impl Partner {
    /// Connections of its own to a server, or to all of them where none is named, for a client that hears through
    /// `outlet`.
    pub(crate) fn to(
        named: Option<&Backend>,
        current: &Current,
        client: &Arc<Client>,
        outlet: ClientSink,
    ) -> Self {
        let gateway = &current.gateway;
        match (named, current.backends.as_slice()) {
            // What is one already needs nothing put together.
            (Some(backend), _) | (None, [backend]) => {
                Self::One(relay(backend, gateway, client, outlet))
            }
            (None, _) => Self::All(Hub::new(current, client, outlet)),
        }
    }

    /// Takes a message of the client.
    pub(crate) async fn hear(&self, message: Message) {
        match self {
            Self::One(relay) => relay.hear(message).await,
            Self::All(hub) => hub.hear(message).await,
        }
    }

    /// Takes a call in that is carried by whoever reads its answer; gives back what is no call, or is not carried so.
    pub(crate) fn take_call(&self, message: Message) -> Result<CarriedCall, Message> {
        match self {
            Self::One(relay) => relay.take_call(message),
            Self::All(_) => Err(message),
        }
    }

    /// Waits until the servers that were left are gone.
    pub(crate) async fn gone(&self) {
        match self {
            Self::One(relay) => relay.gone().await,
            Self::All(hub) => hub.gone().await,
        }
    }

    /// Leaves, when the calls under way were answered.
    pub(crate) async fn leave(&self) {
        match self {
            Self::One(relay) => relay.leave().await,
            Self::All(hub) => hub.leave().await,
        }
    }
}

/// A relay to a server over a link of its own.
pub(crate) fn relay(
    backend: &Backend,
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    outlet: ClientSink,
) -> Arc<Relay> {
    let Link { to, from, direct } = backend.link(client.principal(), gateway.settings());
    let relay =
        Relay::new(Arc::clone(gateway), Arc::clone(client), backend.served.clone(), outlet, to)
            .with_direct(direct);
    let relay = Arc::new(relay);
    tokio::spawn(Arc::clone(&relay).from_server(from));
    relay
}
