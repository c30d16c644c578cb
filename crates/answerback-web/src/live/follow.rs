use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use answerback_store::{CaseFilter, CaseStatus, EventGap, Store, StoreError};
use tokio::sync::{Notify, watch};

use super::ring::{EventFrame, Ring};

/// The interval at which the store is polled while clients follow, because other processes write to it, too.
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// The pause after a failed read of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of events that are read at a time.
const PAGE: usize = 512;
/// If the ring is further behind, it restarts at the newest event instead of reading all events.
const CATCH_UP: u64 = 4096;
/// The largest number of waiting cases that are counted.
const MAX_OPEN_CASES: usize = 1000;

/// The present position of log and events.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LivePosition {
    /// The size of the log.
    pub(crate) size: u64,
    /// The sequence number of the newest event.
    pub(crate) seq: u64,
    /// The number of waiting cases.
    pub(crate) waiting: usize,
}

/// The single reader of the store for all followers.
#[derive(Debug)]
pub(crate) struct Live {
    store: Store,
    ring: RwLock<Ring>,
    level: watch::Sender<LivePosition>,
    nudge: Notify,
}

/// A page of events, the gap before them, and the position to continue after.
#[derive(Debug)]
pub(crate) struct FramePage {
    pub(crate) gap: Option<EventGap>,
    pub(crate) frames: Vec<EventFrame>,
    pub(crate) after: u64,
}

impl Live {
    pub(crate) fn new(store: Store) -> Arc<Self> {
        let (ring, level) = (RwLock::default(), watch::Sender::new(LivePosition::default()));
        Arc::new(Self { store, ring, level, nudge: Notify::new() })
    }

    /// Reports a write of this process, so that followers get it without waiting for the next poll.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Subscribes to position changes, after reading the present position.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
    ) -> Result<watch::Receiver<LivePosition>, StoreError> {
        let receiver = self.level.subscribe();
        self.poll().await?;
        self.nudge();
        Ok(receiver)
    }

    /// Polls the store as long as there are followers. It never returns; dropping the future stops it.
    pub(crate) async fn follow(self: Arc<Self>) {
        loop {
            if self.level.receiver_count() == 0 {
                self.nudge.notified().await;
            } else {
                let _ = tokio::time::timeout(POLL_INTERVAL, self.nudge.notified()).await;
            }
            if let Err(error) = self.poll().await {
                tracing::warn!(%error, "live events cannot be read");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Reads new events into the ring and publishes the new position.
    async fn poll(self: &Arc<Self>) -> Result<(), StoreError> {
        let live = Arc::clone(self);
        let result = tokio::task::spawn_blocking(move || live.read()).await;
        result.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))
    }

    fn read(&self) -> Result<(), StoreError> {
        let head = self.store.head()?;
        let before = *self.level.borrow();
        {
            let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
            if head.event_seq < ring.end() || head.event_seq - ring.end() > CATCH_UP {
                ring.restart(head.event_seq);
            }
            while ring.end() < head.event_seq {
                let page = self.store.events(ring.end(), None, PAGE)?;
                if page.gap.is_some() || page.events.is_empty() {
                    ring.restart(head.event_seq.max(page.after));
                } else {
                    let end = page.events.last().map_or(page.after, |event| event.seq);
                    ring.push(page.events.iter().map(EventFrame::of), end);
                }
            }
        }
        let has_grown = head.size != before.size || head.event_seq != before.seq;
        let waiting = if has_grown { self.open_cases()? } else { before.waiting };
        let level = LivePosition { size: head.size, seq: head.event_seq, waiting };
        self.level.send_if_modified(|current| {
            let is_new = *current != level;
            *current = level;
            is_new
        });
        Ok(())
    }

    fn open_cases(&self) -> Result<usize, StoreError> {
        let filter = CaseFilter::default().with_status(CaseStatus::Waiting);
        Ok(self.store.cases(&filter, None, MAX_OPEN_CASES)?.cases.len())
    }

    /// Returns events after a position: from memory, or from the store for followers that are further behind.
    pub(crate) async fn page(
        self: &Arc<Self>,
        after: u64,
        most: usize,
    ) -> Result<FramePage, StoreError> {
        let from_memory = {
            let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
            ring.after(after, most)
        };
        if let Some((frames, after)) = from_memory {
            return Ok(FramePage { gap: None, frames, after });
        }
        let store = self.store.clone();
        let read = move || {
            let page = store.events(after, None, most)?;
            let frames = page.events.iter().map(EventFrame::of).collect();
            Ok(FramePage { gap: page.gap, frames, after: page.after })
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))
    }
}
