//! Turns documents into entries of the ledger.
//!
//! A [`JudgedReply`] is a document with the findings of its contract, and of the manifest and lock
//! [in force](InForce). Its [draft](JudgedReply::draft) is the entry for the ledger. [`parts`]
//! redacts secrets before anything is stored. Gateway, console and program all record through this
//! crate, so the same document always becomes the same kind of entry.
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
