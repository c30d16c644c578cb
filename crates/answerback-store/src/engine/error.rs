//! The error of an engine, classified by its consequence for the writer.

use std::error::Error;
use std::sync::Arc;

use crate::StoreError;
use crate::tables::SqlTable;

/// Classifies a failure of an engine by its consequence for the writer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EngineFailure {
    /// Another connection holds the lock. Nothing was written.
    Locked,
    /// The transaction conflicts with another one and can be run again.
    Conflict,
    /// The connection was lost before the commit was sent. Nothing was written, and the transaction
    /// can run again on a new connection.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no connection"))]
    Disconnected,
    /// Reading or writing failed. The connection cannot be trusted any more.
    Broken,
    /// A row violates a constraint of the tables. The statement had no effect.
    Refused,
    /// The stored rows are inconsistent.
    Damaged,
    /// The tables are of another program or of an unknown version.
    Unfit,
}

#[derive(Clone, Debug)]
pub(crate) struct EngineError {
    pub(crate) failure: EngineFailure,
    pub(crate) source: Arc<dyn Error + Send + Sync>,
}

pub(crate) type EngineResult<T> = Result<T, EngineError>;

impl EngineError {
    pub(crate) fn new(
        failure: EngineFailure,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { failure, source: Arc::from(source.into()) }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::new(EngineFailure::Damaged, what.into())
    }

    /// Creates the error for tables of an unknown version.
    pub(crate) fn of_version(found: &str, known: i64) -> Self {
        let remedy = match found.parse::<i64>() {
            Ok(found) if found > known => "it needs a newer program",
            _ => "only the program that wrote it reads it",
        };
        Self::new(
            EngineFailure::Unfit,
            format!(
                "the store has tables of version {found}, and this program knows {known}: {remedy}"
            ),
        )
    }

    pub(super) fn unmoving(table: &SqlTable, way: &str) -> Self {
        let table = table.name;
        Self::new(
            EngineFailure::Broken,
            format!("{table} cannot be moved {way} this kind of store"),
        )
    }
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error.failure {
            EngineFailure::Locked | EngineFailure::Conflict => Self::Locked,
            EngineFailure::Disconnected | EngineFailure::Broken => Self::Engine(error.source),
            EngineFailure::Refused => Self::Refused(error.source),
            EngineFailure::Damaged => Self::Damaged(error.source.to_string()),
            EngineFailure::Unfit => Self::Unfit(error.source.to_string()),
        }
    }
}

impl From<serde_json::Error> for EngineError {
    fn from(error: serde_json::Error) -> Self {
        Self::damaged(error.to_string())
    }
}
