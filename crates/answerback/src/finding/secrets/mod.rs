//! Finds secrets that must never be written out: passwords, keys and tokens, by the name of the member and by their
//! shape.
//!
//! [`redact`] replaces the secret parts of a text with marks. [`redact_value`] does so for a whole document, where
//! member names also count. Hosts, versions, UUIDs, git hashes, hex digests and ordinary words are not secrets: an
//! unneeded mark hides a value that a model has to fix.

mod invisible;
mod lookahead;
mod makes;
mod name;
mod pairs;
mod public;
mod randomness;
mod scan;
mod value;
mod walk;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::json::{push_token, unescape};

pub use name::kind_of_name;
pub(crate) use pairs::{Elements, Siblings};
pub use scan::find;
pub(crate) use scan::find_cut;
#[doc(hidden)]
pub use scan::steps_to_search;
pub use walk::{holds_secret, text_holds_secret};

/// The kind of a secret.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum SecretKind {
    /// An API key.
    ApiKey,
    /// The value of an `Authorization` header.
    Authorization,
    /// A cookie.
    Cookie,
    /// Several kinds together, such as a user with a password.
    Credentials,
    /// A hashed password, which can be attacked offline.
    PasswordHash,
    /// A password or passphrase.
    Password,
    /// A short number known to one person: PIN, one-time code, card check digits.
    Pin,
    /// A private key.
    PrivateKey,
    /// A shared secret.
    Secret,
    /// A bearer token of any vendor.
    Token,
    /// The rest of a text that was not searched, because the search used up its budget of steps.
    Unsearched,
}

impl SecretKind {
    /// Returns the text that replaces the secret, such as `[redacted: API key]`.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::ApiKey => "[redacted: API key]",
            Self::Authorization => "[redacted: authorization]",
            Self::Cookie => "[redacted: cookie]",
            Self::Credentials => "[redacted: credentials]",
            Self::PasswordHash => "[redacted: password hash]",
            Self::Password => "[redacted: password]",
            Self::Pin => "[redacted: PIN]",
            Self::PrivateKey => "[redacted: private key]",
            Self::Secret => "[redacted: secret]",
            Self::Token => "[redacted: token]",
            Self::Unsearched => "[redacted: not searched]",
        }
    }
}

/// A secret inside a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Secret {
    /// The byte range of the secret.
    pub range: Range<usize>,
    /// The kind of the secret.
    pub kind: SecretKind,
}

/// Replaces the secret parts of a text with marks.
///
/// ```
/// use answerback::finding::secrets::redact;
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
pub(crate) fn redact_cut(text: &str) -> Cow<'_, str> {
    marked(text, find_cut(text))
}

fn marked(text: &str, secrets: Vec<Secret>) -> Cow<'_, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut shown = 0;
    for Secret { range, kind } in secrets {
        redacted.push_str(&text[shown..range.start]);
        redacted.push_str(kind.mark());
        shown = range.end;
    }
    redacted.push_str(&text[shown..]);
    Cow::Owned(redacted)
}

/// Iterates over the byte ranges of the marks in a text: those of [`SecretKind::mark`], and `[redacted]`, which
/// replaces values that a schema marks as secret.
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

/// True if a value with the name of a secret must be redacted. `null`, booleans and empty values reveal nothing.
pub(crate) fn can_hold_a_secret(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

#[cfg(test)]
mod linearity;
#[cfg(test)]
mod tests;
