//! Correction messages: the text that a model gets for an invalid call.
//!
//! A [`CallFailure`] goes in, a text comes out: a summary line with the attempt, a bullet for every
//! finding with what was expected, what came and a hint, and a call to action. The text is strictly
//! shorter than [`Formatting::max_message_length`] whatever the findings hold, and nothing in them can
//! pose as a line of ours. Both layouts are described in `docs/reference/message-format.md` and carry a version.
//!
//! ```
//! use answerback_findings::{Severity, ValidationError};
//! use answerback_calls::message::{ErrorFormatter, CallFailure, Formatting, StandardFormatter};
//!
//! let findings = [ValidationError::new("VAL-001", Severity::Error)
//!     .with_path("/path".try_into()?)
//!     .with_message("Required field 'path' is missing")
//!     .with_expected("string")];
//! let failure = CallFailure::new("read_file", &findings).with_attempt(1, 3);
//! assert_eq!(
//!     StandardFormatter.format(&failure, &Formatting::default()),
//!     "Validation failed for tool 'read_file' (attempt 1/3):\n\n\
//!      • /path (VAL-001): Required field 'path' is missing\n  Expected: string\n\n\
//!      Please provide the missing 'path' field.",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`repair()`] proposes a patch that makes a failing call valid, where there is one.
//!
//! Left out: counting attempts, and the shapes in which providers carry the text.

mod action;
mod budget;
mod compact;
mod detailed;
mod entry;
mod failure;
mod file_paths;
mod finding_cache;
mod formatter;
mod formatters;
mod formatting;
mod hint;
mod progress;
mod repair;
mod schema;
pub mod suggest;
mod tools;

pub use failure::CallFailure;
pub use file_paths::FilePathFormatter;
pub use formatter::{ErrorFormatter, StandardFormatter};
pub use formatters::{Formatters, SharedFormatter};
pub use formatting::{Formatting, FormattingError, Style};
pub use repair::{Repair, repair, repair_malformed};
pub use tools::{CandidateTool, OfferedTools, nearest_tools, unknown_tool};

/// The version of the `detailed` layout; it changes when a reader of the text could notice.
pub const DETAILED_VERSION: &str = "answerback/detailed@1";
/// The version of the `compact` layout.
pub const COMPACT_VERSION: &str = "answerback/compact@1";

#[cfg(test)]
mod tests;
