//! The library from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod atdf;
mod calls;
mod convert;
mod dice;
mod generate;
mod governance;
mod judge;
mod ordinary;
#[expect(unreachable_pub, reason = "the fuzz targets share it, from outside")]
mod promises;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod redaction;
mod rules;
#[cfg(feature = "schema")]
mod schemas;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod secrets;
mod seeds;
mod tracker;
mod ui;
mod workloads;
