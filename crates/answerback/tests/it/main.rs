//! The library from outside.

mod atdf;
mod convert;
mod generate;
mod judge;
mod rules;
#[cfg(feature = "schema")]
mod schemas;
mod seeds;
mod ui;
