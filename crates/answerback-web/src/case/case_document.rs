use answerback::case::{Case, CaseState};
use answerback::{Timestamp, UuidV7};
use answerback_store::recording::{ACKNOWLEDGED, case_stream};
use answerback_store::{CaseRecord, Store, StoreError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// A case in the form that clients receive, without internal members.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct CaseDocument {
    /// The case.
    #[schemars(with = "Value")]
    pub case: Case,
    /// The time when the case was opened.
    pub created: String,
    /// The content that the person sees.
    pub content: Value,
    /// The entry that the case belongs to.
    pub reference: Option<String>,
    /// True if the case expired without a decision.
    pub is_expired: bool,
    /// The agent's acknowledgement of the decision.
    pub acknowledged: Option<Value>,
}

impl CaseDocument {
    /// Creates the document of a case, with the agent's acknowledgement.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn of(record: CaseRecord, store: &Store, now: Timestamp) -> Result<Self, StoreError> {
        let acknowledged = match &record.case.state {
            CaseState::Decided { .. } => acknowledgement(store, &record.case.id)?,
            _ => None,
        };
        Ok(Self {
            is_expired: record.case.is_expired(now),
            created: record.created.to_offset_micros(),
            content: serde_json::from_slice(&record.content).unwrap_or_default(),
            reference: record.reference,
            case: record.case,
            acknowledged,
        })
    }
}

fn acknowledgement(store: &Store, case: &UuidV7) -> Result<Option<Value>, StoreError> {
    let newest = store.newest_events(&case_stream(case), 2)?;
    let event = newest.into_iter().find(|event| event.kind == ACKNOWLEDGED);
    Ok(event.map(|event| {
        let body: Value =
            serde_json::from_slice(&event.body.unwrap_or_default()).unwrap_or_default();
        let at = event.time.to_offset_micros();
        json!({"by": body["by"], "outcome": body["outcome"], "note": body["note"], "at": at})
    }))
}
