use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An RFC 6901 JSON Pointer: the place of a value in a document. The root is the empty string.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(String);

impl Pointer {
    /// Returns the pointer to the whole document.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Returns the pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the pointer is the root: the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pointer to a member or element below this one. An array index is given as decimal digits.
    #[must_use]
    pub fn join(&self, token: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + 1 + token.len());
        text.push_str(&self.0);
        push_token(&mut text, token);
        Self(text)
    }

    /// Iterates over the unescaped tokens, from the root down.
    pub fn tokens(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.split('/').skip(1).map(unescape)
    }

    /// Splits the pointer into its parent and its unescaped last token. Returns `None` at the root.
    pub fn split_last(&self) -> Option<(Self, Cow<'_, str>)> {
        let (parent, last) = self.0.rsplit_once('/')?;
        Some((Self(parent.to_owned()), unescape(last)))
    }

    /// Returns the unescaped last token, or `None` at the root.
    pub fn last(&self) -> Option<Cow<'_, str>> {
        self.0.rsplit_once('/').map(|(_, last)| unescape(last))
    }

    /// Iterates over the unescaped tokens above the last one. Returns `None` at the root.
    pub fn tokens_above(&self) -> Option<impl Iterator<Item = Cow<'_, str>>> {
        let (above, _) = self.0.rsplit_once('/')?;
        Some(above.split('/').skip(1).map(unescape))
    }

    /// Returns the value at this place of `document`, if it exists.
    pub fn find<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        find(document, &self.0)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let starts_well = text.is_empty() || text.starts_with('/');
        let escapes_well =
            text.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'));
        if starts_well && escapes_well { Ok(Self(text)) } else { Err(PointerError(text)) }
    }
}

impl TryFrom<&str> for Pointer {
    type Error = PointerError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        Self::try_from(text.to_owned())
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The error for a text that is not a JSON Pointer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a JSON Pointer: {0:?} (it is empty or starts with '/', and '~' is written ~0)")]
pub struct PointerError(String);

/// Returns the value at the place that a pointer's text names.
pub fn find<'d>(document: &'d Value, pointer: &str) -> Option<&'d Value> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    pointer.split('/').skip(1).try_fold(document, |value, token| below(value, &unescape(token)))
}

/// Returns the member or the element that an unescaped token names.
pub fn below<'d>(value: &'d Value, token: &str) -> Option<&'d Value> {
    match value {
        Value::Object(members) => members.get(token),
        // An index has no sign and no leading zero.
        Value::Array(_) if token.len() > 1 && token.starts_with('0') => None,
        Value::Array(elements) if token.starts_with(|first: char| first.is_ascii_digit()) => {
            elements.get(token.parse::<usize>().ok()?)
        }
        _ => None,
    }
}

/// Appends `/` and the escaped token.
pub fn push_token(text: &mut String, token: &str) {
    text.push('/');
    if !token.contains(['~', '/']) {
        text.push_str(token);
        return;
    }
    for character in token.chars() {
        match character {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            other => text.push(other),
        }
    }
}

/// Removes the escapes of a token.
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_finds() {
        let document = serde_json::json!({"a/b": {"~": [10, 20]}});
        let place = Pointer::root().join("a/b").join("~").join("1");
        assert_eq!(place.as_str(), "/a~1b/~0/1");
        assert_eq!(place.find(&document), Some(&serde_json::json!(20)));
        assert_eq!(place.tokens().collect::<Vec<_>>(), ["a/b", "~", "1"]);
        assert_eq!(place.split_last().unwrap().0.as_str(), "/a~1b/~0");
    }

    #[test]
    fn refuses_what_is_no_pointer() {
        for text in ["a", "a/b", "/~", "/~2"] {
            assert!(Pointer::try_from(text).is_err(), "{text}");
        }
        for text in ["", "/", "/~0", "/~1/"] {
            assert!(Pointer::try_from(text).is_ok(), "{text}");
        }
    }
}
