//! Finds out which era the server speaks, while the client waits for its first response.

use tokio::time::Instant;

use super::{Bridge, BridgeState, Discovery, InitializePending, PROBE_TIMEOUT};
use crate::era::Era;
use crate::era::era_detection::{is_from_modern_server, opens_session, probe_request};
use crate::era::legacy_client::LegacyClient;
use crate::era::modern_client::ModernClient;
use crate::era::outbox::Outbox;
use crate::era::terms::method;
use crate::link::Incoming;
use crate::wire::{Id, Message, Shape, code as wire_code, splice};

impl Bridge {
    pub(super) fn begin_legacy_client(
        &mut self,
        initialize: Message,
        now: Instant,
        out: &mut Outbox,
    ) {
        let Shape::Request { id, .. } = initialize.shape() else { return };
        match self.cache.speaks(Era::Legacy) {
            Some(true) => {
                self.state = BridgeState::PassThrough;
                out.send_to_server(initialize);
            }
            Some(false) => {
                let mut client = LegacyClient::new(self.ids.clone());
                client.handle_client_message(initialize, out);
                self.state = BridgeState::LegacyClient(Box::new(client));
            }
            None => {
                out.send_to_server(initialize.clone());
                self.state = BridgeState::InitializePending(Box::new(InitializePending {
                    id: id.clone(),
                    initialize,
                    until: Some(now + PROBE_TIMEOUT),
                    rejection: None,
                    client: LegacyClient::new(self.ids.clone()),
                }));
            }
        }
    }

    pub(super) fn begin_modern_client(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        let Shape::Request { id, method } = message.shape() else { return };
        match self.cache.speaks(Era::Modern) {
            Some(true) => {
                self.state = BridgeState::PassThrough;
                out.send_to_server(message);
            }
            Some(false) if method == method::DISCOVER && self.may_reject() => {
                self.reject_discovery(id, None, out);
            }
            Some(false) => {
                let mut client = Box::new(ModernClient::new(self.ids.clone()));
                client.handle_client_message(message, now, out);
                self.state = BridgeState::ModernClient { client, probe: None };
            }
            None => {
                let probe = if method == method::DISCOVER {
                    out.send_to_server(message.clone());
                    id.clone()
                } else {
                    let probe = self.ids.next();
                    out.send_to_server(probe_request(&probe, &message));
                    probe
                };
                self.state = BridgeState::DiscoverPending {
                    probe,
                    until: now + PROBE_TIMEOUT,
                    held: vec![message],
                };
            }
        }
    }

    /// Forwards all messages, but evaluates the responses to `initialize` and to the probe.
    pub(super) fn handle_initialize_pending(
        &mut self,
        incoming: Incoming,
        now: Instant,
        out: &mut Outbox,
    ) {
        let BridgeState::InitializePending(pending) = &mut self.state else { return };
        let Shape::Response { id } = incoming.message.shape() else {
            out.send_to_client(incoming);
            return;
        };
        let text = incoming.message.text();
        let probe = pending.client.discover_id();
        if *id == pending.id && pending.rejection.is_none() {
            if opens_session(text, &pending.initialize) {
                self.cache.learn(Era::Legacy, true);
                self.ignored.add(probe.cloned());
                self.state = BridgeState::PassThrough;
                out.send_to_client(incoming);
            } else {
                // A server that names modern revisions may end after this error. The cache makes the next link
                // start in the right era.
                if is_from_modern_server(text) {
                    self.cache.learn(Era::Legacy, false);
                }
                pending.rejection = Some(incoming);
                if pending.client.discover_id().is_none() {
                    pending.probe(now, out);
                }
            }
        } else if probe == Some(id) {
            if !is_from_modern_server(text) {
                return self.end_probe(out);
            }
            self.cache.learn(Era::Modern, true);
            if pending.rejection.is_some() {
                self.cache.learn(Era::Legacy, false);
            } else {
                self.ignored.add(Some(pending.id.clone()));
            }
            let unused = LegacyClient::new(self.ids.clone());
            let mut client = std::mem::replace(&mut pending.client, unused);
            client.handle_server_message(incoming, now, out);
            self.state = BridgeState::LegacyClient(Box::new(client));
        } else {
            out.send_to_client(incoming);
        }
    }

    /// Stops probing, because the server did not identify itself as modern. If it rejected `initialize`, the
    /// client receives that error and may try again. Otherwise the server may still answer.
    pub(super) fn end_probe(&mut self, out: &mut Outbox) {
        let BridgeState::InitializePending(pending) = &mut self.state else { return };
        pending.until = None;
        pending.client = LegacyClient::new(self.ids.clone());
        if let Some(rejection) = pending.rejection.take() {
            out.send_to_client(rejection);
            self.state = BridgeState::Undecided;
        }
    }

    pub(super) fn handle_discover_pending(
        &mut self,
        incoming: Incoming,
        now: Instant,
        out: &mut Outbox,
    ) {
        let BridgeState::DiscoverPending { probe, .. } = &self.state else { return };
        match incoming.message.shape() {
            Shape::Response { id } if id == probe => {
                if is_from_modern_server(incoming.message.text()) {
                    self.switch_to_modern(incoming, out);
                } else {
                    self.cache.learn(Era::Modern, false);
                    match self.only_discovery() {
                        Some(id) => self.reject_discovery(&id, Some(incoming), out),
                        None => self.switch_to_legacy(None, now, out),
                    }
                }
            }
            // A server may check the connection before it does anything else.
            Shape::Request { id, method } if method == method::PING => {
                out.send_to_server(Message::result(id, "{}"));
            }
            // Other messages are not allowed before the first response.
            _ => {}
        }
    }

    /// Returns true if a client may receive an error for `server/discover`.
    pub(super) fn may_reject(&self) -> bool {
        self.discovery == Discovery::Rejected { was_rejected: false }
    }

    /// Returns the id of `server/discover`, if it is the client's only request and may be rejected.
    pub(super) fn only_discovery(&self) -> Option<Id> {
        let BridgeState::DiscoverPending { held, .. } = &self.state else { return None };
        let [only] = held.as_slice() else { return None };
        match only.shape() {
            Shape::Request { id, method } if method == method::DISCOVER && self.may_reject() => {
                Some(id.clone())
            }
            _ => None,
        }
    }

    /// Answers `server/discover` with the server's error, or with one of the bridge. The client's next message
    /// decides the era.
    pub(super) fn reject_discovery(&mut self, id: &Id, answer: Option<Incoming>, out: &mut Outbox) {
        self.discovery = Discovery::Rejected { was_rejected: true };
        self.state = BridgeState::Undecided;
        let is_error = |answer: &Incoming| splice::at(answer.message.text(), &["error"]).is_some();
        match answer.filter(is_error) {
            Some(answer) => out.send_to_client(answer),
            None => {
                let text = "the server does not know server/discover; begin with initialize";
                let code = wire_code::METHOD_NOT_FOUND;
                out.send_to_client(Message::error(Some(id), code, text, None));
            }
        }
    }

    /// Continues without translation, because both sides are modern. The held messages are forwarded.
    pub(super) fn switch_to_modern(&mut self, answer: Incoming, out: &mut Outbox) {
        self.cache.learn(Era::Modern, true);
        let held = match std::mem::replace(&mut self.state, BridgeState::PassThrough) {
            BridgeState::DiscoverPending { held, .. } => held,
            BridgeState::ModernClient { client, .. } => {
                let (held, initialize) = client.release();
                self.ignored.add(initialize);
                held
            }
            _ => return,
        };
        let Shape::Response { id: answered } = answer.message.shape() else { return };
        let is_answered = |message: &Message| matches!(message.shape(), Shape::Request { id, .. } if id == answered);
        let (answered_requests, rest): (Vec<_>, Vec<_>) = held.into_iter().partition(is_answered);
        for message in rest {
            out.send_to_server(message);
        }
        if !answered_requests.is_empty() {
            out.send_to_client(answer);
        }
    }

    /// Opens a legacy session, because the server is not modern or did not answer the probe.
    pub(super) fn switch_to_legacy(&mut self, probe: Option<Id>, now: Instant, out: &mut Outbox) {
        let mut client = Box::new(ModernClient::new(self.ids.clone()));
        if let BridgeState::DiscoverPending { held, .. } =
            std::mem::replace(&mut self.state, BridgeState::PassThrough)
        {
            for message in held {
                client.handle_client_message(message, now, out);
            }
        }
        self.state = BridgeState::ModernClient { client, probe };
    }
}

impl InitializePending {
    /// Asks a server that did not accept `initialize` if it is modern.
    pub(super) fn probe(&mut self, now: Instant, out: &mut Outbox) {
        self.client.handle_client_message(self.initialize.clone(), out);
        self.until = Some(now + PROBE_TIMEOUT);
    }
}
