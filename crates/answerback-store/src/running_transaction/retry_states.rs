//! Stores retry states and notes, which share a table.

use answerback::retry::{RetryKey, RetryState};
use answerback::{Timestamp, UuidV7};

use super::{RunningTransaction, checked_reference};
use crate::effects::Block;
use crate::transaction::{Cases, Notes, RetryStates, Transaction};
use crate::{StoreError, StoredRetryState};

impl RetryStates for RunningTransaction<'_> {
    fn retry_state(&mut self, key: &RetryKey) -> Result<Option<StoredRetryState>, StoreError> {
        let now = self.now();
        let stored = self.read(|engine| engine.retry_state(key.as_str(), now))?;
        let block = stored.as_ref().and_then(|stored| Block::of(&stored.state));
        self.unit.last_read = Some((key.clone(), block));
        Ok(stored)
    }

    fn replace_retry_state(
        &mut self,
        key: &RetryKey,
        expected: Option<u64>,
        state: Option<&RetryState>,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let before = self.block_before(key, expected)?;
        let first = state.and_then(|state| state.original_call().record.clone());
        let swapped =
            self.write(|engine| engine.replace_retry_state(key.as_str(), expected, state, now))?;
        if !swapped {
            return Ok(false);
        }
        if let Some(first) = first {
            self.add_attempt_source(key, &first)?;
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

    fn add_attempt_source(&mut self, key: &RetryKey, reference: &str) -> Result<(), StoreError> {
        let reference = checked_reference(reference)?;
        self.write(|engine| engine.add_attempt_source(key.as_str(), reference))
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
            _ => Ok(self.retry_state(key)?.and_then(|stored| Block::of(&stored.state))),
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

    fn store_note(
        &mut self,
        name: &str,
        text: &str,
        expires: Timestamp,
        reference: Option<&str>,
    ) -> Result<(), StoreError> {
        let (key, now) = (note_key(checked_reference(name)?), self.now());
        self.write(|engine| engine.store_note(&key, text, expires, now))?;
        let Some(reference) = reference else { return Ok(()) };
        let reference = checked_reference(reference)?;
        self.write(|engine| engine.add_attempt_source(&key, reference))
    }
}

/// Returns the key of a note in the table of retry states. Retry keys never start with this prefix.
pub(crate) fn note_key(name: &str) -> String {
    format!("note/{name}")
}
