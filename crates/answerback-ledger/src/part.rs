//! Content that is stored next to the leaf, and the salted commitment to it inside the leaf.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::{Hash, LeafToken};

/// Holds the random key of one commitment. It is erased together with the content. Without the
/// salt, a guess of the content cannot be tested against the leaf.
#[derive(Clone, Eq, PartialEq)]
pub struct Salt(Zeroizing<[u8; 32]>);

impl Salt {
    /// Creates a salt from these bytes, which must be random and never used before.
    pub fn new(random: [u8; 32]) -> Self {
        Self(Zeroizing::new(random))
    }

    /// Returns the salt's bytes, which are stored next to the content.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes HMAC-SHA-256 over these bytes with the salt as the key.
    pub fn commit(&self, bytes: &[u8]) -> Hash {
        // HMAC pads a short key with zeros to the block size of its hash.
        let mut key = Zeroizing::new([0; 64]);
        key[..32].copy_from_slice(self.0.as_slice());
        let mut mac = Hmac::<Sha256>::new((&*key).into());
        mac.update(bytes);
        let output: [u8; 32] = mac.finalize().into_bytes().into();
        Hash::from(output)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Salt(…)")
    }
}

/// A part of an entry: named content that the leaf commits to and that can be erased.
///
/// [`Part::new`] computes the commitment on the thread that prepares the entry. This takes the work
/// off the single writer thread.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    name: LeafToken,
    salt: Salt,
    bytes: Arc<[u8]>,
    commitment: Hash,
}

impl Part {
    /// Creates a part with this name and content, and computes its commitment.
    pub fn new(name: LeafToken, salt: Salt, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let commitment = salt.commit(&bytes);
        Self { name, salt, bytes, commitment }
    }

    /// Returns the name, which is unique within the entry.
    pub const fn name(&self) -> &LeafToken {
        &self.name
    }

    /// Returns the salt.
    pub const fn salt(&self) -> &Salt {
        &self.salt
    }

    /// Returns the content.
    pub const fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns the commitment, which the leaf contains.
    pub const fn commitment(&self) -> &Hash {
        &self.commitment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks test case 1 of RFC 4231. Its key is padded with zeros to the length of a salt, as
    /// HMAC would pad it.
    #[test]
    fn is_hmac_sha256() {
        let mut key = [0; 32];
        key[..20].copy_from_slice(&[0x0b; 20]);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(Salt::new(key).commit(b"Hi There").to_string(), expected);
    }

    #[test]
    fn a_salt_is_not_printed() {
        let part = Part::new(LeafToken::new("request").unwrap(), Salt::new([7; 32]), *b"text");
        assert!(format!("{part:?}").contains("salt: Salt(…)"));
        assert_ne!(
            part.commitment(),
            Part::new(part.name.clone(), Salt::new([8; 32]), *b"text").commitment()
        );
    }
}
