//! Measures what verifying a governed response against manifest and lock costs, in CPU time, beside hashing its
//! bytes with SHA-256 and parsing them, on responses that are the same in every run. `scripts/bench-verify` runs it.

mod measure;
mod responses;

use std::io;

use anyhow::Context;

/// How many responses are measured if not said.
const RESPONSES: usize = 100_000;

fn main() -> anyhow::Result<()> {
    let count = match std::env::args().nth(1) {
        Some(count) => count.parse().context("usage: bench-verify [RESPONSES]")?,
        None => RESPONSES,
    };
    measure::run(count, &mut io::stdout().lock())
}
