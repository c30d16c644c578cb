//! Writes the few files outside the store so that they survive a crash.

use std::fs::{File, OpenOptions};
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
