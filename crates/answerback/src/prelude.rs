//! The types and functions that most programs need.
//!
//! ```
//! use answerback::prelude::*;
//!
//! let document = read(br#"{"response_type": "report"}"#, Limits::default())?;
//! assert!(!Contract::Ui.check(&document.value, Profile::Strict).is_empty());
//! # Ok::<(), answerback::json::ReadError>(())
//! ```

pub use crate::call::{Schema, check, parse};
pub use crate::checker::{CallRequest, ToolCatalog, check_call, reply_to};
pub use crate::config::ValidationConfig;
pub use crate::contract::{Contract, Profile, recognise};
pub use crate::convert::convert;
pub use crate::finding::{Severity, ValidationError};
pub use crate::json::{Limits, Pointer, read};
pub use crate::message::{CallFailure, ErrorFormatter, Formatting, StandardFormatter, repair};
pub use crate::provider::{Provider, ToolResult, read_tools};
pub use crate::retry::RetryTracker;
pub use crate::time::Timestamp;
