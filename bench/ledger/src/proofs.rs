//! Proofs in a long log of small entries.

use std::path::Path;
use std::time::Instant;

use crate::figures::quantile;
use crate::load::{append, open};

/// Bytes of content of a small entry.
const SMALL: usize = 200;

/// How many proofs are timed.
const PROOFS: u64 = 2000;

pub(crate) fn run(folder: &Path, entries: u64) -> anyhow::Result<()> {
    let store = open(folder, "proofs")?;
    let began = Instant::now();
    append(&store, 0..entries, 1024, SMALL, &mut Vec::new())?;
    println!("{entries} entries of {SMALL} B written in {:.1} s", began.elapsed().as_secs_f64());
    let (key, size) = (store.verifier_key()?, store.head()?.size);
    let mut times = Vec::new();
    for number in 0..PROOFS {
        // Spread over the log, the same in every run.
        let index = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % size;
        let began = Instant::now();
        let receipt = store.receipt(index)?;
        times.push(began.elapsed());
        receipt.verify(&key)?;
    }
    println!(
        "inclusion proof in {size} entries: p50 {:.3} ms, p99 {:.3} ms, longest {:.3} ms",
        quantile(&mut times, 50),
        quantile(&mut times, 99),
        quantile(&mut times, 100),
    );
    Ok(())
}
