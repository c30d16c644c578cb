//! Counts attempts. Their states are in the store, or in memory if there is no store.

use answerback::case::Case;
use answerback::checker::{CheckedCall, ParsedArguments};
use answerback::retry::{
    AttemptOutcome, Context, HideSecrets, Permit, RetryEvent, RetryKey, RetryPolicy, RetryState,
    Sent, TrackedCall, Turn, step,
};
use answerback::{Timestamp, ValidationError};
use answerback_ledger::{Draft, LeafToken};
use answerback_store::{StoreError, Transaction};
use serde_json::Value;

use crate::call_facts::with_outcome;
use crate::redaction_marks::RedactedArguments;

/// Holds a checked call with everything that counts the attempt. It owns its data, because it is moved into a
/// transaction.
#[derive(Clone, Debug)]
pub(crate) struct AttemptInput {
    pub(crate) key: RetryKey,
    tool: String,
    call_id: String,
    arguments: ParsedArguments,
    redacted: Option<Value>,
    findings: Vec<ValidationError>,
    unchecked: bool,
    is_unknown_tool: bool,
    turn: Turn,
    pub(crate) policy: RetryPolicy,
    correlation_id: String,
    random: [u8; 10],
    /// The permit of a person who corrected the arguments.
    permit: Option<Permit>,
    /// The input schema, if the arguments are invalid. A person's correction is checked against it.
    pub(crate) schema: Option<Value>,
}

impl AttemptInput {
    pub(crate) fn of(
        judged: &CheckedCall<'_>,
        turn: Turn,
        correlation_id: &str,
        random: [u8; 10],
    ) -> Self {
        let call = judged.call(random);
        Self {
            key: judged.key().clone(),
            tool: judged.tool.clone(),
            call_id: judged.tool_call_id.clone(),
            arguments: judged.arguments.clone(),
            redacted: call.displayed_arguments.cloned(),
            findings: judged.findings.clone(),
            unchecked: judged.unchecked.is_some(),
            is_unknown_tool: judged.is_unknown_tool(),
            turn,
            policy: judged.settings().retry,
            correlation_id: correlation_id.to_owned(),
            random,
            permit: None,
            schema: judged
                .schema()
                .filter(|_| !judged.is_valid())
                .map(|schema| schema.source().clone()),
        }
    }

    /// Sets the permit for arguments that a person corrected. This attempt uses it up.
    pub(crate) fn with_permit(mut self, permit: Option<Permit>) -> Self {
        self.permit = permit;
        self
    }

    /// Returns the original arguments if parts of them are hidden from people.
    pub(crate) fn redacted_arguments(&self) -> Option<RedactedArguments> {
        let ParsedArguments::Value(sent) = &self.arguments else { return None };
        RedactedArguments::of(sent, self.redacted.as_ref())
    }

    pub(crate) fn call<'a>(&'a self, record: Option<&'a str>) -> TrackedCall<'a> {
        let arguments = match &self.arguments {
            ParsedArguments::Value(value) => Sent::Value(value),
            ParsedArguments::Text(text) => Sent::Text(text),
        };
        let mut call =
            TrackedCall::new(&self.tool, &self.call_id, arguments, &self.findings, self.random)
                .with_turn(self.turn)
                .with_unchecked(self.unchecked)
                .with_unknown_tool(self.is_unknown_tool)
                .with_correlation_id(&self.correlation_id);
        call.displayed_arguments = self.redacted.as_ref();
        call.record = record;
        call
    }

    fn step(
        &self,
        state: Option<RetryState>,
        record: Option<&str>,
        now: Timestamp,
    ) -> answerback::retry::RetryStep {
        let context = Context::new(&self.policy, &HideSecrets, now);
        step(state, RetryEvent::Call(self.call(record)), &context)
    }

    /// Counts the call within a transaction. The `record` callback receives the outcome and writes its entry. The
    /// state refers to that entry, so that erasing the entry also erases the state.
    pub(crate) fn count<T>(
        &self,
        transaction: &mut dyn Transaction,
        record: impl FnOnce(&mut dyn Transaction, &AttemptOutcome) -> Result<(T, String), StoreError>,
    ) -> Result<(AttemptOutcome, T), StoreError> {
        let stored = transaction.retry_state(&self.key)?;
        let now = transaction.now();
        let (previous, revision) = match stored {
            Some(stored) => (Some(stored.state), Some(stored.revision)),
            None => (None, None),
        };
        let state = self.take_permit(previous.clone())?;
        let first = self.step(state.clone(), None, now);
        let (recorded, reference) = record(transaction, &first.outcome)?;
        // `step` is a pure function, so repeating it with the entry's reference gives the same outcome.
        let step = if state.is_none() && first.state.is_some() {
            self.step(state.clone(), Some(&reference), now)
        } else {
            first
        };
        if step.state != previous {
            if !transaction.replace_retry_state(&self.key, revision, step.state.as_ref())? {
                return Err(StoreError::Damaged("a retry state changed under the lock".into()));
            }
            transaction.add_attempt_source(&self.key, &reference)?;
        }
        Ok((step.outcome, recorded))
    }

    /// Returns the state without the permit that this attempt uses. If two calls found the same permit, only the
    /// first one may use it.
    fn take_permit(&self, state: Option<RetryState>) -> Result<Option<RetryState>, StoreError> {
        match (&self.permit, state) {
            (None, state) => Ok(state),
            (Some(permit), Some(state)) if state.permit() == Some(permit) => {
                Ok(Some(state.without_permit()))
            }
            (Some(_), _) => Err(StoreError::unit("what a person corrected has run already")),
        }
    }

    /// Builds the entry for a call that was checked but not forwarded.
    pub(crate) fn entry(&self, outcome: &AttemptOutcome) -> Draft {
        let codes = self.findings.iter().filter(|finding| finding.is_error());
        let codes = codes.filter_map(|finding| LeafToken::new(&finding.error_code).ok());
        let max_attempts = self.policy.max_attempts();
        let (attempt, max_attempts, outcome_name) = match outcome {
            AttemptOutcome::Proceed(proceed) => {
                let attempt = proceed.failed_attempts.saturating_add(1).min(max_attempts);
                let outcome_name = match (proceed.waived, &self.permit) {
                    (true, _) => "waived",
                    (false, Some(_)) => "corrected",
                    (false, None) => "ok",
                };
                (attempt, max_attempts, outcome_name)
            }
            AttemptOutcome::Retry(retry) => (retry.attempt, retry.max_attempts, "retry"),
            AttemptOutcome::Blocked(blocked) => (blocked.attempt, blocked.max_attempts, "blocked"),
            _ => (max_attempts, max_attempts, "stopped"),
        };
        with_outcome(Draft::validation(attempt, max_attempts).with_codes(codes), outcome_name)
    }

    /// Returns the case and its content if the outcome is a new escalation.
    pub(crate) fn case(&self, outcome: &AttemptOutcome, now: Timestamp) -> Option<(Case, Vec<u8>)> {
        let AttemptOutcome::Blocked(blocked) = outcome else { return None };
        if !blocked.is_new {
            return None;
        }
        let millis = i64::from(self.policy.blocked_seconds) * 1000;
        let expires = Timestamp::from_unix_millis(now.unix_millis() + millis);
        let content = serde_json::to_vec(&blocked.escalation).unwrap_or_default();
        Some((blocked.escalation.case(expires), content))
    }
}
