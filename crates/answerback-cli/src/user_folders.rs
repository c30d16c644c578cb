//! Finds the user's directories, by environment variables and the conventions of the system.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the path in an environment variable. An empty variable counts as unset.
pub(crate) fn path_from_variable(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the user's configuration directory.
pub(crate) fn configuration() -> Option<PathBuf> {
    if cfg!(windows) {
        return path_from_variable("APPDATA");
    }
    path_from_variable("XDG_CONFIG_HOME")
        .or_else(|| Some(path_from_variable("HOME")?.join(".config")))
}

/// Returns the user's state directory.
pub(crate) fn state() -> Option<PathBuf> {
    users("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")
}

/// Returns the user's data directory.
pub(crate) fn data() -> Option<PathBuf> {
    users("XDG_DATA_HOME", ".local/share", "APPDATA")
}

/// Returns one of the user's directories: from the variable if it is set, or else by the system's convention.
fn users(variable: &str, below_home: &str, windows: &str) -> Option<PathBuf> {
    if cfg!(windows) {
        return path_from_variable(windows);
    }
    let below_home =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { below_home };
    path_from_variable(variable).or_else(|| Some(path_from_variable("HOME")?.join(below_home)))
}

/// Creates the folder of a file, accessible only to this user.
pub(crate) fn create_parent(file: &Path) -> anyhow::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Checks that a file and its folders could be created. Leaves nothing behind.
pub(crate) fn check_creatable(file: &Path) -> anyhow::Result<()> {
    let file = std::path::absolute(file)?;
    let folder = file.ancestors().skip(1).find(|folder| folder.exists());
    let folder = folder.with_context(|| format!("there is no folder for {}", file.display()))?;
    let trial = folder.join(format!(".answerback-{}", std::process::id()));
    let tried = fs::OpenOptions::new().write(true).create_new(true).open(&trial);
    tried.with_context(|| format!("cannot write in {}", folder.display()))?;
    fs::remove_file(&trial).with_context(|| trial.display().to_string())
}
