use std::ops::{Range, RangeInclusive};

use answerback::case::Case;
use answerback::retry::RetryState;
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::Frontier;
use answerback_ledger::{Hash, LeafId, LeafKind, LeafToken, Part, Salt, VerifierKey};
use postgres::Row;
use postgres::types::{FromSql, ToSql};

use super::session::{Ahead, Parameter, PostgresConnection};
use super::value::{int, limit, text, uint};
use crate::case::kind_word;
use crate::engine::{
    EngineError, EngineFailure, EngineRead, EngineResult, LinkedEntries, LookupHint, without_gap,
};
use crate::event::StreamDigest;
use crate::{
    CaseFilter, CaseRecord, CaseStatus, EntryFilter, LogHead, LogTotals, StoredEvent,
    StoredRetryState, StreamFilter, StreamInfo,
};

impl PostgresConnection {
    fn column<T: for<'a> FromSql<'a>>(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> EngineResult<Option<T>> {
        Ok(self.row(sql, parameters)?.map(|row| row.try_get(0)).transpose()?)
    }

    fn hashes_of(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        from: u64,
    ) -> EngineResult<Vec<Hash>> {
        let rows = self.rows(sql, parameters)?;
        let placed = rows.iter().map(|row| Ok((row.try_get(0)?, hash(row.try_get(1)?)?)));
        Ok(without_gap(placed.collect::<EngineResult<_>>()?, from))
    }

    /// Looks up the ids of all units of a transaction, in one round trip for each kind of id.
    ///
    /// The lists contain no null, but the planner uses the partial index only if the query says `IS
    /// NOT NULL`.
    pub(super) fn fill_ahead(
        &mut self,
        kinds: &[LeafKind],
        hints: &[LookupHint],
    ) -> EngineResult<()> {
        fn ids(ids: impl Iterator<Item = Option<LeafId>>) -> Vec<LeafId> {
            ids.flatten().collect()
        }
        fn sent(ids: &[LeafId]) -> Vec<&[u8]> {
            ids.iter().map(|id| id.as_bytes().as_slice()).collect()
        }
        fn id(bytes: &[u8]) -> EngineResult<LeafId> {
            <[u8; 16]>::try_from(bytes).map(LeafId::from).map_err(damaged)
        }
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let requests = ids(hints.iter().map(|ids| ids.request));
        let mut ahead = Ahead::default();
        if !requests.is_empty() {
            let sql = "SELECT request_id, kind, seq FROM entry
                 WHERE request_id = ANY($1) AND request_id IS NOT NULL";
            ahead.linked.extend(requests.iter().map(|id| (*id, LinkedEntries::default())));
            let mut found = Vec::new();
            for row in self.rows(sql, &[&sent(&requests)])? {
                let kind: LeafKind = row.try_get::<_, &str>(1)?.parse().map_err(damaged)?;
                found.push((uint(row.try_get(2)?), kind, id(row.try_get(0)?)?));
            }
            // Sort here. With `ORDER BY`, the server might scan the whole log in index order.
            found.sort_unstable_by_key(|(index, ..)| *index);
            for (index, kind, request) in found {
                ahead.linked.entry(request).or_default().push(kind, index);
            }
        }
        let responses = ids(hints.iter().map(|ids| ids.response));
        let replies = ids(hints.iter().map(|ids| ids.reply));
        for (wanted, known, sql) in [
            (
                responses,
                &mut ahead.responses,
                "SELECT response_id, min(seq) FROM entry
                 WHERE response_id = ANY($1) AND response_id IS NOT NULL AND kind = ANY($2) GROUP BY response_id",
            ),
            (
                replies,
                &mut ahead.replies,
                "SELECT reply_id, min(seq) FROM entry
                 WHERE reply_id = ANY($1) AND reply_id IS NOT NULL AND response_id IS NULL
                   AND kind = ANY($2) GROUP BY reply_id",
            ),
        ] {
            if wanted.is_empty() {
                continue;
            }
            known.extend(wanted.iter().map(|id| (*id, None)));
            for row in self.rows(sql, &[&sent(&wanted), &kinds])? {
                known.insert(id(row.try_get(0)?)?, Some(uint(row.try_get(1)?)));
            }
        }
        self.ahead = ahead;
        Ok(())
    }

    /// Reads the head together with the clock and the mark of a moved log.
    pub(super) fn read_head(&mut self) -> EngineResult<Option<LogHead>> {
        let row = self.row(
            "SELECT size, frontier, root, last_ts, minimum, event_seq,
               (SELECT value FROM meta WHERE key = 'signer'),
               (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
               (SELECT value FROM meta WHERE key = 'moved') FROM head WHERE id = 0",
            &[],
        )?;
        let Some(row) = row else {
            (self.now, self.moved) = (None, None);
            return Ok(None);
        };
        (self.now, self.moved) = (Some(row.try_get(7)?), row.try_get(8)?);
        let size = uint(row.try_get(0)?);
        let frontier = Frontier::from_bytes(size, row.try_get(1)?)
            .ok_or_else(|| damaged("the frontier does not fit the size"))?;
        let signer: Option<&str> = row.try_get(6)?;
        Ok(Some(LogHead {
            size,
            frontier,
            root: hash(row.try_get(2)?)?,
            last_ts: row.try_get(3)?,
            minimum: uint(row.try_get(4)?),
            event_seq: uint(row.try_get(5)?),
            signer: VerifierKey::parse(signer.unwrap_or_default()).map_err(damaged)?,
        }))
    }
}

fn hash(bytes: &[u8]) -> EngineResult<Hash> {
    Hash::try_from(bytes).map_err(damaged)
}

fn damaged(error: impl std::fmt::Display) -> EngineError {
    EngineError::damaged(error.to_string())
}

const CASE: &str = "SELECT body, created, content, private, ref FROM case_record";

fn case_record(row: &Row) -> EngineResult<CaseRecord> {
    let case: Case = serde_json::from_str(row.try_get(0)?).map_err(damaged)?;
    Ok(CaseRecord {
        case,
        created: Timestamp::from_unix_micros(row.try_get(1)?),
        content: row.try_get(2)?,
        private: row.try_get(3)?,
        reference: row.try_get(4)?,
    })
}

impl EngineRead for PostgresConnection {
    fn begin_read(&mut self) -> EngineResult<()> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.is_begun = true;
        match self.client.batch_execute(BEGIN).map_err(EngineError::from) {
            // An idle connection may have been lost in the meantime.
            Err(error) if error.failure == EngineFailure::Disconnected => {
                self.reconnect()?;
                self.is_begun = true;
                Ok(self.client.batch_execute(BEGIN)?)
            }
            begun => begun,
        }
    }

    fn end_read(&mut self) -> EngineResult<()> {
        self.is_begun = false;
        Ok(self.client.batch_execute("COMMIT")?)
    }

    fn meta(&mut self, key: &str) -> EngineResult<Option<String>> {
        self.column("SELECT value FROM meta WHERE key = $1", &[&key])
    }

    fn head(&mut self) -> EngineResult<Option<LogHead>> {
        self.read_head()
    }

    fn hashes(&mut self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>> {
        let place = i32::try_from(from % WIDTH * 32 + 1).unwrap_or(i32::MAX);
        let length = i32::try_from(count * 32).unwrap_or(i32::MAX);
        let row = self.row(
            "SELECT substring(data FROM $3::int FOR $4::int) FROM tile WHERE level = $1 AND n = $2",
            &[&i64::from(level), &int(from / WIDTH), &place, &length],
        )?;
        if let Some(row) = row {
            let bytes: &[u8] = row.try_get(0)?;
            return bytes.chunks(Hash::BYTES).map(hash).collect();
        }
        // To the right of the last full tile, read leaf hashes or the roots of the tiles below.
        let Some(below) = level.checked_sub(1) else { return self.leaf_hashes(from..from + count) };
        self.hashes_of(
            "SELECT n, root FROM tile WHERE level = $1 AND n >= $2 AND n < $3 ORDER BY n",
            &[&i64::from(below), &int(from), &int(from + count)],
            from,
        )
    }

    fn leaf_hashes(&mut self, indexes: Range<u64>) -> EngineResult<Vec<Hash>> {
        self.hashes_of(
            "SELECT seq, leaf_hash FROM entry WHERE seq >= $1 AND seq < $2 ORDER BY seq",
            &[&int(indexes.start), &int(indexes.end)],
            indexes.start,
        )
    }

    fn leaf(&mut self, index: u64) -> EngineResult<Option<Vec<u8>>> {
        self.column("SELECT leaf FROM entry WHERE seq = $1", &[&int(index)])
    }

    fn time_at(&mut self, index: u64) -> EngineResult<Option<i64>> {
        self.column("SELECT ts FROM entry WHERE seq = $1", &[&int(index)])
    }

    fn parts(&mut self, index: u64) -> EngineResult<Vec<Part>> {
        let rows = self.rows(
            "SELECT name, salt, bytes FROM part WHERE seq = $1 ORDER BY name",
            &[&int(index)],
        )?;
        let part = |row: &Row| {
            let salt: &[u8] = row.try_get(1)?;
            let salt = salt.try_into().map_err(|_| damaged("a salt has 32 bytes"))?;
            let name = LeafToken::new(row.try_get::<_, String>(0)?).map_err(damaged)?;
            Ok(Part::new(name, Salt::new(salt), row.try_get::<_, Vec<u8>>(2)?))
        };
        rows.iter().map(part).collect()
    }

    fn contents(
        &mut self,
        within: Range<u64>,
        longest: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>> {
        let longest = i32::try_from(longest).unwrap_or(i32::MAX);
        let rows = self.rows(
            "SELECT seq, substring(bytes FROM 1 FOR $3) FROM part WHERE seq >= $1 AND seq < $2 ORDER BY seq, name",
            &[&int(within.start), &int(within.end), &longest],
        )?;
        rows.iter().map(|row| Ok((uint(row.try_get(0)?), row.try_get(1)?))).collect()
    }

    fn leaves(
        &mut self,
        filter: &EntryFilter,
        within: Range<u64>,
        most: usize,
    ) -> EngineResult<Vec<(u64, Vec<u8>)>> {
        let mut sql = "SELECT seq, leaf FROM entry WHERE seq >= $1 AND seq < $2".to_owned();
        let mut values: Vec<Box<dyn ToSql + Sync>> =
            vec![Box::new(int(within.start)), Box::new(int(within.end))];
        let mut and = |column: &str, value: Option<Box<dyn ToSql + Sync>>| {
            if let Some(value) = value {
                values.push(value);
                sql = format!("{sql} AND {column} = ${}", values.len());
            }
        };
        let id = |id: Option<LeafId>| {
            id.map(|id| Box::new(id.as_bytes().to_vec()) as Box<dyn ToSql + Sync>)
        };
        and("request_id", id(filter.request_id));
        and("response_id", id(filter.response_id));
        for (column, value) in
            [("agent", &filter.agent), ("tool", &filter.tool), ("outcome", &filter.outcome)]
        {
            if let Some(value) = value {
                and(column, Some(Box::new(text(value)?.to_owned())));
            }
        }
        and("kind", filter.kind.map(|kind| Box::new(kind.as_str()) as Box<dyn ToSql + Sync>));
        let order = if filter.newest_first { "DESC" } else { "ASC" };
        values.push(Box::new(limit(most)));
        let sql = format!("{sql} ORDER BY seq {order} LIMIT ${}", values.len());
        let values: Vec<Parameter<'_>> = values.iter().map(AsRef::as_ref).collect();
        let rows = self.rows(&sql, &values)?;
        rows.iter().map(|row| Ok((uint(row.try_get(0)?), row.try_get(1)?))).collect()
    }

    fn checkpoints(&mut self, above: u64, most: usize) -> EngineResult<Vec<String>> {
        let rows = self.rows(
            "SELECT note FROM (
               SELECT size, note FROM checkpoint WHERE size > $1
               UNION ALL SELECT size, note FROM head
                 WHERE size > $1 AND NOT EXISTS (SELECT 1 FROM checkpoint AS kept WHERE kept.size = head.size)
             ) AS known ORDER BY size LIMIT $2",
            &[&int(above), &limit(most)],
        )?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    fn newest_checkpoint(&mut self) -> EngineResult<Option<String>> {
        self.column("SELECT note FROM head WHERE size > 0", &[])
    }

    fn cosignatures(&mut self, sizes: RangeInclusive<u64>) -> EngineResult<Vec<(u64, String)>> {
        let rows = self.rows(
            "SELECT size, line FROM cosignature WHERE size BETWEEN $1 AND $2 ORDER BY size, signer",
            &[&int(*sizes.start()), &int(*sizes.end())],
        )?;
        rows.iter().map(|row| Ok((uint(row.try_get(0)?), row.try_get(1)?))).collect()
    }

    fn witnessed(&mut self) -> EngineResult<Vec<(String, u64)>> {
        let rows = self.rows(
            "SELECT signer, max(size) FROM cosignature GROUP BY signer ORDER BY signer",
            &[],
        )?;
        rows.iter().map(|row| Ok((row.try_get(0)?, uint(row.try_get(1)?)))).collect()
    }

    fn totals(&mut self) -> EngineResult<LogTotals> {
        let mut totals = LogTotals::default();
        // A sum of bigints is a numeric, for which the driver has no Rust type here.
        let kinds = self.rows(
            "SELECT kind, count(*), sum(octet_length(leaf))::bigint FROM entry GROUP BY kind",
            &[],
        )?;
        for row in kinds {
            let kind: &str = row.try_get(0)?;
            totals.kinds.insert(kind.parse().map_err(damaged)?, uint(row.try_get(1)?));
            totals.leaf_bytes += uint(row.try_get(2)?);
        }
        let parts = "SELECT count(*), coalesce(sum(octet_length(bytes)), 0)::bigint FROM part";
        if let Some(row) = self.row(parts, &[])? {
            (totals.parts, totals.part_bytes) = (uint(row.try_get(0)?), uint(row.try_get(1)?));
        }
        let checkpoints: Option<i64> = self.column(
            "SELECT count(*) + (SELECT count(*) FROM head
               WHERE size > 0 AND NOT EXISTS (SELECT 1 FROM checkpoint AS kept WHERE kept.size = head.size))
             FROM checkpoint",
            &[],
        )?;
        totals.checkpoints = checkpoints.map_or(0, uint);
        Ok(totals)
    }

    fn linked(&mut self, request: LeafId) -> EngineResult<LinkedEntries> {
        if let Some(linked) = self.ahead.linked.get(&request) {
            return Ok(*linked);
        }
        let rows = self.rows(
            "SELECT kind, seq FROM entry WHERE request_id = $1 ORDER BY seq",
            &[&request.as_bytes().as_slice()],
        )?;
        let mut linked = LinkedEntries::default();
        for row in rows {
            let kind: &str = row.try_get(0)?;
            linked.push(kind.parse().map_err(damaged)?, uint(row.try_get(1)?));
        }
        Ok(linked)
    }

    fn same(
        &mut self,
        kinds: &[LeafKind],
        response: Option<LeafId>,
        reply: Option<LeafId>,
    ) -> EngineResult<Option<u64>> {
        let known = match (response, reply) {
            (Some(id), _) => self.ahead.responses.get(&id),
            (None, Some(id)) => self.ahead.replies.get(&id),
            (None, None) => None,
        };
        if let Some(known) = known {
            return Ok(*known);
        }
        let (sql, id) = match (response, reply) {
            (Some(id), _) => {
                ("SELECT seq FROM entry WHERE response_id = $1 AND kind = ANY($2)", id)
            }
            (None, Some(id)) => (
                "SELECT seq FROM entry WHERE reply_id = $1 AND response_id IS NULL AND kind = ANY($2)",
                id,
            ),
            (None, None) => return Ok(None),
        };
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let rows = self.rows(sql, &[&id.as_bytes().as_slice(), &kinds])?;
        let found: Vec<i64> =
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect::<EngineResult<_>>()?;
        // Take the minimum here. With `min()`, the server might scan the whole log in index order.
        Ok(found.into_iter().min().map(uint))
    }

    fn retry_state(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<StoredRetryState>> {
        let row = self.row(
            "SELECT state, revision FROM attempt WHERE key = $1 AND expires > $2",
            &[&text(key)?, &now.unix_millis()],
        )?;
        let stored = |row: Row| {
            let state: RetryState = serde_json::from_str(row.try_get(0)?).map_err(damaged)?;
            Ok(StoredRetryState::new(state, uint(row.try_get(1)?)))
        };
        row.map(stored).transpose()
    }

    fn note(&mut self, key: &str, now: Timestamp) -> EngineResult<Option<String>> {
        let row = self.row(
            "SELECT state FROM attempt WHERE key = $1 AND expires > $2",
            &[&text(key)?, &now.unix_millis()],
        )?;
        row.map(|row| Ok(row.try_get(0)?)).transpose()
    }

    fn attempt_sources(&mut self, key: &str) -> EngineResult<Vec<String>> {
        let rows =
            self.rows("SELECT ref FROM attempt_source WHERE key = $1 ORDER BY ref", &[&key])?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    fn case(&mut self, id: &UuidV7) -> EngineResult<Option<CaseRecord>> {
        let id = id.as_str().to_ascii_lowercase();
        let row = self.row(&format!("{CASE} WHERE id = $1"), &[&id])?;
        row.as_ref().map(case_record).transpose()
    }

    fn cases(
        &mut self,
        filter: &CaseFilter,
        after: Option<&UuidV7>,
        now: Timestamp,
        most: usize,
    ) -> EngineResult<Vec<CaseRecord>> {
        let status = match filter.status {
            None => "$2::bigint IS NOT NULL",
            Some(CaseStatus::Waiting) => "NOT decided AND expires > $2",
            Some(CaseStatus::Decided) => "decided AND $2::bigint IS NOT NULL",
            Some(CaseStatus::Expired) => "NOT decided AND expires <= $2",
        };
        let sql = format!(
            "{CASE} WHERE id > $1 AND {status} AND ($3::text IS NULL OR kind = $3)
             ORDER BY id LIMIT $4"
        );
        let after = after.map_or_else(String::new, |id| id.as_str().to_ascii_lowercase());
        let kind = filter.kind.map(kind_word);
        let rows = self.rows(&sql, &[&after, &now.unix_millis(), &kind, &limit(most)])?;
        rows.iter().map(case_record).collect()
    }

    fn events(
        &mut self,
        after: u64,
        stream: Option<&str>,
        most: usize,
    ) -> EngineResult<Vec<StoredEvent>> {
        const COLUMNS: &str = "SELECT seq, ts, stream, kind, ref, body FROM event WHERE seq > $1";
        let (after, most) = (int(after), limit(most));
        let rows = match stream {
            Some(stream) => self.rows(
                &format!("{COLUMNS} AND stream = $3 ORDER BY seq LIMIT $2"),
                &[&after, &most, &text(stream)?],
            )?,
            None => self.rows(&format!("{COLUMNS} ORDER BY seq LIMIT $2"), &[&after, &most])?,
        };
        rows.iter().map(event).collect()
    }

    fn newest_events(&mut self, stream: &str, most: usize) -> EngineResult<Vec<StoredEvent>> {
        let rows = self.rows(
            "SELECT seq, ts, stream, kind, ref, body FROM event WHERE stream = $1 ORDER BY seq DESC LIMIT $2",
            &[&text(stream)?, &limit(most)],
        )?;
        rows.iter().map(event).collect()
    }

    fn event_minimum(&mut self) -> EngineResult<u64> {
        let minimum: Option<i64> = self.column(
            "SELECT coalesce((SELECT value::bigint FROM meta WHERE key = 'event_minimum'),
               (SELECT min(seq) FROM event), 1)",
            &[],
        )?;
        Ok(minimum.map_or(1, uint))
    }

    fn stream(&mut self, name: &str) -> EngineResult<Option<StreamDigest>> {
        let row =
            self.row("SELECT count, digest, ended FROM stream WHERE name = $1", &[&text(name)?])?;
        let stream = |row: Row| {
            let digest = *hash(row.try_get(1)?)?.as_bytes();
            Ok(StreamDigest { count: uint(row.try_get(0)?), digest, ended: row.try_get(2)? })
        };
        row.map(stream).transpose()
    }

    fn streams(&mut self, filter: StreamFilter<'_>, most: usize) -> EngineResult<Vec<StreamInfo>> {
        let StreamFilter { without, before } = filter;
        let rows = self.rows(
            "SELECT name, count, digest, ended, newest FROM stream
             CROSS JOIN LATERAL (SELECT max(seq) AS newest FROM event WHERE stream = name) AS events
             WHERE newest IS NOT NULL AND ($1 = '' OR left(name, length($1)) <> $1)
               AND ($3::bigint IS NULL OR newest < $3) ORDER BY newest DESC LIMIT $2",
            &[&text(without)?, &limit(most), &before.map(int)],
        )?;
        let info = |row: &Row| {
            let digest = *hash(row.try_get(2)?)?.as_bytes();
            let stream =
                StreamDigest { count: uint(row.try_get(1)?), digest, ended: row.try_get(3)? };
            Ok(StreamInfo::new(row.try_get(0)?, stream, uint(row.try_get(4)?)))
        };
        rows.iter().map(info).collect()
    }

    fn stream_names(
        &mut self,
        beginning: &str,
        below: Option<&str>,
        most: usize,
    ) -> EngineResult<Vec<String>> {
        let rows = self.rows(
            "SELECT name FROM stream WHERE left(name, length($1)) = $1
               AND ($2::text IS NULL OR name COLLATE \"C\" < $2::text COLLATE \"C\")
             ORDER BY name COLLATE \"C\" DESC LIMIT $3",
            &[&text(beginning)?, &below.map(text).transpose()?, &limit(most)],
        )?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    fn blob(&mut self, digest: &Digest) -> EngineResult<Option<Vec<u8>>> {
        let digest = digest.as_bytes().as_slice();
        self.column("SELECT bytes FROM blob WHERE sha256 = $1", &[&digest])
    }
}

fn event(row: &Row) -> EngineResult<StoredEvent> {
    Ok(StoredEvent::new(
        uint(row.try_get(0)?),
        Timestamp::from_unix_micros(row.try_get(1)?),
        row.try_get(2)?,
        row.try_get(3)?,
        row.try_get(4)?,
        row.try_get(5)?,
    ))
}
