use super::{SourceClaims, SourceError, SourceRecord, SourceTile, StoredState};

/// Reads a log from one place.
pub trait LogSource {
    /// Returns the unverified statements about the log as a whole.
    fn claims(&self) -> &SourceClaims;

    /// Reads the log once from start to end, with only a part of it in memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read, or does not have the expected format.
    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError>;

    /// Reads the hash tiles with their levels and numbers, and with their roots if the source
    /// stores them.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    fn read_tiles(&mut self, visit: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError>;

    /// Reads the cases, then the retry states, which a store has next to its log. Returns false if
    /// there are no such tables, as in an export.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    fn read_states(
        &mut self,
        _visit: &mut dyn FnMut(StoredState<'_>),
    ) -> Result<bool, SourceError> {
        Ok(false)
    }
}
