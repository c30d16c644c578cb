//! Applies a person's decision about a case.

use std::time::Duration;

use answerback::call::{self, Schema};
use answerback::case::{CaseKind, Decision, DecisionKind, DecisionSubmission, misfit};
use answerback::finding::secrets;
use answerback::retry::{
    AttemptOutcome, Context, HideSecrets, Permit, RetryEvent, RetryKey, RetryPolicy, step,
};
use answerback::{Digest, UuidV7};
use answerback_ledger::{Draft, LeafId, LeafToken, Part};
use answerback_store::recording::append_decision_event;
use answerback_store::{CaseRecord, Store, StoreError, Ticket, Transaction, entry_reference};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::blocking;
use crate::case_encryption::{CaseCipher, CipherPurpose};
use crate::case_private_data::CasePrivateData;
use crate::redaction_marks::{RedactedArguments, fill_marks};
use crate::{DecisionSource, Recorder};

/// The interval at which a waiting call reads its case, because other processes may decide it.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Decides a case. The decision is recorded and applied to the case's calls in one transaction. The first
/// decision wins, and repeating it gives the same answer.
///
/// Everything that is stored is redacted. The complete answer is stored encrypted for the program that asked,
/// which reads it with [`complete_decision`].
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
    source: impl Into<DecisionSource>,
) -> Result<Ticket<CaseRecord>, StoreError> {
    let input = DecisionInput {
        store: store.clone(),
        cipher: CaseCipher::of(store),
        case,
        submitted: submission,
        source: source.into(),
    };
    store.write(move |transaction| input.apply(transaction))
}

/// Returns the complete decision, if parts of it are redacted in the record. It is stored for the program that
/// asked, until that program acknowledges it or the case expires. Returns `None` if the record itself is
/// complete.
pub fn complete_decision(store: &Store, record: &CaseRecord) -> Option<Decision> {
    record.case.decision()?;
    let encrypted = std::str::from_utf8(record.private.as_deref()?).ok()?;
    let decrypted =
        CaseCipher::of(store)?.decrypt(CipherPurpose::Answer, &record.case.id, encrypted);
    let decrypted = decrypted
        .inspect_err(
            |error| tracing::warn!(case = %record.case.id, %error, "an answer is not readable"),
        )
        .ok()?;
    serde_json::from_slice(&decrypted).ok()
}

impl Recorder {
    /// Notifies this process of a decision, so that waiting calls continue at once.
    pub fn notify_decided(&self) {
        self.decided_cases.send_replace(());
    }

    /// Waits until a case is decided. Decisions of this process are notified; those of other processes are found
    /// by polling.
    pub(crate) async fn wait_for_decision(&self, case: &UuidV7) {
        let mut decided_cases = self.decided_cases.subscribe();
        while !self.is_decided(case).await {
            // `self` owns the sender, so the channel stays open.
            let _ = tokio::time::timeout(POLL_INTERVAL, decided_cases.changed()).await;
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
fn redact_decision(decision: &Decision, schema: Option<&Schema>) -> Decision {
    match decision {
        Decision::Modify { arguments } => {
            let arguments = blocking::run(blocking::text_bytes(arguments), || {
                let shown = schema.map(|schema| schema.without_secrets(arguments));
                secrets::redact_value(shown.as_deref().unwrap_or(arguments))
            });
            Decision::Modify { arguments }
        }
        Decision::Reject { reason } => {
            Decision::Reject { reason: reason.as_deref().map(redact_text) }
        }
        Decision::Respond { message } => Decision::Respond { message: redact_text(message) },
        other => other.clone(),
    }
}

fn redact_text(text: &str) -> String {
    blocking::run(text.len(), || secrets::redact(text).into_owned())
}

/// Holds a decision that is being recorded, as the person gave it.
struct DecisionInput {
    store: Store,
    cipher: Option<CaseCipher>,
    case: UuidV7,
    submitted: DecisionSubmission,
    source: DecisionSource,
}

impl DecisionInput {
    fn apply(&self, transaction: &mut dyn Transaction) -> Result<CaseRecord, StoreError> {
        let id = &self.case;
        let previous = transaction.case(id)?;
        let was_decided = previous.as_ref().is_some_and(|record| record.case.decision().is_some());
        let private_data = previous.as_ref().and_then(CasePrivateData::read);
        let schema = private_data.as_ref().and_then(CasePrivateData::schema);
        let mut submission = self.submitted.clone();
        submission.decision = redact_decision(&self.submitted.decision, schema.as_ref());
        let record = transaction.decide_case(id, &submission)?;
        if was_decided {
            return Ok(record);
        }
        let shown: Value = serde_json::from_slice(&record.content).unwrap_or_default();
        if let Some(reason) = misfit(record.case.kind, &shown, &self.submitted.decision) {
            return Err(StoreError::unit(reason));
        }
        // The program that waits for the decision receives all of it.
        let (complete, permit) = match (&self.submitted.decision, &submission.decision) {
            (Decision::Modify { arguments: entered }, Decision::Modify { arguments: recorded }) => {
                let cipher = self.cipher.as_ref();
                let original = private_data
                    .as_ref()
                    .and_then(|private_data| private_data.original(id, cipher));
                let correction = SubmittedCorrection { entered, recorded, cipher };
                let complete = correction.with_marks_filled(original.as_ref(), schema.as_ref());
                let complete = complete.map_err(StoreError::unit)?;
                // A permit is useful only for calls that are counted.
                let permit = private_data.as_ref().map(|_| correction.permit(id, &complete));
                let permit = permit.transpose().map_err(StoreError::unit)?;
                (Decision::Modify { arguments: complete }, permit)
            }
            (submitted, _) => (submitted.clone(), None),
        };
        let is_for_program = record.case.kind != CaseKind::Escalation
            || private_data.as_ref().is_some_and(|private_data| private_data.is_for_program);
        let retry_key = private_data.map(|private_data| RetryKey::new(&private_data.retry_key));
        if let Some(key) = &retry_key {
            apply_to_calls(transaction, key, id, &submission, permit)?;
        }
        let verdict = submission.decision.kind().as_str();
        let (Ok(case), Ok(decision)) = (LeafId::try_from(id), LeafToken::new(verdict)) else {
            return Err(StoreError::unit("the case has no id that the ledger can hold"));
        };
        let draft = Draft::decision(case, decision, record.case.digest, record.case.revision)
            .with_part(self.entry_part(&submission)?);
        let appended = transaction.append(&draft)?;
        transaction.add_words_source(id, &entry_reference(appended.index))?;
        // The state stores the person's message until the model receives it.
        if let Some(key) = retry_key {
            transaction.add_attempt_source(&key, &entry_reference(appended.index))?;
        }
        append_decision_event(transaction, &record.case)?;
        // A model receives the recorded text. A program that asked receives the original text.
        if is_for_program && complete != submission.decision {
            let encrypted = self.encrypt_for_program(&complete).map_err(StoreError::unit)?;
            transaction.store_private(id, Some(encrypted.as_bytes()))?;
        }
        Ok(record)
    }

    /// Builds the part of the entry that contains the decision.
    fn entry_part(&self, submission: &DecisionSubmission) -> Result<Part, StoreError> {
        let mut document = json!({
            "decision": submission.decision,
            "by": submission.by,
            "surface": self.source.name,
        });
        if let Some(user) = &self.source.os_user {
            document["os_user"] = user.as_str().into();
        }
        self.store.part("decision", secrets::redact_value(&document).to_string().into_bytes())
    }

    /// Encrypts the complete decision for the program that waits for it.
    fn encrypt_for_program(&self, complete: &Decision) -> Result<String, String> {
        let cipher = self.cipher.as_ref().ok_or("there is no key to hide the answer with")?;
        let bytes = serde_json::to_vec(complete).map_err(|error| error.to_string())?;
        let encrypted = cipher.encrypt(CipherPurpose::Answer, &self.case, &Zeroizing::new(bytes));
        encrypted.map_err(|error| error.to_string())
    }
}

/// Holds arguments that a person corrected.
#[derive(Clone, Copy)]
struct SubmittedCorrection<'a> {
    /// The arguments as the person wrote them.
    entered: &'a Value,
    /// The arguments as they are recorded and sent to the model.
    recorded: &'a Value,
    cipher: Option<&'a CaseCipher>,
}

impl SubmittedCorrection<'_> {
    /// Returns the arguments with every mark replaced, if they fit the schema of the case's calls.
    fn with_marks_filled(
        self,
        original: Option<&RedactedArguments>,
        schema: Option<&Schema>,
    ) -> Result<Value, String> {
        let complete = fill_marks(self.entered, original).map_err(|it| it.to_string())?;
        match schema.and_then(|schema| call::misfit(schema, &complete)) {
            Some(misfit) => {
                Err(format!("the corrected arguments do not fit the tool's schema: {misfit}"))
            }
            None => Ok(complete),
        }
    }

    /// Returns the permit to run the arguments once. It applies to the call that waits for the case, or to a call
    /// with the arguments as the model received them. Nothing is encrypted if the model received all of them.
    fn permit(self, case: &UuidV7, complete: &Value) -> Result<Permit, String> {
        let digest = Digest::of(self.recorded);
        if complete == self.recorded {
            return Ok(Permit::unsealed(case.clone(), digest));
        }
        let cipher = self.cipher.ok_or("there is no key to hide the corrected arguments with")?;
        let bytes = Zeroizing::new(complete.to_string().into_bytes());
        let encrypted =
            cipher.encrypt(CipherPurpose::Correction, case, &bytes).map_err(|it| it.to_string())?;
        let permit = Permit::new(case.clone(), digest, encrypted);
        permit.ok_or_else(|| {
            let (length, most) = (bytes.len(), CaseCipher::plaintext_capacity(Permit::MAX_BYTES));
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
    let verdict = LeafToken::new(submission.decision.kind().as_str());
    let (Ok(case), Ok(verdict)) = (LeafId::try_from(id), verdict) else {
        return Err(StoreError::unit("the case has no id that the ledger can hold"));
    };
    let document =
        json!({"decision": submission.decision, "by": submission.by, "surface": "tools/call"});
    let entry_part = recorder.store().part("decision", document.to_string().into_bytes())?;
    let draft = Draft::decision(case, verdict, record.case.digest, record.case.revision);
    let appended = transaction.append(&draft.with_part(entry_part))?;
    transaction.add_words_source(id, &entry_reference(appended.index))?;
    append_decision_event(transaction, &record.case)
}

/// Returns the key that the calls of a case are counted under.
pub(crate) fn retry_key(record: &CaseRecord) -> Option<RetryKey> {
    CasePrivateData::read(record).map(|private_data| RetryKey::new(&private_data.retry_key))
}

fn apply_to_calls(
    transaction: &mut dyn Transaction,
    key: &RetryKey,
    case: &UuidV7,
    submission: &DecisionSubmission,
    permit: Option<Permit>,
) -> Result<(), StoreError> {
    let Some(stored) = transaction.retry_state(key)? else { return Ok(()) };
    let now = transaction.now();
    // The time that a decision is stored does not depend on the tool.
    let policy = RetryPolicy::default();
    let context = Context::new(&policy, &HideSecrets, now);
    let event = RetryEvent::Decision { case, decision: &submission.decision };
    let step = step(Some(stored.state), event, &context);
    let permit = permit.filter(|_| step.outcome == AttemptOutcome::Applied);
    let state = match permit {
        Some(permit) => step.state.map(|state| state.with_permit(permit)),
        None => step.state,
    };
    if transaction.replace_retry_state(key, Some(stored.revision), state.as_ref())? {
        Ok(())
    } else {
        Err(StoreError::Damaged("a retry state changed under the lock".into()))
    }
}
