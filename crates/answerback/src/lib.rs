#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod call;
pub mod case;
pub mod config;
pub mod contract;
pub mod convert;
mod digest;
pub mod finding;
pub mod governance;
mod hex;
mod id;
pub mod json;
pub mod judge;
pub mod message;
pub mod provider;
pub mod retry;
#[cfg(feature = "schema")]
pub mod schema;
pub mod time;

pub use digest::{Digest, DigestError};
pub use finding::{Severity, ValidationError};
pub use hex::{Hex, UuidText};
pub use id::{UuidError, UuidV4, UuidV7};
pub use provider::ToolResult;
pub use retry::RetryTracker;
pub use time::Timestamp;

/// The examples of the project's README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide to governance run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/governance.md")]
struct GovernanceGuide;
