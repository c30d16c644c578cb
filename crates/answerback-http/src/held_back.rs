use std::time::Duration;

use tokio::sync::Semaphore;

/// The delay before the response to a wrong token.
const HELD_BACK: Duration = Duration::from_millis(250);
/// The largest number of delayed responses at a time. Further requests are rejected with 429.
/// There is one limit for all peers. An attacker could make a table of peers grow, and on a loopback address all peers
/// share one address.
const MOST_HELD_BACK: usize = 32;

/// Delays the responses to wrong tokens, which makes guessing slow.
#[derive(Debug)]
pub(crate) struct HeldBack(Semaphore);

impl Default for HeldBack {
    fn default() -> Self {
        Self(Semaphore::new(MOST_HELD_BACK))
    }
}

impl HeldBack {
    /// Waits for the delay and returns true. Returns false at once if too many responses are delayed already.
    pub(crate) async fn hold(&self) -> bool {
        let Ok(_held) = self.0.try_acquire() else { return false };
        tokio::time::sleep(HELD_BACK).await;
        true
    }
}
