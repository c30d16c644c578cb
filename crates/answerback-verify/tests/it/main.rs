//! The verifier against ledgers that a third, tiny writer made: good ones, and ones that were tampered with.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod flips;
mod governance;
mod proofs;

mod python;
mod receipts;
mod sources;
mod tamper;

use std::num::NonZeroUsize;

use answerback_verify::{Level, Options, Report, Source, verify};

/// Verifies on one thread.
fn judge(source: &mut dyn Source, options: Options) -> Report {
    verify(source, &options.with_threads(NonZeroUsize::MIN)).unwrap()
}

/// The numbers of the levels that failed.
fn failed(report: &Report) -> Vec<u8> {
    report.failed_levels().into_iter().map(Level::number).collect()
}
