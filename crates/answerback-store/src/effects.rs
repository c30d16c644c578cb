//! The effects of a unit of work on cases and retry states, as an entry of the ledger records them.
//!
//! The tables of cases and retry states are outside the tree. A part named [`EFFECT`] commits to
//! the changes that a unit made there. A verifier can then detect rows that were edited or deleted
//! later. `docs/reference/ledger-format.md` specifies the format.

use answerback::case::{Case, CaseState};
use answerback::retry::{RetryKey, RetryState};
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::{Draft, LeafId, LeafKind, LeafToken};
use serde::Serialize;

use crate::StoreError;

/// The name of the part that records effects.
pub(crate) const EFFECT: &str = "effect";

/// Collects the effects that no entry of the unit records yet.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Effects {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cases: Vec<CaseEffect>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<AttemptEffect>,
    /// The first change. It gets an entry of its own if the unit appends no suitable entry.
    #[serde(skip)]
    first: Option<Change>,
}

/// The state of a case after a unit.
#[derive(Debug, Serialize)]
struct CaseEffect {
    id: String,
    revision: u64,
    status: &'static str,
    /// The expiry as Unix time in milliseconds.
    expires: i64,
    /// SHA-256 of the case as its row stores it.
    body_sha256: Digest,
    /// SHA-256 of the content shown to the person.
    content_sha256: Digest,
}

/// A retry state that a case blocks or blocked.
#[derive(Debug, Serialize)]
struct AttemptEffect {
    case: String,
    /// SHA-256 of the retry key. The key itself could contain the name of a conversation.
    key_sha256: Digest,
    phase: EffectPhase,
    /// The expiry as Unix time in milliseconds.
    expires: i64,
}

/// The phase of a retry state.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum EffectPhase {
    /// The state is blocked until a person decides.
    Blocked,
    /// A person rejected the call. Nothing runs until the state expires.
    Stopped,
    /// The model may try again.
    Open,
    /// The state no longer exists.
    None,
}

/// The subject of an entry that records only effects.
#[derive(Debug)]
enum Change {
    /// A case was opened or decided.
    Case(Box<Case>),
    /// A retry state was unblocked without a decision.
    Release(UuidV7),
}

/// The case that blocked a stored retry state when a unit last read it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Block {
    /// The id of the blocking case.
    pub(crate) case: UuidV7,
    /// The time at which the retry state expires.
    pub(crate) expires: Timestamp,
}

impl Block {
    /// Returns the block of a retry state, if a case blocks it.
    pub(crate) fn of(state: &RetryState) -> Option<Self> {
        // Building an escalation is expensive, so do it only for blocked states.
        let escalation = state.is_blocked().then(|| state.escalation()).flatten()?;
        Some(Self { case: escalation.id, expires: state.expires() })
    }
}

impl Effects {
    pub(crate) fn is_empty(&self) -> bool {
        self.cases.is_empty() && self.attempts.is_empty()
    }

    /// True if the effects include a change of this case.
    pub(crate) fn has_case(&self, case: &UuidV7) -> bool {
        let id = case.as_str().to_ascii_lowercase();
        self.cases.iter().any(|effect| effect.id == id)
    }

    /// Records the state of a case after the unit, with the content shown to the person.
    pub(crate) fn note_case(&mut self, case: &Case, content: &[u8]) -> Result<(), StoreError> {
        let body = serde_json::to_vec(case).map_err(StoreError::unit)?;
        self.cases.push(CaseEffect {
            id: case.id.as_str().to_ascii_lowercase(),
            revision: case.revision,
            status: match case.state {
                CaseState::Open => "open",
                CaseState::Deferred { .. } => "deferred",
                CaseState::Decided { .. } => "decided",
            },
            expires: case.expires.unix_millis(),
            body_sha256: Digest::of_bytes(&body),
            content_sha256: Digest::of_bytes(content),
        });
        self.first.get_or_insert_with(|| Change::Case(Box::new(case.clone())));
        Ok(())
    }

    /// Records that a case blocks a retry state until the case expires.
    pub(crate) fn note_block(&mut self, case: &Case, key: &RetryKey) {
        self.push_attempt(&case.id, key, EffectPhase::Blocked, case.expires);
    }

    /// Records the new state of a retry state that a case blocked.
    pub(crate) fn note_attempt(
        &mut self,
        before: &Block,
        key: &RetryKey,
        after: Option<&RetryState>,
    ) {
        let (phase, expires) = match after {
            None => (EffectPhase::None, before.expires),
            Some(state) if !state.is_blocked() => (EffectPhase::Open, state.expires()),
            Some(state) if Block::of(state).is_some() => (EffectPhase::Blocked, state.expires()),
            Some(state) => (EffectPhase::Stopped, state.expires()),
        };
        self.push_attempt(&before.case, key, phase, expires);
        self.first.get_or_insert_with(|| Change::Release(before.case.clone()));
    }

    fn push_attempt(
        &mut self,
        case: &UuidV7,
        key: &RetryKey,
        phase: EffectPhase,
        expires: Timestamp,
    ) {
        self.attempts.push(AttemptEffect {
            case: case.as_str().to_ascii_lowercase(),
            key_sha256: Digest::of_bytes(key.as_str().as_bytes()),
            phase,
            expires: expires.unix_millis(),
        });
    }

    /// True if an entry of this kind may contain effects. A verifier ignores effects in other
    /// kinds.
    pub(crate) const fn fit(kind: LeafKind) -> bool {
        matches!(kind, LeafKind::Escalation | LeafKind::Decision)
    }

    /// Returns the content of the part.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(StoreError::unit)
    }

    /// Creates the entry that records the effects if the unit appended no suitable entry.
    pub(crate) fn draft(&self) -> Result<Option<Draft>, StoreError> {
        let id = |case: &UuidV7| LeafId::try_from(case).map_err(StoreError::unit);
        Ok(match &self.first {
            None => None,
            Some(Change::Release(case)) => {
                let released = LeafToken::new("released").map_err(StoreError::unit)?;
                Some(Draft::release(id(case)?).with_outcome(&released))
            }
            Some(Change::Case(case)) => {
                let (id, digest, revision) = (id(&case.id)?, case.digest, case.revision);
                Some(match &case.state {
                    CaseState::Open => Draft::escalation(id, digest, revision),
                    CaseState::Deferred { submission, .. }
                    | CaseState::Decided { submission, .. } => {
                        let word = submission.decision.kind().as_str();
                        let word = LeafToken::new(word).map_err(StoreError::unit)?;
                        Draft::decision(id, word, digest, revision)
                    }
                })
            }
        })
    }
}
