//! C2SP cosignatures: a witness confirms that it saw a checkpoint and that the log had only grown
//! since the last one.

use std::fmt;

use ed25519_dalek::{Signature, VerifyingKey};

use crate::Note;
use crate::base64::encode;
use crate::key::{VerifierKeyError, key_id, read_key, write_key};
use crate::note::NoteError;

/// The type byte of a timestamped Ed25519 cosignature.
const COSIGNATURE: u8 = 0x04;

/// The public key of a witness, which identifies and verifies its cosignatures.
///
/// Its text form is `NAME+ID+KEY`, like that of a log's key. The type byte inside differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WitnessKey {
    name: String,
    id: u32,
    key: VerifyingKey,
}

impl WitnessKey {
    /// Parses the text form of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a key, the key is not a witness key, or its id does not
    /// match the key.
    pub fn parse(text: &str) -> Result<Self, WitnessKeyError> {
        let (name, key) = read_key(text, COSIGNATURE).ok_or(WitnessKeyError {
            is_of_a_log: crate::VerifierKey::parse(text) != Err(VerifierKeyError),
        })?;
        Ok(Self { name: name.to_owned(), id: key_id(name, COSIGNATURE, &key), key })
    }

    /// Returns the witness's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns name and id, as a signature line identifies its key.
    pub fn signer(&self) -> String {
        format!("{}+{:08x}", self.name, self.id)
    }

    /// Returns the newest cosignature of this witness under a note, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if a line names this key and its signature is invalid. The note is forged
    /// or damaged.
    pub fn cosignature(&self, note: &Note) -> Result<Option<Cosignature>, NoteError> {
        let mut newest = None;
        for signature in note.signatures(&self.name, self.id) {
            let time = self.verified(note.text(), signature).ok_or(NoteError::Signature)?;
            if newest.as_ref().is_none_or(|newest: &Cosignature| newest.time < time) {
                let mut bytes = self.id.to_be_bytes().to_vec();
                bytes.extend_from_slice(signature);
                let line = format!("— {} {}\n", self.name, encode(&bytes));
                newest = Some(Cosignature { time, line });
            }
        }
        Ok(newest)
    }

    /// Verifies a signature and returns its time. The first eight bytes are the time; the rest
    /// signs the text and the time.
    fn verified(&self, text: &str, signature: &[u8]) -> Option<u64> {
        let (time, signature) = signature.split_first_chunk::<8>()?;
        let time = u64::from_be_bytes(*time);
        let signature = Signature::from_slice(signature).ok()?;
        let message = format!("cosignature/v1\ntime {time}\n{text}");
        let is_good = self.key.verify_strict(message.as_bytes(), &signature).is_ok();
        (is_good && i64::try_from(time).is_ok()).then_some(time)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(formatter, &self.name, self.id, COSIGNATURE, &self.key)
    }
}

/// A verified cosignature.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Cosignature {
    /// The time of the signature in seconds since 1970, by the witness's own clock.
    pub time: u64,
    /// The signature line, including its line feed.
    pub line: String,
}

/// The error for a text that is not the public key of a witness.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", if *.is_of_a_log {
    "the key is a log's, not a witness's: its type is 1 and must be 4"
} else {
    "not a witness's key NAME+ID+KEY of type 4, Ed25519 cosignature"
})]
pub struct WitnessKeyError {
    is_of_a_log: bool,
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn witness(seed: u8) -> (SigningKey, WitnessKey) {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let key = secret.verifying_key();
        let name = "witness.example/w1".to_owned();
        let id = key_id(&name, COSIGNATURE, &key);
        (secret, WitnessKey { name, id, key })
    }

    fn line(secret: &SigningKey, key: &WitnessKey, time: u64, text: &str) -> String {
        let message = format!("cosignature/v1\ntime {time}\n{text}");
        let mut bytes = key.id.to_be_bytes().to_vec();
        bytes.extend_from_slice(&time.to_be_bytes());
        bytes.extend_from_slice(&secret.sign(message.as_bytes()).to_bytes());
        format!("— {} {}\n", key.name, encode(&bytes))
    }

    #[test]
    fn a_cosignature_is_verified_with_its_time() {
        let log = crate::SigningKey::new("log", &[1; 32]).unwrap();
        let note = Note::sign("log\n1\nAAAA\n", &[&log]).unwrap();
        let ((secret, key), (_, stranger)) = (witness(7), witness(8));
        assert_eq!(WitnessKey::parse(&key.to_string()), Ok(key.clone()));
        assert_eq!(key.cosignature(&note), Ok(None));
        let (early, late) =
            (line(&secret, &key, 5, note.text()), line(&secret, &key, 9, note.text()));
        let cosigned = note.with_signatures(&format!("{late}{early}")).unwrap();
        let wanted = Cosignature { time: 9, line: late.clone() };
        assert_eq!(key.cosignature(&cosigned), Ok(Some(wanted)));
        assert_eq!(cosigned.is_signed_by(&log.verifier()), Ok(true));
        assert_eq!(stranger.cosignature(&cosigned), Ok(None));
        // The same line under another text is a forgery.
        let other = Note::sign("log\n2\nAAAA\n", &[&log]).unwrap().with_signatures(&late).unwrap();
        assert_eq!(key.cosignature(&other), Err(NoteError::Signature));
        assert!(note.with_signatures("nothing\n").is_err());
    }

    #[test]
    fn keys_of_logs_are_not_keys_of_witnesses() {
        let log = crate::SigningKey::new("log", &[1; 32]).unwrap().verifier().to_string();
        let error = WitnessKey::parse(&log).unwrap_err().to_string();
        assert!(error.starts_with("the key is a log's"), "{error}");
        assert!(crate::VerifierKey::parse(&witness(7).1.to_string()).is_err());
        let error = WitnessKey::parse("a+b+c").unwrap_err().to_string();
        assert!(error.starts_with("not a witness's key"), "{error}");
    }
}
