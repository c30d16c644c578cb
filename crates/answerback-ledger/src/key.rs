//! The key that signs checkpoints, and the file it lives in.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ed25519_dalek::Signer;
use zeroize::Zeroizing;

use crate::PrivateFile;
use crate::base64::{decode, encode};
use crate::note::{ED25519, VerifierKey, hex_id, is_name};

/// A key that signs. It is not printed, and its memory is wiped when it is dropped.
#[derive(Clone)]
pub struct SigningKey {
    name: String,
    key: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// The key of this name made of 32 random bytes.
    ///
    /// # Errors
    ///
    /// When the name cannot be one.
    pub fn new(name: &str, random: &[u8; 32]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_bytes(random);
        if is_name(name) { Ok(Self { name: name.to_owned(), key }) } else { Err(KeyError::Form) }
    }

    /// Reads the text of a key: `PRIVATE+KEY+NAME+ID+SECRET`.
    ///
    /// # Errors
    ///
    /// When it is not one.
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

    /// The text of the key, as its file holds it.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut secret = Zeroizing::new(vec![ED25519]);
        secret.extend_from_slice(self.key.as_bytes());
        let (name, id) = (&self.name, self.verifier().id());
        Zeroizing::new(format!(
            "PRIVATE+KEY+{name}+{id:08x}+{}\n",
            *Zeroizing::new(encode(&secret))
        ))
    }

    /// The name of the signer. For a log it is the origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The public half.
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

/// The file that holds the key of a log, readable by its owner only.
///
/// A rotation goes through a second file beside it, `FILE.next`: the new key is on the disk before the
/// log says that it signs from now on, and takes the first one's place after. So at every moment one of
/// the two files has the key that the log names. There is one `FILE.next`, so whoever calls
/// [`Self::begin_rotation`] or [`Self::holding`] holds the lock on the log: else it could be another's.
#[derive(Clone, Debug)]
pub struct KeyFile {
    file: PrivateFile,
}

impl KeyFile {
    /// The key file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { file: PrivateFile::new(path) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The key in the file, or `None` when there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is open to others, or does not hold a key.
    pub fn read(&self) -> Result<Option<SigningKey>, KeyError> {
        read(&self.file)
    }

    /// Puts a key into the file that is not there yet, and gives the key that is in it afterwards:
    /// of two processes that start together the first one's.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or read.
    pub fn create(&self, key: &SigningKey) -> Result<SigningKey, KeyError> {
        parse(&self.file, &self.file.create(&key.to_text())?)
    }

    /// The key in the file if the log names it, else the one that a rotation left in `FILE.next`, which
    /// then takes its place.
    ///
    /// # Errors
    ///
    /// When neither is the key that the log names, or a file cannot be used.
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

    /// Puts the next key beside the file, before the log names it. The key in force is in the file itself: who asked
    /// [`Self::holding`] for it has seen to that.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn begin_rotation(&self, next: &SigningKey) -> Result<(), KeyError> {
        // What lies there was never named by the log, or it would have taken its place.
        self.file.beside("next").replace(&next.to_text())
    }
}

fn read(file: &PrivateFile) -> Result<Option<SigningKey>, KeyError> {
    file.read()?.map(|text| parse(file, &text)).transpose()
}

fn parse(file: &PrivateFile, text: &str) -> Result<SigningKey, KeyError> {
    SigningKey::parse(text).map_err(|_| KeyError::NotAKey(file.path().to_owned()))
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It is not the text of a key.
    #[error("not a key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519")]
    Form,
    /// A file that does not hold a key.
    #[error("{} holds no key PRIVATE+KEY+NAME+ID+SECRET of type Ed25519", .0.display())]
    NotAKey(PathBuf),
    /// A file that others can read.
    #[error("others can read the key {path}; change it with: chmod 600 {path}", path = .0.display())]
    OpenToOthers(PathBuf),
    /// The log is signed by another key.
    #[error("the log is signed by {named}, and {} holds another key; put that key there", .path.display())]
    Other {
        /// Where a key was looked for.
        path: PathBuf,
        /// The key that the log names.
        named: String,
    },
    /// There is no key file, though the log has a key.
    #[error("the log is signed by {named}, and there is no key file {}; restore it from a backup", .path.display())]
    Missing {
        /// Where the key was looked for.
        path: PathBuf,
        /// The key that the log names.
        named: String,
    },
    /// A file that cannot be read or written.
    #[error("the key file {} cannot be used", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
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
        // Before the log names it, the old key signs.
        assert_eq!(file.holding(&old.verifier()).unwrap().verifier(), old.verifier());
        file.begin_rotation(&next).unwrap();
        // After, the next one does, and is in its place.
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
        // A key that a rotation left, and that the log does not name, is no reason to say otherwise.
        file.begin_rotation(&SigningKey::new("log", &[2; 32]).unwrap()).unwrap();
        assert!(matches!(file.holding(&key.verifier()), Err(KeyError::Missing { .. })));
    }
}
