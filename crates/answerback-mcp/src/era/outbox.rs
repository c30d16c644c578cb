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
    pub(super) fn send_to_client(&mut self, message: impl Into<Incoming>) {
        self.to_client.push_back(message.into());
    }

    /// Adds a message for the server.
    pub(super) fn send_to_server(&mut self, message: Message) {
        self.to_server.push_back(message);
    }
}
