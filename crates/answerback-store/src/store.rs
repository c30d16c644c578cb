//! The handle to a store, which all callers use.

mod open;
mod read;
mod search_index;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use answerback::Timestamp;

use crate::engine::{EngineRead, OpenTextIndex, Opener};
use crate::queue::Queue;
use crate::reading::Readers;
use crate::stats::StoreCounters;
use crate::{Settings, StoreError};

/// A handle to a store. Clones share one writer. Dropping the last handle lets the writer finish
/// its queue and end.
///
/// ```
/// use answerback_ledger::{Draft, LeafToken};
/// use answerback_store::{Settings, Store};
///
/// # let folder = tempfile::tempdir()?;
/// let settings = Settings::new(folder.path().join("ledger.key"));
/// let store = Store::open_sqlite(folder.path().join("store.db"), settings)?;
/// let request = Draft::request().with_tool("read_file").with_part(store.part("seen", *b"{}")?);
/// let committed = store.append(request)?.wait()?;
/// let receipt = store.receipt(committed.value.index)?;
/// assert!(receipt.verify(&store.verifier_key()?).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store(Arc<StoreInner>);

struct StoreInner {
    settings: Settings,
    queue: Arc<Queue>,
    counters: Arc<StoreCounters>,
    readers: Arc<Readers>,
    open_text: OpenTextIndex,
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.close();
    }
}

impl StoreInner {
    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.queue.close();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // The writer thread itself may drop the last handle, inside a unit.
            if thread.thread().id() != std::thread::current().id() {
                thread.thread().unpark();
                let _ = thread.join();
            }
        }
    }
}

impl Store {
    /// Stops the writer after it has finished its queue. Other handles can no longer write.
    pub fn close(&self) {
        self.0.close();
    }

    /// Returns the opener of connections to this store.
    pub(crate) fn opener(&self) -> &dyn Opener {
        self.0.readers.opener()
    }

    fn new(opener: Arc<dyn Opener>, open_text: OpenTextIndex, settings: Settings) -> Self {
        Self(Arc::new(StoreInner {
            queue: Arc::new(Queue::new(settings.queue_units, settings.queue_bytes)),
            counters: Arc::default(),
            readers: Arc::new(Readers::new(opener)),
            open_text,
            stop: Arc::default(),
            threads: Mutex::default(),
            settings,
        }))
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros((self.0.settings.clock)())
    }

    pub(crate) fn read<T>(
        &self,
        act: impl FnOnce(&mut dyn EngineRead) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.0.readers.read(act)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
