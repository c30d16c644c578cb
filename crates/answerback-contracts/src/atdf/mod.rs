//! Defines the ATDF enriched response: a result, or an error that says what was expected and how to fix it.
//!
//! In addition to `types`, `builder` and `check`, this module has the [`validators`] of the ATDF guide and
//! tool [`descriptor`]s.

mod builder;
mod check;
pub mod descriptor;
mod types;
pub mod validators;

pub use builder::{DEFAULT_SOLUTION, ErrorBuilder, SuccessBuilder};
pub use check::{RULES, check, is_secret_name, rule};
pub use types::{
    Details, EnrichedResponse, EnrichedStatus, ErrorData, ErrorResponse, Examples, Expected,
    InvalidExample, Meta, SuccessData, SuccessResponse, ValidExamples,
};
