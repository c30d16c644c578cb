use crate::engine::EngineRead;
use crate::{LogHead, StoreError};

/// Reads the head of the log.
pub(crate) fn head(read: &mut dyn EngineRead) -> Result<LogHead, StoreError> {
    read.head()?.ok_or_else(|| StoreError::Missing("log yet".to_owned()))
}
