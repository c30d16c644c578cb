//! Asking a server without a queue in between.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Message;

/// The answer to a request that was asked directly; nothing, where it comes on the link as others do.
pub type Answering = Pin<Box<dyn Future<Output = Option<Message>> + Send>>;

/// What becomes of the stream that a server answers with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a stream begins and may pause; it ends with the answer"
)]
pub enum Flow {
    /// It began.
    Begun,
    /// The server closed it before the answer, and is asked for the rest later.
    Paused,
}

/// Who wants to know what becomes of a stream.
pub type Watch = Box<dyn Fn(Flow) + Send + Sync>;

/// What asks a server in the task of whoever asks.
pub(crate) trait Ask: Send + Sync {
    /// Asks, or gives the request back where it has to go the way of all messages.
    fn ask(&self, request: Message, watch: Option<Watch>) -> Result<Answering, Message>;
}

/// A way past the queues of a link, for requests whose answer is one message.
///
/// Where there is one, and nothing that went before still has to be waited for or translated, a request costs no turn of
/// any task but that of whoever asks. Everything else takes the queues: what goes directly is never ahead of what it has
/// to follow. Whoever stops waiting has to tell the server on the link, as for any request.
#[derive(Clone, Default)]
pub struct Direct(Option<Arc<dyn Ask>>);

impl Direct {
    pub(crate) fn through(asks: impl Ask + 'static) -> Self {
        Self(Some(Arc::new(asks)))
    }

    /// The same way with somebody in between; no way stays none.
    pub(crate) fn wrapped<A: Ask + 'static>(self, wrap: impl FnOnce(Self) -> A) -> Self {
        if self.0.is_some() { Self::through(wrap(self)) } else { self }
    }

    /// Asks a request, in the task that waits for the answer. Where the server streams it, `watch` hears of that.
    ///
    /// # Errors
    ///
    /// The request, where it has to go through the link.
    pub fn ask(&self, request: Message, watch: Option<Watch>) -> Result<Answering, Message> {
        match &self.0 {
            Some(asks) => asks.ask(request, watch),
            None => Err(request),
        }
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Direct").field(&self.0.is_some()).finish()
    }
}

/// A direct way that changes, because what it leads to does.
#[derive(Debug, Default)]
pub(crate) struct Changing(Mutex<Direct>);

impl Changing {
    pub(crate) fn set(&self, direct: Direct) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = direct;
    }

    pub(crate) fn now(&self) -> Direct {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
