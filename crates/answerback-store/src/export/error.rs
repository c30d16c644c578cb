use std::io;
use std::ops::Range;
use std::path::PathBuf;

use crate::StoreError;

/// Explains why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output could not be written.
    #[error("the export could not be written")]
    Output(#[from] io::Error),
    /// A file of a directory could not be written.
    #[error("cannot write {path}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The Parquet file could not be written.
    #[cfg(feature = "parquet")]
    #[error("the Parquet file could not be written")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The directory is not empty.
    #[error("{0} is not empty; name a directory that is empty or not there yet")]
    NotEmpty(PathBuf),
    /// The log does not have the requested entries.
    #[error(
        "there is nothing to export from entry {from} to size {size}: the log keeps the entries {} to {}",
        kept.start, kept.end.saturating_sub(1)
    )]
    Range {
        /// The first requested entry.
        from: u64,
        /// The requested size.
        size: u64,
        /// The range of entries that are stored.
        kept: Range<u64>,
    },
    /// The export would end before an erasure entry that explains missing content.
    #[error(
        "a part of entry {target} was erased by entry {erasure}, which lies behind the end that was \
         asked for: a verifier would miss it; export at least {} entries", erasure + 1
    )]
    ErasedLater {
        /// The index of the entry whose part was erased.
        target: u64,
        /// The index of the entry that records the erasure.
        erasure: u64,
    },
}
