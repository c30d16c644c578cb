use std::ops::Range;

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Timestamp, UuidV7};
use answerback_ledger::tile::Tile;
use answerback_ledger::{Hash, LeafId, LeafKind};
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{ToSql, Type};

use super::session::{Ahead, Parameter, PostgresConnection};
use super::value::{int, text, uint};
use crate::case::{kind_word, without_words};
use crate::engine::{
    BlobRow, Engine, EngineError, EngineFailure, EngineRead, EngineResult, EntryRow, LookupHint,
    Rows,
};
use crate::event::{StoredEvent, StreamDigest};
use crate::tables::{SqlCell, SqlColumn, SqlTable};
use crate::{CaseRecord, LogHead, OWN_STREAMS};

fn micros(time: Timestamp) -> i64 {
    let micros = time.nanos_since(Timestamp::from_unix_micros(0)) / 1000;
    i64::try_from(micros).unwrap_or(i64::MAX)
}

fn json(value: &impl serde::Serialize) -> EngineResult<String> {
    Ok(serde_json::to_string(value)?)
}

fn optional(value: Option<&str>) -> EngineResult<Option<&str>> {
    value.map(text).transpose()
}

/// Returns one kind of id for each row.
fn ids(rows: &[EntryRow], id: impl Fn(&EntryRow) -> Option<&LeafId>) -> Vec<Option<&[u8]>> {
    rows.iter().map(|row| id(row).map(|id| id.as_bytes().as_slice())).collect()
}

impl Engine for PostgresConnection {
    fn begin(&mut self) -> EngineResult<Option<LogHead>> {
        if self.client.is_closed() {
            self.reconnect()?;
        }
        self.ahead = Ahead::default();
        self.lock()?;
        self.read_head()
    }

    fn now(&self) -> Option<i64> {
        self.now
    }

    fn look_up_ahead(&mut self, kinds: &[LeafKind], hints: &[LookupHint]) -> EngineResult<()> {
        self.fill_ahead(kinds, hints)
    }

    fn moved(&mut self) -> EngineResult<Option<String>> {
        Ok(self.moved.clone())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn initialise(&mut self, origin: &str, signer: &str) -> EngineResult<()> {
        self.execute(
            "INSERT INTO meta(key, value)
             VALUES ('format', '1'), ('origin', $1), ('vkey', $2), ('signer', $2)",
            &[&origin, &signer],
        )?;
        let root = Hash::of_nothing();
        self.execute(
            "INSERT INTO head VALUES (0, 0, '', $1, 0, 0, 0, '')",
            &[&root.as_bytes().as_slice()],
        )?;
        Ok(())
    }

    fn savepoint(&mut self) -> EngineResult<()> {
        Ok(self.client.batch_execute("SAVEPOINT unit")?)
    }

    fn release(&mut self) -> EngineResult<()> {
        Ok(self.client.batch_execute("RELEASE unit")?)
    }

    fn rollback_to_savepoint(&mut self) -> EngineResult<()> {
        Ok(self.client.batch_execute("ROLLBACK TO unit; RELEASE unit")?)
    }

    fn commit(&mut self) -> EngineResult<()> {
        self.batch += 1;
        self.is_begun = false;
        // Record the batch in the same message as the commit. Then the outcome can be looked up
        // later without an extra round trip now.
        let committed = self.client.batch_execute(&format!(
            "INSERT INTO writer VALUES ('{}', {}, extract(epoch FROM clock_timestamp())::bigint)
             ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, ts = excluded.ts; COMMIT",
            self.writer, self.batch
        ));
        match committed.map_err(EngineError::from) {
            Err(lost) if lost.failure == EngineFailure::Disconnected => self.resolve(lost),
            Err(error) => {
                // The server responded, so the transaction failed and still needs a rollback.
                self.is_begun = true;
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    fn rollback(&mut self) {
        if self.is_begun && !self.client.is_closed() {
            // If the rollback fails, the connection is lost, and the server discards the
            // transaction.
            let _ = self.client.batch_execute("ROLLBACK");
        }
        self.is_begun = false;
    }

    fn scrub(&mut self) -> EngineResult<bool> {
        // The server's vacuum removes dead rows. A client cannot access the server's files.
        Ok(true)
    }

    fn append_entries(&mut self, rows: &[EntryRow]) -> EngineResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let texts = |name: &str| -> Vec<Option<&str>> {
            rows.iter().map(|row| row.leaf.text(name)).collect()
        };
        let indexes: Vec<i64> = rows.iter().map(|row| int(row.index)).collect();
        let times: Vec<i64> = rows.iter().map(|row| row.leaf.micros()).collect();
        let kinds: Vec<&str> = rows.iter().map(|row| row.leaf.kind().as_str()).collect();
        let hashes: Vec<&[u8]> = rows.iter().map(|row| row.hash.as_bytes().as_slice()).collect();
        let leaves: Vec<&[u8]> = rows.iter().map(|row| row.leaf.bytes()).collect();
        self.execute(
            "INSERT INTO entry(seq, ts, kind, agent, tool, outcome, request_id, response_id, reply_id, leaf_hash, leaf)
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],
               $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[])",
            &[
                &indexes,
                &times,
                &kinds,
                &texts("agent_id"),
                &texts("tool"),
                &texts("outcome"),
                &ids(rows, |row| row.request_id.as_ref()),
                &ids(rows, |row| row.response_id.as_ref()),
                &ids(rows, |row| row.reply_id.as_ref()),
                &hashes,
                &leaves,
            ],
        )?;
        let parts: Vec<_> = rows
            .iter()
            .flat_map(|row| row.parts.iter().map(move |part| (row.index, part)))
            .collect();
        if parts.is_empty() {
            return Ok(());
        }
        let indexes: Vec<i64> = parts.iter().map(|(index, _)| int(*index)).collect();
        let names: Vec<&str> = parts.iter().map(|(_, part)| part.name().as_str()).collect();
        let salts: Vec<&[u8]> =
            parts.iter().map(|(_, part)| part.salt().as_bytes().as_slice()).collect();
        let bytes: Vec<&[u8]> = parts.iter().map(|(_, part)| &part.bytes()[..]).collect();
        self.execute(
            "INSERT INTO part(seq, name, salt, bytes)
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[])",
            &[&indexes, &names, &salts, &bytes],
        )?;
        Ok(())
    }

    fn append_tiles(&mut self, tiles: &[Tile]) -> EngineResult<()> {
        for tile in tiles {
            let root = tile.root();
            self.execute(
                "INSERT INTO tile(level, n, root, data) VALUES ($1, $2, $3, $4)",
                &[
                    &i64::from(tile.level()),
                    &int(tile.index()),
                    &root.as_bytes().as_slice(),
                    &tile.to_bytes(),
                ],
            )?;
        }
        Ok(())
    }

    fn store_checkpoint(&mut self, size: u64, note: &str) -> EngineResult<()> {
        self.execute(
            "INSERT INTO checkpoint(size, note) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            &[&int(size), &note],
        )?;
        Ok(())
    }

    fn put_cosignature(&mut self, size: u64, signer: &str, line: &str) -> EngineResult<()> {
        self.execute(
            "INSERT INTO cosignature(size, signer, line) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&int(size), &signer, &line],
        )?;
        Ok(())
    }

    fn save_head(&mut self, head: &LogHead, note: Option<&str>) -> EngineResult<()> {
        self.execute(
            "WITH signed AS (UPDATE meta SET value = $7 WHERE key = 'signer' AND value <> $7)
             UPDATE head SET size = $1, frontier = $2, root = $3, last_ts = $4, minimum = $5, event_seq = $6,
               note = coalesce($8, note) WHERE id = 0",
            &[
                &int(head.size),
                &head.frontier.to_bytes(),
                &head.root.as_bytes().as_slice(),
                &head.last_ts,
                &int(head.minimum),
                &int(head.event_seq),
                &head.signer.to_string(),
                &note,
            ],
        )?;
        Ok(())
    }

    fn load(&mut self, table: &SqlTable, rows: Rows<'_>) -> EngineResult<u64> {
        let types: Vec<Type> = table.columns.iter().map(|(_, column)| typed(*column)).collect();
        let sql = format!("COPY {}({}) FROM STDIN BINARY", table.name, table.list());
        let mut writer = BinaryCopyInWriter::new(self.client.copy_in(&sql)?, &types);
        rows(&mut |row| {
            let values: Vec<Box<dyn ToSql + Sync>> =
                row.into_iter().zip(&types).map(|(cell, kind)| value(cell, kind)).collect();
            let values: Vec<Parameter<'_>> = values.iter().map(AsRef::as_ref).collect();
            Ok(writer.write(&values)?)
        })?;
        Ok(writer.finish()?)
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
            self.execute("DELETE FROM attempt WHERE key = $1", &[&key])?;
        }
        let Some(state) = state else { return Ok(true) };
        // A revision is never reused for a key, even if its state was removed in between.
        let revision = micros(now).max(stored.map_or(0, int) + 1);
        self.execute(
            "INSERT INTO attempt(key, revision, expires, blocked, state) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires,
               blocked = excluded.blocked, state = excluded.state",
            &[
                &key,
                &revision,
                &state.expires().unix_millis(),
                &state.is_blocked(),
                &json(state)?,
            ],
        )?;
        Ok(true)
    }

    fn store_note(
        &mut self,
        key: &str,
        note: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> EngineResult<()> {
        self.execute("DELETE FROM attempt WHERE key = $1", &[&key])?;
        self.execute(
            "INSERT INTO attempt(key, revision, expires, blocked, state) VALUES ($1, $2, $3, false, $4)",
            &[&key, &micros(now), &expires.unix_millis(), &text(note)?],
        )?;
        Ok(())
    }

    fn add_attempt_source(&mut self, key: &str, reference: &str) -> EngineResult<()> {
        self.execute(
            "INSERT INTO attempt_source(ref, key) SELECT $2, key FROM attempt WHERE key = $1
             ON CONFLICT DO NOTHING",
            &[&key, &reference],
        )?;
        Ok(())
    }

    fn sweep_attempts(&mut self, now: Timestamp, most: u64) -> EngineResult<u64> {
        let lapsed =
            self.execute("DELETE FROM attempt WHERE expires <= $1", &[&now.unix_millis()])?;
        let beyond = self.execute(
            "DELETE FROM attempt WHERE key IN (
               SELECT key FROM attempt WHERE NOT blocked ORDER BY expires
               LIMIT greatest(0, (SELECT count(*) FROM attempt) - $1::bigint))",
            &[&int(most)],
        )?;
        Ok(lapsed + beyond)
    }

    fn put_case(&mut self, record: &CaseRecord) -> EngineResult<bool> {
        let case = &record.case;
        let added = self.execute(
            "INSERT INTO case_record(id, kind, decided, expires, revision, created, body, content, private, ref)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING",
            &[
                &case.id.as_str().to_ascii_lowercase(),
                &kind_word(case.kind),
                &case.decision().is_some(),
                &case.expires.unix_millis(),
                &int(case.revision),
                &micros(record.created),
                &json(case)?,
                &record.content,
                &record.private,
                &optional(record.reference.as_deref())?,
            ],
        )?;
        Ok(added == 1)
    }

    fn swap_case(&mut self, case: &Case, expected: u64) -> EngineResult<bool> {
        let swapped = self.execute(
            "UPDATE case_record SET decided = $3, expires = $4, revision = $5, body = $6,
               private = CASE WHEN $3 THEN NULL ELSE private END WHERE id = $1 AND revision = $2",
            &[
                &case.id.as_str().to_ascii_lowercase(),
                &int(expected),
                &case.decision().is_some(),
                &case.expires.unix_millis(),
                &int(case.revision),
                &json(case)?,
            ],
        )?;
        Ok(swapped == 1)
    }

    fn add_case_source(&mut self, id: &UuidV7, reference: &str, said: bool) -> EngineResult<()> {
        self.execute(
            "INSERT INTO case_source(ref, id, said) SELECT $2, id, $3 FROM case_record WHERE id = $1
             ON CONFLICT DO NOTHING",
            &[&id.as_str().to_ascii_lowercase(), &reference, &said],
        )?;
        Ok(())
    }

    fn set_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> EngineResult<()> {
        self.execute(
            "UPDATE case_record SET private = $2 WHERE id = $1",
            &[&id.as_str().to_ascii_lowercase(), &private],
        )?;
        Ok(())
    }

    fn sweep_cases(&mut self, now: Timestamp) -> EngineResult<u64> {
        self.execute(
            "UPDATE case_record SET private = NULL
             WHERE expires <= $1 AND private IS NOT NULL",
            &[&now.unix_millis()],
        )
    }

    fn append_events(&mut self, events: &[StoredEvent]) -> EngineResult<()> {
        if events.is_empty() {
            return Ok(());
        }
        let numbers: Vec<i64> = events.iter().map(|event| int(event.seq)).collect();
        let times: Vec<i64> = events.iter().map(|event| micros(event.time)).collect();
        let streams: Vec<&str> = events.iter().map(|event| event.stream.as_str()).collect();
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        let references: Vec<Option<&str>> =
            events.iter().map(|event| event.reference.as_deref()).collect();
        let bodies: Vec<Option<&[u8]>> = events.iter().map(|event| event.body.as_deref()).collect();
        self.execute(
            "INSERT INTO event(seq, ts, stream, kind, ref, body)
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bytea[])",
            &[&numbers, &times, &streams, &kinds, &references, &bodies],
        )?;
        Ok(())
    }

    fn save_stream(&mut self, name: &str, stream: &StreamDigest) -> EngineResult<()> {
        self.execute(
            "INSERT INTO stream(name, count, digest, ended) VALUES ($1, $2, $3, $4)
             ON CONFLICT (name) DO UPDATE SET count = excluded.count, digest = excluded.digest,
               ended = excluded.ended",
            &[&name, &int(stream.count), &stream.digest.as_slice(), &stream.ended],
        )?;
        Ok(())
    }

    fn prune_events(&mut self, within: Range<u64>) -> EngineResult<u64> {
        self.execute(
            "INSERT INTO meta(key, value) VALUES ('event_minimum', $1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            &[&within.end.to_string()],
        )?;
        self.execute(
            "DELETE FROM event WHERE seq >= $1 AND seq < $2 AND left(stream, length($3)) <> $3",
            &[&int(within.start), &int(within.end), &OWN_STREAMS],
        )
    }

    fn put_blob(&mut self, blob: &BlobRow<'_>) -> EngineResult<()> {
        let digest = blob.digest.as_slice();
        self.execute(
            "INSERT INTO blob(sha256, ts, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&digest, &blob.micros, &blob.bytes],
        )?;
        if let Some(reference) = blob.reference {
            self.execute(
                "INSERT INTO blob_ref(ref, sha256) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&text(reference)?, &digest],
            )?;
        }
        Ok(())
    }

    fn erase_part(&mut self, index: u64, name: &str) -> EngineResult<bool> {
        let removed =
            self.execute("DELETE FROM part WHERE seq = $1 AND name = $2", &[&int(index), &name])?;
        Ok(removed == 1)
    }

    fn erase_references(&mut self, reference: &str) -> EngineResult<()> {
        self.erase_of("SELECT $1::text", &text(reference)?)
    }

    fn prune_entries(&mut self, below: u64) -> EngineResult<u64> {
        self.erase_of("SELECT 'entry/' || seq FROM entry WHERE seq < $1", &int(below))?;
        // The first remaining entry may be signed by a newer key than the first entry of the log.
        self.execute(
            "UPDATE meta SET value = coalesce((
               SELECT convert_from(leaf, 'UTF8')::json ->> 'vkey' FROM entry
               WHERE seq < $1 AND kind = 'config' AND convert_from(leaf, 'UTF8')::json ->> 'subject' = 'key'
               ORDER BY seq DESC LIMIT 1), value) WHERE key = 'vkey'",
            &[&int(below)],
        )?;
        self.execute("DELETE FROM part WHERE seq < $1", &[&int(below)])?;
        let allow = format!("SET LOCAL answerback.prune_below = '{}'", int(below));
        self.client.batch_execute(&allow)?;
        let removed = self.execute("DELETE FROM entry WHERE seq < $1", &[&int(below)])?;
        // The cached lookups may include removed entries.
        self.ahead = Ahead::default();
        self.client.batch_execute("SET LOCAL answerback.prune_below = ''")?;
        Ok(uint(int(removed)))
    }
}

impl PostgresConnection {
    /// Erases the content of everything with a reference that the query returns, and of cases and
    /// retry states that come from it.
    fn erase_of(&mut self, references: &str, wanted: Parameter<'_>) -> EngineResult<()> {
        // The references are never null, but the planner uses the partial index only if the query
        // says `IS NOT NULL`.
        let filter = format!("ref IS NOT NULL AND ref IN ({references})");
        self.execute(&format!("UPDATE event SET body = NULL WHERE {filter}"), &[wanted])?;
        self.execute(
            &format!(
                "UPDATE case_record SET content = '', private = NULL
                 WHERE id IN (SELECT id FROM case_source WHERE NOT said AND {filter})"
            ),
            &[wanted],
        )?;
        // A person's words may quote the shown content, so they are erased together with it.
        let cases = self.rows(
            &format!(
                "SELECT id, body FROM case_record WHERE id IN (SELECT id FROM case_source WHERE {filter})"
            ),
            &[wanted],
        )?;
        for row in cases {
            let (id, body): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            self.execute(
                "UPDATE case_record SET body = $2, private = CASE WHEN decided THEN NULL ELSE private END
                 WHERE id = $1",
                &[&id, &without_words(body)?],
            )?;
            let reference = format!("case/{id}");
            self.execute("UPDATE event SET body = NULL WHERE ref = $1", &[&reference])?;
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
            self.execute(&sql, &[wanted])?;
        }
        Ok(())
    }
}

fn typed(column: SqlColumn) -> Type {
    match column {
        SqlColumn::Int => Type::INT8,
        SqlColumn::Bool => Type::BOOL,
        SqlColumn::Text => Type::TEXT,
        SqlColumn::Bytes => Type::BYTEA,
    }
}

/// Converts a cell for the driver. The driver also needs a type for null.
fn value(cell: SqlCell, kind: &Type) -> Box<dyn ToSql + Sync> {
    match cell {
        SqlCell::Int(number) => Box::new(number),
        SqlCell::Bool(bool) => Box::new(bool),
        SqlCell::Text(text) => Box::new(text),
        SqlCell::Bytes(bytes) => Box::new(bytes),
        SqlCell::Null if *kind == Type::TEXT => Box::new(None::<String>),
        SqlCell::Null if *kind == Type::BYTEA => Box::new(None::<Vec<u8>>),
        SqlCell::Null => Box::new(None::<i64>),
    }
}
