//! Finds the file of a program before it is started.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Returns true if the program can be found. A bare name is looked up in `directories`; a path is
/// resolved against `folder`.
pub(super) fn can_find(program: &OsStr, directories: &OsStr, folder: &Path) -> bool {
    // Windows tries several file extensions for a name, so this check is skipped there.
    if cfg!(windows) {
        return true;
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return is_executable(&folder.join(program));
    }
    env::split_paths(directories).any(|directory| is_executable(&directory.join(program)))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}
