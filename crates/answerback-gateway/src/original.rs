//! Stores the arguments of the call that opened a case, and fills them into corrected arguments.

use answerback::UuidV7;
use answerback::call::Schema;
use answerback::finding::secrets;
use answerback::json::Pointer;
use answerback_store::CaseRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::seal::{Purpose, Seal};

/// The size limit for stored arguments, in bytes of JSON.
const LARGEST: usize = 1 << 20;
/// The size limit for the schema that is stored with them.
const LARGEST_SCHEMA: usize = 1 << 18;

/// Holds a case's private data, which is stored until the case closes.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Kept {
    /// The key that the case's calls are counted under.
    pub(crate) retry_key: String,
    /// The encrypted original arguments, if parts of them are hidden from the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<String>,
    /// The schema that corrected arguments must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    /// True if a program waits for the decision. It receives the complete decision, while a model receives the
    /// recorded one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_awaited: bool,
}

impl Kept {
    /// Creates the private data of a new case. Arguments that cannot be encrypted are not stored, and the person
    /// must then enter the hidden values.
    pub(crate) fn new(
        retry_key: &str,
        case: &UuidV7,
        original: Option<&Original>,
        schema: Option<&Value>,
        seal: Option<&Seal>,
    ) -> Self {
        let sealed = original.zip(seal).and_then(|(original, seal)| {
            let bytes = zeroize::Zeroizing::new(serde_json::to_vec(original).ok()?);
            if bytes.len() > LARGEST {
                return None;
            }
            let sealed = seal.close(Purpose::Original, case, &bytes);
            sealed
                .inspect_err(
                    |error| tracing::warn!(%case, %error, "the original arguments are not kept"),
                )
                .ok()
        });
        // An oversized schema is not stored. The next call is checked anyway.
        let schema = schema.filter(|schema| schema.to_string().len() <= LARGEST_SCHEMA).cloned();
        Self { retry_key: retry_key.to_owned(), original: sealed, schema, is_awaited: false }
    }

    /// Sets if a program waits for the decision.
    pub(crate) fn with_awaited(mut self, is_awaited: bool) -> Self {
        self.is_awaited = is_awaited;
        self
    }

    /// Returns the schema that the arguments of the case's calls must fit.
    pub(crate) fn schema(&self) -> Option<Schema> {
        Schema::compile(self.schema.clone()?).ok()
    }

    /// Reads the private data of a case.
    pub(crate) fn of(record: &CaseRecord) -> Option<Self> {
        serde_json::from_slice(record.private.as_ref()?).ok()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decrypts the original arguments, if they are stored and readable.
    pub(crate) fn original(&self, case: &UuidV7, seal: Option<&Seal>) -> Option<Original> {
        let opened = seal?.open(Purpose::Original, case, self.original.as_ref()?);
        let opened = opened
            .inspect_err(
                |error| tracing::warn!(%case, %error, "the original arguments cannot be read"),
            )
            .ok()?;
        serde_json::from_slice(&opened).ok()
    }
}

/// Holds arguments as they were sent, and as people see them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Original {
    sent: Value,
    shown: Value,
}

impl Original {
    /// Returns the arguments if parts of them are hidden. `shown` has the schema's secrets already removed.
    pub(crate) fn of(sent: &Value, shown: Option<&Value>) -> Option<Self> {
        let shown = secrets::redact_value(shown.unwrap_or(sent));
        (shown != *sent).then(|| Self { sent: sent.clone(), shown })
    }
}

/// Returns the arguments that a person wrote, with every mark replaced by the original value at the same place.
pub(crate) fn filled(written: &Value, original: Option<&Original>) -> Result<Value, Unfilled> {
    let original = original.map(|original| Pair { sent: &original.sent, shown: &original.shown });
    fill(written, original, &Pointer::root())
}

/// Holds the same place of the arguments as it was sent and as it is shown.
#[derive(Clone, Copy)]
struct Pair<'a> {
    sent: &'a Value,
    shown: &'a Value,
}

fn fill(written: &Value, original: Option<Pair<'_>>, place: &Pointer) -> Result<Value, Unfilled> {
    match written {
        Value::String(text) if has_mark(text) => original
            .and_then(|original| original.behind(text))
            .ok_or_else(|| Unfilled(place.clone())),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                let below = original.and_then(|original| {
                    Some(Pair {
                        sent: original.sent.get(index)?,
                        shown: original.shown.get(index)?,
                    })
                });
                fill(element, below, &place.join(&index.to_string()))
            })
            .collect(),
        Value::Object(members) => {
            let mut whole = Map::new();
            for (name, member) in members {
                let place = place.join(name);
                let sent_name = if has_mark(name) {
                    let sent_name = original.and_then(|original| original.name_behind(name));
                    sent_name.ok_or_else(|| Unfilled(place.clone()))?
                } else {
                    name
                };
                let below = original.and_then(|original| {
                    Some(Pair {
                        sent: original.sent.get(sent_name)?,
                        shown: original.shown.get(name)?,
                    })
                });
                whole.insert(sent_name.to_owned(), fill(member, below, &place)?);
            }
            Ok(whole.into())
        }
        other => Ok(other.clone()),
    }
}

impl<'a> Pair<'a> {
    /// Returns the value that a text with marks stands for.
    fn behind(self, text: &str) -> Option<Value> {
        if self.sent == self.shown {
            // The original call already contained the mark.
            return None;
        }
        if self.shown == text {
            return Some(self.sent.clone());
        }
        // The person changed the text around the marks.
        let (sent, shown) = (self.sent.as_str()?, self.shown.as_str()?);
        let hidden = secrets::find(sent);
        let all_marks = |text: &'_ str| -> Vec<String> {
            secrets::marks(text).map(|range| text[range].to_owned()).collect()
        };
        let is_same = secrets::redact(sent) == shown && all_marks(text) == all_marks(shown);
        if !is_same || hidden.len() != secrets::marks(text).count() {
            return None;
        }
        let mut whole = String::new();
        let mut end = 0;
        for (mark, secret) in secrets::marks(text).zip(hidden) {
            whole.push_str(&text[end..mark.start]);
            whole.push_str(&sent[secret.range]);
            end = mark.end;
        }
        whole.push_str(&text[end..]);
        Some(whole.into())
    }

    /// Returns the name of the only member that is shown like this.
    fn name_behind(self, shown: &str) -> Option<&'a str> {
        let mut names = self.sent.as_object()?.keys().filter(|name| secrets::redact(name) == shown);
        let name = names.next().filter(|name| *name != shown)?;
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
pub(crate) struct Unfilled(Pointer);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URL: &str = "postgres://app:hunter2@db.example.com/orders";

    fn told(written: &Value) -> Result<Value, String> {
        let sent = json!({"n": 0, "password": "swordfish", "deep": [{"url": URL}], "word": "xyzzy", "pin": 1234,
            "said": "[redacted: token]"});
        let shown = json!({"n": 0, "password": "swordfish", "deep": [{"url": URL}], "word": "[redacted]", "pin": 1234,
            "said": "[redacted: token]"});
        let original = Original::of(&sent, Some(&shown)).unwrap();
        filled(written, Some(&original)).map_err(|unfilled| unfilled.to_string())
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
            assert_eq!(told(&written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn a_mark_elsewhere_is_refused_by_its_place() {
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
            let told = told(&written).unwrap_err();
            assert!(told.starts_with(&format!("the mark at {place} cannot")), "{written}: {told}");
        }
        let written = json!({"password": "[redacted: password]"});
        assert!(filled(&written, None).is_err());
        insta::assert_snapshot!(filled(&written, None).unwrap_err(), @"the mark at /password cannot be filled in: the original call hides nothing there; write the value itself");
    }

    #[test]
    fn only_what_is_hidden_is_kept() {
        assert!(Original::of(&json!({"n": 1}), None).is_none());
        assert!(Original::of(&json!({"password": "swordfish"}), None).is_some());
    }
}
