//! Takes one call through the whole retry contract: parse, check, count, answer.
//!
//! [`judge()`] checks one call by itself and may run on any thread. [`answer()`] counts the attempt and
//! writes the message for the model. The result is an [`Answer`], which `answerback replay` prints as a line
//! and the HTTP API returns.
//!
//! ```
//! use answerback_calls::config::ValidationConfig;
//! use answerback_calls::judge::{CallLine, Catalogue, Status, answer, judge};
//! use answerback_calls::retry::RetryTracker;
//! use answerback_json::Timestamp;
//! use serde_json::json;
//!
//! let tools = json!([{"name": "read_file", "inputSchema": {
//!     "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
//! }}]);
//! let (catalogue, config) = (Catalogue::read(&tools)?, ValidationConfig::default());
//! let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
//!
//! let line = CallLine::read(br#"{"id": "c1", "tool": "read_file", "arguments": {}}"#, Default::default())?;
//! let judged = judge(&catalogue, line, &config, Default::default());
//! let answer = answer(judged, &tracker, now, [7; 10]);
//! assert_eq!((answer.status, answer.attempt), (Status::Retry, 1));
//! assert!(answer.result.unwrap().content.contains("Required field 'path' is missing"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The caller supplies files, clocks and randomness. [`crate::provider`] converts the answer's result to a
//! provider's format.

mod answer;
mod call_line;
mod catalogue;
mod judged;
#[cfg(test)]
mod linearity;
mod summary;

pub use answer::{Answer, Status, Wording, answer};
#[cfg(feature = "schema")]
pub(crate) use call_line::schema as call_schema;
pub use call_line::{CallLine, CallLineError};
pub use catalogue::{Catalogue, CatalogueError};
pub use judged::{Heard, Judged, judge};
pub use summary::{AttemptSummary, Counted, PlaceCount, Repairs, Share, Summary, SuspectPlace};
