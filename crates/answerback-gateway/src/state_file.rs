//! Writes the gateway's own small files, each replaced as a whole.

use std::fs;
use std::io;
use std::path::Path;

use answerback_http::private_file;

/// Replaces a file atomically with one that only this user can read. Missing folders are created.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    private_file::replace(file, text).map_err(io::Error::other)
}
