//! Counts an attempt and records it with its response, in one transaction.

use std::sync::{Arc, PoisonError};

use answerback::checker::CheckedCall;
use answerback::retry::{AttemptOutcome, Context, HideSecrets, Permit, observe};
use answerback_ledger::{Draft, Part};
use answerback_mcp::wire::Message;
use answerback_store::{AppendedEntry, StoreError, entry_reference};
use serde_json::Value;

use super::escalate::OpenCase;
use super::record::{attempt_entry, request_parts};
use super::reject::{Rejection, not_recorded};
use super::{AttemptInput, CallContext};
use crate::call_facts::CallFacts;
use crate::case_decision::resolve_by_model;
use crate::gateway_reply::{GatewayReply, invalid_call};
use crate::{Client, Gateway, Recorder, Upstream};

/// Counts the attempt of one call.
#[derive(Clone, Copy)]
pub(super) struct CountStep<'a, 'c> {
    pub(super) gateway: &'a Gateway,
    pub(super) client: &'a Client,
    pub(super) upstream: &'a Upstream,
    pub(super) context: &'c CallContext,
    pub(super) random: [u8; 10],
}

/// Holds a counted attempt and its outcome.
pub(super) struct AttemptResult {
    pub(super) attempt: AttemptInput,
    /// The message with repaired or corrected arguments, if they replace the original ones.
    pub(super) changed_message: Option<Message>,
    pub(super) outcome: AttemptOutcome,
    /// The response to the client, if the call does not run.
    pub(super) reply: Option<GatewayReply>,
    /// The receipt of the entry, if there is one.
    pub(super) receipt: Option<Value>,
}

/// Holds a checked call that is ready to be counted.
struct CountInput {
    attempt: AttemptInput,
    changed_message: Option<Message>,
    rejection: Arc<Rejection>,
}

impl CountInput {
    fn into_result(
        self,
        outcome: AttemptOutcome,
        reply: Option<GatewayReply>,
        receipt: Option<Value>,
    ) -> AttemptResult {
        let Self { attempt, changed_message, .. } = self;
        AttemptResult { attempt, changed_message, outcome, reply, receipt }
    }

    fn into_unrecorded_result(self, outcome: AttemptOutcome) -> AttemptResult {
        let reply = self.rejection.reply_to(&outcome, false);
        self.into_result(outcome, reply, None)
    }
}

impl CountStep<'_, '_> {
    /// Counts a call with a person's permit. Returns `None` if another call used the permit first. The error is
    /// the response to a call that could not be counted.
    pub(super) async fn count_correction(
        self,
        recorder: &Recorder,
        judged: &CheckedCall<'_>,
        permit: Permit,
    ) -> Result<Option<AttemptResult>, Message> {
        let input = self.prepare(judged, Some(permit))?;
        match self.record_attempt(recorder, &input).await {
            Ok((outcome, reply, receipt)) => {
                Ok(Some(input.into_result(outcome, reply, Some(receipt))))
            }
            Err(StoreError::Unit(_)) => Ok(None),
            Err(error) => Err(match recorder.store().apply_failure_policy(error) {
                // Without a record, arguments that a person allowed once could run again.
                Ok(()) => not_recorded(&self.context.replies, "what a person corrected runs once"),
                Err(error) => not_recorded(&self.context.replies, error),
            }),
        }
    }

    /// Counts a call as it was received. The error is the response to a call that could not be counted.
    pub(super) async fn count(self, judged: &CheckedCall<'_>) -> Result<AttemptResult, Message> {
        let input = self.prepare(judged, None)?;
        let Some(recorder) = &self.gateway.recorder else {
            let (attempt, now) = (&input.attempt, answerback_store::system::now());
            let outcome = self.gateway.tracker.call(&attempt.key, &attempt.call(None), now);
            return Ok(input.into_unrecorded_result(outcome));
        };
        match self.record_attempt(recorder, &input).await {
            Ok((outcome, reply, receipt)) => Ok(input.into_result(outcome, reply, Some(receipt))),
            Err(error) => match recorder.store().apply_failure_policy(error) {
                // The configuration allows unrecorded calls. The result of the check still applies.
                Ok(()) => {
                    let now = answerback_store::system::now();
                    let outcome = judged.as_attempt(1, now, self.random);
                    Ok(input.into_unrecorded_result(outcome))
                }
                Err(error) => Err(not_recorded(&self.context.replies, error)),
            },
        }
    }

    /// Prepares the attempt to count and the message to forward.
    fn prepare(
        self,
        judged: &CheckedCall<'_>,
        permit: Option<Permit>,
    ) -> Result<CountInput, Message> {
        let (request, replies) = (&self.context.request, &self.context.replies);
        let failed_calls =
            request.failed_calls_before.unwrap_or_else(|| self.client.failed_calls());
        let attempt = AttemptInput::of(
            judged,
            self.client.turn(failed_calls),
            replies.correlation_id.as_str(),
            self.random,
        );
        let is_changed = judged.is_valid() && judged.repair.is_some() || permit.is_some();
        let changed = judged.arguments.value().filter(|_| is_changed);
        let changed_message = changed
            .map(|arguments| request.with_arguments(arguments))
            .transpose()
            .map_err(|error| invalid_call(request, &error.to_string()))?;
        Ok(CountInput {
            attempt: attempt.with_permit(permit),
            changed_message,
            rejection: Arc::new(Rejection::new(self.gateway, self.context, judged)),
        })
    }

    /// Counts the attempt and records it with its response. Returns the outcome, the response and the receipt.
    async fn record_attempt(
        self,
        recorder: &Recorder,
        input: &CountInput,
    ) -> Result<(AttemptOutcome, Option<GatewayReply>, Value), StoreError> {
        let (request, facts) = (&self.context.request, &self.context.replies.facts);
        let hide = self.upstream.tools.secret_schema(&request.name);
        let transaction = AttemptTransaction {
            attempt: input.attempt.clone(),
            facts: facts.clone(),
            parts: request_parts(recorder, request, input.changed_message.as_ref(), hide)?,
            is_for_program: false,
            entry: attempt_entry,
        };
        let rejection = Arc::clone(&input.rejection);
        let answer = move |outcome: &AttemptOutcome| {
            let reply = rejection.reply_to(outcome, true);
            (reply.as_ref().map(|reply| reply.document().to_owned()), reply)
        };
        let RecordedAttempt { outcome, answer, appended } =
            transaction.run(recorder, answer).await?;
        let receipt = recorder.receipt(&appended, &facts.id.to_string());
        Ok((outcome, answer, receipt))
    }
}

impl Gateway {
    /// Logs the outcome of an attempt and adds it to the counts.
    pub(crate) fn observe(&self, attempt: &AttemptInput, outcome: &AttemptOutcome) {
        let now = answerback_store::system::now();
        let context = Context::new(&attempt.policy, &HideSecrets, now);
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        observe(&attempt.call(None), outcome, &context, &mut tally);
    }
}

/// Holds an attempt with the content of its entry. It owns its data, because it is moved into a transaction.
pub(crate) struct AttemptTransaction {
    pub(crate) attempt: AttemptInput,
    pub(crate) facts: CallFacts,
    /// The parts of the entry that hold the received call.
    pub(crate) parts: Vec<Part>,
    /// True if a program waits for the person's decision. Otherwise the model receives it with a later call.
    pub(crate) is_for_program: bool,
    /// Builds the entry from the outcome.
    pub(crate) entry: fn(&AttemptInput, &AttemptOutcome) -> Draft,
}

/// Holds the outcome of a recorded attempt.
pub(crate) struct RecordedAttempt<T> {
    pub(crate) outcome: AttemptOutcome,
    /// The response.
    pub(crate) answer: T,
    /// The place of the entry in the ledger.
    pub(crate) appended: AppendedEntry,
}

impl AttemptTransaction {
    /// Counts the attempt. `answer` returns the response to an outcome, as the ledger stores it and as a value.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        recorder: &Recorder,
        answer: impl Fn(&AttemptOutcome) -> (Option<String>, T) + Send + 'static,
    ) -> Result<RecordedAttempt<T>, StoreError> {
        let weight = self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 8192;
        let writer = recorder.clone();
        let ticket = recorder.store().write_weighing(weight, move |transaction| {
            let Self { attempt, facts, parts, is_for_program, entry } = &self;
            attempt.count(transaction, |transaction, outcome| {
                let draft = facts.add_to(entry(attempt, outcome));
                let mut draft = parts.iter().cloned().fold(draft, Draft::with_part);
                let (delivered, answer) = answer(outcome);
                if let Some(delivered) = delivered {
                    let delivered = writer.redacted_parts("delivered", &delivered, None)?;
                    draft = delivered.into_iter().fold(draft, Draft::with_part);
                }
                let appended = transaction.append(&draft)?;
                let reference = entry_reference(appended.index);
                let (cipher, is_for_program) = (writer.cipher(), *is_for_program);
                let cipher = cipher.as_deref();
                let case = OpenCase { attempt, facts, is_for_program, cipher };
                case.open(transaction, outcome, &reference)?;
                if let AttemptOutcome::Proceed(proceed) = outcome
                    && let Some(case) = &proceed.resolved
                {
                    resolve_by_model(transaction, &writer, case)?;
                }
                Ok(((appended, answer), reference))
            })
        })?;
        let (outcome, (appended, answer)) = ticket.await?.value;
        Ok(RecordedAttempt { outcome, answer, appended })
    }
}
