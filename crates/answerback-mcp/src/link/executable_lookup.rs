//! Finds the file of a program before it is started.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Returns true if the program can be found. A bare name is looked up in the directories of `places`; a path is
/// resolved against `folder`.
pub(super) fn is_there(program: &OsStr, places: &OsStr, folder: &Path) -> bool {
    // Windows tries several file extensions for a name, so this check is skipped there.
    if cfg!(windows) {
        return true;
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return can_be_run(&folder.join(program));
    }
    env::split_paths(places).any(|place| can_be_run(&place.join(program)))
}

#[cfg(unix)]
fn can_be_run(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let found = std::fs::metadata(file);
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn can_be_run(file: &Path) -> bool {
    file.is_file()
}
