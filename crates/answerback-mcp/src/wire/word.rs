//! Words that few messages have. Whether one has them is asked before it is read any further.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Message;

/// A word that a message may have.
///
/// Of a name with a slash the part behind it is looked for: JSON may be written with `\/`, and often is.
#[derive(Debug)]
pub struct MessageWord(LazyLock<Finder<'static>>);

impl MessageWord {
    /// Whether it stands anywhere in a message, also where it means something else.
    pub fn is_in(&self, message: &Message) -> bool {
        self.0.find(message.text().as_bytes()).is_some()
    }

    const fn new(make: fn() -> Finder<'static>) -> Self {
        Self(LazyLock::new(make))
    }
}

/// By which a request wants to hear of progress.
pub static PROGRESS: MessageWord = MessageWord::new(|| Finder::new("progressToken"));
/// By which a message says of which revision it is.
pub static VERSION: MessageWord = MessageWord::new(|| Finder::new("protocolVersion"));
/// By which a notification says to which subscription it belongs.
pub static SUBSCRIPTION: MessageWord = MessageWord::new(|| Finder::new("subscriptionId"));
/// By which a message names a task.
pub static TASK: MessageWord = MessageWord::new(|| Finder::new("taskId"));
/// By which an answer of a link is told from one of its server.
pub(crate) static LINK: MessageWord = MessageWord::new(|| Finder::new("answerback/link"));
