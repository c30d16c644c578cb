use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use answerback_mcp::wire::Message;

use super::set::lock;
use crate::client_sink::ClientSink;
use crate::relay::RelaySession;
use crate::serve::Backend;
use crate::serve::client_upstream::connect_relay;
use crate::{Client, Gateway};

/// One upstream of a set, with the client's relay to it.
pub(super) struct UpstreamMember {
    pub(super) backend: Backend,
    pub(super) relay: Arc<RelaySession>,
    /// True while the server is listing its tools.
    pub(super) is_listing: AtomicBool,
    pub(super) initialization: Mutex<InitializationState>,
}

/// Tracks the `initialize` request of a server.
pub(super) enum InitializationState {
    /// The request was answered, or was never sent.
    Done,
    /// The server has not answered yet. The client's `initialized` notification is deferred until then.
    Pending { initialized: Option<Message> },
}

impl UpstreamMember {
    pub(super) fn connect(
        backend: Backend,
        gateway: &Arc<Gateway>,
        client: &Arc<Client>,
        sink: ClientSink,
    ) -> Self {
        let relay = connect_relay(&backend, gateway, client, sink);
        let initialization = Mutex::new(InitializationState::Done);
        Self { backend, relay, is_listing: AtomicBool::new(false), initialization }
    }

    /// Stores the `initialized` notification for a server that has not answered `initialize`. Returns false
    /// if the server may receive it.
    pub(super) fn defer_initialized(&self, message: &Message) -> bool {
        match &mut *lock(&self.initialization) {
            InitializationState::Done => false,
            InitializationState::Pending { initialized } => {
                *initialized = Some(message.clone());
                true
            }
        }
    }

    /// True if a request to the server has timed out and it has not answered since.
    pub(super) fn is_slow(&self) -> bool {
        self.backend.is_slow.load(Ordering::Acquire)
    }

    /// True if the server is initialized, so that it may receive requests.
    pub(super) fn is_initialized(&self) -> bool {
        matches!(*lock(&self.initialization), InitializationState::Done)
    }
}
