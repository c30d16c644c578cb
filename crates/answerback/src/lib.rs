#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod call;
pub mod contract;
pub mod finding;
pub mod json;
pub mod prelude;

#[cfg(feature = "schema")]
pub use answerback_calls::schema;
pub use answerback_calls::{case, checker, config, message, provider, retry};
pub use answerback_contracts::{convert, governance};
pub use answerback_json::time;

#[doc(inline)]
pub use answerback_calls::provider::ToolResult;
#[doc(inline)]
pub use answerback_calls::retry::RetryTracker;
#[doc(inline)]
pub use answerback_findings::{Severity, ValidationError};
#[doc(inline)]
pub use answerback_json::{
    Digest, DigestError, Hex, Timestamp, UuidError, UuidText, UuidV4, UuidV7,
};

/// The examples of the project's README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide to governance run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/governance.md")]
struct GovernanceGuide;
