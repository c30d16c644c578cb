//! How documents become entries of the ledger.
//!
//! A [`JudgedReply`] is a document with what its contract, and the manifest and lock [in force](InForce), say of it; its
//! [draft](JudgedReply::draft) is what the ledger keeps. [`parts`] hides secrets before anything is kept. Gateway, console
//! and program record through these, so that one document gives one kind of entry whichever way it came.
#![warn(missing_docs)]

mod active_governance;
mod case_events;
mod recording;
mod redaction;
mod reply;
pub mod system;

pub use active_governance::{Governing, InForce, identified, named};
pub use case_events::{
    ACKNOWLEDGED, CASE_STREAMS, case_stream, tell_acknowledgement, tell_decision,
};
pub use recording::{RESPONSE, Recorded, Recording, reply_id};
pub use redaction::{Hide, ORIGINAL, parts, parts_of_bytes, redacted};
pub use reply::{JudgedReply, ReplyError, TAKEN};
