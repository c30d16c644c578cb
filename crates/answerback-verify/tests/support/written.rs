//! Writes a ledger to a database file, JSON lines or tiles, and reads it from memory.

use std::{fmt::Write as _, fs, path::Path};

use answerback_verify::{
    EntryColumns, LogSource, MerkleHash, SourceClaims, SourceEntry, SourceError, SourceHead,
    SourcePart, SourceRecord, SourceTile, StoredTiles,
};
use data_encoding::BASE64;

use super::{Digest, Ledger, PartRow, root};

const SCHEMA: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE head(id INTEGER PRIMARY KEY CHECK (id = 0), size INTEGER NOT NULL, frontier BLOB NOT NULL, root BLOB NOT NULL, last_ts INTEGER NOT NULL, minimum INTEGER NOT NULL, event_seq INTEGER NOT NULL, note TEXT NOT NULL);
CREATE TABLE entry(seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, kind TEXT NOT NULL, agent TEXT, tool TEXT, outcome TEXT, request_id BLOB, response_id BLOB, reply_id BLOB, leaf_hash BLOB NOT NULL, leaf BLOB NOT NULL);
CREATE TABLE part(id INTEGER PRIMARY KEY, seq INTEGER GENERATED ALWAYS AS (id >> 8) VIRTUAL, name TEXT NOT NULL, salt BLOB NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE tile(level INTEGER NOT NULL, n INTEGER NOT NULL, root BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (level, n));
CREATE TABLE checkpoint(size INTEGER PRIMARY KEY, note TEXT NOT NULL);
";

/// Converts bytes to text. They may not be valid UTF-8 after tampering.
fn loose(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a database file.
pub(crate) struct SqliteWriter {
    connection: rusqlite::Connection,
}

impl SqliteWriter {
    pub(crate) fn create(path: &Path) -> Self {
        let connection = rusqlite::Connection::open(path).unwrap();
        // Use the same page size as the store.
        connection
            .execute_batch(
                "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;",
            )
            .unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        Self { connection }
    }

    /// Writes the new rows in one transaction, and removes them from the ledger's memory.
    pub(crate) fn append(&self, ledger: &mut Ledger) {
        let transaction = self.connection.unchecked_transaction().unwrap();
        {
            let mut entry = transaction
                .prepare_cached(
                    "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )
                .unwrap();
            for row in ledger.rows.drain(..) {
                let text = |value: &Option<Vec<u8>>| value.as_deref().map(loose);
                let values = rusqlite::params![
                    row.seq.cast_signed(),
                    row.ts,
                    loose(&row.kind),
                    text(&row.agent),
                    text(&row.tool),
                    text(&row.outcome),
                    row.request_id,
                    row.response_id,
                    row.reply_id,
                    row.leaf_hash,
                    row.leaf
                ];
                entry.execute(values).unwrap();
            }
            let mut part = transaction
                .prepare_cached("INSERT INTO part(id, name, salt, bytes) VALUES (?1, ?2, ?3, ?4)")
                .unwrap();
            let (mut entry, mut place) = (None, 0);
            for row in ledger.parts.drain(..) {
                place = if entry.replace(row.seq) == Some(row.seq) { place + 1 } else { 0 };
                part.execute(rusqlite::params![
                    row.seq.cast_signed() << 8 | place,
                    loose(&row.name),
                    row.salt,
                    row.bytes
                ])
                .unwrap();
            }
            let mut tile =
                transaction.prepare_cached("INSERT INTO tile VALUES (?1, ?2, ?3, ?4)").unwrap();
            for (level, number, root, data) in ledger.tiles.drain(..) {
                tile.execute(rusqlite::params![
                    level.cast_signed(),
                    number.cast_signed(),
                    root,
                    data
                ])
                .unwrap();
            }
            let mut checkpoint =
                transaction.prepare_cached("INSERT INTO checkpoint VALUES (?1, ?2)").unwrap();
            let newest = ledger.checkpoints.last().filter(|(size, _)| *size == ledger.size);
            let newest = newest.map(|(_, note)| note.clone()).unwrap_or_default();
            for (size, note) in ledger.checkpoints.drain(..) {
                checkpoint.execute(rusqlite::params![size.cast_signed(), note]).unwrap();
            }
            let head = rusqlite::params![
                ledger.size.cast_signed(),
                ledger.frontier,
                ledger.root,
                ledger.last_ts,
                ledger.minimum.cast_signed(),
                newest
            ];
            transaction
                .execute("INSERT OR REPLACE INTO head VALUES (0, ?1, ?2, ?3, ?4, ?5, 0, ?6)", head)
                .unwrap();
            for (key, value) in [
                ("format", "1"),
                ("origin", &ledger.origin),
                ("vkey", &ledger.vkey),
                ("signer", &ledger.signer),
            ] {
                transaction
                    .execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value])
                    .unwrap();
            }
        }
        transaction.commit().unwrap();
    }
}

fn parts_json(parts: &[&PartRow]) -> String {
    let part = |part: &&PartRow| {
        format!(
            r#"{{"name":"{}","salt":"{}","bytes":"{}"}}"#,
            loose(&part.name),
            BASE64.encode(&part.salt),
            BASE64.encode(&part.bytes)
        )
    };
    format!("[{}]", parts.iter().map(part).collect::<Vec<_>>().join(","))
}

fn note_json(note: &str) -> String {
    format!("{{\"checkpoint\":\"{}\"}}\n", note.replace('\n', "\\n"))
}

impl Ledger {
    pub(crate) fn write_sqlite(&self, path: &Path) {
        SqliteWriter::create(path).append(&mut self.clone());
    }

    fn parts_of(&self, seq: u64) -> Vec<&PartRow> {
        self.parts.iter().filter(|part| part.seq == seq).collect()
    }

    pub(crate) fn jsonl(&self) -> String {
        let Self { origin, vkey, minimum, size, .. } = self;
        let mut lines = format!(
            "{{\"answerback_ledger\":1,\"origin\":\"{origin}\",\"vkey\":\"{vkey}\",\"from\":\"{minimum}\",\"size\":\"{size}\"}}\n"
        );
        if *minimum > 0 {
            let mut hashes: Vec<String> = Vec::new();
            let mut start = 0;
            for bit in (0..64).rev().filter(|bit| minimum >> bit & 1 == 1) {
                let end = start + (1 << bit);
                hashes.push(format!("\"{}\"", BASE64.encode(&root(&self.hashes[start..end]))));
                start = end;
            }
            writeln!(
                lines,
                "{{\"range\":{{\"from\":\"{minimum}\",\"hashes\":[{}]}}}}",
                hashes.join(",")
            )
            .unwrap();
        }
        for row in &self.rows {
            let leaf = BASE64.encode(&row.leaf);
            let parts = parts_json(&self.parts_of(row.seq));
            writeln!(lines, "{{\"index\":\"{}\",\"leaf\":\"{leaf}\",\"parts\":{parts}}}", row.seq)
                .unwrap();
        }
        for (_, note) in &self.checkpoints {
            lines.push_str(&note_json(note));
        }
        lines
    }

    pub(crate) fn anchor(&self) -> String {
        self.checkpoints.iter().map(|(_, note)| note_json(note)).collect()
    }

    pub(crate) fn write_tiles(&self, directory: &Path) {
        let write = |path: String, bytes: &[u8]| {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("vkey".to_owned(), format!("{}\n", self.vkey).as_bytes());
        write("checkpoint".to_owned(), self.checkpoints.last().unwrap().1.as_bytes());
        write("checkpoints.jsonl".to_owned(), self.anchor().as_bytes());
        let mut parts = String::new();
        for row in &self.rows {
            let own = self.parts_of(row.seq);
            if !own.is_empty() {
                writeln!(parts, "{{\"index\":\"{}\",\"parts\":{}}}", row.seq, parts_json(&own))
                    .unwrap();
            }
        }
        write("parts.jsonl".to_owned(), parts.as_bytes());
        let name = |level: &str, number: usize, width: usize| {
            assert!(number < 1000, "test logs are small");
            let partial = if width < 256 { format!(".p/{width}") } else { String::new() };
            format!("tile/{level}/{number:03}{partial}")
        };
        let mut hashes = self.hashes.clone();
        for level in 0.. {
            for (number, tile) in hashes.chunks(256).enumerate() {
                write(name(&level.to_string(), number, tile.len()), &tile.concat());
            }
            hashes = hashes.chunks_exact(256).map(root).collect::<Vec<Digest>>();
            if hashes.is_empty() {
                break;
            }
        }
        let first = usize::try_from(self.minimum).unwrap() / 256;
        for (number, rows) in self.rows.chunks(256).enumerate() {
            let mut bundle = Vec::new();
            for row in rows {
                bundle.extend_from_slice(&u16::try_from(row.leaf.len()).unwrap().to_be_bytes());
                bundle.extend_from_slice(&row.leaf);
            }
            write(name("entries", first + number, rows.len()), &bundle);
        }
    }
}

/// Reads a ledger from memory as the embedded store would, for tests that tamper thousands of
/// times.
pub(crate) struct InMemory {
    ledger: Ledger,
    claims: SourceClaims,
}

impl InMemory {
    pub(crate) fn new(ledger: Ledger) -> Self {
        let claims = SourceClaims {
            origin: ledger.origin.clone(),
            vkey: ledger.vkey.clone(),
            from: ledger.minimum,
            size: ledger.size,
            missing_needs_prune: true,
            head: Some(SourceHead {
                frontier: ledger.frontier.clone(),
                root: ledger.root.clone(),
                last_ts: ledger.last_ts,
                signer: ledger.signer.clone(),
            }),
            tiles: StoredTiles::Full,
        };
        Self { ledger, claims }
    }
}

impl LogSource for InMemory {
    fn claims(&self) -> &SourceClaims {
        &self.claims
    }

    fn read(&mut self, visit: &mut dyn FnMut(SourceRecord<'_>)) -> Result<(), SourceError> {
        let Ledger { rows, parts, checkpoints, hashes, minimum, .. } = &self.ledger;
        let mut waiting = checkpoints.as_slice();
        let mut emit = |size: u64, visit: &mut dyn FnMut(SourceRecord<'_>)| {
            while let Some(((filed, note), rest)) = waiting.split_first()
                && *filed <= size
            {
                visit(SourceRecord::Checkpoint { note, filed_under: Some(*filed) });
                waiting = rest;
            }
        };
        for (index, hash) in hashes.iter().enumerate().take(usize::try_from(*minimum).unwrap()) {
            visit(SourceRecord::PrunedHash(MerkleHash::from(*hash)));
            emit(index as u64 + 1, visit);
        }
        for row in rows {
            let own = parts.iter().filter(|part| part.seq == row.seq);
            let own: Vec<SourcePart<'_>> = own
                .map(|part| SourcePart { name: &part.name, salt: &part.salt, bytes: &part.bytes })
                .collect();
            let columns = EntryColumns {
                ts: row.ts,
                kind: &row.kind,
                agent: row.agent.as_deref(),
                tool: row.tool.as_deref(),
                outcome: row.outcome.as_deref(),
                request_id: row.request_id.as_deref(),
                response_id: row.response_id.as_deref(),
                reply_id: row.reply_id.as_deref(),
                leaf_hash: &row.leaf_hash,
            };
            visit(SourceRecord::Entry(SourceEntry {
                index: row.seq,
                leaf: &row.leaf,
                parts: &own,
                columns: Some(columns),
            }));
            emit(row.seq.saturating_add(1), visit);
        }
        for part in parts.iter().filter(|part| !rows.iter().any(|row| row.seq == part.seq)) {
            visit(SourceRecord::StrayPart { index: part.seq, name: &part.name });
        }
        emit(u64::MAX, visit);
        Ok(())
    }

    fn read_tiles(&mut self, visit: &mut dyn FnMut(SourceTile<'_>)) -> Result<(), SourceError> {
        for (level, number, root, hashes) in &self.ledger.tiles {
            visit(SourceTile { level: *level, number: *number, hashes, root: Some(root) });
        }
        Ok(())
    }
}
