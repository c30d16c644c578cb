use answerback_json::{Digest, Timestamp, UuidV7};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::correction::{CorrectedArguments, TOO_LONG};
use super::fingerprint::Fingerprint;
use super::redactor::bounded;
use super::{Attempt, Context, Escalation, Permit, Redactor, Sent, TrackedCall};

/// Room for the preview of the original call, in bytes of JSON.
const PREVIEW_BYTES: usize = 2048;
/// Room for the preview of the call that a person is asked about, in bytes of JSON.
const LAST_BYTES: usize = 1024;
/// Room for the name of a tool, in bytes of JSON.
const TOOL_BYTES: usize = 128;
/// Room for an id or a reference of the caller's, in bytes of JSON.
const REFERENCE_BYTES: usize = 128;
/// Room for a person's words to the model, in bytes of JSON.
const GUIDANCE_BYTES: usize = 1024;

/// All that is remembered of a key, in one value that stays under [`RetryState::MAX_BYTES`] as JSON.
///
/// Its owner loads it, calls [`super::step()`] and stores the result, if the state is unchanged. A key
/// without a state has no history.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub struct RetryState {
    #[serde(rename = "v")]
    version: Version,
    tool: String,
    phase: RetryPhase,
    attempts: Vec<Attempt>,
    original: OriginalCall,
    /// The call that a person is asked about, where it is another than the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Box<OriginalCall>>,
    /// True if the model has the reply to the last attempt.
    answered: bool,
    /// Calls that a person let run once although they fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waived: Vec<Fingerprint>,
    /// A person's words for the model, said once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guidance: Option<String>,
    /// A person's corrected arguments, as sent to the model, until a call has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correction: Option<CorrectedArguments>,
    /// A person's corrected arguments, which run once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permit: Option<Permit>,
    /// When it is forgotten, in milliseconds since 1970.
    expires: i64,
}

/// The layout of a stored state. Another number is another layout, and not ours to read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "u8", into = "u8")]
struct Version;

impl From<Version> for u8 {
    fn from(_: Version) -> Self {
        RetryState::VERSION
    }
}

impl TryFrom<u8> for Version {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number == RetryState::VERSION {
            Ok(Self)
        } else {
            Err(format!(
                "a retry state of version {number}; this program reads {}",
                RetryState::VERSION
            ))
        }
    }
}

/// The phase that a key is in.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RetryPhase {
    /// The model may try again.
    Open,
    /// A person is asked.
    Blocked {
        /// The escalation's id.
        case: UuidV7,
    },
    /// A person said no.
    Stopped {
        /// Why.
        reason: Option<String>,
    },
}

/// A call that failed, as a person may see it: the first, or the one that they are asked about.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OriginalCall {
    /// The id of that call.
    pub tool_call_id: String,
    /// Its arguments: redacted, on one line, at most 2 KB of the first call and 1 KB of another.
    pub arguments: String,
    /// The digest of its arguments, whole and as sent.
    pub digest: Digest,
    /// The location of its record, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

impl OriginalCall {
    fn of(call: &TrackedCall<'_>, digest: Digest, redactor: &dyn Redactor, room: usize) -> Self {
        let shown = match (call.displayed_arguments, call.arguments) {
            (Some(value), _) | (None, Sent::Value(value)) => redactor.value(value).to_string(),
            (None, Sent::Text(text)) => redactor.text(&answerback_redaction::redact_cut(text)),
        };
        Self {
            tool_call_id: bounded(redactor.text(call.tool_call_id), REFERENCE_BYTES),
            arguments: bounded(shown, room),
            digest,
            record: call.record.map(|record| bounded(record, REFERENCE_BYTES)),
        }
    }
}

impl RetryState {
    /// The version of this layout.
    pub const VERSION: u8 = 1;

    /// Every state is shorter than this as JSON, whatever a model sends; a [`Permit`], which a person's decision
    /// leaves and the next valid call takes away, comes on top.
    pub const MAX_BYTES: usize = 10_000;

    /// Returns the number of failed attempts.
    pub fn attempt_count(&self) -> u8 {
        u8::try_from(self.attempts.len()).unwrap_or(u8::MAX)
    }

    /// The attempts that failed, oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The first call that failed.
    pub fn original_call(&self) -> &OriginalCall {
        &self.original
    }

    /// The call that a person is asked about, where it is another than the first.
    pub fn last_call(&self) -> Option<&OriginalCall> {
        self.last.as_deref()
    }

    /// The tool, in at most 128 bytes.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns true if a person is deciding, or rejected the calls.
    pub fn is_blocked(&self) -> bool {
        !matches!(self.phase, RetryPhase::Open)
    }

    /// When the key is forgotten.
    pub fn expires(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    /// The same in milliseconds since 1970.
    pub(super) fn expires_millis(&self) -> i64 {
        self.expires
    }

    /// Returns true if the key expired and can be deleted.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now.unix_millis() >= self.expires
    }

    /// Returns the question for a person, if one is open. Equal states give equal records, so the digest
    /// stays valid.
    pub fn escalation(&self) -> Option<Escalation> {
        match &self.phase {
            RetryPhase::Blocked { case } => Some(Escalation::new(case.clone(), self)),
            RetryPhase::Open | RetryPhase::Stopped { .. } => None,
        }
    }

    /// Returns a person's arguments, which run when the model sends them as it received them.
    pub fn permit(&self) -> Option<&Permit> {
        self.permit.as_ref()
    }

    /// Keeps arguments that a person corrected.
    #[must_use]
    pub fn with_permit(mut self, permit: Permit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Removes the permit. A permit is used once, and the model does not need a message about what ran.
    #[must_use]
    pub fn without_permit(mut self) -> Self {
        self.forget_correction();
        self
    }

    fn forget_correction(&mut self) {
        self.permit = None;
        self.correction = None;
    }

    pub(super) fn open(call: &TrackedCall<'_>, digest: Digest, redactor: &dyn Redactor) -> Self {
        Self {
            version: Version,
            tool: bounded(redactor.text(call.tool), TOOL_BYTES),
            phase: RetryPhase::Open,
            attempts: Vec::new(),
            original: OriginalCall::of(call, digest, redactor, PREVIEW_BYTES),
            last: None,
            answered: false,
            waived: Vec::new(),
            guidance: None,
            correction: None,
            permit: None,
            expires: i64::MAX,
        }
    }

    /// The state of a key whose attempts failed elsewhere: how many is all that is known of them.
    /// Nothing, when there were none.
    pub fn after(attempts: u8, call: &TrackedCall<'_>, context: &Context<'_>) -> Option<Self> {
        let mut state = Self::open(call, call.arguments.digest(), context.redactor);
        let at_millis = context.now.unix_millis();
        state.attempts = (0..attempts).map(|_| Attempt::unknown(at_millis)).collect();
        state.answered = true;
        state.keep(context.now, context.policy.idle_seconds);
        (attempts > 0).then_some(state)
    }

    pub(super) fn phase(&self) -> &RetryPhase {
        &self.phase
    }

    /// Keeps the key for this long from now.
    pub(super) fn keep(&mut self, now: Timestamp, seconds: u32) {
        self.expires = now.unix_millis().saturating_add(i64::from(seconds) * 1000);
    }

    /// Keeps the key until then.
    pub(super) fn keep_until(&mut self, until: Timestamp) {
        self.expires = until.unix_millis();
    }

    /// The answer to the last attempt reached the model. Says whether that was news.
    pub(super) fn answer(&mut self) -> bool {
        !std::mem::replace(&mut self.answered, true)
    }

    /// The attempt that a failing call belongs to, if it does not open one of its own.
    pub(super) fn shared_attempt(&self, call: &TrackedCall<'_>) -> Option<usize> {
        /// More calls than this in one turn are not parallel calls, but a caller that never says
        /// that an answer was delivered; the model must not loop for ever because of it.
        const MOST_PARALLEL: u16 = 32;
        if call.turn.is_some() {
            return self.attempts.iter().rposition(|attempt| attempt.turn == call.turn);
        }
        let last = self.attempts.last()?;
        let shares = !self.answered && last.calls < MOST_PARALLEL;
        shares.then(|| self.attempts.len() - 1)
    }

    pub(super) fn push(&mut self, attempt: Attempt) {
        self.attempts.reserve_exact(1);
        self.attempts.push(attempt);
        self.answered = false;
    }

    pub(super) fn attempt_mut(&mut self, index: usize) -> Option<&mut Attempt> {
        self.attempts.get_mut(index)
    }

    /// Asks a person, about this call.
    pub(super) fn block(
        &mut self,
        case: UuidV7,
        call: &TrackedCall<'_>,
        digest: Digest,
        redactor: &dyn Redactor,
    ) {
        self.phase = RetryPhase::Blocked { case };
        self.forget_correction();
        let is_another = digest != self.original.digest;
        let shown = || Box::new(OriginalCall::of(call, digest, redactor, LAST_BYTES));
        self.last = is_another.then(shown);
    }

    pub(super) fn stop(&mut self, reason: Option<&str>, redactor: &dyn Redactor) {
        let reason = reason.map(|reason| bounded(redactor.text(reason), GUIDANCE_BYTES));
        self.phase = RetryPhase::Stopped { reason };
        self.forget_correction();
        // What a stopped key did no longer matters, and the reason needs the room.
        self.attempts.clear();
        self.last = None;
    }

    /// Lets the calls that the person saw run once: the first one, and the one that caused the escalation.
    /// The person did not see other parallel calls.
    pub(super) fn waive(&mut self) {
        let seen = std::iter::once(&self.original).chain(self.last.as_deref());
        self.waived = seen.map(|call| Fingerprint::from(call.digest)).collect();
    }

    pub(super) fn is_waived(&self, call: &TrackedCall<'_>) -> bool {
        !self.waived.is_empty() && self.waived.contains(&Fingerprint::of_call(call.arguments))
    }

    /// Gives the model a full set of attempts again, with a person's words if there are any.
    pub(super) fn reopen(&mut self, guidance: Option<&str>) {
        self.phase = RetryPhase::Open;
        self.attempts.clear();
        self.last = None;
        self.answered = true;
        self.forget_correction();
        self.guidance = guidance.map(|guidance| bounded(guidance, GUIDANCE_BYTES));
    }

    /// The same with the arguments that the person wants to see.
    pub(super) fn reopen_corrected(&mut self, arguments: &Value, redactor: &dyn Redactor) {
        let correction = CorrectedArguments::of(arguments, redactor);
        self.reopen(correction.is_none().then_some(TOO_LONG));
        self.correction = correction;
    }

    /// The person's arguments, where they are not used up.
    pub(super) fn correction(&self) -> Option<&CorrectedArguments> {
        self.correction.as_ref()
    }

    /// Returns true if the model gets less than what runs.
    pub(super) fn hides(&self) -> bool {
        self.permit.as_ref().is_some_and(Permit::hides)
    }

    /// A person's words, to be said now. They are said once, which also keeps the state small.
    pub(super) fn take_guidance(&mut self) -> Option<String> {
        self.guidance.take()
    }
}
