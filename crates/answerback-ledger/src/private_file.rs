use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::durable::{create_private, sync_parent};
use crate::key::KeyError;

/// A file with a secret in it, readable by its owner only.
#[derive(Clone, Debug)]
pub struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    /// The file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text in the file, or `None` when there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is open to others.
    pub fn read(&self) -> Result<Option<Zeroizing<String>>, KeyError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.error(error)),
        };
        self.refuse_open_to_others()?;
        Ok(Some(text))
    }

    /// Puts a text into the file that is not there yet, and gives the text that is in it afterwards: of two processes
    /// that start together the first one's.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or read.
    pub fn create(&self, text: &str) -> Result<Zeroizing<String>, KeyError> {
        // Written aside and linked into place: nobody ever reads half a secret.
        let aside = self.beside(&format!("new-{}", std::process::id()));
        aside.replace(text)?;
        let linked = fs::hard_link(&aside.path, &self.path);
        aside.remove()?;
        match linked {
            Ok(()) => sync_parent(&self.path).map_err(|error| self.error(error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(self.error(error)),
        }
        self.read()?.ok_or_else(|| self.error(io::ErrorKind::NotFound.into()))
    }

    /// Puts a text into the file, whatever was there.
    pub(crate) fn replace(&self, text: &str) -> Result<(), KeyError> {
        self.remove()?;
        create_private(&self.path, text.as_bytes()).map_err(|error| self.error(error))
    }

    /// Takes the place of another file.
    pub(crate) fn rename_to(&self, other: &Self) -> Result<(), KeyError> {
        fs::rename(&self.path, &other.path)
            .and_then(|()| sync_parent(&other.path))
            .map_err(|error| self.error(error))
    }

    /// The file beside this one with an ending more.
    pub(crate) fn beside(&self, ending: &str) -> Self {
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
        // The last six bits are what the group and everybody else may do.
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
