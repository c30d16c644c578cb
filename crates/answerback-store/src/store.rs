use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use answerback::retry::RetryKey;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::leaf::Basis;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::{Draft, Hash, Id, Kind, Note, Part, Receipt, Salt, Token, VerifierKey};

use crate::chain::{Chain, stored_key};
use crate::engine::{EngineRead, EngineResult, Foreseen, Opener};
use crate::erasure::{Erased, Pruned, erase, prune};
use crate::job::job;
use crate::queue::Queue;
use crate::reading::{self, LOOKS, Readers};
use crate::rotation::rotate;
use crate::stats::Counters;
use crate::text::{STEP, TextIndex, follow, step};
use crate::transaction::{Log, Transaction};
use crate::work::{RunningTransaction, foreseen, note_key};
use crate::writer::LogWriter;
use crate::{
    Appended, CaseFilter, CasePage, CaseRecord, Entry, EntryPage, Event, EventPage, Filter, Head,
    KeptAttempt, OnFailure, Settings, Stats, StoreError, StreamFilter, StreamInfo, Ticket, Totals,
};

/// The assumed weight of a unit whose size is unknown, in bytes.
const WEIGHT: usize = 4096;

/// Opens the full-text index. Creates it if the argument is `true`; otherwise returns `None` if it
/// does not exist.
pub(crate) type OpenText =
    Box<dyn Fn(bool) -> EngineResult<Option<Box<dyn TextIndex>>> + Send + Sync>;

/// A handle to a store. Clones share one writer. Dropping the last handle lets the writer finish
/// its queue and end.
///
/// ```
/// use answerback_ledger::{Draft, Token};
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
    counters: Arc<Counters>,
    readers: Arc<Readers>,
    text: OpenText,
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

    /// Opens the SQLite store in this file, and creates log and key on first use.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used, its content is inconsistent, or the log is
    /// behind its anchor.
    #[cfg(feature = "sqlite")]
    pub fn open_sqlite(path: impl AsRef<Path>, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Adopts the store in this file although it is behind its anchors or differs from them,
    /// because it was restored from an older copy. An entry records the anchored checkpoints, and
    /// the anchors restart.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no log, the log matches its anchors, or an anchor cannot
    /// restart.
    #[cfg(feature = "sqlite")]
    pub fn adopt_sqlite(
        path: impl AsRef<Path>,
        settings: &Settings,
    ) -> Result<crate::Adopted, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        crate::adopt::adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the SQLite store in this file for reading. It creates no log and signs nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not exist.
    #[cfg(feature = "sqlite")]
    pub fn read_sqlite(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let settings = Settings::new("");
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        let text = opener.text();
        let store = Self::new(Arc::new(opener), text, settings);
        store.0.queue.close();
        store.head()?;
        Ok(store)
    }

    /// Opens the store in this PostgreSQL database, and creates tables, log and key on first use.
    ///
    /// The URL may name a schema of the database with `?schema=NAME`; the default is `answerback`.
    /// A schema holds one log. Any number of processes on any number of machines may share it, with
    /// the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be used, its content is inconsistent, or the log is
    /// behind its anchor.
    #[cfg(feature = "postgres")]
    pub fn open_postgres(url: &str, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Adopts the store in this database although it is behind its anchors or differs from them,
    /// because it was restored from an older copy. An entry records the anchored checkpoints, and
    /// the anchors restart.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no log, the log matches its anchors, or an anchor cannot
    /// restart.
    #[cfg(feature = "postgres")]
    pub fn adopt_postgres(url: &str, settings: &Settings) -> Result<crate::Adopted, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, settings)?;
        crate::adopt::adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the store in this PostgreSQL database for reading. It creates no table and signs
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not exist.
    #[cfg(feature = "postgres")]
    pub fn read_postgres(url: &str) -> Result<Self, StoreError> {
        let settings = Settings::new("");
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let text = opener.text();
        let store = Self::new(Arc::new(opener), text, settings);
        store.0.queue.close();
        store.head()?;
        Ok(store)
    }

    /// Returns the opener of connections to this store.
    pub(crate) fn opener(&self) -> &dyn Opener {
        self.0.readers.opener()
    }

    fn new(opener: Arc<dyn Opener>, text: OpenText, settings: Settings) -> Self {
        Self(Arc::new(StoreInner {
            queue: Arc::new(Queue::new(settings.queue_units, settings.queue_bytes)),
            counters: Arc::default(),
            readers: Arc::new(Readers::new(opener)),
            text,
            stop: Arc::default(),
            threads: Mutex::default(),
            settings,
        }))
    }

    pub(crate) fn open(
        opener: Arc<dyn Opener>,
        text: OpenText,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        let chain = Chain::open(opener.as_ref(), &settings)?;
        let is_new = chain.edge.size() == 0;
        let store = Self::new(Arc::clone(&opener), text, settings.clone());
        let inner = &store.0;
        inner.counters.set_warnings(chain.engine.warnings());
        let writer = LogWriter {
            opener,
            settings: settings.clone(),
            queue: Arc::clone(&inner.queue),
            counters: Arc::clone(&inner.counters),
            chain: Ok(chain),
            swept: Instant::now(),
        };
        store.spawn("answerback-writer", move || writer.work())?;
        if settings.full_text {
            let index = store.text()?;
            let readers = Arc::clone(&inner.readers);
            let counters = Arc::clone(&inner.counters);
            let stop = Arc::clone(&inner.stop);
            store.spawn("answerback-text", move || follow(index, &readers, &counters, &stop))?;
        }
        #[cfg(feature = "witness")]
        store.follow_witnesses()?;
        if is_new {
            // The first entry of a log records its start. A batch without units writes it.
            store.write(|_| Ok(()))?.wait()?;
        }
        Ok(store)
    }

    /// Starts a thread that asks witnesses to cosign the checkpoints of this store. Closing the
    /// store does not wait for this thread.
    #[cfg(feature = "witness")]
    fn follow_witnesses(&self) -> Result<(), StoreError> {
        let (witnesses, stop) = (self.0.settings.witnesses.clone(), Arc::clone(&self.0.stop));
        if witnesses.is_empty() {
            return Ok(());
        }
        let asking = self.asking();
        let thread = std::thread::Builder::new().name("answerback-witness".to_owned());
        let thread = thread.spawn(move || crate::witness::follow(&asking, &witnesses, &stop));
        thread.map_err(|error| StoreError::Engine(Arc::new(error)))?;
        Ok(())
    }

    #[cfg(feature = "witness")]
    fn asking(&self) -> crate::witness::CosignatureRequest {
        crate::witness::CosignatureRequest {
            readers: Arc::clone(&self.0.readers),
            queue: Arc::clone(&self.0.queue),
            counters: Arc::clone(&self.0.counters),
        }
    }

    /// Asks a witness to cosign the newest checkpoint, and stores the cosignature. It blocks until
    /// the witness responds or times out. It uses the writer only to store the cosignature.
    ///
    /// # Errors
    ///
    /// Returns an error if the witness cannot be reached, does not sign, or has seen another
    /// history than this log's.
    #[cfg(feature = "witness")]
    pub fn ask_witness(
        &self,
        witness: &crate::Witness,
    ) -> Result<crate::Witnessed, crate::WitnessError> {
        self.asking().ask(witness)
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Engine(Arc::new(error)))?;
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }
}

/// Writes to the store.
impl Store {
    /// Queues a unit of work for the writer. The unit fails independently of other units, and may
    /// run more than once. Its changes are durable when the ticket completes.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed. The unit does not run.
    pub fn write<T: Send + 'static>(
        &self,
        unit: impl FnMut(&mut dyn Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.write_weighing(WEIGHT, unit)
    }

    /// Queues a unit of work that holds this many bytes in memory. Otherwise it works as
    /// [`Self::write`].
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed. The unit does not run.
    pub fn write_weighing<T: Send + 'static>(
        &self,
        weight: usize,
        mut unit: impl FnMut(&mut dyn Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.hand(weight, move |work| unit(work))
    }

    /// Appends one entry.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn append(&self, draft: Draft) -> Result<Ticket<Appended>, StoreError> {
        let (weight, foreseen) = (draft.weight(), foreseen(&draft));
        self.hand_foreseeing(weight, foreseen, move |work| work.append(&draft))
    }

    /// Creates a part with its own salt for a draft. The commitment is computed here and not on the
    /// writer thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not a token, or there is no randomness.
    pub fn part(&self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Part, StoreError> {
        let name = Token::new(name).map_err(StoreError::unit)?;
        Ok(Part::new(name, Salt::new(self.0.settings.random()?), bytes))
    }

    /// Erases a part of an entry, and the content of events, cases, blobs and retry states that
    /// reference the entry. When the ticket completes, no file of the store contains the content,
    /// unless a reader still uses an older state. [`Self::is_scrubbed`] reports this. A later
    /// writer then removes it when the reader is done.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn erase(
        &self,
        index: u64,
        part: Token,
        basis: Basis,
    ) -> Result<Ticket<Erased>, StoreError> {
        // Remove the text from the index first. The process that fills the index would see the
        // erasure entry, but it may not be running.
        let held = self
            .entry(index)?
            .is_some_and(|entry| entry.parts.iter().any(|held| *held.name() == part));
        if let Some(mut text) = (self.0.text)(false)?.filter(|_| held) {
            text.remove(index)?;
            text.scrub()?;
        }
        self.hand(WEIGHT, move |work| erase(work, index, &part, basis))
    }

    /// Removes entries below an index, rounded down to a multiple of 256. The caller should export
    /// them first. All proofs about the remaining entries stay valid.
    ///
    /// It works in steps, so that other units can write in between, and calls `progress` after each
    /// step. An interruption between two steps leaves a valid log. Repeat the call to continue. The
    /// call blocks until all steps are done.
    ///
    /// # Errors
    ///
    /// Returns an error if there is nothing to remove, the queue is full, or the store fails.
    pub fn prune(
        &self,
        below: u64,
        progress: &mut dyn FnMut(Pruned),
    ) -> Result<Pruned, StoreError> {
        let wanted = below - below % WIDTH;
        let mut removed = 0;
        loop {
            let step = self.hand(WEIGHT, move |work| prune(work, below))?.wait()?.value;
            progress(step);
            removed += step.removed;
            if step.below >= wanted {
                return Ok(Pruned { removed, ..step });
            }
        }
    }

    /// Removes events below a sequence number, except those of [our own
    /// streams](crate::OWN_STREAMS). Readers get the range as a [`crate::Gap`]. The count and
    /// digest of each stream stay. The ticket returns the number of removed events.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn prune_events(&self, below: u64) -> Result<Ticket<u64>, StoreError> {
        self.hand(WEIGHT, move |work| {
            // The newest event stays, so that the sequence never restarts.
            let below = below.min(work.event_seq());
            let minimum = work.read(|engine| engine.event_minimum())?;
            if below <= minimum {
                return Ok(0);
            }
            work.scrub = true;
            work.write(|engine| engine.prune_events(minimum..below))
        })
    }

    /// Rotates to a new key. An entry names the key, and both keys sign the next checkpoint. The
    /// ticket fails if the key cannot be written or another rotation is in the same batch.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is full or the store is closed.
    pub fn rotate_key(&self) -> Result<Ticket<Appended>, StoreError> {
        let settings = self.0.settings.clone();
        self.hand(WEIGHT, move |work| rotate(work, &settings))
    }

    /// Decides whether to send a reply whose record failed. With [`OnFailure::Open`] it counts the
    /// reply as unrecorded and returns `Ok`. It never excuses a unit's own error.
    ///
    /// # Errors
    ///
    /// Returns an error if the reply must be withheld. It is the same error that was passed in.
    pub fn excuse(&self, error: StoreError) -> Result<(), StoreError> {
        let open = self.0.settings.on_failure == OnFailure::Open;
        if open && error.is_failure_of_the_store() {
            Counters::add(&self.0.counters.unrecorded, 1);
            // The caller reports a withheld reply. A reply that is sent looks normal, so log it
            // here.
            tracing::warn!(reason = %error, "something goes on unrecorded, because on_failure is open");
            return Ok(());
        }
        Counters::add(&self.0.counters.withheld, 1);
        Err(error)
    }

    fn hand<T: Send + 'static>(
        &self,
        weight: usize,
        unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.hand_foreseeing(weight, Foreseen::default(), unit)
    }

    fn hand_foreseeing<T: Send + 'static>(
        &self,
        weight: usize,
        foreseen: Foreseen,
        unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        let (job, ticket) = job(foreseen, unit);
        let pushed = self.0.queue.push(weight, job);
        if matches!(pushed, Err(StoreError::Busy)) {
            Counters::add(&self.0.counters.queue_full, 1);
        }
        pushed.map(|()| ticket)
    }
}

/// Reads from the store. Every method blocks for the duration of the disk access.
impl Store {
    /// Returns the head of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn head(&self) -> Result<Head, StoreError> {
        self.read(reading::head)
    }

    /// Returns the name of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn origin(&self) -> Result<String, StoreError> {
        self.read(|read| {
            read.meta("origin")?.ok_or_else(|| StoreError::Damaged("it has no origin".to_owned()))
        })
    }

    /// Returns the key in force.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn verifier_key(&self) -> Result<VerifierKey, StoreError> {
        self.head().map(|head| head.signer)
    }

    /// Returns the path of the signing key, or `None` if the store was opened for reading.
    pub fn key_file(&self) -> Option<&Path> {
        Some(self.0.settings.key.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the key in force at the first stored entry. A verifier derives all later keys from
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn first_key(&self) -> Result<VerifierKey, StoreError> {
        self.read(|read| stored_key(&read.meta("vkey")?.unwrap_or_default()))
    }

    /// Returns an entry with its stored parts.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn entry(&self, index: u64) -> Result<Option<Entry>, StoreError> {
        self.read(|read| reading::entry(read, index))
    }

    /// Returns entries that match the filter, after the cursor of the previous page.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn entries(
        &self,
        filter: &Filter,
        cursor: Option<u64>,
        limit: usize,
    ) -> Result<EntryPage, StoreError> {
        let Some(words) = &filter.text else {
            return self.read(|read| reading::entries(read, filter, cursor, limit));
        };
        let mut index = self.text()?;
        let mut find =
            |within: Range<u64>, most| Ok(index.find(words, within, filter.newest_first, most)?);
        self.read(|read| reading::entries_found(read, filter, cursor, limit, LOOKS, &mut find))
    }

    /// Returns the checkpoints of trees larger than this, smallest first.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn checkpoints(&self, above: u64, limit: usize) -> Result<Vec<Note>, StoreError> {
        self.read(|read| reading::checkpoints(read, above, limit))
    }

    /// Returns the newest checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn checkpoint(&self) -> Result<Note, StoreError> {
        self.read(|read| {
            let note = reading::newest_checkpoint(read)?;
            note.ok_or_else(|| StoreError::Missing("checkpoint".to_owned()))
        })
    }

    /// Returns each witness that cosigned a checkpoint as `NAME+ID`, with the largest size that it
    /// cosigned.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn witnessed(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(|read| Ok(read.witnessed()?))
    }

    /// Returns the proof that an entry is in the log, against the newest checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the entry does not exist or was pruned.
    pub fn receipt(&self, index: u64) -> Result<Receipt, StoreError> {
        self.read(|read| reading::receipt(read, index))
    }

    /// Returns the root that the log's tree had at this size.
    ///
    /// # Errors
    ///
    /// Returns an error if the log is smaller than this size.
    pub fn root(&self, size: u64) -> Result<Hash, StoreError> {
        self.read(|read| reading::root(read, size))
    }

    /// Returns the proof that the log of the new size extends the log of the old size.
    ///
    /// # Errors
    ///
    /// Returns an error if the log is smaller than the new size.
    pub fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, StoreError> {
        self.read(|read| reading::consistency(read, old, new))
    }

    /// Returns hashes of a tile level for exports, within one tile. Level 0 contains the hashes of
    /// leaves; each higher level contains the roots of the full tiles below.
    ///
    /// # Errors
    ///
    /// Returns an error if a hash is missing.
    pub fn hashes(&self, level: u8, from: u64, count: u64) -> Result<Vec<Hash>, StoreError> {
        use answerback_ledger::tree::HashReader;
        self.read(|read| Ok(crate::engine::Hashes::of(read).hashes(level, from, count)?))
    }

    /// Returns the retry state of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn attempt(&self, key: &RetryKey) -> Result<Option<KeptAttempt>, StoreError> {
        let now = self.now();
        self.read(|read| Ok(read.attempt(key.as_str(), now)?))
    }

    /// Returns the note with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn note(&self, name: &str) -> Result<Option<String>, StoreError> {
        let now = self.now();
        self.read(|read| Ok(read.note(&note_key(name), now)?))
    }

    /// Returns the case with this id.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn case(&self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError> {
        self.read(|read| Ok(read.case(id)?))
    }

    /// Returns cases that match the filter, oldest first, after the cursor of the previous page.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn cases(
        &self,
        filter: &CaseFilter,
        after: Option<&UuidV7>,
        limit: usize,
    ) -> Result<CasePage, StoreError> {
        let now = self.now();
        self.read(|read| {
            Ok(CasePage::of(read.cases(filter, after, now, limit.saturating_add(1))?, limit))
        })
    }

    /// Returns events after a sequence number, of one stream or of all streams.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn events(
        &self,
        after: u64,
        stream: Option<&str>,
        limit: usize,
    ) -> Result<EventPage, StoreError> {
        self.read(|read| reading::events(read, after, stream, limit))
    }

    /// Returns streams that have stored events, with the most recently active stream first.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn streams(
        &self,
        filter: StreamFilter<'_>,
        limit: usize,
    ) -> Result<Vec<StreamInfo>, StoreError> {
        self.read(|read| Ok(read.streams(filter, limit)?))
    }

    /// Returns the stream with this name. The number of its events and their digest remain after
    /// the events are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn stream(&self, name: &str) -> Result<Option<StreamInfo>, StoreError> {
        self.read(|read| reading::stream(read, name))
    }

    /// Returns the names of streams with this prefix in descending order. If `below` is given, only
    /// names that sort before it.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn stream_names(
        &self,
        beginning: &str,
        below: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.read(|read| Ok(read.stream_names(beginning, below, limit)?))
    }

    /// Returns the newest stored events of a stream, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn newest_events(&self, stream: &str, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read(|read| Ok(read.newest_events(stream, limit)?))
    }

    /// Returns the first sequence number from which all events are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn event_minimum(&self) -> Result<u64, StoreError> {
        self.read(|read| Ok(read.event_minimum()?))
    }

    /// Returns the index of the response or rejection with this `response_id`, or else with this
    /// `reply_id`.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn reply_index(&self, id: Id) -> Result<Option<u64>, StoreError> {
        const KINDS: [Kind; 2] = [Kind::Response, Kind::Rejected];
        self.read(|read| match read.same(&KINDS, Some(id), None)? {
            Some(index) => Ok(Some(index)),
            None => Ok(read.same(&KINDS, None, Some(id))?),
        })
    }

    /// Returns the blob with this digest.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|read| Ok(read.blob(digest)?))
    }

    /// Returns the statistics of this handle and its clones.
    pub fn stats(&self) -> Stats {
        self.0.counters.read()
    }

    /// Counts the content of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.read(|read| Ok(read.totals()?))
    }

    /// Clears the full-text index and rebuilds it. Returns the number of entries that it has read.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn rebuild_text(&self) -> Result<u64, StoreError> {
        self.text()?.clear()?;
        self.update_text()
    }

    /// True if the store's files and those of the full-text index contain no erased content. It
    /// cannot check the files of a database server.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn is_scrubbed(&self) -> Result<bool, StoreError> {
        let text = (self.0.text)(false)?.map_or(Ok(true), |mut text| text.is_scrubbed())?;
        Ok(text && self.read(|read| Ok(read.is_scrubbed()?))?)
    }

    /// Updates the full-text index to the newest entry. Returns the number of entries that it has
    /// read.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn update_text(&self) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        while step(index.as_mut(), &self.0.readers, STEP)?.is_some() {}
        index.scrub()?;
        Ok(index.position()?)
    }

    /// Advances the full-text index by at most `steps` steps of 256 entries, and returns the number
    /// of entries that it has read. Use it in a process that fills the index anyway, if the caller
    /// cannot wait for a full update.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn advance_text(&self, steps: usize) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        for _ in 0..steps {
            if step(index.as_mut(), &self.0.readers, STEP)?.is_none() {
                break;
            }
        }
        Ok(index.position()?)
    }

    /// Returns the number of entries that the full-text index has read, or `None` if there is no
    /// index.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn text_position(&self) -> Result<Option<u64>, StoreError> {
        let index = (self.0.text)(false)?;
        index.map(|mut index| Ok(index.position()?)).transpose()
    }

    fn text(&self) -> Result<Box<dyn TextIndex>, StoreError> {
        (self.0.text)(true)?.ok_or_else(|| StoreError::Missing("index for full text".to_owned()))
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
