//! The index of entries by their ids.
//!
//! Ids are random. A plain index would change a separate page for nearly every id of a batch. That
//! costs more bytes than the entries themselves, and the cost grows with the log. So ids are
//! indexed late, in three stages:
//!
//! - The *newest* ids are in no table. A writer reads them from the entries of all processes and
//!   holds them in memory. A reader scans those entries.
//! - After [`TOGETHER`] entries they go into the *young* table in sorted order. Each of its pages
//!   then changes once for many ids.
//! - When the young table is large, each step moves one range of ids into the *old* table, and the
//!   next step the next range. So only the pages of that range change, however large the old table
//!   is.
//!
//! The tables only say where to look. The row of the entry itself contains the ids.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use answerback_ledger::LeafId;
use rusqlite::{Connection, OptionalExtension, params};

use super::{SqliteConnection, int, uint};
use crate::engine::{EngineError, EngineResult, EntryRow};

/// The number of entries whose ids are collected before they go into the young table. A larger
/// number makes the step that writes them longer. It also makes a reader scan more entries.
const TOGETHER: u64 = if cfg!(test) { 16 } else { 4096 };

/// The number of ids in the young table above which ids move to the old table. A larger number
/// means a smaller range of the old table per step, but more changed pages of the young table.
const YOUNG: i64 = if cfg!(test) { 100 } else { 200_000 };

pub(super) const TABLES: &str = "
CREATE TABLE id_young(id BLOB NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (id, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE id_old(id BLOB NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (id, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE id_state(
  one INTEGER PRIMARY KEY CHECK (one = 0), indexed INTEGER NOT NULL, young INTEGER NOT NULL,
  moved_id BLOB NOT NULL, moved_seq INTEGER NOT NULL
) STRICT;
INSERT INTO id_state VALUES (0, 0, 0, x'', 0);
";

/// The first version with these tables. They replace the indexes of the version before it.
pub(super) const SINCE: i64 = 5;

/// Upgrades the tables of the previous version.
pub(super) fn upgrade(connection: &Connection) -> EngineResult<()> {
    connection.execute_batch(TABLES)?;
    connection.execute_batch(
        "DROP INDEX entry_request; DROP INDEX entry_response; DROP INDEX entry_reply;
         INSERT OR IGNORE INTO id_old(id, seq)
           SELECT request_id, seq FROM entry WHERE request_id IS NOT NULL
           UNION SELECT response_id, seq FROM entry WHERE response_id IS NOT NULL
           UNION SELECT reply_id, seq FROM entry WHERE reply_id IS NOT NULL AND response_id IS NULL
           ORDER BY 1, 2;
         UPDATE id_state SET indexed = (SELECT coalesce(max(seq) + 1, 0) FROM entry);",
    )?;
    Ok(())
}

/// An id with the index of its entry.
type IdRow = (LeafId, u64);

/// Holds the ids of the newest entries for a writer.
#[derive(Debug, Default)]
pub(super) struct Newest {
    /// The range of entries that these ids come from. It starts at the first entry that is in no
    /// table.
    entries: Range<u64>,
    ids: BTreeSet<IdRow>,
    /// The ids that the running transaction adds.
    added: Vec<IdRow>,
    /// The range of entries after the running transaction commits.
    next: Option<Range<u64>>,
}

impl Newest {
    pub(super) fn commit(&mut self) {
        let Some(next) = self.next.take() else { return };
        if next.is_empty() {
            self.ids.clear();
            self.added.clear();
        }
        self.ids.extend(self.added.drain(..));
        self.entries = next;
    }

    pub(super) fn rollback(&mut self) {
        self.next = None;
        self.added.clear();
    }

    fn with(&self, id: LeafId) -> impl Iterator<Item = u64> {
        let all = (Bound::Included((id, 0)), Bound::Included((id, u64::MAX)));
        self.ids.range(all).map(|(_, seq)| *seq)
    }
}

/// Returns the ids by which an entry can be found. A reply id counts only if the entry has no
/// response id.
fn ids_of(row: &EntryRow) -> impl Iterator<Item = IdRow> {
    let reply = row.reply_id.filter(|_| row.response_id.is_none());
    [row.request_id, row.response_id, reply].into_iter().flatten().map(|id| (id, row.index))
}

impl SqliteConnection {
    /// Returns the entries that may have an id, in order. The list is complete, but may include
    /// entries with the id in another column.
    pub(super) fn entries_with(&mut self, id: LeafId) -> EngineResult<Vec<u64>> {
        let mut found = if self.is_writer {
            self.follow()?;
            let mut found = self.seqs(
                "SELECT seq FROM id_young WHERE id = ?1 UNION ALL SELECT seq FROM id_old WHERE id = ?1",
                id,
            )?;
            found.extend(self.newest.with(id));
            found
        } else if self.has_id_tables()? {
            // One statement reads one state, so no id can move in the meantime.
            self.seqs(
                "SELECT seq FROM id_young WHERE id = ?1 UNION ALL SELECT seq FROM id_old WHERE id = ?1
                 UNION ALL SELECT seq FROM entry WHERE seq >= (SELECT indexed FROM id_state)
                   AND ?1 IN (request_id, response_id, reply_id)",
                id,
            )?
        } else {
            self.seqs("SELECT seq FROM entry WHERE ?1 IN (request_id, response_id, reply_id)", id)?
        };
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn seqs(&self, sql: &str, id: LeafId) -> EngineResult<Vec<u64>> {
        self.rows(sql, [id.as_bytes()], |row| Ok(uint(row.get(0)?)))
    }

    /// True if the id tables exist. A file that was not written since an upgrade may have an older
    /// version.
    fn has_id_tables(&self) -> EngineResult<bool> {
        let version: Option<i64> = self.column("PRAGMA user_version", [])?;
        Ok(version.is_some_and(|version| version >= SINCE))
    }

    /// Adds the ids of the entries that the running transaction writes. If enough have been
    /// collected, they go into the young table.
    pub(super) fn append_ids(&mut self, rows: &[EntryRow]) -> EngineResult<()> {
        let Some(last) = rows.last() else { return Ok(()) };
        self.follow()?;
        self.newest.added.extend(rows.iter().flat_map(ids_of));
        let mut next = self.newest.entries.start..last.index + 1;
        if next.end - next.start >= TOGETHER {
            self.age(next.end)?;
            next.start = next.end;
        }
        self.newest.next = Some(next);
        Ok(())
    }

    /// Adds the ids of entries that other processes appended.
    fn follow(&mut self) -> EngineResult<()> {
        // Only appending moves ids between tables. If no entry was appended, nothing has moved.
        if self.newest.entries.end == self.size {
            return Ok(());
        }
        let indexed = self.column("SELECT indexed FROM id_state", [])?.map_or(0, uint);
        let is_known = indexed == self.newest.entries.start && self.newest.entries.end < self.size;
        let from = if is_known { self.newest.entries.end } else { indexed };
        let ids = self.ids_of(from..self.size)?;
        if !is_known {
            self.newest.ids.clear();
        }
        self.newest.ids.extend(ids);
        self.newest.entries = indexed..self.size.max(indexed);
        Ok(())
    }

    /// Reads the ids of entries from their rows.
    fn ids_of(&self, entries: Range<u64>) -> EngineResult<Vec<IdRow>> {
        let rows: Vec<(i64, [Option<Vec<u8>>; 3])> = self.rows(
            "SELECT seq, request_id, response_id, iif(response_id IS NULL, reply_id, NULL) FROM entry
             WHERE seq >= ?1 AND seq < ?2",
            params![int(entries.start), int(entries.end)],
            |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])),
        )?;
        let mut found = Vec::new();
        for (seq, ids) in rows {
            for bytes in ids.into_iter().flatten() {
                let bytes = <[u8; 16]>::try_from(bytes)
                    .map_err(|_| EngineError::damaged("an id has 16 bytes".to_owned()))?;
                found.push((LeafId::from(bytes), uint(seq)));
            }
        }
        Ok(found)
    }

    /// Writes the newest ids into the young table, and moves about as many ids from it into the old
    /// table.
    fn age(&self, indexed: u64) -> EngineResult<()> {
        let mut added = self.newest.added.clone();
        added.extend(&self.newest.ids);
        // Insert in the table's order, so that each page is changed only once.
        added.sort_unstable();
        let mut insert = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO id_young(id, seq) VALUES (?1, ?2)")?;
        let mut young: i64 = self.column("SELECT young FROM id_state", [])?.unwrap_or(0);
        for (id, seq) in &added {
            young += i64::try_from(insert.execute(params![id.as_bytes(), int(*seq)])?).unwrap_or(0);
        }
        self.execute("UPDATE id_state SET indexed = ?1, young = ?2", params![int(indexed), young])?;
        if young > YOUNG {
            // Move slightly more ids than were added, so that the young table does not grow.
            self.move_on(added.len() + added.len() / 4)?;
        }
        Ok(())
    }

    /// Moves the next `count` ids into the old table, starting after the last moved id. At the end
    /// of the young table it starts over.
    fn move_on(&self, count: usize) -> EngineResult<()> {
        let stretch: Option<(Vec<u8>, i64)> = self
            .connection
            .prepare_cached(
                "SELECT id, seq FROM (SELECT id, seq FROM id_young
                   WHERE (id, seq) > (SELECT moved_id, moved_seq FROM id_state) ORDER BY id, seq LIMIT ?1)
                 ORDER BY id DESC, seq DESC LIMIT 1",
            )?
            .query_row([i64::try_from(count).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((id, seq)) = stretch else {
            self.execute("UPDATE id_state SET moved_id = x'', moved_seq = 0", [])?;
            return Ok(());
        };
        self.execute(
            "INSERT OR IGNORE INTO id_old(id, seq) SELECT id, seq FROM id_young
             WHERE (id, seq) > (SELECT moved_id, moved_seq FROM id_state) AND (id, seq) <= (?1, ?2)
             ORDER BY id, seq",
            params![id, seq],
        )?;
        let moved = self.execute(
            "DELETE FROM id_young
             WHERE (id, seq) > (SELECT moved_id, moved_seq FROM id_state) AND (id, seq) <= (?1, ?2)",
            params![id, seq],
        )?;
        self.execute(
            "UPDATE id_state SET young = young - ?1, moved_id = ?2, moved_seq = ?3",
            params![int(moved), id, seq],
        )?;
        Ok(())
    }

    /// Removes the ids of entries below this index. The entries must still exist.
    pub(super) fn prune_ids(&mut self, below: u64) -> EngineResult<()> {
        let mut gone = self.ids_of(0..below)?;
        gone.sort_unstable();
        let mut young = 0;
        for (id, seq) in gone {
            let row = params![id.as_bytes(), int(seq)];
            young += self.execute("DELETE FROM id_young WHERE id = ?1 AND seq = ?2", row)?;
            self.execute("DELETE FROM id_old WHERE id = ?1 AND seq = ?2", row)?;
        }
        self.execute("UPDATE id_state SET young = young - ?1", [int(young)])?;
        // The ids in memory are read again from the remaining entries.
        self.newest = Newest::default();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use answerback_ledger::{Draft, LeafId, LeafToken};
    use rusqlite::Connection;

    use super::{TOGETHER, YOUNG};
    use crate::{AppendedEntry, EntryFilter, Settings, Store, StoreError};

    /// A store file that several stores have open, like several processes.
    struct SharedFile {
        folder: tempfile::TempDir,
        stores: Vec<Store>,
    }

    impl SharedFile {
        fn new(stores: usize) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut shared = Self { folder, stores: Vec::new() };
            shared.stores = (0..stores).map(|_| shared.open()).collect();
            shared
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("store.db")
        }

        fn open(&self) -> Store {
            let settings = Settings::new(self.folder.path().join("ledger.key"));
            Store::open_sqlite(self.file(), settings).unwrap()
        }

        fn connection(&self) -> Connection {
            Connection::open(self.file()).unwrap()
        }

        /// Appends entries through the stores in turn.
        fn append(&self, draft: Draft) -> Result<AppendedEntry, StoreError> {
            let turn = usize::try_from(self.stores[0].head().unwrap().size).unwrap();
            self.stores[turn / 3 % self.stores.len()]
                .append(draft)
                .unwrap()
                .wait()
                .map(|done| done.value)
        }
    }

    /// Returns an id without order. A reply id starts with its number, and so has an order.
    fn id(number: u64) -> LeafId {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        LeafId::from(bytes)
    }

    fn reply_id(number: u64) -> LeafId {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        LeafId::from(bytes)
    }

    const REQUEST: u64 = 1_000_000;

    /// Creates the response to a request. Its id is its own response id, its request's id or a
    /// reply id.
    fn answer(number: u64) -> Draft {
        let draft = Draft::response().with_request_id(id(REQUEST + number));
        let draft = draft.with_outcome(&LeafToken::new("ok").unwrap());
        match number % 3 {
            0 => draft.with_response_id(id(number)).with_reply_id(reply_id(number)),
            1 => draft.with_response_id(id(REQUEST + number)),
            _ => draft.with_reply_id(reply_id(number)),
        }
    }

    fn answer_id(number: u64) -> LeafId {
        match number % 3 {
            0 => id(number),
            1 => id(REQUEST + number),
            _ => reply_id(number),
        }
    }

    /// Appends requests and, 40 requests later, their responses. Returns the index of each
    /// response.
    fn tell(shared: &SharedFile, count: u64) -> BTreeMap<u64, u64> {
        let mut answers = BTreeMap::new();
        for number in 0..count + 40 {
            if number < count {
                let request = Draft::request().with_request_id(id(REQUEST + number));
                shared.append(request.with_tool("test")).unwrap();
            }
            if let Some(number) = number.checked_sub(40) {
                answers.insert(number, shared.append(answer(number)).unwrap().index);
            }
        }
        answers
    }

    fn assert_found(store: &Store, answers: &BTreeMap<u64, u64>) {
        for (number, index) in answers {
            assert_eq!(store.reply_index(answer_id(*number)).unwrap(), Some(*index), "{number}");
            let filter = EntryFilter::default().with_request_id(id(REQUEST + number));
            let found = store.entries(&filter, None, 10).unwrap().entries;
            let found: Vec<u64> = found.iter().map(|entry| entry.index).collect();
            assert!(found.len() == 2 && found[1] == *index, "{number}: {found:?}");
        }
        assert_eq!(store.reply_index(id(999)).unwrap(), None);
    }

    fn count(shared: &SharedFile, sql: &str) -> i64 {
        shared.connection().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_id_is_found_wherever_it_has_got_to() {
        let shared = SharedFile::new(3);
        let answers = tell(&shared, 400);
        for store in &shared.stores {
            assert_found(store, &answers);
        }
        assert_found(&Store::read_sqlite(shared.file()).unwrap(), &answers);
        // A newly opened store finds the older entries, and repeating a response appends nothing.
        let shared = SharedFile { stores: vec![shared.open()], folder: shared.folder };
        for number in [0, 1, 2, 150, 151, 152, 397, 398, 399] {
            let again = shared.append(answer(number)).unwrap();
            assert_eq!((again.index, again.is_repeated), (answers[&number], true), "{number}");
            let other = answer(number).with_response_id(id(5000 + number));
            let error = shared.append(other).unwrap_err();
            assert!(matches!(error, StoreError::AlreadyAnswered { .. }), "{number}: {error}");
        }
    }

    #[test]
    fn each_id_is_in_one_place() {
        let shared = SharedFile::new(2);
        let answers = tell(&shared, 600);
        let size = i64::try_from(shared.stores[0].head().unwrap().size).unwrap();
        let (young, old) = (
            count(&shared, "SELECT count(*) FROM id_young"),
            count(&shared, "SELECT count(*) FROM id_old"),
        );
        let newest = size - count(&shared, "SELECT indexed FROM id_state");
        assert_eq!(young, count(&shared, "SELECT young FROM id_state"));
        assert!(
            young > 0 && young <= YOUNG + 4 * i64::try_from(TOGETHER).unwrap(),
            "{young} young"
        );
        assert!(newest >= 0 && newest < i64::try_from(TOGETHER).unwrap(), "{newest} in none");
        let both = "SELECT count(*) FROM id_young JOIN id_old USING (id, seq)";
        assert_eq!(count(&shared, both), 0);
        let all = "SELECT count(*) FROM (
            SELECT request_id, seq FROM entry UNION SELECT response_id, seq FROM entry
            UNION SELECT iif(response_id IS NULL, reply_id, NULL), seq FROM entry)
            WHERE request_id IS NOT NULL AND seq < (SELECT indexed FROM id_state)";
        assert_eq!(young + old, count(&shared, all));
        // Pruned ids are in neither table.
        shared.stores[0].prune(512, &mut |_| ()).unwrap();
        let left = "SELECT count(*) FROM (SELECT seq FROM id_young UNION ALL SELECT seq FROM id_old) WHERE seq < 512";
        assert_eq!(count(&shared, left), 0);
        assert_eq!(
            count(&shared, "SELECT count(*) - (SELECT young FROM id_state) FROM id_young"),
            0
        );
        let kept: BTreeMap<u64, u64> =
            answers.into_iter().filter(|(number, _)| number * 2 > 600).collect();
        for store in &shared.stores {
            assert_found(store, &kept);
            assert_eq!(store.reply_index(answer_id(3)).unwrap(), None);
        }
    }

    /// Changes the file back to the previous version of the tables.
    fn make_older(file: &Path) {
        let older = Connection::open(file).unwrap();
        let sql = "DROP TABLE id_young; DROP TABLE id_old; DROP TABLE id_state;
            CREATE INDEX entry_request ON entry(request_id) WHERE request_id IS NOT NULL;
            CREATE INDEX entry_response ON entry(response_id)
              WHERE response_id IS NOT NULL AND response_id IS NOT request_id;
            CREATE INDEX entry_reply ON entry(reply_id) WHERE reply_id IS NOT NULL AND response_id IS NULL;
            PRAGMA user_version = 4;";
        older.execute_batch(sql).unwrap();
    }

    #[test]
    fn a_store_of_the_version_before_is_read_and_brought_up_to_date() {
        let SharedFile { folder, stores } = {
            let shared = SharedFile::new(1);
            tell(&shared, 50);
            shared
        };
        let mut shared = SharedFile { folder, stores };
        let answers: BTreeMap<u64, u64> = (0..50)
            .map(|number| {
                (number, shared.stores[0].reply_index(answer_id(number)).unwrap().unwrap())
            })
            .collect();
        shared.stores.clear();
        make_older(&shared.file());
        assert_found(&Store::read_sqlite(shared.file()).unwrap(), &answers);
        shared.stores.push(shared.open());
        assert_found(&shared.stores[0], &answers);
        assert!(shared.append(answer(7)).unwrap().is_repeated);
        // Each request has one id. Each response has its request's id, and 33 of them also an id of
        // their own.
        assert_eq!(count(&shared, "SELECT count(*) FROM id_old"), 50 + 50 + 17 + 16);
        assert_eq!(count(&shared, "SELECT count(*) FROM pragma_index_list('entry')"), 0);
    }
}
