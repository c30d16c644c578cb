//! Formats values on one line, and reads members of objects of any shape.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Formats a value on one line of about `most` characters: a string as it is, anything else as JSON.
pub(crate) fn brief(value: &Value, most: usize) -> String {
    match value {
        Value::String(text) => {
            let mut shown = String::new();
            push_bounded(&mut shown, text, most);
            shown
        }
        other => json(other, most),
    }
}

/// Formats a value as JSON on one line of about `most` characters. It stops once the line is full, because a document
/// may have a hundred thousand nodes.
pub(crate) fn json(value: &Value, most: usize) -> String {
    let mut shown = String::new();
    push(&mut shown, value, most);
    shown
}

fn push(shown: &mut String, value: &Value, most: usize) {
    match value {
        Value::String(text) => {
            shown.push('"');
            push_bounded(shown, text, most);
            shown.push('"');
        }
        Value::Array(items) => {
            shown.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(shown, index);
                if shown.len() >= most {
                    shown.push('…');
                    break;
                }
                push(shown, item, most);
            }
            shown.push(']');
        }
        Value::Object(members) => {
            shown.push('{');
            for (index, (name, item)) in members.iter().enumerate() {
                separate(shown, index);
                if shown.len() >= most {
                    shown.push('…');
                    break;
                }
                push_bounded(shown, name, most);
                shown.push_str(": ");
                push(shown, item, most);
            }
            shown.push('}');
        }
        // Writing to a string cannot fail.
        scalar => drop(write!(shown, "{scalar}")),
    }
}

fn separate(shown: &mut String, index: usize) {
    if index > 0 {
        shown.push_str(", ");
    }
}

fn push_bounded(shown: &mut String, text: &str, most: usize) {
    let room = most.saturating_sub(shown.len()).max(8);
    match text.char_indices().nth(room) {
        None => shown.push_str(text),
        Some((at, _)) => {
            shown.push_str(&text[..at]);
            shown.push('…');
        }
    }
}

/// Returns a member as text, unless it is blank. A value of another type is formatted as JSON.
pub(crate) fn text<'d>(members: &'d Map<String, Value>, name: &str) -> Option<Cow<'d, str>> {
    match members.get(name)? {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other if is_blank(other) => None,
        other => Some(Cow::Owned(json(other, 200))),
    }
}

/// Returns a member as a list. It is empty if the member is missing or of another type.
pub(crate) fn list<'d>(members: &'d Map<String, Value>, name: &str) -> &'d [Value] {
    members.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the members that are neither known nor blank.
pub(crate) fn rest(members: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    members
        .iter()
        .filter(|(name, value)| !known.contains(&name.as_str()) && !is_blank(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// True for null and for an empty string, list or object.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Names the type of a value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_line_and_not_too_long() {
        assert_eq!(brief(&json!("a \"b\""), 20), "a \"b\"");
        assert_eq!(brief(&json!({"a": [1, "x", null]}), 40), r#"{a: [1, "x", null]}"#);
        let long = Value::from(vec!["abcdefgh"; 100_000]);
        assert_eq!(json(&long, 24), r#"["abcdefgh", "abcdefgh", …]"#);
        assert!(brief(&Value::from("é".repeat(10_000_000)), 50).chars().count() < 60);
    }
}
