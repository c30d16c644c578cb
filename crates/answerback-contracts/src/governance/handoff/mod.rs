//! Handoffs, in which one agent passes a request to another.

mod builder;
mod check;
pub mod rule;
mod types;

pub use builder::HandoffBuilder;
pub(crate) use check::{AGENTS, IDENTITY, check};
pub use types::{Handoff, HandoffContext, HandoffGovernance, HandoffRequest, HandoffState};
