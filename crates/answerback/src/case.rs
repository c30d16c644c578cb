//! What waits for a person, and what the person decides.
//!
//! A [`Case`] is bound to the digest of what the person was shown, and [`decide()`] is the one place
//! that says which decisions hold. It is pure: stores load a case, decide and compare-and-swap on its
//! revision, so that of two people the first one wins, wherever the case is kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{self, Schema};
use crate::finding::is_blank;
use crate::{Digest, Timestamp, UuidV7};

/// The longest message or reason of a person, in characters.
pub const LONGEST_MESSAGE: usize = 4000;

/// Who closes a case by a valid call.
const MODEL: &str = "the model";
/// What is recorded of a case that a model resolved.
const RESOLVED: &str = "Resolved by the model: a later call had valid arguments.";

/// The furthest a case can be put off, in days.
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
    /// The decisions that make sense for this kind, in the order in which they are offered.
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
    /// The lower-case word that JSON and the command line carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Modify => "modify",
            Self::Reject => "reject",
            Self::Respond => "respond",
            Self::Defer => "defer",
        }
    }

    /// What the decision does for an escalation, for people.
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

/// A word that names no decision.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no decision is called {0:?}; there are approve, modify, reject, respond and defer")]
pub struct UnknownDecision(String);

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contracts define exactly these five")]
pub enum Decision {
    /// Yes.
    Approve,
    /// Yes, with these arguments instead.
    Modify {
        /// The corrected arguments; whoever runs the call checks them first.
        arguments: Value,
    },
    /// No.
    Reject {
        /// Why not, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An answer or guidance.
    Respond {
        /// The words.
        message: String,
    },
    /// Not now.
    Defer {
        /// When the case asks again, at the latest.
        until: Timestamp,
    },
}

impl Decision {
    /// Which of the five it is.
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

/// A decision as it is handed in: what was decided, about exactly what, by whom.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Submission {
    /// What was decided.
    #[serde(flatten)]
    pub decision: Decision,
    /// The digest of what the person saw.
    pub digest: Digest,
    /// The revision of the case that the person saw.
    pub revision: u64,
    /// Who decided, as the surface knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Submission {
    /// A decision about the case as it stands here.
    pub fn about(case: &Case, decision: Decision) -> Self {
        Self { decision, digest: case.digest, revision: case.revision, by: None }
    }

    /// What closes an escalation whose model made a valid call after all: no person has to decide about it any more.
    pub fn by_model(case: &Case) -> Self {
        Self::about(case, Decision::Respond { message: RESOLVED.to_owned() }).with_by(MODEL)
    }

    /// Sets who decided.
    #[must_use]
    pub fn with_by(mut self, by: impl Into<String>) -> Self {
        self.by = Some(by.into());
        self
    }
}

/// What became of a case so far.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "a case waits, was put off, or is decided")]
pub enum CaseState {
    /// Nobody has decided.
    Open,
    /// Somebody put it off; it still waits.
    Deferred {
        /// Who put it off, and until when.
        submission: Submission,
        /// When they did.
        at: Timestamp,
    },
    /// Somebody decided.
    Decided {
        /// The decision that holds.
        submission: Submission,
        /// When it was made.
        at: Timestamp,
    },
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Case {
    /// Its id.
    pub id: UuidV7,
    /// Why a person is asked.
    pub kind: CaseKind,
    /// The digest of what the person is shown.
    pub digest: Digest,
    /// Goes up with every change; stores compare-and-swap on it.
    pub revision: u64,
    /// The decisions that are open to the person.
    pub allowed: Vec<DecisionKind>,
    /// When it lapses undecided.
    pub expires: Timestamp,
    /// What became of it so far.
    pub state: CaseState,
}

impl Case {
    /// An open case with the decisions that its kind allows.
    pub fn new(id: UuidV7, kind: CaseKind, digest: Digest, expires: Timestamp) -> Self {
        let allowed = kind.allowed().to_vec();
        Self { id, kind, digest, revision: 0, allowed, expires, state: CaseState::Open }
    }

    /// Leaves only these of the allowed decisions, for a surface that may not make all of them.
    #[must_use]
    pub fn with_only(mut self, kinds: &[DecisionKind]) -> Self {
        self.allowed.retain(|kind| kinds.contains(kind));
        self
    }

    /// The decision that holds, once there is one.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.state {
            CaseState::Decided { submission, .. } => Some(&submission.decision),
            CaseState::Open | CaseState::Deferred { .. } => None,
        }
    }

    /// The case without what a person said about it, and without who did: that it was decided, and how, stays.
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

    /// Whether a valid call of the model closed it, and no person.
    pub fn is_resolved_by_model(&self) -> bool {
        matches!(&self.state, CaseState::Decided { submission, .. } if submission.by.as_deref() == Some(MODEL))
    }

    /// Whether it lapsed undecided.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.decision().is_none() && now >= self.expires
    }
}

/// The case after a decision.
///
/// The first decision wins. Handing in the very same submission again gives the case as stored, so
/// that whoever lost an answer on the way can ask again. [`Decision::Defer`] leaves the case open and
/// moves its expiry.
///
/// # Errors
///
/// When the case is decided or lapsed, was shown in another form than the one decided about, does not
/// allow the decision, or the decision itself is not usable.
///
/// ```
/// use answerback::case::{Case, CaseKind, Decision, DecisionError, Submission, decide};
/// use answerback::{Digest, Timestamp, UuidV7};
///
/// let now = Timestamp::from_unix_millis(0);
/// let id = UuidV7::from_time(now, [7; 10]);
/// let case = Case::new(id, CaseKind::Escalation, Digest::of_bytes(b"shown"), now.plus_days(1));
///
/// let approved = decide(&case, &Submission::about(&case, Decision::Approve), now)?;
/// assert_eq!(approved.decision(), Some(&Decision::Approve));
/// let late = Submission::about(&case, Decision::Reject { reason: None });
/// assert!(matches!(decide(&approved, &late, now), Err(DecisionError::AlreadyDecided(_))));
/// # Ok::<(), DecisionError>(())
/// ```
pub fn decide(case: &Case, submission: &Submission, now: Timestamp) -> Result<Case, DecisionError> {
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

/// Why a decision does not answer what the person was shown; nothing, where it does.
///
/// Changed arguments of a proposal fit its `response_schema`; a question that allows no free text is answered with one of
/// its options; what was erased since can be refused, and not be approved.
///
/// ```
/// use answerback::case::{CaseKind, Decision, misfit};
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
            // A schema that cannot be used asks for nothing.
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

/// Whether the decision is usable by itself.
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

/// Why a decision does not hold.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// Somebody was first.
    #[error("the case is already decided: {0}")]
    AlreadyDecided(DecisionKind),
    /// The case lapsed undecided.
    #[error("the case lapsed at {0}")]
    Expired(Timestamp),
    /// The person saw something else than what the case is about.
    #[error("the decision is about other content than the case's; look at the case again")]
    OtherContent,
    /// The case changed since the person looked.
    #[error("the decision is about revision {seen}, the case is at {current}; look at it again")]
    Stale {
        /// The revision the person saw.
        seen: u64,
        /// The revision the case has.
        current: u64,
    },
    /// The case does not allow this decision.
    #[error("the case does not allow the decision {0}")]
    NotAllowed(DecisionKind),
    /// The decision itself cannot be used.
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
        let first = Submission::about(&open, Decision::Approve).with_by("ops");
        let decided = decide(&open, &first, at(10)).unwrap();
        assert_eq!((decided.revision, decided.decision()), (1, Some(&Decision::Approve)));
        // The same words again, even after the expiry: the stored result, unchanged.
        assert_eq!(decide(&decided, &first, at(5000)), Ok(decided.clone()));
        let second = Submission::about(&decided, Decision::Approve).with_by("somebody else");
        assert_eq!(
            decide(&decided, &second, at(11)),
            Err(DecisionError::AlreadyDecided(DecisionKind::Approve))
        );
    }

    #[test]
    fn a_deferral_keeps_it_open() {
        let open = case(CaseKind::Question);
        let later = Submission::about(&open, Decision::Defer { until: at(4000) });
        let deferred = decide(&open, &later, at(10)).unwrap();
        assert_eq!((deferred.expires, deferred.decision()), (at(4000), None));
        assert_eq!(decide(&deferred, &later, at(20)), Ok(deferred.clone()));
        // Somebody who still looks at the first revision has to look again.
        let stale = Submission::about(&open, Decision::Respond { message: "yes".into() });
        assert_eq!(
            decide(&deferred, &stale, at(20)),
            Err(DecisionError::Stale { seen: 0, current: 1 })
        );
        let fresh = Submission::about(&deferred, Decision::Respond { message: "yes".into() });
        assert!(decide(&deferred, &fresh, at(3999)).is_ok());
        assert_eq!(decide(&deferred, &fresh, at(4000)), Err(DecisionError::Expired(at(4000))));
    }

    #[test]
    fn what_does_not_hold() {
        let open = case(CaseKind::Escalation);
        let about = |decision| Submission::about(&open, decision);
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
            let submission = Submission::about(&open, decision).with_by("quince");
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
        let submission = Submission::about(&open, Decision::Modify { arguments: json!({"a": 1}) });
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
