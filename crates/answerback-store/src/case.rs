use answerback::case::{Case, CaseKind};
use answerback::{Timestamp, UuidV7};

use crate::engine::{EngineError, EngineResult};

/// A case with what the store keeps beside it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CaseRecord {
    /// The case itself.
    pub case: Case,
    /// When it came in.
    pub created: Timestamp,
    /// What the person is shown, in the caller's own form. Empty once it was erased.
    pub content: Vec<u8>,
    /// What only the caller can read, such as encrypted originals. Gone when the case is decided, unless the caller keeps
    /// something else with it then, and when its time is over.
    pub private: Option<Vec<u8>>,
    /// What it belongs to, such as [`crate::entry_reference`].
    pub reference: Option<String>,
}

/// Where a case stands, for a list.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a case waits, was decided, or lapsed")]
pub enum CaseStatus {
    /// It waits, open or put off.
    #[default]
    Waiting,
    /// Somebody decided.
    Decided,
    /// It lapsed undecided.
    Lapsed,
}

/// A case's kind as a store keeps it.
pub(crate) const fn kind_word(kind: CaseKind) -> &'static str {
    match kind {
        CaseKind::Proposal => "proposal",
        CaseKind::Question => "question",
        CaseKind::Escalation => "escalation",
    }
}

/// A case as a store keeps it, without what people said of it.
pub(crate) fn without_words(body: &str) -> EngineResult<String> {
    let damaged = |error: serde_json::Error| EngineError::damaged(error.to_string());
    let case: Case = serde_json::from_str(body).map_err(damaged)?;
    serde_json::to_string(&case.without_words()).map_err(damaged)
}

/// Which cases a list holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct CaseFilter {
    pub(crate) status: Option<CaseStatus>,
    pub(crate) kind: Option<CaseKind>,
}

impl CaseFilter {
    /// Only cases that stand so.
    pub const fn with_status(mut self, status: CaseStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Only cases of this kind.
    pub const fn with_kind(mut self, kind: CaseKind) -> Self {
        self.kind = Some(kind);
        self
    }
}

/// A page of a list of cases, oldest first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CasePage {
    /// The cases.
    pub cases: Vec<CaseRecord>,
    /// Where the next page goes on, when there is one.
    pub next: Option<UuidV7>,
}

impl CasePage {
    pub(crate) fn of(mut cases: Vec<CaseRecord>, limit: usize) -> Self {
        let more = cases.len() > limit;
        cases.truncate(limit);
        let next = cases.last().filter(|_| more).map(|last| last.case.id.clone());
        Self { cases, next }
    }
}
