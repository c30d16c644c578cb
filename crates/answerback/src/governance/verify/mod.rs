//! Verifying a governed response: accepted, or the refusal that the rules demand.

mod handoff;
mod response;
pub mod rule;
mod verification;

pub use verification::{Accepted, Claim, Verification};
