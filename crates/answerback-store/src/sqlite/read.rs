use std::ops::{Range, RangeInclusive};

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::Frontier;
use answerback_ledger::{Hash, LeafId, LeafKind, LeafToken, Part, Salt, VerifierKey};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params, params_from_iter};

use super::{SCRUB_DONE, SCRUB_WANTED, SqliteConnection, int, part_ids, uint};
use crate::case::kind_word;
use crate::engine::{EngineError, EngineRead, EngineResult, LinkedEntries, without_gap};
use crate::event::StreamDigest;
use crate::{
    CaseFilter, CaseRecord, CaseStatus, EntryFilter, LogHead, LogTotals, StoredEvent,
    StoredRetryState, StreamFilter, StreamInfo,
};

impl SqliteConnection {
    pub(super) fn column<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> EngineResult<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row(params, |row| row.get(0)).optional()?)
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> EngineResult<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the leaves of a range that match the filter.
    fn leaves_within(
        &mut self,
        filter: &EntryFilter,
        within: Range<u64>,
        limit: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>> {
        let id = |id: Option<LeafId>| id.map(|id| Value::from(id.as_bytes().to_vec()));
        let mut values = vec![Value::from(int(within.start)), Value::from(int(within.end))];
        let mut sql = "SELECT seq, leaf FROM entry WHERE seq >= ?1 AND seq < ?2".to_owned();
        if let Some(id) = filter.request_id.or(filter.response_id) {
            sql.push_str(" AND seq IN (SELECT value FROM json_each(?3))");
            values.push(Value::from(json_list(&self.entries_with(id)?)));
        }
        let mut and = |column: &str, value: Option<Value>| {
            if let Some(value) = value {
                sql.push_str(" AND ");
                sql.push_str(column);
                sql.push_str(" = ?");
                values.push(value);
            }
        };
        and("request_id", id(filter.request_id));
        and("response_id", id(filter.response_id));
        and("agent", filter.agent.clone().map(Value::from));
        and("tool", filter.tool.clone().map(Value::from));
        and("outcome", filter.outcome.clone().map(Value::from));
        and("kind", filter.kind.map(|kind| Value::from(kind.as_str().to_owned())));
        sql.push_str(if filter.newest_first { " ORDER BY seq DESC" } else { " ORDER BY seq" });
        sql.push_str(" LIMIT ?");
        values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));
        self.rows(&sql, params_from_iter(values), |row| Ok((uint(row.get(0)?), row.get(1)?)))
    }
}

/// Formats numbers as a JSON array, which `json_each` reads as a list.
fn json_list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

fn hash(bytes: &[u8]) -> EngineResult<Hash> {
    Hash::try_from(bytes).map_err(|error| EngineError::damaged(error.to_string()))
}

/// Parses hashes with their indexes, and returns those up to the first missing index.
fn placed(rows: Vec<(i64, Vec<u8>)>, from: u64) -> EngineResult<Vec<Hash>> {
    let rows = rows.into_iter().map(|(place, bytes)| Ok((place, hash(&bytes)?)));
    Ok(without_gap(rows.collect::<EngineResult<_>>()?, from))
}

fn damaged(error: impl std::fmt::Display) -> EngineError {
    EngineError::damaged(error.to_string())
}

const CASE: &str = "SELECT body, created, content, private, ref FROM case_record";

type CaseRow = (String, i64, Vec<u8>, Option<Vec<u8>>, Option<String>);

fn case_row(row: &Row<'_>) -> rusqlite::Result<CaseRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn case_record((body, created, content, private, reference): CaseRow) -> EngineResult<CaseRecord> {
    let case: Case = serde_json::from_str(&body).map_err(damaged)?;
    let created = Timestamp::from_unix_micros(created);
    Ok(CaseRecord { case, created, content, private, reference })
}

impl EngineRead for SqliteConnection {
    fn begin_read(&mut self) -> EngineResult<()> {
        Ok(self.connection.execute_batch("BEGIN")?)
    }

    fn end_read(&mut self) -> EngineResult<()> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    fn meta(&mut self, key: &str) -> EngineResult<Option<String>> {
        self.column("SELECT value FROM meta WHERE key = ?1", [key])
    }

    fn head(&mut self) -> EngineResult<Option<LogHead>> {
        let row = self
            .connection
            .prepare_cached(
                "SELECT size, frontier, root, last_ts, minimum, event_seq,
                   (SELECT value FROM meta WHERE key = 'signer'),
                   (SELECT value FROM meta WHERE key = 'moved') FROM head",
            )?
            .query_row([], |row| {
                let numbers: [i64; 4] = [row.get(0)?, row.get(3)?, row.get(4)?, row.get(5)?];
                Ok((
                    numbers,
                    row.get::<_, Vec<u8>>(1)?,
                    row.get::<_, Vec<u8>>(2)?,
                    row.get::<_, String>(6)?,
                    row.get::<_, Option<String>>(7)?,
                ))
            })
            .optional()?;
        let Some(([size, last_ts, minimum, event_seq], frontier, root, signer, moved)) = row else {
            (self.moved, self.size) = (None, 0);
            return Ok(None);
        };
        (self.moved, self.size) = (moved, uint(size));
        let signer = match &self.signer {
            Some((text, key)) if *text == signer => key.clone(),
            _ => {
                let key = VerifierKey::parse(&signer).map_err(damaged)?;
                self.signer = Some((signer, key.clone()));
                key
            }
        };
        let size = uint(size);
        let frontier = Frontier::from_bytes(size, &frontier)
            .ok_or_else(|| damaged("the frontier does not fit the size"))?;
        Ok(Some(LogHead {
            size,
            frontier,
            root: hash(&root)?,
            last_ts,
            minimum: uint(minimum),
            event_seq: uint(event_seq),
            signer,
        }))
    }

    fn hashes(&mut self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>> {
        let place = from % WIDTH;
        let bytes: Option<Vec<u8>> = self.column(
            "SELECT substr(data, ?3, ?4) FROM tile WHERE level = ?1 AND n = ?2",
            params![level, int(from / WIDTH), int(place * 32 + 1), int(count * 32)],
        )?;
        if let Some(bytes) = bytes {
            return bytes.chunks(Hash::BYTES).map(hash).collect();
        }
        // To the right of the last full tile, read leaf hashes or the roots of the tiles below.
        let Some(below) = level.checked_sub(1) else { return self.leaf_hashes(from..from + count) };
        let rows: Vec<(i64, Vec<u8>)> = self.rows(
            "SELECT n, root FROM tile WHERE level = ?1 AND n >= ?2 AND n < ?3 ORDER BY n",
            params![below, int(from), int(from + count)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        placed(rows, from)
    }

    fn leaf_hashes(&mut self, indexes: Range<u64>) -> EngineResult<Vec<Hash>> {
        let rows: Vec<(i64, Vec<u8>)> = self.rows(
            "SELECT seq, leaf_hash FROM entry WHERE seq >= ?1 AND seq < ?2 ORDER BY seq",
            params![int(indexes.start), int(indexes.end)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        placed(rows, indexes.start)
    }

    fn leaf(&mut self, index: u64) -> EngineResult<Option<Vec<u8>>> {
        self.column("SELECT leaf FROM entry WHERE seq = ?1", [int(index)])
    }

    fn time_at(&mut self, index: u64) -> EngineResult<Option<i64>> {
        self.column("SELECT ts FROM entry WHERE seq = ?1", [int(index)])
    }

    fn parts(&mut self, index: u64) -> EngineResult<Vec<Part>> {
        let ids = part_ids(index);
        let rows: Vec<(String, Vec<u8>, Vec<u8>)> = self.rows(
            "SELECT name, salt, bytes FROM part WHERE id >= ?1 AND id < ?2 ORDER BY id",
            [ids.start, ids.end],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let part = |(name, salt, bytes): (String, Vec<u8>, Vec<u8>)| {
            let salt = salt.as_slice().try_into().map_err(|_| damaged("a salt has 32 bytes"))?;
            Ok(Part::new(LeafToken::new(name).map_err(damaged)?, Salt::new(salt), bytes))
        };
        rows.into_iter().map(part).collect()
    }

    fn contents(
        &mut self,
        within: Range<u64>,
        longest: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>> {
        let longest = i64::try_from(longest).unwrap_or(i64::MAX);
        self.rows(
            "SELECT id >> 8, substr(bytes, 1, ?3) FROM part WHERE id >= ?1 AND id < ?2 ORDER BY id",
            [part_ids(within.start).start, part_ids(within.end).start, longest],
            |row| Ok((uint(row.get(0)?), row.get(1)?)),
        )
    }

    fn leaves(
        &mut self,
        filter: &EntryFilter,
        within: Range<u64>,
        limit: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>> {
        // An id finds entries more precisely than the index of agents and tools.
        let has_id = filter.request_id.is_some() || filter.response_id.is_some();
        let mut stretches = if has_id { vec![within] } else { self.stretches(filter, &within)? };
        if filter.newest_first {
            stretches.reverse();
        }
        let mut found = Vec::new();
        for stretch in stretches {
            found.extend(self.leaves_within(filter, stretch, limit - found.len())?);
            if found.len() >= limit {
                break;
            }
        }
        Ok(found)
    }

    fn checkpoints(&mut self, above: u64, limit: usize) -> EngineResult<Vec<String>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(
            "SELECT note FROM (
               SELECT size, note FROM checkpoint WHERE size > ?1
               UNION ALL SELECT size, note FROM head
                 WHERE size > ?1 AND size NOT IN (SELECT size FROM checkpoint)
             ) ORDER BY size LIMIT ?2",
            params![int(above), limit],
            |row| row.get(0),
        )
    }

    fn newest_checkpoint(&mut self) -> EngineResult<Option<String>> {
        self.column("SELECT note FROM head WHERE size > 0", [])
    }

    fn cosignatures(&mut self, sizes: RangeInclusive<u64>) -> EngineResult<Vec<(u64, String)>> {
        self.rows(
            "SELECT size, line FROM cosignature WHERE size BETWEEN ?1 AND ?2 ORDER BY size, signer",
            params![int(*sizes.start()), int(*sizes.end())],
            |row| Ok((uint(row.get(0)?), row.get(1)?)),
        )
    }

    fn witnessed(&mut self) -> EngineResult<Vec<(String, u64)>> {
        self.rows(
            "SELECT signer, max(size) FROM cosignature GROUP BY signer ORDER BY signer",
            [],
            |row| Ok((row.get(0)?, uint(row.get(1)?))),
        )
    }

    fn totals(&mut self) -> EngineResult<LogTotals> {
        let mut totals = LogTotals::default();
        let rows: Vec<(String, i64, i64)> = self.rows(
            "SELECT kind, count(*), sum(length(leaf)) FROM entry GROUP BY kind",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        for (kind, count, bytes) in rows {
            totals.kinds.insert(kind.parse().map_err(damaged)?, uint(count));
            totals.leaf_bytes += uint(bytes);
        }
        let sums: Vec<(i64, i64)> =
            self.rows("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM part", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        for (parts, bytes) in sums {
            (totals.parts, totals.part_bytes) = (uint(parts), uint(bytes));
        }
        let checkpoints: Option<i64> = self.column(
            "SELECT count(*) + (SELECT count(*) FROM head
               WHERE size > 0 AND size NOT IN (SELECT size FROM checkpoint)) FROM checkpoint",
            [],
        )?;
        totals.checkpoints = checkpoints.map_or(0, uint);
        Ok(totals)
    }

    fn linked(&mut self, request: LeafId) -> EngineResult<LinkedEntries> {
        let mut linked = LinkedEntries::default();
        for index in self.entries_with(request)? {
            let kind: Option<String> = self.column(
                "SELECT kind FROM entry WHERE seq = ?1 AND request_id = ?2",
                params![int(index), request.as_bytes()],
            )?;
            if let Some(kind) = kind {
                linked.push(kind.parse().map_err(damaged)?, index);
            }
        }
        Ok(linked)
    }

    fn same(
        &mut self,
        kinds: &[LeafKind],
        response: Option<LeafId>,
        reply: Option<LeafId>,
    ) -> EngineResult<Option<u64>> {
        let (sql, id) = match (response, reply) {
            (Some(id), _) => ("SELECT kind FROM entry WHERE seq = ?1 AND response_id = ?2", id),
            (None, Some(id)) => (
                "SELECT kind FROM entry WHERE seq = ?1 AND reply_id = ?2 AND response_id IS NULL",
                id,
            ),
            (None, None) => return Ok(None),
        };
        for index in self.entries_with(id)? {
            let word: Option<String> = self.column(sql, params![int(index), id.as_bytes()])?;
            if word.is_some_and(|word| kinds.iter().any(|kind| kind.as_str() == word)) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn retry_state(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<StoredRetryState>> {
        let row: Option<(String, i64)> = self
            .connection
            .prepare_cached("SELECT state, revision FROM attempt WHERE key = ?1 AND expires > ?2")?
            .query_row(params![key, now.unix_millis()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let stored = |(state, revision): (String, i64)| {
            let state: RetryState = serde_json::from_str(&state).map_err(damaged)?;
            Ok(StoredRetryState::new(state, uint(revision)))
        };
        row.map(stored).transpose()
    }

    fn note(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<String>> {
        let note = self
            .connection
            .prepare_cached("SELECT state FROM attempt WHERE key = ?1 AND expires > ?2")?
            .query_row(params![key, now.unix_millis()], |row| row.get(0))
            .optional()?;
        Ok(note)
    }

    fn attempt_sources(&mut self, key: &str) -> EngineResult<Vec<String>> {
        self.rows("SELECT ref FROM attempt_source WHERE key = ?1 ORDER BY ref", [key], |row| {
            row.get(0)
        })
    }

    fn case(&mut self, id: &UuidV7) -> EngineResult<Option<CaseRecord>> {
        let row = self
            .connection
            .prepare_cached(&format!("{CASE} WHERE id = ?1"))?
            .query_row([id.as_str().to_ascii_lowercase()], case_row)
            .optional()?;
        row.map(case_record).transpose()
    }

    fn cases(
        &mut self,
        filter: &CaseFilter,
        after: Option<&UuidV7>,
        now: Timestamp,
        limit: usize,
    ) -> EngineResult<Vec<CaseRecord>> {
        let mut sql = format!("{CASE} WHERE id > ?1");
        sql.push_str(match filter.status {
            None => " AND ?2 = ?2",
            Some(CaseStatus::Waiting) => " AND decided = 0 AND expires > ?2",
            Some(CaseStatus::Decided) => " AND decided = 1 AND ?2 = ?2",
            Some(CaseStatus::Expired) => " AND decided = 0 AND expires <= ?2",
        });
        sql.push_str(" AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4");
        let after = after.map_or_else(String::new, |id| id.as_str().to_ascii_lowercase());
        let kind = filter.kind.map(kind_word);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.rows(&sql, params![after, now.unix_millis(), kind, limit], case_row)?;
        rows.into_iter().map(case_record).collect()
    }

    fn events(
        &mut self,
        after: u64,
        stream: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<StoredEvent>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = match stream {
            Some(_) => {
                "SELECT seq, ts, stream, kind, ref, body FROM event
                 WHERE stream = ?3 AND seq > ?1 ORDER BY seq LIMIT ?2"
            }
            None => {
                "SELECT seq, ts, stream, kind, ref, body FROM event
                 WHERE seq > ?1 AND ?3 IS NULL ORDER BY seq LIMIT ?2"
            }
        };
        self.rows(sql, params![int(after), limit, stream], event)
    }

    fn newest_events(&mut self, stream: &str, limit: usize) -> EngineResult<Vec<StoredEvent>> {
        self.rows(
            "SELECT seq, ts, stream, kind, ref, body FROM event
             WHERE stream = ?1 ORDER BY seq DESC LIMIT ?2",
            params![stream, i64::try_from(limit).unwrap_or(i64::MAX)],
            event,
        )
    }

    fn event_minimum(&mut self) -> EngineResult<u64> {
        let minimum: Option<i64> = self.column(
            "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'event_minimum'),
               (SELECT min(seq) FROM event), 1)",
            [],
        )?;
        Ok(minimum.map_or(1, uint))
    }

    fn stream(&mut self, name: &str) -> EngineResult<Option<StreamDigest>> {
        let row: Option<(i64, Vec<u8>, bool)> = self
            .connection
            .prepare_cached("SELECT count, digest, ended FROM stream WHERE name = ?1")?
            .query_row([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let stream = |(count, digest, ended): (i64, Vec<u8>, bool)| {
            let digest = *hash(&digest)?.as_bytes();
            Ok(StreamDigest { count: uint(count), digest, ended })
        };
        row.map(stream).transpose()
    }

    fn streams(&mut self, filter: StreamFilter<'_>, limit: usize) -> EngineResult<Vec<StreamInfo>> {
        let StreamFilter { without, before } = filter;
        let rows: Vec<(String, i64, Vec<u8>, bool, i64)> = self.rows(
            "SELECT name, count, digest, ended, (SELECT max(seq) FROM event WHERE stream = name) AS newest
             FROM stream WHERE newest IS NOT NULL AND (?1 = '' OR substr(name, 1, length(?1)) <> ?1)
             AND (?3 IS NULL OR newest < ?3) ORDER BY newest DESC LIMIT ?2",
            params![without, i64::try_from(limit).unwrap_or(i64::MAX), before.map(int)],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )?;
        let info = |(name, count, digest, ended, newest): (_, _, Vec<u8>, _, _)| {
            let digest = *hash(&digest)?.as_bytes();
            Ok(StreamInfo::new(
                name,
                StreamDigest { count: uint(count), digest, ended },
                uint(newest),
            ))
        };
        rows.into_iter().map(info).collect()
    }

    fn stream_names(
        &mut self,
        beginning: &str,
        below: Option<&str>,
        limit: usize,
    ) -> EngineResult<Vec<String>> {
        self.rows(
            "SELECT name FROM stream WHERE name >= ?1 AND name < ?1 || char(1114111)
             AND (?2 IS NULL OR name < ?2) ORDER BY name DESC LIMIT ?3",
            params![beginning, below, i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )
    }

    fn blob(&mut self, digest: &Digest) -> EngineResult<Option<Vec<u8>>> {
        self.column("SELECT bytes FROM blob WHERE sha256 = ?1", [digest.as_bytes()])
    }

    fn is_scrubbed(&mut self) -> EngineResult<bool> {
        Ok(self.meta(SCRUB_WANTED)? == self.meta(SCRUB_DONE)?)
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    let time = Timestamp::from_unix_micros(row.get(1)?);
    Ok(StoredEvent::new(
        uint(row.get(0)?),
        time,
        row.get(2)?,
        row.get(3)?,
        row.get(4)?,
        row.get(5)?,
    ))
}
