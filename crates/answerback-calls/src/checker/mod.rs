//! Takes one call through the whole retry contract: parse, check, count, reply.
//!
//! [`check_call()`] checks one call by itself and may run on any thread. [`reply_to()`] counts the attempt and
//! writes the message for the model. The result is a [`CallReply`], which `answerback replay` prints as a line
//! and the HTTP API returns.
//!
//! ```
//! use answerback_calls::checker::{CallRequest, CallStatus, ToolCatalog, check_call, reply_to};
//! use answerback_calls::config::ValidationConfig;
//! use answerback_calls::retry::RetryTracker;
//! use answerback_json::Timestamp;
//! use serde_json::json;
//!
//! let tools = json!([{"name": "read_file", "inputSchema": {
//!     "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
//! }}]);
//! let (catalog, config) = (ToolCatalog::read(&tools)?, ValidationConfig::default());
//! let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
//!
//! let call = CallRequest::read(br#"{"id": "c1", "tool": "read_file", "arguments": {}}"#, Default::default())?;
//! let checked = check_call(&catalog, call, &config, Default::default());
//! let reply = reply_to(checked, &tracker, now, [7; 10]);
//! assert_eq!((reply.status, reply.attempt), (CallStatus::Retry, 1));
//! assert!(reply.result.unwrap().content.contains("Required field 'path' is missing"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The caller supplies files, clocks and randomness. [`crate::provider`] converts the reply's result to a
//! provider's format.

mod call_request;
mod checked_call;
#[cfg(test)]
mod linearity;
mod reply;
mod summary;
mod tool_catalog;

#[cfg(feature = "schema")]
pub(crate) use call_request::schema as call_schema;
pub use call_request::{CallRequest, CallRequestError};
pub use checked_call::{CheckedCall, ParsedArguments, check_call};
pub use reply::{CallReply, CallStatus, MessageInputs, reply_to};
pub use summary::{
    AttemptSummary, CallSummary, CodeCount, PlaceCount, Repairs, Share, SuspectPlace,
};
pub use tool_catalog::{ToolCatalog, ToolCatalogError};
