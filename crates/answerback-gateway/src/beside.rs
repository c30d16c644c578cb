//! Small files of our own that are replaced as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Puts a whole file in place of another, for this user alone. Several processes may do so: each writes beside it first.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.open(&beside)?;
    written.write_all(text.as_bytes()).and_then(|()| written.sync_all())?;
    fs::rename(&beside, file)
}
