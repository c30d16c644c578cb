use std::path::Path;
use std::time::Duration;

use answerback_ledger::VerifierKey;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ids::Newest;
use crate::engine::{EngineError, EngineFailure, EngineResult};

/// The first SQLite version without a bug that can lose a commit. The bug occurs when one
/// connection writes while another one runs a checkpoint.
const OLDEST_SQLITE: i32 = 3_051_003;

/// One connection to the file, for reading or for writing.
pub(crate) struct SqliteConnection {
    pub(super) connection: Connection,
    pub(super) lock_timeout: Duration,
    /// The key in force as last read. The cache saves parsing the key each time.
    pub(super) signer: Option<(String, VerifierKey)>,
    /// The store that the log was moved to, as last read with the head.
    pub(super) moved: Option<String>,
    /// The number of entries as last read with the head.
    pub(super) size: u64,
    pub(super) is_writer: bool,
    pub(super) newest: Newest,
}

/// Opens a connection to a file and configures it.
pub(super) fn connect(
    path: &Path,
    flags: OpenFlags,
    lock_timeout: Duration,
) -> EngineResult<Connection> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        let found = rusqlite::version();
        let error = format!("SQLite {found} can lose commits; 3.51.3 or newer is needed");
        return Err(EngineError::new(EngineFailure::Unfit, error));
    }
    if flags.contains(OpenFlags::SQLITE_OPEN_CREATE) {
        make_private(path);
    }
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| named(path, &error))?;
    connection.busy_timeout(lock_timeout)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Keeps query plans independent of bound values. Otherwise SQLite would recompile every
    // statement with a bound LIMIT each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON;")?;
    Ok(connection)
}

/// Creates the file with access for this user only, before SQLite creates it with the default mode.
/// SQLite gives the files next to it the same mode. If this fails, SQLite reports the error.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

fn named(path: &Path, error: &rusqlite::Error) -> EngineError {
    EngineError::new(EngineFailure::Broken, format!("{}: {error}", path.display()))
}

/// Writes committed pages back into the file and truncates the write-ahead log, which could still
/// contain erased content. It does not wait: it returns `false` if another connection reads an
/// older state or writes.
pub(super) fn truncate_log(connection: &Connection, lock_timeout: Duration) -> EngineResult<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let busy: Result<i64, _> =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(lock_timeout)?;
    Ok(busy? == 0)
}

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        let failure = match error.sqlite_error_code() {
            // Another connection recovers the log after a crash, or committed first. The
            // transaction can be retried.
            Some(ErrorCode::DatabaseBusy)
                if matches!(
                    error.sqlite_error().map(|error| error.extended_code),
                    Some(261 | 517)
                ) =>
            {
                EngineFailure::Conflict
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => EngineFailure::Locked,
            Some(ErrorCode::ConstraintViolation) => EngineFailure::Refused,
            _ => EngineFailure::Broken,
        };
        Self::new(failure, error)
    }
}
