//! Events about cases for viewers: a case was decided or deferred, or an agent acknowledged the
//! decision.

use crate::{StoreError, Transaction, case_reference};
use answerback::UuidV7;
use answerback::case::{Case, CaseState};
use serde_json::{Map, Value, json};

/// The prefix of the streams that report on cases. They are among [our own
/// streams](crate::OWN_STREAMS).
pub const CASE_STREAMS: &str = "answerback/case/";
/// The kind of the event that an agent has seen the decision.
pub const ACKNOWLEDGED: &str = "acknowledged";

/// Returns the name of a case's stream.
pub fn case_stream(case: &UuidV7) -> String {
    format!("{CASE_STREAMS}{case}")
}

/// Appends an event that a case was decided or deferred. Call it in the same transaction, so that
/// viewers get it no matter which program decided. The event contains the kind of the decision. It
/// does not contain the person's words, which are in the case.
///
/// # Errors
///
/// Returns an error if the event cannot be written.
pub fn append_decision_event(
    transaction: &mut dyn Transaction,
    case: &Case,
) -> Result<(), StoreError> {
    let word = match &case.state {
        CaseState::Open => return Ok(()),
        CaseState::Deferred { .. } => "deferred",
        CaseState::Decided { .. } => "decided",
    };
    let body = Value::Object(case_summary(case)).to_string();
    transaction.append_event(&case_stream(&case.id), word, None, body.as_bytes()).map(|_| ())
}

/// Appends an event that an agent has seen the decision, with the agent's own `remarks`.
/// Erasing the person's words also erases this event. It ends the stream of the case, so there is
/// only one.
///
/// # Errors
///
/// Returns an error if the decision was already acknowledged, or the event cannot be written.
pub fn append_acknowledgement_event(
    transaction: &mut dyn Transaction,
    case: &Case,
    remarks: Map<String, Value>,
) -> Result<(), StoreError> {
    let mut body = case_summary(case);
    body.extend(remarks);
    let (stream, body) = (case_stream(&case.id), Value::Object(body).to_string());
    let reference = case_reference(&case.id);
    transaction.append_event(&stream, ACKNOWLEDGED, Some(&reference), body.as_bytes())?;
    transaction.end_stream(&stream, None).map(|_| ())
}

fn case_summary(case: &Case) -> Map<String, Value> {
    let decision = match &case.state {
        CaseState::Open => None,
        CaseState::Deferred { submission, .. } | CaseState::Decided { submission, .. } => {
            Some(submission.decision.kind().as_str())
        }
    };
    Map::from_iter([
        ("kind".to_owned(), json!(case.kind)),
        ("decision".to_owned(), json!(decision)),
    ])
}

#[cfg(test)]
mod tests {
    use crate::OWN_STREAMS;

    use super::*;

    #[test]
    fn pruning_keeps_the_events_of_cases() {
        assert!(CASE_STREAMS.starts_with(OWN_STREAMS));
    }
}
