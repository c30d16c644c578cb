//! The PostgreSQL store: one schema of a database, shared by any number of processes.
//!
//! Every batch locks the row of the head with `FOR UPDATE`, reads it, appends and commits. The lock
//! on this row determines the order of the log. So replicas need no leader and have no state of
//! their own that could diverge. The store uses only features that PostgreSQL and compatible
//! databases share: no advisory locks, no LISTEN, no sequences.
//!
//! Each log has its own schema instead of a column with its name. The tables are the same as in
//! SQLite, an operator can grant rights on a log or drop it as a whole, and no query can mix two
//! logs.
//!
//! There is no TLS support. A TLS connector would be added in
//! [`session::PostgresSession::connect`].

mod read;
mod schema;
mod session;
mod text;
mod write;

use postgres::error::SqlState;

use crate::engine::OpenTextIndex;
use crate::engine::{Engine, EngineError, EngineFailure, EngineRead, EngineResult, Opener};
use crate::{Settings, StoreError};
use session::{PostgresConnection, PostgresSession};

/// Splits the URL of a PostgreSQL store into the URL for the driver and the schema of the log.
///
/// # Errors
///
/// Returns an error if the URL is invalid or asks for TLS.
pub fn postgres_place(url: &str) -> Result<(String, String), StoreError> {
    session::split(url).map_err(StoreError::Unfit)
}

pub(crate) struct PostgresOpener(PostgresSession);

impl PostgresOpener {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        PostgresSession::parse(url, settings).map(Self).map_err(StoreError::Unfit)
    }

    /// Returns the display name of the store, which contains no password.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the function that opens the full-text index, which is in the same schema.
    pub(crate) fn text(&self) -> OpenTextIndex {
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

    /// Steps out of the caller's async runtime. The driver blocks on its own runtime, which panics
    /// inside another one.
    fn run_blocking(&self, act: &mut dyn FnMut()) {
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
            // The server closed the connection: it shut down, an administrator ended the session,
            // or it was idle too long.
            Some(code) if ["57P01", "57P02", "57P03", "25P03"].contains(&code.code()) => {
                EngineFailure::Disconnected
            }
            Some(code) => match code.code().get(..2) {
                Some("08") => EngineFailure::Disconnected,
                // An invalid value or a violated constraint.
                Some("22" | "23") => EngineFailure::Refused,
                // An internal error, such as a damaged page.
                Some("XX") => EngineFailure::Damaged,
                _ => EngineFailure::Broken,
            },
            None if is_disconnected(&error) => EngineFailure::Disconnected,
            None => EngineFailure::Broken,
        };
        Self::new(failure, describe(&error))
    }
}

/// True if the connection is lost, as opposed to an unreadable response.
fn is_disconnected(error: &postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.is_closed() || io.is_some()
}

/// Formats an error with the server's message. The driver's own text is only `db error`.
fn describe(error: &postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(server), _) => format!("{} ({})", server.message(), server.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Converts a number for the database. Our counters never reach 2^63.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from the database.
fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a limit for the database.
fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Checks that a text contains no NUL, which the database cannot store. Checking first avoids an
/// error that would end the transaction.
fn text(text: &str) -> EngineResult<&str> {
    if text.contains('\0') {
        return Err(EngineError::damaged("the database cannot keep text that holds a NUL"));
    }
    Ok(text)
}
