//! Joins a client and a server with queues.

use tokio::sync::mpsc;

use super::{DirectPath, Incoming};
use crate::wire::Message;

/// The number of messages that a link buffers in each direction. A sender waits while the buffer is full.
pub const WAITING: usize = 64;

/// Holds a connection to one server, or to a component that acts as one.
///
/// Dropping [`to`](Self::to) closes the link: the transport closes its connection to the server.
/// [`from`](Self::from) ends after the server's last message. If the server ends by itself, `from` ends first.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers take the fields apart")]
pub struct Link {
    /// Sends messages to the server.
    pub to: mpsc::Sender<Message>,
    /// Receives the messages of the server.
    pub from: mpsc::Receiver<Incoming>,
    /// Sends requests without the queues, if the transport supports it.
    pub direct: DirectPath,
}

impl Link {
    /// Creates both ends of one link. A message sent into one end is received at the other.
    pub fn pair() -> (Self, ServerEnd) {
        let (to, from_client) = mpsc::channel(WAITING);
        let (to_client, from) = mpsc::channel(WAITING);
        (Self { to, from, direct: DirectPath::default() }, ServerEnd { from_client, to_client })
    }
}

/// Holds the server's end of a link.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers take the fields apart")]
pub struct ServerEnd {
    /// Receives the messages for the server.
    pub from_client: mpsc::Receiver<Message>,
    /// Sends the messages of the server.
    pub to_client: mpsc::Sender<Incoming>,
}
