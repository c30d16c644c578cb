//! The hashes of the tree: RFC 6962 with SHA-256.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A SHA-256 hash of a leaf, of a node, or of the whole tree.
///
/// ```
/// use answerback_ledger::Hash;
///
/// let left = Hash::of_leaf(b"one");
/// let right = Hash::of_leaf(b"two");
/// // A leaf can never be mistaken for a node: the prefixes differ.
/// assert_ne!(Hash::of_node(&left, &right), Hash::of_leaf(b"onetwo"));
/// ```
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Hash([u8; Hash::BYTES]);

impl Hash {
    /// The length of a hash in bytes.
    pub const BYTES: usize = 32;

    /// Hashes a leaf: SHA-256(0x00 ‖ leaf).
    pub fn of_leaf(leaf: &[u8]) -> Self {
        Self(Sha256::new().chain_update([0x00]).chain_update(leaf).finalize().into())
    }

    /// Hashes a node: SHA-256(0x01 ‖ left ‖ right).
    pub fn of_node(left: &Self, right: &Self) -> Self {
        let mut input = [0x01; 1 + 2 * Self::BYTES];
        input[1..=Self::BYTES].copy_from_slice(&left.0);
        input[1 + Self::BYTES..].copy_from_slice(&right.0);
        Self(Sha256::digest(input).into())
    }

    /// Returns the root of the empty tree: SHA-256 of no bytes.
    pub fn of_nothing() -> Self {
        Self(Sha256::digest([]).into())
    }

    /// Returns the hash's bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl From<[u8; Hash::BYTES]> for Hash {
    fn from(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<&[u8]> for Hash {
    type Error = HashError;

    fn try_from(bytes: &[u8]) -> Result<Self, HashError> {
        bytes.try_into().map(Self).map_err(|_| HashError(bytes.len()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, formatter)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Hash({self})")
    }
}

/// The error for bytes that do not have the length of a hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a hash has 32 bytes, not {0}")]
pub struct HashError(usize);

/// Splits bytes into hashes. Returns `None` if the length is not a multiple of [`Hash::BYTES`].
pub(crate) fn hashes_of(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<{ Hash::BYTES }>();
    rest.is_empty().then(|| hashes.iter().copied().map(Hash).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Hash::of_nothing().to_string(), empty);
        let leaf = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
        assert_eq!(Hash::of_leaf(b"").to_string(), leaf);
        assert!(Hash::try_from([0; 31].as_slice()).is_err());
        assert!(hashes_of(&[0; 33]).is_none());
    }
}
