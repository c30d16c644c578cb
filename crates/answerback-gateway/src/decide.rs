//! What a person decided about a case, carried to where it takes effect.

use answerback::case::{Decision, Submission, misfit};
use answerback::finding::secrets;
use answerback::retry::{Context, Event, HideSecrets, Outcome, Permit, Policy, RetryKey, step};
use answerback::{Digest, UuidV7};
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_record::tell_decision;
use answerback_store::{CaseRecord, Store, StoreError, Ticket, Transaction};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::original::{self, Kept};
use crate::seal::{Purpose, Seal};

/// Decides a case: the decision is recorded, and the calls that it is about go on or stop, in one transaction. The
/// first decision wins; the same one again is answered alike.
///
/// Corrected arguments may hold marks such as `[redacted: token]` where the person was shown them: what they stand for
/// is filled in. What is hidden stays so: it is recorded redacted, and kept encrypted until the call ran.
///
/// # Errors
///
/// When the queue is full or the store is closed. That the decision does not hold, or has a mark that stands for
/// nothing, is the ticket's answer.
pub fn decide(
    store: &Store,
    case: UuidV7,
    mut submission: Submission,
    surface: &str,
) -> Result<Ticket<CaseRecord>, StoreError> {
    let mut written = None;
    if let Decision::Modify { arguments } = &mut submission.decision {
        let told = secrets::redact_value(arguments);
        written = Some(std::mem::replace(arguments, told));
    }
    let said = json!({
        "decision": submission.decision,
        "by": submission.by,
        "surface": surface,
    });
    let said = secrets::redact_value(&said).to_string();
    let part = store.part("decision", said.into_bytes())?;
    let seal = Seal::of(store);
    store.write(move |transaction| {
        let correction =
            written.as_ref().map(|written| Correction { written, seal: seal.as_ref() });
        enact(transaction, &case, &submission, correction, &part)
    })
}

fn enact(
    transaction: &mut dyn Transaction,
    id: &UuidV7,
    submission: &Submission,
    correction: Option<Correction<'_>>,
    part: &Part,
) -> Result<CaseRecord, StoreError> {
    let before = transaction.case(id)?;
    let was_decided = before.as_ref().is_some_and(|record| record.case.decision().is_some());
    let record = transaction.decide_case(id, submission)?;
    if was_decided {
        return Ok(record);
    }
    let shown: Value = serde_json::from_slice(&record.content).unwrap_or_default();
    let written = correction.map(|correction| correction.written.clone());
    let decision = match written {
        Some(arguments) => &Decision::Modify { arguments },
        None => &submission.decision,
    };
    if let Some(reason) = misfit(record.case.kind, &shown, decision) {
        return Err(StoreError::unit(reason));
    }
    let kept = before.as_ref().and_then(Kept::of);
    let permit = match correction {
        Some(correction) => correction.permit(id, kept.as_ref()).map_err(StoreError::unit)?,
        None => None,
    };
    if let Some(kept) = kept {
        take_effect(transaction, &RetryKey::new(&kept.retry_key), id, submission, permit)?;
    }
    let word = submission.decision.kind().as_str();
    let (Ok(case), Ok(decision)) = (Id::try_from(id), Token::new(word)) else {
        return Err(StoreError::unit("the case has no id that the ledger can hold"));
    };
    let draft = Draft::decision(case, decision, record.case.digest, record.case.revision)
        .with_part(part.clone());
    transaction.append(&draft)?;
    tell_decision(transaction, &record.case)?;
    Ok(record)
}

/// Arguments as a person wrote them.
#[derive(Clone, Copy)]
struct Correction<'a> {
    written: &'a Value,
    seal: Option<&'a Seal>,
}

impl Correction<'_> {
    /// What runs when the model sends these arguments as it is told them; nothing, where it is told all of them.
    fn permit(self, case: &UuidV7, kept: Option<&Kept>) -> Result<Option<Permit>, String> {
        let original = kept.and_then(|kept| kept.original(case, self.seal));
        let whole =
            original::filled(self.written, original.as_ref()).map_err(|it| it.to_string())?;
        if let Some(misfit) = kept.and_then(|kept| kept.misfit(&whole)) {
            return Err(format!("the corrected arguments do not fit the tool's schema: {misfit}"));
        }
        let told = secrets::redact_value(self.written);
        if whole == told {
            return Ok(None);
        }
        let seal = self.seal.ok_or("there is no key to hide the corrected arguments with")?;
        let bytes = Zeroizing::new(whole.to_string().into_bytes());
        let sealed = seal.close(Purpose::Correction, case, &bytes).map_err(|it| it.to_string())?;
        let permit = Permit::new(case.clone(), Digest::of(&told), sealed);
        let permit = permit.ok_or_else(|| {
            let (length, most) = (bytes.len(), Seal::room_in(Permit::MAX_BYTES));
            format!("corrected arguments with something hidden in them have at most {most} bytes; these have {length}")
        })?;
        Ok(Some(permit))
    }
}

/// What the calls of a case are counted under.
pub(crate) fn retry_key(record: &CaseRecord) -> Option<RetryKey> {
    Kept::of(record).map(|kept| RetryKey::new(&kept.retry_key))
}

fn take_effect(
    transaction: &mut dyn Transaction,
    key: &RetryKey,
    case: &UuidV7,
    submission: &Submission,
    permit: Option<Permit>,
) -> Result<(), StoreError> {
    let Some(kept) = transaction.attempt(key)? else { return Ok(()) };
    let now = transaction.now();
    // How long a decision is remembered does not depend on the tool.
    let policy = Policy::default();
    let context = Context::new(&policy, &HideSecrets, now);
    let event = Event::Decision { case, decision: &submission.decision };
    let step = step(Some(kept.state), event, &context);
    let permit = permit.filter(|_| step.outcome == Outcome::Applied);
    let state = match permit {
        Some(permit) => step.state.map(|state| state.with_permit(permit)),
        None => step.state,
    };
    if transaction.swap_attempt(key, Some(kept.revision), state.as_ref())? {
        Ok(())
    } else {
        Err(StoreError::Damaged("a retry state changed under the lock".into()))
    }
}
