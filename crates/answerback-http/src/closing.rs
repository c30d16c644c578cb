use tokio::sync::watch;

/// Tells those who work on a request that the server is about to stop. It is among the extensions of every request.
///
/// A stream ends by itself when [`Closing::begun`] does. One that goes on is cut when the time for an orderly end is
/// over.
#[derive(Clone, Debug)]
pub struct Closing(watch::Receiver<bool>);

impl Closing {
    /// The sender says when it begins.
    pub(crate) fn watched() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Ends when the server begins to stop.
    pub async fn begun(&self) {
        // A sender that is gone has stopped, too.
        let _ = self.0.clone().wait_for(|begun| *begun).await;
    }

    /// Whether the server has begun to stop.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
