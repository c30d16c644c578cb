//! Reads the SQLite store's file in one read transaction.
//!
//! A writer can continue in the meantime. The transaction sees the log as it was when the file was
//! opened.

use std::path::{Path, PathBuf};

use rusqlite::{
    Connection, ErrorCode, OpenFlags, Row, Rows,
    fallible_streaming_iterator::FallibleStreamingIterator as _, types::ValueRef,
};

use super::{
    EntryColumns, LogSource, SourceClaims, SourceEntry, SourceError, SourceHead, SourcePart,
    SourceRecord, SourceTile, StoredAttempt, StoredCase, StoredState, StoredTiles,
};
use crate::{hash::MerkleHash, tiles::TILE_WIDTH};

/// The file of an SQLite store.
pub struct Sqlite {
    path: PathBuf,
    connection: Connection,
    claims: SourceClaims,
}

impl Sqlite {
    /// Opens the file and begins the transaction for all reads.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is not a ledger.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |source| SourceError::Database { path: path.to_owned(), source };
        let connection = begin(path).map_err(failed)?;
        let claims = claims(path, &connection)?;
        Ok(Self { path: path.to_owned(), connection, claims })
    }
}

/// Opens the file and fixes the state that is read.
fn begin(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(pinned);
    match opened {
        // SQLite needs shared memory for a write-ahead log, which read-only media cannot provide.
        // Without such a log, the file is complete and cannot change.
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            ) && !has_log(path) =>
        {
            let uri = format!("file:{}?immutable=1", escaped(path));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI).and_then(pinned)
        }
        opened => opened,
    }
}

/// Begins a transaction. Its first read determines which state of the file it sees.
fn pinned(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    // Every page is read only once, so a small cache suffices and stays in the processor's cache.
    // Copying a page costs no more than the page faults of a mapped file. A mapped file would also
    // crash the process if it were truncated.
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0; PRAGMA cache_size = -256; BEGIN",
    )?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Escapes a path for a `file:` URI.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-') {
            text.push(char::from(*byte));
        } else {
            text.push('%');
            text.push_str(&data_encoding::HEXUPPER.encode(&[*byte]));
        }
    }
    text
}

fn claims(path: &Path, connection: &Connection) -> Result<SourceClaims, SourceError> {
    let meta = |key: &str| {
        let query = "SELECT value FROM meta WHERE key = ?1";
        connection
            .query_row(query, [key], |row| row.get_ref(0).map(|value| lossy(bytes(value))))
            .map_err(|error| {
                let reason =
                    format!("it is an SQLite file, but {key} cannot be read in meta: {error}");
                SourceError::not_a_ledger(path, reason)
            })
    };
    let format = meta("format")?;
    if format != "1" {
        return Err(SourceError::not_a_ledger(
            path,
            format!("version {format} of the format is unknown"),
        ));
    }
    let head = "SELECT size, minimum, frontier, root, last_ts FROM head WHERE id = 0";
    let head = connection.query_row(head, [], |row| {
        let blob =
            |column| row.get_ref(column).map(|value| bytes(value).unwrap_or_default().to_vec());
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            blob(2)?,
            blob(3)?,
            row.get::<_, i64>(4)?,
        ))
    });
    let (size, minimum, frontier, root, last_ts) =
        head.map_err(|error| SourceError::not_a_ledger(path, format!("head: {error}")))?;
    let (Ok(size), Ok(from)) = (u64::try_from(size), u64::try_from(minimum)) else {
        return Err(SourceError::not_a_ledger(path, "head: a size below zero"));
    };
    Ok(SourceClaims {
        origin: meta("origin")?,
        vkey: meta("vkey")?,
        from,
        size,
        missing_needs_prune: true,
        head: Some(SourceHead { frontier, root, last_ts, signer: meta("signer")? }),
        tiles: StoredTiles::Full,
    })
}

impl LogSource for Sqlite {
    fn claims(&self) -> &SourceClaims {
        &self.claims
    }

    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError> {
        entries(&self.connection, self.claims.from, visit)
            .map_err(|source| SourceError::Database { path: self.path.clone(), source })
    }

    fn read_tiles(&mut self, visit: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError> {
        let mut read = || {
            let mut statement = self
                .connection
                .prepare("SELECT level, n, data, root FROM tile ORDER BY level, n")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(SourceTile {
                    level: natural(row, 0)?,
                    number: natural(row, 1)?,
                    hashes: bytes(row.get_ref(2)?).unwrap_or_default(),
                    root: Some(bytes(row.get_ref(3)?).unwrap_or_default()),
                });
            }
            Ok(())
        };
        read().map_err(|source| SourceError::Database { path: self.path.clone(), source })
    }

    fn read_states(&mut self, visit: &mut dyn FnMut(StoredState<'_>)) -> Result<bool, SourceError> {
        states(&self.connection, visit)
            .map_err(|source| SourceError::Database { path: self.path.clone(), source })
    }
}

/// Visits the rows of cases and retry states, if the file has both tables.
fn states(
    connection: &Connection,
    visit: &mut dyn FnMut(StoredState<'_>),
) -> rusqlite::Result<bool> {
    let tables = "SELECT count(*) FROM sqlite_schema
         WHERE type = 'table' AND name IN ('case_record', 'attempt')";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? < 2 {
        return Ok(false);
    }
    let number = |row: &Row<'_>, column| row.get_ref(column).map(|value| value.as_i64().ok());
    let mut cases = connection.prepare(
        "SELECT id, decided, expires, revision, body, content FROM case_record ORDER BY id",
    )?;
    let mut rows = cases.query([])?;
    while let Some(row) = rows.next()? {
        visit(StoredState::Case(StoredCase {
            id: bytes(row.get_ref(0)?).unwrap_or_default(),
            decided: number(row, 1)?.map(|flag| flag != 0),
            expires: number(row, 2)?,
            revision: number(row, 3)?,
            body: bytes(row.get_ref(4)?).unwrap_or_default(),
            content: bytes(row.get_ref(5)?).unwrap_or_default(),
        }));
    }
    let mut attempts =
        connection.prepare("SELECT key, expires, blocked, state FROM attempt ORDER BY key")?;
    let mut rows = attempts.query([])?;
    while let Some(row) = rows.next()? {
        visit(StoredState::Attempt(StoredAttempt {
            key: bytes(row.get_ref(0)?).unwrap_or_default(),
            expires: number(row, 1)?,
            blocked: number(row, 2)?.map(|flag| flag != 0),
            state: bytes(row.get_ref(3)?).unwrap_or_default(),
        }));
    }
    Ok(true)
}

/// Visits the leaf hashes of pruned entries, which the level-0 tiles contain.
fn pruned(
    connection: &Connection,
    from: u64,
    checkpoints: &mut RowCursor<'_>,
    visit: &mut dyn FnMut(SourceRecord<'_>),
) -> rusqlite::Result<()> {
    if from == 0 {
        return Ok(());
    }
    let mut statement =
        connection.prepare("SELECT n, data FROM tile WHERE level = 0 ORDER BY n")?;
    let mut rows = statement.query([])?;
    let mut size = 0;
    while let Some(row) = rows.next()? {
        if natural(row, 0)? != size / TILE_WIDTH {
            break;
        }
        for hash in bytes(row.get_ref(1)?).unwrap_or_default().chunks_exact(32) {
            let Ok(hash) = MerkleHash::try_from(hash) else { break };
            if size == from {
                return Ok(());
            }
            visit(SourceRecord::PrunedHash(hash));
            size += 1;
            emit_checkpoints(checkpoints, size, visit)?;
        }
    }
    Ok(())
}

/// Visits the entries with their parts, and each checkpoint after the last entry of its tree.
fn entries(
    connection: &Connection,
    from: u64,
    visit: &mut dyn FnMut(SourceRecord<'_>),
) -> rusqlite::Result<()> {
    let mut entries = connection.prepare(
        "SELECT seq, ts, kind, agent, tool, outcome, request_id, response_id, leaf, leaf_hash, reply_id FROM entry ORDER BY seq",
    )?;
    let mut parts =
        connection.prepare("SELECT id >> 8, name, salt, bytes FROM part ORDER BY id")?;
    let mut checkpoints = connection.prepare(checkpoints_query(connection)?)?;
    let mut entries = entries.query([])?;
    let mut parts = RowCursor::new(parts.query([])?)?;
    let mut checkpoints = RowCursor::new(checkpoints.query([])?)?;
    let mut buffer = PartBuffer::default();
    emit_checkpoints(&mut checkpoints, 0, visit)?;
    pruned(connection, from, &mut checkpoints, visit)?;
    while let Some(row) = entries.next()? {
        let index = natural(row, 0)?;
        emit_strays(&mut parts, Some(index), visit)?;
        buffer.clear();
        while let Some(part) = parts.at(index) {
            buffer.push(part)?;
            parts.advance()?;
        }
        let text = |column| row.get_ref(column).map(bytes);
        let columns = EntryColumns {
            ts: row.get_ref(1)?.as_i64().unwrap_or(i64::MIN),
            kind: text(2)?.unwrap_or_default(),
            agent: text(3)?,
            tool: text(4)?,
            outcome: text(5)?,
            request_id: text(6)?,
            response_id: text(7)?,
            leaf_hash: text(9)?.unwrap_or_default(),
            reply_id: text(10)?,
        };
        let leaf = text(8)?.unwrap_or_default();
        let (mut few, many);
        let parts = if buffer.ends.len() <= FEW {
            few = [SourcePart { name: &[], salt: &[], bytes: &[] }; FEW];
            for (place, part) in few.iter_mut().zip(buffer.parts()) {
                *place = part;
            }
            &few[..buffer.ends.len()]
        } else {
            many = buffer.parts().collect::<Vec<_>>();
            &many
        };
        visit(SourceRecord::Entry(SourceEntry { index, leaf, parts, columns: Some(columns) }));
        emit_checkpoints(&mut checkpoints, index.saturating_add(1), visit)?;
    }
    emit_strays(&mut parts, None, visit)?;
    emit_checkpoints(&mut checkpoints, u64::MAX, visit)
}

/// The query of all checkpoints: the stored ones, and the newest one in the head unless it is also
/// stored.
macro_rules! known_checkpoints {
    () => {
        "SELECT size, note FROM checkpoint UNION ALL SELECT size, note FROM head WHERE note <> ''
         AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.size = head.size AND c.note = head.note)"
    };
}

/// Returns the query of checkpoints. It appends cosignatures if there are any.
fn checkpoints_query(connection: &Connection) -> rusqlite::Result<&'static str> {
    let has_rows = |query| connection.query_row(query, [], |row| row.get::<_, bool>(0));
    let table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'cosignature')";
    if has_rows(table)? && has_rows("SELECT EXISTS (SELECT 1 FROM cosignature)")? {
        // Lines are appended only where they exist. Otherwise the note stays unchanged, whatever
        // type its value has.
        return Ok(concat!(
            "SELECT size, CASE WHEN EXISTS (SELECT 1 FROM cosignature c WHERE c.size = k.size)
             THEN note || (SELECT group_concat(line, '') FROM cosignature c WHERE c.size = k.size)
             ELSE note END FROM (",
            known_checkpoints!(),
            ") k ORDER BY size"
        ));
    }
    Ok(concat!(known_checkpoints!(), " ORDER BY size"))
}

fn emit_checkpoints(
    checkpoints: &mut RowCursor<'_>,
    size: u64,
    visit: &mut dyn FnMut(SourceRecord<'_>),
) -> rusqlite::Result<()> {
    while let Some((filed_under, row)) = checkpoints.before(size.saturating_add(1)) {
        let note = lossy(bytes(row.get_ref(1)?));
        visit(SourceRecord::Checkpoint { note: &note, filed_under: Some(filed_under) });
        checkpoints.advance()?;
    }
    Ok(())
}

/// Reports the parts that are recorded for an index below this entry, or all remaining ones.
fn emit_strays(
    parts: &mut RowCursor<'_>,
    entry: Option<u64>,
    visit: &mut dyn FnMut(SourceRecord<'_>),
) -> rusqlite::Result<()> {
    while let Some((index, row)) = parts.before(entry.unwrap_or(u64::MAX)) {
        visit(SourceRecord::StrayPart { index, name: bytes(row.get_ref(1)?).unwrap_or_default() });
        parts.advance()?;
    }
    Ok(())
}

/// A cursor over rows that are sorted by their first column, with the next row available.
struct RowCursor<'a> {
    rows: Rows<'a>,
    next: Option<u64>,
}

impl<'a> RowCursor<'a> {
    fn new(rows: Rows<'a>) -> rusqlite::Result<Self> {
        let mut ahead = Self { rows, next: None };
        ahead.advance()?;
        Ok(ahead)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.rows.advance()?;
        self.next = self.rows.get().map(|row| natural(row, 0)).transpose()?;
        Ok(())
    }

    fn at(&self, key: u64) -> Option<&Row<'a>> {
        (self.next == Some(key)).then(|| self.rows.get()).flatten()
    }

    fn before(&self, key: u64) -> Option<(u64, &Row<'a>)> {
        let next = self.next.filter(|next| *next < key)?;
        Some((next, self.rows.get()?))
    }
}

/// The number of parts that are passed on without an allocation. No entry of the store has more.
const FEW: usize = 4;

/// The parts of one entry, copied because a row is no longer available after the next step.
#[derive(Default)]
struct PartBuffer {
    bytes: Vec<u8>,
    ends: Vec<[usize; 3]>,
}

impl PartBuffer {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let mut ends = [0; 3];
        for (column, end) in ends.iter_mut().enumerate() {
            self.bytes.extend_from_slice(bytes(row.get_ref(column + 1)?).unwrap_or_default());
            *end = self.bytes.len();
        }
        self.ends.push(ends);
        Ok(())
    }

    fn parts(&self) -> impl Iterator<Item = SourcePart<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |[name, salt, end]: &[usize; 3]| {
            let part = SourcePart {
                name: &self.bytes[start..*name],
                salt: &self.bytes[*name..*salt],
                bytes: &self.bytes[*salt..*end],
            };
            start = *end;
            part
        })
    }
}

/// Returns the bytes of a text or a blob. The database does not enforce the declared type of a
/// column.
fn bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        _ => None,
    }
}

fn lossy(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// Converts a number that should not be negative. A negative one becomes larger than any log.
fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row
        .get_ref(column)?
        .as_i64()
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or(u64::MAX))
}
