//! The scale-out store: one schema of a PostgreSQL database, shared by any number of processes.
//!
//! Every batch takes the row of the head `FOR UPDATE`, reads it, appends and commits: the lock on that row
//! is the order of the log, so replicas need no leader and keep nothing that they could disagree about.
//! It keeps to what PostgreSQL and databases that speak like it have in common: no advisory locks, no
//! LISTEN, no sequences.
//!
//! A log has a schema of its own, not a column with its name: the tables are those of the embedded store,
//! rights are granted and a log is dropped as a whole, and no query can mix two logs.
//!
//! There is no TLS here: [`session::PostgresSession::connect`] is the one place where a connector for it goes.

mod read;
mod schema;
mod session;
mod text;
mod write;

use postgres::error::SqlState;

use crate::engine::{Engine, EngineError, EngineFailure, EngineRead, EngineResult, Opener};
use crate::store::OpenText;
use crate::{Settings, StoreError};
use session::{PostgresConnection, PostgresSession};

/// Takes the URL of a store in PostgreSQL apart: the URL as a driver takes it, and the schema that the log lies in.
///
/// # Errors
///
/// When it is none, or asks for TLS.
pub fn postgres_place(url: &str) -> Result<(String, String), StoreError> {
    session::split(url).map_err(StoreError::Unfit)
}

pub(crate) struct PostgresOpener(PostgresSession);

impl PostgresOpener {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        PostgresSession::parse(url, settings).map(Self).map_err(StoreError::Unfit)
    }

    /// What names the store to people: no password in it.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// What opens the index for full text, which lies in the same schema.
    pub(crate) fn text(&self) -> OpenText {
        let session = self.0.clone();
        Box::new(move |_| text::open(&session).map(Some))
    }
}

impl Opener for PostgresOpener {
    fn writer(&self) -> EngineResult<Box<dyn Engine>> {
        let mut engine = PostgresConnection::open(&self.0)?;
        schema::prepare(&mut engine.client, &self.0.schema)?;
        engine.prepare_to_write()?;
        Ok(Box::new(engine))
    }

    fn reader(&self) -> EngineResult<Box<dyn EngineRead>> {
        let mut engine = PostgresConnection::open(&self.0)?;
        schema::check(&mut engine.client, &self.0.schema)?;
        Ok(Box::new(engine))
    }

    /// The driver waits on a runtime of its own, and one within another is refused: a task steps out of its own first.
    fn aside(&self, act: &mut dyn FnMut()) {
        use tokio::runtime::{Handle, RuntimeFlavor};
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(act),
            _ => act(),
        }
    }
}

impl From<postgres::Error> for EngineError {
    fn from(error: postgres::Error) -> Self {
        let failure = match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                EngineFailure::Conflict
            }
            Some(&SqlState::LOCK_NOT_AVAILABLE) => EngineFailure::Locked,
            // The server ends the connection: it shuts down, somebody ended the backend, or it idled too long.
            Some(code) if ["57P01", "57P02", "57P03", "25P03"].contains(&code.code()) => {
                EngineFailure::Lost
            }
            Some(code) => match code.code().get(..2) {
                Some("08") => EngineFailure::Lost,
                // A value that is none, or a constraint.
                Some("22" | "23") => EngineFailure::Refused,
                // A page that is not what was written.
                Some("XX") => EngineFailure::Damaged,
                _ => EngineFailure::Broken,
            },
            None if is_lost(&error) => EngineFailure::Lost,
            None => EngineFailure::Broken,
        };
        Self::new(failure, said(&error))
    }
}

/// Whether the connection is gone, as against an answer that could not be read.
fn is_lost(error: &postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.is_closed() || io.is_some()
}

/// The driver says only `db error`; what the server said is in its source.
fn said(error: &postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(server), _) => format!("{} ({})", server.message(), server.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// A number as the database keeps it. What we count does not reach 2^63.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that the database kept.
fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A limit as the database takes it.
fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Text that the database can hold: it has no NUL. Asked first, since an error would end the transaction.
fn text(text: &str) -> EngineResult<&str> {
    if text.contains('\0') {
        return Err(EngineError::damaged("the database cannot keep text that holds a NUL"));
    }
    Ok(text)
}
