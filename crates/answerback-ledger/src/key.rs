//! The key that signs checkpoints, and the file that stores it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ed25519_dalek::Signer;
use zeroize::Zeroizing;

use crate::PrivateFile;
use crate::base64::{decode, encode};
use crate::note::{ED25519, VerifierKey, hex_id, is_name};

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

/// The file that stores the signing key of a log, readable only by its owner.
///
/// A rotation uses a second file, `FILE.next`. The new key is written there before the log names
/// it, and replaces the old key afterward. So at every moment one of the two files has the key that
/// the log names.
///
/// There is only one `FILE.next`. A caller of [`Self::begin_rotation`] or [`Self::holding`] must
/// hold the lock on the log, or two processes could overwrite each other's key.
#[derive(Clone, Debug)]
pub struct KeyFile {
    file: PrivateFile,
}

impl KeyFile {
    /// Creates a handle for the key file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { file: PrivateFile::new(path) }
    }

    /// Returns the path of the key file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the key in the file, or `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, other users can read it, or it does not contain
    /// a key.
    pub fn read(&self) -> Result<Option<SigningKey>, KeyError> {
        read(&self.file)
    }

    /// Creates the file with this key if it does not exist, and returns the key that it contains
    /// afterward. If two processes start together, both get the key of the first.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written or read.
    pub fn create(&self, key: &SigningKey) -> Result<SigningKey, KeyError> {
        parse(&self.file, &self.file.create(&key.to_text())?)
    }

    /// Returns the key that the log names. If only `FILE.next` has it, a rotation was interrupted,
    /// and this replaces the key file with it.
    ///
    /// # Errors
    ///
    /// Returns an error if neither file has the key that the log names, or a file cannot be used.
    pub fn holding(&self, named: &VerifierKey) -> Result<SigningKey, KeyError> {
        let held = self.read()?;
        let is_missing = held.is_none();
        if let Some(key) = held.filter(|key| key.verifier() == *named) {
            return Ok(key);
        }
        match read(&self.file.beside("next"))?.filter(|key| key.verifier() == *named) {
            Some(key) => {
                self.file.beside("next").rename_to(&self.file)?;
                Ok(key)
            }
            None => {
                let (path, named) = (self.path().to_owned(), named.to_string());
                Err(if is_missing {
                    KeyError::Missing { path, named }
                } else {
                    KeyError::Other { path, named }
                })
            }
        }
    }

    /// Writes the next key to `FILE.next`, before the log names it. Call [`Self::holding`] first:
    /// it makes sure that the current key is in the key file itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn begin_rotation(&self, next: &SigningKey) -> Result<(), KeyError> {
        // The log never named an older key in `FILE.next`; otherwise `holding` would have moved it.
        self.file.beside("next").replace(&next.to_text())
    }
}

fn read(file: &PrivateFile) -> Result<Option<SigningKey>, KeyError> {
    file.read()?.map(|text| parse(file, &text)).transpose()
}

fn parse(file: &PrivateFile, text: &str) -> Result<SigningKey, KeyError> {
    SigningKey::parse(text).map_err(|_| KeyError::NotAKey(file.path().to_owned()))
}

/// Explains why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not a key.
    #[error("not a key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519")]
    Form,
    /// The file does not contain a key.
    #[error("{} holds no key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519", .0.display())]
    NotAKey(PathBuf),
    /// Other users can read the file.
    #[error("others can read the key {path}; change it with: chmod 600 {path}", path = .0.display())]
    OpenToOthers(PathBuf),
    /// The log is signed by another key.
    #[error("the log is signed by {named}, and {} holds another key; put that key there", .path.display())]
    Other {
        /// The path of the key file.
        path: PathBuf,
        /// The public key that the log names.
        named: String,
    },
    /// The log has a key, but the key file is missing.
    #[error("the log is signed by {named}, and there is no key file {}; restore it from a backup", .path.display())]
    Missing {
        /// The path of the key file.
        path: PathBuf,
        /// The public key that the log names.
        named: String,
    },
    /// The file cannot be read or written.
    #[error("the key file {} cannot be used", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    #[test]
    fn the_first_of_two_creates_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::new(folder.path().join("ledger.key"));
        assert!(file.read().unwrap().is_none());
        let first = SigningKey::new("log", &[1; 32]).unwrap();
        let second = SigningKey::new("log", &[2; 32]).unwrap();
        assert_eq!(file.create(&first).unwrap().verifier(), first.verifier());
        assert_eq!(file.create(&second).unwrap().verifier(), first.verifier());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_open_to_others_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::new(folder.path().join("ledger.key"));
        file.create(&SigningKey::new("log", &[1; 32]).unwrap()).unwrap();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(file.read(), Err(KeyError::OpenToOthers(_))));
    }

    #[test]
    fn a_rotation_can_stop_at_any_moment() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::new(folder.path().join("ledger.key"));
        let old = file.create(&SigningKey::new("log", &[1; 32]).unwrap()).unwrap();
        let next = SigningKey::new("log", &[2; 32]).unwrap();
        file.begin_rotation(&next).unwrap();
        // Until the log names the new key, the old key signs.
        assert_eq!(file.holding(&old.verifier()).unwrap().verifier(), old.verifier());
        file.begin_rotation(&next).unwrap();
        // After that the new key signs, and it is in the key file.
        assert_eq!(file.holding(&next.verifier()).unwrap().verifier(), next.verifier());
        assert_eq!(file.read().unwrap().unwrap().verifier(), next.verifier());
        assert!(matches!(file.holding(&old.verifier()), Err(KeyError::Other { .. })));
    }

    #[test]
    fn a_missing_key_is_not_called_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::new(folder.path().join("ledger.key"));
        let key = file.create(&SigningKey::new("log", &[1; 32]).unwrap()).unwrap();
        fs::remove_file(file.path()).unwrap();
        let told = file.holding(&key.verifier()).unwrap_err().to_string();
        assert!(told.contains("there is no key file") && !told.contains("another"), "{told}");
        // A key in `FILE.next` that the log does not name must not change the error.
        file.begin_rotation(&SigningKey::new("log", &[2; 32]).unwrap()).unwrap();
        assert!(matches!(file.holding(&key.verifier()), Err(KeyError::Missing { .. })));
    }
}
