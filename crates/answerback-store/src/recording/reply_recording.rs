use crate::{AppendedEntry, LedgerEntry, StoreError, Transaction};
use answerback::UuidV7;
use answerback_ledger::{Draft, LeafId, LeafToken, Part};
use serde_json::Value;

use super::redaction::ORIGINAL;
use super::reviewed_reply::ReviewedReply;
use crate::system::{now, random};

/// The name of the part that contains a submitted reply.
pub const RESPONSE: &str = "response";

/// Holds the drafts for a reply and for the request that it answers.
#[derive(Clone, Debug)]
pub struct ReplyRecording {
    request: Draft,
    reply: Draft,
    /// The entry to append instead if another reply has the same id.
    conflict: Draft,
}

/// The result of recording a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a caller must handle each result")]
pub enum RecordingOutcome {
    /// The reply was appended.
    New(AppendedEntry),
    /// The reply was already in the log, at this index.
    Repeated(u64),
    /// Another reply has the same id.
    Conflict {
        /// The entry that records the conflict: this reply, as rejected and under a new id.
        appended: AppendedEntry,
        /// The index of the first reply with the id.
        first: u64,
    },
}

impl ReplyRecording {
    /// Prepares a checked reply for the log. `reply` must have the document as its part
    /// [`RESPONSE`]. `request` is appended first if the log does not contain the reply's request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no randomness for an id.
    pub fn new(
        reviewed: &ReviewedReply<'_>,
        (request, reply): (Draft, Draft),
        principal: Option<&LeafToken>,
        tool: Option<&str>,
    ) -> std::io::Result<Self> {
        let mut conflict =
            reviewed.add_caller_and_tool(reviewed.draft_of_conflict(), principal, tool);
        conflict = conflict.with_reply_id(reply_id()?);
        if let Some(request) = reply.request_id() {
            conflict = conflict.with_request_id(request);
        }
        let conflict = reply.parts().iter().cloned().fold(conflict, Draft::with_part);
        Ok(Self { request, reply, conflict })
    }

    /// Appends the reply. A reply with the same bytes and kind as an existing one is not recorded
    /// again. If another reply has the same id, this one is recorded as rejected and answers no
    /// request.
    ///
    /// # Errors
    ///
    /// Returns an error if the reply cannot be recorded, or its request is already answered.
    pub fn append(
        &self,
        transaction: &mut dyn Transaction,
    ) -> Result<RecordingOutcome, StoreError> {
        let existing = transaction.recorded(&self.reply)?;
        if let Some(entry) = &existing
            && self.is_in(entry)
        {
            return Ok(RecordingOutcome::Repeated(entry.index));
        }
        if let Some(request) = self.reply.request_id()
            && transaction.request_index(request)?.is_none()
        {
            transaction.append(&self.request)?;
        }
        match existing {
            Some(entry) => {
                let appended = transaction.append(&self.conflict)?;
                Ok(RecordingOutcome::Conflict { appended, first: entry.index })
            }
            None => Ok(RecordingOutcome::New(transaction.append(&self.reply)?)),
        }
    }

    /// True if an existing entry is this reply. If its content was erased, only the length can be
    /// compared.
    fn is_in(&self, entry: &LedgerEntry) -> bool {
        let own = self.reply.parts();
        let Some(document) = part(own, RESPONSE) else { return false };
        let is_alike = match part(&entry.parts, RESPONSE) {
            Some(stored) => stored.bytes() == document.bytes(),
            None => entry.leaf.commitments().iter().any(|commitment| {
                commitment.name == RESPONSE && commitment.len == document.bytes().len() as u64
            }),
        };
        // Redacted documents may be equal although the originals differ, so compare the original
        // lengths as well.
        let is_as_long = match (original_length(own), original_length(&entry.parts)) {
            (Some(own), Some(stored)) => own == stored,
            _ => true,
        };
        entry.leaf.kind() == self.reply.kind() && is_alike && is_as_long
    }
}

/// Creates an id for a reply.
///
/// # Errors
///
/// Returns an error if there is no randomness.
pub fn reply_id() -> std::io::Result<LeafId> {
    let id = UuidV7::from_time(now(), random()?);
    LeafId::try_from(&id).map_err(|error| std::io::Error::other(error.to_string()))
}

fn part<'p>(parts: &'p [Part], name: &str) -> Option<&'p Part> {
    parts.iter().find(|part| part.name().as_str() == name)
}

fn original_length(parts: &[Part]) -> Option<u64> {
    let original = part(parts, &format!("{RESPONSE}{ORIGINAL}"))?;
    serde_json::from_slice::<Value>(original.bytes()).ok()?["len"].as_u64()
}
