use std::sync::Arc;

use answerback::UuidV7;
use answerback::case::CaseState;
use answerback_http::{Principal, Scope};
use answerback_store::system::now;
use answerback_store::{CaseRecord, StoreError};
use serde_json::Value;
use tokio::time::Instant;

use crate::Console;
use crate::case::CaseDocument;
use crate::reply::{IngestError, SubmittedReply, ingest_with_files};

impl Console {
    /// Records a reply with a question or proposal, and returns the id of its case.
    pub(crate) async fn request_decision(
        &self,
        reply: &Value,
        principal: &str,
    ) -> Result<UuidV7, DecisionRequestError> {
        let submitted = SubmittedReply::new(reply.to_string(), principal);
        let mut recorded = ingest_with_files(&self.store, None, &self.files, submitted).await?;
        self.live.nudge();
        if recorded.cases.is_empty() {
            Err(DecisionRequestError::NoCase)
        } else {
            Ok(recorded.cases.remove(0))
        }
    }

    /// Waits until the case is decided or expired, or until the deadline, and returns it. Returns `None` if the case
    /// does not exist. The principal who asked gets the decision as submitted; all others get the recorded one, which
    /// is redacted.
    pub(crate) async fn wait_for_decision(
        self: &Arc<Self>,
        id: &UuidV7,
        principal: &str,
        until: Instant,
    ) -> Result<Option<CaseDocument>, StoreError> {
        let mut level = self.live.subscribe().await?;
        loop {
            level.mark_unchanged();
            let (console, case, principal) = (Arc::clone(self), id.clone(), principal.to_owned());
            let read = move || {
                let record = console.store.case(&case)?;
                record.map(|record| console.case_for(&principal, record)).transpose()
            };
            let read = tokio::task::spawn_blocking(read).await;
            let found = read.unwrap_or_else(|error| Err(StoreError::unit(error.to_string())))?;
            let Some(case) = found else { return Ok(None) };
            if case.case.decision().is_some() || case.is_expired || Instant::now() >= until {
                return Ok(Some(case));
            }
            tokio::select! {
                _ = level.changed() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Returns the document of a case. The requester gets the decision as submitted, everyone else as recorded.
    fn case_for(&self, principal: &str, record: CaseRecord) -> Result<CaseDocument, StoreError> {
        let is_redacted = record.private.is_some() && record.case.decision().is_some();
        let submitted = if is_redacted && self.is_requester(&record, principal)? {
            self.host.submitted_decision(&record)
        } else {
            None
        };
        let mut document = CaseDocument::of(record, &self.store, now())?;
        if let (CaseState::Decided { submission, .. }, Some(decision)) =
            (&mut document.case.state, submitted)
        {
            submission.decision = decision;
        }
        Ok(document)
    }

    /// True if the principal may see the case: it submitted the reply, or it has the scope `read`.
    pub(crate) fn may_see_case(
        &self,
        record: &CaseRecord,
        principal: &Principal,
    ) -> Result<bool, StoreError> {
        if principal.has(Scope::Read) {
            return Ok(true);
        }
        self.is_requester(record, principal.name())
    }

    /// True if the case belongs to a reply or call of this principal.
    pub(crate) fn is_requester(
        &self,
        record: &CaseRecord,
        principal: &str,
    ) -> Result<bool, StoreError> {
        let index =
            record.reference.as_deref().and_then(|it| it.strip_prefix("entry/")?.parse().ok());
        let Some(index) = index else { return Ok(false) };
        let entry = self.store.entry(index)?;
        Ok(entry.is_some_and(|entry| entry.leaf.text("principal") == Some(principal)))
    }
}

/// The reason why no case was opened.
#[derive(Debug)]
pub(crate) enum DecisionRequestError {
    /// The reply contains no question and no proposal.
    NoCase,
    /// The reply was not recorded.
    Reply(IngestError),
}

impl std::fmt::Display for DecisionRequestError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoCase => formatter.write_str("the reply contains no question and no proposal"),
            Self::Reply(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for DecisionRequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reply(error) => error.source(),
            Self::NoCase => None,
        }
    }
}

impl From<IngestError> for DecisionRequestError {
    fn from(error: IngestError) -> Self {
        Self::Reply(error)
    }
}
