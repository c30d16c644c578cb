use tokio::sync::watch;

/// Reports to handlers that the server is about to stop. Every request has one among its extensions.
///
/// A stream must end when [`ShutdownSignal::received`] resolves. A stream that continues is cut when the grace period
/// is over.
#[derive(Clone, Debug)]
pub struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    /// Creates a pair. Sending `true` begins the shutdown.
    pub(crate) fn channel() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Resolves when the server begins to stop.
    pub async fn received(&self) {
        // An error means that the sender was dropped, so the server has stopped already.
        let _ = self.0.clone().wait_for(|is_stopping| *is_stopping).await;
    }

    /// True if the server has begun to stop.
    pub fn is_received(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
