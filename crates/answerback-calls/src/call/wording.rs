//! Maps a broken rule to its code, and to the sentence that the model reads.

use answerback_findings::{Preview, Rule, TRUNCATED, call_codes, preview};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::types::JsonType;
use serde_json::Value;

use super::expected::{bare, forbidden_combination};
use super::formats;
use super::patterns::LONG_TEXT;
use super::types::Types;

/// Returns the code of a broken rule. A rule that the contract's table does not name counts as a constraint.
pub(super) fn rule(kind: &ValidationErrorKind) -> &'static Rule {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Required { .. } => &call_codes::REQUIRED_FIELD_MISSING,
        Kind::Type { .. } => &call_codes::TYPE_MISMATCH,
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
            &call_codes::UNKNOWN_FIELD
        }
        Kind::MinItems { .. } | Kind::MaxItems { .. } | Kind::UniqueItems => {
            &call_codes::ARRAY_LENGTH_VIOLATION
        }
        Kind::Pattern { .. } | Kind::BacktrackLimitExceeded { .. } => &call_codes::PATTERN_MISMATCH,
        Kind::Enum { .. } | Kind::Constant { .. } => &call_codes::INVALID_ENUM_VALUE,
        Kind::MinLength { .. } | Kind::MaxLength { .. } => &call_codes::STRING_LENGTH_VIOLATION,
        Kind::Format { .. } => &call_codes::FORMAT_VIOLATION,
        _ => &call_codes::CONSTRAINT_VIOLATION,
    }
}

/// Returns the sentence for a text whose pattern was not matched. Either this text or another text of the call is too
/// long for the backtracking engine.
pub(super) fn not_matched(is_long: bool) -> String {
    if is_long {
        format!("Text is longer than {LONG_TEXT} characters, so its pattern was not checked")
    } else {
        format!(
            "A text of this call is longer than {LONG_TEXT} characters, so patterns with look-around were not checked"
        )
    }
}

/// Returns the sentence for a broken rule. `shown` is the value with secrets redacted.
pub(super) fn message(kind: &ValidationErrorKind, value: &Value, shown: &str) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => {
            format!("Type mismatch: expected {}, got {}", types(kind), Types::name_of(value))
        }
        Kind::Minimum { limit } => format!("Value out of range: {shown} is below minimum {limit}"),
        Kind::Maximum { limit } => format!("Value out of range: {shown} exceeds maximum {limit}"),
        Kind::ExclusiveMinimum { limit } => {
            format!("Value out of range: {shown} is not greater than {limit}")
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("Value out of range: {shown} is not less than {limit}")
        }
        Kind::MultipleOf { multiple_of } => {
            format!("Value out of range: {shown} is not a multiple of {multiple_of}")
        }
        Kind::MinLength { limit } => {
            format!("String length {} is below minimum {limit}", length(value))
        }
        Kind::MaxLength { limit } => {
            format!("String length {} exceeds maximum {limit}", length(value))
        }
        Kind::MinItems { limit } => {
            format!("Array length {} is below minimum {limit}", length(value))
        }
        Kind::MaxItems { limit } => {
            format!("Array length {} exceeds maximum {limit}", length(value))
        }
        Kind::AdditionalItems { limit } => {
            format!("Array has {} items, but only {limit} are allowed", length(value))
        }
        Kind::UnevaluatedItems { unexpected } => {
            format!("Array has {} items more than are allowed", unexpected.len())
        }
        Kind::UniqueItems => repeated(value),
        Kind::MinProperties { limit } => {
            format!("Object has {} fields, fewer than the minimum {limit}", length(value))
        }
        Kind::MaxProperties { limit } => {
            format!("Object has {} fields, more than the maximum {limit}", length(value))
        }
        Kind::Pattern { pattern } => format!("Value doesn't match pattern: {}", text(pattern)),
        Kind::Enum { .. } | Kind::Constant { .. } => {
            format!("Invalid enum value {}", quoted(shown))
        }
        Kind::Format { format } => {
            // A redacted value must not be described either.
            let is_shown = shown.starts_with('"');
            let difference = value.as_str().filter(|_| is_shown);
            match difference.and_then(|value| formats::difference(format, value)) {
                Some(difference) => format!("Invalid format: {}: {difference}", text(format)),
                None => format!("Invalid format: {}", text(format)),
            }
        }
        Kind::ContentEncoding { content_encoding } => {
            format!("Value is not encoded as {}", text(content_encoding))
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("Value is not of the media type {}", text(content_media_type))
        }
        Kind::FromUtf8 { .. } => "Encoded value is not text".to_owned(),
        Kind::Contains => contained("contains").to_owned(),
        Kind::Not { schema } => forbidden(schema, shown),
        Kind::FalseSchema => "No value is allowed here".to_owned(),
        Kind::PropertyNames { error } => {
            let name = bare(error.instance());
            let why = message(error.kind(), error.instance(), &preview(error.instance()));
            format!("Field name '{name}' is not allowed: {why}")
        }
        other => format!("Value breaks the rule '{}'", text(other.keyword())),
    }
}

/// Returns the types that a broken `type` rule allows.
pub(super) fn types(kind: &TypeKind) -> Types {
    let of = |name: JsonType| Types::of_keyword(&Value::from(name.to_string()));
    match kind {
        TypeKind::Single(name) => of(*name),
        TypeKind::Multiple(names) => names.iter().fold(Types::NONE, |set, name| set.with(of(name))),
    }
}

/// Formats a name or a piece of schema text for a sentence: on one line, of limited length, and without active
/// control characters.
pub(super) fn text(foreign: &str) -> String {
    let shown = Preview::new().show_text(foreign);
    let shown = shown.strip_prefix('"').unwrap_or(&shown);
    shown.strip_suffix('"').unwrap_or(shown).to_owned()
}

/// Puts single quotes around a preview of a value. They replace the double quotes of a string. The mark of a
/// truncated value stays outside.
fn quoted(shown: &str) -> String {
    let (value, mark) = match shown.strip_suffix(TRUNCATED) {
        Some(value) => (value, TRUNCATED),
        None => (shown, ""),
    };
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    format!("'{}'{mark}", inner.unwrap_or(value))
}

/// Returns the sentence for a value that a `not` forbids.
fn forbidden(rule: &Value, shown: &str) -> String {
    let rules = rule.as_object();
    if rules.is_some_and(|rules| rules.contains_key("enum") || rules.contains_key("const")) {
        return format!("Value {} is not allowed", quoted(shown));
    }
    let names = rules.and_then(forbidden_combination).unwrap_or_default();
    let quoted: Vec<String> = names.iter().map(|name| format!("'{}'", text(name))).collect();
    match quoted.as_slice() {
        [] => "Value has a form that is not allowed".to_owned(),
        [only] => format!("Field {only} is not allowed here"),
        [first @ .., last] => {
            format!("Fields {} and {last} are not allowed together", first.join(", "))
        }
    }
}

/// Returns the sentence for an array with too few or too many items of the kind that `contains` counts.
pub(super) fn contained(keyword: &str) -> &'static str {
    match keyword {
        "minContains" => "Array has too few items of the kind it must contain",
        "maxContains" => {
            "Array does not have a permitted number of items of the kind it must contain"
        }
        _ => "Array has no item of the kind it must contain",
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(elements) => elements.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    }
}

fn repeated(value: &Value) -> String {
    // The search compares pairs, so it is limited to the first items. The sentence only needs the first pair.
    const LOOKED_AT: usize = 200;
    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
    let elements = &elements[..elements.len().min(LOOKED_AT)];
    let pair = elements.iter().enumerate().find_map(|(index, element)| {
        elements[..index].iter().position(|earlier| earlier == element).map(|first| (first, index))
    });
    match pair {
        Some((first, second)) => {
            format!("Array items repeat: items {first} and {second} are equal")
        }
        None => "Array items repeat".to_owned(),
    }
}
