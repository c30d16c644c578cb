use std::fmt;
use std::sync::Arc;

use answerback_json::Digest;

/// The longest key that is kept as it is, in bytes.
const LONGEST: usize = 256;

/// The key under which the attempts of one tool call are counted, because a model's retry has a new call id.
///
/// Either the caller's own key, or the conversation and the tool. A key over 256 bytes is stored as its
/// digest, so that memory stays bounded. So is a key with a secret in it, because keys are stored and printed.
///
/// ```
/// use answerback_calls::retry::RetryKey;
///
/// let key = RetryKey::of_conversation("thread-7", "read_file");
/// assert_ne!(key, RetryKey::of_conversation("thread-8", "read_file"));
/// assert_eq!(RetryKey::new("mine").as_str(), "mine");
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RetryKey(Arc<str>);

impl RetryKey {
    /// A key of the caller's.
    pub fn new(key: impl AsRef<str>) -> Self {
        let key = key.as_ref();
        Self::of(key, !answerback_redaction::find(key).is_empty())
    }

    /// The default key: one conversation's calls to one tool.
    pub fn of_conversation(conversation: &str, tool: &str) -> Self {
        // Each by itself: what stands before a secret may hide its shape.
        let holds_secret =
            [conversation, tool].iter().any(|part| !answerback_redaction::find(part).is_empty());
        // The length keeps ("a", "b/c") and ("a/b", "c") apart.
        let length = conversation.len().to_string();
        Self::of(&[length.as_str(), ":", conversation, "/", tool].concat(), holds_secret)
    }

    fn of(key: &str, holds_secret: bool) -> Self {
        if key.len() <= LONGEST && !holds_secret {
            Self(key.into())
        } else {
            Self(format!("sha256:{}", Digest::of_bytes(key.as_bytes())).into())
        }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RetryKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_run_together() {
        let one = RetryKey::of_conversation("a", "b/c");
        assert_ne!(one, RetryKey::of_conversation("a/b", "c"));
        let long = RetryKey::new("x".repeat(1000));
        assert_eq!(long.as_str().len(), 71);
        assert_ne!(long, RetryKey::new("x".repeat(1001)));
    }

    #[test]
    fn a_secret_in_a_key_is_not_stored() {
        let secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";
        for key in [
            RetryKey::new(secret),
            RetryKey::of_conversation(secret, "read_file"),
            RetryKey::of_conversation("thread-7", secret),
            RetryKey::of_conversation("7", "postgres://app:sk-proj-hunter2@db.example.com/x"),
        ] {
            assert!(!key.as_str().contains("sk-proj"), "{key}");
            // What was read from a store is the same key.
            assert_eq!(RetryKey::new(key.as_str()), key);
        }
        let other = RetryKey::of_conversation(&secret.replace('a', "b"), "read_file");
        assert_ne!(RetryKey::of_conversation(secret, "read_file"), other);
    }
}
