use tokio::sync::watch;

/// Reports to handlers that the server is about to stop. Every request has one among its extensions.
///
/// A stream must end when [`Closing::begun`] resolves. A stream that continues is cut when the grace period is over.
#[derive(Clone, Debug)]
pub struct Closing(watch::Receiver<bool>);

impl Closing {
    /// Creates a pair. Sending `true` begins the shutdown.
    pub(crate) fn watched() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Resolves when the server begins to stop.
    pub async fn begun(&self) {
        // An error means that the sender was dropped, so the server has stopped already.
        let _ = self.0.clone().wait_for(|begun| *begun).await;
    }

    /// True if the server has begun to stop.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
