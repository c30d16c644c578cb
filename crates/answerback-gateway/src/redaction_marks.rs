//! Replaces the redaction marks in corrected arguments with the values that they hide.

use answerback::finding::secrets;
use answerback::json::Pointer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Holds arguments as they were sent, and as people see them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RedactedArguments {
    sent: Value,
    #[serde(rename = "shown")]
    redacted: Value,
}

impl RedactedArguments {
    /// Returns the arguments if parts of them are hidden. `redacted` has the schema's secrets already removed.
    pub(crate) fn of(sent: &Value, redacted: Option<&Value>) -> Option<Self> {
        let redacted = secrets::redact_value(redacted.unwrap_or(sent));
        (redacted != *sent).then(|| Self { sent: sent.clone(), redacted })
    }
}

/// Returns the arguments that a person wrote, with every mark replaced by the original value at the same place.
pub(crate) fn fill_marks(
    written: &Value,
    original: Option<&RedactedArguments>,
) -> Result<Value, UnknownMark> {
    let original =
        original.map(|original| ValuePair { sent: &original.sent, redacted: &original.redacted });
    fill_value(written, original, &Pointer::root())
}

/// Holds the same place of the arguments as it was sent and as it is shown.
#[derive(Clone, Copy)]
struct ValuePair<'a> {
    sent: &'a Value,
    redacted: &'a Value,
}

fn fill_value(
    written: &Value,
    original: Option<ValuePair<'_>>,
    place: &Pointer,
) -> Result<Value, UnknownMark> {
    match written {
        Value::String(text) if has_mark(text) => original
            .and_then(|original| original.value_of(text))
            .ok_or_else(|| UnknownMark(place.clone())),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                let inner = original.and_then(|original| {
                    Some(ValuePair {
                        sent: original.sent.get(index)?,
                        redacted: original.redacted.get(index)?,
                    })
                });
                fill_value(element, inner, &place.join(&index.to_string()))
            })
            .collect(),
        Value::Object(members) => {
            let mut complete = Map::new();
            for (name, member) in members {
                let place = place.join(name);
                let original_name = if has_mark(name) {
                    let original_name = original.and_then(|original| original.name_of(name));
                    original_name.ok_or_else(|| UnknownMark(place.clone()))?
                } else {
                    name
                };
                let inner = original.and_then(|original| {
                    Some(ValuePair {
                        sent: original.sent.get(original_name)?,
                        redacted: original.redacted.get(name)?,
                    })
                });
                complete.insert(original_name.to_owned(), fill_value(member, inner, &place)?);
            }
            Ok(complete.into())
        }
        other => Ok(other.clone()),
    }
}

impl<'a> ValuePair<'a> {
    /// Returns the value that a text with marks stands for.
    fn value_of(self, text: &str) -> Option<Value> {
        if self.sent == self.redacted {
            // The original call already contained the mark.
            return None;
        }
        if self.redacted == text {
            return Some(self.sent.clone());
        }
        // The person changed the text around the marks.
        let (sent, redacted) = (self.sent.as_str()?, self.redacted.as_str()?);
        let hidden = secrets::find(sent);
        let all_marks = |text: &'_ str| -> Vec<String> {
            secrets::marks(text).map(|range| text[range].to_owned()).collect()
        };
        let is_same = secrets::redact(sent) == redacted && all_marks(text) == all_marks(redacted);
        if !is_same || hidden.len() != secrets::marks(text).count() {
            return None;
        }
        let mut complete = String::new();
        let mut end = 0;
        for (mark, secret) in secrets::marks(text).zip(hidden) {
            complete.push_str(&text[end..mark.start]);
            complete.push_str(&sent[secret.range]);
            end = mark.end;
        }
        complete.push_str(&text[end..]);
        Some(complete.into())
    }

    /// Returns the name of the only member that is shown like this.
    fn name_of(self, text: &str) -> Option<&'a str> {
        let mut names = self.sent.as_object()?.keys().filter(|name| secrets::redact(name) == text);
        let name = names.next().filter(|name| *name != text)?;
        names.next().is_none().then_some(name)
    }
}

/// Returns true if a text contains a redaction mark.
pub(crate) fn has_mark(text: &str) -> bool {
    secrets::marks(text).next().is_some()
}

/// Reports a mark that hides no known value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the mark at {} cannot be filled in: the original call hides nothing there; write the value itself",
    secrets::redact_pointer(.0.as_str())
)]
pub(crate) struct UnknownMark(Pointer);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URL: &str = "postgres://app:hunter2@db.example.com/orders";

    fn fill_example(written: &Value) -> Result<Value, String> {
        let sent = json!({"n": 0, "password": "swordfish", "deep": [{"url": URL}], "word": "xyzzy", "pin": 1234,
            "said": "[redacted: token]"});
        let redacted = json!({"n": 0, "password": "swordfish", "deep": [{"url": URL}], "word": "[redacted]", "pin": 1234,
            "said": "[redacted: token]"});
        let original = RedactedArguments::of(&sent, Some(&redacted)).unwrap();
        fill_marks(written, Some(&original)).map_err(|error| error.to_string())
    }

    #[test]
    fn marks_are_filled_in_where_they_stood() {
        for (written, expected) in [
            (json!({"n": 1, "x": "plain"}), json!({"n": 1, "x": "plain"})),
            (json!({"password": "[redacted: password]"}), json!({"password": "swordfish"})),
            (json!({"word": "[redacted]", "n": 2}), json!({"word": "xyzzy", "n": 2})),
            (json!({"pin": "[redacted: PIN]"}), json!({"pin": 1234})),
            (
                json!({"deep": [{"url": "postgres://app:[redacted: password]@db.example.com/orders"}]}),
                json!({"deep": [{"url": URL}]}),
            ),
            // The text around a mark may change.
            (
                json!({"deep": [{"url": "postgres://app:[redacted: password]@other/x"}]}),
                json!({"deep": [{"url": "postgres://app:hunter2@other/x"}]}),
            ),
        ] {
            assert_eq!(fill_example(&written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn a_mark_at_another_place_is_rejected() {
        for (written, place) in [
            (json!({"user": "[redacted: password]"}), "/user"),
            (json!({"password": "[redacted: token]"}), "/password"),
            (json!({"password": "my [redacted: password]"}), "/password"),
            (json!({"deep": [{}, {"url": "[redacted: password]"}]}), "/deep/1/url"),
            (
                json!({"deep": [{"url": "[redacted: password] [redacted: password]"}]}),
                "/deep/0/url",
            ),
            (json!({"said": "[redacted: token]"}), "/said"),
            (json!({"[redacted: token]": 1}), "/[redacted: token]"),
        ] {
            let error = fill_example(&written).unwrap_err();
            assert!(
                error.starts_with(&format!("the mark at {place} cannot")),
                "{written}: {error}"
            );
        }
        let written = json!({"password": "[redacted: password]"});
        assert!(fill_marks(&written, None).is_err());
        insta::assert_snapshot!(fill_marks(&written, None).unwrap_err(), @"the mark at /password cannot be filled in: the original call hides nothing there; write the value itself");
    }

    #[test]
    fn arguments_without_secrets_are_not_stored() {
        assert!(RedactedArguments::of(&json!({"n": 1}), None).is_none());
        assert!(RedactedArguments::of(&json!({"password": "swordfish"}), None).is_some());
    }
}
