use std::ops::Range;

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Timestamp, UuidV7};
use answerback_ledger::tile::Tile;
use rusqlite::params;

use super::schema::GUARDS;
use super::{SCRUB_DONE, SCRUB_WANTED, SqliteConnection, int, part_ids, truncate_log, uint};
use crate::case::{kind_word, without_words};
use crate::engine::{BlobRow, Engine, EngineRead, EngineResult, EntryRow};
use crate::event::{StoredEvent, StreamDigest};
use crate::tables::{SqlCell, SqlTable};
use crate::{CaseRecord, LogHead, OWN_STREAMS};

fn micros(time: Timestamp) -> i64 {
    let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
    i64::try_from(micros).unwrap_or(i64::MAX)
}

impl SqliteConnection {
    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> EngineResult<u64> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)? as u64)
    }
}

fn json(value: &impl serde::Serialize) -> EngineResult<String> {
    Ok(serde_json::to_string(value)?)
}

impl Engine for SqliteConnection {
    fn begin(&mut self) -> EngineResult<Option<LogHead>> {
        self.execute("BEGIN IMMEDIATE", [])?;
        self.head()
    }

    fn moved(&mut self) -> EngineResult<Option<String>> {
        Ok(self.moved.clone())
    }

    fn initialise(&mut self, origin: &str, signer: &str) -> EngineResult<()> {
        for (key, value) in
            [("format", "1"), ("origin", origin), ("vkey", signer), ("signer", signer)]
        {
            self.execute("INSERT INTO meta(key, value) VALUES (?1, ?2)", [key, value])?;
        }
        let root = answerback_ledger::Hash::of_nothing();
        self.execute("INSERT INTO head VALUES (0, 0, x'', ?1, 0, 0, 0, '')", [root.as_bytes()])?;
        Ok(())
    }

    fn savepoint(&mut self) -> EngineResult<()> {
        Ok(self.connection.execute_batch("SAVEPOINT unit")?)
    }

    fn release(&mut self) -> EngineResult<()> {
        Ok(self.connection.execute_batch("RELEASE unit")?)
    }

    fn rollback_to_savepoint(&mut self) -> EngineResult<()> {
        Ok(self.connection.execute_batch("ROLLBACK TO unit; RELEASE unit")?)
    }

    fn commit(&mut self) -> EngineResult<()> {
        self.execute("COMMIT", [])?;
        self.newest.commit();
        Ok(())
    }

    fn rollback(&mut self) {
        self.newest.rollback();
        if !self.connection.is_autocommit() {
            // If the rollback fails, the connection is dropped next.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn scrub(&mut self) -> EngineResult<bool> {
        // Read the count first: this scrub does not cover erasures after this point.
        let wanted = self.meta(SCRUB_WANTED)?;
        if !truncate_log(&self.connection, self.lock_timeout)? {
            return Ok(false);
        }
        if let Some(wanted) = wanted {
            self.execute(
                "INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE
                 SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)",
                [SCRUB_DONE, &wanted],
            )?;
        }
        Ok(true)
    }

    fn request_scrub(&mut self) -> EngineResult<()> {
        self.execute(
            "INSERT INTO meta(key, value) VALUES (?1, '1') ON CONFLICT (key) DO UPDATE
             SET value = CAST(value AS INTEGER) + 1",
            [SCRUB_WANTED],
        )?;
        Ok(())
    }

    fn dump(
        &mut self,
        table: &SqlTable,
        each: &mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>,
    ) -> EngineResult<()> {
        self.rows_of(table, each)
    }

    fn mark_moved(&mut self, to: &str) -> EngineResult<()> {
        self.set_moved(to)
    }

    fn append_entries(&mut self, rows: &[EntryRow]) -> EngineResult<()> {
        let mut entry = self.connection.prepare_cached(
            "INSERT INTO entry(seq, ts, kind, agent, tool, outcome, request_id, response_id, reply_id, leaf_hash, leaf)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        let mut part = self
            .connection
            .prepare_cached("INSERT INTO part(id, name, salt, bytes) VALUES (?1, ?2, ?3, ?4)")?;
        for row in rows {
            let leaf = &row.leaf;
            entry.execute(params![
                int(row.index),
                leaf.micros(),
                leaf.kind().as_str(),
                leaf.text("agent_id"),
                leaf.text("tool"),
                leaf.text("outcome"),
                row.request_id.as_ref().map(answerback_ledger::LeafId::as_bytes),
                row.response_id.as_ref().map(answerback_ledger::LeafId::as_bytes),
                row.reply_id.as_ref().map(answerback_ledger::LeafId::as_bytes),
                row.hash.as_bytes(),
                leaf.bytes(),
            ])?;
            for (id, held) in part_ids(row.index).zip(&row.parts) {
                let (name, salt) = (held.name().as_str(), held.salt().as_bytes());
                part.execute(params![id, name, salt, &held.bytes()[..]])?;
            }
        }
        drop((entry, part));
        self.append_ids(rows)
    }

    fn append_tiles(&mut self, tiles: &[Tile]) -> EngineResult<()> {
        for tile in tiles {
            self.execute(
                "INSERT INTO tile(level, n, root, data) VALUES (?1, ?2, ?3, ?4)",
                params![tile.level(), int(tile.index()), tile.root().as_bytes(), tile.to_bytes()],
            )?;
            if tile.level() == 0 {
                self.append_facets(tile.index())?;
            }
        }
        Ok(())
    }

    fn store_checkpoint(&mut self, size: u64, note: &str) -> EngineResult<()> {
        self.execute(
            "INSERT OR IGNORE INTO checkpoint(size, note) VALUES (?1, ?2)",
            params![int(size), note],
        )?;
        Ok(())
    }

    fn put_cosignature(&mut self, size: u64, signer: &str, line: &str) -> EngineResult<()> {
        self.execute(
            "INSERT OR IGNORE INTO cosignature(size, signer, line) VALUES (?1, ?2, ?3)",
            params![int(size), signer, line],
        )?;
        Ok(())
    }

    fn save_head(&mut self, head: &LogHead, note: Option<&str>) -> EngineResult<()> {
        self.execute(
            "UPDATE head SET size = ?1, frontier = ?2, root = ?3, last_ts = ?4, minimum = ?5, event_seq = ?6,
               note = coalesce(?7, note)",
            params![
                int(head.size),
                head.frontier.to_bytes(),
                head.root.as_bytes(),
                head.last_ts,
                int(head.minimum),
                int(head.event_seq),
                note,
            ],
        )?;
        if self.signer.as_ref().is_none_or(|(_, known)| *known != head.signer) {
            let signer = head.signer.to_string();
            self.execute("UPDATE meta SET value = ?1 WHERE key = 'signer'", [signer])?;
        }
        Ok(())
    }

    fn replace_retry_state(
        &mut self,
        key: &str,
        expected: Option<u64>,
        state: Option<&RetryState>,
        now: Timestamp,
    ) -> EngineResult<bool> {
        let stored = self.retry_state(key, now)?.map(|stored| stored.revision);
        if stored != expected {
            return Ok(false);
        }
        // Deleting an expired state also deletes its references.
        if stored.is_none() || state.is_none() {
            self.execute("DELETE FROM attempt WHERE key = ?1", [key])?;
        }
        let Some(state) = state else { return Ok(true) };
        // A revision is never reused for a key, even if its state was removed in between.
        let revision = micros(now).max(stored.map_or(0, int) + 1);
        self.execute(
            "INSERT INTO attempt(key, revision, expires, blocked, state) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires,
               blocked = excluded.blocked, state = excluded.state",
            params![
                key,
                revision,
                state.expires().unix_millis(),
                state.is_blocked(),
                json(state)?,
            ],
        )?;
        Ok(true)
    }

    fn store_note(
        &mut self,
        key: &str,
        text: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> EngineResult<()> {
        self.execute("DELETE FROM attempt WHERE key = ?1", [key])?;
        self.execute(
            "INSERT INTO attempt(key, revision, expires, blocked, state) VALUES (?1, ?2, ?3, 0, ?4)",
            params![key, micros(now), expires.unix_millis(), text],
        )?;
        Ok(())
    }

    fn add_attempt_source(&mut self, key: &str, reference: &str) -> EngineResult<()> {
        self.execute(
            "INSERT INTO attempt_source(ref, key) SELECT ?2, key FROM attempt WHERE key = ?1
             ON CONFLICT DO NOTHING",
            [key, reference],
        )?;
        Ok(())
    }

    fn sweep_attempts(&mut self, now: Timestamp, most: u64) -> EngineResult<u64> {
        let lapsed =
            self.execute("DELETE FROM attempt WHERE expires <= ?1", [now.unix_millis()])?;
        let beyond = self.execute(
            "DELETE FROM attempt WHERE key IN (
               SELECT key FROM attempt WHERE blocked = 0 ORDER BY expires
               LIMIT max(0, (SELECT count(*) FROM attempt) - ?1))",
            [int(most)],
        )?;
        Ok(lapsed + beyond)
    }

    fn put_case(&mut self, record: &CaseRecord) -> EngineResult<bool> {
        let case = &record.case;
        let added = self.execute(
            "INSERT INTO case_record(id, kind, decided, expires, revision, created, body, content, private, ref)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING",
            params![
                case.id.as_str().to_ascii_lowercase(),
                kind_word(case.kind),
                case.decision().is_some(),
                case.expires.unix_millis(),
                int(case.revision),
                micros(record.created),
                json(case)?,
                record.content,
                record.private,
                record.reference,
            ],
        )?;
        Ok(added == 1)
    }

    fn swap_case(&mut self, case: &Case, expected: u64) -> EngineResult<bool> {
        let decided = case.decision().is_some();
        let swapped = self.execute(
            "UPDATE case_record SET decided = ?3, expires = ?4, revision = ?5, body = ?6,
               private = iif(?3, NULL, private) WHERE id = ?1 AND revision = ?2",
            params![
                case.id.as_str().to_ascii_lowercase(),
                int(expected),
                decided,
                case.expires.unix_millis(),
                int(case.revision),
                json(case)?,
            ],
        )?;
        Ok(swapped == 1)
    }

    fn add_case_source(&mut self, id: &UuidV7, reference: &str, said: bool) -> EngineResult<()> {
        self.execute(
            "INSERT INTO case_source(ref, id, said) SELECT ?2, id, ?3 FROM case_record WHERE id = ?1
             ON CONFLICT DO NOTHING",
            params![id.as_str().to_ascii_lowercase(), reference, said],
        )?;
        Ok(())
    }

    fn set_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> EngineResult<()> {
        self.execute(
            "UPDATE case_record SET private = ?2 WHERE id = ?1",
            params![id.as_str().to_ascii_lowercase(), private],
        )?;
        Ok(())
    }

    fn sweep_cases(&mut self, now: Timestamp) -> EngineResult<u64> {
        self.execute(
            "UPDATE case_record SET private = NULL
             WHERE expires <= ?1 AND private IS NOT NULL",
            [now.unix_millis()],
        )
    }

    fn append_events(&mut self, events: &[StoredEvent]) -> EngineResult<()> {
        for event in events {
            self.execute(
                "INSERT INTO event(seq, ts, stream, kind, ref, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    int(event.seq),
                    micros(event.time),
                    event.stream,
                    event.kind,
                    event.reference,
                    event.body,
                ],
            )?;
        }
        Ok(())
    }

    fn save_stream(&mut self, name: &str, stream: &StreamDigest) -> EngineResult<()> {
        self.execute(
            "INSERT OR REPLACE INTO stream(name, count, digest, ended) VALUES (?1, ?2, ?3, ?4)",
            params![name, int(stream.count), stream.digest, stream.ended],
        )?;
        Ok(())
    }

    fn prune_events(&mut self, within: Range<u64>) -> EngineResult<u64> {
        self.execute(
            "INSERT OR REPLACE INTO meta(key, value) VALUES ('event_minimum', ?1)",
            [within.end.to_string()],
        )?;
        self.execute(
            "DELETE FROM event WHERE seq >= ?1 AND seq < ?2 AND substr(stream, 1, length(?3)) <> ?3",
            params![int(within.start), int(within.end), OWN_STREAMS],
        )
    }

    fn put_blob(&mut self, blob: &BlobRow<'_>) -> EngineResult<()> {
        self.execute(
            "INSERT INTO blob(sha256, ts, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![blob.digest, blob.micros, blob.bytes],
        )?;
        if let Some(reference) = blob.reference {
            self.execute(
                "INSERT INTO blob_ref(ref, sha256) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![reference, blob.digest],
            )?;
        }
        Ok(())
    }

    fn erase_part(&mut self, index: u64, name: &str) -> EngineResult<bool> {
        let ids = part_ids(index);
        let removed = self.execute(
            "DELETE FROM part WHERE id >= ?1 AND id < ?2 AND name = ?3",
            params![ids.start, ids.end, name],
        )?;
        Ok(removed == 1)
    }

    fn erase_references(&mut self, reference: &str) -> EngineResult<()> {
        self.erase_of("SELECT ?1", reference)
    }

    fn prune_entries(&mut self, below: u64) -> EngineResult<u64> {
        self.erase_of("SELECT 'entry/' || seq FROM entry WHERE seq < ?1", int(below))?;
        // The first remaining entry may be signed by a newer key than the first entry of the log.
        self.execute(
            "UPDATE meta SET value = coalesce((
               SELECT json_extract(CAST(leaf AS TEXT), '$.vkey') FROM entry
               WHERE seq < ?1 AND kind = 'config' AND json_extract(CAST(leaf AS TEXT), '$.subject') = 'key'
               ORDER BY seq DESC LIMIT 1), value) WHERE key = 'vkey'",
            [int(below)],
        )?;
        self.connection.execute_batch("DROP TRIGGER entry_delete")?;
        self.execute("DELETE FROM part WHERE id < ?1", [part_ids(below).start])?;
        self.prune_facets(below)?;
        self.prune_ids(below)?;
        let removed = self.execute("DELETE FROM entry WHERE seq < ?1", [int(below)])?;
        let guard = GUARDS.lines().find(|line| line.contains("TRIGGER entry_delete "));
        self.connection.execute_batch(guard.unwrap_or_default())?;
        Ok(uint(int(removed)))
    }
}

impl SqliteConnection {
    /// Erases the content of everything with a reference that the query returns, and of cases and
    /// retry states that come from it.
    fn erase_of(&self, references: &str, value: impl rusqlite::ToSql + Copy) -> EngineResult<()> {
        let value: [&dyn rusqlite::ToSql; 1] = [&value];
        let filter = format!("ref IN ({references})");
        self.execute(&format!("UPDATE event SET body = NULL WHERE {filter}"), value)?;
        self.execute(
            &format!(
                "UPDATE case_record SET content = x'', private = NULL
                 WHERE id IN (SELECT id FROM case_source WHERE said = 0 AND {filter})"
            ),
            value,
        )?;
        // A person's words may quote the shown content, so they are erased together with it.
        let cases: Vec<(String, String)> = self.rows(
            &format!(
                "SELECT id, body FROM case_record WHERE id IN (SELECT id FROM case_source WHERE {filter})"
            ),
            value,
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (id, body) in cases {
            self.execute(
                "UPDATE case_record SET body = ?2, private = iif(decided, NULL, private) WHERE id = ?1",
                params![id, without_words(&body)?],
            )?;
            self.execute("UPDATE event SET body = NULL WHERE ref = 'case/' || ?1", [id])?;
        }
        for sql in [
            format!("DELETE FROM case_source WHERE {filter}"),
            format!(
                "DELETE FROM attempt WHERE key IN (SELECT key FROM attempt_source WHERE {filter})"
            ),
            // A blob that has another reference stays.
            format!(
                "DELETE FROM blob WHERE sha256 IN (SELECT sha256 FROM blob_ref WHERE {filter})
                 AND NOT EXISTS (SELECT 1 FROM blob_ref AS other WHERE other.sha256 = blob.sha256
                   AND other.ref NOT IN ({references}))"
            ),
            format!("DELETE FROM blob_ref WHERE {filter}"),
        ] {
            self.execute(&sql, value)?;
        }
        Ok(())
    }
}
