//! Where a log is read from: the embedded store's file, the tables of the scale-out store, an export as JSON lines, a
//! directory of tiles.
//!
//! A source only reads. It gives what it holds as it stands, in order, and leaves every judgement to the verifier.
//! The types here are open, so that other stores can be read too.

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

/// What a source says of the log as a whole, before any of it is checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claims {
    /// The log's origin.
    pub origin: String,
    /// The verifier key in force at the first entry that is there.
    pub vkey: String,
    /// The index of the first entry that is there.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
    /// Whether an entry of the log must account for what is missing below `from`. An extract need not.
    pub missing_needs_prune: bool,
    /// The head row of a store.
    pub head: Option<Head>,
    /// Whether every full tile must be there, and which partial ones.
    pub tiles: TilesHeld,
}

/// Which hash tiles a source holds beside its entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TilesHeld {
    /// None: the export has entries only.
    None,
    /// All full tiles.
    Full,
    /// All full tiles, and the partial one at the end of each level.
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
    /// The verifier key that signs now.
    pub signer: String,
}

/// One piece of a log.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// The leaf hash of the next entry, which itself was pruned.
    PrunedHash(Hash),
    /// The roots of the complete subtrees left of the first entry. They come before all entries.
    Subtrees(&'a [Hash]),
    /// The next entry.
    Entry(Entry<'a>),
    /// A checkpoint. It comes after the last entry of its tree, or at the end if there is no such entry.
    Checkpoint {
        /// The signed note.
        note: &'a str,
        /// The size that the store files it under.
        filed_under: Option<u64>,
    },
    /// A part that belongs to no entry that is there.
    StrayPart {
        /// The entry it is filed under.
        index: u64,
        /// Its name.
        name: &'a [u8],
    },
}

/// An entry with what lies beside it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its place in the log.
    pub index: u64,
    /// Its exact bytes.
    pub leaf: &'a [u8],
    /// The parts that are there.
    pub parts: &'a [Part<'a>],
    /// The columns of a store.
    pub columns: Option<Columns<'a>>,
}

/// The content of a part, and its salt.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The key of its commitment.
    pub salt: &'a [u8],
    /// Its exact bytes.
    pub bytes: &'a [u8],
}

/// What a store repeats of a leaf, so that it can be searched.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// `ts`, in microseconds.
    pub ts: i64,
    /// `kind`.
    pub kind: &'a [u8],
    /// `agent_id`.
    pub agent: Option<&'a [u8]>,
    /// `tool`.
    pub tool: Option<&'a [u8]>,
    /// `outcome`.
    pub outcome: Option<&'a [u8]>,
    /// `request_id`, as 16 bytes.
    pub request_id: Option<&'a [u8]>,
    /// `response_id`, as 16 bytes.
    pub response_id: Option<&'a [u8]>,
    /// `reply_id`, as 16 bytes.
    pub reply_id: Option<&'a [u8]>,
    /// The leaf's hash.
    pub leaf_hash: &'a [u8],
}

/// A hash tile.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    /// Its level.
    pub level: u64,
    /// Its number in the level.
    pub number: u64,
    /// Its hashes, one after the other.
    pub hashes: &'a [u8],
    /// The hash above them, where the source repeats it.
    pub root: Option<&'a [u8]>,
}

/// A row that a store has next to its log, which entries record the effects on.
#[derive(Clone, Copy, Debug)]
pub enum StoredState<'a> {
    /// A case.
    Case(StoredCase<'a>),
    /// A retry state.
    Attempt(StoredAttempt<'a>),
}

/// A case as its row stores it. A number that is not one is nothing.
#[derive(Clone, Copy, Debug)]
pub struct StoredCase<'a> {
    /// Its id.
    pub id: &'a [u8],
    /// Whether it is marked as decided.
    pub decided: Option<bool>,
    /// When it expires, in milliseconds.
    pub expires: Option<i64>,
    /// Its revision.
    pub revision: Option<i64>,
    /// The case as JSON.
    pub body: &'a [u8],
    /// What the person is shown.
    pub content: &'a [u8],
}

/// A retry state as its row stores it. A number that is not one is nothing.
#[derive(Clone, Copy, Debug)]
pub struct StoredAttempt<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// When it expires, in milliseconds.
    pub expires: Option<i64>,
    /// Whether it is marked as blocked.
    pub blocked: Option<bool>,
    /// The state as JSON.
    pub state: &'a [u8],
}

/// A place that a log can be read from.
pub trait Source {
    /// What the source says of the log as a whole.
    fn claims(&self) -> &Claims;

    /// Reads the log once from front to back, with no more in memory than a piece of it.
    ///
    /// # Errors
    ///
    /// When the source cannot be read, or is not what it claims to be.
    fn read(&mut self, visit: &mut dyn FnMut(Record<'_>)) -> Result<(), SourceError>;

    /// Reads the hash tiles: level, number, hashes, and the hash above them where the source keeps it.
    ///
    /// # Errors
    ///
    /// When the source cannot be read.
    fn read_tiles(&mut self, visit: &mut dyn FnMut(Tile<'_>)) -> Result<(), SourceError>;

    /// Reads the cases, then the retry states, that a store has next to its log. Returns false where there are no such
    /// tables, as in an export.
    ///
    /// # Errors
    ///
    /// When the source cannot be read.
    fn read_states(
        &mut self,
        _visit: &mut dyn FnMut(StoredState<'_>),
    ) -> Result<bool, SourceError> {
        Ok(false)
    }
}

/// Why a source could not be read. Nothing is said then about the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is there and is not a ledger.
    #[error(
        "{path} is not a ledger: {reason}; expected the SQLite file of an embedded store, an export as JSON lines, \
         whose first line has \"answerback_ledger\":1, or a directory of tiles"
    )]
    NotALedger {
        /// Which file.
        path: PathBuf,
        /// What is missing or unknown.
        reason: String,
    },
    /// A line or a bundle is malformed.
    #[error("{path}, {place}: {reason}")]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database cannot be read.
    #[cfg(feature = "sqlite")]
    #[error("cannot read {path}")]
    Database {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The database's server does not answer, or not with what was asked for.
    #[cfg(feature = "postgres")]
    #[error("cannot read {name} of the database")]
    Server {
        /// Which schema.
        name: String,
        /// Why.
        #[source]
        source: ::postgres::Error,
    },
    /// A database without a ledger in this place.
    #[cfg(feature = "postgres")]
    #[error("{name} of the database is not a ledger: {reason}")]
    NoLedger {
        /// Which schema.
        name: String,
        /// What is missing or unknown.
        reason: String,
    },
    /// The file is a database, and this program was built without support for it.
    #[error("{path} is an SQLite file, which this build cannot read")]
    NoDatabase {
        /// Which file.
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

/// Opens whatever is at a path: a directory of tiles, the embedded store's file, or an export as JSON lines.
///
/// # Errors
///
/// When nothing can be read there, or it is none of these.
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
