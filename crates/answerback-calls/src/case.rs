//! Cases: escalations, proposals and questions that a person must decide.
//!
//! A [`Case`] stores the digest of the content that the person saw. [`decide()`] alone determines which decisions are
//! valid. It is a pure function: a store loads a case, calls it, and saves the result with a compare-and-swap on the
//! revision. So the first of two concurrent decisions wins, in any store.

use std::fmt;
use std::str::FromStr;

use answerback_json::{Digest, Timestamp, UuidV7};
use answerback_redaction::is_blank;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{self, Schema};

/// The longest message or reason that a person may enter, in characters.
pub const LONGEST_MESSAGE: usize = 4000;

/// The `by` value of a submission with which a valid call of the model closed a case.
const MODEL: &str = "the model";
/// The message of a decision that records a case as resolved by the model.
const RESOLVED: &str = "Resolved by the model: a later call had valid arguments.";

/// The longest time by which a case can be deferred, in days.
pub const LONGEST_DEFERRAL_DAYS: i32 = 30;

/// Why a person is asked.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define exactly these three")]
pub enum CaseKind {
    /// An agent proposes to do something and waits for a yes.
    Proposal,
    /// An agent asks something and waits for the answer.
    Question,
    /// A model could not make a valid call; the key is blocked.
    Escalation,
}

impl CaseKind {
    /// Returns the decisions that this kind allows, in the order in which the pages and the command line offer them.
    pub const fn allowed(self) -> &'static [DecisionKind] {
        use DecisionKind::{Approve, Defer, Modify, Reject, Respond};
        match self {
            Self::Proposal => &[Approve, Modify, Reject, Respond, Defer],
            Self::Question => &[Respond, Reject, Defer],
            Self::Escalation => &[Approve, Modify, Respond, Reject, Defer],
        }
    }
}

/// The five decisions, as words.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define exactly these five")]
pub enum DecisionKind {
    /// Yes. For an escalation: the check is waived once.
    Approve,
    /// Yes, with these arguments instead.
    Modify,
    /// No. For an escalation: stop.
    Reject,
    /// Words for the model: an answer, or guidance.
    Respond,
    /// Not now.
    Defer,
}

impl DecisionKind {
    /// Returns the lowercase word used in JSON and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Modify => "modify",
            Self::Reject => "reject",
            Self::Respond => "respond",
            Self::Defer => "defer",
        }
    }

    /// Returns a short description of the decision's effect on an escalation, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Approve => "let this call run once although the check failed",
            Self::Modify => "give the corrected arguments",
            Self::Reject => "stop: the tool is not called again for this",
            Self::Respond => "tell the model how to go on; it may try again",
            Self::Defer => "decide later; it stays blocked",
        }
    }
}

impl fmt::Display for DecisionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for DecisionKind {
    type Err = UnknownDecision;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Approve, Self::Modify, Self::Reject, Self::Respond, Self::Defer]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| UnknownDecision(word.to_owned()))
    }
}

/// The error for a word that is not the name of a decision.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no decision is called {0:?}; there are approve, modify, reject, respond and defer")]
pub struct UnknownDecision(String);

/// A person's verdict on a case, with the data that belongs to it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define exactly these five")]
pub enum Decision {
    /// Yes.
    Approve,
    /// Yes, with these arguments instead.
    Modify {
        /// The corrected arguments. The caller that runs the tool checks them first.
        arguments: Value,
    },
    /// No.
    Reject {
        /// The reason, which is sent to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An answer or guidance.
    Respond {
        /// The text for the model.
        message: String,
    },
    /// Not now.
    Defer {
        /// The case's new expiry time.
        until: Timestamp,
    },
}

impl Decision {
    /// Returns the kind of this decision, without its data.
    pub const fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve => DecisionKind::Approve,
            Self::Modify { .. } => DecisionKind::Modify,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Respond { .. } => DecisionKind::Respond,
            Self::Defer { .. } => DecisionKind::Defer,
        }
    }
}

/// A decision as it is submitted, with the digest and revision of the case that the person saw.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct DecisionSubmission {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// The digest of the content that the person saw.
    pub digest: Digest,
    /// The revision of the case that the person saw.
    pub revision: u64,
    /// The name of the person who decided, as the user interface or API identified them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl DecisionSubmission {
    /// Creates a submission for the case's current digest and revision, without a name in `by`.
    pub fn about(case: &Case, decision: Decision) -> Self {
        Self { decision, digest: case.digest, revision: case.revision, by: None }
    }

    /// Creates the submission that closes an escalation after the model made a valid call. No person has to decide
    /// the case anymore.
    pub fn by_model(case: &Case) -> Self {
        Self::about(case, Decision::Respond { message: RESOLVED.to_owned() }).with_by(MODEL)
    }

    /// Sets the name of the person who decided.
    #[must_use]
    pub fn with_by(mut self, by: impl Into<String>) -> Self {
        self.by = Some(by.into());
        self
    }
}

/// The state of a case: open, deferred or decided.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "a case is open, deferred or decided")]
pub enum CaseState {
    /// No decision has been made.
    Open,
    /// A person deferred the case. It is still undecided.
    Deferred {
        /// The deferral, with the person's name and the new expiry time.
        submission: DecisionSubmission,
        /// The time of the deferral.
        at: Timestamp,
    },
    /// A decision was made.
    Decided {
        /// The decision, with the name of the person who made it.
        submission: DecisionSubmission,
        /// The time of the decision.
        at: Timestamp,
    },
}

/// A case: an escalation, a proposal or a question that a person must decide.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Case {
    /// The id of the case.
    pub id: UuidV7,
    /// Why a person is asked.
    pub kind: CaseKind,
    /// The digest of the content shown to the person.
    pub digest: Digest,
    /// The revision, which increases by one with every change. Stores compare-and-swap on it.
    pub revision: u64,
    /// The decisions that the person may make.
    pub allowed: Vec<DecisionKind>,
    /// The time at which the case expires if it is still undecided.
    pub expires: Timestamp,
    /// The case's current state.
    pub state: CaseState,
}

impl Case {
    /// Creates an open case at revision 0 with the decisions that its kind allows.
    pub fn new(id: UuidV7, kind: CaseKind, digest: Digest, expires: Timestamp) -> Self {
        let allowed = kind.allowed().to_vec();
        Self { id, kind, digest, revision: 0, allowed, expires, state: CaseState::Open }
    }

    /// Restricts the allowed decisions to `kinds`. A user interface that supports only some decisions uses this.
    #[must_use]
    pub fn with_only(mut self, kinds: &[DecisionKind]) -> Self {
        self.allowed.retain(|kind| kinds.contains(kind));
        self
    }

    /// Returns the decision if the case is decided. A deferral is not a decision.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.state {
            CaseState::Decided { submission, .. } => Some(&submission.decision),
            CaseState::Open | CaseState::Deferred { .. } => None,
        }
    }

    /// Returns the case without the person's name, arguments, reason and message. The kind and the time of the
    /// decision stay.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        let submission = match &mut self.state {
            CaseState::Open => return self,
            CaseState::Deferred { submission, .. } | CaseState::Decided { submission, .. } => {
                submission
            }
        };
        submission.by = None;
        match &mut submission.decision {
            Decision::Approve | Decision::Defer { .. } => {}
            Decision::Modify { arguments } => *arguments = Value::Null,
            Decision::Reject { reason } => *reason = None,
            Decision::Respond { message } => message.clear(),
        }
        self
    }

    /// True if a valid call of the model closed the case, not a person.
    pub fn is_resolved_by_model(&self) -> bool {
        matches!(&self.state, CaseState::Decided { submission, .. } if submission.by.as_deref() == Some(MODEL))
    }

    /// True if the case is undecided and its expiry time has passed.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.decision().is_none() && now >= self.expires
    }
}

/// Applies a decision and returns the changed case.
///
/// The first decision wins. Submitting exactly the same submission again returns the stored case, so a client that
/// lost the response can retry. [`Decision::Defer`] leaves the case open and moves its expiry time.
///
/// # Errors
///
/// Returns an error if the case is decided or expired, or if its digest or revision differs from the submission's.
/// Returns one also if the case does not allow the decision, or the decision itself is not usable.
///
/// ```
/// use answerback_calls::case::{Case, CaseKind, Decision, DecisionError, DecisionSubmission, decide};
/// use answerback_json::{Digest, Timestamp, UuidV7};
///
/// let now = Timestamp::from_unix_millis(0);
/// let id = UuidV7::from_time(now, [7; 10]);
/// let case = Case::new(id, CaseKind::Escalation, Digest::of_bytes(b"shown"), now.plus_days(1));
///
/// let approved = decide(&case, &DecisionSubmission::about(&case, Decision::Approve), now)?;
/// assert_eq!(approved.decision(), Some(&Decision::Approve));
/// let late = DecisionSubmission::about(&case, Decision::Reject { reason: None });
/// assert!(matches!(decide(&approved, &late, now), Err(DecisionError::AlreadyDecided(_))));
/// # Ok::<(), DecisionError>(())
/// ```
pub fn decide(
    case: &Case,
    submission: &DecisionSubmission,
    now: Timestamp,
) -> Result<Case, DecisionError> {
    match &case.state {
        CaseState::Decided { submission: stored, .. }
        | CaseState::Deferred { submission: stored, .. }
            if stored == submission =>
        {
            return Ok(case.clone());
        }
        CaseState::Decided { submission: stored, .. } => {
            return Err(DecisionError::AlreadyDecided(stored.decision.kind()));
        }
        CaseState::Open | CaseState::Deferred { .. } => {}
    }
    if case.is_expired(now) {
        return Err(DecisionError::Expired(case.expires));
    }
    if submission.digest != case.digest {
        return Err(DecisionError::OtherContent);
    }
    if submission.revision != case.revision {
        let (seen, current) = (submission.revision, case.revision);
        return Err(DecisionError::Stale { seen, current });
    }
    let kind = submission.decision.kind();
    if !case.allowed.contains(&kind) {
        return Err(DecisionError::NotAllowed(kind));
    }
    check(case.kind, &submission.decision, now)?;
    let mut decided = case.clone();
    decided.revision = case.revision.saturating_add(1);
    let (submission, at) = (submission.clone(), now);
    decided.state = match submission.decision {
        Decision::Defer { until } => {
            decided.expires = until;
            CaseState::Deferred { submission, at }
        }
        _ => CaseState::Decided { submission, at },
    };
    Ok(decided)
}

/// Returns the reason why a decision does not fit the content shown to the person, or `None` if it fits.
///
/// Changed arguments of a proposal must match its `response_schema`. The answer to a question without free text must
/// be one of its options. Content that was erased since can be rejected, but not approved.
///
/// ```
/// use answerback_calls::case::{CaseKind, Decision, misfit};
/// use serde_json::json;
///
/// let shown = json!({"response_schema": {"properties": {"berth": {"type": "integer"}}}});
/// let decision = Decision::Modify { arguments: json!({"berth": "four"}) };
/// assert!(misfit(CaseKind::Proposal, &shown, &decision).is_some_and(|reason| reason.contains("/berth")));
/// ```
pub fn misfit(kind: CaseKind, shown: &Value, decision: &Decision) -> Option<String> {
    let is_yes = matches!(decision, Decision::Approve | Decision::Modify { .. });
    if is_yes && !shown.is_object() {
        return Some("what was shown has been erased, so nobody can say yes to it".to_owned());
    }
    match (kind, decision) {
        (CaseKind::Proposal, Decision::Modify { arguments }) => {
            if !arguments.is_object() {
                return Some("changed arguments are a JSON object".to_owned());
            }
            // A schema that does not compile sets no requirements.
            let schema = Schema::compile(shown.get("response_schema")?.clone()).ok()?;
            call::misfit(&schema, arguments)
        }
        (CaseKind::Question, Decision::Respond { message }) => {
            let is_free = shown.get("allow_free_text") != Some(&Value::Bool(false));
            let options = shown.get("options").and_then(Value::as_array).into_iter().flatten();
            let is_option = |option: &Value| {
                ["id", "label"].iter().any(|name| option[*name].as_str() == Some(message))
            };
            let answers = is_free || options.into_iter().any(is_option);
            (!answers)
                .then(|| "the question takes one of its options and no other answer".to_owned())
        }
        _ => None,
    }
}

/// Validates the decision's own data: text lengths, the type of changed arguments, and the time of a deferral.
fn check(kind: CaseKind, decision: &Decision, now: Timestamp) -> Result<(), DecisionError> {
    let fits = |text: &str| text.chars().nth(LONGEST_MESSAGE).is_none();
    let problem = match decision {
        Decision::Modify { arguments }
            if kind == CaseKind::Escalation && !arguments.is_object() =>
        {
            "corrected arguments are a JSON object"
        }
        Decision::Respond { message } if is_blank(message) => "the message is empty",
        Decision::Respond { message: text } | Decision::Reject { reason: Some(text) }
            if !fits(text) =>
        {
            "the text is longer than 4000 characters"
        }
        Decision::Defer { until } if *until <= now => "a case is put off to a later time",
        Decision::Defer { until } if *until > now.plus_days(LONGEST_DEFERRAL_DAYS) => {
            "a case is put off by at most 30 days"
        }
        _ => return Ok(()),
    };
    Err(DecisionError::Unusable(problem))
}

/// The reason why a decision is rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// Another decision was made first.
    #[error("the case is already decided: {0}")]
    AlreadyDecided(DecisionKind),
    /// The case expired before a decision was made.
    #[error("the case lapsed at {0}")]
    Expired(Timestamp),
    /// The submission's digest differs from the case's, so the person saw other content.
    #[error("the decision is about other content than the case's; look at the case again")]
    OtherContent,
    /// The case changed after the person loaded it.
    #[error("the decision is about revision {seen}, the case is at {current}; look at it again")]
    Stale {
        /// The revision that the person saw.
        seen: u64,
        /// The current revision of the case.
        current: u64,
    },
    /// The case does not allow this decision.
    #[error("the case does not allow the decision {0}")]
    NotAllowed(DecisionKind),
    /// The decision's own data is not valid.
    #[error("the decision cannot be used: {0}")]
    Unusable(&'static str),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(seconds * 1000)
    }

    fn case(kind: CaseKind) -> Case {
        Case::new(UuidV7::from_time(at(0), [1; 10]), kind, Digest::of_bytes(b"shown"), at(900))
    }

    #[test]
    fn the_first_writer_wins_and_may_ask_again() {
        let open = case(CaseKind::Escalation);
        let first = DecisionSubmission::about(&open, Decision::Approve).with_by("ops");
        let decided = decide(&open, &first, at(10)).unwrap();
        assert_eq!((decided.revision, decided.decision()), (1, Some(&Decision::Approve)));
        // Submitting the same decision again returns the stored result unchanged, even after the expiry.
        assert_eq!(decide(&decided, &first, at(5000)), Ok(decided.clone()));
        let second =
            DecisionSubmission::about(&decided, Decision::Approve).with_by("somebody else");
        assert_eq!(
            decide(&decided, &second, at(11)),
            Err(DecisionError::AlreadyDecided(DecisionKind::Approve))
        );
    }

    #[test]
    fn a_deferral_keeps_it_open() {
        let open = case(CaseKind::Question);
        let later = DecisionSubmission::about(&open, Decision::Defer { until: at(4000) });
        let deferred = decide(&open, &later, at(10)).unwrap();
        assert_eq!((deferred.expires, deferred.decision()), (at(4000), None));
        assert_eq!(decide(&deferred, &later, at(20)), Ok(deferred.clone()));
        // A decision about the first revision is rejected, because the deferral changed the case.
        let stale = DecisionSubmission::about(&open, Decision::Respond { message: "yes".into() });
        assert_eq!(
            decide(&deferred, &stale, at(20)),
            Err(DecisionError::Stale { seen: 0, current: 1 })
        );
        let fresh =
            DecisionSubmission::about(&deferred, Decision::Respond { message: "yes".into() });
        assert!(decide(&deferred, &fresh, at(3999)).is_ok());
        assert_eq!(decide(&deferred, &fresh, at(4000)), Err(DecisionError::Expired(at(4000))));
    }

    #[test]
    fn what_does_not_hold() {
        let open = case(CaseKind::Escalation);
        let about = |decision| DecisionSubmission::about(&open, decision);
        let mut other = about(Decision::Approve);
        other.digest = Digest::of_bytes(b"something else");
        let long = "é".repeat(LONGEST_MESSAGE + 1);
        let table = [
            (other, "the decision is about other content than the case's; look at the case again"),
            (
                about(Decision::Modify { arguments: json!([1]) }),
                "the decision cannot be used: corrected arguments are a JSON object",
            ),
            (
                about(Decision::Respond { message: " \n".into() }),
                "the decision cannot be used: the message is empty",
            ),
            (
                about(Decision::Reject { reason: Some(long) }),
                "the decision cannot be used: the text is longer than 4000 characters",
            ),
            (
                about(Decision::Defer { until: at(1) }),
                "the decision cannot be used: a case is put off to a later time",
            ),
            (
                about(Decision::Defer { until: at(1).plus_days(31) }),
                "the decision cannot be used: a case is put off by at most 30 days",
            ),
        ];
        for (submission, message) in table {
            assert_eq!(decide(&open, &submission, at(1)).unwrap_err().to_string(), message);
        }
        let narrow = open.clone().with_only(&[DecisionKind::Respond]);
        assert_eq!(
            decide(&narrow, &about(Decision::Approve), at(1)),
            Err(DecisionError::NotAllowed(DecisionKind::Approve))
        );
        assert_eq!(
            decide(&open, &about(Decision::Approve), at(900)),
            Err(DecisionError::Expired(at(900)))
        );
    }

    #[test]
    fn what_answers_a_case() {
        let proposal = json!({"response_schema": {"properties": {"n": {"type": "integer"}}}});
        let question =
            json!({"allow_free_text": false, "options": [{"id": "0", "label": "Aurora"}]});
        let modify = |arguments| Decision::Modify { arguments };
        let respond = |message: &str| Decision::Respond { message: message.into() };
        let erased = Value::Null;
        for (kind, shown, decision, answers) in [
            (CaseKind::Proposal, &proposal, modify(json!({"n": 1})), true),
            (CaseKind::Proposal, &proposal, modify(json!({"n": "x"})), false),
            (CaseKind::Proposal, &proposal, modify(json!([])), false),
            (CaseKind::Proposal, &proposal, Decision::Approve, true),
            (CaseKind::Proposal, &erased, Decision::Approve, false),
            (CaseKind::Proposal, &erased, Decision::Reject { reason: None }, true),
            (CaseKind::Question, &question, respond("Aurora"), true),
            (CaseKind::Question, &question, respond("0"), true),
            (CaseKind::Question, &question, respond("Borealis"), false),
            (CaseKind::Question, &json!({}), respond("Borealis"), true),
        ] {
            let found = misfit(kind, shown, &decision);
            assert_eq!(found.is_none(), answers, "{kind:?} {decision:?}: {found:?}");
        }
    }

    #[test]
    fn a_decision_stands_without_its_words() {
        let open = case(CaseKind::Escalation);
        assert_eq!(open.clone().without_words(), open);
        for decision in [
            Decision::Approve,
            Decision::Modify { arguments: json!({"city": "quince"}) },
            Decision::Reject { reason: Some("quince".into()) },
            Decision::Respond { message: "quince".into() },
            Decision::Defer { until: at(800) },
        ] {
            let kind = decision.kind();
            let submission = DecisionSubmission::about(&open, decision).with_by("quince");
            let bare = decide(&open, &submission, at(10)).unwrap().without_words();
            let text = serde_json::to_string(&bare).unwrap();
            assert!(!text.contains("quince"), "{text}");
            assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), bare);
            assert_eq!(bare.decision().map_or(DecisionKind::Defer, Decision::kind), kind);
        }
    }

    #[test]
    fn on_the_wire() {
        let open = case(CaseKind::Escalation);
        let submission =
            DecisionSubmission::about(&open, Decision::Modify { arguments: json!({"a": 1}) });
        let decided = decide(&open, &submission.with_by("ops"), at(10)).unwrap();
        let text = serde_json::to_string(&decided).unwrap();
        insta::assert_snapshot!(text, @r#"{"id":"00000000-0000-7101-8101-010101010101","kind":"escalation","digest":"baaf53622a51d975235f276287bdc1b64aa4640c77142cbca076877d9eac6815","revision":1,"allowed":["approve","modify","respond","reject","defer"],"expires":"1970-01-01T00:15:00Z","state":{"status":"decided","submission":{"decision":"modify","arguments":{"a":1},"digest":"baaf53622a51d975235f276287bdc1b64aa4640c77142cbca076877d9eac6815","revision":0,"by":"ops"},"at":"1970-01-01T00:00:10Z"}}"#);
        assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), decided);
        for kind in CaseKind::Escalation.allowed() {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
        }
        assert!("waive".parse::<DecisionKind>().is_err());
    }
}
