use std::io;
use std::path::{Path, PathBuf};

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
    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    pub(super) fn not_a_ledger(path: &Path, reason: impl Into<String>) -> Self {
        Self::NotALedger { path: path.to_owned(), reason: reason.into() }
    }

    pub(super) fn malformed(path: &Path, place: impl Into<String>, reason: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), place: place.into(), reason: reason.to_string() }
    }
}
