//! Prunes old live events.

use std::sync::Arc;
use std::time::Duration;

use answerback::Timestamp;
use answerback_store::system::now;
use answerback_store::{Store, StoreError};

use crate::Console;

/// The interval between two pruning runs.
const INTERVAL: Duration = Duration::from_mins(1);
/// The number of events that are removed per transaction, so that other writers wait only briefly.
const BATCH: u64 = 1000;
/// The pause between two transactions, which lets other writers in.
const PAUSE: Duration = Duration::from_millis(20);

/// The limits on stored live events: their age and their number. Events beyond either limit are removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub struct Retention {
    days: u32,
    count: u64,
}

impl Retention {
    /// Keeps events for `days` days, and at most `count` of them.
    pub const fn new(days: u32, count: u64) -> Self {
        Self { days, count }
    }

    /// Returns the first stored event, and the first one that is to stay.
    fn oldest_to_keep(self, store: &Store, now: Timestamp) -> Result<(u64, u64), StoreError> {
        let (minimum, newest) = (store.event_minimum()?, store.head()?.event_seq);
        let by_count = (newest + 1).saturating_sub(self.count);
        let oldest = now.unix_millis() - i64::from(self.days) * 24 * 60 * 60 * 1000;
        let is_old = |seq: u64| -> Result<bool, StoreError> {
            let event = store.events(seq - 1, None, 1)?.events.pop();
            Ok(event.is_some_and(|event| event.time.unix_millis() < oldest))
        };
        // Times increase with the sequence numbers, so a binary search finds the first event to keep.
        let (mut below, mut end) = (minimum.max(by_count).max(1), newest + 1);
        while below < end {
            let middle = below + (end - below) / 2;
            if is_old(middle)? {
                below = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok((minimum, below))
    }
}

impl Console {
    /// Prunes old events in small steps, as long as the future is polled. Internal streams are kept. For every stream
    /// the number of its events and their digest are kept.
    pub async fn prune_events_periodically(self: Arc<Self>, retention: Retention) {
        loop {
            if let Err(error) = self.prune_events(retention).await {
                tracing::warn!(%error, "old live events could not be removed");
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn prune_events(&self, retention: Retention) -> Result<(), StoreError> {
        let store = self.store.clone();
        let range =
            tokio::task::spawn_blocking(move || retention.oldest_to_keep(&store, now())).await;
        let (mut minimum, below) =
            range.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))?;
        while minimum < below {
            minimum = below.min(minimum + BATCH);
            self.store.prune_events(minimum)?.await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}
