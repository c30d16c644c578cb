use std::ops::{Range, RangeInclusive};

use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::{Hash, LeafId, LeafKind, Part};

use super::{EngineResult, LinkedEntries};
use crate::event::StreamDigest;
use crate::{
    CaseFilter, CaseRecord, EntryFilter, LogHead, LogTotals, StoredEvent, StoredRetryState,
    StreamFilter, StreamInfo,
};

/// Reads from a store. All reads between `begin_read` and `end_read` see the same state.
pub(crate) trait EngineRead: Send {
    fn begin_read(&mut self) -> EngineResult<()>;
    fn end_read(&mut self) -> EngineResult<()>;

    /// Returns a setting of the log: format, origin, vkey or signer. Returns `None` also if there
    /// is no log yet.
    fn meta(&mut self, key: &str) -> EngineResult<Option<String>>;
    fn head(&mut self) -> EngineResult<Option<LogHead>>;
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
        filter: &EntryFilter,
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
    fn totals(&mut self) -> EngineResult<LogTotals>;

    fn linked(&mut self, request: LeafId) -> EngineResult<LinkedEntries>;
    /// Returns the first entry of one of these kinds that has this response id, or without one this
    /// reply id.
    fn same(
        &mut self,
        kinds: &[LeafKind],
        response: Option<LeafId>,
        reply: Option<LeafId>,
    ) -> EngineResult<Option<u64>>;

    fn retry_state(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<StoredRetryState>>;
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
    ) -> EngineResult<Vec<StoredEvent>>;
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
    fn newest_events(&mut self, stream: &str, limit: usize) -> EngineResult<Vec<StoredEvent>>;
    fn blob(&mut self, digest: &Digest) -> EngineResult<Option<Vec<u8>>>;
    /// True if no file of the store still contains erased content.
    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
}
