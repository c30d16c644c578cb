//! The sources that a log can be read from: the SQLite store's file, the PostgreSQL store's tables,
//! an export as JSON lines, or a directory of tiles.
//!
//! A source only reads. It returns its data unchanged and in order, and leaves all checks to the
//! verifier. The types are public, so that other stores can be read too.

mod error;
mod jsonl;
mod lines;
mod log_source;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tiles;

pub use error::SourceError;
pub use jsonl::JsonLines;
pub(crate) use lines::{SourceCheckpointLine, object};
pub use log_source::LogSource;
pub use open::open;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use record::{
    EntryColumns, SourceClaims, SourceEntry, SourceHead, SourcePart, SourceRecord, SourceTile,
    StoredAttempt, StoredCase, StoredState, StoredTiles,
};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use tiles::TileDirectory;
