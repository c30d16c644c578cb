use std::time::Duration;

use tokio::sync::Semaphore;

/// The delay before the response to a wrong token.
const DELAY: Duration = Duration::from_millis(250);
/// The largest number of delayed responses at a time. Further requests are rejected with 429.
/// There is one limit for all peers. An attacker could make a table of peers grow, and on a loopback address all peers
/// share one address.
const MAX_DELAYED: usize = 32;

/// Delays the responses to wrong tokens, which makes guessing slow.
#[derive(Debug)]
pub(crate) struct AuthFailureDelay(Semaphore);

impl Default for AuthFailureDelay {
    fn default() -> Self {
        Self(Semaphore::new(MAX_DELAYED))
    }
}

impl AuthFailureDelay {
    /// Waits for the delay and returns true. Returns false at once if too many responses are delayed already.
    pub(crate) async fn wait(&self) -> bool {
        let Ok(_permit) = self.0.try_acquire() else { return false };
        tokio::time::sleep(DELAY).await;
        true
    }
}
