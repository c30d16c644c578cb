use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use answerback_store::{CaseFilter, CaseStatus, Gap, Store, StoreError};
use tokio::sync::{Notify, watch};

use super::ring::{EventFrame, Ring};

/// How often the store is looked at while somebody follows: other processes write into it, too.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How long to wait when it cannot be read.
const PAUSE: Duration = Duration::from_secs(1);
/// How many events are read at a time.
const PAGE: usize = 512;
/// A ring that is further behind starts anew instead of reading all of it.
const CATCH_UP: u64 = 4096;
/// More cases are not counted.
const MOST_WAITING: usize = 1000;

/// How far everything is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LivePosition {
    /// The size of the log.
    pub(crate) size: u64,
    /// The newest event.
    pub(crate) seq: u64,
    /// How many cases wait.
    pub(crate) waiting: usize,
}

/// One reader of the store for all who follow.
#[derive(Debug)]
pub(crate) struct Live {
    store: Store,
    ring: RwLock<Ring>,
    level: watch::Sender<LivePosition>,
    nudge: Notify,
}

/// Some events, what is missing before them, and where to read on.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) gap: Option<Gap>,
    pub(crate) frames: Vec<EventFrame>,
    pub(crate) after: u64,
}

impl Live {
    pub(crate) fn new(store: Store) -> Arc<Self> {
        let (ring, level) = (RwLock::default(), watch::Sender::new(LivePosition::default()));
        Arc::new(Self { store, ring, level, nudge: Notify::new() })
    }

    /// Says that something was written here: those who follow need not wait for the next look.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Follows how far everything is, from a level that was read just now.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
    ) -> Result<watch::Receiver<LivePosition>, StoreError> {
        let receiver = self.level.subscribe();
        self.look().await?;
        self.nudge();
        Ok(receiver)
    }

    /// Looks at the store as long as somebody follows. It ends with its task.
    pub(crate) async fn follow(self: Arc<Self>) {
        loop {
            if self.level.receiver_count() == 0 {
                self.nudge.notified().await;
            } else {
                let _ = tokio::time::timeout(LOOK_EVERY, self.nudge.notified()).await;
            }
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "what happens cannot be read");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Reads what is new into the ring, and tells the level.
    async fn look(self: &Arc<Self>) -> Result<(), StoreError> {
        let live = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || live.read()).await;
        looked.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))
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
        let waiting = if has_grown { self.waiting()? } else { before.waiting };
        let level = LivePosition { size: head.size, seq: head.event_seq, waiting };
        self.level.send_if_modified(|kept| {
            let is_new = *kept != level;
            *kept = level;
            is_new
        });
        Ok(())
    }

    fn waiting(&self) -> Result<usize, StoreError> {
        let filter = CaseFilter::default().with_status(CaseStatus::Waiting);
        Ok(self.store.cases(&filter, None, MOST_WAITING)?.cases.len())
    }

    /// Events after a place: from memory, or from the store for those who are further behind.
    pub(crate) async fn page(
        self: &Arc<Self>,
        after: u64,
        most: usize,
    ) -> Result<Page, StoreError> {
        let remembered = {
            let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
            ring.after(after, most)
        };
        if let Some((frames, after)) = remembered {
            return Ok(Page { gap: None, frames, after });
        }
        let store = self.store.clone();
        let read = move || {
            let page = store.events(after, None, most)?;
            let frames = page.events.iter().map(EventFrame::of).collect();
            Ok(Page { gap: page.gap, frames, after: page.after })
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))
    }
}
