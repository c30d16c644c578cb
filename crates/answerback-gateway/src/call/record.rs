//! Records a call and its response in the ledger.

use std::borrow::Cow;

use answerback::UuidV4;
use answerback::retry::AttemptOutcome;
use answerback_ledger::{Draft, LeafId, LeafToken, Part};
use answerback_mcp::wire::{Message, Object};
use answerback_store::recording::{MemberSchema, redacted};
use answerback_store::{AppendedEntry, StoreError};
use serde_json::Value;

use super::{AttemptInput, CallContext};
use crate::attest::AttestedResponse;
use crate::blocking;
use crate::call_facts::{CallFacts, with_outcome};
use crate::task::TaskRole;
use crate::tool_call_request::ToolCallRequest;
use crate::{Gateway, Recorder};

/// The name of the entry part that holds the server's response.
const RECEIVED: &str = "received";
/// The number of recorded results of one task that are searched for an equal one. Results beyond that are
/// recorded each time.
pub(super) const MAX_TASK_RESULTS: u32 = 16;

/// Records a forwarded call that is not counted. Returns false if that failed and the configuration tolerates it.
pub(super) async fn record_request(
    recorder: &Recorder,
    context: &CallContext,
    hide: Option<MemberSchema<'_>>,
) -> Result<bool, StoreError> {
    let draft = with_outcome(context.replies.facts.add_to(Draft::request()), "forwarded");
    let parts = request_parts(recorder, &context.request, None, hide);
    let written = match parts
        .and_then(|parts| recorder.store().append(parts.into_iter().fold(draft, Draft::with_part)))
    {
        Ok(ticket) => ticket.await.map(|_| true),
        Err(error) => Err(error),
    };
    written.or_else(|error| recorder.store().apply_failure_policy(error).map(|()| false))
}

/// Returns the parts of an entry about a call: the received request, and the sent one if it differs.
pub(super) fn request_parts(
    recorder: &Recorder,
    request: &ToolCallRequest,
    sent: Option<&Message>,
    hide: Option<MemberSchema<'_>>,
) -> Result<Vec<Part>, StoreError> {
    let mut parts = recorder.redacted_parts("seen", &request.params, hide)?;
    if let Some(sent) = sent {
        let params = Object::read(sent.text())
            .ok()
            .and_then(|message| message.get("params"))
            .unwrap_or("null");
        parts.extend(recorder.redacted_parts("sent", params, hide)?);
    }
    Ok(parts)
}

/// Builds the entry of a counted call from its outcome.
pub(super) fn attempt_entry(attempt: &AttemptInput, outcome: &AttemptOutcome) -> Draft {
    match outcome {
        AttemptOutcome::Proceed(proceed) => {
            with_outcome(Draft::request(), if proceed.waived { "waived" } else { "forwarded" })
        }
        _ => attempt.entry(outcome),
    }
}

impl Gateway {
    /// Counts and records a response without an attestation.
    pub(super) async fn count_and_record(
        &self,
        context: &CallContext,
        outcome: &str,
        received: Option<&str>,
        delivered: &str,
    ) -> Result<Option<Value>, StoreError> {
        context.metrics.result(outcome, context.replies.elapsed());
        self.record_response(context, outcome, received, delivered, None).await
    }

    /// Records a response and returns its receipt. Returns `None` if it is not recorded.
    pub(super) async fn record_response(
        &self,
        context: &CallContext,
        outcome: &str,
        received: Option<&str>,
        delivered: &str,
        attested: Option<&AttestedResponse>,
    ) -> Result<Option<Value>, StoreError> {
        let Some(recorder) = &self.recorder else { return Ok(None) };
        match append_response(recorder, context, outcome, received, delivered, attested).await {
            Ok((appended, id)) => Ok(Some(recorder.receipt(&appended, &id.to_string()))),
            Err(error) => recorder.store().apply_failure_policy(error).map(|()| None),
        }
    }

    /// Finds the position of this result among the results of its task: that of an equal recorded result, or the
    /// next free one. The response's id is derived from it, so it must be known before the result is attested.
    pub(super) async fn find_position(&self, context: &mut CallContext, result: &str) {
        let (Some(recorder), Some(TaskRole::Result { position, .. })) =
            (&self.recorder, context.task.as_deref_mut())
        else {
            return;
        };
        let (store, call) = (recorder.store().clone(), context.replies.correlation_id.clone());
        let received = blocking::run(result.len(), || redacted(result, None).into_owned());
        let equal = tokio::task::spawn_blocking(move || {
            (0..MAX_TASK_RESULTS).find(|position| {
                let index = store.reply_index(CallFacts::task_result_id(&call, *position));
                let stored = index.map(|index| index.map(|index| store.entry(index)));
                match stored {
                    Ok(Some(Ok(Some(stored)))) => contains_received(&stored, received.as_bytes()),
                    // A read error is reported when the entry is written.
                    _ => true,
                }
            })
        });
        *position = equal.await.ok().flatten().unwrap_or_else(random_position);
        context.replies.facts.id =
            CallFacts::task_result_id(&context.replies.correlation_id, *position);
    }
}

/// Records a response. Returns the place of the entry and the id of its response.
async fn append_response(
    recorder: &Recorder,
    context: &CallContext,
    outcome: &str,
    received: Option<&str>,
    delivered: &str,
    attested: Option<&AttestedResponse>,
) -> Result<(AppendedEntry, LeafId), StoreError> {
    let facts = &context.replies.facts;
    let mut parts = match attested {
        Some(attested) => attested.parts(recorder.store())?,
        None => Vec::new(),
    };
    if let Some(received) = received {
        parts.extend(recorder.redacted_parts(RECEIVED, received, None)?);
    }
    parts.extend(recorder.redacted_parts("delivered", delivered, None)?);
    let entry = ResponseEntry {
        outcome: outcome.to_owned(),
        attested: attested.map(AttestedResponse::draft),
        parts,
    };
    match context.task.as_deref() {
        None => {
            let (draft, id) = entry.draft(facts);
            Ok((recorder.store().append(draft)?.await?.value, id))
        }
        Some(TaskRole::Created { notes, expires, .. }) => {
            let (draft, id) = entry.draft(facts);
            let (notes, expires) = (notes.clone(), *expires);
            let ticket = recorder.store().write_weighing(entry.weight(), move |transaction| {
                let appended = transaction.append(&draft)?;
                // The notes contain nothing that the entry's leaf does not.
                for (name, text) in &notes {
                    transaction.store_note(name, text, expires, None)?;
                }
                Ok(appended)
            })?;
            Ok((ticket.await?.value, id))
        }
        Some(TaskRole::Result { is_requested, position, .. }) => {
            let request_parts =
                is_requested.then(|| request_parts(recorder, &context.request, None, None));
            let call = context.replies.correlation_id.clone();
            let request_parts = request_parts.transpose()?;
            entry
                .append_task_result(recorder, facts.clone(), (call, *position), request_parts)
                .await
        }
    }
}

/// Holds a response that is being recorded.
struct ResponseEntry {
    outcome: String,
    /// The entry of the governed response, if there is one.
    attested: Option<Draft>,
    parts: Vec<Part>,
}

impl ResponseEntry {
    /// Returns the entry and the id of its response.
    fn draft(&self, facts: &CallFacts) -> (Draft, LeafId) {
        let draft = match &self.attested {
            Some(attested) => attested.clone(),
            None => {
                let draft = Draft::response().with_response_id(facts.id);
                match LeafToken::new("tool") {
                    Ok(contract) => draft.with_contract(&contract),
                    Err(_) => draft,
                }
            }
        };
        let draft = with_outcome(facts.add_to(draft).with_reply_id(facts.id), &self.outcome);
        let id = draft.response_id().unwrap_or(facts.id);
        (self.parts.iter().cloned().fold(draft, Draft::with_part), id)
    }

    fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 8192
    }

    /// Returns true if an existing entry contains the same received result.
    fn is_stored_in(&self, stored: &answerback_store::LedgerEntry) -> bool {
        let part = self.parts.iter().find(|part| part.name().as_str() == RECEIVED);
        part.is_some_and(|part| contains_received(stored, part.bytes()))
    }

    /// Records the result of a task, with the request for it if there was one. A result that was already recorded
    /// for an earlier request is not recorded again.
    async fn append_task_result(
        self,
        recorder: &Recorder,
        mut facts: CallFacts,
        (call, first): (UuidV4, u32),
        request_parts: Option<Vec<Part>>,
    ) -> Result<(AppendedEntry, LeafId), StoreError> {
        let last = random_position();
        let ticket = recorder.store().write_weighing(self.weight(), move |transaction| {
            // An attestation contains its own id, so only that position can be used.
            let (searched, last) =
                if self.attested.is_some() { (0..0, first) } else { (0..MAX_TASK_RESULTS, last) };
            for position in searched.chain([last]) {
                facts.id = CallFacts::task_result_id(&call, position);
                let stored_entry = Draft::response().with_response_id(facts.id);
                match transaction.recorded(&stored_entry)? {
                    Some(stored) if self.is_stored_in(&stored) => {
                        // Appending an entry that exists returns the existing one.
                        return Ok((transaction.append(&stored_entry)?, facts.id));
                    }
                    Some(_) => {}
                    None => {
                        if let Some(request_parts) = &request_parts {
                            let request = with_outcome(facts.add_to(Draft::request()), "forwarded");
                            let request =
                                request_parts.iter().cloned().fold(request, Draft::with_part);
                            transaction.append(&request)?;
                        }
                        let (draft, id) = self.draft(&facts);
                        return Ok((transaction.append(&draft)?, id));
                    }
                }
            }
            Err(StoreError::unit("there are other results of the same task"))
        })?;
        Ok(ticket.await?.value)
    }
}

/// Returns true if an entry contains this received result. A server may change `_meta` each time, so it is
/// ignored.
fn contains_received(stored: &answerback_store::LedgerEntry, received: &[u8]) -> bool {
    let part = stored.parts.iter().find(|part| part.name().as_str() == RECEIVED);
    part.is_some_and(|part| without_meta(part.bytes()) == without_meta(received))
}

/// Returns a result without its `_meta`.
fn without_meta(result: &[u8]) -> Cow<'_, [u8]> {
    let parsed = std::str::from_utf8(result).ok().and_then(|text| Object::read(text).ok());
    match parsed.filter(|result| result.get("_meta").is_some()) {
        Some(result) => Cow::Owned(result.without("_meta").into_bytes()),
        None => Cow::Borrowed(result),
    }
}

/// Returns a random position after those that are searched, which no other result of a task uses.
fn random_position() -> u32 {
    let random: [u8; 4] = answerback_store::system::random().unwrap_or_default();
    u32::from_be_bytes(random).max(MAX_TASK_RESULTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_compared_without_their_meta() {
        let same =
            |one: &str, other: &str| without_meta(one.as_bytes()) == without_meta(other.as_bytes());
        let result = r#"{"content":[1.0],"_meta":{"at":1}}"#;
        assert!(same(result, r#"{"content":[1.0],"_meta":{"at":2}}"#));
        assert!(same(result, r#"{"content":[1.0]}"#));
        assert!(!same(result, r#"{"content":[1],"_meta":{"at":1}}"#));
        assert!(!same("null", "1"));
    }
}
