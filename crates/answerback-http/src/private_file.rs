//! Reads and writes small files that only their owner may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// The most bytes to read. Secrets are smaller; the limit protects against a wrong path to a large file.
const MAX_BYTES: u64 = 64 << 10;

/// Returns the text of a file, or `None` if the file does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>, PrivateFileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path, error)),
    };
    // This checks the open file, because the path could point to another file by now.
    if is_open_to_others(&file).map_err(|error| at(path, error))? {
        return Err(PrivateFileError::OpenToOthers(path.to_owned()));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| at(path, error))?;
    Ok(Some(text))
}

/// Creates a file with this text. Returns false if the file exists already. If two processes start at the same time,
/// the first file stays.
pub(crate) fn create(path: &Path, text: &str) -> Result<bool, PrivateFileError> {
    let temporary = write_temporary(path, text)?;
    let linked = fs::hard_link(&temporary, path);
    remove(&temporary)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(at(path, error)),
    }
}

/// Writes a file atomically and replaces an existing one.
///
/// # Errors
///
/// If the file system refuses. The old file is then unchanged.
pub fn replace(path: &Path, text: &str) -> Result<(), PrivateFileError> {
    let temporary = write_temporary(path, text)?;
    fs::rename(&temporary, path).map_err(|error| at(path, error))
}

/// Writes the text to a temporary file next to `path`. The caller moves it into place, so no reader ever sees half a
/// secret.
fn write_temporary(path: &Path, text: &str) -> Result<PathBuf, PrivateFileError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".new-{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    remove(&temporary)?;
    write_new(&temporary, text).map_err(|error| at(&temporary, error))?;
    Ok(temporary)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn remove(path: &Path) -> Result<(), PrivateFileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path, error)),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn is_open_to_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    // The last six bits of the mode are the permissions of the group and of all others.
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &File) -> io::Result<bool> {
    Ok(false)
}

fn at(path: &Path, source: io::Error) -> PrivateFileError {
    PrivateFileError::File { path: path.to_owned(), source }
}

/// The reason why a file that holds a secret cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateFileError {
    /// Other users can read or write the file.
    #[error("others can read or write {path}; change it with: chmod 600 {path}", path = .0.display())]
    OpenToOthers(PathBuf),
    /// The file cannot be read or written.
    #[error("{} cannot be used", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_file_stays_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert!(read(&path).unwrap().is_none());
        assert!(create(&path, "one").unwrap());
        assert!(!create(&path, "two").unwrap());
        assert_eq!(read(&path).unwrap().unwrap().as_str(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_open_to_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        create(&path, "one").unwrap();
        for mode in [0o640, 0o620, 0o604, 0o602, 0o610] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = read(&path).unwrap_err().to_string();
            let expected = format!("chmod 600 {}", path.display());
            assert!(refused.ends_with(&expected), "{mode:o}: {refused}");
        }
    }
}
