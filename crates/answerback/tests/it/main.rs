//! The library from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod atdf;
mod calls;
mod checker;
mod convert;
mod dice;
mod generate;
mod governance;
mod linear;
mod messages;
mod ordinary;
mod ordinary_values;
#[expect(unreachable_pub, reason = "the fuzz targets share it, from outside")]
mod promises;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod redaction;
mod rules;
#[cfg(feature = "schema")]
mod schemas;
mod secret_shapes;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod secrets;
mod seeds;
mod template;
mod tracker;
mod truth;
mod ui;
mod workloads;
