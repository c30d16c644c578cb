//! What a person decided about a case, carried to where it takes effect.

use answerback::case::{CaseKind, Decision, Submission, misfit};
use answerback::finding::secrets;
use answerback::retry::{Context, Event, HideSecrets, Outcome, Permit, Policy, RetryKey, step};
use answerback::{Digest, UuidV7};
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_record::tell_decision;
use answerback_store::{CaseRecord, Store, StoreError, Ticket, Transaction, entry_reference};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::Surface;
use crate::original::{self, Kept};
use crate::seal::{Purpose, Seal};

/// Decides a case: the decision is recorded, and the calls that it is about go on or stop, in one transaction. The
/// first decision wins; the same one again is answered alike.
///
/// What is hidden in an answer is hidden in all that is kept. For whoever asked it is kept encrypted as the person gave it:
/// [`as_given`].
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
    surface: impl Into<Surface>,
) -> Result<Ticket<CaseRecord>, StoreError> {
    let told = hidden(&submission.decision);
    let given = std::mem::replace(&mut submission.decision, told);
    let surface = surface.into();
    let mut said = json!({
        "decision": submission.decision,
        "by": submission.by,
        "surface": surface.name,
    });
    if let Some(user) = surface.os_user {
        said["os_user"] = user.into();
    }
    let said = secrets::redact_value(&said).to_string();
    let part = store.part("decision", said.into_bytes())?;
    let seal = Seal::of(store);
    store.write(move |transaction| {
        let given = Given { decision: &given, seal: seal.as_ref() };
        enact(transaction, &case, &submission, given, &part)
    })
}

/// A decision as the person gave it, where something in it is hidden in what is kept. It is for whoever asked, until they
/// say that they have heard or the time of the case is over; nothing, where the record says it all.
pub fn as_given(store: &Store, record: &CaseRecord) -> Option<Decision> {
    record.case.decision()?;
    let sealed = std::str::from_utf8(record.private.as_deref()?).ok()?;
    let opened = Seal::of(store)?.open(Purpose::Answer, &record.case.id, sealed);
    let opened = opened
        .inspect_err(
            |error| tracing::warn!(case = %record.case.id, %error, "an answer is not readable"),
        )
        .ok()?;
    serde_json::from_slice(&opened).ok()
}

/// A decision without its secrets.
fn hidden(decision: &Decision) -> Decision {
    match decision {
        Decision::Modify { arguments } => {
            Decision::Modify { arguments: secrets::redact_value(arguments) }
        }
        Decision::Reject { reason } => Decision::Reject {
            reason: reason.as_deref().map(|reason| secrets::redact(reason).into_owned()),
        },
        Decision::Respond { message } => {
            Decision::Respond { message: secrets::redact(message).into_owned() }
        }
        other => other.clone(),
    }
}

/// A decision in the person's own words.
#[derive(Clone, Copy)]
struct Given<'a> {
    decision: &'a Decision,
    seal: Option<&'a Seal>,
}

impl Given<'_> {
    fn sealed(self, case: &UuidV7) -> Result<String, String> {
        let seal = self.seal.ok_or("there is no key to hide the answer with")?;
        let bytes = serde_json::to_vec(self.decision).map_err(|error| error.to_string())?;
        let sealed = seal.close(Purpose::Answer, case, &Zeroizing::new(bytes));
        sealed.map_err(|error| error.to_string())
    }
}

fn enact(
    transaction: &mut dyn Transaction,
    id: &UuidV7,
    submission: &Submission,
    given: Given<'_>,
    part: &Part,
) -> Result<CaseRecord, StoreError> {
    let before = transaction.case(id)?;
    let was_decided = before.as_ref().is_some_and(|record| record.case.decision().is_some());
    let record = transaction.decide_case(id, submission)?;
    if was_decided {
        return Ok(record);
    }
    let shown: Value = serde_json::from_slice(&record.content).unwrap_or_default();
    if let Some(reason) = misfit(record.case.kind, &shown, given.decision) {
        return Err(StoreError::unit(reason));
    }
    let kept = before.as_ref().and_then(Kept::of);
    let permit = match given.decision {
        Decision::Modify { arguments } => Correction { written: arguments, seal: given.seal }
            .permit(id, kept.as_ref())
            .map_err(StoreError::unit)?,
        _ => None,
    };
    let retry_key = kept.map(|kept| RetryKey::new(&kept.retry_key));
    if let Some(key) = &retry_key {
        take_effect(transaction, key, id, submission, permit)?;
    }
    let word = submission.decision.kind().as_str();
    let (Ok(case), Ok(decision)) = (Id::try_from(id), Token::new(word)) else {
        return Err(StoreError::unit("the case has no id that the ledger can hold"));
    };
    let draft = Draft::decision(case, decision, record.case.digest, record.case.revision)
        .with_part(part.clone());
    let appended = transaction.append(&draft)?;
    transaction.said_in(id, &entry_reference(appended.index))?;
    // A state remembers the person's words until the model has them.
    if let Some(key) = retry_key {
        transaction.attempt_from(&key, &entry_reference(appended.index))?;
    }
    tell_decision(transaction, &record.case)?;
    // The model of an escalation is told what is recorded; an agent that asked waits for the words themselves.
    if record.case.kind != CaseKind::Escalation && *given.decision != submission.decision {
        let sealed = given.sealed(id).map_err(StoreError::unit)?;
        transaction.keep_private(id, Some(sealed.as_bytes()))?;
    }
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
