//! Appends events to streams. The events stay in memory until the end of the transaction.

use answerback_ledger::Hash;

use super::RunningTransaction;
use crate::StoreError;
use crate::event::{StoredEvent, StreamDigest};
use crate::transaction::{EventLog, Transaction};

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
        Ok(Some(self.push_event(stream, state, StoredEvent::END, reference, digest.as_bytes())))
    }

    fn newest_events(
        &mut self,
        stream: &str,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let pending = self.events.iter().rev().filter(|event| event.stream == stream);
        let mut newest: Vec<StoredEvent> = pending.take(limit).cloned().collect();
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
        let pending = self.streams.get(name).cloned();
        let state = match &pending {
            Some(state) => state.clone(),
            None => self.read(|engine| engine.stream(name))?.unwrap_or_else(StreamDigest::new),
        };
        self.unit.streams.push((name.to_owned(), pending));
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
        self.events.push(StoredEvent::new(
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
