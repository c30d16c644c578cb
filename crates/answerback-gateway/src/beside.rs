//! Small files of our own that are replaced as a whole.

use std::fs;
use std::io;
use std::path::Path;

use answerback_http::private_file;

/// Puts a whole file in place of another, for this user alone, in a folder that need not be there yet.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    private_file::replace(file, text).map_err(io::Error::other)
}
