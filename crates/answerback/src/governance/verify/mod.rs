//! Verifying a governed response: accepted, or the refusal that the rules demand.

mod handoff;
mod response;
pub mod rule;
mod verification;

use serde_json::Value;

pub use verification::{Accepted, AttestedClaim, Verification};

/// The value at a path of members. Every response goes through here several times, so that nothing is
/// unescaped or allocated as for a pointer in text.
pub(super) fn at<'d>(document: &'d Value, path: &[&str]) -> Option<&'d Value> {
    path.iter().try_fold(document, |value, name| value.get(name))
}
