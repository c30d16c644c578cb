//! The sources that a log can be read from: the SQLite store's file, the PostgreSQL store's tables,
//! an export as JSON lines, or a directory of tiles.
//!
//! A source only reads. It returns its data unchanged and in order, and leaves all checks to the
//! verifier. The types are public, so that other stores can be read too.

mod jsonl;
mod lines;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tiles;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

pub use jsonl::JsonLines;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use tiles::TileDirectory;

use crate::hash::Hash;

pub(crate) use lines::{CheckpointLine, object};

/// The unverified statements of a source about the log as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claims {
    /// The log's origin.
    pub origin: String,
    /// The verifier key in force at the first available entry.
    pub vkey: String,
    /// The index of the first available entry.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
    /// True if a prune entry must account for missing entries below `from`. A partial export needs
    /// none.
    pub missing_needs_prune: bool,
    /// The head row of a store.
    pub head: Option<Head>,
    /// The hash tiles that must be present.
    pub tiles: TilesHeld,
}

/// The hash tiles that a source has in addition to its entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TilesHeld {
    /// No tiles: the export contains only entries.
    None,
    /// All full tiles.
    Full,
    /// All full tiles, and the partial tile at the end of each level.
    FullAndPartial,
}

/// The head row of a store.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Head {
    /// The roots of the complete subtrees, largest first.
    pub frontier: Vec<u8>,
    /// The root.
    pub root: Vec<u8>,
    /// The time of the newest entry, in microseconds.
    pub last_ts: i64,
    /// The verifier key in force.
    pub signer: String,
}

/// One record of a log.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// The leaf hash of the next entry, which was pruned.
    PrunedHash(Hash),
    /// The roots of the complete subtrees to the left of the first entry. They precede all entries.
    Subtrees(&'a [Hash]),
    /// The next entry.
    Entry(Entry<'a>),
    /// A checkpoint. It follows the last entry of its tree, or comes at the end if there is no such
    /// entry.
    Checkpoint {
        /// The signed note.
        note: &'a str,
        /// The size that the store records for it.
        filed_under: Option<u64>,
    },
    /// A part that belongs to no available entry.
    StrayPart {
        /// The index of the entry that the store records for it.
        index: u64,
        /// The name of the part.
        name: &'a [u8],
    },
}

/// An entry with its parts and columns.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The index of the entry.
    pub index: u64,
    /// The exact bytes of the leaf.
    pub leaf: &'a [u8],
    /// The available parts.
    pub parts: &'a [Part<'a>],
    /// The columns of a store.
    pub columns: Option<Columns<'a>>,
}

/// The content of a part with its salt.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The name of the part.
    pub name: &'a [u8],
    /// The key of its commitment.
    pub salt: &'a [u8],
    /// The exact bytes of the content.
    pub bytes: &'a [u8],
}

/// The columns in which a store repeats data of the leaf for searches.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The member `ts`, in microseconds.
    pub ts: i64,
    /// The member `kind`.
    pub kind: &'a [u8],
    /// The member `agent_id`.
    pub agent: Option<&'a [u8]>,
    /// The member `tool`.
    pub tool: Option<&'a [u8]>,
    /// The member `outcome`.
    pub outcome: Option<&'a [u8]>,
    /// The member `request_id`, as 16 bytes.
    pub request_id: Option<&'a [u8]>,
    /// The member `response_id`, as 16 bytes.
    pub response_id: Option<&'a [u8]>,
    /// The member `reply_id`, as 16 bytes.
    pub reply_id: Option<&'a [u8]>,
    /// The leaf's hash.
    pub leaf_hash: &'a [u8],
}

/// A hash tile.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    /// The tile level.
    pub level: u64,
    /// The number of the tile within its level.
    pub number: u64,
    /// The hashes, concatenated.
    pub hashes: &'a [u8],
    /// The root of the tile, if the source stores it.
    pub root: Option<&'a [u8]>,
}

/// A row next to the log, which entries commit to.
#[derive(Clone, Copy, Debug)]
pub enum StoredState<'a> {
    /// A case.
    Case(StoredCase<'a>),
    /// A retry state.
    Attempt(StoredAttempt<'a>),
}

/// A case as its row stores it. A column with the wrong type is `None`.
#[derive(Clone, Copy, Debug)]
pub struct StoredCase<'a> {
    /// The id of the case.
    pub id: &'a [u8],
    /// True if the row marks the case as decided.
    pub decided: Option<bool>,
    /// The expiry, in milliseconds.
    pub expires: Option<i64>,
    /// The revision.
    pub revision: Option<i64>,
    /// The case as JSON.
    pub body: &'a [u8],
    /// The content shown to the person.
    pub content: &'a [u8],
}

/// A retry state as its row stores it. A column with the wrong type is `None`.
#[derive(Clone, Copy, Debug)]
pub struct StoredAttempt<'a> {
    /// The retry key.
    pub key: &'a [u8],
    /// The expiry, in milliseconds.
    pub expires: Option<i64>,
    /// True if the row marks the state as blocked.
    pub blocked: Option<bool>,
    /// The state as JSON.
    pub state: &'a [u8],
}

/// Reads a log from one place.
pub trait Source {
    /// Returns the unverified statements about the log as a whole.
    fn claims(&self) -> &Claims;

    /// Reads the log once from start to end, with only a part of it in memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read, or does not have the expected format.
    fn read(&mut self, visit: &mut dyn FnMut(Record<'_>)) -> Result<(), SourceError>;

    /// Reads the hash tiles with their levels and numbers, and with their roots if the source
    /// stores them.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    fn read_tiles(&mut self, visit: &mut dyn FnMut(Tile<'_>)) -> Result<(), SourceError>;

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

/// Explains why a source could not be read. This says nothing about the log itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A file exists but is not a ledger.
    #[error(
        "{path} is not a ledger: {reason}; expected the SQLite file of an embedded store, an export as JSON lines, \
         whose first line has \"answerback_ledger\":1, or a directory of tiles"
    )]
    NotALedger {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A line or a bundle is malformed.
    #[error("{path}, {place}: {reason}")]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The position in the file.
        place: String,
        /// The reason.
        reason: String,
    },
    /// The SQLite database cannot be read.
    #[cfg(feature = "sqlite")]
    #[error("cannot read {path}")]
    Database {
        /// The path of the file.
        path: PathBuf,
        /// The database error.
        #[source]
        source: rusqlite::Error,
    },
    /// The database server does not respond, or returns an error.
    #[cfg(feature = "postgres")]
    #[error("cannot read {name} of the database")]
    Server {
        /// The name of the schema.
        name: String,
        /// The database error.
        #[source]
        source: ::postgres::Error,
    },
    /// The schema of the database does not contain a ledger.
    #[cfg(feature = "postgres")]
    #[error("{name} of the database is not a ledger: {reason}")]
    NoLedger {
        /// The name of the schema.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The file is an SQLite database, and this program was built without support for it.
    #[error("{path} is an SQLite file, which this build cannot read")]
    NoDatabase {
        /// The path of the file.
        path: PathBuf,
    },
}

impl SourceError {
    fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    fn not_a_ledger(path: &Path, reason: impl Into<String>) -> Self {
        Self::NotALedger { path: path.to_owned(), reason: reason.into() }
    }

    fn malformed(path: &Path, place: impl Into<String>, reason: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), place: place.into(), reason: reason.to_string() }
    }
}

/// Opens the source at a path: a directory of tiles, the SQLite store's file, or an export as JSON
/// lines.
///
/// # Errors
///
/// Returns an error if the path cannot be read, or is none of these.
pub fn open(path: &Path) -> Result<Box<dyn Source>, SourceError> {
    if path.is_dir() {
        return Ok(Box::new(TileDirectory::open(path)?));
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| SourceError::read(path, error))?;
    file.take(16).read_to_end(&mut start).map_err(|error| SourceError::read(path, error))?;
    match start.first() {
        None => return Err(SourceError::not_a_ledger(path, "it is empty")),
        Some(b'{') => return Ok(Box::new(JsonLines::open(path)?)),
        Some(_) if start == b"SQLite format 3\0" => {}
        Some(_) => {
            let reason = "it begins neither like an SQLite file nor with a JSON object";
            return Err(SourceError::not_a_ledger(path, reason));
        }
    }
    #[cfg(feature = "sqlite")]
    let source = Sqlite::open(path).map(|source| Box::new(source) as Box<dyn Source>);
    #[cfg(not(feature = "sqlite"))]
    let source = Err(SourceError::NoDatabase { path: path.to_owned() });
    source
}
