//! What those who follow are told of a case: that it was decided or put off, and that the agent has heard.

use answerback::UuidV7;
use answerback::case::{Case, CaseState};
use answerback_store::{StoreError, Transaction, case_reference};
use serde_json::{Map, Value, json};

/// Streams whose names begin so say what became of cases. They are [our own](answerback_store::OWN_STREAMS).
pub const CASE_STREAMS: &str = "answerback/case/";
/// The event that says an agent has seen the decision.
pub const ACKNOWLEDGED: &str = "acknowledged";

/// The stream of what became of a case.
pub fn case_stream(case: &UuidV7) -> String {
    format!("{CASE_STREAMS}{case}")
}

/// Tells that a case was decided or put off, in the transaction that does it, so that whoever follows hears of it
/// wherever it was done. What was decided is told; the words are not, since they are in the case.
///
/// # Errors
///
/// When it cannot be written.
pub fn tell_decision(transaction: &mut dyn Transaction, case: &Case) -> Result<(), StoreError> {
    let word = match &case.state {
        CaseState::Open => return Ok(()),
        CaseState::Deferred { .. } => "deferred",
        CaseState::Decided { .. } => "decided",
    };
    let body = Value::Object(about(case)).to_string();
    let told = transaction.append_event(&case_stream(&case.id), word, None, body.as_bytes());
    told.map(|_| ())
}

/// Tells that an agent has seen the decision, and what it says of it, which goes with what the person said. The stream
/// of the case ends with it, so there is one.
///
/// # Errors
///
/// When it was told before, or cannot be written.
pub fn tell_acknowledgement(
    transaction: &mut dyn Transaction,
    case: &Case,
    said: Map<String, Value>,
) -> Result<(), StoreError> {
    let mut body = about(case);
    body.extend(said);
    let (stream, body) = (case_stream(&case.id), Value::Object(body).to_string());
    let reference = case_reference(&case.id);
    transaction.append_event(&stream, ACKNOWLEDGED, Some(&reference), body.as_bytes())?;
    transaction.end_stream(&stream, None).map(|_| ())
}

fn about(case: &Case) -> Map<String, Value> {
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
    use answerback_store::OWN_STREAMS;

    use super::*;

    #[test]
    fn what_is_told_of_cases_is_not_pruned() {
        assert!(CASE_STREAMS.starts_with(OWN_STREAMS));
    }
}
