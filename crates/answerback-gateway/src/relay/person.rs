//! Asking the person at the client, and what they decide.

use std::sync::atomic::Ordering;

use answerback::UuidV7;
use answerback::case::{Decision, Submission};
use answerback::retry::RetryKey;
use answerback_store::StoreError;

use super::{Relay, Side};
use crate::decide::retry_key;
use crate::{Admission, Asked, Recorder, ToolCall, Upstream, ask, told};

/// Records what a person decided at the client, about the case as it stands. The case has to be one of these calls:
/// who made other calls does not decide about them.
async fn settle(
    recorder: &Recorder,
    case: &UuidV7,
    calls: &RetryKey,
    decision: Decision,
) -> Result<(), StoreError> {
    let store = recorder.store().clone();
    let id = case.clone();
    let record = tokio::task::spawn_blocking({
        let store = store.clone();
        move || store.case(&id)
    });
    let record = record.await.map_err(|error| StoreError::unit(error.to_string()))??;
    let record = record.filter(|record| retry_key(record).as_ref() == Some(calls));
    let record = record.ok_or_else(|| StoreError::Missing(format!("case {case}")))?;
    let submission = Submission::about(&record.case, decision).with_by("the client's user");
    crate::decide(&store, case.clone(), submission, "elicitation")?.await?;
    Ok(())
}

impl Relay {
    /// Looks at a call. One that is made again to answer a question of ours brings the decision along.
    pub(super) async fn admit(&self, upstream: &Upstream, call: ToolCall) -> Admission {
        let ours =
            call.answers.clone().and_then(|answers| Some((ask::case_of(&answers)?, answers)));
        let Some((case, answers)) = ours else {
            return self.gateway.admit(&self.client, upstream, call).await;
        };
        let call = match call.without_answers() {
            Ok(call) => call,
            Err(error) => {
                return Admission::Answer(told::no_call(&call, &error.to_string()));
            }
        };
        let decided = match ask::answered(&answers) {
            Ok(Some(decision)) => self.decided(&call, &case, decision).await,
            Ok(None) => None,
            Err(reason) => {
                tracing::warn!(%case, reason, "what the person said cannot be used; the case waits");
                None
            }
        };
        self.gateway.admit(&self.client, upstream, decided.unwrap_or(call)).await
    }

    /// Asks the person at the client, where the client can. What they correct runs as the answer to the call that is
    /// still open; what they say otherwise is told to the model. Without an answer the case waits in the inbox.
    pub(super) async fn ask_person(&self, upstream: &Upstream, asked: Asked) -> Admission {
        let Asked { answer, call, escalation } = asked;
        if self.gateway.recorder().is_none() {
            return Admission::Answer(answer);
        }
        // Without a session the answer itself asks, where the client can.
        if call.is_modern || !self.can_ask.load(Ordering::Acquire) {
            return Admission::Answer(answer);
        }
        let most = self.gateway.settings().call_time;
        let form = ask::form(&escalation);
        let asking = self.request(Side::Client(&call.id), "elicitation/create", &form, most);
        let decision = match asking.await {
            Ok(reply) => ask::answer(&reply),
            Err(reason) => Err(reason),
        };
        let decision = match decision {
            Ok(Some(decision)) => decision,
            Ok(None) => return Admission::Answer(answer),
            Err(reason) => {
                tracing::warn!(case = %escalation.id, reason, "what the person said cannot be used; the case waits");
                return Admission::Answer(answer);
            }
        };
        match self.decided(&call, &escalation.id, decision).await {
            Some(call) => self.gateway.admit(&self.client, upstream, call).await,
            None => Admission::Answer(answer),
        }
    }

    /// Records what a person decided about a call, and gives the call as it is to be judged now; nothing, where the
    /// decision does not hold.
    pub(super) async fn decided(
        &self,
        call: &ToolCall,
        case: &UuidV7,
        decision: Decision,
    ) -> Option<ToolCall> {
        let recorder = self.gateway.recorder()?;
        let corrected = match &decision {
            Decision::Modify { arguments } => call.corrected(arguments).ok()?,
            _ => call.clone().arrived_after(None),
        };
        let conversation =
            self.client.conversation(&self.server.name, call.conversation.as_deref());
        let key = RetryKey::of_conversation(&conversation, &call.name);
        if let Err(error) = settle(recorder, case, &key, decision).await {
            tracing::warn!(%case, %error, "the decision does not hold; the case waits");
            return None;
        }
        // The answer was on its way as far as attempts go: what comes now is judged by the decision.
        self.client.answered();
        Some(corrected)
    }
}
