//! The floor below the record: what two durable commits a call cost where nothing else is done.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

/// What is written of a call and of its result, in bytes.
const WRITTEN: [usize; 2] = [500, 1500];

/// A table with nothing but a number and bytes, set up as the ledger's file is.
pub(crate) struct Commits {
    connection: Connection,
}

impl Commits {
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(folder.join("bare.db"))?;
        connection.execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000; CREATE TABLE bare(seq INTEGER PRIMARY KEY, bytes BLOB);",
        )?;
        Ok(Self { connection })
    }

    /// Processor time of the commits of one call, of this thread alone: nobody is waited for and nobody woken.
    pub(crate) fn milliseconds(&self, calls: u32) -> anyhow::Result<f64> {
        let mut insert = self.connection.prepare("INSERT INTO bare(bytes) VALUES (?1)")?;
        let began = used();
        for _ in 0..calls {
            for bytes in WRITTEN {
                insert.execute([&[b'x'; 1500][..bytes]])?;
            }
        }
        Ok(used().saturating_sub(began).as_secs_f64() * 1000.0 / f64::from(calls))
    }
}

fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
