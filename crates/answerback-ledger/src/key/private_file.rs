use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::KeyError;
use crate::durable::{create_private, sync_parent};

/// A file that contains a secret and is readable only by its owner.
#[derive(Clone, Debug)]
pub struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    /// Creates a handle for the file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text in the file, or `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or other users can read it.
    pub fn read(&self) -> Result<Option<Zeroizing<String>>, KeyError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.error(error)),
        };
        self.refuse_open_to_others()?;
        Ok(Some(text))
    }

    /// Creates the file with this text if it does not exist, and returns the text that it contains
    /// afterward. If two processes start together, both get the text of the first.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written or read.
    pub fn create(&self, text: &str) -> Result<Zeroizing<String>, KeyError> {
        // Write a temporary file and link it into place, so that no process reads half a secret.
        let temporary = self.with_ending(&format!("new-{}", std::process::id()));
        temporary.replace(text)?;
        let linked = fs::hard_link(&temporary.path, &self.path);
        temporary.remove()?;
        match linked {
            Ok(()) => sync_parent(&self.path).map_err(|error| self.error(error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(self.error(error)),
        }
        self.read()?.ok_or_else(|| self.error(io::ErrorKind::NotFound.into()))
    }

    /// Writes the file with this text and replaces an existing one.
    pub(crate) fn replace(&self, text: &str) -> Result<(), KeyError> {
        self.remove()?;
        create_private(&self.path, text.as_bytes()).map_err(|error| self.error(error))
    }

    /// Renames this file to the other one's path and replaces the file there.
    pub(crate) fn rename_to(&self, other: &Self) -> Result<(), KeyError> {
        fs::rename(&self.path, &other.path)
            .and_then(|()| sync_parent(&other.path))
            .map_err(|error| self.error(error))
    }

    /// Returns the file in the same folder whose name has this ending added.
    pub(crate) fn with_ending(&self, ending: &str) -> Self {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(ending);
        Self::new(name)
    }

    fn remove(&self) -> Result<(), KeyError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.error(error)),
            _ => Ok(()),
        }
    }

    #[cfg(unix)]
    fn refuse_open_to_others(&self) -> Result<(), KeyError> {
        use std::os::unix::fs::PermissionsExt;
        // The last six mode bits are the permissions of the group and of all other users.
        let metadata = fs::metadata(&self.path).map_err(|error| self.error(error))?;
        let is_ours = metadata.permissions().mode().trailing_zeros() >= 6;
        if is_ours { Ok(()) } else { Err(KeyError::OpenToOthers(self.path.clone())) }
    }

    #[cfg(not(unix))]
    fn refuse_open_to_others(&self) -> Result<(), KeyError> {
        Ok(())
    }

    fn error(&self, source: io::Error) -> KeyError {
        KeyError::File { path: self.path.clone(), source }
    }
}
