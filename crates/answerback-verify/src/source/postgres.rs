//! Reads the `PostgreSQL` store's tables in one read-only transaction, which sees one consistent
//! state.
//!
//! Replicas can continue to write in the meantime. There is no TLS support. The tables are read
//! page by page, so only a part of the log is in memory.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use postgres::types::{FromSql, ToSql};
use postgres::{Client, NoTls, Row};

use super::{
    EntryColumns, LogSource, SourceClaims, SourceEntry, SourceError, SourceHead, SourcePart,
    SourceRecord, SourceTile, StoredAttempt, StoredCase, StoredState, StoredTiles,
};
use crate::hash::MerkleHash;
use crate::tiles::TILE_WIDTH;

/// The number of rows that are read at a time.
const PAGE: i64 = 256;

/// A log in a schema of a `PostgreSQL` database.
pub struct Postgres {
    name: String,
    client: Client,
    claims: SourceClaims,
}

impl Postgres {
    /// Connects and begins the transaction for all reads. The URL is one that the driver accepts;
    /// the schema is the one of the log.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be read, or the schema does not contain a ledger.
    pub fn open(url: &str, schema: &str) -> Result<Self, SourceError> {
        let name = format!("schema {schema}");
        let failed = |source| SourceError::Server { name: name.clone(), source };
        let mut client = Client::connect(url, NoTls).map_err(failed)?;
        let quoted = format!("\"{}\"", schema.replace('"', "\"\""));
        client
            .batch_execute(&format!(
                "SET search_path = {quoted}; SET jit = off; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            ))
            .map_err(failed)?;
        let claims = claims(&name, &mut client)?;
        Ok(Self { name, client, claims })
    }
}

fn claims(name: &str, client: &mut Client) -> Result<SourceClaims, SourceError> {
    let none = |reason: String| SourceError::NoLedger { name: name.to_owned(), reason };
    let meta = |client: &mut Client, key: &str| -> Result<String, SourceError> {
        let row = client.query_one("SELECT value FROM meta WHERE key = $1", &[&key]);
        let value = row.and_then(|row| row.try_get(0));
        value.map_err(|error| none(format!("{key} cannot be read in meta: {}", describe(&error))))
    };
    let format = meta(client, "format")?;
    if format != "1" {
        return Err(none(format!("version {format} of the format is unknown")));
    }
    let sql = "SELECT size, minimum, frontier, root, last_ts FROM head WHERE id = 0";
    let head = client.query_one(sql, &[]).and_then(|row| {
        let numbers: (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(4)?);
        Ok((numbers, row.try_get(2)?, row.try_get(3)?))
    });
    let ((size, minimum, last_ts), frontier, root) =
        head.map_err(|error| none(format!("head: {}", describe(&error))))?;
    let (Ok(size), Ok(from)) = (u64::try_from(size), u64::try_from(minimum)) else {
        return Err(none("head: a size below zero".to_owned()));
    };
    let signer = meta(client, "signer")?;
    Ok(SourceClaims {
        origin: meta(client, "origin")?,
        vkey: meta(client, "vkey")?,
        from,
        size,
        missing_needs_prune: true,
        head: Some(SourceHead { frontier, root, last_ts, signer }),
        tiles: StoredTiles::Full,
    })
}

/// Formats an error with the server's message. The driver's own text is only `db error`.
fn describe(error: &postgres::Error) -> String {
    let server = error.as_db_error().map(|server| server.message().to_owned());
    server.unwrap_or_else(|| error.to_string())
}

impl LogSource for Postgres {
    fn claims(&self) -> &SourceClaims {
        &self.claims
    }

    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError> {
        let mut reading =
            EntryWalk { client: &mut self.client, checkpoints: CheckpointCursor::default(), visit };
        let read = reading.pruned(self.claims.from).and_then(|()| reading.entries());
        read.map_err(|source| SourceError::Server { name: self.name.clone(), source })
    }

    fn read_tiles(&mut self, visit: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError> {
        let sql = "SELECT level, n, data, root FROM tile WHERE (level, n) > ($1, $2)
             ORDER BY level, n LIMIT $3";
        let mut after = (i64::MIN, i64::MIN);
        let mut read = || loop {
            let rows = self.client.query(sql, &[&after.0, &after.1, &PAGE])?;
            for row in &rows {
                after = (row.try_get(0)?, row.try_get(1)?);
                visit(SourceTile {
                    level: natural(after.0),
                    number: natural(after.1),
                    hashes: row.try_get(2)?,
                    root: Some(row.try_get(3)?),
                });
            }
            if rows.is_empty() {
                return Ok(());
            }
        };
        read().map_err(|source| SourceError::Server { name: self.name.clone(), source })
    }

    fn read_states(&mut self, visit: &mut dyn FnMut(StoredState<'_>)) -> Result<bool, SourceError> {
        states(&mut self.client, visit)
            .map_err(|source| SourceError::Server { name: self.name.clone(), source })
    }
}

/// Visits the rows of cases and retry states, if the schema has both tables.
fn states(
    client: &mut Client,
    visit: &mut dyn FnMut(StoredState<'_>),
) -> Result<bool, postgres::Error> {
    let tables = "SELECT count(*) FROM pg_catalog.pg_tables
         WHERE schemaname = current_schema() AND tablename IN ('case_record', 'attempt')";
    if client.query_one(tables, &[])?.try_get::<_, i64>(0)? < 2 {
        return Ok(false);
    }
    let mut after: Option<String> = None;
    loop {
        let rows = client.query(
            "SELECT id, decided, expires, revision, body, content FROM case_record
             WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2",
            &[&after, &PAGE],
        )?;
        for row in &rows {
            visit(StoredState::Case(StoredCase {
                id: column(row, 0)?.map(str::as_bytes).unwrap_or_default(),
                decided: column(row, 1)?,
                expires: column(row, 2)?,
                revision: column(row, 3)?,
                body: column(row, 4)?.map(str::as_bytes).unwrap_or_default(),
                content: column(row, 5)?.unwrap_or_default(),
            }));
        }
        let Some(last) = rows.last() else { break };
        after = Some(last.try_get(0)?);
    }
    let mut after: Option<String> = None;
    loop {
        let rows = client.query(
            "SELECT key, expires, blocked, state FROM attempt
             WHERE $1::text IS NULL OR key > $1 ORDER BY key LIMIT $2",
            &[&after, &PAGE],
        )?;
        for row in &rows {
            visit(StoredState::Attempt(StoredAttempt {
                key: column(row, 0)?.map(str::as_bytes).unwrap_or_default(),
                expires: column(row, 1)?,
                blocked: column(row, 2)?,
                state: column(row, 3)?.map(str::as_bytes).unwrap_or_default(),
            }));
        }
        let Some(last) = rows.last() else { break };
        after = Some(last.try_get(0)?);
    }
    Ok(true)
}

/// A walk over the entries from start to end.
struct EntryWalk<'a> {
    client: &'a mut Client,
    checkpoints: CheckpointCursor,
    visit: &'a mut dyn FnMut(SourceRecord<'_>),
}

/// A cursor over the checkpoints, ordered by size, with one page in memory.
struct CheckpointCursor {
    notes: VecDeque<(i64, String)>,
    /// The size of the last checkpoint that was read, or `None` if there are no more.
    after: Option<i64>,
}

impl Default for CheckpointCursor {
    fn default() -> Self {
        Self { notes: VecDeque::new(), after: Some(i64::MIN) }
    }
}

impl EntryWalk<'_> {
    fn rows(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, postgres::Error> {
        self.client.query(sql, values)
    }

    /// Visits the leaf hashes of pruned entries, which the level-0 tiles contain.
    fn pruned(&mut self, from: u64) -> Result<(), postgres::Error> {
        self.checkpoints(0)?;
        let mut size = 0;
        while size < from {
            let number = i64::try_from(size / TILE_WIDTH).unwrap_or(i64::MAX);
            let tile = self.rows("SELECT data FROM tile WHERE level = 0 AND n = $1", &[&number])?;
            let Some(tile) = tile.first() else { return Ok(()) };
            let hashes: &[u8] = tile.try_get(0)?;
            let before = size;
            for hash in hashes.chunks_exact(32) {
                let Ok(hash) = MerkleHash::try_from(hash) else { break };
                if size == from {
                    break;
                }
                (self.visit)(SourceRecord::PrunedHash(hash));
                size += 1;
                self.checkpoints(i64::try_from(size).unwrap_or(i64::MAX))?;
            }
            // A truncated tile leaves a gap, which the verifier reports.
            if size % TILE_WIDTH != 0 || size == before {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Visits the entries with their parts, and each checkpoint after the last entry of its tree.
    fn entries(&mut self) -> Result<(), postgres::Error> {
        let mut after = i64::MIN;
        loop {
            let rows = self.rows(
                "SELECT seq, ts, kind, agent, tool, outcome, request_id, response_id, reply_id, leaf_hash, leaf
                 FROM entry WHERE seq > $1 ORDER BY seq LIMIT $2",
                &[&after, &PAGE],
            )?;
            let Some(last) = rows.last() else { break };
            let last: i64 = last.try_get(0)?;
            let parts = self.parts(after.saturating_add(1)..=last)?;
            let mut parts = parts.as_slice();
            for row in &rows {
                let seq: i64 = row.try_get(0)?;
                let strays = parts.partition_point(|part| part.seq < seq);
                let own = parts.partition_point(|part| part.seq <= seq);
                self.strays(&parts[..strays]);
                let own_parts: Vec<SourcePart<'_>> =
                    parts[strays..own].iter().map(PartRow::part).collect();
                parts = &parts[own..];
                let columns = EntryColumns {
                    ts: column(row, 1)?.unwrap_or(i64::MIN),
                    kind: column(row, 2)?.map(str::as_bytes).unwrap_or_default(),
                    agent: column(row, 3)?.map(str::as_bytes),
                    tool: column(row, 4)?.map(str::as_bytes),
                    outcome: column(row, 5)?.map(str::as_bytes),
                    request_id: column(row, 6)?,
                    response_id: column(row, 7)?,
                    reply_id: column(row, 8)?,
                    leaf_hash: column(row, 9)?.unwrap_or_default(),
                };
                let leaf = column(row, 10)?.unwrap_or_default();
                let (index, columns) = (natural(seq), Some(columns));
                (self.visit)(SourceRecord::Entry(SourceEntry {
                    index,
                    leaf,
                    parts: &own_parts,
                    columns,
                }));
                self.checkpoints(seq.saturating_add(1))?;
            }
            self.strays(parts);
            after = last;
        }
        self.parts_beyond(after)?;
        self.checkpoints(i64::MAX)
    }

    /// Visits the checkpoints of trees up to this size, with their cosignatures appended.
    fn checkpoints(&mut self, size: i64) -> Result<(), postgres::Error> {
        loop {
            while let Some((filed_under, note)) =
                self.checkpoints.notes.pop_front_if(|(filed, _)| *filed <= size)
            {
                let filed_under = Some(natural(filed_under));
                (self.visit)(SourceRecord::Checkpoint { note: &note, filed_under });
            }
            let Some(after) = self.checkpoints.after.filter(|_| self.checkpoints.notes.is_empty())
            else {
                return Ok(());
            };
            let rows = self.rows(
                "SELECT size, note || coalesce((SELECT string_agg(line, '' ORDER BY signer) FROM cosignature AS c
                   WHERE c.size = k.size), '') FROM (
                     SELECT size, note FROM checkpoint UNION ALL SELECT size, note FROM head WHERE note <> ''
                     AND NOT EXISTS (SELECT 1 FROM checkpoint AS c WHERE c.size = head.size AND c.note = head.note)
                   ) AS k WHERE size > $1 ORDER BY size LIMIT $2",
                &[&after, &PAGE],
            )?;
            self.checkpoints.after = None;
            for row in &rows {
                let size: i64 = row.try_get(0)?;
                self.checkpoints.after = Some(size);
                self.checkpoints.notes.push_back((size, row.try_get(1)?));
            }
        }
    }

    fn parts(&mut self, within: RangeInclusive<i64>) -> Result<Vec<PartRow>, postgres::Error> {
        let rows = self.rows(
            "SELECT seq, name, salt, bytes FROM part WHERE seq >= $1 AND seq <= $2 ORDER BY seq, name",
            &[within.start(), within.end()],
        )?;
        let part = |row: &Row| {
            Ok(PartRow {
                seq: row.try_get(0)?,
                name: row.try_get(1)?,
                salt: row.try_get(2)?,
                bytes: row.try_get(3)?,
            })
        };
        rows.iter().map(part).collect()
    }

    /// Reports the parts after the last entry. It reads only their names, so their content may have
    /// any size.
    fn parts_beyond(&mut self, last: i64) -> Result<(), postgres::Error> {
        let mut after = (last, None::<String>);
        loop {
            let rows = self.rows(
                "SELECT seq, name FROM part WHERE seq > $1 OR seq = $1 AND name > $2 ORDER BY seq, name LIMIT $3",
                &[&after.0, &after.1, &PAGE],
            )?;
            for row in &rows {
                let (seq, name): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
                (self.visit)(SourceRecord::StrayPart {
                    index: natural(seq),
                    name: name.as_bytes(),
                });
                after = (seq, Some(name));
            }
            if rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reports parts that belong to no entry.
    fn strays(&mut self, parts: &[PartRow]) {
        for part in parts {
            (self.visit)(SourceRecord::StrayPart {
                index: natural(part.seq),
                name: part.name.as_bytes(),
            });
        }
    }
}

/// A part as its row stores it.
struct PartRow {
    seq: i64,
    name: String,
    salt: Vec<u8>,
    bytes: Vec<u8>,
}

impl PartRow {
    fn part(&self) -> SourcePart<'_> {
        SourcePart { name: self.name.as_bytes(), salt: &self.salt, bytes: &self.bytes }
    }
}

/// Reads a column as nullable, even if the table declares it as not null.
fn column<'a, T: FromSql<'a>>(row: &'a Row, place: usize) -> Result<Option<T>, postgres::Error> {
    row.try_get(place)
}

/// Converts a number that should not be negative. A negative one becomes larger than any log.
fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
