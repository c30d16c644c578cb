use std::fmt;

use ed25519_dalek::Signer;
use zeroize::Zeroizing;

use super::KeyError;
use super::verifier_key::{ED25519, VerifierKey, hex_id, is_name};
use crate::base64::{decode, encode};

/// A private signing key. `Debug` shows only the public key, and dropping the key wipes its memory.
#[derive(Clone)]
pub struct SigningKey {
    name: String,
    key: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// Creates a key with this name from 32 random bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not a valid key name.
    pub fn new(name: &str, random: &[u8; 32]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_bytes(random);
        if is_name(name) { Ok(Self { name: name.to_owned(), key }) } else { Err(KeyError::Form) }
    }

    /// Parses the text form of a key: `PRIVATE+KEY+NAME+ID+SECRET`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a valid key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let read = || {
            let (name, rest) = text.trim_end().strip_prefix("PRIVATE+KEY+")?.split_once('+')?;
            let (id, secret) = rest.split_once('+')?;
            let secret = Zeroizing::new(decode(secret)?);
            let (kind, seed) = secret.split_first()?;
            let key = Self::new(name, seed.try_into().ok()?).ok()?;
            Some(key).filter(|key| *kind == ED25519 && hex_id(id) == Some(key.verifier().id()))
        };
        read().ok_or(KeyError::Form)
    }

    /// Returns the text form of the key, as the key file stores it.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut secret = Zeroizing::new(vec![ED25519]);
        secret.extend_from_slice(self.key.as_bytes());
        let (name, id) = (&self.name, self.verifier().id());
        Zeroizing::new(format!(
            "PRIVATE+KEY+{name}+{id:08x}+{}\n",
            *Zeroizing::new(encode(&secret))
        ))
    }

    /// Returns the name of the signer. For a log it is the origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the public key.
    pub fn verifier(&self) -> VerifierKey {
        VerifierKey::new(&self.name, self.key.verifying_key())
    }

    pub(crate) fn sign(&self, text: &str) -> Vec<u8> {
        self.key.sign(text.as_bytes()).to_bytes().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.verifier())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_printed_and_reads_back() {
        let key = SigningKey::new("log", &[3; 32]).unwrap();
        let text = key.to_text();
        assert!(text.starts_with("PRIVATE+KEY+log+"));
        assert_eq!(SigningKey::parse(&text).unwrap().verifier(), key.verifier());
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.verifier()));
        for text in ["", "PRIVATE+KEY+log", &text.replace("log", "lug")] {
            assert!(SigningKey::parse(text).is_err(), "{text}");
        }
        assert!(SigningKey::new("a+b", &[3; 32]).is_err());
    }
}
