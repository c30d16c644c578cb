//! Asks the client's user about a blocked call, and continues the call after a decision from any source.

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

use super::own_requests::RequestRecipient;
use super::{RelaySession, cancellation};
use crate::case_decision::retry_key;
use crate::gateway_reply::invalid_call;
use crate::tool_call_request::ElicitationAnswers;
use crate::{Admission, BlockedCall, Recorder, ToolCallRequest, Upstream, elicitation_form};

/// Records a decision that was made at the client. The case must belong to these calls, because the users of
/// other calls may not decide it.
async fn record_decision(
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
    relay: &'r RelaySession,
    /// The call that the form is about.
    call: &'r Id,
    id: Id,
    reply: oneshot::Receiver<Message>,
}

impl<'r> OpenForm<'r> {
    /// Sends a form to the client.
    async fn send(relay: &'r RelaySession, call: &'r Id, form: &Value) -> Self {
        let (id, reply) = relay.own_requests.add(RequestRecipient::Client);
        let request = Message::request(&id, "elicitation/create", form);
        let form = Self { relay, call, id, reply };
        relay.send_to_client(Incoming::about(request, call.clone())).await;
        form
    }

    /// Waits for the client's answer to the form.
    async fn reply(&mut self, limit: Duration) -> Result<Message, String> {
        match tokio::time::timeout(limit, &mut self.reply).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the client or the server has left".to_owned()),
            Err(_) => Err(format!("nobody answered within {} seconds", limit.as_secs())),
        }
    }

    /// Withdraws the form, so that the user does not fill it in for nothing.
    async fn withdraw(self, reason: &str) {
        let cancelled = Incoming::about(cancellation(&self.id, reason), self.call.clone());
        self.relay.send_to_client(cancelled).await;
    }
}

impl Drop for OpenForm<'_> {
    fn drop(&mut self) {
        self.relay.own_requests.remove(&self.id);
    }
}

impl RelaySession {
    /// Checks a call. A call that is repeated to answer our question contains the user's decision, which counts
    /// unless the case was already decided.
    pub(super) async fn admit(&self, upstream: &Upstream, call: Box<ToolCallRequest>) -> Admission {
        let our_question = call
            .answers
            .clone()
            .and_then(|answers| Some((elicitation_form::case_in_state(&answers)?, answers)));
        match our_question {
            Some((case, answers)) => {
                Box::pin(self.admit_repeated(upstream, &call, case, answers)).await
            }
            None => self.gateway.admit(&self.client, upstream, call).await,
        }
    }

    /// Checks a repeated call that contains the answers about this case.
    async fn admit_repeated(
        &self,
        upstream: &Upstream,
        call: &ToolCallRequest,
        case: UuidV7,
        answers: ElicitationAnswers,
    ) -> Admission {
        let call = match call.without_answers() {
            Ok(call) => call,
            Err(error) => {
                return Admission::Answer(invalid_call(call, &error.to_string()));
            }
        };
        self.record_user_decision(&call, &case, elicitation_form::decision_in_call(&answers)).await;
        self.gateway.admit(&self.client, upstream, call.with_decided_case(case)).await
    }

    /// Asks the client's user, if the client supports it, and waits for the first decision from any source.
    /// Corrected arguments run as the result of the open call. Any other decision is sent to the model. Without a
    /// decision the case waits in the inbox.
    pub(super) async fn ask_user(&self, upstream: &Upstream, blocked: BlockedCall) -> Admission {
        let BlockedCall { answer, request: call, escalation } = blocked;
        // Without a session, the response itself asks the user. A client that has left cannot be asked.
        let supports_forms = !call.is_modern && self.supports_forms.load(Ordering::Acquire);
        if !supports_forms || !self.expects_response(&call.id) {
            return Admission::Answer(answer);
        }
        if !self.wait_for_user(&call, &escalation).await {
            return Admission::Answer(answer);
        }
        // The rejected attempt counts as answered, so the call is checked again under the decision.
        self.client.count_failed_call();
        self.gateway.admit(&self.client, upstream, call.with_decided_case(escalation.id)).await
    }

    /// Waits for a decision about an open call. Returns true if there is one and the client still waits.
    async fn wait_for_user(&self, call: &ToolCallRequest, escalation: &Escalation) -> bool {
        let Some(recorder) = self.gateway.recorder() else { return false };
        let case = &escalation.id;
        let mut form = OpenForm::send(self, &call.id, &elicitation_form::form(escalation)).await;
        tokio::select! {
            biased;
            () = self.calls.wait_for_cancellation(&call.id) => form.withdraw("the call was given up").await,
            reply = form.reply(self.gateway.settings().call_time) => match reply {
                Ok(reply) => self.record_user_decision(call, case, elicitation_form::decision_in_reply(&reply)).await,
                Err(reason) => {
                    tracing::warn!(%case, reason, "nobody answered the form; the case waits");
                    form.withdraw(&reason).await;
                }
            },
            () = recorder.wait_for_decision(case) => form.withdraw("it was decided elsewhere").await,
        }
        // If the client no longer waits, the call must not run. The decision then applies to its next call.
        recorder.is_decided(case).await && self.expects_response(&call.id)
    }

    /// Records the user's decision about a call, if there is one and it is the first.
    async fn record_user_decision(
        &self,
        call: &ToolCallRequest,
        case: &UuidV7,
        answer: Result<Option<Decision>, String>,
    ) {
        let decision = match answer {
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
        if let Err(error) = record_decision(recorder, case, &key, decision).await {
            tracing::warn!(%case, %error, "the decision at the client does not hold");
        }
    }
}
