//! The ATDF enriched response: a result, or an error that says what was expected and how to get there.
//!
//! Beside the three files of every contract stand the [`validators`] of the guide, tool
//! [`descriptor`]s, and [`enrich()`], which makes an enriched error of any list of findings.

mod builder;
mod check;
pub mod descriptor;
mod enrich;
mod types;
pub mod validators;

pub use builder::{DEFAULT_SOLUTION, ErrorBuilder, SuccessBuilder};
pub use check::{RULES, check, rule};
pub use enrich::{EnrichSource, enrich};
pub use types::{
    Details, EnrichedResponse, ErrorData, ErrorResponse, Examples, Expected, InvalidExample, Meta,
    Status, SuccessData, SuccessResponse, ValidExamples,
};
