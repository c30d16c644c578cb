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
pub(crate) enum CipherPurpose {
    /// The arguments of the call that opened a case.
    Original,
    /// The complete arguments that a person corrected.
    Correction,
    /// The person's complete answer.
    Answer,
}

/// Encrypts with ChaCha20-Poly1305 and binds the data to a case. The key is in a file next to the ledger's key
/// and is created on first use.
pub(crate) struct CaseCipher {
    file: PrivateFile,
    key: OnceLock<LessSafeKey>,
}

impl CaseCipher {
    /// Returns the cipher of a store, or `None` if the store was opened read-only.
    pub(crate) fn of(store: &Store) -> Option<Self> {
        let file = PrivateFile::new(store.key_file()?.with_extension("cases.key"));
        Some(Self { file, key: OnceLock::new() })
    }

    /// Returns the number of bytes that fit into an encrypted text of this length.
    pub(crate) fn plaintext_capacity(length: usize) -> usize {
        (length / 4 * 3).saturating_sub(NONCE_LEN + CHACHA20_POLY1305.tag_len())
    }

    /// Encrypts these bytes and returns them as Base64.
    pub(crate) fn encrypt(
        &self,
        purpose: CipherPurpose,
        case: &UuidV7,
        bytes: &[u8],
    ) -> Result<String, CipherError> {
        let random = |_| CipherError::Random;
        let nonce: [u8; NONCE_LEN] = answerback_store::system::random().map_err(random)?;
        let mut buffer = bytes.to_vec();
        let key = self.key()?;
        let associated_data = Aad::from(associated_data(purpose, case));
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            associated_data,
            &mut buffer,
        )
        .map_err(|_| CipherError::Broken)?;
        Ok(BASE64.encode(&[nonce.as_slice(), &buffer].concat()))
    }

    /// Decrypts a text that was encrypted for this purpose and this case.
    pub(crate) fn decrypt(
        &self,
        purpose: CipherPurpose,
        case: &UuidV7,
        encrypted: &str,
    ) -> Result<Zeroizing<Vec<u8>>, CipherError> {
        let encrypted = BASE64.decode(encrypted.as_bytes()).map_err(|_| CipherError::Broken)?;
        let (nonce, buffer) = encrypted.split_first_chunk().ok_or(CipherError::Broken)?;
        let mut buffer = Zeroizing::new(buffer.to_vec());
        let associated_data = Aad::from(associated_data(purpose, case));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key()?.open_in_place(nonce, associated_data, &mut buffer);
        let length = opened.map_err(|_| CipherError::Broken)?.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    fn key(&self) -> Result<&LessSafeKey, CipherError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let text = match self.file.read()? {
            Some(text) => text,
            None => {
                let random = answerback_store::system::random().map_err(|_| CipherError::Random)?;
                let secret: Zeroizing<[u8; 32]> = Zeroizing::new(random);
                let secret = Zeroizing::new(BASE64.encode(secret.as_slice()));
                self.file.create(&Zeroizing::new(format!("{PREFIX}{}\n", *secret)))?
            }
        };
        let secret = text.trim_end().strip_prefix(PREFIX);
        let secret = secret.and_then(|secret| BASE64.decode(secret.as_bytes()).ok());
        let secret = Zeroizing::new(secret.unwrap_or_default());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &secret)
            .map_err(|_| CipherError::NotAKey(self.file.path().display().to_string()))?;
        Ok(self.key.get_or_init(|| LessSafeKey::new(key)))
    }
}

impl fmt::Debug for CaseCipher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CaseCipher").field("file", &self.file).finish_non_exhaustive()
    }
}

fn associated_data(purpose: CipherPurpose, case: &UuidV7) -> String {
    let word = match purpose {
        CipherPurpose::Original => "original",
        CipherPurpose::Correction => "correction",
        CipherPurpose::Answer => "answer",
    };
    // An id may be written in upper or lower case.
    format!("{word} {}", case.as_str().to_ascii_lowercase())
}

/// Reports why data could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CipherError {
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
    #[error("the encrypted data cannot be decrypted with this key")]
    Broken,
}

#[cfg(test)]
mod tests {
    use answerback::Timestamp;

    use super::*;

    fn cipher(folder: &tempfile::TempDir) -> CaseCipher {
        let file = PrivateFile::new(folder.path().join("ledger.cases.key"));
        CaseCipher { file, key: OnceLock::new() }
    }

    fn case(number: u8) -> UuidV7 {
        UuidV7::from_time(Timestamp::from_unix_millis(0), [number; 10])
    }

    #[test]
    fn data_decrypts_only_for_its_case_purpose_and_key() {
        let folder = tempfile::tempdir().unwrap();
        let encrypted =
            cipher(&folder).encrypt(CipherPurpose::Original, &case(1), b"hunter22").unwrap();
        let again = cipher(&folder);
        let plain = again.decrypt(CipherPurpose::Original, &case(1), &encrypted).unwrap();
        assert_eq!(plain.as_slice(), b"hunter22");
        assert_ne!(
            again.encrypt(CipherPurpose::Original, &case(1), b"hunter22").unwrap(),
            encrypted
        );
        assert!(again.decrypt(CipherPurpose::Original, &case(2), &encrypted).is_err());
        assert!(again.decrypt(CipherPurpose::Correction, &case(1), &encrypted).is_err());
        let other = tempfile::tempdir().unwrap();
        assert!(cipher(&other).decrypt(CipherPurpose::Original, &case(1), &encrypted).is_err());
        for broken in ["", "AAAA", "!", &encrypted[4..]] {
            assert!(again.decrypt(CipherPurpose::Original, &case(1), broken).is_err(), "{broken}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_key_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        cipher(&folder).encrypt(CipherPurpose::Original, &case(1), b"").unwrap();
        let path = folder.path().join("ledger.cases.key");
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        std::fs::write(&path, "CASE+KEY+c2hvcnQ=\n").unwrap();
        let error = cipher(&folder)
            .encrypt(CipherPurpose::Original, &case(1), b"")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("ledger.cases.key holds no key for cases"), "{error}");
    }
}
