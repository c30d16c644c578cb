//! Requests cosignatures of witnesses: independent parties that remember the size of the log and sign
//! that it only ever grew (c2sp.org/tlog-witness).
//!
//! Appending never waits for a witness. Cosignatures are verified before they are stored with the
//! checkpoint.

mod client;
mod error;
mod follow;
mod request;

pub use error::WitnessError;
pub(crate) use follow::follow;
pub(crate) use request::CosignatureClient;
pub use request::CosignedCheckpoint;
