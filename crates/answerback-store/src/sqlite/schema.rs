use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::ids;
use crate::engine::{EngineError, EngineFailure, EngineResult};

/// The version of the tables. A program does not use tables of an unknown version.
const VERSION: i64 = 5;

const TABLES: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE head(
  id INTEGER PRIMARY KEY CHECK (id = 0), size INTEGER NOT NULL, frontier BLOB NOT NULL,
  root BLOB NOT NULL, last_ts INTEGER NOT NULL, minimum INTEGER NOT NULL, event_seq INTEGER NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, kind TEXT NOT NULL, agent TEXT, tool TEXT, outcome TEXT,
  request_id BLOB, response_id BLOB, reply_id BLOB, leaf_hash BLOB NOT NULL, leaf BLOB NOT NULL
) STRICT;
CREATE TABLE facet(
  name TEXT NOT NULL, value TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (name, value, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE part(
  id INTEGER PRIMARY KEY, seq INTEGER GENERATED ALWAYS AS (id >> 8) VIRTUAL,
  name TEXT NOT NULL, salt BLOB NOT NULL, bytes BLOB NOT NULL
) STRICT;
CREATE TABLE tile(
  level INTEGER NOT NULL, n INTEGER NOT NULL, root BLOB NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (level, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX tile_root ON tile(level, n, root);
CREATE TABLE checkpoint(size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;
CREATE TABLE cosignature(
  size INTEGER NOT NULL, signer TEXT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (size, signer)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempt(
  key TEXT PRIMARY KEY, revision INTEGER NOT NULL, expires INTEGER NOT NULL, blocked INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_expires ON attempt(blocked, expires);
CREATE TABLE attempt_source(
  ref TEXT NOT NULL, key TEXT NOT NULL REFERENCES attempt(key) ON DELETE CASCADE, PRIMARY KEY (ref, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_source_key ON attempt_source(key);
CREATE TABLE case_record(
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, decided INTEGER NOT NULL, expires INTEGER NOT NULL,
  revision INTEGER NOT NULL, created INTEGER NOT NULL, body TEXT NOT NULL, content BLOB NOT NULL,
  private BLOB, ref TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX case_waiting ON case_record(decided, id);
CREATE TABLE case_source(
  ref TEXT NOT NULL, id TEXT NOT NULL REFERENCES case_record(id), said INTEGER NOT NULL, PRIMARY KEY (ref, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE event(
  seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT, body BLOB
) STRICT;
CREATE INDEX event_stream ON event(stream, seq);
CREATE INDEX event_ref ON event(ref) WHERE ref IS NOT NULL;
CREATE TABLE stream(
  name TEXT PRIMARY KEY, count INTEGER NOT NULL, digest BLOB NOT NULL, ended INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE blob(sha256 BLOB PRIMARY KEY, ts INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE TABLE blob_ref(
  ref TEXT NOT NULL, sha256 BLOB NOT NULL REFERENCES blob(sha256) ON DELETE CASCADE, PRIMARY KEY (ref, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_ref_sha256 ON blob_ref(sha256);
";

/// Triggers that protect the log against accidental changes. An attacker can drop them, but the
/// tree reveals changes.
pub(super) const GUARDS: &str = "
CREATE TRIGGER entry_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are not changed'); END;
CREATE TRIGGER entry_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are not deleted'); END;
CREATE TRIGGER tile_update BEFORE UPDATE ON tile BEGIN SELECT RAISE(ABORT, 'tiles are not changed'); END;
CREATE TRIGGER tile_delete BEFORE DELETE ON tile BEGIN SELECT RAISE(ABORT, 'tiles are not deleted'); END;
CREATE TRIGGER checkpoint_update BEFORE UPDATE ON checkpoint BEGIN SELECT RAISE(ABORT, 'checkpoints are not changed'); END;
CREATE TRIGGER checkpoint_delete BEFORE DELETE ON checkpoint BEGIN SELECT RAISE(ABORT, 'checkpoints are not deleted'); END;
";

/// Configures a connection for writing, and creates the tables on first use.
pub(super) fn prepare(connection: &Connection) -> EngineResult<()> {
    // The page size takes effect only before the first table is created.
    connection.execute_batch("PRAGMA page_size = 8192;")?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(EngineError::damaged(format!("the file cannot be written ahead: mode {mode}")));
    }
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
         PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -32768;",
    )?;
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        let tables: Option<String> = transaction
            .query_row("SELECT name FROM sqlite_schema LIMIT 1", [], |row| row.get(0))
            .optional()?;
        if let Some(table) = tables {
            let error = format!("the file is another's: it has a table {table}; name another file");
            return Err(EngineError::new(EngineFailure::Unfit, error));
        }
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(ids::TABLES)?;
        transaction.execute_batch(GUARDS)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION};"))?;
        transaction.commit()?;
    } else if version == ids::SINCE - 1 {
        ids::upgrade(&transaction)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION};"))?;
        transaction.commit()?;
    } else if version != VERSION {
        return Err(EngineError::of_version(&version.to_string(), VERSION));
    }
    Ok(())
}
