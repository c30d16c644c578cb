//! The library from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod atdf;
mod convert;
mod generate;
mod governance;
mod judge;
mod rules;
#[cfg(feature = "schema")]
mod schemas;
mod seeds;
mod ui;
