//! Measures the lower bound for recording: two durable commits for each call, and nothing else.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

/// The number of bytes that are written for a call and for its result.
const RECORD_SIZES: [usize; 2] = [500, 1500];

/// Writes to a minimal table with the same database settings as the ledger.
pub(crate) struct BareCommits {
    connection: Connection,
}

impl BareCommits {
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(folder.join("bare.db"))?;
        connection.execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000; CREATE TABLE bare(seq INTEGER PRIMARY KEY, bytes BLOB);",
        )?;
        Ok(Self { connection })
    }

    /// Returns the CPU time of this thread for the commits of one call. No other thread takes part.
    pub(crate) fn milliseconds(&self, calls: u32) -> anyhow::Result<f64> {
        let mut insert = self.connection.prepare("INSERT INTO bare(bytes) VALUES (?1)")?;
        let began = thread_cpu_time();
        for _ in 0..calls {
            for bytes in RECORD_SIZES {
                insert.execute([&[b'x'; 1500][..bytes]])?;
            }
        }
        Ok(thread_cpu_time().saturating_sub(began).as_secs_f64() * 1000.0 / f64::from(calls))
    }
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
