//! Turns documents into entries of the ledger.
//!
//! A [`ReviewedReply`] is a document with the findings of its contract, and of the manifest and lock
//! [in force](ActiveGovernance). Its [draft](ReviewedReply::draft) is the entry for the ledger.
//! [`redacted_parts`] redacts secrets before anything is stored. Gateway, console and program all record
//! through this module, so the same document always becomes the same kind of entry.

mod active_governance;
mod case_events;
mod redaction;
mod reply_recording;
mod reviewed_reply;

pub use active_governance::{
    ActiveGovernance, GovernanceDocument, add_agent, add_agent_and_prompt,
};
pub use case_events::{
    ACKNOWLEDGED, CASE_STREAMS, append_acknowledgement_event, append_decision_event, case_stream,
};
pub use redaction::{MemberSchema, ORIGINAL, parts_of_bytes, redacted, redacted_parts};
pub use reply_recording::{RESPONSE, RecordingOutcome, ReplyRecording, reply_id};
pub use reviewed_reply::{RESPONSE_ID_TAKEN, ReplyError, ReviewedReply};
