//! Asks the client's user about a blocked call, and continues the call after a decision from any surface.

use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback::UuidV7;
use answerback::case::{Decision, DecisionSubmission};
use answerback::retry::{Escalation, RetryKey};
use answerback_mcp::link::Incoming;
use answerback_mcp::wire::{Id, Message};
use answerback_store::StoreError;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Answerer, Relay, Stage, cancellation, lock};
use crate::call::Answers;
use crate::decide::retry_key;
use crate::{Admission, Asked, Recorder, ToolCallRequest, Upstream, ask, gateway_reply};

/// Records a decision that was made at the client. The case must belong to these calls, because the users of
/// other calls may not decide it.
async fn settle(
    recorder: &Recorder,
    case: &UuidV7,
    calls: &RetryKey,
    decision: Decision,
) -> Result<(), StoreError> {
    let record = recorder.case(case).await?;
    let record = record.filter(|record| retry_key(record).as_ref() == Some(calls));
    let record = record.ok_or_else(|| StoreError::Missing(format!("case {case}")))?;
    let submission = DecisionSubmission::about(&record.case, decision).with_by("the client's user");
    crate::decide(recorder.store(), case.clone(), submission, "elicitation")?.await?;
    Ok(())
}

/// Holds a form that is open at the client. Its answer is ignored once this is dropped.
struct OpenForm<'r> {
    relay: &'r Relay,
    /// The call that the form is about.
    call: &'r Id,
    id: Id,
    reply: oneshot::Receiver<Message>,
}

impl<'r> OpenForm<'r> {
    /// Sends a form to the client.
    async fn put(relay: &'r Relay, call: &'r Id, form: &Value) -> Self {
        let (id, reply) = relay.expect_answer(Answerer::Client);
        let request = Message::request(&id, "elicitation/create", form);
        let form = Self { relay, call, id, reply };
        relay.tell(Incoming::about(request, call.clone())).await;
        form
    }

    /// Waits for the client's answer to the form.
    async fn reply(&mut self, most: Duration) -> Result<Message, String> {
        match tokio::time::timeout(most, &mut self.reply).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the client or the server has left".to_owned()),
            Err(_) => Err(format!("nobody answered within {} seconds", most.as_secs())),
        }
    }

    /// Withdraws the form, so that the user does not fill it in for nothing.
    async fn withdraw(self, reason: &str) {
        let cancelled = Incoming::about(cancellation(&self.id, reason), self.call.clone());
        self.relay.tell(cancelled).await;
    }
}

impl Drop for OpenForm<'_> {
    fn drop(&mut self) {
        lock(&self.relay.ours).remove(&self.id);
    }
}

impl Relay {
    /// Checks a call. A call that is repeated to answer our question contains the user's decision, which counts
    /// unless the case was already decided.
    pub(super) async fn admit(&self, upstream: &Upstream, call: Box<ToolCallRequest>) -> Admission {
        let ours =
            call.answers.clone().and_then(|answers| Some((ask::case_of(&answers)?, answers)));
        match ours {
            Some((case, answers)) => {
                Box::pin(self.admit_again(upstream, &call, case, answers)).await
            }
            None => self.gateway.admit(&self.client, upstream, call).await,
        }
    }

    /// Checks a repeated call that contains the answers about this case.
    async fn admit_again(
        &self,
        upstream: &Upstream,
        call: &ToolCallRequest,
        case: UuidV7,
        answers: Answers,
    ) -> Admission {
        let call = match call.without_answers() {
            Ok(call) => call,
            Err(error) => {
                return Admission::Answer(gateway_reply::no_call(call, &error.to_string()));
            }
        };
        self.take(&call, &case, ask::answered(&answers)).await;
        self.gateway.admit(&self.client, upstream, call.after_waiting_for(case)).await
    }

    /// Asks the client's user, if the client supports it, and waits for the first decision from any surface.
    /// Corrected arguments run as the result of the open call. Any other decision is sent to the model. Without a
    /// decision the case waits in the inbox.
    pub(super) async fn ask_person(&self, upstream: &Upstream, asked: Asked) -> Admission {
        let Asked { answer, call, escalation } = asked;
        // Without a session, the response itself asks the user. A client that has left cannot be asked.
        let can_ask = !call.is_modern && self.can_ask.load(Ordering::Acquire);
        if !can_ask || !self.is_open(&call.id) {
            return Admission::Answer(answer);
        }
        if !self.is_decided_meanwhile(&call, &escalation).await {
            return Admission::Answer(answer);
        }
        // The rejected attempt counts as answered, so the call is checked again under the decision.
        self.client.answered();
        self.gateway.admit(&self.client, upstream, call.after_waiting_for(escalation.id)).await
    }

    /// Waits for a decision about an open call. Returns true if there is one and the client still waits.
    async fn is_decided_meanwhile(&self, call: &ToolCallRequest, escalation: &Escalation) -> bool {
        let Some(recorder) = self.gateway.recorder() else { return false };
        let case = &escalation.id;
        let mut form = OpenForm::put(self, &call.id, &ask::form(escalation)).await;
        tokio::select! {
            biased;
            () = self.until_given_up(&call.id) => form.withdraw("the call was given up").await,
            reply = form.reply(self.gateway.settings().call_time) => match reply {
                Ok(reply) => self.take(call, case, ask::answer(&reply)).await,
                Err(reason) => {
                    tracing::warn!(%case, reason, "nobody answered the form; the case waits");
                    form.withdraw(&reason).await;
                }
            },
            () = recorder.decided(case) => form.withdraw("it was decided elsewhere").await,
        }
        // If the client no longer waits, the call must not run. The decision then applies to its next call.
        recorder.is_decided(case).await && self.is_open(&call.id)
    }

    /// Records the user's decision about a call, if there is one and it is the first.
    async fn take(
        &self,
        call: &ToolCallRequest,
        case: &UuidV7,
        said: Result<Option<Decision>, String>,
    ) {
        let decision = match said {
            Ok(Some(decision)) => decision,
            Ok(None) => return,
            Err(reason) => {
                tracing::warn!(%case, reason, "what the person said cannot be used; the case waits");
                return;
            }
        };
        let Some(recorder) = self.gateway.recorder() else { return };
        let conversation =
            self.client.conversation(&self.server.name, call.conversation.as_deref());
        let key = RetryKey::of_conversation(&conversation, &call.name);
        if let Err(error) = settle(recorder, case, &key, decision).await {
            tracing::warn!(%case, %error, "the decision at the client does not hold");
        }
    }

    /// Waits until the client cancels a call that was not forwarded yet.
    async fn until_given_up(&self, call: &Id) {
        loop {
            let mut notified = std::pin::pin!(self.given_up.notified());
            // A cancellation from now on wakes this task.
            notified.as_mut().enable();
            if self.is_given_up(call) {
                return;
            }
            notified.await;
        }
    }

    /// Returns true if the client still waits for a call that was not forwarded yet.
    fn is_open(&self, call: &Id) -> bool {
        !self.is_given_up(call) && self.to_client.is_waited_for(call)
    }

    fn is_given_up(&self, call: &Id) -> bool {
        matches!(lock(&self.calls).get(call), Some(Stage::Admitting { is_cancelled: true }))
    }
}
