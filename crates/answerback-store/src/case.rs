use answerback::case::{Case, CaseKind};
use answerback::{Timestamp, UuidV7};

/// A case with the data that the store holds for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CaseRecord {
    /// The case itself.
    pub case: Case,
    /// The time at which the case was created.
    pub created: Timestamp,
    /// The content shown to the person, in the caller's own format. It is empty after an erasure.
    pub content: Vec<u8>,
    /// Data that only the caller can read, such as encrypted originals. It is removed when the case
    /// is decided or expires. The caller may store other private data with a decided case.
    pub private: Option<Vec<u8>>,
    /// The object that the case belongs to, such as [`crate::entry_reference`].
    pub reference: Option<String>,
}

/// The status of a case, as a list filter.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a case is waiting, decided or expired")]
pub enum CaseStatus {
    /// The case is open or deferred, and has not expired.
    #[default]
    Waiting,
    /// A person decided the case.
    Decided,
    /// The case expired without a decision.
    Expired,
}

/// Returns the stored word for a case's kind.
pub(crate) const fn kind_word(kind: CaseKind) -> &'static str {
    match kind {
        CaseKind::Proposal => "proposal",
        CaseKind::Question => "question",
        CaseKind::Escalation => "escalation",
    }
}

/// Removes the text that people wrote from the stored JSON of a case.
pub(crate) fn without_words(body: &str) -> serde_json::Result<String> {
    let case: Case = serde_json::from_str(body)?;
    serde_json::to_string(&case.without_words())
}

/// Selects the cases of a list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct CaseFilter {
    pub(crate) status: Option<CaseStatus>,
    pub(crate) kind: Option<CaseKind>,
}

impl CaseFilter {
    /// Selects only cases with this status.
    pub const fn with_status(mut self, status: CaseStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Selects only cases of this kind.
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
    /// The cursor of the next page, or `None` on the last page.
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
