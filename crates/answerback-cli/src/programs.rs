//! Whether a server's command is there to be started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use answerback_gateway::{Listed, ServiceSettings, Variable};

use crate::configuration::Configuration;

/// A line for each server whose command cannot be found: otherwise its first client is the one who hears of it.
pub(crate) fn missing(configuration: &Configuration, settings: &ServiceSettings) -> Vec<String> {
    let mut missing = Vec::new();
    for server in &settings.servers {
        let Listed::Command { command, env, folder, .. } = &server.listed else { continue };
        let path = env.iter().find_map(|(name, value)| match value {
            Variable::Text(text) if name == "PATH" => Some(OsString::from(text)),
            _ => None,
        });
        let path = path.or_else(|| env::var_os("PATH")).unwrap_or_default();
        let folder = folder.as_deref().map(|folder| configuration.path(folder));
        if !is_there(command, &path, folder.unwrap_or_default()) {
            let name = &server.name;
            missing.push(format!(
                "the server {name} cannot be started: there is no program {command:?} that can be run; install it, or \
                 write where it lies as gateway.upstreams.{name}.command"
            ));
        }
    }
    missing
}

/// Whether a command would be found from here.
pub(crate) fn can_start(command: &OsStr) -> bool {
    is_there(command, &env::var_os("PATH").unwrap_or_default(), PathBuf::new())
}

/// Whether a command would be found, as the system looks for it.
fn is_there(command: impl AsRef<Path>, path: &OsString, folder: PathBuf) -> bool {
    let command = command.as_ref();
    // There a name stands for files of several endings.
    if cfg!(windows) {
        return true;
    }
    if command.components().count() > 1 || command.has_root() {
        return can_be_run(&folder.join(command));
    }
    env::split_paths(path).any(|place| can_be_run(&place.join(command)))
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
