use std::ops::Range;

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Timestamp, UuidV7};
use answerback_ledger::LeafKind;
use answerback_ledger::tile::Tile;

use super::{BlobRow, EngineError, EngineRead, EngineResult, EntryRow, LookupHint, Rows};
use crate::event::StreamDigest;
use crate::tables::{SqlCell, SqlTable};
use crate::{CaseRecord, LogHead, StoredEvent};

/// Writes to a store. Between `begin` and `commit` the engine holds the lock on the head.
pub(crate) trait Engine: EngineRead {
    /// Takes the lock and reads the head. Returns `None` if there is no log yet.
    fn begin(&mut self) -> EngineResult<Option<LogHead>>;
    /// Returns the engine's clock as read under the lock, if all its writers share one clock.
    fn now(&self) -> Option<i64> {
        None
    }
    /// Looks up the results of [`EngineRead::linked`] and [`EngineRead::same`] for all units of the
    /// transaction at once. A remote engine saves round trips this way.
    fn look_up_ahead(&mut self, _kinds: &[LeafKind], _hints: &[LookupHint]) -> EngineResult<()> {
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
    fn request_scrub(&mut self) -> EngineResult<()> {
        Ok(())
    }
    /// Makes sure that no file of the store contains erased content, after the erasure was
    /// committed. It does not wait for readers. It returns `false` if a reader still sees the old
    /// state, and must be called again later.
    fn scrub(&mut self) -> EngineResult<bool>;

    fn append_entries(&mut self, rows: &[EntryRow]) -> EngineResult<()>;
    fn append_tiles(&mut self, tiles: &[Tile]) -> EngineResult<()>;
    /// Stores a checkpoint permanently, unless it is already stored.
    fn store_checkpoint(&mut self, size: u64, note: &str) -> EngineResult<()>;
    /// Writes the head, together with the newest checkpoint if there is a new one.
    fn save_head(&mut self, head: &LogHead, note: Option<&str>) -> EngineResult<()>;
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
    fn replace_retry_state(
        &mut self,
        key: &str,
        expected: Option<u64>,
        state: Option<&RetryState>,
        now: Timestamp,
    ) -> EngineResult<bool>;
    /// Stores a note under a retry key in place of a retry state, and removes the references of the
    /// previous value.
    fn store_note(
        &mut self,
        key: &str,
        text: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> EngineResult<()>;
    /// Records the reference from which the text of a retry state comes, if the state exists.
    fn add_attempt_source(&mut self, key: &str, reference: &str) -> EngineResult<()>;
    /// Removes expired states, then those that expire soonest until the cap is met. The cap never
    /// removes blocked states. Returns the number of removed states.
    fn sweep_attempts(&mut self, now: Timestamp, most: u64) -> EngineResult<u64>;
    fn put_case(&mut self, record: &CaseRecord) -> EngineResult<bool>;
    /// Swaps the case if the stored revision equals `expected`.
    fn swap_case(&mut self, case: &Case, expected: u64) -> EngineResult<bool>;
    /// Records the reference from which a case's text comes. `said` marks the words of people;
    /// otherwise it is the content shown to them.
    fn add_case_source(&mut self, id: &UuidV7, reference: &str, said: bool) -> EngineResult<()>;
    fn set_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> EngineResult<()>;
    /// Removes the private data of expired cases.
    fn sweep_cases(&mut self, now: Timestamp) -> EngineResult<u64>;
    fn append_events(&mut self, events: &[StoredEvent]) -> EngineResult<()>;
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
