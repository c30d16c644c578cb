//! What a person decided about a case, carried to where it takes effect.

use answerback::UuidV7;
use answerback::case::Submission;
use answerback::retry::{Context, Event, HideSecrets, Policy, RetryKey, step};
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_store::{CaseRecord, Store, StoreError, Ticket, Transaction};
use serde_json::{Value, json};

/// Decides a case: the decision is recorded, and the calls that it is about go on or stop, in one transaction. The
/// first decision wins; the same one again is answered alike.
///
/// # Errors
///
/// When the queue is full or the store is closed. That the decision does not hold is the ticket's answer.
pub fn decide(
    store: &Store,
    case: UuidV7,
    submission: Submission,
    surface: &str,
) -> Result<Ticket<CaseRecord>, StoreError> {
    let said = json!({
        "decision": submission.decision,
        "by": submission.by,
        "surface": surface,
    });
    let said = answerback::finding::secrets::redact_value(&said).to_string();
    let part = store.part("decision", said.into_bytes())?;
    store.write(move |transaction| enact(transaction, &case, &submission, &part))
}

fn enact(
    transaction: &mut dyn Transaction,
    id: &UuidV7,
    submission: &Submission,
    part: &Part,
) -> Result<CaseRecord, StoreError> {
    let before = transaction.case(id)?;
    let was_decided = before.as_ref().is_some_and(|record| record.case.decision().is_some());
    let record = transaction.decide_case(id, submission)?;
    if was_decided {
        return Ok(record);
    }
    if let Some(key) = before.as_ref().and_then(retry_key) {
        take_effect(transaction, &key, id, submission)?;
    }
    let word = submission.decision.kind().as_str();
    let (Ok(case), Ok(decision)) = (Id::try_from(id), Token::new(word)) else {
        return Err(StoreError::unit("the case has no id that the ledger can hold"));
    };
    let draft = Draft::decision(case, decision, record.case.digest, record.case.revision)
        .with_part(part.clone());
    transaction.append(&draft)?;
    Ok(record)
}

/// What the calls of a case are counted under.
pub(crate) fn retry_key(record: &CaseRecord) -> Option<RetryKey> {
    let private: Value = serde_json::from_slice(record.private.as_ref()?).ok()?;
    private["retry_key"].as_str().map(RetryKey::new)
}

fn take_effect(
    transaction: &mut dyn Transaction,
    key: &RetryKey,
    case: &UuidV7,
    submission: &Submission,
) -> Result<(), StoreError> {
    let Some(kept) = transaction.attempt(key)? else { return Ok(()) };
    let now = transaction.now();
    // How long a decision is remembered does not depend on the tool.
    let policy = Policy::default();
    let context = Context::new(&policy, &HideSecrets, now);
    let event = Event::Decision { case, decision: &submission.decision };
    let state = step(Some(kept.state), event, &context).state;
    if transaction.swap_attempt(key, Some(kept.revision), state.as_ref())? {
        Ok(())
    } else {
        Err(StoreError::Damaged("a retry state changed under the lock".into()))
    }
}
