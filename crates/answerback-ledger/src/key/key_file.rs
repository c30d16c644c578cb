use std::path::{Path, PathBuf};

use super::{KeyError, PrivateFile, SigningKey, VerifierKey};

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
        let stored = self.read()?;
        let is_missing = stored.is_none();
        if let Some(key) = stored.filter(|key| key.verifier() == *named) {
            return Ok(key);
        }
        match read(&self.file.with_ending("next"))?.filter(|key| key.verifier() == *named) {
            Some(key) => {
                self.file.with_ending("next").rename_to(&self.file)?;
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
        self.file.with_ending("next").replace(&next.to_text())
    }
}

fn read(file: &PrivateFile) -> Result<Option<SigningKey>, KeyError> {
    file.read()?.map(|text| parse(file, &text)).transpose()
}

fn parse(file: &PrivateFile, text: &str) -> Result<SigningKey, KeyError> {
    SigningKey::parse(text).map_err(|_| KeyError::NotAKey(file.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let message = file.holding(&key.verifier()).unwrap_err().to_string();
        assert!(message.contains("there is no key file"), "{message}");
        assert!(!message.contains("another"), "{message}");
        // A key in `FILE.next` that the log does not name must not change the error.
        file.begin_rotation(&SigningKey::new("log", &[2; 32]).unwrap()).unwrap();
        assert!(matches!(file.holding(&key.verifier()), Err(KeyError::Missing { .. })));
    }
}
