//! Encrypts private data that must survive a restart: the arguments of open cases, corrected arguments, and
//! answers that the asking program has not received yet.

use std::fmt;
use std::sync::OnceLock;

use answerback::UuidV7;
use answerback_ledger::PrivateFile;
use answerback_ledger::key::KeyError;
use answerback_store::Store;
use data_encoding::BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

/// The prefix of the text in the key file.
const PREFIX: &str = "CASE+KEY+";

/// Separates the kinds of encrypted data, so that one cannot be used as another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The arguments of the call that opened a case.
    Original,
    /// The complete arguments that a person corrected.
    Correction,
    /// The person's complete answer.
    Answer,
}

/// Encrypts with ChaCha20-Poly1305 and binds the data to a case. The key is in a file next to the ledger's key
/// and is created on first use.
pub(crate) struct Seal {
    file: PrivateFile,
    key: OnceLock<LessSafeKey>,
}

impl Seal {
    /// Returns the seal of a store, or `None` if the store was opened read-only.
    pub(crate) fn of(store: &Store) -> Option<Self> {
        let file = PrivateFile::new(store.key_file()?.with_extension("cases.key"));
        Some(Self { file, key: OnceLock::new() })
    }

    /// Returns the number of bytes that fit into an encrypted text of this length.
    pub(crate) fn room_in(length: usize) -> usize {
        (length / 4 * 3).saturating_sub(NONCE_LEN + CHACHA20_POLY1305.tag_len())
    }

    /// Encrypts these bytes and returns them as Base64.
    pub(crate) fn close(
        &self,
        purpose: Purpose,
        case: &UuidV7,
        bytes: &[u8],
    ) -> Result<String, SealError> {
        let random = |_| SealError::Random;
        let nonce: [u8; NONCE_LEN] = answerback_store::system::random().map_err(random)?;
        let mut hidden = bytes.to_vec();
        let key = self.key()?;
        let bound = Aad::from(bound(purpose, case));
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut hidden)
            .map_err(|_| SealError::Broken)?;
        Ok(BASE64.encode(&[nonce.as_slice(), &hidden].concat()))
    }

    /// Decrypts a text that was encrypted for this purpose and this case.
    pub(crate) fn open(
        &self,
        purpose: Purpose,
        case: &UuidV7,
        sealed: &str,
    ) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let sealed = BASE64.decode(sealed.as_bytes()).map_err(|_| SealError::Broken)?;
        let (nonce, hidden) = sealed.split_first_chunk().ok_or(SealError::Broken)?;
        let mut hidden = Zeroizing::new(hidden.to_vec());
        let bound = Aad::from(bound(purpose, case));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key()?.open_in_place(nonce, bound, &mut hidden);
        let length = opened.map_err(|_| SealError::Broken)?.len();
        hidden.truncate(length);
        Ok(hidden)
    }

    fn key(&self) -> Result<&LessSafeKey, SealError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let text = match self.file.read()? {
            Some(text) => text,
            None => {
                let random = answerback_store::system::random().map_err(|_| SealError::Random)?;
                let secret: Zeroizing<[u8; 32]> = Zeroizing::new(random);
                let secret = Zeroizing::new(BASE64.encode(secret.as_slice()));
                self.file.create(&Zeroizing::new(format!("{PREFIX}{}\n", *secret)))?
            }
        };
        let secret = text.trim_end().strip_prefix(PREFIX);
        let secret = secret.and_then(|secret| BASE64.decode(secret.as_bytes()).ok());
        let secret = Zeroizing::new(secret.unwrap_or_default());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &secret)
            .map_err(|_| SealError::NotAKey(self.file.path().display().to_string()))?;
        Ok(self.key.get_or_init(|| LessSafeKey::new(key)))
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Seal").field("file", &self.file).finish_non_exhaustive()
    }
}

fn bound(purpose: Purpose, case: &UuidV7) -> String {
    let word = match purpose {
        Purpose::Original => "original",
        Purpose::Correction => "correction",
        Purpose::Answer => "answer",
    };
    // An id may be written in upper or lower case.
    format!("{word} {}", case.as_str().to_ascii_lowercase())
}

/// Reports why data could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    /// The key file cannot be used.
    #[error(transparent)]
    File(#[from] KeyError),
    /// The file does not contain a key.
    #[error("{0} holds no key for cases")]
    NotAKey(String),
    /// The system has no randomness.
    #[error("there is no randomness to encrypt with")]
    Random,
    /// The data was changed, belongs to another case or purpose, or was encrypted with another key.
    #[error("what was sealed cannot be opened with this key")]
    Broken,
}

#[cfg(test)]
mod tests {
    use answerback::Timestamp;

    use super::*;

    fn seal(folder: &tempfile::TempDir) -> Seal {
        let file = PrivateFile::new(folder.path().join("ledger.cases.key"));
        Seal { file, key: OnceLock::new() }
    }

    fn case(number: u8) -> UuidV7 {
        UuidV7::from_time(Timestamp::from_unix_millis(0), [number; 10])
    }

    #[test]
    fn what_is_sealed_opens_for_its_case_after_a_restart_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let sealed = seal(&folder).close(Purpose::Original, &case(1), b"hunter22").unwrap();
        let again = seal(&folder);
        let opened = again.open(Purpose::Original, &case(1), &sealed).unwrap();
        assert_eq!(opened.as_slice(), b"hunter22");
        assert_ne!(again.close(Purpose::Original, &case(1), b"hunter22").unwrap(), sealed);
        assert!(again.open(Purpose::Original, &case(2), &sealed).is_err());
        assert!(again.open(Purpose::Correction, &case(1), &sealed).is_err());
        let other = tempfile::tempdir().unwrap();
        assert!(seal(&other).open(Purpose::Original, &case(1), &sealed).is_err());
        for broken in ["", "AAAA", "!", &sealed[4..]] {
            assert!(again.open(Purpose::Original, &case(1), broken).is_err(), "{broken}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        seal(&folder).close(Purpose::Original, &case(1), b"").unwrap();
        let path = folder.path().join("ledger.cases.key");
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        std::fs::write(&path, "CASE+KEY+c2hvcnQ=\n").unwrap();
        let told = seal(&folder).close(Purpose::Original, &case(1), b"").unwrap_err().to_string();
        assert!(told.ends_with("ledger.cases.key holds no key for cases"), "{told}");
    }
}
