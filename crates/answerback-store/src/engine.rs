//! The interface to a database: it reads and writes rows in one transaction. All other code is
//! shared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::tile::{Tile, WIDTH};
use answerback_ledger::{Hash, Id, Kind, Leaf, Part};

use crate::blob::BlobRow;
use crate::event::StreamDigest;
use crate::table::{SqlCell, SqlTable};
use crate::{
    CaseFilter, CaseRecord, Event, Filter, Head, KeptAttempt, StoreError, StreamFilter, StreamInfo,
    Totals,
};

/// Classifies a failure of an engine by its consequence for the writer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EngineFailure {
    /// Another connection holds the lock. Nothing was written.
    Locked,
    /// The transaction conflicts with another one and can be run again.
    Conflict,
    /// The connection was lost before the commit was sent. Nothing was written, and the transaction
    /// can run again on a new connection.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no connection"))]
    Lost,
    /// Reading or writing failed. The connection cannot be trusted any more.
    Broken,
    /// A row violates a constraint of the tables. The statement had no effect.
    Refused,
    /// The stored rows are inconsistent.
    Damaged,
    /// The tables are of another program or of an unknown version.
    Unfit,
}

#[derive(Clone, Debug)]
pub(crate) struct EngineError {
    pub(crate) failure: EngineFailure,
    pub(crate) source: Arc<dyn Error + Send + Sync>,
}

pub(crate) type EngineResult<T> = Result<T, EngineError>;

impl EngineError {
    pub(crate) fn new(
        failure: EngineFailure,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { failure, source: Arc::from(source.into()) }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::new(EngineFailure::Damaged, what.into())
    }

    /// Creates the error for tables of an unknown version.
    pub(crate) fn of_version(found: &str, known: i64) -> Self {
        let remedy = match found.parse::<i64>() {
            Ok(found) if found > known => "it needs a newer program",
            _ => "only the program that wrote it reads it",
        };
        Self::new(
            EngineFailure::Unfit,
            format!(
                "the store has tables of version {found}, and this program knows {known}: {remedy}"
            ),
        )
    }

    fn unmoving(table: &SqlTable, way: &str) -> Self {
        let table = table.name;
        Self::new(
            EngineFailure::Broken,
            format!("{table} cannot be moved {way} this kind of store"),
        )
    }
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error.failure {
            EngineFailure::Locked | EngineFailure::Conflict => Self::Locked,
            EngineFailure::Lost | EngineFailure::Broken => Self::Engine(error.source),
            EngineFailure::Refused => Self::Refused(error.source),
            EngineFailure::Damaged => Self::Damaged(error.source.to_string()),
            EngineFailure::Unfit => Self::Unfit(error.source.to_string()),
        }
    }
}

/// An entry to be written.
#[derive(Clone, Debug)]
pub(crate) struct EntryRow {
    pub(crate) index: u64,
    pub(crate) leaf: Leaf,
    pub(crate) hash: Hash,
    pub(crate) parts: Vec<Part>,
    pub(crate) request_id: Option<Id>,
    pub(crate) response_id: Option<Id>,
    pub(crate) reply_id: Option<Id>,
}

/// The entries with the same request id: the request and its response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Linked {
    pub(crate) request: Option<u64>,
    pub(crate) answer: Option<u64>,
}

impl Linked {
    /// Adds the next entry with the id. A repeated request can be answered again.
    pub(crate) fn push(&mut self, kind: Kind, index: u64) {
        match kind {
            Kind::Request => *self = Self { request: Some(index), answer: None },
            Kind::Response => self.answer = Some(index),
            _ => {}
        }
    }
}

/// Holds the ids that a unit will look up in the log, as far as they are known before it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Foreseen {
    pub(crate) request: Option<Id>,
    pub(crate) response: Option<Id>,
    pub(crate) reply: Option<Id>,
}

/// A source of rows: it calls the given function with one row after another.
pub(crate) type Rows<'a> =
    &'a mut dyn FnMut(&mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>) -> EngineResult<()>;

/// Opens connections to one store.
pub(crate) trait Opener: Send + Sync {
    /// Opens a connection for writing, and creates the tables if necessary.
    fn writer(&self) -> EngineResult<Box<dyn Engine>>;
    /// Opens a connection for reading.
    fn reader(&self) -> EngineResult<Box<dyn EngineRead>>;
    /// Runs code that uses or drops a reading connection, on a thread where the driver may block.
    fn aside(&self, act: &mut dyn FnMut()) {
        act();
    }
}

/// Reads from a store. All reads between `begin_read` and `end_read` see the same state.
pub(crate) trait EngineRead: Send {
    fn begin_read(&mut self) -> EngineResult<()>;
    fn end_read(&mut self) -> EngineResult<()>;

    /// Returns a setting of the log: format, origin, vkey or signer. Returns `None` also if there
    /// is no log yet.
    fn meta(&mut self, key: &str) -> EngineResult<Option<String>>;
    fn head(&mut self) -> EngineResult<Option<Head>>;
    /// Returns `count` hashes of a tile level, within one tile.
    fn hashes(&mut self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>>;
    /// Returns the stored hashes of these leaves.
    fn leaf_hashes(&mut self, indexes: Range<u64>) -> EngineResult<Vec<Hash>>;
    /// Returns the bytes of a leaf.
    fn leaf(&mut self, index: u64) -> EngineResult<Option<Vec<u8>>>;
    fn time_at(&mut self, index: u64) -> EngineResult<Option<i64>>;
    fn parts(&mut self, index: u64) -> EngineResult<Vec<Part>>;
    /// Returns the first `longest` bytes of each part, with the index of its entry. Sorts by entry,
    /// then by the order in the leaf.
    fn contents(&mut self, within: Range<u64>, longest: usize)
    -> EngineResult<Vec<(u64, Vec<u8>)>>;
    /// Returns the leaves in the range that match the filter. It ignores the filter's times and
    /// text.
    fn leaves(
        &mut self,
        filter: &Filter,
        within: Range<u64>,
        limit: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>>;
    /// Returns the checkpoints of trees larger than this, smallest first.
    fn checkpoints(&mut self, above: u64, limit: usize) -> EngineResult<Vec<String>>;
    fn newest_checkpoint(&mut self) -> EngineResult<Option<String>>;
    /// Returns the cosignatures of checkpoints of these sizes, as size and signature line, ordered
    /// by size.
    fn cosignatures(&mut self, sizes: RangeInclusive<u64>) -> EngineResult<Vec<(u64, String)>>;
    /// Returns each witness with the largest size that it cosigned.
    fn witnessed(&mut self) -> EngineResult<Vec<(String, u64)>>;
    fn totals(&mut self) -> EngineResult<Totals>;

    fn linked(&mut self, request: Id) -> EngineResult<Linked>;
    /// Returns the first entry of one of these kinds that has this response id, or without one this
    /// reply id.
    fn same(
        &mut self,
        kinds: &[Kind],
        response: Option<Id>,
        reply: Option<Id>,
    ) -> EngineResult<Option<u64>>;

    fn attempt(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<KeptAttempt>>;
    /// Returns the note that is stored under a retry key in place of a retry state.
    fn note(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<String>>;
    /// Returns the references to the entries from which the text of a retry state comes.
    fn attempt_sources(&mut self, key: &str) -> EngineResult<Vec<String>>;
    fn case(&mut self, id: &UuidV7) -> EngineResult<Option<CaseRecord>>;
    fn cases(
        &mut self,
        filter: &CaseFilter,
        after: Option<&UuidV7>,
        now: Timestamp,
        limit: usize,
    ) -> EngineResult<Vec<CaseRecord>>;
    /// Returns stored events after this one, of one stream or of all streams.
    fn events(
        &mut self,
        after: u64,
        stream: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<Event>>;
    /// Returns the first sequence number from which all events are stored.
    fn event_minimum(&mut self) -> EngineResult<u64>;
    fn stream(&mut self, name: &str) -> EngineResult<Option<StreamDigest>>;
    /// Returns streams that have stored events, with the most recently active stream first.
    fn streams(&mut self, filter: StreamFilter<'_>, limit: usize) -> EngineResult<Vec<StreamInfo>>;
    /// Returns the names of streams with this prefix that sort before `below`, in descending order.
    fn stream_names(
        &mut self,
        beginning: &str,
        below: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<String>>;
    /// Returns the newest stored events of a stream, newest first.
    fn newest_events(&mut self, stream: &str, limit: usize) -> EngineResult<Vec<Event>>;
    fn blob(&mut self, digest: &Digest) -> EngineResult<Option<Vec<u8>>>;
    /// True if no file of the store still contains erased content.
    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
}

/// Writes to a store. Between `begin` and `commit` the engine holds the lock on the head.
pub(crate) trait Engine: EngineRead {
    /// Takes the lock and reads the head. Returns `None` if there is no log yet.
    fn begin(&mut self) -> EngineResult<Option<Head>>;
    /// Returns the engine's clock as read under the lock, if all its writers share one clock.
    fn now(&self) -> Option<i64> {
        None
    }
    /// Looks up the results of [`EngineRead::linked`] and [`EngineRead::same`] for all units of the
    /// transaction at once. A remote engine saves round trips this way.
    fn foresee(&mut self, _kinds: &[Kind], _foreseen: &[Foreseen]) -> EngineResult<()> {
        Ok(())
    }
    /// Returns the store that the log was moved to, as read with the head under the lock.
    fn moved(&mut self) -> EngineResult<Option<String>>;
    /// Returns warnings for the operator about the durability of this engine.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    fn initialise(&mut self, origin: &str, signer: &str) -> EngineResult<()>;
    fn savepoint(&mut self) -> EngineResult<()>;
    fn release(&mut self) -> EngineResult<()>;
    fn rollback_to_savepoint(&mut self) -> EngineResult<()>;
    /// Commits the transaction. The data is durable when the call returns.
    fn commit(&mut self) -> EngineResult<()>;
    fn rollback(&mut self);
    /// Records in the erasing transaction that the files must be scrubbed. If this process ends,
    /// the next writer does it.
    fn want_scrub(&mut self) -> EngineResult<()> {
        Ok(())
    }
    /// Makes sure that no file of the store contains erased content, after the erasure was
    /// committed. It does not wait for readers. It returns `false` if a reader still sees the old
    /// state, and must be called again later.
    fn scrub(&mut self) -> EngineResult<bool>;

    fn append_entries(&mut self, rows: &[EntryRow]) -> EngineResult<()>;
    fn append_tiles(&mut self, tiles: &[Tile]) -> EngineResult<()>;
    /// Stores a checkpoint permanently, unless it is already stored.
    fn keep_checkpoint(&mut self, size: u64, note: &str) -> EngineResult<()>;
    /// Writes the head, together with the newest checkpoint if there is a new one.
    fn save_head(&mut self, head: &Head, note: Option<&str>) -> EngineResult<()>;
    /// Stores a witness's signature line for the stored checkpoint of this size, unless it is
    /// already there.
    #[cfg_attr(not(feature = "witness"), expect(dead_code, reason = "only witnesses need it"))]
    fn put_cosignature(&mut self, size: u64, signer: &str, line: &str) -> EngineResult<()>;

    /// Reads all rows of a table without conversion.
    fn dump(
        &mut self,
        table: &SqlTable,
        _each: &mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>,
    ) -> EngineResult<()> {
        Err(EngineError::unmoving(table, "from"))
    }
    /// Writes rows that another engine dumped and returns their number. `rows` supplies the rows.
    fn load(&mut self, table: &SqlTable, _rows: Rows<'_>) -> EngineResult<u64> {
        Err(EngineError::unmoving(table, "to"))
    }
    /// Marks the store as moved: the log continues in another store.
    fn mark_moved(&mut self, to: &str) -> EngineResult<()> {
        Err(EngineError::damaged(format!("this kind of store cannot be moved to {to}")))
    }

    /// Swaps the retry state if the stored revision equals `expected` (`None`: no state exists).
    fn swap_attempt(
        &mut self,
        key: &str,
        expected: Option<u64>,
        state: Option<&RetryState>,
        now: Timestamp,
    ) -> EngineResult<bool>;
    /// Stores a note under a retry key in place of a retry state, and removes the references of the
    /// previous value.
    fn keep_note(
        &mut self,
        key: &str,
        text: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> EngineResult<()>;
    /// Records the reference from which the text of a retry state comes, if the state exists.
    fn attempt_from(&mut self, key: &str, reference: &str) -> EngineResult<()>;
    /// Removes expired states, then those that expire soonest until the cap is met. The cap never
    /// removes blocked states. Returns the number of removed states.
    fn sweep_attempts(&mut self, now: Timestamp, most: u64) -> EngineResult<u64>;
    fn put_case(&mut self, record: &CaseRecord) -> EngineResult<bool>;
    /// Swaps the case if the stored revision equals `expected`.
    fn swap_case(&mut self, case: &Case, expected: u64) -> EngineResult<bool>;
    /// Records the reference from which a case's text comes. `said` marks the words of people;
    /// otherwise it is the content shown to them.
    fn case_from(&mut self, id: &UuidV7, reference: &str, said: bool) -> EngineResult<()>;
    fn set_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> EngineResult<()>;
    /// Removes the private data of expired cases.
    fn sweep_cases(&mut self, now: Timestamp) -> EngineResult<u64>;
    fn append_events(&mut self, events: &[Event]) -> EngineResult<()>;
    fn save_stream(&mut self, name: &str, stream: &StreamDigest) -> EngineResult<()>;
    /// Removes the events in this range, except those of our own streams. It also records the first
    /// sequence number from which all events are stored.
    fn prune_events(&mut self, within: Range<u64>) -> EngineResult<u64>;
    fn put_blob(&mut self, blob: &BlobRow<'_>) -> EngineResult<()>;

    fn erase_part(&mut self, index: u64, name: &str) -> EngineResult<bool>;
    /// Erases the content of events and blobs with this reference, and of cases and retry states
    /// that come from it.
    fn erase_references(&mut self, reference: &str) -> EngineResult<()>;
    /// Removes entries and parts below this index and returns the number of removed entries. Tiles
    /// and checkpoints stay.
    fn prune_entries(&mut self, below: u64) -> EngineResult<u64>;
}

/// Returns the hashes up to the first missing index. A hash after a gap would take another one's
/// position.
pub(crate) fn without_gap(rows: Vec<(i64, Hash)>, from: u64) -> Vec<Hash> {
    let is_next = |(place, (found, _)): &(u64, (i64, Hash))| u64::try_from(*found) == Ok(*place);
    (from..).zip(rows).take_while(is_next).map(|(_, (_, hash))| hash).collect()
}

/// Reads hashes of the tree from a store connection. The tree requires a shared reference, hence
/// the `RefCell`. It caches whole tiles, because a proof needs several ranges of the same tile.
pub(crate) struct Hashes<'a> {
    read: RefCell<&'a mut dyn EngineRead>,
    tiles: RefCell<HashMap<(u8, u64), Vec<Hash>>>,
}

impl<'a> Hashes<'a> {
    pub(crate) fn of(read: &'a mut dyn EngineRead) -> Self {
        Self { read: RefCell::new(read), tiles: RefCell::default() }
    }
}

impl answerback_ledger::tree::HashReader for Hashes<'_> {
    type Error = EngineError;

    fn hashes(&self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>> {
        let (tile, place) = (from / WIDTH, usize::try_from(from % WIDTH).unwrap_or(usize::MAX));
        let mut tiles = self.tiles.borrow_mut();
        let hashes = match tiles.entry((level, tile)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let read = self.read.borrow_mut().hashes(level, tile * WIDTH, WIDTH)?;
                unknown.insert(read)
            }
        };
        let end = place.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        if let Some(piece) = hashes.get(place..end) {
            return Ok(piece.to_vec());
        }
        Err(EngineError::damaged(format!(
            "hashes {from} to {} of level {level} are missing",
            from + count
        )))
    }
}
