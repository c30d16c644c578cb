//! Sends requests to a server without a queue in between.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Message;

/// Resolves to the response to a direct request. Resolves to `None` if the responses arrive on the link instead.
pub type DirectResponse = Pin<Box<dyn Future<Output = Option<Message>> + Send>>;

/// Reports the state of the stream that contains a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a stream only begins and pauses; its end is the response"
)]
pub enum StreamState {
    /// The server began to stream.
    Begun,
    /// The server closed the stream before the response, and will be asked for the rest later.
    Paused,
}

/// Is called with each state change of a response stream.
pub type StreamWatcher = Box<dyn Fn(StreamState) + Send + Sync>;

/// Sends requests in the task of the caller.
pub(crate) trait DirectSender: Send + Sync {
    /// Sends a request, or returns it if it must use the queues of the link.
    fn send(
        &self,
        request: Message,
        watch: Option<StreamWatcher>,
    ) -> Result<DirectResponse, Message>;
}

/// Sends requests whose response is one message, without the queues of a link.
///
/// Such a request runs in the caller's task alone, which saves task switches. It is possible only if no earlier
/// message must be sent first or translated. All other messages use the queues, so a direct request never
/// overtakes a message that it depends on. A caller that stops waiting must cancel the request over the link, as
/// with any request.
#[derive(Clone, Default)]
pub struct DirectPath(Option<Arc<dyn DirectSender>>);

impl DirectPath {
    pub(crate) fn new(sender: impl DirectSender + 'static) -> Self {
        Self(Some(Arc::new(sender)))
    }

    /// Wraps the direct path with another one. If there is no direct path, the result has none either.
    pub(crate) fn wrapped<A: DirectSender + 'static>(self, wrap: impl FnOnce(Self) -> A) -> Self {
        if self.0.is_some() { Self::new(wrap(self)) } else { self }
    }

    /// Sends a request in the task that waits for the response. If the server streams the response, `watch` is
    /// called with the stream's states.
    ///
    /// # Errors
    ///
    /// Returns the request if it must use the queues of the link.
    pub fn send(
        &self,
        request: Message,
        watch: Option<StreamWatcher>,
    ) -> Result<DirectResponse, Message> {
        match &self.0 {
            Some(sender) => sender.send(request, watch),
            None => Err(request),
        }
    }
}

impl fmt::Debug for DirectPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DirectPath").field(&self.0.is_some()).finish()
    }
}

/// Holds a direct path that changes when the server behind the link is replaced.
#[derive(Debug, Default)]
pub(crate) struct ReplaceablePath(Mutex<DirectPath>);

impl ReplaceablePath {
    pub(crate) fn set(&self, direct: DirectPath) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = direct;
    }

    pub(crate) fn current(&self) -> DirectPath {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
