//! Where a program lies that is to be started.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Whether a program would be found: one that is named without a folder in these places, another one from this folder.
pub(super) fn is_there(program: &OsStr, places: &OsStr, folder: &Path) -> bool {
    // There a name stands for files of several endings.
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
