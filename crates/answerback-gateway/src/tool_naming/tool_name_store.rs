//! Stores the assigned tool names in a file, so that a name keeps its meaning across restarts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::tool_names::ToolNames;
use crate::state_file;

/// Maps the name that clients see to the tool that it belongs to.
pub(crate) type AssignedNames = BTreeMap<String, NameOwner>;

/// The tool that a name belongs to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct NameOwner {
    pub(crate) server: String,
    /// The server's own name for the tool.
    pub(crate) tool: String,
}

/// Serializes reading, assigning and writing within this process.
static ASSIGNING: Mutex<()> = Mutex::new(());

/// The file of the assigned names, and the current names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolNameStore {
    file: Option<PathBuf>,
    /// The assigned names if there is no file. They are lost when the process ends.
    unstored: Arc<Mutex<AssignedNames>>,
    current: Arc<RwLock<Arc<ToolNames>>>,
}

impl ToolNameStore {
    /// Creates the store next to a server's file of pins, which has another name. Names from an earlier configuration
    /// stay valid.
    pub(crate) fn new(pins: Option<&Path>, before: Option<&Self>) -> Self {
        let file = pins.and_then(Path::parent).map(|folder| folder.join("names.json"));
        let unstored = before.map(|before| Arc::clone(&before.unstored)).unwrap_or_default();
        Self { file, unstored, current: Arc::default() }
    }

    /// The names as they were last assigned.
    pub(crate) fn current(&self) -> Arc<ToolNames> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Assigns further names in addition to the stored ones, and stores the new ones.
    pub(crate) fn assign(
        &self,
        servers: &[&str],
        more: impl Fn(ToolNames) -> ToolNames,
    ) -> Arc<ToolNames> {
        let names = Arc::new(self.assign_stored(servers, &more).unwrap_or_else(|error| {
            let file = self.file.as_deref().unwrap_or(Path::new(""));
            tracing::warn!(file = %file.display(), %error, "the assigned tool names cannot be stored");
            more(ToolNames::default())
        }));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        names
    }

    /// Stores the names of a single server, whose tools keep their own names.
    pub(crate) fn assign_unprefixed(&self, server: &str, tools: &[String]) {
        self.assign(&[server], |stored| stored.and_unprefixed(tools));
    }

    fn assign_stored(
        &self,
        servers: &[&str],
        more: impl Fn(ToolNames) -> ToolNames,
    ) -> io::Result<ToolNames> {
        let _guard = ASSIGNING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read()?;
        let names = more(ToolNames::restore(servers, &before));
        let mut after = before.clone();
        after.extend(names.assigned_names(servers));
        if after != before {
            self.write(after)?;
        }
        Ok(names)
    }

    fn read(&self) -> io::Result<AssignedNames> {
        let Some(file) = &self.file else {
            return Ok(self.unstored.lock().unwrap_or_else(PoisonError::into_inner).clone());
        };
        match fs::read(file) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(AssignedNames::new()),
            Err(error) => Err(error),
        }
    }

    fn write(&self, names: AssignedNames) -> io::Result<()> {
        match &self.file {
            Some(file) => state_file::replace(file, &serde_json::to_string_pretty(&names)?),
            None => {
                *self.unstored.lock().unwrap_or_else(PoisonError::into_inner) = names;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_names_last_until_the_process_ends() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let assign = |store: &ToolNameStore, servers: &[&str], names: &[&[&str]]| {
            store.assign(servers, |stored| {
                let names = names.iter().map(|names| list(names));
                stored.and(servers.iter().copied().zip(names))
            })
        };
        let store = ToolNameStore::new(None, None);
        // The first server has not listed its tools yet.
        assign(&store, &["a", "b"], &[&[], &["x"]]);
        let names = assign(&store, &["a", "b"], &[&["x"], &["x"]]);
        assert_eq!(
            (names.client_name(0, "x"), names.client_name(1, "x")),
            (Some("a_x"), Some("x"))
        );
        let reloaded = ToolNameStore::new(None, Some(&store));
        let names = assign(&reloaded, &["c", "b"], &[&["x"], &["x"]]);
        assert_eq!(
            (names.client_name(0, "x"), names.client_name(1, "x")),
            (Some("c_x"), Some("x"))
        );
    }
}
