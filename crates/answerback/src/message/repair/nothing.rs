//! Nothing, sent for a field that may be left out.

use serde_json::Value;

use super::change::Change;
use crate::call::{Confidence, Schema, Types};
use crate::finding::{ValidationError, val};

/// The change for a value that says "nothing", where its schema does not take it.
///
/// A `null` is what the absence of a field looks like in most languages; an empty text or the word for
/// null says it less clearly.
pub(super) fn change(schema: &Schema, finding: &ValidationError, value: &Value) -> Option<Change> {
    let confidence = match value {
        Value::Null => Confidence::Safe,
        Value::String(text) if says_nothing(text) => Confidence::Guess,
        _ => return None,
    };
    let place = &finding.field_path;
    let path = finding.schema_path.as_ref()?;
    if !value.is_null()
        && finding.error_code == val::TYPE_MISMATCH.code
        && schema.at(path).is_some_and(|keyword| Types::of_keyword(keyword).meets(Types::NULL))
    {
        return Some(Change::replace(place, Value::Null, Confidence::Safe));
    }
    let (_, name) = place.split_last()?;
    // Only a member of an object can be left out: without an element the others would move up.
    let tokens: Vec<_> = path.tokens().collect();
    let declared =
        tokens.windows(2).rposition(|pair| pair[0] == "properties" && pair[1] == name)?;
    let mut owner = crate::json::Pointer::root();
    for token in &tokens[..declared] {
        owner = owner.join(token);
    }
    let required = schema.at(&owner)?.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|other| *other == *name));
    (!is_required).then(|| Change::remove(place, confidence))
}

/// Whether a text stands for "nothing".
pub(super) fn says_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "None" | "nil" | "undefined" | "NULL")
}
