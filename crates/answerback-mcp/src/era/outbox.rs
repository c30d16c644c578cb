use std::collections::VecDeque;

use crate::link::Incoming;
use crate::wire::Message;

/// Collects the messages for both sides, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) to_client: VecDeque<Incoming>,
    pub(super) to_server: VecDeque<Message>,
}

impl Outbox {
    /// Adds a message for the client.
    pub(super) fn tell_client(&mut self, said: impl Into<Incoming>) {
        self.to_client.push_back(said.into());
    }

    /// Adds a message for the server.
    pub(super) fn tell_server(&mut self, said: Message) {
        self.to_server.push_back(said);
    }
}
