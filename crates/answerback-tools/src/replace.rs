//! Replacing a file as a whole: readers see the old one or the new one, never a part.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` beside the file and renames it over it. A link is followed, so that what it leads to is
/// replaced and not the link.
///
/// # Errors
///
/// When the file system refuses; the file is then as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(&target);
    let written = write(&beside, bytes).and_then(|()| {
        if let Ok(present) = fs::metadata(&target) {
            fs::set_permissions(&beside, present.permissions())?;
        }
        fs::rename(&beside, &target)
    });
    if written.is_err() {
        // The reason for the failure is what counts; a leftover is only untidy.
        let _ = fs::remove_file(&beside);
    }
    written?;
    keep_name(&target)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in the same folder, which is on the same file system.
fn beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    target.with_file_name(name)
}

/// A rename lasts only once its folder is on the disk. Where folders cannot be opened, the system sees to it.
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
        // What stands in the way is an error, and the file stays as it was.
        fs::create_dir(beside(&fs::canonicalize(&path).unwrap())).unwrap();
        replace(&path, b"third").unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        fs::remove_dir_all(&folder).unwrap();
    }
}
