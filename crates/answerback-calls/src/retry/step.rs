use answerback_json::{Timestamp, UuidV7};

use super::fingerprint::Prints;
use super::history::{Attempt, AttemptSpace, repetition};
use super::state::RetryPhase;
use super::{
    AttemptOutcome, Blocked, Proceed, Redactor, Repetition, Retry, RetryEvent, RetryPolicy,
    RetryState, TrackedCall, WhileBlocked,
};
use crate::case::Decision;

/// The settings and the time of a step.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// The limit on attempts.
    pub policy: &'a RetryPolicy,
    /// Redacts secrets in everything that is stored.
    pub redactor: &'a dyn Redactor,
    /// The time.
    pub now: Timestamp,
}

impl<'a> Context<'a> {
    /// The context of one step.
    pub fn new(policy: &'a RetryPolicy, redactor: &'a dyn Redactor, now: Timestamp) -> Self {
        Self { policy, redactor, now }
    }
}

/// The result of a step: what to remember, and what to do.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RetryStep {
    /// The new state, or nothing when there is nothing left to remember.
    pub state: Option<RetryState>,
    /// The action to take.
    pub outcome: AttemptOutcome,
}

impl RetryStep {
    fn new(state: impl Into<Option<RetryState>>, outcome: AttemptOutcome) -> Self {
        Self { state: state.into(), outcome }
    }
}

/// Takes a key from one state to the next. The same state, event and context give the same step.
///
/// - The first failing call opens a key, a valid one closes it. Successes are never counted.
/// - Failing calls of one turn are one attempt; the last allowed attempt is recorded and blocks the key.
/// - A blocked key answers every failing call with its escalation until a person decides or its time is up. A valid call
///   runs and closes the key, unless the policy blocks valid calls too.
/// - A call with warnings only, and one whose tool has no usable schema, costs nothing.
///
/// ```
/// use answerback_calls::retry::{TrackedCall, Context, RetryEvent, HideSecrets, AttemptOutcome, RetryPolicy, step};
/// use answerback_findings::{Severity, ValidationError};
/// use answerback_json::Timestamp;
///
/// let policy = RetryPolicy::from(2);
/// let context = Context::new(&policy, &HideSecrets, Timestamp::from_unix_millis(0));
/// let arguments = serde_json::json!({});
/// let findings = [ValidationError::new("VAL-001", Severity::Error)];
/// let call = |turn| RetryEvent::Call(TrackedCall::new("read_file", "c1", &arguments, &findings, [7; 10]).with_turn(turn));
///
/// let first = step(None, call(1_u64), &context);
/// assert!(matches!(&first.outcome, AttemptOutcome::Retry(retry) if retry.attempt == 1));
/// let second = step(first.state, call(2), &context);
/// assert!(matches!(&second.outcome, AttemptOutcome::Blocked(blocked) if blocked.is_new));
/// ```
pub fn step(state: Option<RetryState>, event: RetryEvent<'_>, context: &Context<'_>) -> RetryStep {
    let state = state.filter(|state| !state.is_expired(context.now));
    match event {
        RetryEvent::Call(call) => on_call(state, &call, context),
        RetryEvent::Delivered => on_delivery(state),
        RetryEvent::Decision { case, decision } => on_decision(state, case, decision, context),
    }
}

fn on_call(state: Option<RetryState>, call: &TrackedCall<'_>, context: &Context<'_>) -> RetryStep {
    let Some(mut state) = state else {
        return if call.is_failing() {
            on_failure(None, call, context)
        } else {
            RetryStep::new(None, AttemptOutcome::Proceed(Proceed::default()))
        };
    };
    match state.phase() {
        RetryPhase::Stopped { reason } => {
            let reason = reason.clone();
            RetryStep::new(state, AttemptOutcome::Stopped { reason })
        }
        RetryPhase::Blocked { case } => {
            let may_pass = context.policy.while_blocked == WhileBlocked::AllowValid;
            match (may_pass && !call.is_failing(), call.unchecked) {
                (false, _) => blocked(state, context, false, Repetition::None),
                // An unchecked call does not show that the model can make a valid one.
                (true, true) => RetryStep::new(state, AttemptOutcome::Proceed(Proceed::default())),
                (true, false) => {
                    let (failed_attempts, resolved) = (state.attempt_count(), Some(case.clone()));
                    let proceed = Proceed { failed_attempts, resolved, ..Proceed::default() };
                    RetryStep::new(None, AttemptOutcome::Proceed(proceed))
                }
            }
        }
        RetryPhase::Open if call.is_failing() && !state.is_waived(call) => {
            on_failure(Some(state), call, context)
        }
        RetryPhase::Open => {
            let proceed = Proceed {
                waived: call.is_failing(),
                failed_attempts: state.attempt_count(),
                guidance: state.take_guidance(),
                correction: state.correction().and_then(|it| it.result_note(call)),
                resolved: None,
            };
            // An unchecked call does not show whether the model corrected its mistake.
            let kept = call.unchecked.then_some(state);
            RetryStep::new(kept, AttemptOutcome::Proceed(proceed))
        }
    }
}

fn on_failure(
    state: Option<RetryState>,
    call: &TrackedCall<'_>,
    context: &Context<'_>,
) -> RetryStep {
    let policy = context.policy;
    let prints = Prints::of(call);
    let mut state =
        state.unwrap_or_else(|| RetryState::open(call, prints.digest, context.redactor));
    let shared = state.shared_attempt(call);
    let index = shared.unwrap_or(state.attempts().len());
    let earlier = &state.attempts()[..index];
    let repetition = repetition(&prints, earlier);
    let previous = earlier.last().map(|attempt| attempt.errors.clone()).unwrap_or_default();
    let previous_is_cut = earlier.last().is_some_and(|attempt| attempt.omitted > 0);
    let others = state.attempts().iter().enumerate().filter(|(other, _)| *other != index);
    let others = others.map(|(_, attempt)| attempt);
    let remaining = usize::from(policy.max_attempts()).saturating_sub(others.clone().count());
    let room = AttemptSpace::remaining(others, remaining);
    if shared.is_some() {
        if let Some(attempt) = state.attempt_mut(index) {
            attempt.join(call, &prints, room, context.redactor);
        }
    } else {
        let at_millis = context.now.unix_millis();
        state.push(Attempt::open(call, &prints, room, at_millis, context.redactor));
    }
    let guidance = state.take_guidance();
    let correction = state.correction();
    let correction = correction.map(|it| it.instead_of_message(state.tool(), state.hides()));
    let circles = policy.escalate_on_repetition && repetition != Repetition::None;
    if circles || state.attempt_count() >= policy.max_attempts() {
        let case = UuidV7::from_time(context.now, call.random);
        state.block(case, call, prints.digest, context.redactor);
        state.keep(context.now, policy.blocked_seconds);
        return blocked(state, context, true, repetition);
    }
    state.keep(context.now, policy.idle_seconds);
    let attempt = u8::try_from(index + 1).unwrap_or(u8::MAX);
    let max_attempts = policy.max_attempts();
    let is_new = shared.is_none();
    let retry = Retry {
        attempt,
        max_attempts,
        is_new,
        repetition,
        previous,
        previous_is_cut,
        guidance,
        correction,
    };
    RetryStep::new(state, AttemptOutcome::Retry(retry))
}

/// The answer of a blocked key.
fn blocked(
    state: RetryState,
    context: &Context<'_>,
    is_new: bool,
    repetition: Repetition,
) -> RetryStep {
    let Some(escalation) = state.escalation() else {
        return RetryStep::new(state, AttemptOutcome::Ignored);
    };
    let outcome = AttemptOutcome::Blocked(Blocked {
        escalation: Box::new(escalation),
        attempt: state.attempt_count(),
        max_attempts: context.policy.max_attempts(),
        allows_valid: context.policy.while_blocked == WhileBlocked::AllowValid,
        is_new,
        repetition,
    });
    RetryStep::new(state, outcome)
}

fn on_delivery(mut state: Option<RetryState>) -> RetryStep {
    let is_news = state.as_mut().is_some_and(RetryState::answer);
    RetryStep::new(state, if is_news { AttemptOutcome::Applied } else { AttemptOutcome::Ignored })
}

fn on_decision(
    state: Option<RetryState>,
    case: &UuidV7,
    decision: &Decision,
    context: &Context<'_>,
) -> RetryStep {
    let Some(mut state) = state else { return RetryStep::new(None, AttemptOutcome::Ignored) };
    if !matches!(state.phase(), RetryPhase::Blocked { case: asked } if asked == case) {
        return RetryStep::new(state, AttemptOutcome::Ignored);
    }
    let (policy, redactor, now) = (context.policy, context.redactor, context.now);
    state.keep(now, policy.blocked_seconds);
    match decision {
        Decision::Approve => {
            state.waive();
            state.reopen(None);
        }
        Decision::Modify { arguments } => state.reopen_corrected(arguments, redactor),
        Decision::Respond { message } => state.reopen(Some(&redactor.text(message))),
        Decision::Reject { reason } => state.stop(reason.as_deref(), redactor),
        Decision::Defer { until } => state.keep_until(*until),
    }
    RetryStep::new(state, AttemptOutcome::Applied)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use answerback_findings::{Severity, ValidationError};
    use answerback_json::{Digest, Pointer};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::{HideSecrets, Permit, Turn};
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000 + seconds * 1000)
    }

    fn finding(code: &'static str, path: &str, severity: Severity) -> ValidationError {
        ValidationError::new(code, severity).with_path(path.try_into().unwrap())
    }

    /// A key that is driven by hand.
    struct Key {
        policy: RetryPolicy,
        state: Option<RetryState>,
        seconds: i64,
    }

    impl Key {
        fn new(policy: impl Into<RetryPolicy>) -> Self {
            Self { policy: policy.into(), state: None, seconds: 0 }
        }

        fn take(&mut self, event: RetryEvent<'_>) -> AttemptOutcome {
            let context = Context::new(&self.policy, &HideSecrets, at(self.seconds));
            let step = step(self.state.take(), event, &context);
            self.state = step.state;
            step.outcome
        }

        fn call(
            &mut self,
            arguments: &Value,
            findings: &[ValidationError],
            turn: Option<u64>,
        ) -> AttemptOutcome {
            let mut call = TrackedCall::new("read_file", "call_1", arguments, findings, [7; 10]);
            call.turn = turn.map(Turn::from);
            self.take(RetryEvent::Call(call))
        }

        /// Another failing call, in a turn of its own.
        fn fail(&mut self, turn: u64) -> AttemptOutcome {
            let errors = [finding("VAL-001", "/path", Severity::Error)];
            self.call(&json!({ "turn": turn }), &errors, Some(turn))
        }

        fn succeed(&mut self) -> AttemptOutcome {
            self.call(&json!({"path": "a"}), &[], None)
        }

        fn decide(&mut self, decision: &Decision) -> AttemptOutcome {
            let escalation = self.state.as_ref().and_then(RetryState::escalation);
            let case = escalation.map_or_else(|| UuidV7::from_time(at(0), [0; 10]), |one| one.id);
            self.take(RetryEvent::Decision { case: &case, decision })
        }
    }

    /// The outcome in one line.
    fn told(outcome: &AttemptOutcome) -> String {
        match outcome {
            AttemptOutcome::Proceed(proceed) if proceed.waived => "waived".into(),
            AttemptOutcome::Proceed(_) => "proceed".into(),
            AttemptOutcome::Retry(retry) => {
                format!("retry {}/{}", retry.attempt, retry.max_attempts)
            }
            AttemptOutcome::Blocked(blocked) if blocked.is_new => {
                format!("escalate {}", blocked.attempt)
            }
            AttemptOutcome::Blocked(_) => "blocked".into(),
            AttemptOutcome::Stopped { .. } => "stopped".into(),
            AttemptOutcome::Applied => "applied".into(),
            AttemptOutcome::Ignored => "ignored".into(),
        }
    }

    #[test]
    fn the_last_attempt_escalates_with_the_whole_history() {
        let mut key = Key::new(3);
        let mut fail = |code, path: &str, keyword: &str, expected: &str, arguments: Value, turn| {
            let errors = [finding(code, path, Severity::Error)
                .with_schema_path(Pointer::root().join(keyword))
                .with_expected(expected)];
            key.call(&arguments, &errors, Some(turn))
        };
        let first = fail("VAL-001", "/path", "required", "string", json!({}), 1);
        let second = fail("VAL-002", "/path", "type", "string", json!({"path": 1}), 2);
        let long = json!({"path": "x"});
        let third = fail("VAL-009", "/path", "maxLength", "string with max length 4096", long, 3);
        assert_eq!((told(&first), told(&second)), ("retry 1/3".into(), "retry 2/3".into()));
        let AttemptOutcome::Blocked(blocked) = &third else { panic!("{third:?}") };
        insta::assert_snapshot!(blocked.escalation.summary, @"
        Tool 'read_file' validation failed after 3 attempts.

        Attempt 1: Missing required field 'path'
        Attempt 2: Type mismatch on 'path' (got: integer)
        Attempt 3: String too long for 'path' (max: 4096)

        The model was unable to provide valid arguments. Please intervene or provide guidance.
        ");
        let mut record = serde_json::to_value(&blocked.escalation).unwrap();
        record["summary"] = "…".into();
        insta::assert_snapshot!(record, @r#"{"id":"01a3185c-5000-7707-8707-070707070707","tool":"read_file","status":"Blocked","summary":"…","attempts":[{"attempt":1,"summary":"Missing required field 'path'","errors":[{"code":"VAL-001","path":"/path","count":1,"message":"Missing required field 'path'"}],"omitted":0},{"attempt":2,"summary":"Type mismatch on 'path' (got: integer)","errors":[{"code":"VAL-002","path":"/path","count":1,"message":"Type mismatch on 'path' (got: integer)"}],"omitted":0},{"attempt":3,"summary":"String too long for 'path' (max: 4096)","errors":[{"code":"VAL-009","path":"/path","count":1,"message":"String too long for 'path' (max: 4096)"}],"omitted":0}],"original_call":{"tool_call_id":"call_1","arguments":"{}","digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"last_call":{"tool_call_id":"call_1","arguments":"{\"path\":\"x\"}","digest":"4c99d722e6918fb1adbd4c0e5e6636d5bdc9de54404afc2a5b4ab7877ec83db0"},"options":["approve","modify","respond","reject","defer"]}"#);
        let result = third.tool_result("read_file", "call_9", 2000).unwrap();
        assert_eq!(serde_json::to_value(&result).unwrap()["status"], "Blocked");
        assert_eq!((result.tool_call_id.as_str(), result.is_error), ("call_9", true));
    }

    #[test]
    fn parallel_failures_are_one_attempt() {
        // Known by the turn.
        let mut key = Key::new(3);
        let turns = [1, 1, 1, 2, 1, 3].map(|turn| told(&key.fail(turn)));
        assert_eq!(
            turns,
            ["retry 1/3", "retry 1/3", "retry 1/3", "retry 2/3", "retry 1/3", "escalate 3"]
        );
        // Known by what was delivered.
        let mut key = Key::new(3);
        let errors = [finding("VAL-001", "/path", Severity::Error)];
        let fail = |key: &mut Key| told(&key.call(&json!({}), &errors, None));
        assert_eq!([fail(&mut key), fail(&mut key)], ["retry 1/3", "retry 1/3"]);
        assert_eq!(told(&key.take(RetryEvent::Delivered)), "applied");
        assert_eq!(told(&key.take(RetryEvent::Delivered)), "ignored");
        assert_eq!([fail(&mut key), fail(&mut key)], ["retry 2/3", "retry 2/3"]);
        assert_eq!(key.state.as_ref().unwrap().attempts()[1].calls, 2);
    }

    #[test]
    fn a_caller_that_never_delivers_cannot_loop_for_ever() {
        let mut key = Key::new(3);
        let errors = [finding("VAL-001", "/path", Severity::Error)];
        let calls =
            (1..200).find(|_| told(&key.call(&json!({}), &errors, None)).starts_with("escalate"));
        assert_eq!(calls, Some(65));
    }

    #[test]
    fn what_costs_no_attempt() {
        let mut key = Key::new(2);
        let notes = [finding("VAL-005", "/x", Severity::Warning), finding("X", "", Severity::Info)];
        for _ in 0..5 {
            assert_eq!(told(&key.call(&json!({}), &notes, None)), "proceed");
        }
        assert_eq!(key.state, None);
        key.fail(1);
        let before = key.state.clone();
        // A schema that cannot be used is not the model's fault.
        let errors = [finding("VAL-001", "/path", Severity::Error)];
        let arguments = json!({});
        let call =
            TrackedCall::new("read_file", "1", &arguments, &errors, [0; 10]).with_unchecked(true);
        assert_eq!(told(&key.take(RetryEvent::Call(call))), "proceed");
        assert_eq!(key.state, before);
        // A valid call closes the key, and the next failure is the first again.
        assert!(
            matches!(key.succeed(), AttemptOutcome::Proceed(proceed) if proceed.failed_attempts == 1)
        );
        assert_eq!(key.state, None);
        assert_eq!(told(&key.fail(2)), "retry 1/2");
    }

    #[test]
    fn a_blocked_key_answers_at_once_until_its_time_is_up() {
        let mut key = Key::new(RetryPolicy::from(1).with_while_blocked(WhileBlocked::Block));
        assert_eq!(told(&key.fail(1)), "escalate 1");
        let asked = key.state.as_ref().and_then(RetryState::escalation).unwrap();
        key.seconds = 899;
        assert_eq!([told(&key.fail(2)), told(&key.succeed())], ["blocked", "blocked"]);
        // The record, and so its digest, is the same each time.
        let again = key.state.as_ref().and_then(RetryState::escalation).unwrap();
        assert_eq!((again.digest(), again.case(at(900)).digest), (asked.digest(), asked.digest()));
        key.seconds = 900;
        assert_eq!(told(&key.fail(3)), "escalate 1");
    }

    #[test]
    fn a_valid_call_runs_and_closes_the_escalation() {
        let mut key = Key::new(1);
        assert_eq!([told(&key.fail(1)), told(&key.fail(2))], ["escalate 1", "blocked"]);
        let asked = key.state.as_ref().and_then(RetryState::escalation).unwrap();
        // What was not checked shows nothing.
        let arguments = json!({});
        let mut unchecked = TrackedCall::new("read_file", "c", &arguments, &[], [7; 10]);
        unchecked.unchecked = true;
        let outcome = key.take(RetryEvent::Call(unchecked));
        assert!(matches!(&outcome, AttemptOutcome::Proceed(proceed) if proceed.resolved.is_none()));
        assert!(key.state.is_some());
        let outcome = key.succeed();
        let AttemptOutcome::Proceed(proceed) = &outcome else { panic!("{outcome:?}") };
        assert_eq!((proceed.resolved.as_ref(), proceed.failed_attempts), (Some(&asked.id), 1));
        assert!(key.state.is_none());
        assert_eq!(told(&key.fail(3)), "escalate 1");
        // Only a person's word stops correct calls.
        key.decide(&Decision::Reject { reason: None });
        assert_eq!(told(&key.succeed()), "stopped");
    }

    #[test]
    fn circles_escalate_early_only_when_asked_to() {
        let errors = [finding("VAL-001", "/path", Severity::Error)];
        let mut key = Key::new(5);
        key.call(&json!({}), &errors, Some(1));
        let outcome = key.call(&json!({}), &errors, Some(2));
        assert!(matches!(
            &outcome,
            AttemptOutcome::Retry(retry) if retry.repetition == Repetition::SameCall { attempt: 1 }
                && retry.previous[0].path == "/path"
        ));
        let mut key = Key::new(RetryPolicy::from(5).with_escalate_on_repetition(true));
        key.call(&json!({}), &errors, Some(1));
        assert_eq!(told(&key.call(&json!({}), &errors, Some(2))), "escalate 2");
    }

    #[test]
    fn approval_waives_what_the_person_saw_and_nothing_else() {
        let errors = [finding("VAL-001", "/path", Severity::Error)];
        let [first, last, beside] = [1, 2, 3].map(|number| json!({"n": number}));
        for (sent, outcome) in [(&first, "waived"), (&last, "waived"), (&beside, "retry 1/2")] {
            let mut key = Key::new(2);
            key.call(&first, &errors, Some(1));
            let AttemptOutcome::Blocked(blocked) = key.call(&last, &errors, Some(2)) else {
                panic!()
            };
            let shown = blocked.escalation.last_call.map(|call| call.arguments);
            assert_eq!(shown.as_deref(), Some(r#"{"n":2}"#));
            // This call was made in the same turn, and the person did not see it.
            assert_eq!(told(&key.call(&beside, &errors, Some(2))), "blocked");
            key.decide(&Decision::Approve);
            assert_eq!(told(&key.call(sent, &errors, Some(3))), outcome, "{sent}");
        }
    }

    #[test]
    fn approval_waives_the_check_once() {
        let mut key = Key::new(2);
        key.fail(1);
        key.fail(2);
        assert_eq!(told(&key.decide(&Decision::Approve)), "applied");
        // A waiver does not cover a call that the person did not see. Such a call is counted as usual …
        assert_eq!(told(&key.fail(9)), "retry 1/2");
        // … but for the one that was shown, and for that one once.
        assert_eq!(told(&key.fail(2)), "waived");
        assert_eq!(told(&key.fail(2)), "retry 1/2");
    }

    #[test]
    fn a_correction_is_said_until_a_call_runs() {
        let corrected = || {
            let mut key = Key::new(3);
            (1..=3).for_each(|turn| drop(key.fail(turn)));
            key.decide(&Decision::Modify { arguments: json!({"path": "a"}) });
            key
        };
        let mut key = corrected();
        for turn in [4, 5] {
            let AttemptOutcome::Retry(retry) = key.fail(turn) else { panic!() };
            assert_eq!(retry.guidance, None);
            insta::allow_duplicates! {
                insta::assert_snapshot!(retry.correction.unwrap(), @r#"
                The call did not run. A person corrected it: call the tool 'read_file' again with exactly these arguments.

                {"path":"a"}
                "#);
            }
        }
        // The model received the correction, so the result has no note …
        let AttemptOutcome::Proceed(proceed) = key.call(&json!({"path": "a"}), &[], None) else {
            panic!()
        };
        assert_eq!((proceed.correction, key.state), (None, None));
        // … and a model that finds another way does not need one either.
        let own_way = corrected().call(&json!({"path": "b"}), &[], None);
        let AttemptOutcome::Proceed(proceed) = own_way else { panic!() };
        insta::assert_snapshot!(proceed.correction.unwrap(), @r#"This call ran as it was sent. A person had corrected the one that failed before it to these arguments: {"path":"a"}"#);
        // Who fails to the end asks anew.
        let mut key = corrected();
        (4..=6).for_each(|turn| drop(key.fail(turn)));
        assert!(key.state.as_ref().unwrap().is_blocked());
        assert_eq!(key.state.unwrap().correction(), None);
    }

    #[test]
    fn guidance_is_said_once() {
        let decisions = [
            (Decision::Respond { message: "try /tmp".into() }, "try /tmp".to_owned()),
            (
                Decision::Modify { arguments: json!({"path": "a".repeat(2000)}) },
                "A person corrected the arguments of this call; they are too long to be repeated here. Ask them for \
                 the arguments."
                    .to_owned(),
            ),
        ];
        for (decision, words) in decisions {
            let mut key = Key::new(2);
            key.fail(1);
            key.fail(2);
            key.decide(&decision);
            let AttemptOutcome::Retry(retry) = key.fail(3) else { panic!() };
            assert_eq!((retry.attempt, retry.guidance), (1, Some(words)));
            let AttemptOutcome::Blocked(blocked) = key.fail(4) else { panic!() };
            // The second round has its own history and the first call that ever failed.
            assert_eq!(blocked.escalation.attempts.len(), 2);
            assert_eq!(blocked.escalation.original_call.arguments, r#"{"turn":1}"#);
        }
    }

    #[test]
    fn rejection_stops_and_deferral_waits() {
        let mut key = Key::new(1);
        key.fail(1);
        key.decide(&Decision::Defer { until: at(5000) });
        key.seconds = 4999;
        assert_eq!(told(&key.fail(2)), "blocked");
        key.decide(&Decision::Reject { reason: Some("not\nthat".into()) });
        let outcome = key.succeed();
        insta::assert_snapshot!(
            outcome.tool_result("read_file", "c", 2000).unwrap().content,
            @r#"A person stopped the calls to tool 'read_file'. Do not call it again for this task. The reason given: not\nthat"#
        );
        assert_eq!(told(&key.decide(&Decision::Approve)), "ignored");
        key.seconds += 900;
        assert_eq!(told(&key.succeed()), "proceed");
        assert_eq!(told(&key.decide(&Decision::Approve)), "ignored");
    }

    #[test]
    fn a_state_of_another_version_is_not_ours() {
        let mut key = Key::new(3);
        key.fail(1);
        let mut stored = serde_json::to_value(&key.state).unwrap();
        assert_eq!(stored["v"], 1);
        assert_eq!(
            serde_json::from_value::<Option<RetryState>>(stored.clone()).unwrap(),
            key.state
        );
        stored["v"] = 2.into();
        let error = serde_json::from_value::<RetryState>(stored).unwrap_err();
        assert!(error.to_string().contains("version 2"), "{error}");
    }

    /// An event of any kind, with hostile texts.
    #[derive(Clone, Debug)]
    enum Any {
        Call {
            tool: String,
            id: String,
            value: Option<Value>,
            text: String,
            findings: Vec<ValidationError>,
            turn: Option<u8>,
            unchecked: bool,
        },
        Delivered,
        Decision {
            decision: Decision,
            right: bool,
        },
        Wait(u16),
    }

    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-z]{0,8}",
            1 => any::<String>(),
            1 => Just("\"\\\u{202e}\u{0}\n".repeat(250)),
            1 => Just("\u{1f600}".repeat(700)),
        ]
    }

    fn any_finding() -> impl Strategy<Value = ValidationError> {
        let severity = prop_oneof![4 => Just(Severity::Error), 1 => Just(Severity::Warning)];
        let code =
            prop_oneof![(1..=10_u8).prop_map(|number| format!("VAL-{number:03}")), hostile()];
        let path = prop::collection::vec(hostile(), 0..3);
        (code, path, severity, hostile(), prop::option::of("maxLength|minimum|type")).prop_map(
            |(code, path, severity, expected, keyword)| {
                let place = path.iter().fold(Pointer::root(), |place, name| place.join(name));
                let mut finding =
                    ValidationError::new(code, severity).with_path(place).with_expected(expected);
                finding.schema_path = keyword.map(|keyword| Pointer::root().join(&keyword));
                finding
            },
        )
    }

    fn any_event() -> impl Strategy<Value = Any> {
        let findings = prop_oneof![
            1 => Just(Vec::new()),
            4 => prop::collection::vec(any_finding(), 1..4),
            1 => prop::collection::vec(any_finding(), 20..40),
        ];
        let value = prop::option::of(prop_oneof![
            (0..3_u8).prop_map(|number| json!({ "n": number })),
            hostile().prop_map(|text| json!({ "text": text, "list": [1, null, {"a": 1.5}] })),
        ]);
        let turn = prop::option::of(0..20_u8);
        let call =
            (hostile(), hostile(), value, hostile(), findings, turn, prop::bool::weighted(0.05))
                .prop_map(|(tool, id, value, text, findings, turn, unchecked)| Any::Call {
                    tool,
                    id,
                    value,
                    text,
                    findings,
                    turn,
                    unchecked,
                });
        let decision = prop_oneof![
            Just(Decision::Approve),
            hostile().prop_map(|text| Decision::Modify { arguments: json!({ "text": text }) }),
            prop::option::of(hostile()).prop_map(|reason| Decision::Reject { reason }),
            hostile().prop_map(|message| Decision::Respond { message }),
            (0..3000_i64).prop_map(|seconds| Decision::Defer { until: at(seconds) }),
        ];
        let decision = (decision, prop::bool::weighted(0.9))
            .prop_map(|(decision, right)| Any::Decision { decision, right });
        prop_oneof![12 => call, 3 => Just(Any::Delivered), 2 => decision, 1 => any::<u16>().prop_map(Any::Wait)]
    }

    fn any_policy() -> impl Strategy<Value = RetryPolicy> {
        (any::<u8>(), any::<bool>(), any::<bool>(), 0..2000_u32).prop_map(
            |(most, valid, circles, seconds)| {
                let blocked = if valid { WhileBlocked::AllowValid } else { WhileBlocked::Block };
                RetryPolicy::from(most)
                    .with_while_blocked(blocked)
                    .with_escalate_on_repetition(circles)
                    .with_blocked_seconds(seconds)
            },
        )
    }

    /// Runs the events and checks after each what must always hold.
    fn run(policy: RetryPolicy, events: &[Any]) -> (Option<RetryState>, Vec<AttemptOutcome>) {
        let mut key = Key::new(policy);
        let mut outcomes = Vec::new();
        for event in events {
            let before = key.state.as_ref().map_or(0, RetryState::attempt_count);
            let outcome = match event {
                Any::Call { tool, id, value, text, findings, turn, unchecked } => {
                    let mut call = match value {
                        Some(value) => TrackedCall::new(tool, id, value, findings, [7; 10]),
                        None => TrackedCall::new(tool, id, text.as_str(), findings, [7; 10]),
                    };
                    call.unchecked = *unchecked;
                    call.turn = turn.map(|turn| Turn::from(u64::from(turn)));
                    call.record = Some(text);
                    key.take(RetryEvent::Call(call))
                }
                Any::Delivered => key.take(RetryEvent::Delivered),
                Any::Decision { decision, right: true } => key.decide(decision),
                Any::Decision { decision, right: false } => {
                    let case = UuidV7::from_time(at(-1), [1; 10]);
                    key.take(RetryEvent::Decision { case: &case, decision })
                }
                Any::Wait(seconds) => {
                    key.seconds += i64::from(*seconds) / 64;
                    continue;
                }
            };
            if let Some(state) = &key.state {
                let stored = serde_json::to_string(state).unwrap();
                assert!(stored.len() < RetryState::MAX_BYTES, "{} bytes", stored.len());
                assert_eq!(serde_json::from_str::<RetryState>(&stored).unwrap(), *state);
                assert!(state.is_blocked() || state.attempt_count() < policy.max_attempts());
                assert!(state.attempt_count() <= policy.max_attempts());
                assert!(state.attempt_count() <= before + 1);
            }
            if let AttemptOutcome::Retry(retry) = &outcome {
                assert!((1..policy.max_attempts()).contains(&retry.attempt));
            }
            outcomes.push(outcome);
        }
        (key.state, outcomes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn any_events_keep_the_rules(policy in any_policy(), events in prop::collection::vec(any_event(), 0..32)) {
            // The same events give the same state and the same outcomes.
            prop_assert_eq!(run(policy, &events), run(policy, &events));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        /// Whatever failed before, a call with nothing wrong runs, unless a person stopped the calls.
        #[test]
        fn a_correct_call_is_never_refused_because_of_earlier_ones(
            most in 1..=10_u8,
            circles in any::<bool>(),
            fails in prop::collection::vec(0..4_u64, 0..30),
        ) {
            let mut key = Key::new(RetryPolicy::from(most).with_escalate_on_repetition(circles));
            for turn in fails {
                key.fail(turn);
            }
            prop_assert!(key.succeed().may_run());
        }
    }

    #[test]
    fn a_permit_is_told_and_ends_with_the_next_answer() {
        let corrected = || {
            let mut key = Key::new(1);
            key.fail(1);
            key.decide(&Decision::Modify { arguments: json!({"token": "[redacted: token]"}) });
            let case = UuidV7::from_time(at(0), [7; 10]);
            let permit = Permit::new(case, Digest::of_bytes(b"told"), "sealed").unwrap();
            key.state = key.state.map(|state| state.with_permit(permit));
            key
        };
        let mut key = corrected();
        key.policy = RetryPolicy::from(2);
        let AttemptOutcome::Retry(retry) = key.fail(2) else { panic!() };
        insta::assert_snapshot!(retry.correction.unwrap(), @r#"
        The call did not run. A person corrected it: call the tool 'read_file' again with exactly these arguments.

        {"token":"[redacted: token]"}

        Send marks such as [redacted: token] as they are: what they stand for is filled in.
        "#);
        // The arguments that ran are not sent again.
        key.state = key.state.map(RetryState::without_permit);
        let AttemptOutcome::Proceed(proceed) = key.succeed() else { panic!() };
        assert_eq!((proceed.correction, key.state), (None, None));
        // A call that fails again asks anew, and what was allowed before is void.
        let mut key = corrected();
        assert!(key.state.as_ref().unwrap().permit().is_some());
        assert_eq!(told(&key.fail(2)), "escalate 1");
        assert_eq!(key.state.as_ref().unwrap().permit(), None);
        let long = "x".repeat(Permit::MAX_BYTES + 1);
        assert_eq!(
            Permit::new(UuidV7::from_time(at(0), [7; 10]), Digest::of_bytes(b""), long),
            None
        );
    }

    /// The fullest state there can be: ten attempts with long everything.
    #[test]
    fn the_fullest_state_fits() {
        let long = "\"\\".repeat(600);
        let findings: Vec<_> = (0..30)
            .map(|index| {
                let code = format!("C{index}{long}");
                let place = Pointer::root().join(&format!("{index}{long}"));
                ValidationError::new(code, Severity::Error)
                    .with_path(place)
                    .with_expected(long.clone())
            })
            .collect();
        let mut key = Key::new(10);
        let arguments = json!({ "a": long });
        let mut longest = 0;
        for round in 0..2 {
            for turn in 0..10_u64 {
                for parallel in 0..3 {
                    let arguments = json!({"round": round, "turn": turn, "parallel": parallel, "a": &arguments});
                    let call = TrackedCall::new(&long, &long, &arguments, &findings, [7; 10])
                        .with_record(&long)
                        .with_turn(u64::MAX - turn);
                    key.take(RetryEvent::Call(call));
                    longest = longest.max(serde_json::to_string(&key.state).unwrap().len());
                }
            }
            key.decide(&Decision::Modify { arguments: json!({ "a": long[..240] }) });
            assert!(key.state.as_ref().unwrap().correction().is_some());
        }
        assert!((8000..RetryState::MAX_BYTES).contains(&longest), "{longest} bytes");
    }

    #[test]
    fn an_escalation_has_the_findings_of_parallel_calls() {
        let mut key = Key::new(2);
        let errors = |code, path: &str| [finding(code, path, Severity::Error)];
        key.call(&json!({"n": 1}), &errors("VAL-001", "/path"), Some(1));
        key.call(&json!({"limit": "x"}), &errors("VAL-002", "/limit"), Some(1));
        key.call(&json!({"n": 3}), &errors("VAL-001", "/path"), Some(1));
        let outcome = key.call(&json!({"n": 4}), &errors("VAL-005", "/nam"), Some(2));
        let AttemptOutcome::Blocked(blocked) = outcome else { panic!("{outcome:?}") };
        let attempts = serde_json::to_value(&blocked.escalation.attempts).unwrap();
        insta::assert_snapshot!(attempts, @r#"[{"attempt":1,"summary":"Missing required field 'path'; 2 more errors","errors":[{"code":"VAL-001","path":"/path","count":2,"message":"Missing required field 'path'"},{"code":"VAL-002","path":"/limit","count":1,"message":"Type mismatch on 'limit' (got: string)"}],"omitted":0},{"attempt":2,"summary":"Unknown field 'nam'","errors":[{"code":"VAL-005","path":"/nam","count":1,"message":"Unknown field 'nam'"}],"omitted":0}]"#);
    }

    /// Every error of every call is listed or counted, and every group says what was wrong.
    #[test]
    fn no_finding_of_a_parallel_call_is_lost() {
        let calls = prop::collection::vec(prop::collection::vec(any_finding(), 1..30), 1..12);
        proptest!(|(max in 1..=10_u8, calls in calls)| {
            let mut key = Key::new(max);
            let mut sent: BTreeMap<usize, u32> = BTreeMap::new();
            let mut escalation = None;
            for (number, findings) in calls.iter().enumerate() {
                let turn = number / 3;
                let count = findings.iter().filter(|finding| finding.is_error()).count();
                let is_open = key.state.as_ref().is_none_or(|state| !state.is_blocked());
                let arguments = json!({"number": number});
                let outcome = key.call(&arguments, findings, Some(turn as u64));
                if is_open && count > 0 {
                    *sent.entry(turn).or_default() += u32::try_from(count).unwrap();
                }
                if let AttemptOutcome::Blocked(blocked) = outcome {
                    escalation = Some(blocked.escalation);
                }
                if count == 0 {
                    // A call that runs closes the key, also while a person is asked.
                    sent.clear();
                    escalation = None;
                }
            }
            let Some(escalation) = escalation else { return Ok(()) };
            prop_assert_eq!(escalation.attempts.len(), sent.len());
            for (attempt, sent) in escalation.attempts.iter().zip(sent.values()) {
                let listed: u32 = attempt.errors.iter().map(|noted| noted.count).sum();
                prop_assert_eq!(listed + attempt.omitted, *sent);
                prop_assert!(attempt.errors.iter().all(|noted| noted.message.is_some()));
            }
        });
    }
}
