//! C2SP cosignatures: a witness confirms that it saw a checkpoint and that the log had only grown.

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, VerifyingKey};

use crate::note::{SignatureCheck, SignedNote, SignedNoteError, read_key};

/// The algorithm byte of a timestamped Ed25519 cosignature.
const COSIGNATURE: u8 = 4;

/// The public key of a witness: `NAME+ID+BASE64`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CosignerKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl CosignerKey {
    /// Parses a witness's key.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a key, its id does not match the key, or the key is not
    /// for cosignatures.
    pub fn parse(text: &str) -> Result<Self, SignedNoteError> {
        let wrong = "it is not a witness's, whose type is 4";
        let (name, id, key) = read_key(text, COSIGNATURE, wrong)?;
        Ok(Self { name, id, key })
    }

    /// Returns the witness's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks the witness's cosignatures under a note.
    pub fn signed(&self, note: &SignedNote<'_>) -> SignatureCheck {
        let mut found = SignatureCheck::No;
        for signature in note.signatures(&self.name, self.id) {
            if !self.holds(note.text(), signature) {
                return SignatureCheck::Wrongly;
            }
            found = SignatureCheck::Yes;
        }
        found
    }

    /// Verifies one cosignature. Its first eight bytes are the time; the rest signs a header, the
    /// time and the note's text.
    fn holds(&self, text: &str, signature: &[u8]) -> bool {
        let Some((time, signature)) = signature.split_first_chunk::<8>() else { return false };
        let time = u64::from_be_bytes(*time);
        let message = format!("cosignature/v1\ntime {time}\n{text}");
        time < 1 << 63
            && Signature::from_slice(signature).is_ok_and(|signature| {
                self.key.verify_strict(message.as_bytes(), &signature).is_ok()
            })
    }
}

impl std::fmt::Display for CosignerKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = [&[COSIGNATURE], self.key.as_bytes().as_slice()].concat();
        write!(formatter, "{}+{}+{}", self.name, HEXLOWER.encode(&self.id), BASE64.encode(&key))
    }
}

/// A witness whose cosignature the caller requires, and the largest size that it signed.
#[derive(Debug)]
pub(crate) struct RequiredWitness {
    pub(crate) key: CosignerKey,
    pub(crate) seen: Option<u64>,
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;
    use crate::note::key_id;

    #[test]
    fn holds_for_its_text_and_time_only() {
        let secret = SigningKey::from_bytes(&[9; 32]);
        let bytes = [&[COSIGNATURE], secret.verifying_key().as_bytes().as_slice()].concat();
        let id = key_id("w", &bytes);
        let text = format!("w+{}+{}", HEXLOWER.encode(&id), BASE64.encode(&bytes));
        let key = CosignerKey::parse(&text).unwrap();
        assert_eq!(key.to_string(), text);
        let note = |time: u64, signed: &str| {
            let signature = secret.sign(format!("cosignature/v1\ntime 7\n{signed}").as_bytes());
            let line = [&id[..], &time.to_be_bytes(), &signature.to_bytes()].concat();
            format!("a\n\n— w {}\n", BASE64.encode(&line))
        };
        for (time, signed, wanted) in [
            (7, "a\n", SignatureCheck::Yes),
            (8, "a\n", SignatureCheck::Wrongly),
            (7, "b\n", SignatureCheck::Wrongly),
        ] {
            assert_eq!(key.signed(&SignedNote::parse(&note(time, signed)).unwrap()), wanted);
        }
        assert_eq!(
            key.signed(&SignedNote::parse("a\n\n— x AAAAAAAA\n").unwrap()),
            SignatureCheck::No
        );
        // The type byte distinguishes the keys: a log's key is not a witness key.
        let log = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        assert!(CosignerKey::parse(log).is_err() && CosignerKey::parse("w+x").is_err());
    }
}
