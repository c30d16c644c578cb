//! Verifies governed responses. A response is accepted, or the result is the refusal that the rules demand.

mod handoff;
mod response;
pub mod rule;
mod verification;

use serde_json::Value;

pub use verification::{Accepted, AttestedClaim, Verification};

/// Returns the value at a path of member names. Each response is searched several times, so this avoids the
/// unescaping and allocation of a JSON Pointer.
pub(super) fn at<'d>(document: &'d Value, path: &[&str]) -> Option<&'d Value> {
    path.iter().try_fold(document, |value, name| value.get(name))
}
