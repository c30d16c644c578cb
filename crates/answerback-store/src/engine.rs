//! What a database must do: rows in and out, under one transaction. Everything else is shared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use answerback::case::Case;
use answerback::retry::State;
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

/// What a failure of an engine means for the writer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EngineFailure {
    /// Somebody else holds the lock; nothing happened.
    Locked,
    /// The transaction lost against another one and can be run again.
    Conflict,
    /// The connection went before the commit was sent: nothing happened, and it can be run again on another.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a file has no connection"))]
    Lost,
    /// Reading or writing failed: nothing that this connection says can be believed any more.
    Broken,
    /// A row breaks a rule of the tables, ours or somebody else's; nothing of its statement happened.
    Refused,
    /// The rows do not fit together.
    Damaged,
    /// What is there is not for this program: another's, or of a version that it does not know.
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

    /// Tables of a version that this program does not know.
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

/// An entry that is to be written.
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

/// The entries that carry a request's id: the request itself, and its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Linked {
    pub(crate) request: Option<u64>,
    pub(crate) answer: Option<u64>,
}

impl Linked {
    /// Takes the next entry with the id: a request that comes again can be answered again.
    pub(crate) fn push(&mut self, kind: Kind, index: u64) {
        match kind {
            Kind::Request => *self = Self { request: Some(index), answer: None },
            Kind::Response => self.answer = Some(index),
            _ => {}
        }
    }
}

/// What a unit will look for in the log, as far as that is known before it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Foreseen {
    pub(crate) request: Option<Id>,
    pub(crate) response: Option<Id>,
    pub(crate) reply: Option<Id>,
}

/// Hands row after row to what it is given.
pub(crate) type Rows<'a> =
    &'a mut dyn FnMut(&mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>) -> EngineResult<()>;

/// Makes connections of one store.
pub(crate) trait Opener: Send + Sync {
    /// A connection that writes, with the tables in place.
    fn writer(&self) -> EngineResult<Box<dyn Engine>>;
    /// A connection that only reads.
    fn reader(&self) -> EngineResult<Box<dyn EngineRead>>;
    /// Runs what uses a connection that only reads, or lets go of one, wherever the caller is.
    fn aside(&self, act: &mut dyn FnMut()) {
        act();
    }
}

/// What is read. Between `begin_read` and `end_read` it is one moment of the store.
pub(crate) trait EngineRead: Send {
    fn begin_read(&mut self) -> EngineResult<()>;
    fn end_read(&mut self) -> EngineResult<()>;

    /// A setting of the log: format, origin, vkey, signer. `None` also when there is no log yet.
    fn meta(&mut self, key: &str) -> EngineResult<Option<String>>;
    fn head(&mut self) -> EngineResult<Option<Head>>;
    /// `count` hashes of a tile level, within one tile.
    fn hashes(&mut self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>>;
    /// The stored hashes of these leaves.
    fn leaf_hashes(&mut self, indexes: Range<u64>) -> EngineResult<Vec<Hash>>;
    /// The bytes of a leaf.
    fn leaf(&mut self, index: u64) -> EngineResult<Option<Vec<u8>>>;
    fn time_at(&mut self, index: u64) -> EngineResult<Option<i64>>;
    fn parts(&mut self, index: u64) -> EngineResult<Vec<Part>>;
    /// The beginnings of entries' parts, at most so many bytes of each, by entry and in the order of the leaf.
    fn contents(&mut self, within: Range<u64>, longest: usize)
    -> EngineResult<Vec<(u64, Vec<u8>)>>;
    /// Leaves within the range that are as the filter says, times and text aside.
    fn leaves(
        &mut self,
        filter: &Filter,
        within: Range<u64>,
        limit: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>>;
    /// The checkpoints of larger trees than this, smallest first.
    fn checkpoints(&mut self, above: u64, limit: usize) -> EngineResult<Vec<String>>;
    fn newest_checkpoint(&mut self) -> EngineResult<Option<String>>;
    /// What witnesses signed under checkpoints of these sizes: size and signature line, by size.
    fn cosignatures(&mut self, sizes: RangeInclusive<u64>) -> EngineResult<Vec<(u64, String)>>;
    /// Each witness, with the largest size it signed.
    fn witnessed(&mut self) -> EngineResult<Vec<(String, u64)>>;
    fn totals(&mut self) -> EngineResult<Totals>;

    fn linked(&mut self, request: Id) -> EngineResult<Linked>;
    /// The first entry of one of the kinds with this response id, or this reply id.
    fn same(
        &mut self,
        kinds: &[Kind],
        response: Option<Id>,
        reply: Option<Id>,
    ) -> EngineResult<Option<u64>>;

    fn attempt(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<KeptAttempt>>;
    /// What is kept under a key in the place of a retry state.
    fn note(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<String>>;
    /// What the text of a retry state comes from.
    fn attempt_sources(&mut self, key: &str) -> EngineResult<Vec<String>>;
    fn case(&mut self, id: &UuidV7) -> EngineResult<Option<CaseRecord>>;
    fn cases(
        &mut self,
        filter: &CaseFilter,
        after: Option<&UuidV7>,
        now: Timestamp,
        limit: usize,
    ) -> EngineResult<Vec<CaseRecord>>;
    /// Events after this one that are kept, of one stream or all.
    fn events(
        &mut self,
        after: u64,
        stream: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<Event>>;
    /// The first event from which on all are kept.
    fn event_minimum(&mut self) -> EngineResult<u64>;
    fn stream(&mut self, name: &str) -> EngineResult<Option<StreamDigest>>;
    /// Streams that have events, the one with the newest event first.
    fn streams(&mut self, filter: StreamFilter<'_>, limit: usize) -> EngineResult<Vec<StreamInfo>>;
    /// The names of streams that begin so, from behind, and below a name.
    fn stream_names(
        &mut self,
        beginning: &str,
        below: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<String>>;
    /// The newest events of a stream that are kept, newest first.
    fn newest_events(&mut self, stream: &str, limit: usize) -> EngineResult<Vec<Event>>;
    fn blob(&mut self, digest: &Digest) -> EngineResult<Option<Vec<u8>>>;
    /// Whether no file of the store holds what was erased.
    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
}

/// What is written. Between `begin` and `commit` the engine holds the lock on the head.
pub(crate) trait Engine: EngineRead {
    /// Takes the lock and reads the head under it. `None`: there is no log yet.
    fn begin(&mut self) -> EngineResult<Option<Head>>;
    /// The engine's own clock as it was under the lock, where it has one that all its writers share.
    fn now(&self) -> Option<i64> {
        None
    }
    /// What the units of the transaction will look for with [`EngineRead::linked`] and [`EngineRead::same`], all at once:
    /// for an engine that is a way off.
    fn foresee(&mut self, _kinds: &[Kind], _foreseen: &[Foreseen]) -> EngineResult<()> {
        Ok(())
    }
    /// Where the log was moved to, as it was when the head was read under the lock.
    fn moved(&mut self) -> EngineResult<Option<String>>;
    /// What an operator should know about how durable this engine is.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    fn initialise(&mut self, origin: &str, signer: &str) -> EngineResult<()>;
    fn savepoint(&mut self) -> EngineResult<()>;
    fn release(&mut self) -> EngineResult<()>;
    fn rollback_to_savepoint(&mut self) -> EngineResult<()>;
    /// Durable when it returns.
    fn commit(&mut self) -> EngineResult<()>;
    fn rollback(&mut self);
    /// Notes, in the transaction that erases, that the files of the store have to be scrubbed: whoever writes to it
    /// sees to that, when this process is gone, too.
    fn want_scrub(&mut self) -> EngineResult<()> {
        Ok(())
    }
    /// After content was erased and committed: makes sure that no file of the store holds it, and waits for nobody.
    /// `false` when somebody still reads the old state and it has to be tried again.
    fn scrub(&mut self) -> EngineResult<bool>;

    fn append_entries(&mut self, rows: &[EntryRow]) -> EngineResult<()>;
    fn append_tiles(&mut self, tiles: &[Tile]) -> EngineResult<()>;
    /// Keeps a checkpoint for good, unless it is kept already.
    fn keep_checkpoint(&mut self, size: u64, note: &str) -> EngineResult<()>;
    /// Writes the head, with the newest checkpoint where it is a new one.
    fn save_head(&mut self, head: &Head, note: Option<&str>) -> EngineResult<()>;
    /// Keeps a witness's signature line with the kept checkpoint of this size, unless it is there.
    #[cfg_attr(not(feature = "witness"), expect(dead_code, reason = "only witnesses sign so"))]
    fn put_cosignature(&mut self, size: u64, signer: &str, line: &str) -> EngineResult<()>;

    /// All rows of a table as they are.
    fn dump(
        &mut self,
        table: &SqlTable,
        _each: &mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>,
    ) -> EngineResult<()> {
        Err(EngineError::unmoving(table, "from"))
    }
    /// Takes rows that another engine dumped; `rows` hands each of them over. Says how many.
    fn load(&mut self, table: &SqlTable, _rows: Rows<'_>) -> EngineResult<u64> {
        Err(EngineError::unmoving(table, "to"))
    }
    /// Says in the store that the log goes on elsewhere.
    fn mark_moved(&mut self, to: &str) -> EngineResult<()> {
        Err(EngineError::damaged(format!("this kind of store cannot be moved to {to}")))
    }

    /// Swaps the state when the stored revision is the expected one (`None`: there is none).
    fn swap_attempt(
        &mut self,
        key: &str,
        expected: Option<u64>,
        state: Option<&State>,
        now: Timestamp,
    ) -> EngineResult<bool>;
    /// Keeps a text under a key in the place of a retry state, and forgets what the one before came from.
    fn keep_note(
        &mut self,
        key: &str,
        text: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> EngineResult<()>;
    /// Notes what the text of a retry state comes from, where there is one.
    fn attempt_from(&mut self, key: &str, reference: &str) -> EngineResult<()>;
    /// Drops what lapsed, and beyond the cap what lapses soonest, blocked ones never. Says how many.
    fn sweep_attempts(&mut self, now: Timestamp, most: u64) -> EngineResult<u64>;
    fn put_case(&mut self, record: &CaseRecord) -> EngineResult<bool>;
    /// Swaps the case when the stored revision is the expected one.
    fn swap_case(&mut self, case: &Case, expected: u64) -> EngineResult<bool>;
    /// Notes what a case's text comes from: what people said of it, or else what they are shown.
    fn case_from(&mut self, id: &UuidV7, reference: &str, said: bool) -> EngineResult<()>;
    fn set_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> EngineResult<()>;
    /// Forgets what was private to cases whose time is over.
    fn sweep_cases(&mut self, now: Timestamp) -> EngineResult<u64>;
    fn append_events(&mut self, events: &[Event]) -> EngineResult<()>;
    fn save_stream(&mut self, name: &str, stream: &StreamDigest) -> EngineResult<()>;
    /// Removes events from one on and below another, but those of our own streams, and notes from where on they are
    /// whole.
    fn prune_events(&mut self, within: Range<u64>) -> EngineResult<u64>;
    fn put_blob(&mut self, blob: &BlobRow<'_>) -> EngineResult<()>;

    fn erase_part(&mut self, index: u64, name: &str) -> EngineResult<bool>;
    /// Erases the content of events and blobs that belong to this, and of cases and retry states that come from it.
    fn erase_references(&mut self, reference: &str) -> EngineResult<()>;
    /// Removes entries and parts below this index; tiles and checkpoints stay. Says how many entries.
    fn prune_entries(&mut self, below: u64) -> EngineResult<u64>;
}

/// Hashes that were read with their places, up to the first that is missing: what lies behind a gap would stand in
/// another's place.
pub(crate) fn without_gap(rows: Vec<(i64, Hash)>, from: u64) -> Vec<Hash> {
    let is_next = |(place, (found, _)): &(u64, (i64, Hash))| u64::try_from(*found) == Ok(*place);
    (from..).zip(rows).take_while(is_next).map(|(_, (_, hash))| hash).collect()
}

/// A kind of hash reader over whatever reads: the tree asks through a shared reference. A proof asks for several
/// pieces of one tile, so a tile is read once.
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
