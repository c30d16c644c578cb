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

/// The weight of a unit that does not say what it weighs.
const WEIGHT: usize = 4096;

/// Opens the index for full text. Without `true` only when it is there.
pub(crate) type OpenText =
    Box<dyn Fn(bool) -> EngineResult<Option<Box<dyn TextIndex>>> + Send + Sync>;

/// A handle on a store. Clones share one writer; when the last one goes, the writer finishes and ends.
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
            // The last handle may be dropped by the writer itself, inside a unit.
            if thread.thread().id() != std::thread::current().id() {
                thread.thread().unpark();
                let _ = thread.join();
            }
        }
    }
}

impl Store {
    /// Ends the writer, when it has written what it was given. Who still has a handle writes nothing any more.
    pub fn close(&self) {
        self.0.close();
    }

    /// Opens the embedded store in this file, and creates log and key on first use.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, what it holds does not fit together, or it is behind its anchor.
    #[cfg(feature = "sqlite")]
    pub fn open_sqlite(path: impl AsRef<Path>, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Goes on with the store in this file although it is behind its anchors, or differs from them, because it was
    /// restored from an older copy. An entry records what they remembered, and they start anew.
    ///
    /// # Errors
    ///
    /// When there is no log, it agrees with its anchors, or an anchor cannot start anew.
    #[cfg(feature = "sqlite")]
    pub fn adopt_sqlite(
        path: impl AsRef<Path>,
        settings: &Settings,
    ) -> Result<crate::Adopted, StoreError> {
        let opener = crate::sqlite::SqliteOpener::new(path.as_ref(), settings.lock_timeout);
        crate::adopt::adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the embedded store in this file to read only: no log is created, nothing is signed.
    ///
    /// # Errors
    ///
    /// When there is no store.
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
    /// The URL may name a schema of the database, `?schema=NAME`; without it, `answerback`. A schema holds
    /// one log. Any number of processes may share it, on one machine or many, with one key.
    ///
    /// # Errors
    ///
    /// When the database cannot be used, what it holds does not fit together, or it is behind its anchor.
    #[cfg(feature = "postgres")]
    pub fn open_postgres(url: &str, settings: Settings) -> Result<Self, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, &settings)?;
        let text = opener.text();
        Self::open(Arc::new(opener), text, settings)
    }

    /// Goes on with the store in this database although it is behind its anchors, or differs from them, because it was
    /// restored from an older copy. An entry records what they remembered, and they start anew.
    ///
    /// # Errors
    ///
    /// When there is no log, it agrees with its anchors, or an anchor cannot start anew.
    #[cfg(feature = "postgres")]
    pub fn adopt_postgres(url: &str, settings: &Settings) -> Result<crate::Adopted, StoreError> {
        let opener = crate::postgres::PostgresOpener::new(url, settings)?;
        crate::adopt::adopt(&(Arc::new(opener) as Arc<dyn Opener>), settings)
    }

    /// Opens the store in this PostgreSQL database to read only: no table is created, nothing is signed.
    ///
    /// # Errors
    ///
    /// When there is no store.
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

    /// What makes connections of this store.
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
            // The first entry of a log is its start; a batch without units writes it.
            store.write(|_| Ok(()))?.wait()?;
        }
        Ok(store)
    }

    /// Asks witnesses to sign what this store appends, in a thread that nobody waits for.
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

    /// Asks a witness to sign the newest checkpoint, and keeps its cosignature with it. It blocks for as long as
    /// the witness may take, and touches the writer only to keep what came.
    ///
    /// # Errors
    ///
    /// When the witness cannot be reached, does not sign, or has seen another history than this log's.
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

/// Writing.
impl Store {
    /// Hands a unit of work to the writer. It runs in a transaction of its own as far as failing goes,
    /// may be run again before it is answered, and is durable when the ticket says so.
    ///
    /// # Errors
    ///
    /// When the queue is full or the store is closed: the unit will not run.
    pub fn write<T: Send + 'static>(
        &self,
        unit: impl FnMut(&mut dyn Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Ticket<T>, StoreError> {
        self.write_weighing(WEIGHT, unit)
    }

    /// As [`Self::write`], for a unit that holds this many bytes while it waits.
    ///
    /// # Errors
    ///
    /// When the queue is full or the store is closed: the unit will not run.
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
    /// When the queue is full or the store is closed.
    pub fn append(&self, draft: Draft) -> Result<Ticket<Appended>, StoreError> {
        let (weight, foreseen) = (draft.weight(), foreseen(&draft));
        self.hand_foreseeing(weight, foreseen, move |work| work.append(&draft))
    }

    /// A part with a salt of its own, for a draft. It commits to the bytes here, not in the writer.
    ///
    /// # Errors
    ///
    /// When the name is not a token, or there is no randomness.
    pub fn part(&self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Part, StoreError> {
        let name = Token::new(name).map_err(StoreError::unit)?;
        Ok(Part::new(name, Salt::new(self.0.settings.random()?), bytes))
    }

    /// Erases a part of an entry, and what belongs to the entry in events, cases, blobs and retry states.
    /// When the ticket is answered, the content is in none of the store's files, unless somebody still
    /// reads an older state of it: [`Self::is_scrubbed`] says so. Then whoever writes to the store removes it once they
    /// are done.
    ///
    /// # Errors
    ///
    /// When the queue is full or the store is closed.
    pub fn erase(
        &self,
        index: u64,
        part: Token,
        basis: Basis,
    ) -> Result<Ticket<Erased>, StoreError> {
        // First out of the index: whoever fills it follows the erasure's entry, but may not run.
        let held = self
            .entry(index)?
            .is_some_and(|entry| entry.parts.iter().any(|held| *held.name() == part));
        if let Some(mut text) = (self.0.text)(false)?.filter(|_| held) {
            text.remove(index)?;
            text.scrub()?;
        }
        self.hand(WEIGHT, move |work| erase(work, index, &part, basis))
    }

    /// Removes entries below an index, rounded down to a multiple of 256. Exporting them first is the
    /// caller's duty. All proofs about the rest hold.
    ///
    /// It goes step by step, so that others can write in between, and tells of each. Whatever ends it between two steps
    /// leaves a log that begins later, and the same call again goes on. It blocks until all is done.
    ///
    /// # Errors
    ///
    /// When there is nothing to remove, the queue is full, or the store fails.
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

    /// Removes events below a sequence number, but those of [our own streams](crate::OWN_STREAMS); readers are told of the
    /// gap. What is kept of a stream beside its events stays. Gives how many went.
    ///
    /// # Errors
    ///
    /// When the queue is full or the store is closed.
    pub fn prune_events(&self, below: u64) -> Result<Ticket<u64>, StoreError> {
        self.hand(WEIGHT, move |work| {
            // The newest one stays, so that the sequence never starts again.
            let below = below.min(work.event_seq());
            let minimum = work.read(|engine| engine.event_minimum())?;
            if below <= minimum {
                return Ok(0);
            }
            work.scrub = true;
            work.write(|engine| engine.prune_events(minimum..below))
        })
    }

    /// Changes to a new key: an entry names it, and the next checkpoint carries both signatures.
    ///
    /// # Errors
    ///
    /// When the queue is full; as the ticket's answer, when the key cannot be written, or somebody else changes it at
    /// the same time.
    pub fn rotate_key(&self) -> Result<Ticket<Appended>, StoreError> {
        let settings = self.0.settings.clone();
        self.hand(WEIGHT, move |work| rotate(work, &settings))
    }

    /// What to do with an answer whose record failed: `Ok` delivers it, and it is counted; the error
    /// withholds it. A unit's own refusal is never waved through.
    ///
    /// # Errors
    ///
    /// The error itself, unless the configuration is [`OnFailure::Open`].
    pub fn excuse(&self, error: StoreError) -> Result<(), StoreError> {
        let open = self.0.settings.on_failure == OnFailure::Open;
        if open && error.is_failure_of_the_store() {
            Counters::add(&self.0.counters.unrecorded, 1);
            // Who withholds an answer says so; this one is given as if nothing were the matter.
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

/// Reading. Everything here blocks for as long as the disk takes.
impl Store {
    /// The head of the log.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn head(&self) -> Result<Head, StoreError> {
        self.read(reading::head)
    }

    /// The name of the log.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn origin(&self) -> Result<String, StoreError> {
        self.read(|read| {
            read.meta("origin")?.ok_or_else(|| StoreError::Damaged("it has no origin".to_owned()))
        })
    }

    /// The key in force.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn verifier_key(&self) -> Result<VerifierKey, StoreError> {
        self.head().map(|head| head.signer)
    }

    /// The file of the key that signs; none, where the store was opened to read.
    pub fn key_file(&self) -> Option<&Path> {
        Some(self.0.settings.key.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The key in force at the first entry that is there, from which all later ones follow.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn first_key(&self) -> Result<VerifierKey, StoreError> {
        self.read(|read| stored_key(&read.meta("vkey")?.unwrap_or_default()))
    }

    /// An entry with those of its parts that are still there.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn entry(&self, index: u64) -> Result<Option<Entry>, StoreError> {
        self.read(|read| reading::entry(read, index))
    }

    /// Entries as the filter says, from the cursor of the page before on.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
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

    /// The checkpoints of larger trees than this, smallest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn checkpoints(&self, above: u64, limit: usize) -> Result<Vec<Note>, StoreError> {
        self.read(|read| reading::checkpoints(read, above, limit))
    }

    /// The newest checkpoint.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn checkpoint(&self) -> Result<Note, StoreError> {
        self.read(|read| {
            let note = reading::newest_checkpoint(read)?;
            note.ok_or_else(|| StoreError::Missing("checkpoint".to_owned()))
        })
    }

    /// Each witness that signed a checkpoint, as `NAME+ID`, with the largest size it signed.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn witnessed(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(|read| Ok(read.witnessed()?))
    }

    /// The proof that an entry is in the log, against the newest checkpoint.
    ///
    /// # Errors
    ///
    /// When there is no such entry, or it was pruned.
    pub fn receipt(&self, index: u64) -> Result<Receipt, StoreError> {
        self.read(|read| reading::receipt(read, index))
    }

    /// The root of the log's tree when it had this size.
    ///
    /// # Errors
    ///
    /// When it never had so many entries.
    pub fn root(&self, size: u64) -> Result<Hash, StoreError> {
        self.read(|read| reading::root(read, size))
    }

    /// The proof that the log of the new size goes on from that of the old size.
    ///
    /// # Errors
    ///
    /// When it never had so many entries.
    pub fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, StoreError> {
        self.read(|read| reading::consistency(read, old, new))
    }

    /// Hashes of a tile level, for exports: at level 0 of leaves, above that of full tiles below. They lie
    /// within one tile.
    ///
    /// # Errors
    ///
    /// When they are not there.
    pub fn hashes(&self, level: u8, from: u64, count: u64) -> Result<Vec<Hash>, StoreError> {
        use answerback_ledger::tree::HashReader;
        self.read(|read| Ok(crate::engine::Hashes::of(read).hashes(level, from, count)?))
    }

    /// What is remembered of a retry key.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn attempt(&self, key: &RetryKey) -> Result<Option<KeptAttempt>, StoreError> {
        let now = self.now();
        self.read(|read| Ok(read.attempt(key.as_str(), now)?))
    }

    /// What is noted under a name.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn note(&self, name: &str) -> Result<Option<String>, StoreError> {
        let now = self.now();
        self.read(|read| Ok(read.note(&note_key(name), now)?))
    }

    /// The case with this id.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn case(&self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError> {
        self.read(|read| Ok(read.case(id)?))
    }

    /// Cases as the filter says, oldest first, after the cursor of the page before.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
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

    /// Events after a sequence number, of one stream or all.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn events(
        &self,
        after: u64,
        stream: Option<&str>,
        limit: usize,
    ) -> Result<EventPage, StoreError> {
        self.read(|read| reading::events(read, after, stream, limit))
    }

    /// Streams that have events, the one with the newest event first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn streams(
        &self,
        filter: StreamFilter<'_>,
        limit: usize,
    ) -> Result<Vec<StreamInfo>, StoreError> {
        self.read(|read| Ok(read.streams(filter, limit)?))
    }

    /// The stream with this name. How many events it had and the digest over them stay when the events are gone.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn stream(&self, name: &str) -> Result<Option<StreamInfo>, StoreError> {
        self.read(|read| reading::stream(read, name))
    }

    /// The names of streams that begin so, from behind, and below a name where one is given.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn stream_names(
        &self,
        beginning: &str,
        below: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.read(|read| Ok(read.stream_names(beginning, below, limit)?))
    }

    /// The newest events of a stream that are kept, newest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn newest_events(&self, stream: &str, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read(|read| Ok(read.newest_events(stream, limit)?))
    }

    /// The first event from which on all are kept.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn event_minimum(&self) -> Result<u64, StoreError> {
        self.read(|read| Ok(read.event_minimum()?))
    }

    /// The entry that is the response or rejection with this `response_id`, or else with this `reply_id`.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn reply_index(&self, id: Id) -> Result<Option<u64>, StoreError> {
        const KINDS: [Kind; 2] = [Kind::Response, Kind::Rejected];
        self.read(|read| match read.same(&KINDS, Some(id), None)? {
            Some(index) => Ok(Some(index)),
            None => Ok(read.same(&KINDS, None, Some(id))?),
        })
    }

    /// The bytes with this digest.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|read| Ok(read.blob(digest)?))
    }

    /// Figures of this handle and its clones.
    pub fn stats(&self) -> Stats {
        self.0.counters.read()
    }

    /// How much the log holds.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.read(|read| Ok(read.totals()?))
    }

    /// Throws the index for full text away and builds it anew. Gives how many entries it has seen.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rebuild_text(&self) -> Result<u64, StoreError> {
        self.text()?.clear()?;
        self.update_text()
    }

    /// Whether nothing that was erased is in the store's files, those of the index for full text among them. What lies
    /// in the files of a database's server is not known here.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn is_scrubbed(&self) -> Result<bool, StoreError> {
        let text = (self.0.text)(false)?.map_or(Ok(true), |mut text| text.is_scrubbed())?;
        Ok(text && self.read(|read| Ok(read.is_scrubbed()?))?)
    }

    /// Brings the index for full text up to the newest entry. Gives how many entries it has seen.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn update_text(&self) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        while step(index.as_mut(), &self.0.readers, STEP)?.is_some() {}
        index.scrub()?;
        Ok(index.position()?)
    }

    /// Brings the index for full text nearer to the newest entry, by at most so many steps of 256 entries. Gives how many
    /// entries it has seen. For whoever cannot wait for all of it, in a process that fills it anyway.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn advance_text(&self, steps: usize) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        for _ in 0..steps {
            if step(index.as_mut(), &self.0.readers, STEP)?.is_none() {
                break;
            }
        }
        Ok(index.position()?)
    }

    /// How many entries the index for full text has seen; `None` when there is no index.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
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
