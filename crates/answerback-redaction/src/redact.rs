use std::borrow::Cow;
use std::ops::Range;

use answerback_json::{push_token, unescape};
use serde_json::Value;

use crate::pairs::{Elements, Siblings};
use crate::scan::{self, find, find_cut};
use crate::secret::SecretSpan;

/// Replaces the secret parts of a text with marks.
///
/// ```
/// use answerback_redaction::redact;
///
/// assert_eq!(
///     redact("postgres://app:hunter2@db.example.com/orders"),
///     "postgres://app:[redacted: password]@db.example.com/orders",
/// );
/// assert_eq!(redact("see www.example.com, version 1.2.3"), "see www.example.com, version 1.2.3");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    marked(text, find(text))
}

/// Works like [`redact`] for a text that may end in the middle of a secret.
pub fn redact_cut(text: &str) -> Cow<'_, str> {
    marked(text, find_cut(text))
}

/// Replaces the found secrets of a text with marks.
pub(crate) fn marked(text: &str, secrets: Vec<SecretSpan>) -> Cow<'_, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut shown = 0;
    for SecretSpan { range, kind } in secrets {
        redacted.push_str(&text[shown..range.start]);
        redacted.push_str(kind.mark());
        shown = range.end;
    }
    redacted.push_str(&text[shown..]);
    Cow::Owned(redacted)
}

/// Iterates over the byte ranges of the marks in a text: those of [`SecretKind::mark`](crate::SecretKind::mark), and
/// `[redacted]`, which replaces values that a schema marks as secret.
pub fn marks(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    const BEGINNING: &str = "[redacted";
    /// More than the length of any mark.
    const LONGEST: usize = 32;
    text.match_indices(BEGINNING).filter_map(|(start, _)| {
        let rest = &text.as_bytes()[start + BEGINNING.len()..];
        let length = rest.iter().take(LONGEST).position(|byte| *byte == b']')?;
        let kind = &text[start + BEGINNING.len()..start + BEGINNING.len() + length];
        let is_word = |byte: u8| byte.is_ascii_alphabetic() || byte == b' ';
        let is_mark = kind.is_empty()
            || kind.strip_prefix(": ").is_some_and(|kind| kind.bytes().all(is_word));
        is_mark.then(|| start..start + BEGINNING.len() + kind.len() + 1)
    })
}

/// Replaces the secret parts of a JSON Pointer with marks. It searches each unescaped token, because escaping could
/// hide a secret. The result is still a pointer.
pub fn redact_pointer(pointer: &str) -> Cow<'_, str> {
    if scan::are_short_words(pointer.split('/')) {
        return Cow::Borrowed(pointer);
    }
    let mut redacted: Option<String> = None;
    let mut start = 0;
    for token in pointer.split('/') {
        match (redact(&unescape(token)), &mut redacted) {
            (Cow::Borrowed(_), None) => {}
            (Cow::Borrowed(_), Some(redacted)) => redacted.extend(["/", token]),
            // A text that does not begin with `/` is not a pointer, but its secrets are redacted, too.
            (Cow::Owned(marked), redacted) if start == 0 => *redacted = Some(marked),
            (Cow::Owned(marked), redacted) => {
                let above = || pointer[..start - 1].to_owned();
                push_token(redacted.get_or_insert_with(above), &marked);
            }
        }
        start += token.len() + 1;
    }
    redacted.map_or(Cow::Borrowed(pointer), Cow::Owned)
}

/// Replaces every secret in a document with a mark: in strings, in member names, and as whole values if a name
/// announces a secret. The name can be that of the member, a label next to it as in `{"name": "DB_PASSWORD", "value":
/// …}`, or an option before it as in `["--password", …]`.
pub fn redact_value(value: &Value) -> Value {
    redact_below(None, value)
}

/// Replaces every secret in a member's value with a mark. The member's name counts.
pub fn redact_member(name: &str, value: &Value) -> Value {
    redact_among(Siblings::default(), name, value)
}

/// Redacts a value of the member with this name, or of a list in it.
fn redact_below(name: Option<&str>, value: &Value) -> Value {
    match value {
        Value::String(text) => match name {
            Some(name) => redact_text(Siblings::default(), name, text),
            None => Value::String(redact(text).into_owned()),
        },
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| match Elements::kind_at(items, index) {
                Some(kind) => Value::from(kind.mark()),
                None => redact_below(name, item),
            })
            .collect(),
        Value::Object(members) => {
            let siblings = Siblings::of(members);
            members
                .iter()
                .map(|(name, member)| {
                    (redact(name).into_owned(), redact_among(siblings, name, member))
                })
                .collect()
        }
        other => other.clone(),
    }
}

fn redact_among(siblings: Siblings, name: &str, value: &Value) -> Value {
    match siblings.kind_of(name, value) {
        Some(kind) => Value::from(kind.mark()),
        None => match value {
            Value::String(text) => redact_text(siblings, name, text),
            value => redact_below(Some(name), value),
        },
    }
}

fn redact_text(siblings: Siblings, name: &str, text: &str) -> Value {
    Value::String(marked(text, siblings.find(name, text)).into_owned())
}
