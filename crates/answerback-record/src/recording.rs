use answerback::UuidV7;
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_store::{Appended, Entry, StoreError, Transaction};
use serde_json::Value;

use crate::system::{now, random};
use crate::{JudgedReply, ORIGINAL};

/// The part of an entry that has a reply as it was handed in.
pub const RESPONSE: &str = "response";

/// A reply on its way into the log, behind the request that it answers.
#[derive(Clone, Debug)]
pub struct Recording {
    request: Draft,
    reply: Draft,
    /// The entry that it becomes where another reply has its id.
    conflict: Draft,
}

/// What became of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever records has to know each")]
pub enum Recorded {
    /// It is an entry now.
    New(Appended),
    /// It was one before, which has this index.
    Repeated(u64),
    /// Another reply has its id.
    Conflict {
        /// The entry that says so: this reply, as rejected and without an id of the document's.
        appended: Appended,
        /// The index of the one that was first.
        first: u64,
    },
}

impl Recording {
    /// A judged reply with its entry, which has the reply as its part [`RESPONSE`], and the request that is recorded
    /// before it where the log has none with its id.
    ///
    /// # Errors
    ///
    /// When there is no randomness for an id.
    pub fn new(
        judged: &JudgedReply<'_>,
        (request, reply): (Draft, Draft),
        principal: Option<&Token>,
        tool: Option<&str>,
    ) -> std::io::Result<Self> {
        let mut conflict = judged.told(judged.draft_of_conflict(), principal, tool);
        conflict = conflict.with_reply_id(reply_id()?);
        if let Some(request) = reply.request_id() {
            conflict = conflict.with_request_id(request);
        }
        let conflict = reply.parts().iter().cloned().fold(conflict, Draft::with_part);
        Ok(Self { request, reply, conflict })
    }

    /// Appends it. What is in the log already, word by word and of the same kind, is not recorded again. Another reply
    /// under an id that is taken answers nobody: that it came is recorded, as rejected.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded, or its request is answered already.
    pub fn append(&self, transaction: &mut dyn Transaction) -> Result<Recorded, StoreError> {
        let there = transaction.recorded(&self.reply)?;
        if let Some(entry) = &there
            && self.is_in(entry)
        {
            return Ok(Recorded::Repeated(entry.index));
        }
        if let Some(request) = self.reply.request_id()
            && transaction.request_index(request)?.is_none()
        {
            transaction.append(&self.request)?;
        }
        match there {
            Some(entry) => {
                let appended = transaction.append(&self.conflict)?;
                Ok(Recorded::Conflict { appended, first: entry.index })
            }
            None => Ok(Recorded::New(transaction.append(&self.reply)?)),
        }
    }

    /// Whether an entry is this reply. Of what was erased only the length is left to compare.
    fn is_in(&self, entry: &Entry) -> bool {
        let own = self.reply.parts();
        let Some(words) = part(own, RESPONSE) else { return false };
        let is_alike = match part(&entry.parts, RESPONSE) {
            Some(kept) => kept.bytes() == words.bytes(),
            None => entry.leaf.commitments().iter().any(|commitment| {
                commitment.name == RESPONSE && commitment.len == words.bytes().len() as u64
            }),
        };
        // Where secrets were taken out, the words that are left may be those of another reply.
        let is_as_long = match (original_length(own), original_length(&entry.parts)) {
            (Some(own), Some(kept)) => own == kept,
            _ => true,
        };
        entry.leaf.kind() == self.reply.kind() && is_alike && is_as_long
    }
}

/// A new id for a reply.
///
/// # Errors
///
/// When there is no randomness.
pub fn reply_id() -> std::io::Result<Id> {
    let id = UuidV7::from_time(now(), random()?);
    Id::try_from(&id).map_err(|error| std::io::Error::other(error.to_string()))
}

fn part<'p>(parts: &'p [Part], name: &str) -> Option<&'p Part> {
    parts.iter().find(|part| part.name().as_str() == name)
}

fn original_length(parts: &[Part]) -> Option<u64> {
    let original = part(parts, &format!("{RESPONSE}{ORIGINAL}"))?;
    serde_json::from_slice::<Value>(original.bytes()).ok()?["len"].as_u64()
}
