//! Replaces files atomically: readers see the old file or the new one, never a part.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to a temporary file next to `path` and renames it over `path`. If `path` is a link, its target is
/// replaced, not the link.
///
/// # Errors
///
/// If the file system refuses, or if `path` exists and is not a regular file. It is then unchanged.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Replaces a file as [`replace`] does, with the content that `write` writes.
///
/// # Errors
///
/// If `write` fails, if the file system refuses, or if `path` exists and is not a regular file. It is then unchanged.
pub(crate) fn replace_with<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let target = target(path)?;
    let beside = beside(&target);
    let present = fs::metadata(&target).ok();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The new file may replace a private one, so other users must not be able to read it while it is written.
    #[cfg(unix)]
    if present.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(&beside)?;
    let written = write(&mut file).and_then(|written| {
        file.sync_all()?;
        if let Some(present) = present {
            fs::set_permissions(&beside, present.permissions())?;
        }
        fs::rename(&beside, &target)?;
        Ok(written)
    });
    if written.is_err() {
        // The first error matters more than a leftover temporary file.
        let _ = fs::remove_file(&beside);
    }
    let written = written?;
    keep_name(&target)?;
    Ok(written)
}

/// Resolves a link to its file. Rejects devices and pipes, because a rename would remove them.
fn target(path: &Path) -> io::Result<PathBuf> {
    let refused = |reason| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    match fs::metadata(path) {
        Ok(present) if present.is_file() => fs::canonicalize(path),
        Ok(present) if present.is_dir() => refused("it is a directory; name a file in it"),
        Ok(_) => refused("it is no regular file and stays as it is; name a file"),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) if path.is_symlink() => {
            refused("it is a link that leads to nothing; name the file itself")
        }
        Err(_) => Ok(path.to_owned()),
    }
}

/// Returns a temporary name in the same folder, and so on the same file system.
fn beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    target.with_file_name(name)
}

/// Syncs the folder, because a rename is durable only then. Systems other than Unix cannot open folders and do this
/// themselves.
fn keep_name(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_behind() {
        let folder =
            std::env::temp_dir().join(format!("answerback-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.json");
        for text in ["first", "second"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // A folder with the temporary file's name causes an error, and the file is unchanged.
        fs::create_dir(beside(&fs::canonicalize(&path).unwrap())).unwrap();
        replace(&path, b"third").unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_stays_and_a_link_leads_to_the_file() {
        let folder =
            std::env::temp_dir().join(format!("answerback-replace-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link, lost) = (folder.join("file"), folder.join("link"), folder.join("lost"));
        fs::write(&file, "first").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink(folder.join("nothing"), &lost).unwrap();
        let socket = folder.join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        replace(&link, b"second").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        for path in [&lost, &socket, &folder] {
            assert_eq!(replace(path, b"third").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(lost.is_symlink() && !folder.join("nothing").exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
        fs::remove_dir_all(&folder).unwrap();
    }
}
