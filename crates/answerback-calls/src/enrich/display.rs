//! Prepares untrusted values and names for display: bounded in length, without control characters and
//! secrets.

use answerback_contracts::atdf::is_secret_name;
use answerback_findings::preview;
use answerback_json::Pointer;
use answerback_redaction::is_control_or_format;
use serde_json::{Map, Value};
use unicode_general_category::{GeneralCategory, get_general_category};

/// The text shown in place of a secret.
pub(super) const NOT_SHOWN: &str = "(not shown)";

/// The largest length of a field's name, in characters.
const LONGEST_NAME: usize = 128;
/// The largest length of a sentence, in characters.
const LONGEST_SENTENCE: usize = 300;
/// The largest size of an example that is shown as it is, in bytes of JSON.
const LARGEST_VALUE: usize = 400;

/// Returns a short string without control characters, or a scalar, as it is, and a preview of any other
/// value. Secrets are redacted.
pub(super) fn value(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) if text.chars().count() <= 100 && is_quiet(text) => {
            answerback_redaction::redact(text).into_owned().into()
        }
        other => preview(&answerback_redaction::redact_value(&without_secrets(other))).into(),
    }
}

/// Returns a place as a JSON Pointer, in one line of bounded length.
pub(super) fn pointer(place: &Pointer) -> String {
    sentence(&answerback_redaction::redact_pointer(place.as_str()))
}

/// True if any name in the path says that the value is a secret.
pub(super) fn is_secret_place(place: &Pointer) -> bool {
    place
        .tokens()
        .any(|name| is_secret_name(&name) || answerback_redaction::kind_of_name(&name).is_some())
}

/// True if an example is short enough and has no control characters, so that it may be shown as it is.
pub(super) fn is_showable(value: &Value) -> bool {
    let text = value.to_string();
    text.len() <= LARGEST_VALUE && is_quiet(&text)
}

/// Returns the text as one line of bounded length.
pub(super) fn sentence(text: &str) -> String {
    bounded(text, LONGEST_SENTENCE)
}

/// Returns a pattern of bounded length, without the backslashes that JSON would add.
pub(super) fn pattern(pattern: &str) -> String {
    bounded(pattern, LONGEST_NAME)
}

/// Returns the place of a field as people write it, such as `options.tags[2]`, or `whole` at the root.
pub(super) fn name(place: &Pointer, whole: &str) -> String {
    let mut name = String::new();
    for token in place.tokens() {
        if !name.is_empty() && !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
        {
            name.push('[');
            name.push_str(&token);
            name.push(']');
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&token);
        }
    }
    if name.is_empty() { whole.to_owned() } else { bounded(&name, LONGEST_NAME) }
}

/// Lists names in quotes, at most ten of them.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    list(names.into_iter().map(|name| preview(&Value::from(bounded(name, LONGEST_NAME)))))
}

/// Lists values as JSON, at most ten of them.
pub(super) fn values(values: &[Value]) -> String {
    list(values.iter().map(preview))
}

fn list(entries: impl Iterator<Item = String>) -> String {
    const MOST: usize = 10;
    let entries: Vec<String> = entries.collect();
    let more = entries.len().saturating_sub(MOST);
    let shown = entries.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Returns a copy in which the members with secret names are replaced by [`NOT_SHOWN`].
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let hidden = members.iter().map(|(name, member)| {
                let shown =
                    if is_secret_name(name) { NOT_SHOWN.into() } else { without_secrets(member) };
                (name.clone(), shown)
            });
            Value::Object(hidden.collect::<Map<_, _>>())
        }
        Value::Array(elements) => elements.iter().map(without_secrets).collect(),
        other => other.clone(),
    }
}

fn bounded(text: &str, longest: usize) -> String {
    // Redact before the text is cut, so that half a secret is never left over.
    let mut shown: String = answerback_redaction::redact(text)
        .chars()
        .map(|character| if is_quiet_character(character) { character } else { '\u{fffd}' })
        .take(longest + 1)
        .collect();
    if let Some((end, _)) = shown.char_indices().nth(longest) {
        shown.truncate(end);
        shown.pop();
        shown.push('…');
    }
    shown
}

fn is_quiet(text: &str) -> bool {
    text.chars().all(is_quiet_character)
}

/// True if a character is only displayed and looks the same everywhere. Control characters do something else,
/// and private-use characters look different in every font.
fn is_quiet_character(character: char) -> bool {
    !is_control_or_format(character)
        && get_general_category(character) != GeneralCategory::PrivateUse
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_small_quiet_and_without_secrets() {
        assert_eq!(value(&json!("a b")), "a b");
        assert_eq!(value(&json!(5)), 5);
        assert_eq!(value(&json!("a\u{202e}b")), "\"a\\u202eb\"");
        let nested =
            json!({"user": "x", "auth": [{"password": "hunter2"}], "client": {"apiKey": "k"}});
        assert_eq!(
            value(&nested),
            r#"{"user":"x","auth":"(not shown)","client":{"apiKey":"[redacted: API key]"}}"#
        );
        let key = format!("sk-proj-{}", "Zx9Kq2Lm8Vb4Nc7Tp1Rw6Ys3".repeat(2));
        let place = Pointer::root().join(&key);
        for shown in [value(&json!(key)).to_string(), sentence(&key), name(&place, "arguments")] {
            assert!(!shown.contains("Kq2Lm8"), "{shown}");
        }
        assert!(!is_showable(&json!("x".repeat(1000))) && !is_showable(&json!("\u{7f}")));
    }

    #[test]
    fn names_are_readable() {
        let place = |text: &str| Pointer::try_from(text).unwrap();
        assert_eq!(name(&place("/options/tags/2"), "arguments"), "options.tags[2]");
        assert_eq!(name(&place(""), "arguments"), "arguments");
        assert_eq!(name(&place("/a~1b\n"), "arguments"), "a/b\u{fffd}");
        assert_eq!(names(["a", "b"]), r#""a", "b""#);
        assert_eq!(
            values(&(0..12).map(Value::from).collect::<Vec<_>>()),
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
        );
    }
}
