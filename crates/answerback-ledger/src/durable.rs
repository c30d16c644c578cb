//! Writing the few files that lie outside the store so that they survive a crash.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Creates a file that only its owner can read, with this content, on the disk when it returns.
///
/// Fails when there is a file already.
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

/// Makes the file's name durable: on Unix a new or renamed file is on the disk when its folder is.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
