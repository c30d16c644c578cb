//! Connects to servers.

mod broken;
mod child;
pub(crate) mod direct;
mod executable_lookup;
mod group;
mod http;
mod lines;
mod reaper;
mod streams;
mod supervisor;
mod unreadable;

pub(crate) use broken::{again, wants_again};
pub use broken::{broken, broken_because, unsent, was_unsent};
pub use child::{Child, Program};
pub use direct::{Answering, Direct, Flow, Watch};
pub use http::{HeaderArguments, Remote, RemoteError, Timeouts};
pub use lines::{read_lines, write_lines};
pub use reaper::{Warden, attend};
pub use streams::over;
pub use supervisor::{Health, Opened, Restart, steady};
pub use unreadable::UnreadableLine;

use tokio::sync::mpsc;

use crate::wire::{Id, Message, RESERVED_PREFIX};

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
    pub direct: Direct,
}

impl Link {
    /// Creates both ends of one link. A message sent into one end is received at the other.
    pub fn pair() -> (Self, FarEnd) {
        let (to, told) = mpsc::channel(WAITING);
        let (say, from) = mpsc::channel(WAITING);
        (Self { to, from, direct: Direct::default() }, FarEnd { told, say })
    }
}

/// Holds the server's end of a link.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers take the fields apart")]
pub struct FarEnd {
    /// Receives the messages for the server.
    pub told: mpsc::Receiver<Message>,
    /// Sends the messages of the server.
    pub say: mpsc::Sender<Incoming>,
}

/// Returns a server's message without the members that only Answerback may write. Every transport calls this for
/// each message that it reads. So later code can trust that such a member is our own.
pub(crate) fn trusted(server: &str, message: Message) -> Message {
    let (message, had_reserved) = message.without_reserved();
    if had_reserved {
        tracing::warn!(upstream = %server, "the server wrote members that only Answerback may write ({RESERVED_PREFIX}…); they were dropped");
    }
    message
}

/// Holds a message of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Incoming {
    /// The message.
    pub message: Message,
    /// The request that the message belongs to, if the transport knows it. Messages on the response stream of a
    /// request belong to that request.
    pub about: Option<Id>,
    /// True if the message is a response that the server sent as a stream.
    pub is_streamed: bool,
}

impl Incoming {
    /// Creates a message that belongs to this request.
    pub fn about(message: Message, request: Id) -> Self {
        Self { message, about: Some(request), is_streamed: false }
    }

    /// Returns the response with the id of another request.
    #[must_use]
    pub fn answering(self, request: &Id) -> Self {
        let about = self.about.map(|_| request.clone());
        Self { message: self.message.with_id(request), about, ..self }
    }
}

impl From<Message> for Incoming {
    /// Converts a message for which nothing else is known.
    fn from(message: Message) -> Self {
        Self { message, about: None, is_streamed: false }
    }
}

impl From<Incoming> for Message {
    fn from(incoming: Incoming) -> Self {
        incoming.message
    }
}
