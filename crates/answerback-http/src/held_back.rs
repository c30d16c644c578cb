use std::time::Duration;

use tokio::sync::Semaphore;

/// How long the answer to a wrong token is held back.
const HELD_BACK: Duration = Duration::from_millis(250);
/// How many are held back at a time; whoever comes beyond is told to come later. One number for all peers, since a
/// table of peers could be made to grow, and on a loopback address all of them are one.
const MOST_HELD_BACK: usize = 32;

/// Makes guessing slow.
#[derive(Debug)]
pub(crate) struct HeldBack(Semaphore);

impl Default for HeldBack {
    fn default() -> Self {
        Self(Semaphore::new(MOST_HELD_BACK))
    }
}

impl HeldBack {
    /// Waits as long as a wrong answer has to; or not, where too many wait already.
    pub(crate) async fn hold(&self) -> bool {
        let Ok(_held) = self.0.try_acquire() else { return false };
        tokio::time::sleep(HELD_BACK).await;
        true
    }
}
