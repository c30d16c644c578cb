//! Everything that can be wrong, as one type.
//!
//! A checker of documents and a checker of calls both answer with [`ValidationError`]s; [`codes`]
//! explains every code once.

pub mod codes;
mod preview;
mod validation_error;

pub use codes::Rule;
pub(crate) use preview::neutral;
pub use preview::preview;
pub use validation_error::{Severity, ValidationError};
