use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::{connect, int, uint};
use crate::engine::Outcome;
use crate::text::{Step, TextIndex};

/// An index in FTS5. It keeps a copy of the text, so that an entry can be removed without it.
struct Fts {
    connection: Connection,
}

pub(super) fn open(
    path: &Path,
    lock_timeout: Duration,
    create: bool,
) -> Outcome<Option<Box<dyn TextIndex>>> {
    if !create && !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags, lock_timeout)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // It is made from the log and can be made again: losing the last seconds of it costs nothing.
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS position(id INTEGER PRIMARY KEY CHECK (id = 0), next INTEGER NOT NULL);
         INSERT INTO position VALUES (0, 0) ON CONFLICT DO NOTHING;
         CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(body);
         INSERT INTO text(text, rank) VALUES ('secure-delete', 1);",
    )?;
    transaction.commit()?;
    Ok(Some(Box::new(Fts { connection })))
}

impl TextIndex for Fts {
    fn position(&mut self) -> Outcome<u64> {
        let next: i64 =
            self.connection.query_row("SELECT next FROM position", [], |row| row.get(0))?;
        Ok(uint(next))
    }

    fn advance(&mut self, step: &Step) -> Outcome<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut delete = transaction.prepare_cached("DELETE FROM text WHERE rowid = ?1")?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO text(rowid, body) VALUES (?1, ?2)")?;
            for (index, body) in &step.add {
                // Another process may have been faster.
                delete.execute([int(*index)])?;
                if !body.is_empty() {
                    insert.execute(params![int(*index), body])?;
                }
            }
            transaction.execute("DELETE FROM text WHERE rowid < ?1", [int(step.below)])?;
            let sql = "UPDATE position SET next = max(next, ?1)";
            transaction.execute(sql, [int(step.position)])?;
        }
        transaction.commit()?;
        if step.erases { self.truncate() } else { Ok(()) }
    }

    fn remove(&mut self, index: u64) -> Outcome<()> {
        self.connection.execute("DELETE FROM text WHERE rowid = ?1", [int(index)])?;
        self.truncate()
    }

    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        limit: usize,
    ) -> Outcome<Vec<u64>> {
        // Each word in quotes: what somebody types is not a query language.
        let quoted = |word: &str| format!("\"{}\"", word.replace('"', "\"\""));
        let query: Vec<String> = words.split_whitespace().map(quoted).collect();
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let order = if newest_first { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT rowid FROM text WHERE text MATCH ?1 AND rowid >= ?2 AND rowid < ?3
             ORDER BY rowid {order} LIMIT ?4"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(
            params![query.join(" "), int(within.start), int(within.end), limit],
            |row| Ok(uint(row.get(0)?)),
        )?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn clear(&mut self) -> Outcome<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("DELETE FROM text", [])?;
        transaction.execute("UPDATE position SET next = 0", [])?;
        transaction.commit()?;
        self.truncate()
    }
}

impl Fts {
    /// No file keeps what was removed.
    fn truncate(&self) -> Outcome<()> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}
