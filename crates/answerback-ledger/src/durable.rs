//! Writes the few files outside the store so that they survive a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Creates a file with this content that only its owner can read. The file is on the disk when the
/// function returns.
///
/// Fails if the file already exists.
pub(crate) fn create_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()?;
    sync_parent(path)
}

/// Makes the file's name durable. On Unix a new or renamed file survives a crash only after its
/// folder is synced.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Replaces a file with this content. A reader sees the old content or the new content, never a part
/// of it, and so does the next start after a crash.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.to_owned().into_os_string();
    temporary.push(".next");
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_parent(path)
}
