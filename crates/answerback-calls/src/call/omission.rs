//! Detects values that mean "nothing", such as `null`, in a field that could be omitted.

use answerback_findings::{ValidationError, call_codes};
use serde_json::Value;

use super::argument_preview::applying;
use super::schema::Schema;

/// The maximum number of findings that are examined. A message lists fewer.
const MOST: usize = 100;

/// True if a value means "nothing", as `null` and an empty text do.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => says_nothing(text),
        _ => false,
    }
}

/// True if a text means "nothing", such as an empty text, `None` or `undefined`.
pub(crate) fn says_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "None" | "nil" | "undefined" | "NULL")
}

/// Marks the findings whose field can be omitted, so that hint, repair, call to action and examples all give the same
/// advice.
pub(super) fn mark(findings: &mut [ValidationError], schema: &Schema, arguments: &Value) {
    let about_nothing = findings.iter_mut().filter(|finding| {
        let value = finding.field_path.find(arguments);
        concerns_value(finding) && value.is_some_and(is_nothing)
    });
    for finding in about_nothing.take(MOST) {
        finding.facts.is_omittable = is_omittable(finding, schema, arguments);
    }
}

fn concerns_value(finding: &ValidationError) -> bool {
    finding.is_error()
        && [
            &call_codes::TYPE_MISMATCH,
            &call_codes::PATTERN_MISMATCH,
            &call_codes::INVALID_ENUM_VALUE,
            &call_codes::STRING_LENGTH_VIOLATION,
            &call_codes::FORMAT_VIOLATION,
        ]
        .iter()
        .any(|rule| rule.code == finding.error_code)
}

/// True if no subschema that could apply to the object requires the field. Every branch of a union counts, because
/// the intended one is not certain.
fn is_omittable(finding: &ValidationError, schema: &Schema, arguments: &Value) -> bool {
    let Some((parent, name)) = finding.field_path.split_last() else { return false };
    let Some(Value::Object(members)) = parent.find(arguments) else { return false };
    if is_spelling_of_option(finding, schema, &members[name.as_ref()]) {
        return false;
    }
    let outline = &schema.outline;
    applying(outline, &parent).into_iter().all(|id| {
        let node = outline.node(id);
        let counts_fields = answerback_json::find(schema.source(), &node.place)
            .is_some_and(|rules| rules.get("minProperties").is_some());
        !node.opaque
            && !counts_fields
            && !node.required.iter().any(|required| *required == name)
            && !node.dependent_names.iter().any(|(trigger, names)| {
                members.contains_key(trigger) && names.iter().any(|other| *other == name)
            })
    })
}

/// True if a text such as `None` equals a permitted value, ignoring case.
fn is_spelling_of_option(finding: &ValidationError, schema: &Schema, value: &Value) -> bool {
    let Some(text) = value.as_str().map(str::trim).filter(|text| !text.is_empty()) else {
        return false;
    };
    let rule = finding.schema_path.as_ref().and_then(|path| schema.at(path));
    let listed = rule.and_then(Value::as_array).into_iter().flatten();
    let merged = finding.facts.values.as_deref().unwrap_or_default();
    listed
        .chain(merged)
        .chain(rule)
        .filter_map(Value::as_str)
        .any(|option| option.eq_ignore_ascii_case(text))
}
