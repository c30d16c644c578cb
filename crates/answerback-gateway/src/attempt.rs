//! Counting attempts: the states lie in the store, or in memory where there is none.

use answerback::case::Case;
use answerback::judge::{Heard, Judged};
use answerback::retry::{
    Call, Context, Event, HideSecrets, Outcome, Policy, RetryKey, Sent, State, Turn, step,
};
use answerback::{Timestamp, ValidationError};
use answerback_store::{StoreError, Transaction};
use serde_json::Value;

/// A judged call that owns everything by which it is counted, so that a unit of work can hold it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) key: RetryKey,
    tool: String,
    call_id: String,
    arguments: Heard,
    shown: Option<Value>,
    pub(crate) findings: Vec<ValidationError>,
    unchecked: bool,
    turn: Turn,
    pub(crate) policy: Policy,
    correlation_id: String,
    random: [u8; 10],
}

impl Attempt {
    pub(crate) fn of(
        judged: &Judged<'_>,
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
            shown: call.shown.cloned(),
            findings: judged.findings.clone(),
            unchecked: judged.unchecked.is_some(),
            turn,
            policy: judged.settings().retry,
            correlation_id: correlation_id.to_owned(),
            random,
        }
    }

    pub(crate) fn call<'a>(&'a self, record: Option<&'a str>) -> Call<'a> {
        let arguments = match &self.arguments {
            Heard::Value(value) => Sent::Value(value),
            Heard::Text(text) => Sent::Text(text),
        };
        let mut call = Call::new(&self.tool, &self.call_id, arguments, &self.findings, self.random)
            .with_turn(self.turn)
            .with_unchecked(self.unchecked)
            .with_correlation_id(&self.correlation_id);
        call.shown = self.shown.as_ref();
        call.record = record;
        call
    }

    fn step(
        &self,
        state: Option<State>,
        record: Option<&str>,
        now: Timestamp,
    ) -> answerback::retry::Step {
        let context = Context::new(&self.policy, &HideSecrets, now);
        step(state, Event::Call(self.call(record)), &context)
    }

    /// Counts the call within a transaction. `record` is told what became of it and writes the entry of it, whose
    /// reference goes into the state, so that erasing the entry takes the state along.
    pub(crate) fn count<T>(
        &self,
        transaction: &mut dyn Transaction,
        record: impl FnOnce(&mut dyn Transaction, &Outcome) -> Result<(T, String), StoreError>,
    ) -> Result<(Outcome, T), StoreError> {
        let kept = transaction.attempt(&self.key)?;
        let now = transaction.now();
        let (state, revision) = match kept {
            Some(kept) => (Some(kept.state), Some(kept.revision)),
            None => (None, None),
        };
        let first = self.step(state.clone(), None, now);
        let (recorded, reference) = record(transaction, &first.outcome)?;
        // The rule is a pure one: with the same input it says the same, and now the entry is known.
        let step = if state.is_none() && first.state.is_some() {
            self.step(state.clone(), Some(&reference), now)
        } else {
            first
        };
        if step.state != state
            && !transaction.swap_attempt(&self.key, revision, step.state.as_ref())?
        {
            return Err(StoreError::Damaged("a retry state changed under the lock".into()));
        }
        Ok((step.outcome, recorded))
    }

    /// The case of a new escalation.
    pub(crate) fn case(&self, outcome: &Outcome, now: Timestamp) -> Option<(Case, Vec<u8>)> {
        let Outcome::Blocked(blocked) = outcome else { return None };
        if !blocked.is_new {
            return None;
        }
        let lasts = i64::from(self.policy.blocked_seconds) * 1000;
        let expires = Timestamp::from_unix_millis(now.unix_millis() + lasts);
        let content = serde_json::to_vec(&blocked.escalation).unwrap_or_default();
        Some((blocked.escalation.case(expires), content))
    }
}
