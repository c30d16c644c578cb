mod probing;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use super::era_detection::{client_era, is_from_modern_server};
use super::generated_ids::GeneratedIds;
use super::ignored_responses::IgnoredResponses;
use super::legacy_client::LegacyClient;
use super::modern_client::{ModernClient, hold_message};
use super::outbox::Outbox;
use super::{Era, EraCache};
use crate::link::{Incoming, restart_error};
use crate::wire::{Id, Message, Shape, splice};

/// The time that a server has to show its era before the bridge tries something else.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason that is reported when a server ended on the first message of the wrong era.
const WRONG_ERA: &str = "the server ended on a request of the other protocol era";

/// Connects a client and a server. It detects which eras they speak, and translates if these differ.
#[derive(Debug)]
pub(super) struct Bridge {
    cache: EraCache,
    ids: GeneratedIds,
    state: BridgeState,
    ignored: IgnoredResponses,
    /// Selects the answer to `server/discover` if the server is a legacy one.
    discovery: Discovery,
}

/// Tells how `server/discover` is answered for a legacy server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Discovery {
    /// The bridge answers like a modern server and translates.
    Bridged,
    /// The bridge returns an error the first time, so that a client that speaks both eras continues in the
    /// server's era. A client that asks again, or continues in the modern era, gets the translation.
    Rejected { was_rejected: bool },
}

#[derive(Debug)]
enum BridgeState {
    /// No message has shown the client's era yet. Messages are forwarded unchanged.
    Undecided,
    /// The server is processing a legacy client's `initialize`.
    InitializePending(Box<InitializePending>),
    /// The server is processing `server/discover` for a modern client.
    DiscoverPending {
        probe: Id,
        until: Instant,
        held: Vec<Message>,
    },
    /// Both sides speak the same era, so messages are forwarded unchanged.
    PassThrough,
    LegacyClient(Box<LegacyClient>),
    ModernClient {
        client: Box<ModernClient>,
        /// The probe that was not answered in time. A server that is slow to start may still answer it.
        probe: Option<Id>,
    },
}

#[derive(Debug)]
struct InitializePending {
    initialize: Message,
    id: Id,
    /// The time of the next step.
    until: Option<Instant>,
    /// The server's error response to `initialize`.
    rejection: Option<Incoming>,
    /// The client's state, which is used if the server turns out to be modern.
    client: LegacyClient,
}

impl Bridge {
    /// Creates a bridge to a server with these known eras.
    pub(super) fn new(cache: EraCache) -> Self {
        let (ids, ignored) = (GeneratedIds::default(), IgnoredResponses::default());
        Self { cache, ids, state: BridgeState::Undecided, ignored, discovery: Discovery::Bridged }
    }

    /// Makes the bridge return a legacy server's error to `server/discover`. The client can then continue in the
    /// server's era.
    pub(super) fn keeping_era(mut self) -> Self {
        self.discovery = Discovery::Rejected { was_rejected: false };
        self
    }

    /// Sets the generator for the ids of the bridge's own requests.
    pub(super) fn with_ids(mut self, ids: GeneratedIds) -> Self {
        self.ids = ids;
        self
    }

    /// Handles a message of the client.
    pub(super) fn handle_client_message(
        &mut self,
        message: Message,
        now: Instant,
        out: &mut Outbox,
    ) {
        match &mut self.state {
            BridgeState::Undecided => match client_era(&message) {
                Some(Era::Legacy) => self.begin_legacy_client(message, now, out),
                Some(Era::Modern) => self.begin_modern_client(message, now, out),
                None => out.send_to_server(message),
            },
            // The client did not wait for the response and continues in the legacy era.
            BridgeState::DiscoverPending { probe, .. }
                if self.discovery != Discovery::Bridged
                    && client_era(&message) == Some(Era::Legacy) =>
            {
                let probe = probe.clone();
                self.ignored.add(Some(probe));
                self.state = BridgeState::Undecided;
                self.begin_legacy_client(message, now, out);
            }
            BridgeState::DiscoverPending { held, .. } => hold_message(held, message, out),
            BridgeState::InitializePending(_) | BridgeState::PassThrough => {
                out.send_to_server(message);
            }
            BridgeState::LegacyClient(client) => client.handle_client_message(message, out),
            BridgeState::ModernClient { client, .. } => {
                client.handle_client_message(message, now, out);
            }
        }
    }

    /// Handles a message of the server.
    pub(super) fn handle_server_message(
        &mut self,
        incoming: Incoming,
        now: Instant,
        out: &mut Outbox,
    ) {
        if let Shape::Response { id } = incoming.message.shape()
            && self.ignored.take(id)
        {
            return;
        }
        match &mut self.state {
            BridgeState::Undecided | BridgeState::PassThrough => out.send_to_client(incoming),
            BridgeState::InitializePending(_) => self.handle_initialize_pending(incoming, now, out),
            BridgeState::DiscoverPending { .. } => self.handle_discover_pending(incoming, now, out),
            BridgeState::LegacyClient(client) => {
                client.handle_server_message(incoming, now, out);
                self.start_over();
            }
            BridgeState::ModernClient { client, probe } => {
                if let Shape::Response { id } = incoming.message.shape()
                    && probe.as_ref() == Some(id)
                {
                    if is_from_modern_server(incoming.message.text()) {
                        self.switch_to_modern(incoming, out);
                    } else {
                        *probe = None;
                        self.cache.learn(Era::Modern, false);
                    }
                    return;
                }
                client.handle_server_message(incoming, now, out);
                if client.is_open()
                    && let Some(probe) = probe.take()
                {
                    self.ignored.add(Some(probe));
                    self.cache.learn(Era::Modern, false);
                }
                self.start_over();
            }
        }
    }

    /// Returns true if messages are forwarded unchanged.
    pub(super) const fn is_pass_through(&self) -> bool {
        matches!(self.state, BridgeState::PassThrough)
    }

    /// Handles the end of the server. If the server ended because of its era, the pending requests ask for a
    /// restart. The restarted server receives them in the other era.
    pub(super) fn handle_server_exit(&mut self, out: &mut Outbox) {
        match &mut self.state {
            // The error response was held back until the server's era was known.
            BridgeState::InitializePending(pending) => {
                let Some(rejection) = pending.rejection.take() else { return };
                if self.cache.speaks(Era::Legacy) == Some(false) {
                    let reason = splice::string_at(rejection.message.text(), &["error", "message"]);
                    let reason = reason.unwrap_or_else(|| WRONG_ERA.to_owned());
                    out.send_to_client(restart_error(&pending.id, &reason));
                } else {
                    out.send_to_client(rejection);
                }
            }
            // Some legacy servers exit if their first message is not `initialize`.
            BridgeState::DiscoverPending { held, .. } => {
                self.cache.learn(Era::Modern, false);
                for message in held.drain(..) {
                    if let Shape::Request { id, .. } = message.shape() {
                        out.send_to_client(restart_error(id, WRONG_ERA));
                    }
                }
            }
            // The other era failed as well, so the next link detects the era again.
            BridgeState::LegacyClient(client) if client.discover_id().is_some() => {
                self.cache.learn(Era::Legacy, None);
            }
            BridgeState::ModernClient { client, .. } if !client.is_open() => {
                self.cache.learn(Era::Modern, None);
            }
            _ => {}
        }
    }

    /// Returns the next time at which [`wake`](Self::wake) must run.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            BridgeState::Undecided | BridgeState::PassThrough => None,
            BridgeState::InitializePending(pending) => pending.until,
            BridgeState::DiscoverPending { until, .. } => Some(*until),
            BridgeState::LegacyClient(client) => client.deadline(),
            BridgeState::ModernClient { client, .. } => client.deadline(),
        }
    }

    /// Handles expired deadlines.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        match &mut self.state {
            BridgeState::Undecided | BridgeState::PassThrough => {}
            BridgeState::InitializePending(pending)
                if pending.until.is_none_or(|until| until > now) => {}
            BridgeState::InitializePending(pending) => {
                match pending.client.discover_id().cloned() {
                    None => pending.probe(now, out),
                    Some(probe) => {
                        self.ignored.add(Some(probe));
                        self.end_probe(out);
                    }
                }
            }
            BridgeState::DiscoverPending { until, .. } if *until > now => {}
            BridgeState::DiscoverPending { probe, .. } => {
                let probe = probe.clone();
                match self.only_discovery() {
                    Some(id) => {
                        self.ignored.add(Some(probe));
                        self.reject_discovery(&id, None, out);
                    }
                    None => self.switch_to_legacy(Some(probe), now, out),
                }
            }
            BridgeState::LegacyClient(client) => client.wake(now, out),
            BridgeState::ModernClient { client, .. } => {
                client.wake(now, out);
                self.start_over();
            }
        }
    }

    /// Resets the state if the server does not speak the assumed era. The next request detects the era again.
    fn start_over(&mut self) {
        let era = match &self.state {
            BridgeState::LegacyClient(client) if client.has_failed() => Era::Legacy,
            BridgeState::ModernClient { client, .. } if client.has_failed() => Era::Modern,
            _ => return,
        };
        self.cache.learn(era, None);
        if let BridgeState::ModernClient { probe, .. } =
            std::mem::replace(&mut self.state, BridgeState::Undecided)
        {
            self.ignored.add(probe);
        }
    }
}
