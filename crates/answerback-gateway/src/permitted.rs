//! A call with arguments that a person corrected, sent by the model as it was told them.

use answerback::Digest;
use answerback::finding::secrets;
use answerback::retry::{Permit, RetryKey};
use serde_json::Value;

use crate::Gateway;
use crate::call::ToolCall;
use crate::original::has_mark;
use crate::seal::Purpose;

impl Gateway {
    /// The arguments that a person's permit holds for this call, where it sends what the model was told.
    pub(crate) async fn permitted(
        &self,
        call: &ToolCall,
        key: &RetryKey,
    ) -> Option<(Permit, Value)> {
        // Without a mark there is nothing to fill in, and nothing to look up.
        let text = call.arguments.as_deref().filter(|text| has_mark(text))?;
        let recorder = self.recorder.as_ref()?;
        let sent: Value = serde_json::from_str(text).ok()?;
        let digest = Digest::of(&secrets::redact_value(&sent));
        let (store, seal, key) = (recorder.store().clone(), recorder.seal()?, key.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let state = store.attempt(&key).ok()??.state;
            let permit = state.permit().filter(|permit| permit.digest == digest)?.clone();
            let opened = seal.open(Purpose::Correction, &permit.case, &permit.sealed);
            let opened = opened.inspect_err(|error| {
                tracing::warn!(case = %permit.case, %error, "what a person corrected cannot be read");
            });
            Some((permit, opened.ok()?))
        });
        let (permit, arguments) = opened.await.ok()??;
        Some((permit, serde_json::from_slice(&arguments).ok()?))
    }
}
