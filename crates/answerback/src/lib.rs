//! The reply layer for AI agents and their tools.
#![warn(missing_docs)]

pub mod contract;
pub mod convert;
pub mod finding;
pub mod governance;
mod id;
pub mod json;
#[cfg(feature = "schema")]
pub mod schema;
pub mod message;
pub mod time;

pub use finding::{Severity, ValidationError};
pub use id::{UuidError, UuidV4};
pub use time::Timestamp;
