//! The interface to a full-text index.

use std::collections::BTreeMap;
use std::ops::Range;

use super::EngineResult;

/// A full-text index of the entries of a log.
pub(crate) trait TextIndex: Send {
    /// Returns the index of the next entry to index.
    fn position(&mut self) -> EngineResult<u64>;
    /// Applies a step in one transaction.
    fn advance(&mut self, step: &IndexStep) -> EngineResult<()>;
    /// Removes an entry immediately.
    fn remove(&mut self, index: u64) -> EngineResult<()>;
    /// Returns the entries in the range whose text contains all words.
    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        limit: usize,
    ) -> EngineResult<Vec<u64>>;
    /// Removes everything and resets the position.
    fn clear(&mut self) -> EngineResult<()>;
    /// True if no file of the index still contains removed text.
    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
    /// Makes sure that no file of the index contains removed text. It does not wait for readers. It
    /// returns `false` if a reader still sees the old state, and must be called again later.
    fn scrub(&mut self) -> EngineResult<bool> {
        Ok(true)
    }
}

/// The changes to the index for the next entries of the log.
#[derive(Debug, Default)]
pub(crate) struct IndexStep {
    /// The texts of entries that the index has not read yet.
    pub(crate) add: BTreeMap<u64, String>,
    /// The remaining texts of indexed entries that lost a part.
    pub(crate) replace: BTreeMap<u64, String>,
    /// True if text was erased, so that the files must be scrubbed.
    pub(crate) erases: bool,
    /// The index below which all entries were pruned.
    pub(crate) below: u64,
    /// The index of the next entry to index.
    pub(crate) position: u64,
}

/// Opens the full-text index. Creates it if the argument is `true`; otherwise returns `None` if it
/// does not exist.
pub(crate) type OpenTextIndex =
    Box<dyn Fn(bool) -> EngineResult<Option<Box<dyn TextIndex>>> + Send + Sync>;
