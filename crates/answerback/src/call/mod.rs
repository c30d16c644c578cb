//! Judging a tool call: its arguments against the tool's schema.
//!
//! [`Schema`] is compiled once, [`check()`] lists everything that is wrong with one call. Whether the
//! call is valid is the validator's word (the `jsonschema` crate); which branch of a union was meant,
//! which names are unknown and what is secret is read from an outline of the schema.

mod check;
pub mod codes;
mod effort;
mod expected;
mod outline;
mod schema;
mod shown;
mod types;
mod union;
mod unknown;
mod wording;

pub use check::{Options, check};
pub use schema::{Schema, SchemaError, SchemaErrorKind, Schemas};
