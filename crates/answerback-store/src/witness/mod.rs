//! Witnesses: others who remember how far the log is, and sign that it only ever grew (c2sp.org/tlog-witness).
//!
//! Appending never waits for them. What they sign is verified before it is kept, and kept with the checkpoint.

mod ask;
mod client;
mod follow;

pub(crate) use ask::CosignatureRequest;
pub use ask::{WitnessError, Witnessed};
pub use client::Witness;
pub(crate) use follow::follow;
