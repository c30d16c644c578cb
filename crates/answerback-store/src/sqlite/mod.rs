//! The embedded store: one SQLite file, shared by any number of processes.

mod copy;
mod ids;
mod read;
mod schema;
mod text;
mod tile_index;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use answerback_ledger::VerifierKey;

use crate::engine::{Engine, EngineError, EngineFailure, EngineRead, EngineResult, Opener};
use crate::store::OpenText;

/// The first version without the bug by which a write and a checkpoint of two connections that
/// coincide can lose a commit.
const OLDEST_SQLITE: i32 = 3_051_003;

pub(crate) struct SqliteOpener {
    path: PathBuf,
    lock_timeout: Duration,
}

/// How often content was erased, and up to which of these times no file holds it any more: rows of `meta`.
pub(crate) const SCRUB_WANTED: &str = "scrub_wanted";
pub(crate) const SCRUB_DONE: &str = "scrub_done";

/// One connection. It writes when it was opened so.
pub(crate) struct SqliteConnection {
    pub(super) connection: Connection,
    pub(super) lock_timeout: Duration,
    /// The key in force as it was last read: taking one apart costs more than reading its row.
    pub(super) signer: Option<(String, VerifierKey)>,
    /// Where the log went, as it was last read with the head.
    pub(super) moved: Option<String>,
    /// How many entries there were then.
    pub(super) size: u64,
    pub(super) is_writer: bool,
    newest: ids::Newest,
}

impl SqliteOpener {
    pub(crate) fn new(path: &Path, lock_timeout: Duration) -> Self {
        Self { path: path.to_owned(), lock_timeout }
    }

    fn opened(&self, connection: Connection, is_writer: bool) -> SqliteConnection {
        SqliteConnection {
            connection,
            lock_timeout: self.lock_timeout,
            signer: None,
            moved: None,
            size: 0,
            is_writer,
            newest: ids::Newest::default(),
        }
    }

    /// What opens the index for full text, in a second file beside the store.
    pub(crate) fn text(&self) -> OpenText {
        let mut path = self.path.clone().into_os_string();
        path.push("-text");
        let (path, lock_timeout) = (PathBuf::from(path), self.lock_timeout);
        Box::new(move |create| text::open(&path, lock_timeout, create))
    }
}

impl Opener for SqliteOpener {
    fn writer(&self) -> EngineResult<Box<dyn Engine>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(&self.path, flags, self.lock_timeout)?;
        schema::prepare(&connection)?;
        Ok(Box::new(self.opened(connection, true)))
    }

    fn reader(&self) -> EngineResult<Box<dyn EngineRead>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = connect(&self.path, flags, self.lock_timeout)?;
        Ok(Box::new(self.opened(connection, false)))
    }
}

/// Writes what was committed back into the file and empties the log beside it, where old content would stay. Nobody is
/// waited for: `false` when somebody still reads an older state, or writes.
fn truncate_log(connection: &Connection, lock_timeout: Duration) -> EngineResult<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let busy: Result<i64, _> =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(lock_timeout)?;
    Ok(busy? == 0)
}

fn connect(path: &Path, flags: OpenFlags, lock_timeout: Duration) -> EngineResult<Connection> {
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
    // A plan never depends on what is bound: else every statement with a bound LIMIT is compiled anew each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON;")?;
    Ok(connection)
}

/// Makes the file for this user alone, before SQLite would make it for whoever the system lets. What lies beside it
/// has its mode. Where that cannot be done, SQLite says why.
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

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        let failure = match error.sqlite_error_code() {
            // Somebody recovers the log after a crash, or was faster: worth another try.
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

/// The ids that parts of an entry can have: 256 times its index, and the part's place in the leaf, which has no room
/// for so many.
pub(super) fn part_ids(index: u64) -> Range<i64> {
    let first = int(index).saturating_mul(256);
    first..first.saturating_add(256)
}

/// A number as SQLite keeps it. What we count does not reach 2^63.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that SQLite kept.
pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
