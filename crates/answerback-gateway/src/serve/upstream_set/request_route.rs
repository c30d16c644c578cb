//! Records which server a request of the client went to, and forwards it there.

use answerback_mcp::wire::{Id, Message};

use super::set::{UpstreamSet, lock};
use crate::relay::cancellation;

/// The reason for cancelling a request that was just forwarded.
const CLIENT_CANCELLED: &str = "the client cancelled the request";

/// The server that a request of the client went to.
#[derive(Clone, Copy)]
pub(super) enum RequestRoute {
    /// Its server is not known yet, or the set answers it itself.
    Undecided,
    /// The client cancelled the request before its server was known, so it must not be sent.
    Cancelled,
    /// One server, by its position in the set.
    One(usize),
    /// All servers.
    All,
}

impl UpstreamSet {
    /// Updates the route of a request. Returns false if the client cancelled it, in which case it is removed and
    /// must not be sent.
    pub(super) fn set_route(&self, id: &Id, route: RequestRoute) -> bool {
        let mut routes = lock(&self.routes);
        match routes.get_mut(id) {
            Some(RequestRoute::Cancelled) => {
                routes.remove(id);
                false
            }
            Some(before) => {
                *before = route;
                true
            }
            None => false,
        }
    }

    /// Forwards a request of the client to a server, unless the client has cancelled it.
    pub(super) async fn forward(&self, server: usize, id: &Id, message: Message) {
        self.try_forward(server, id, message).await;
    }

    /// Forwards a request of the client to a server. Returns false if the client has cancelled it.
    pub(super) async fn try_forward(&self, server: usize, id: &Id, message: Message) -> bool {
        // A cancellation before the server has the request is handled below.
        if !self.set_route(id, RequestRoute::Undecided) {
            return false;
        }
        let relay = &self.servers[server].relay;
        relay.receive_from_client(message).await;
        let is_cancelled = {
            let mut routes = lock(&self.routes);
            match routes.get_mut(id) {
                Some(RequestRoute::Cancelled) => routes.remove(id).is_some(),
                Some(route) => {
                    *route = RequestRoute::One(server);
                    false
                }
                // The request was already answered.
                None => false,
            }
        };
        if is_cancelled {
            relay.receive_from_client(cancellation(id, CLIENT_CANCELLED)).await;
        }
        !is_cancelled
    }
}
