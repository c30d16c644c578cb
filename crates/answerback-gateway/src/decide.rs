//! Applies a person's decision about a case.

use std::time::Duration;

use answerback::call::{self, Schema};
use answerback::case::{CaseKind, Decision, DecisionKind, DecisionSubmission, misfit};
use answerback::finding::secrets;
use answerback::retry::{
    AttemptOutcome, Context, HideSecrets, Permit, RetryEvent, RetryKey, RetryPolicy, step,
};
use answerback::{Digest, UuidV7};
use answerback_ledger::{Draft, Id, Part, Token};
use answerback_record::tell_decision;
use answerback_store::{CaseRecord, Store, StoreError, Ticket, Transaction, entry_reference};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::blocking;
use crate::original::{self, Kept, Original};
use crate::seal::{Purpose, Seal};
use crate::{Recorder, Surface};

/// The interval at which a waiting call reads its case, because other processes may decide it.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Decides a case. The decision is recorded and applied to the case's calls in one transaction. The first
/// decision wins, and repeating it gives the same answer.
///
/// Everything that is stored is redacted. The complete answer is stored encrypted for the program that asked,
/// which reads it with [`as_given`].
///
/// Corrected arguments may contain marks such as `[redacted: token]` that the person was shown. Each mark is
/// replaced with the value that it hides. The value stays hidden: it is recorded redacted, and stored encrypted
/// until the call has run.
///
/// # Errors
///
/// Returns an error if the queue is full or the store is closed. The ticket resolves to an error if the decision
/// is invalid, or if a mark cannot be replaced.
pub fn decide(
    store: &Store,
    case: UuidV7,
    submission: DecisionSubmission,
    surface: impl Into<Surface>,
) -> Result<Ticket<CaseRecord>, StoreError> {
    let (keeping, seal, surface) = (store.clone(), Seal::of(store), surface.into());
    let deciding = Deciding { store: keeping, seal, case, given: submission, surface };
    store.write(move |transaction| deciding.enact(transaction))
}

/// Returns the complete decision, if parts of it are redacted in the record. It is stored for the program that
/// asked, until that program acknowledges it or the case expires. Returns `None` if the record itself is
/// complete.
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

impl Recorder {
    /// Notifies this process of a decision, so that waiting calls continue at once.
    pub fn tell_decided(&self) {
        self.news.send_replace(());
    }

    /// Waits until a case is decided. Decisions of this process are notified; those of other processes are found
    /// by polling.
    pub(crate) async fn decided(&self, case: &UuidV7) {
        let mut news = self.news.subscribe();
        while !self.is_decided(case).await {
            // `self` owns the sender, so the channel stays open.
            let _ = tokio::time::timeout(LOOK_EVERY, news.changed()).await;
        }
    }

    /// Returns true if a case is decided. Returns false if the case cannot be read.
    pub(crate) async fn is_decided(&self, case: &UuidV7) -> bool {
        match self.case(case).await {
            Ok(record) => record.is_some_and(|record| record.case.decision().is_some()),
            Err(error) => {
                tracing::warn!(%case, %error, "whether a case is decided cannot be read");
                false
            }
        }
    }

    /// Returns the current record of a case.
    pub(crate) async fn case(&self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError> {
        let (store, id) = (self.store().clone(), id.clone());
        let read = tokio::task::spawn_blocking(move || store.case(&id)).await;
        read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))
    }
}

/// Returns a decision without secrets: those that are recognized, and those that the calls' schema marks.
fn hidden(decision: &Decision, schema: Option<&Schema>) -> Decision {
    match decision {
        Decision::Modify { arguments } => {
            let arguments = blocking::work(blocking::text_in(arguments), || {
                let shown = schema.map(|schema| schema.without_secrets(arguments));
                secrets::redact_value(shown.as_deref().unwrap_or(arguments))
            });
            Decision::Modify { arguments }
        }
        Decision::Reject { reason } => Decision::Reject { reason: reason.as_deref().map(redacted) },
        Decision::Respond { message } => Decision::Respond { message: redacted(message) },
        other => other.clone(),
    }
}

fn redacted(text: &str) -> String {
    blocking::work(text.len(), || secrets::redact(text).into_owned())
}

/// Holds a decision that is being recorded, as the person gave it.
struct Deciding {
    store: Store,
    seal: Option<Seal>,
    case: UuidV7,
    given: DecisionSubmission,
    surface: Surface,
}

impl Deciding {
    fn enact(&self, transaction: &mut dyn Transaction) -> Result<CaseRecord, StoreError> {
        let id = &self.case;
        let before = transaction.case(id)?;
        let was_decided = before.as_ref().is_some_and(|record| record.case.decision().is_some());
        let kept = before.as_ref().and_then(Kept::of);
        let schema = kept.as_ref().and_then(Kept::schema);
        let mut submission = self.given.clone();
        submission.decision = hidden(&self.given.decision, schema.as_ref());
        let record = transaction.decide_case(id, &submission)?;
        if was_decided {
            return Ok(record);
        }
        let shown: Value = serde_json::from_slice(&record.content).unwrap_or_default();
        if let Some(reason) = misfit(record.case.kind, &shown, &self.given.decision) {
            return Err(StoreError::unit(reason));
        }
        // The program that waits for the decision receives all of it.
        let (whole, permit) = match (&self.given.decision, &submission.decision) {
            (Decision::Modify { arguments: written }, Decision::Modify { arguments: told }) => {
                let seal = self.seal.as_ref();
                let original = kept.as_ref().and_then(|kept| kept.original(id, seal));
                let correction = Correction { written, told, seal };
                let whole = correction.whole(original.as_ref(), schema.as_ref());
                let whole = whole.map_err(StoreError::unit)?;
                // A permit is useful only for calls that are counted.
                let permit = kept.as_ref().map(|_| correction.permit(id, &whole));
                let permit = permit.transpose().map_err(StoreError::unit)?;
                (Decision::Modify { arguments: whole }, permit)
            }
            (given, _) => (given.clone(), None),
        };
        let is_awaited = record.case.kind != CaseKind::Escalation
            || kept.as_ref().is_some_and(|kept| kept.is_awaited);
        let retry_key = kept.map(|kept| RetryKey::new(&kept.retry_key));
        if let Some(key) = &retry_key {
            take_effect(transaction, key, id, &submission, permit)?;
        }
        let word = submission.decision.kind().as_str();
        let (Ok(case), Ok(decision)) = (Id::try_from(id), Token::new(word)) else {
            return Err(StoreError::unit("the case has no id that the ledger can hold"));
        };
        let draft = Draft::decision(case, decision, record.case.digest, record.case.revision)
            .with_part(self.part(&submission)?);
        let appended = transaction.append(&draft)?;
        transaction.said_in(id, &entry_reference(appended.index))?;
        // The state stores the person's message until the model receives it.
        if let Some(key) = retry_key {
            transaction.attempt_from(&key, &entry_reference(appended.index))?;
        }
        tell_decision(transaction, &record.case)?;
        // A model receives the recorded text. A program that asked receives the original text.
        if is_awaited && whole != submission.decision {
            let sealed = self.sealed(&whole).map_err(StoreError::unit)?;
            transaction.keep_private(id, Some(sealed.as_bytes()))?;
        }
        Ok(record)
    }

    /// Builds the part of the entry that contains the decision.
    fn part(&self, submission: &DecisionSubmission) -> Result<Part, StoreError> {
        let mut said = json!({
            "decision": submission.decision,
            "by": submission.by,
            "surface": self.surface.name,
        });
        if let Some(user) = &self.surface.os_user {
            said["os_user"] = user.as_str().into();
        }
        self.store.part("decision", secrets::redact_value(&said).to_string().into_bytes())
    }

    /// Encrypts the complete decision for the program that waits for it.
    fn sealed(&self, whole: &Decision) -> Result<String, String> {
        let seal = self.seal.as_ref().ok_or("there is no key to hide the answer with")?;
        let bytes = serde_json::to_vec(whole).map_err(|error| error.to_string())?;
        let sealed = seal.close(Purpose::Answer, &self.case, &Zeroizing::new(bytes));
        sealed.map_err(|error| error.to_string())
    }
}

/// Holds arguments that a person corrected.
#[derive(Clone, Copy)]
struct Correction<'a> {
    /// The arguments as the person wrote them.
    written: &'a Value,
    /// The arguments as they are recorded and sent to the model.
    told: &'a Value,
    seal: Option<&'a Seal>,
}

impl Correction<'_> {
    /// Returns the arguments with every mark replaced, if they fit the schema of the case's calls.
    fn whole(self, original: Option<&Original>, schema: Option<&Schema>) -> Result<Value, String> {
        let whole = original::filled(self.written, original).map_err(|it| it.to_string())?;
        match schema.and_then(|schema| call::misfit(schema, &whole)) {
            Some(misfit) => {
                Err(format!("the corrected arguments do not fit the tool's schema: {misfit}"))
            }
            None => Ok(whole),
        }
    }

    /// Returns the permit to run the arguments once. It applies to the call that waits for the case, or to a call
    /// with the arguments as the model received them. Nothing is encrypted if the model received all of them.
    fn permit(self, case: &UuidV7, whole: &Value) -> Result<Permit, String> {
        let digest = Digest::of(self.told);
        if whole == self.told {
            return Ok(Permit::unsealed(case.clone(), digest));
        }
        let seal = self.seal.ok_or("there is no key to hide the corrected arguments with")?;
        let bytes = Zeroizing::new(whole.to_string().into_bytes());
        let sealed = seal.close(Purpose::Correction, case, &bytes).map_err(|it| it.to_string())?;
        let permit = Permit::new(case.clone(), digest, sealed);
        permit.ok_or_else(|| {
            let (length, most) = (bytes.len(), Seal::room_in(Permit::MAX_BYTES));
            format!("corrected arguments with something hidden in them have at most {most} bytes; these have {length}")
        })
    }
}

/// Closes a case whose model then made a valid call, and records that. A decided or expired case stays unchanged.
pub(crate) fn resolve_by_model(
    transaction: &mut dyn Transaction,
    recorder: &Recorder,
    id: &UuidV7,
) -> Result<(), StoreError> {
    let Some(record) = transaction.case(id)? else { return Ok(()) };
    let is_open = record.case.decision().is_none() && !record.case.is_expired(transaction.now());
    if !is_open || !record.case.allowed.contains(&DecisionKind::Respond) {
        return Ok(());
    }
    let submission = DecisionSubmission::by_model(&record.case);
    let record = transaction.decide_case(id, &submission)?;
    let word = Token::new(submission.decision.kind().as_str());
    let (Ok(case), Ok(word)) = (Id::try_from(id), word) else {
        return Err(StoreError::unit("the case has no id that the ledger can hold"));
    };
    let said =
        json!({"decision": submission.decision, "by": submission.by, "surface": "tools/call"});
    let part = recorder.store().part("decision", said.to_string().into_bytes())?;
    let draft = Draft::decision(case, word, record.case.digest, record.case.revision);
    let appended = transaction.append(&draft.with_part(part))?;
    transaction.said_in(id, &entry_reference(appended.index))?;
    tell_decision(transaction, &record.case)
}

/// Returns the key that the calls of a case are counted under.
pub(crate) fn retry_key(record: &CaseRecord) -> Option<RetryKey> {
    Kept::of(record).map(|kept| RetryKey::new(&kept.retry_key))
}

fn take_effect(
    transaction: &mut dyn Transaction,
    key: &RetryKey,
    case: &UuidV7,
    submission: &DecisionSubmission,
    permit: Option<Permit>,
) -> Result<(), StoreError> {
    let Some(kept) = transaction.attempt(key)? else { return Ok(()) };
    let now = transaction.now();
    // The time that a decision is stored does not depend on the tool.
    let policy = RetryPolicy::default();
    let context = Context::new(&policy, &HideSecrets, now);
    let event = RetryEvent::Decision { case, decision: &submission.decision };
    let step = step(Some(kept.state), event, &context);
    let permit = permit.filter(|_| step.outcome == AttemptOutcome::Applied);
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
