//! Describes the messages of a server.

use crate::wire::{Id, Message, RESERVED_PREFIX};

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

/// Returns a server's message without the members that only Answerback may write. Every transport calls this for
/// each message that it reads. So later code can trust that such a member is our own.
pub(crate) fn trusted(server: &str, message: Message) -> Message {
    let (message, had_reserved) = message.without_reserved();
    if had_reserved {
        tracing::warn!(upstream = %server, "the server wrote members that only Answerback may write ({RESERVED_PREFIX}…); they were dropped");
    }
    message
}
