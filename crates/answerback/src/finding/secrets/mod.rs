//! What must never leave: passwords, keys and tokens, found by the member's name and by their shape.
//!
//! [`redact`] marks the secret parts of a text and leaves the rest as it is; [`redact_value`] does it
//! to a whole document, where member names tell too. Hosts, versions, UUIDs, git hashes, hex digests
//! and ordinary words are not secrets: a mark where none is needed hides what a model has to mend.

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

/// What a secret is, as far as it can be told.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum SecretKind {
    /// A key of an API.
    ApiKey,
    /// The value of an `Authorization` header.
    Authorization,
    /// A cookie.
    Cookie,
    /// Several of the others together.
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
    /// A bearer token of any make.
    Token,
    /// What was not searched, because the search had used up its budget of steps.
    Unsearched,
}

impl SecretKind {
    /// What stands where the secret stood, such as `[redacted: API key]`.
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
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: SecretKind,
}

/// The text with its secret parts marked.
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

/// [`redact`] for a text that may end in the middle of a secret.
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

/// Where marks stand in a text, in bytes: those of [`SecretKind::mark`], and `[redacted]`, which stands for what a
/// schema calls secret.
pub fn marks(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    const BEGINNING: &str = "[redacted";
    /// Longer than what stands in any mark.
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

/// The text of a JSON Pointer with its secret parts marked, token by token, so that what escaping did to a
/// secret does not hide it. It stays a pointer.
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
            // What does not begin with `/` is no pointer, and hidden all the same.
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

/// The document with every secret marked: in strings, in member names, and whole where a name says that its value is one:
/// the member's own, that of a label next to it as in `{"name": "DB_PASSWORD", "value": …}`, or an option before it as in
/// `["--password", …]`.
pub fn redact_value(value: &Value) -> Value {
    redact_below(None, value)
}

/// A member's value with every secret marked, its name considered.
pub fn redact_member(name: &str, value: &Value) -> Value {
    redact_among(Siblings::default(), name, value)
}

/// A value in a member of this name, or in a list in it.
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

/// Whether a value below a telling name is worth hiding; `null`, `true` and what is empty give nothing away.
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
