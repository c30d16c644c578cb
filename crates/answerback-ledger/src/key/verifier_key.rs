use std::fmt;

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::base64::{decode, encode};

/// The type byte of an Ed25519 signature.
pub(crate) const ED25519: u8 = 0x01;

/// The public key of a signer, which identifies and verifies its signatures.
///
/// Its text form is `NAME+ID+KEY`: the id in eight hex digits, the key in base64.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VerifierKey {
    name: String,
    id: u32,
    key: VerifyingKey,
}

impl VerifierKey {
    pub(crate) fn new(name: &str, key: VerifyingKey) -> Self {
        Self { name: name.to_owned(), id: key_id(name, ED25519, &key), key }
    }

    /// Parses the text form of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a key, the key is not of type Ed25519, or its id does
    /// not match the key.
    pub fn parse(text: &str) -> Result<Self, VerifierKeyError> {
        let (name, key) = read_key(text, ED25519).ok_or(VerifierKeyError)?;
        Ok(Self::new(name, key))
    }

    /// Returns the signer's name. For a log it is the origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the four-byte id by which a signature line names its key.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// True if this key made the signature of the text.
    pub(crate) fn verifies(&self, text: &str, signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(text.as_bytes(), &signature).is_ok())
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(formatter, &self.name, self.id, ED25519, &self.key)
    }
}

/// The error for a text that is not the public key of a signer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a verifier key NAME+ID+KEY of type Ed25519")]
pub struct VerifierKeyError;

/// True if a text is a valid key name: not empty, no spaces, no `+`.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter == '+')
}

pub(crate) fn hex_id(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok().filter(|id| format!("{id:08x}") == text)
}

/// Parses `NAME+ID+KEY` with this type byte. The id must match the key.
pub(crate) fn read_key(text: &str, kind: u8) -> Option<(&str, VerifyingKey)> {
    let (name, rest) = text.split_once('+')?;
    let (id, key) = rest.split_once('+')?;
    let id = hex_id(id).filter(|_| is_name(name))?;
    let bytes = decode(key)?;
    let (found, bytes) = bytes.split_first()?;
    let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?;
    Some((name, key)).filter(|(name, key)| *found == kind && key_id(name, kind, key) == id)
}

pub(crate) fn write_key(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    id: u32,
    kind: u8,
    key: &VerifyingKey,
) -> fmt::Result {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(key.as_bytes());
    write!(formatter, "{name}+{id:08x}+{}", encode(&bytes))
}

pub(crate) fn key_id(name: &str, kind: u8, key: &VerifyingKey) -> u32 {
    let mut hash = Sha256::new_with_prefix(name.as_bytes());
    hash.update([b'\n', kind]);
    hash.update(key.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}
