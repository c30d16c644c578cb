//! Measures what a durable entry costs, in one run beside the disk's own sync and a bare `SQLite` table.
//! `scripts/bench-ledger` runs it:
//!
//! - `bench-ledger` takes less than a minute;
//! - `bench-ledger ENTRIES GROWTH PROOFS` measures that many entries at each level of concurrency, then how the
//!   rate holds from a tenth of GROWTH entries to GROWTH, then proofs in a log of PROOFS small entries.
//!
//! Everything lies in a folder below the one that `TMPDIR` names, which should be on the disk that is meant.
#![expect(clippy::print_stdout, reason = "it is a program that prints figures")]

mod figures;
mod floor;
mod load;
mod postgres;
mod proofs;

use std::path::Path;

use anyhow::{Context, bail};

/// Bytes of content of an entry.
const CONTENT: usize = 2048;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse().context("ENTRIES, GROWTH and PROOFS are whole numbers"))
        .collect::<anyhow::Result<_>>()?;
    let (entries, growth, proofs) = match arguments[..] {
        [] => (20_000, 0, 100_000),
        [entries, growth, proofs] => (entries, growth, proofs),
        _ => bail!("usage: bench-ledger [ENTRIES GROWTH PROOFS]"),
    };
    let folder = std::env::temp_dir().join(format!("bench-ledger-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let measured = measure(&folder, entries, growth, proofs);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(folder: &Path, entries: u64, growth: u64, proofs: u64) -> anyhow::Result<()> {
    floor::run(folder, entries)?;
    load::run(folder, entries)?;
    match std::env::var("ANSWERBACK_TEST_POSTGRES") {
        Ok(url) => postgres::run(folder, &url, entries)?,
        Err(_) => println!("PostgreSQL: skipped; `scripts/postgres` sets its URL"),
    }
    if growth > 0 {
        load::grow(folder, growth)?;
    }
    if proofs > 0 {
        proofs::run(folder, proofs)?;
    }
    Ok(())
}
