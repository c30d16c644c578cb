//! Runs calls with arguments that a person corrected.

use answerback::case::Decision;
use answerback::checker::{CallRequest, CheckedCall, check_call};
use answerback::finding::secrets;
use answerback::retry::{Permit, RetryKey};
use answerback::{Digest, UuidV7};
use answerback_store::Store;
use serde_json::Value;

use super::count::CountStep;
use crate::Recorder;
use crate::blocking;
use crate::case_encryption::{CaseCipher, CipherPurpose};
use crate::redaction_marks::has_mark;
use crate::tool_call_request::ToolCallRequest;

/// The size limit for corrected arguments that are repeated to the model, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

/// Identifies the way in which a call claims a person's correction.
#[derive(Clone, Debug)]
pub(crate) enum CorrectionClaim {
    /// The call waited for this case.
    Case(UuidV7),
    /// The call sends the corrected arguments as the model received them, with redaction marks. This is their
    /// digest.
    Marked(Digest),
    /// The next call gets the correction, regardless of its arguments.
    Next,
}

impl CorrectionClaim {
    /// Returns the claim of a call, or `None` if it claims no correction. `arguments` are its parsed arguments.
    pub(crate) fn of(request: &ToolCallRequest, arguments: Option<&Value>) -> Option<Self> {
        if let Some(case) = &request.decided_case {
            return Some(Self::Case(case.clone()));
        }
        // The text shows quickly that most calls have no mark.
        request.arguments.as_deref().filter(|text| has_mark(text))?;
        Self::of_arguments(arguments?)
    }

    /// Returns the claim of arguments that contain redaction marks, or `None` if they have none.
    pub(crate) fn of_arguments(arguments: &Value) -> Option<Self> {
        blocking::run(blocking::text_bytes(arguments), || {
            let is_marked = has_mark(&arguments.to_string());
            is_marked.then(|| Self::Marked(Digest::of(&secrets::redact_value(arguments))))
        })
    }

    fn is_met_by(&self, permit: &Permit) -> bool {
        match self {
            Self::Case(case) => permit.case == *case,
            Self::Marked(digest) => permit.hides() && permit.digest == *digest,
            Self::Next => true,
        }
    }
}

impl Recorder {
    /// Returns a person's permit and the complete corrected arguments, if the call claims them.
    pub(crate) async fn find_correction(
        &self,
        claim: CorrectionClaim,
        key: &RetryKey,
    ) -> Option<(Permit, Value)> {
        let (store, cipher, key) = (self.store().clone(), self.cipher(), key.clone());
        let read = tokio::task::spawn_blocking(move || {
            let state = store.retry_state(&key).ok()??.state;
            let permit = state.permit().filter(|permit| claim.is_met_by(permit))?.clone();
            let arguments = corrected_arguments(&store, cipher.as_deref(), &permit)?;
            Some((permit, arguments))
        });
        read.await.ok()?
    }
}

/// Returns the corrected arguments: decrypted if parts are hidden, or else from the case.
fn corrected_arguments(
    store: &Store,
    cipher: Option<&CaseCipher>,
    permit: &Permit,
) -> Option<Value> {
    if permit.hides() {
        let decrypted = cipher?.decrypt(CipherPurpose::Correction, &permit.case, &permit.sealed);
        let decrypted = decrypted.inspect_err(|error| {
            tracing::warn!(case = %permit.case, %error, "what a person corrected cannot be read");
        });
        return serde_json::from_slice(&decrypted.ok()?).ok();
    }
    let record = store.case(&permit.case).ok()??;
    match record.case.decision()? {
        Decision::Modify { arguments } if Digest::of(arguments) == permit.digest => {
            Some(arguments.clone())
        }
        _ => None,
    }
}

/// Holds a person's correction that fits the schema of the call.
pub(super) struct CheckedCorrection<'c> {
    pub(super) judged: CheckedCall<'c>,
    pub(super) permit: Permit,
}

impl<'a> CountStep<'a, '_> {
    /// Returns the correction that a call claims, if there is one and its arguments are valid.
    pub(super) async fn check_correction(
        self,
        recorder: &Recorder,
        claim: CorrectionClaim,
        key: &RetryKey,
        conversation: String,
    ) -> Option<CheckedCorrection<'a>> {
        let (permit, arguments) = recorder.find_correction(claim, key).await?;
        let (gateway, request) = (self.gateway, &self.context.request);
        let line = CallRequest::new(&request.name, arguments).with_id(request.id.as_json());
        let line = line.with_conversation(conversation);
        let argument_bytes = line.arguments.as_ref().map_or(0, blocking::text_bytes);
        let judged = blocking::run(argument_bytes, || {
            check_call(self.upstream.tools.inputs(), line, &gateway.validation, gateway.limits)
        });
        judged.is_valid().then_some(CheckedCorrection { judged, permit })
    }
}

/// Returns the note for the model about a call that ran with corrected arguments while it was open.
pub(super) fn correction_note(judged: &CheckedCall<'_>) -> String {
    let text = "A person corrected the arguments of this call before it ran";
    let arguments = judged.arguments.value().map(|arguments| {
        blocking::run(blocking::text_bytes(arguments), || {
            let shown = judged.schema().map(|schema| schema.without_secrets(arguments));
            secrets::redact_value(shown.as_deref().unwrap_or(arguments)).to_string()
        })
    });
    match arguments.filter(|arguments| arguments.len() <= MAX_NOTE_BYTES) {
        Some(arguments) => format!("{text}: {arguments}"),
        None => format!("{text}."),
    }
}
