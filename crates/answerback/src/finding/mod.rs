//! Findings: one type for everything that can be wrong in an input.
//!
//! The checks of documents and the check of calls both return [`ValidationError`]s. [`codes`] explains each code.

mod aggregate;
pub mod codes;
mod control_chars;
pub(crate) mod neutral;
mod paths;
mod preview;
pub mod secrets;
pub mod val;
mod validation_error;

pub(crate) use aggregate::importance;
pub use aggregate::{Aggregate, Group, aggregate};
pub use codes::Rule;
pub use control_chars::{acts, is_blank};
pub use neutral::{shown_name, shown_text};
pub use paths::relative_paths;
pub(crate) use paths::relative_paths_in_json;
pub use preview::{Preview, preview};
pub(crate) use preview::{TRUNCATED, kind_at, kind_of_place, window};
pub use validation_error::{Severity, ValidationError};
