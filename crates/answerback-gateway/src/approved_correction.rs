//! Runs calls with arguments that a person corrected.

use answerback::case::Decision;
use answerback::finding::secrets;
use answerback::retry::{Permit, RetryKey};
use answerback::{Digest, UuidV7};
use answerback_store::Store;
use serde_json::Value;

use crate::Recorder;
use crate::blocking;
use crate::call::ToolCallRequest;
use crate::original::has_mark;
use crate::seal::{Purpose, Seal};

/// Identifies the way in which a call claims a person's correction.
#[derive(Clone, Debug)]
pub(crate) enum CorrectionClaim {
    /// The call waited for this case.
    Case(UuidV7),
    /// The call sends the corrected arguments as the model received them, with redaction marks. This is their
    /// digest.
    Told(Digest),
    /// The next call gets the correction, regardless of its arguments.
    Next,
}

impl CorrectionClaim {
    /// Returns the claim of a call, or `None` if it claims no correction.
    pub(crate) fn of(call: &ToolCallRequest) -> Option<Self> {
        if let Some(case) = &call.waited_for {
            return Some(Self::Case(case.clone()));
        }
        let text = call.arguments.as_deref().filter(|text| has_mark(text))?;
        Self::of_told(&serde_json::from_str(text).ok()?)
    }

    /// Returns the claim of arguments that contain redaction marks, or `None` if they have none.
    pub(crate) fn of_told(sent: &Value) -> Option<Self> {
        blocking::work(blocking::text_in(sent), || {
            let is_marked = has_mark(&sent.to_string());
            is_marked.then(|| Self::Told(Digest::of(&secrets::redact_value(sent))))
        })
    }

    fn is_met_by(&self, permit: &Permit) -> bool {
        match self {
            Self::Case(case) => permit.case == *case,
            Self::Told(digest) => permit.hides() && permit.digest == *digest,
            Self::Next => true,
        }
    }
}

impl Recorder {
    /// Returns a person's permit and the complete corrected arguments, if the call claims them.
    pub(crate) async fn permitted(
        &self,
        claim: CorrectionClaim,
        key: &RetryKey,
    ) -> Option<(Permit, Value)> {
        let (store, seal, key) = (self.store().clone(), self.seal(), key.clone());
        let found = tokio::task::spawn_blocking(move || {
            let state = store.attempt(&key).ok()??.state;
            let permit = state.permit().filter(|permit| claim.is_met_by(permit))?.clone();
            let arguments = corrected(&store, seal.as_deref(), &permit)?;
            Some((permit, arguments))
        });
        found.await.ok()?
    }
}

/// Returns the corrected arguments: decrypted if parts are hidden, or else from the case.
fn corrected(store: &Store, seal: Option<&Seal>, permit: &Permit) -> Option<Value> {
    if permit.hides() {
        let opened = seal?.open(Purpose::Correction, &permit.case, &permit.sealed);
        let opened = opened.inspect_err(|error| {
            tracing::warn!(case = %permit.case, %error, "what a person corrected cannot be read");
        });
        return serde_json::from_slice(&opened.ok()?).ok();
    }
    let record = store.case(&permit.case).ok()??;
    match record.case.decision()? {
        Decision::Modify { arguments } if Digest::of(arguments) == permit.digest => {
            Some(arguments.clone())
        }
        _ => None,
    }
}
