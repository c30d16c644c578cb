//! SHA-256 digests of JSON values in canonical form. A decision is bound to one, and a repeated call is recognized by
//! it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Hex;
use crate::hex::read_hex;
use crate::write_canonical;

/// The SHA-256 digest of a value, written as 64 lower-case hex digits.
///
/// It is cryptographic because a person's decision is bound to it: an attacker must not be able to craft a second value
/// with the digest of one that was approved.
///
/// ```
/// use answerback_json::Digest;
/// use serde_json::json;
///
/// // The order of members and the writing of numbers do not matter.
/// assert_eq!(Digest::of(&json!({"a": 1, "b": 2})), Digest::of(&json!({"b": 2.0, "a": 1})));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(with = "String", extend("pattern" = "^[0-9a-f]{64}$"))
)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of a value's canonical form.
    pub fn of(value: &Value) -> Self {
        let mut hash = Hashing { hash: Sha256::new(), waiting: String::with_capacity(256) };
        // Writing to a hash cannot fail.
        let _ = write_canonical(&mut hash, value);
        hash.hash.update(hash.waiting.as_bytes());
        Self(hash.hash.finalize().into())
    }

    /// Computes the digest of raw bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Buffers written text and hashes it in pieces of 4 KiB, because hashing many tiny pieces is slow.
struct Hashing {
    hash: Sha256,
    waiting: String,
}

impl fmt::Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const PIECE: usize = 4096;
        self.waiting.push_str(text);
        if self.waiting.len() >= PIECE {
            self.hash.update(self.waiting.as_bytes());
            self.waiting.clear();
        }
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(formatter)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = [0; 32];
        if read_hex(&text, &mut bytes) { Ok(Self(bytes)) } else { Err(DigestError(text)) }
    }
}

/// The error for a text that is not 64 lowercase hexadecimal digits.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a SHA-256 digest of 64 lower-case hex digits: {0:?}")]
pub struct DigestError(String);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_sha256_of_the_canonical_text() {
        let digest = Digest::of(&json!({}));
        // printf '{}' | sha256sum
        let hex = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(digest.to_string(), hex);
        assert_eq!(digest, Digest::of_bytes(b"{}"));
        assert_eq!(Digest::try_from(hex.to_owned()), Ok(digest));
        for text in ["", "44", &hex.to_uppercase(), &hex.replace('4', "g")] {
            assert!(Digest::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
