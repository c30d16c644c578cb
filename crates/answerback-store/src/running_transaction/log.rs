//! Appends entries and looks up existing ones.

use std::borrow::Cow;

use answerback::Timestamp;
use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, Hash, Leaf, LeafId, LeafKind, LeafToken, Part, Salt};

use super::RunningTransaction;
use crate::effects::{EFFECT, Effects};
use crate::engine::{EntryRow, LinkedEntries, LookupHint};
use crate::transaction::Log;
use crate::{AppendedEntry, LedgerEntry, StoreError};

/// The kinds of entries that answer a request: accepted and rejected responses.
pub(crate) const ANSWERS: &[LeafKind] = &[LeafKind::Response, LeafKind::Rejected];

/// Returns the ids that appending a draft will look up.
pub(crate) fn lookup_hint(draft: &Draft) -> LookupHint {
    if !ANSWERS.contains(&draft.kind()) {
        return LookupHint::default();
    }
    let response = draft.response_id();
    let reply = draft.reply_id().filter(|_| response.is_none());
    LookupHint { request: draft.request_id(), response, reply }
}

/// The name of the part with the clock's reading, if `ts` is ahead of it.
const OBSERVED: &str = "observed_ts";

impl RunningTransaction<'_> {
    /// Appends an entry for the effects that none of the unit's own entries records.
    pub(crate) fn record_effects(&mut self) -> Result<(), StoreError> {
        match self.unit.effects.draft()? {
            Some(draft) => self.append(&draft).map(drop),
            None => Ok(()),
        }
    }

    /// True if the clock is far behind the newest entry of the log.
    pub(crate) const fn is_clock_set_back(&self) -> bool {
        self.is_clock_set_back
    }

    /// Appends an entry with the clock's reading.
    pub(crate) fn append_clock(&mut self) -> Result<AppendedEntry, StoreError> {
        let reading = Timestamp::from_unix_micros(self.now);
        self.push_entry(&Draft::config(Subject::Clock).with_claimed_time(reading), None)
    }

    /// Creates a part with its own salt.
    pub(crate) fn part(&self, name: &str, bytes: Vec<u8>) -> Result<Part, StoreError> {
        let name = LeafToken::new(name).map_err(StoreError::unit)?;
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
        if !self.is_clock_set_back {
            return Ok(draft);
        }
        // A manifest or lock entry has exactly one part, so a separate entry before it records the
        // reading.
        if draft.kind() == LeafKind::Config && !draft.parts().is_empty() {
            self.append_clock()?;
            return Ok(draft);
        }
        let reading = answerback_ledger::leaf::time_of(self.now);
        let part = self.part(OBSERVED, reading.into_bytes())?;
        Ok(Cow::Owned(draft.into_owned().with_part(part)))
    }

    /// Seals a draft and adds it to the entries of the transaction.
    fn push_entry(
        &mut self,
        draft: &Draft,
        request: Option<u64>,
    ) -> Result<AppendedEntry, StoreError> {
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
        Ok(AppendedEntry::new(index, hash, micros, false))
    }

    fn linked(&mut self, request: LeafId) -> Result<LinkedEntries, StoreError> {
        let mut linked = self.read(|engine| engine.linked(request))?;
        for row in self.entries.iter().filter(|row| row.request_id == Some(request)) {
            linked.push(row.leaf.kind(), row.index);
        }
        Ok(linked)
    }

    /// Returns the existing entry of the same response, if there is one.
    fn repeated(&mut self, draft: &Draft) -> Result<Option<AppendedEntry>, StoreError> {
        // A reply id counts only if the draft has no response id.
        let LookupHint { response, reply, .. } = lookup_hint(draft);
        if response.is_none() && reply.is_none() {
            return Ok(None);
        }
        let is_same = |row: &&EntryRow| {
            ANSWERS.contains(&row.leaf.kind())
                && (response.is_some() && row.response_id == response
                    || reply.is_some() && row.reply_id == reply)
        };
        if let Some(row) = self.entries.iter().find(is_same) {
            return Ok(Some(AppendedEntry::new(row.index, row.hash, row.leaf.micros(), true)));
        }
        let Some(index) = self.read(|engine| engine.same(ANSWERS, response, reply))? else {
            return Ok(None);
        };
        let bytes = self.read(|engine| engine.leaf(index))?;
        let bytes = bytes.ok_or_else(|| StoreError::Missing(format!("entry {index}")))?;
        let leaf = Leaf::parse(&bytes)?;
        Ok(Some(AppendedEntry::new(index, Hash::of_leaf(&bytes), leaf.micros(), true)))
    }
}

impl Log for RunningTransaction<'_> {
    fn append(&mut self, draft: &Draft) -> Result<AppendedEntry, StoreError> {
        if let Some(repeated) = self.repeated(draft)? {
            return Ok(repeated);
        }
        let linked = match lookup_hint(draft).request {
            Some(request) => self.linked(request)?,
            None => LinkedEntries::default(),
        };
        if let (LeafKind::Response, Some(request), Some(answer)) =
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

    fn recorded(&mut self, draft: &Draft) -> Result<Option<LedgerEntry>, StoreError> {
        let Some(AppendedEntry { index, leaf_hash: hash, .. }) = self.repeated(draft)? else {
            return Ok(None);
        };
        if let Some(row) = self.entries.iter().find(|row| row.index == index) {
            let (leaf, parts) = (row.leaf.clone(), row.parts.clone());
            return Ok(Some(LedgerEntry { index, leaf, hash, parts }));
        }
        let leaf = self.read(|engine| engine.leaf(index))?.unwrap_or_default();
        let parts = self.read(|engine| engine.parts(index))?;
        Ok(Some(LedgerEntry { index, leaf: Leaf::parse(&leaf)?, hash, parts }))
    }

    fn request_index(&mut self, id: LeafId) -> Result<Option<u64>, StoreError> {
        self.linked(id).map(|linked| linked.request)
    }
}
