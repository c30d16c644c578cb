//! What the disk and the database cost by themselves.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::CONTENT;
use crate::figures::Stretch;

pub(crate) fn run(folder: &Path, entries: u64) -> anyhow::Result<()> {
    let count = (entries / 10).max(200);
    let mut file = File::create(folder.join("raw"))?;
    let content = [7; CONTENT];
    let (stretch, mut times) = (Stretch::begin(), Vec::new());
    for _ in 0..count {
        let began = Instant::now();
        file.write_all(&content)?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    stretch.end("raw: 2 KB and fdatasync", count, &mut times);

    let connection = Connection::open(folder.join("bare.db"))?;
    connection.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE bare(seq INTEGER PRIMARY KEY, bytes BLOB);",
    )?;
    for group in [1, 256] {
        let count = if group == 1 { count } else { entries };
        let (stretch, mut times) = (Stretch::begin(), Vec::new());
        for _ in 0..count / group {
            let began = Instant::now();
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for _ in 0..group {
                let sql = "INSERT INTO bare(bytes) VALUES (?1)";
                connection.prepare_cached(sql)?.execute([content])?;
            }
            connection.execute_batch("COMMIT")?;
            times.push(began.elapsed());
        }
        let name = format!("bare SQLite table, {group} in a transaction");
        stretch.end(&name, count / group * group, &mut times);
    }
    Ok(())
}
