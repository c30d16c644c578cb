//! Asking the person at the client, and what becomes of a call when somebody decides, wherever they do.

use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback::UuidV7;
use answerback::case::{Decision, Submission};
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

/// Records what a person decided at the client, about the case as it stands. The case has to be one of these calls:
/// who made other calls does not decide about them.
async fn settle(
    recorder: &Recorder,
    case: &UuidV7,
    calls: &RetryKey,
    decision: Decision,
) -> Result<(), StoreError> {
    let record = recorder.case(case).await?;
    let record = record.filter(|record| retry_key(record).as_ref() == Some(calls));
    let record = record.ok_or_else(|| StoreError::Missing(format!("case {case}")))?;
    let submission = Submission::about(&record.case, decision).with_by("the client's user");
    crate::decide(recorder.store(), case.clone(), submission, "elicitation")?.await?;
    Ok(())
}

/// A question that is open at the client. Its answer is of no use to anybody once it is dropped.
struct OpenForm<'r> {
    relay: &'r Relay,
    /// The call that it is about.
    call: &'r Id,
    id: Id,
    reply: oneshot::Receiver<Message>,
}

impl<'r> OpenForm<'r> {
    /// Puts a form to the person at the client.
    async fn put(relay: &'r Relay, call: &'r Id, form: &Value) -> Self {
        let (id, reply) = relay.expect_answer(Answerer::Client);
        let request = Message::request(&id, "elicitation/create", form);
        let form = Self { relay, call, id, reply };
        relay.tell(Incoming::about(request, call.clone())).await;
        form
    }

    /// What the client says to it.
    async fn reply(&mut self, most: Duration) -> Result<Message, String> {
        match tokio::time::timeout(most, &mut self.reply).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) => Err("the client or the server has left".to_owned()),
            Err(_) => Err(format!("nobody answered within {} seconds", most.as_secs())),
        }
    }

    /// Takes it back, so that nobody fills in what nobody reads.
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
    /// Looks at a call. One that is made again to answer a question of ours brings the decision along, unless somebody
    /// decided elsewhere meanwhile.
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

    /// Looks at a call that is made again, with the answers to what we asked about this case.
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

    /// Asks the person at the client, where the client can, and waits for whoever decides first: they, or somebody at the
    /// desk. What is corrected runs as the answer to the call that is still open; what is said otherwise is told to the
    /// model. Without a decision the case waits in the inbox.
    pub(super) async fn ask_person(&self, upstream: &Upstream, asked: Asked) -> Admission {
        let Asked { answer, call, escalation } = asked;
        // Without a session the answer itself asks, where the client can. Who has left is not there to be asked.
        let can_ask = !call.is_modern && self.can_ask.load(Ordering::Acquire);
        if !can_ask || !self.is_open(&call.id) {
            return Admission::Answer(answer);
        }
        if !self.is_decided_meanwhile(&call, &escalation).await {
            return Admission::Answer(answer);
        }
        // The answer was on its way as far as attempts go: what comes now is judged by the decision.
        self.client.answered();
        self.gateway.admit(&self.client, upstream, call.after_waiting_for(escalation.id)).await
    }

    /// Waits for a decision about a call that is open, and says whether there is one and somebody to hear of it.
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
        // Nothing runs for a client that does not wait for it: the decision is for its next call then.
        recorder.is_decided(case).await && self.is_open(&call.id)
    }

    /// Records what a person said at the client about a call, where it is a decision and the first one.
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

    /// Waits until the client gives a call up that is not forwarded yet.
    async fn until_given_up(&self, call: &Id) {
        loop {
            let mut notified = std::pin::pin!(self.given_up.notified());
            // Whoever gives it up from now on is heard.
            notified.as_mut().enable();
            if self.is_given_up(call) {
                return;
            }
            notified.await;
        }
    }

    /// Whether a call that is not forwarded yet is still open: its client has neither given it up nor left for good.
    fn is_open(&self, call: &Id) -> bool {
        !self.is_given_up(call) && self.to_client.is_waited_for(call)
    }

    fn is_given_up(&self, call: &Id) -> bool {
        matches!(lock(&self.calls).get(call), Some(Stage::Admitting { is_cancelled: true }))
    }
}
