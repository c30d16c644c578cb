//! A running transaction. Entries and events are held in memory until the end; everything else goes
//! to the engine.

mod cases;
mod events;
mod log;
mod retry_states;

use std::collections::BTreeMap;

use answerback::retry::RetryKey;
use answerback::{Digest, Timestamp};
use answerback_ledger::SigningKey;

use crate::effects::{Block, Effects};
use crate::engine::{BlobRow, Engine, EngineError, EngineFailure, EngineResult, EntryRow};
use crate::event::{StoredEvent, StreamDigest};
use crate::transaction::{Blobs, Transaction};
use crate::{LogHead, Settings, StoreError};
pub(crate) use log::{ANSWERS, lookup_hint};
pub(crate) use retry_states::note_key;

/// The maximum time that the clock may be behind the newest entry before the difference is
/// recorded, in microseconds.
pub(crate) const CLOCK_TOLERANCE: i64 = 5_000_000;

pub(crate) struct RunningTransaction<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    settings: &'a Settings,
    size: u64,
    last_ts: i64,
    now: i64,
    /// True if the clock is far behind the newest entry, so that one of the two readings is wrong.
    is_clock_set_back: bool,
    event_seq: u64,
    pub(crate) entries: Vec<EntryRow>,
    events: Vec<StoredEvent>,
    /// The streams that this transaction changed, with their new states.
    streams: BTreeMap<String, StreamDigest>,
    /// The size of the data held in memory, in bytes.
    pub(crate) weight: usize,
    is_dirty: bool,
    /// True if the files must be scrubbed after the commit.
    pub(crate) scrub: bool,
    pub(crate) minimum: u64,
    pub(crate) next_key: Option<SigningKey>,
    /// A failure of the engine. It fails the whole batch, even if a unit ignores it.
    pub(crate) broken: Option<EngineError>,
    unit: Unit,
}

/// The rows of all units, to be written together.
pub(crate) struct BatchRows {
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) events: Vec<StoredEvent>,
    pub(crate) streams: BTreeMap<String, StreamDigest>,
    /// True if the engine has already written other rows.
    pub(crate) is_dirty: bool,
    pub(crate) scrub: bool,
    pub(crate) next_key: Option<SigningKey>,
    pub(crate) last_ts: i64,
    pub(crate) event_seq: u64,
    pub(crate) minimum: u64,
}

/// The state to restore if the running unit fails.
#[derive(Default)]
struct Unit {
    has_savepoint: bool,
    entries: usize,
    events: usize,
    weight: usize,
    last_ts: i64,
    event_seq: u64,
    minimum: u64,
    streams: Vec<(String, Option<StreamDigest>)>,
    effects: Effects,
    /// The retry state that was read last, with the case that blocks it.
    last_read: Option<(RetryKey, Option<Block>)>,
}

impl<'a> RunningTransaction<'a> {
    pub(crate) fn new(
        engine: &'a mut dyn Engine,
        settings: &'a Settings,
        head: &LogHead,
        now: i64,
    ) -> Self {
        Self {
            engine,
            settings,
            size: head.size,
            last_ts: head.last_ts,
            now,
            is_clock_set_back: now < head.last_ts.saturating_sub(CLOCK_TOLERANCE),
            event_seq: head.event_seq,
            entries: Vec::new(),
            events: Vec::new(),
            streams: BTreeMap::new(),
            weight: 0,
            is_dirty: false,
            scrub: false,
            minimum: head.minimum,
            next_key: None,
            broken: None,
            unit: Unit::default(),
        }
    }

    pub(crate) fn rows(self) -> BatchRows {
        BatchRows {
            entries: self.entries,
            events: self.events,
            streams: self.streams,
            is_dirty: self.is_dirty,
            scrub: self.scrub,
            next_key: self.next_key,
            last_ts: self.last_ts,
            event_seq: self.event_seq,
            minimum: self.minimum,
        }
    }

    pub(crate) const fn event_seq(&self) -> u64 {
        self.event_seq
    }

    /// Returns the number of entries in the log, including those of this transaction.
    pub(crate) fn size(&self) -> u64 {
        self.size + self.entries.len() as u64
    }

    pub(crate) fn begin_unit(&mut self) {
        self.unit = Unit {
            has_savepoint: false,
            entries: self.entries.len(),
            events: self.events.len(),
            weight: self.weight,
            last_ts: self.last_ts,
            event_seq: self.event_seq,
            minimum: self.minimum,
            ..Unit::default()
        };
    }

    /// Confirms the changes of the unit, or rolls them back.
    pub(crate) fn end_unit(&mut self, keep: bool) -> EngineResult<()> {
        let unit = std::mem::take(&mut self.unit);
        if keep {
            return if unit.has_savepoint { self.engine.release() } else { Ok(()) };
        }
        self.entries.truncate(unit.entries);
        self.events.truncate(unit.events);
        (self.weight, self.last_ts) = (unit.weight, unit.last_ts);
        (self.event_seq, self.minimum) = (unit.event_seq, unit.minimum);
        for (name, stream) in unit.streams.into_iter().rev() {
            match stream {
                Some(stream) => self.streams.insert(name, stream),
                None => self.streams.remove(&name),
            };
        }
        if unit.has_savepoint { self.engine.rollback_to_savepoint() } else { Ok(()) }
    }

    /// Writes through the engine, with a savepoint so that the unit can be rolled back.
    pub(crate) fn write<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Engine) -> EngineResult<T>,
    ) -> Result<T, StoreError> {
        if !self.unit.has_savepoint {
            let begun = self.engine.savepoint();
            self.note(begun)?;
            self.unit.has_savepoint = true;
        }
        self.is_dirty = true;
        let done = act(self.engine);
        self.note(done)
    }

    pub(crate) fn read<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Engine) -> EngineResult<T>,
    ) -> Result<T, StoreError> {
        let done = act(self.engine);
        self.note(done)
    }

    /// Records a failure that invalidates the whole batch.
    fn note<T>(&mut self, outcome: EngineResult<T>) -> Result<T, StoreError> {
        outcome.map_err(|error| {
            if !matches!(error.failure, EngineFailure::Damaged | EngineFailure::Refused) {
                self.broken.get_or_insert(error.clone());
            }
            error.into()
        })
    }
}

impl Blobs for RunningTransaction<'_> {
    fn put_blob(&mut self, bytes: &[u8], reference: Option<&str>) -> Result<Digest, StoreError> {
        let most = self.settings.largest_blob;
        if bytes.len() > most {
            return Err(StoreError::TooLarge { what: "the blob", size: bytes.len(), most });
        }
        let digest = Digest::of_bytes(bytes);
        let row = BlobRow { digest: *digest.as_bytes(), bytes, reference, micros: self.now };
        self.weight += bytes.len();
        self.write(|engine| engine.put_blob(&row))?;
        Ok(digest)
    }

    fn blob(&mut self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|engine| engine.blob(digest))
    }
}

impl Transaction for RunningTransaction<'_> {
    fn now(&self) -> Timestamp {
        // Entries of one transaction are a microsecond apart, so the newest may be slightly ahead
        // of the clock; use its time then. If the clock is far behind, use the clock: a timeout of
        // 15 minutes must not wait until it catches up.
        let now = if self.is_clock_set_back { self.now } else { self.now.max(self.last_ts) };
        Timestamp::from_unix_micros(now)
    }
}

/// Checks that a reference contains no NUL, which not every engine can store in text.
fn checked_reference(reference: &str) -> Result<&str, StoreError> {
    if reference.contains('\0') {
        return Err(StoreError::unit("a reference holds no NUL"));
    }
    Ok(reference)
}
