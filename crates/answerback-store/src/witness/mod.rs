//! Witnesses: independent parties that remember the size of the log and sign that it only ever grew
//! (c2sp.org/tlog-witness).
//!
//! Appending never waits for a witness. Cosignatures are verified before they are stored with the
//! checkpoint.

mod ask;
mod client;
mod follow;

pub(crate) use ask::CosignatureRequest;
pub use ask::{WitnessError, Witnessed};
pub use client::Witness;
pub(crate) use follow::follow;
