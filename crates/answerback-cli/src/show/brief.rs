//! Values on one line, and members of objects that may be anything.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A value on one line of about `most` characters: a text as it is, the rest as JSON.
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

/// A value as JSON on one line of about `most` characters. It looks at no more of the value than
/// it shows: a document may hold a hundred thousand nodes where we have room for ten.
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

/// A member that says something, as text. Where the contract wants a text and something else
/// stands there, that is shown.
pub(crate) fn text<'d>(members: &'d Map<String, Value>, name: &str) -> Option<Cow<'d, str>> {
    match members.get(name)? {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other if is_blank(other) => None,
        other => Some(Cow::Owned(json(other, 200))),
    }
}

/// A member as a list: what is there, or nothing.
pub(crate) fn list<'d>(members: &'d Map<String, Value>, name: &str) -> &'d [Value] {
    members.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The members that are not among the known ones and say something.
pub(crate) fn rest(members: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    members
        .iter()
        .filter(|(name, value)| !known.contains(&name.as_str()) && !is_blank(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whether a value says nothing: null, an empty text, list or object.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What kind of value it is, in words.
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
