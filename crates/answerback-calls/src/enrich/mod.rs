//! Turns any list of findings into an enriched error.
//!
//! [`enrich()`] looks up the failed rules in the tool's schema or in a contract's table of rules. It
//! describes in plain words what was expected. Every value shown as valid is validated first. All texts are
//! bounded in length, and secrets are left out.

mod condition;
mod display;
mod document;
mod field;
mod response;
mod sample;
mod schema;
mod suggestion;

pub use response::{EnrichSource, enrich};
