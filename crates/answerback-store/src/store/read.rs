use std::ops::Range;
use std::path::Path;

use answerback::retry::RetryKey;
use answerback::{Digest, UuidV7};
use answerback_ledger::tree::HashReader;
use answerback_ledger::{Hash, LeafId, LeafKind, Note, Receipt, VerifierKey};

use super::Store;
use crate::chain::stored_key;
use crate::engine::Hashes;
use crate::reading::{self, LOOKS};
use crate::running_transaction::note_key;
use crate::{
    CaseFilter, CasePage, CaseRecord, EntryFilter, EntryPage, EventPage, LedgerEntry, LogHead,
    LogTotals, StoreError, StoreStats, StoredEvent, StoredRetryState, StreamFilter, StreamInfo,
};

/// Reads from the store. Every method blocks for the duration of the disk access.
impl Store {
    /// Returns the head of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn head(&self) -> Result<LogHead, StoreError> {
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
    pub fn entry(&self, index: u64) -> Result<Option<LedgerEntry>, StoreError> {
        self.read(|read| reading::entry(read, index))
    }

    /// Returns entries that match the filter, after the cursor of the previous page.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read.
    pub fn entries(
        &self,
        filter: &EntryFilter,
        cursor: Option<u64>,
        limit: usize,
    ) -> Result<EntryPage, StoreError> {
        let Some(words) = &filter.text else {
            return self.read(|read| reading::entries(read, filter, cursor, limit));
        };
        let mut index = self.text()?;
        let mut find =
            |within: Range<u64>, most| Ok(index.find(words, within, filter.newest_first, most)?);
        self.read(|read| reading::search_entries(read, filter, cursor, limit, LOOKS, &mut find))
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
        self.read(|read| Ok(Hashes::of(read).hashes(level, from, count)?))
    }

    /// Returns the retry state of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn retry_state(&self, key: &RetryKey) -> Result<Option<StoredRetryState>, StoreError> {
        let now = self.now();
        self.read(|read| Ok(read.retry_state(key.as_str(), now)?))
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
    pub fn newest_events(
        &self,
        stream: &str,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
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
    pub fn reply_index(&self, id: LeafId) -> Result<Option<u64>, StoreError> {
        const KINDS: [LeafKind; 2] = [LeafKind::Response, LeafKind::Rejected];
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
    pub fn stats(&self) -> StoreStats {
        self.0.counters.read()
    }

    /// Counts the content of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn totals(&self) -> Result<LogTotals, StoreError> {
        self.read(|read| Ok(read.totals()?))
    }
}
