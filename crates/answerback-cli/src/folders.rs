//! The user's folders, by the variables that name them and the system's custom.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A path that a variable names; an empty one names nothing.
pub(crate) fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Where users configure programs.
pub(crate) fn configuration() -> Option<PathBuf> {
    if cfg!(windows) {
        return named("APPDATA");
    }
    named("XDG_CONFIG_HOME").or_else(|| Some(named("HOME")?.join(".config")))
}

/// Where programs keep what they have to remember.
pub(crate) fn state() -> Option<PathBuf> {
    users("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")
}

/// Where programs keep what belongs to the user.
pub(crate) fn data() -> Option<PathBuf> {
    users("XDG_DATA_HOME", ".local/share", "APPDATA")
}

/// One of the user's folders: by the variable where it is set, by the system's custom otherwise.
fn users(variable: &str, below_home: &str, windows: &str) -> Option<PathBuf> {
    if cfg!(windows) {
        return named(windows);
    }
    let below_home =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { below_home };
    named(variable).or_else(|| Some(named("HOME")?.join(below_home)))
}

/// Makes the folder of a file, for this user alone.
pub(crate) fn make_for(file: &Path) -> anyhow::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Whether a file that is not there could be made, with the folders that it needs. Nothing is left behind.
pub(crate) fn could_make(file: &Path) -> anyhow::Result<()> {
    let file = std::path::absolute(file)?;
    let folder = file.ancestors().skip(1).find(|folder| folder.exists());
    let folder = folder.with_context(|| format!("there is no folder for {}", file.display()))?;
    let trial = folder.join(format!(".answerback-{}", std::process::id()));
    let tried = fs::OpenOptions::new().write(true).create_new(true).open(&trial);
    tried.with_context(|| format!("cannot write in {}", folder.display()))?;
    fs::remove_file(&trial).with_context(|| trial.display().to_string())
}
