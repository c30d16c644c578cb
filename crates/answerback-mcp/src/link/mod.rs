//! Connections to servers.

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

/// How many messages may wait on a link, in each direction. A side that does not read is waited for.
pub const WAITING: usize = 64;

/// A connection to one server, or to what looks like one.
///
/// It is closed by dropping [`to`](Self::to): the server is told, as its transport tells it, and [`from`](Self::from)
/// ends when it has said its last word. A server that leaves by itself ends `from` first.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "whoever takes a link takes it apart")]
pub struct Link {
    /// What the server is told.
    pub to: mpsc::Sender<Message>,
    /// What the server says.
    pub from: mpsc::Receiver<Incoming>,
    /// A way past both, where there is one.
    pub direct: Direct,
}

impl Link {
    /// Two ends of one link: what goes into one comes out of the other.
    pub fn pair() -> (Self, FarEnd) {
        let (to, told) = mpsc::channel(WAITING);
        let (say, from) = mpsc::channel(WAITING);
        (Self { to, from, direct: Direct::default() }, FarEnd { told, say })
    }
}

/// The server's end of a link.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "whoever takes an end takes it apart")]
pub struct FarEnd {
    /// What the server is told.
    pub told: mpsc::Receiver<Message>,
    /// What the server says.
    pub say: mpsc::Sender<Incoming>,
}

/// Returns a server's message without the members that only Answerback may write. Every transport calls this on each
/// message that it reads, so that what is left can be trusted to be ours wherever it is found later.
pub(crate) fn trusted(server: &str, message: Message) -> Message {
    let (message, had_reserved) = message.without_reserved();
    if had_reserved {
        tracing::warn!(upstream = %server, "the server wrote members that only Answerback may write ({RESERVED_PREFIX}…); they were dropped");
    }
    message
}

/// A message of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Incoming {
    /// The message.
    pub message: Message,
    /// The request to which it belongs, where the transport says so: what a server sends on the stream of a request's
    /// answer belongs to that request.
    pub about: Option<Id>,
    /// Whether it is an answer that the server gave as a stream.
    pub is_streamed: bool,
}

impl Incoming {
    /// A message that belongs to this request.
    pub fn about(message: Message, request: Id) -> Self {
        Self { message, about: Some(request), is_streamed: false }
    }

    /// An answer as the answer to another request.
    #[must_use]
    pub fn answering(self, request: &Id) -> Self {
        let about = self.about.map(|_| request.clone());
        Self { message: self.message.with_id(request), about, ..self }
    }
}

impl From<Message> for Incoming {
    /// A message of which nothing else is known.
    fn from(message: Message) -> Self {
        Self { message, about: None, is_streamed: false }
    }
}

impl From<Incoming> for Message {
    fn from(incoming: Incoming) -> Self {
        incoming.message
    }
}
