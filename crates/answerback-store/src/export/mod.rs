//! Exports the log in formats that others can read and verify. `docs/reference/ledger-format.md` specifies
//! them.
//!
//! An export reads one consistent state of the store, one page of entries at a time. It needs
//! little memory, and appending continues in the meantime. While an export runs, erased content
//! stays in the database's files. It is removed after the export.

mod error;
mod jsonl;
mod line;
mod options;
mod otel;
#[cfg(feature = "parquet")]
mod parquet;
mod range;
mod store;
mod tiles;
mod visit;

pub use error::ExportError;
pub use options::{Export, ExportProgress, ExportSummary};
