//! Nothing, sent for a field that may be left out.

use answerback_findings::{ValidationError, call_codes};
use answerback_parse::Confidence;
use serde_json::Value;

use super::change::RepairStep;
use crate::call::{Schema, Types, says_nothing};

/// The change for a value that says "nothing", where its schema does not take it.
///
/// A `null` is what the absence of a field looks like in most languages; an empty text or the word for
/// null says it less clearly.
pub(super) fn change(
    schema: &Schema,
    finding: &ValidationError,
    value: &Value,
) -> Option<RepairStep> {
    let confidence = match value {
        Value::Null => Confidence::Safe,
        Value::String(text) if says_nothing(text) => Confidence::Guess,
        _ => return None,
    };
    let place = &finding.field_path;
    let path = finding.schema_path.as_ref()?;
    if !value.is_null()
        && finding.error_code == call_codes::TYPE_MISMATCH.code
        && schema.at(path).is_some_and(|keyword| Types::of_keyword(keyword).meets(Types::NULL))
    {
        return Some(RepairStep::rewrite(place, Value::Null, Confidence::Safe));
    }
    let change =
        RepairStep { is_lossless: value.is_null(), ..RepairStep::remove(place, confidence) };
    finding.facts.is_omittable.then_some(change)
}
