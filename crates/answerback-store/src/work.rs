//! A running transaction. Entries and events are held in memory until the end; everything else goes
//! to the engine.

use std::borrow::Cow;
use std::collections::BTreeMap;

use answerback::case::{DecisionSubmission, decide};
use answerback::retry::{RetryKey, RetryState};
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, Hash, Id, Kind, Leaf, Part, Salt, SigningKey, Token};

use crate::blob::BlobRow;
use crate::effect::{Block, EFFECT, Effects};
use crate::engine::{Engine, EngineError, EngineFailure, EngineResult, EntryRow, Foreseen, Linked};
use crate::event::{Event, StreamDigest};
use crate::transaction::{Blobs, Cases, EventLog, Log, NewCase, Notes, RetryStates, Transaction};
use crate::{Appended, CaseRecord, Entry, Head, KeptAttempt, Settings, StoreError};

/// The kinds of entries that answer a request: accepted and rejected responses.
pub(crate) const ANSWERS: &[Kind] = &[Kind::Response, Kind::Rejected];

/// Returns the ids that appending a draft will look up.
pub(crate) fn foreseen(draft: &Draft) -> Foreseen {
    if !ANSWERS.contains(&draft.kind()) {
        return Foreseen::default();
    }
    let response = draft.response_id();
    let reply = draft.reply_id().filter(|_| response.is_none());
    Foreseen { request: draft.request_id(), response, reply }
}

/// The maximum time that the clock may be behind the newest entry before the difference is
/// recorded, in microseconds.
pub(crate) const CLOCK_TOLERANCE: i64 = 5_000_000;

/// The name of the part with the clock's reading, if `ts` is ahead of it.
const OBSERVED: &str = "observed_ts";

pub(crate) struct RunningTransaction<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    settings: &'a Settings,
    size: u64,
    last_ts: i64,
    now: i64,
    /// True if the clock is far behind the newest entry, so that one of the two readings is wrong.
    is_clock_behind: bool,
    event_seq: u64,
    pub(crate) entries: Vec<EntryRow>,
    events: Vec<Event>,
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
pub(crate) struct Gathered {
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) events: Vec<Event>,
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
        head: &Head,
        now: i64,
    ) -> Self {
        Self {
            engine,
            settings,
            size: head.size,
            last_ts: head.last_ts,
            now,
            is_clock_behind: now < head.last_ts.saturating_sub(CLOCK_TOLERANCE),
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

    pub(crate) fn gathered(self) -> Gathered {
        Gathered {
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

    /// Appends an entry for the effects that none of the unit's own entries records.
    pub(crate) fn record_effects(&mut self) -> Result<(), StoreError> {
        match self.unit.effects.draft()? {
            Some(draft) => self.append(&draft).map(drop),
            None => Ok(()),
        }
    }

    /// True if the clock is far behind the newest entry of the log.
    pub(crate) const fn is_clock_behind(&self) -> bool {
        self.is_clock_behind
    }

    /// Appends an entry with the clock's reading.
    pub(crate) fn append_clock(&mut self) -> Result<Appended, StoreError> {
        let reading = Timestamp::from_unix_micros(self.now);
        self.push_entry(&Draft::config(Subject::Clock).with_claimed_time(reading), None)
    }

    /// Creates a part with its own salt.
    pub(crate) fn part(&self, name: &str, bytes: Vec<u8>) -> Result<Part, StoreError> {
        let name = Token::new(name).map_err(StoreError::unit)?;
        Ok(Part::new(name, Salt::new(self.settings.random()?), bytes))
    }

    /// Adds the parts that the store itself records: the effects of the unit, and the clock's
    /// reading if the entry's time is ahead of it.
    fn completed<'d>(&mut self, draft: &'d Draft) -> Result<Cow<'d, Draft>, StoreError> {
        let mut draft = Cow::Borrowed(draft);
        if Effects::fit(draft.kind()) && !self.unit.effects.is_empty() {
            let part = self.part(EFFECT, self.unit.effects.to_bytes()?)?;
            draft = Cow::Owned(draft.into_owned().with_part(part));
        }
        if !self.is_clock_behind {
            return Ok(draft);
        }
        // A manifest or lock entry has exactly one part, so a separate entry before it records the
        // reading.
        if draft.kind() == Kind::Config && !draft.parts().is_empty() {
            self.append_clock()?;
            return Ok(draft);
        }
        let reading = answerback_ledger::leaf::time_of(self.now);
        let part = self.part(OBSERVED, reading.into_bytes())?;
        Ok(Cow::Owned(draft.into_owned().with_part(part)))
    }

    /// Seals a draft and adds it to the entries of the transaction.
    fn push_entry(&mut self, draft: &Draft, request: Option<u64>) -> Result<Appended, StoreError> {
        let micros = self.now.max(self.last_ts.saturating_add(1));
        let leaf = draft.seal(micros, request)?;
        let (index, hash) = (self.size(), leaf.hash());
        self.weight += draft.weight();
        self.last_ts = micros;
        self.entries.push(EntryRow {
            index,
            leaf,
            hash,
            parts: draft.parts().to_vec(),
            request_id: draft.request_id(),
            response_id: draft.response_id(),
            reply_id: draft.reply_id(),
        });
        Ok(Appended::new(index, hash, micros, false))
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

    fn linked(&mut self, request: Id) -> Result<Linked, StoreError> {
        let mut linked = self.read(|engine| engine.linked(request))?;
        for row in self.entries.iter().filter(|row| row.request_id == Some(request)) {
            linked.push(row.leaf.kind(), row.index);
        }
        Ok(linked)
    }

    /// Returns the existing entry of the same response, if there is one.
    fn repeated(&mut self, draft: &Draft) -> Result<Option<Appended>, StoreError> {
        // A reply id counts only if the draft has no response id.
        let Foreseen { response, reply, .. } = foreseen(draft);
        if response.is_none() && reply.is_none() {
            return Ok(None);
        }
        let is_same = |row: &&EntryRow| {
            ANSWERS.contains(&row.leaf.kind())
                && (response.is_some() && row.response_id == response
                    || reply.is_some() && row.reply_id == reply)
        };
        if let Some(row) = self.entries.iter().find(is_same) {
            return Ok(Some(Appended::new(row.index, row.hash, row.leaf.micros(), true)));
        }
        let Some(index) = self.read(|engine| engine.same(ANSWERS, response, reply))? else {
            return Ok(None);
        };
        let bytes = self.read(|engine| engine.leaf(index))?;
        let bytes = bytes.ok_or_else(|| StoreError::Missing(format!("entry {index}")))?;
        let leaf = Leaf::parse(&bytes)?;
        Ok(Some(Appended::new(index, Hash::of_leaf(&bytes), leaf.micros(), true)))
    }
}

impl Log for RunningTransaction<'_> {
    fn append(&mut self, draft: &Draft) -> Result<Appended, StoreError> {
        if let Some(repeated) = self.repeated(draft)? {
            return Ok(repeated);
        }
        let linked = match foreseen(draft).request {
            Some(request) => self.linked(request)?,
            None => Linked::default(),
        };
        if let (Kind::Response, Some(request), Some(answer)) =
            (draft.kind(), linked.request, linked.answer)
        {
            return Err(StoreError::AlreadyAnswered { request, answer });
        }
        let draft = self.completed(draft)?;
        let appended = self.push_entry(&draft, linked.request)?;
        if Effects::fit(draft.kind()) {
            self.unit.effects = Effects::default();
        }
        Ok(appended)
    }

    fn recorded(&mut self, draft: &Draft) -> Result<Option<Entry>, StoreError> {
        let Some(Appended { index, leaf_hash: hash, .. }) = self.repeated(draft)? else {
            return Ok(None);
        };
        if let Some(row) = self.entries.iter().find(|row| row.index == index) {
            let (leaf, parts) = (row.leaf.clone(), row.parts.clone());
            return Ok(Some(Entry { index, leaf, hash, parts }));
        }
        let leaf = self.read(|engine| engine.leaf(index))?.unwrap_or_default();
        let parts = self.read(|engine| engine.parts(index))?;
        Ok(Some(Entry { index, leaf: Leaf::parse(&leaf)?, hash, parts }))
    }

    fn request_index(&mut self, id: Id) -> Result<Option<u64>, StoreError> {
        self.linked(id).map(|linked| linked.request)
    }
}

impl RetryStates for RunningTransaction<'_> {
    fn attempt(&mut self, key: &RetryKey) -> Result<Option<KeptAttempt>, StoreError> {
        let now = self.now();
        let kept = self.read(|engine| engine.attempt(key.as_str(), now))?;
        let block = kept.as_ref().and_then(|kept| Block::of(&kept.state));
        self.unit.last_read = Some((key.clone(), block));
        Ok(kept)
    }

    fn swap_attempt(
        &mut self,
        key: &RetryKey,
        expected: Option<u64>,
        state: Option<&RetryState>,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let before = self.block_before(key, expected)?;
        let first = state.and_then(|state| state.original_call().record.clone());
        let swapped =
            self.write(|engine| engine.swap_attempt(key.as_str(), expected, state, now))?;
        if !swapped {
            return Ok(false);
        }
        if let Some(first) = first {
            self.attempt_from(key, &first)?;
        }
        let after = state.and_then(Block::of);
        if let Some(before) = before.filter(|before| after.as_ref() != Some(before))
            && self.is_case(&before.case)?
        {
            self.unit.effects.note_attempt(&before, key, state);
        }
        self.unit.last_read = Some((key.clone(), after));
        Ok(true)
    }

    fn attempt_from(&mut self, key: &RetryKey, reference: &str) -> Result<(), StoreError> {
        let reference = kept_reference(reference)?;
        self.write(|engine| engine.attempt_from(key.as_str(), reference))
    }

    fn attempt_sources(&mut self, key: &RetryKey) -> Result<Vec<String>, StoreError> {
        self.read(|engine| engine.attempt_sources(key.as_str()))
    }
}

impl RunningTransaction<'_> {
    /// Returns the case that blocks a stored retry state. It reads the state again only if the unit
    /// did not read it last.
    fn block_before(
        &mut self,
        key: &RetryKey,
        expected: Option<u64>,
    ) -> Result<Option<Block>, StoreError> {
        if expected.is_none() {
            return Ok(None);
        }
        match &self.unit.last_read {
            Some((read, block)) if read == key => Ok(block.clone()),
            _ => Ok(self.attempt(key)?.and_then(|kept| Block::of(&kept.state))),
        }
    }

    /// True if the store contains this case. A caller may use retry states without cases.
    fn is_case(&mut self, case: &UuidV7) -> Result<bool, StoreError> {
        Ok(self.unit.effects.has_case(case) || self.case(case)?.is_some())
    }
}

impl Notes for RunningTransaction<'_> {
    fn note(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let now = self.now();
        self.read(|engine| engine.note(&note_key(name), now))
    }

    fn keep_note(
        &mut self,
        name: &str,
        text: &str,
        expires: Timestamp,
        reference: Option<&str>,
    ) -> Result<(), StoreError> {
        let (key, now) = (note_key(kept_reference(name)?), self.now());
        self.write(|engine| engine.keep_note(&key, text, expires, now))?;
        let Some(reference) = reference else { return Ok(()) };
        let reference = kept_reference(reference)?;
        self.write(|engine| engine.attempt_from(&key, reference))
    }
}

/// Returns the key of a note in the table of retry states. Retry keys never start with this prefix.
pub(crate) fn note_key(name: &str) -> String {
    format!("note/{name}")
}

impl Cases for RunningTransaction<'_> {
    fn put_case(&mut self, new: &NewCase) -> Result<CaseRecord, StoreError> {
        let record = CaseRecord {
            case: new.case.clone(),
            created: self.now(),
            content: new.content.clone(),
            private: new.private.clone(),
            reference: new.reference.clone(),
        };
        if self.write(|engine| engine.put_case(&record))? {
            self.unit.effects.note_case(&record.case, &record.content)?;
            if let Some(key) = &new.blocked {
                self.unit.effects.note_block(&record.case, key);
            }
            for source in new.reference.iter().chain(&new.sources) {
                let source = kept_reference(source)?;
                self.write(|engine| engine.case_from(&record.case.id, source, false))?;
            }
            return Ok(record);
        }
        self.case(&record.case.id)?
            .ok_or_else(|| StoreError::Missing(format!("case {}", record.case.id)))
    }

    fn case(&mut self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError> {
        self.read(|engine| engine.case(id))
    }

    fn keep_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> Result<(), StoreError> {
        self.scrub = true;
        self.write(|engine| engine.set_private(id, private))
    }

    fn said_in(&mut self, id: &UuidV7, reference: &str) -> Result<(), StoreError> {
        let reference = kept_reference(reference)?;
        self.write(|engine| engine.case_from(id, reference, true))
    }

    fn decide_case(
        &mut self,
        id: &UuidV7,
        submission: &DecisionSubmission,
    ) -> Result<CaseRecord, StoreError> {
        let kept = self.case(id)?.ok_or_else(|| StoreError::Missing(format!("case {id}")))?;
        let decided = decide(&kept.case, submission, self.now())?;
        if decided != kept.case {
            let swapped = self.write(|engine| engine.swap_case(&decided, kept.case.revision))?;
            if !swapped {
                return Err(StoreError::Damaged(format!("case {id} changed under the lock")));
            }
            self.unit.effects.note_case(&decided, &kept.content)?;
            self.scrub |= kept.private.is_some() && decided.decision().is_some();
        }
        Ok(CaseRecord { case: decided, ..kept })
    }
}

/// Checks that a reference contains no NUL, which not every engine can store in text.
fn kept_reference(reference: &str) -> Result<&str, StoreError> {
    if reference.contains('\0') {
        return Err(StoreError::unit("a reference holds no NUL"));
    }
    Ok(reference)
}

impl EventLog for RunningTransaction<'_> {
    fn append_event(
        &mut self,
        stream: &str,
        kind: &str,
        reference: Option<&str>,
        body: &[u8],
    ) -> Result<u64, StoreError> {
        // Not every engine can store NUL in text.
        if [stream, kind, reference.unwrap_or_default()].iter().any(|text| text.contains('\0')) {
            return Err(StoreError::unit("an event's stream, kind and reference hold no NUL"));
        }
        let mut state = self.touched(stream)?;
        if state.ended {
            return Err(StoreError::unit(format!("the stream {stream:?} has ended")));
        }
        state.push(kind, body);
        Ok(self.push_event(stream, state, kind, reference, body))
    }

    fn end_stream(
        &mut self,
        stream: &str,
        reference: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        let mut state = self.touched(stream)?;
        if state.ended {
            return Ok(None);
        }
        state.ended = true;
        let digest = Hash::from(state.digest).to_string();
        Ok(Some(self.push_event(stream, state, Event::END, reference, digest.as_bytes())))
    }

    fn newest_events(&mut self, stream: &str, limit: usize) -> Result<Vec<Event>, StoreError> {
        let waiting = self.events.iter().rev().filter(|event| event.stream == stream);
        let mut newest: Vec<Event> = waiting.take(limit).cloned().collect();
        let missing = limit - newest.len();
        if missing > 0 {
            newest.extend(self.read(|engine| engine.newest_events(stream, missing))?);
        }
        Ok(newest)
    }
}

impl RunningTransaction<'_> {
    /// Returns the current state of a stream, and saves the old state in case the unit is rolled
    /// back.
    fn touched(&mut self, name: &str) -> Result<StreamDigest, StoreError> {
        let waiting = self.streams.get(name).cloned();
        let state = match &waiting {
            Some(state) => state.clone(),
            None => self.read(|engine| engine.stream(name))?.unwrap_or_else(StreamDigest::new),
        };
        self.unit.streams.push((name.to_owned(), waiting));
        Ok(state)
    }

    fn push_event(
        &mut self,
        stream: &str,
        state: StreamDigest,
        kind: &str,
        reference: Option<&str>,
        body: &[u8],
    ) -> u64 {
        self.streams.insert(stream.to_owned(), state);
        self.event_seq += 1;
        self.weight += body.len() + 128;
        self.events.push(Event::new(
            self.event_seq,
            self.now(),
            stream.to_owned(),
            kind.to_owned(),
            reference.map(str::to_owned),
            Some(body.to_vec()),
        ));
        self.event_seq
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
        let now = if self.is_clock_behind { self.now } else { self.now.max(self.last_ts) };
        Timestamp::from_unix_micros(now)
    }
}
