//! The reply layer for AI agents and their tools.
#![warn(missing_docs)]

pub mod call;
pub mod contract;
pub mod finding;
mod id;
pub mod json;
pub mod time;

pub use finding::{Severity, ValidationError};
pub use id::{UuidError, UuidV4};
pub use time::Timestamp;
