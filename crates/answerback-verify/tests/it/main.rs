//! Tests the verifier against valid and tampered ledgers, which an independent small writer
//! creates.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

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

use answerback_verify::{Level, LogSource, VerifyOptions, VerifyReport, verify};

/// Verifies on one thread.
fn judge(source: &mut dyn LogSource, options: VerifyOptions) -> VerifyReport {
    verify(source, &options.with_threads(NonZeroUsize::MIN)).unwrap()
}

/// Returns the numbers of the levels that failed.
fn failed(report: &VerifyReport) -> Vec<u8> {
    report.failed_levels().into_iter().map(Level::number).collect()
}
