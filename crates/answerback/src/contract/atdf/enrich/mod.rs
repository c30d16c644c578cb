//! From any list of findings to an enriched error.
//!
//! [`enrich()`] looks up what failed, in the tool's schema or in a contract's table of rules, and says in plain
//! words what was expected. Whatever it shows as right has been validated first; whatever it shows at
//! all is bounded, and secrets are left out.

mod condition;
mod document;
mod field;
mod response;
mod sample;
mod schema;
mod shown;
mod suggestion;

pub use response::{EnrichSource, enrich};
