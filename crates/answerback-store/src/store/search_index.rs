//! Fills and rebuilds the full-text index on request.

use super::Store;
use crate::StoreError;
use crate::engine::TextIndex;
use crate::text_indexer::{STEP, step};

impl Store {
    /// Clears the full-text index and rebuilds it. Returns the number of entries that it has read.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn rebuild_text(&self) -> Result<u64, StoreError> {
        self.text()?.clear()?;
        self.update_text()
    }

    /// True if the store's files and those of the full-text index contain no erased content. It
    /// cannot check the files of a database server.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn is_scrubbed(&self) -> Result<bool, StoreError> {
        let text = (self.0.open_text)(false)?.map_or(Ok(true), |mut text| text.is_scrubbed())?;
        Ok(text && self.read(|read| Ok(read.is_scrubbed()?))?)
    }

    /// Updates the full-text index to the newest entry. Returns the number of entries that it has
    /// read.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn update_text(&self) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        while step(index.as_mut(), &self.0.readers, STEP)?.is_some() {}
        index.scrub()?;
        Ok(index.position()?)
    }

    /// Advances the full-text index by at most `steps` steps of 256 entries, and returns the number
    /// of entries that it has read. Use it in a process that fills the index anyway, if the caller
    /// cannot wait for a full update.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn advance_text(&self, steps: usize) -> Result<u64, StoreError> {
        let mut index = self.text()?;
        for _ in 0..steps {
            if step(index.as_mut(), &self.0.readers, STEP)?.is_none() {
                break;
            }
        }
        Ok(index.position()?)
    }

    /// Returns the number of entries that the full-text index has read, or `None` if there is no
    /// index.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn text_position(&self) -> Result<Option<u64>, StoreError> {
        let index = (self.0.open_text)(false)?;
        index.map(|mut index| Ok(index.position()?)).transpose()
    }

    pub(super) fn text(&self) -> Result<Box<dyn TextIndex>, StoreError> {
        (self.0.open_text)(true)?
            .ok_or_else(|| StoreError::Missing("index for full text".to_owned()))
    }
}
