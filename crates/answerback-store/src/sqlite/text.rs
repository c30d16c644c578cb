use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::{connect, int, truncate_log, uint};
use crate::engine::EngineResult;
use crate::engine::{IndexStep, TextIndex};

/// A full-text index with FTS5. It stores a copy of the text, so that it can remove an entry whose
/// text is already erased. It does not store the lengths of texts, because results are not ranked.
struct Fts {
    connection: Connection,
    lock_timeout: Duration,
    /// The position that the next step starts from.
    from: u64,
}

/// Counts removals of text as the store does, so that a later process can finish the scrub.
const WANT_SCRUB: &str = "UPDATE scrub SET wanted = wanted + 1";

pub(super) fn open(
    path: &Path,
    lock_timeout: Duration,
    create: bool,
) -> EngineResult<Option<Box<dyn TextIndex>>> {
    if !create && !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags, lock_timeout)?;
    // The page size takes effect only before the first table is created.
    connection.execute_batch("PRAGMA page_size = 8192;")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // The index can be rebuilt from the log, so losing the last seconds is harmless.
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS position(id INTEGER PRIMARY KEY CHECK (id = 0), next INTEGER NOT NULL);
         INSERT INTO position VALUES (0, 0) ON CONFLICT DO NOTHING;
         CREATE TABLE IF NOT EXISTS scrub(
           id INTEGER PRIMARY KEY CHECK (id = 0), wanted INTEGER NOT NULL, done INTEGER NOT NULL);
         INSERT INTO scrub VALUES (0, 0, 0) ON CONFLICT DO NOTHING;
         CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(body, columnsize = 0);
         INSERT INTO text(text, rank) VALUES ('secure-delete', 1);",
    )?;
    transaction.commit()?;
    Ok(Some(Box::new(Fts { connection, lock_timeout, from: 0 })))
}

impl TextIndex for Fts {
    fn position(&mut self) -> EngineResult<u64> {
        let next: i64 =
            self.connection.query_row("SELECT next FROM position", [], |row| row.get(0))?;
        self.from = uint(next);
        Ok(self.from)
    }

    fn advance(&mut self, step: &IndexStep) -> EngineResult<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Several processes may fill the index. Only the first one advances the position. The text
        // that another process read before may have been erased since.
        let moved = transaction.execute(
            "UPDATE position SET next = ?1 WHERE next = ?2",
            [int(step.position), int(self.from)],
        )?;
        if moved == 0 {
            return Ok(());
        }
        {
            let mut delete = transaction.prepare_cached("DELETE FROM text WHERE rowid = ?1")?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO text(rowid, body) VALUES (?1, ?2)")?;
            for index in step.replace.keys() {
                delete.execute([int(*index)])?;
            }
            for (index, body) in step.add.iter().chain(&step.replace) {
                if !body.is_empty() {
                    insert.execute(params![int(*index), body])?;
                }
            }
            transaction.execute("DELETE FROM text WHERE rowid < ?1", [int(step.below)])?;
        }
        if step.erases {
            transaction.execute(WANT_SCRUB, [])?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn remove(&mut self, index: u64) -> EngineResult<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("DELETE FROM text WHERE rowid = ?1", [int(index)])?;
        transaction.execute(WANT_SCRUB, [])?;
        transaction.commit()?;
        Ok(())
    }

    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        limit: usize,
    ) -> EngineResult<Vec<u64>> {
        // Quote each word, because user input must not be parsed as query syntax.
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

    fn clear(&mut self) -> EngineResult<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("DELETE FROM text", [])?;
        transaction.execute("UPDATE position SET next = 0", [])?;
        transaction.execute(WANT_SCRUB, [])?;
        transaction.commit()?;
        Ok(())
    }

    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        let sql = "SELECT wanted = done FROM scrub";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    fn scrub(&mut self) -> EngineResult<bool> {
        let (wanted, done): (i64, i64) =
            self.connection.query_row("SELECT wanted, done FROM scrub", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if wanted == done {
            return Ok(true);
        }
        let is_scrubbed = truncate_log(&self.connection, self.lock_timeout)?;
        if is_scrubbed {
            self.connection.execute("UPDATE scrub SET done = max(done, ?1)", [wanted])?;
        }
        Ok(is_scrubbed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(add: &[(u64, &str)], position: u64) -> IndexStep {
        let add = add.iter().map(|(index, text)| (*index, (*text).to_owned())).collect();
        IndexStep { add, position, ..IndexStep::default() }
    }

    /// Checks two processes: one reads entries and pauses. The other one indexes them and then
    /// their erasure, before the first one continues.
    #[test]
    fn a_slow_process_does_not_write_erased_text_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let index = || open(&path, Duration::from_secs(5), true).unwrap().unwrap();
        let (mut slow, mut fast) = (index(), index());
        assert_eq!((slow.position().unwrap(), fast.position().unwrap()), (0, 0));
        let read_before = step(&[(0, "marmalade"), (1, "toast")], 2);
        fast.advance(&read_before).unwrap();
        assert_eq!(fast.find("marmalade", 0..9, false, 9).unwrap(), [0]);
        assert_eq!(fast.position().unwrap(), 2);
        let replace = BTreeMap::from([(0, String::new())]);
        fast.advance(&IndexStep { replace, erases: true, position: 3, ..IndexStep::default() })
            .unwrap();
        assert!(!fast.is_scrubbed().unwrap());
        slow.advance(&read_before).unwrap();
        assert_eq!(fast.find("marmalade", 0..9, false, 9).unwrap(), Vec::<u64>::new());
        assert_eq!(fast.find("toast", 0..9, false, 9).unwrap(), [1]);
        assert_eq!((slow.position().unwrap(), fast.position().unwrap()), (3, 3));
        // The slow process continues from the new position.
        slow.advance(&step(&[(3, "honey")], 4)).unwrap();
        assert_eq!(fast.find("honey", 0..9, false, 9).unwrap(), [3]);
        assert!(slow.scrub().unwrap() && fast.is_scrubbed().unwrap());
        let files = std::fs::read_dir(folder.path()).unwrap();
        for file in files.map(|file| file.unwrap().path()) {
            let bytes = std::fs::read(&file).unwrap();
            assert!(!bytes.windows(9).any(|window| window == b"marmalade"), "{}", file.display());
        }
    }
}
