#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod aggregate;
pub mod call_codes;
pub mod codes;
#[cfg(test)]
mod linearity;
pub mod neutral;
mod paths;
mod preview;
mod profile;
mod rule;
mod validation_error;

pub use aggregate::{Aggregate, FindingGroup, aggregate, importance};
pub use neutral::{display_name, display_text};
pub use paths::{relative_paths, relative_paths_in_json};
pub use preview::{Preview, TRUNCATED, kind_at, kind_of_place, preview, window};
pub use profile::Profile;
pub use rule::Rule;
pub use validation_error::{FindingFacts, Severity, ValidationError};
