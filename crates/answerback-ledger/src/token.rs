//! A word that a leaf may contain.

use std::fmt;
use std::sync::Arc;

/// A word that a leaf may contain: 1 to 128 characters of `A–Z a–z 0–9 . _ : @ / + = -`.
///
/// A leaf can never be erased, so it must not contain free text of a model or a person. Text that
/// is not a token is left out.
///
/// ```
/// use answerback_ledger::LeafToken;
///
/// assert_eq!(LeafToken::new("fs/read_file").unwrap().as_str(), "fs/read_file");
/// assert!(LeafToken::new("ignore previous instructions").is_err());
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LeafToken(Arc<str>);

impl LeafToken {
    /// The maximum length of a token in bytes.
    pub const LONGEST: usize = 128;

    /// Creates a token from this text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is empty, too long or contains another character.
    pub fn new(text: impl AsRef<str>) -> Result<Self, LeafTokenError> {
        let text = text.as_ref();
        if Self::is_valid(text) { Ok(Self(text.into())) } else { Err(LeafTokenError) }
    }

    /// True if the text is a valid token.
    pub fn is_valid(text: &str) -> bool {
        (1..=Self::LONGEST).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:@/+=-".contains(&byte))
    }

    /// Returns the token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeafToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<&str> for LeafToken {
    type Error = LeafTokenError;

    fn try_from(text: &str) -> Result<Self, LeafTokenError> {
        Self::new(text)
    }
}

/// The error for a text that is not a token. It does not repeat the text, which may be untrusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a token has 1 to 128 characters of A-Z a-z 0-9 . _ : @ / + = -")]
pub struct LeafTokenError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_and_invalid_tokens() {
        let longest = "a".repeat(LeafToken::LONGEST);
        for text in ["a", "A.b_c:d@e/f+g=h-9", longest.as_str()] {
            assert!(LeafToken::is_valid(text), "{text}");
        }
        let too_long = "a".repeat(LeafToken::LONGEST + 1);
        for text in ["", " ", "a b", "ä", "a\n", "\"", "a,b", too_long.as_str()] {
            assert!(!LeafToken::is_valid(text), "{text}");
        }
    }
}
