//! Searches messages for words that few of them contain. The search is cheap, so callers do it before they parse
//! a message further.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Message;

/// Searches messages for one word.
///
/// For a name with a slash, the word is the part after the slash. JSON may spell a slash as `\/`, and often does.
#[derive(Debug)]
pub struct MessageWord(LazyLock<Finder<'static>>);

impl MessageWord {
    /// Returns true if the message contains the word anywhere, even with another meaning.
    pub fn is_in(&self, message: &Message) -> bool {
        self.0.find(message.text().as_bytes()).is_some()
    }

    const fn new(make: fn() -> Finder<'static>) -> Self {
        Self(LazyLock::new(make))
    }
}

/// Finds requests that ask for progress notifications.
pub static PROGRESS: MessageWord = MessageWord::new(|| Finder::new("progressToken"));
/// Finds messages that state their protocol revision.
pub static VERSION: MessageWord = MessageWord::new(|| Finder::new("protocolVersion"));
/// Finds notifications that belong to a subscription.
pub static SUBSCRIPTION: MessageWord = MessageWord::new(|| Finder::new("subscriptionId"));
/// Finds messages that name a task.
pub static TASK: MessageWord = MessageWord::new(|| Finder::new("taskId"));
/// Finds errors that a link made itself, as opposed to errors of its server.
pub(crate) static LINK: MessageWord = MessageWord::new(|| Finder::new("answerback/link"));
