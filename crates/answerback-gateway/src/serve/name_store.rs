//! Stores the assigned tool names in a file, so that a name keeps its meaning across restarts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::Backend;
use super::names::ToolNames;
use crate::state_file;

/// Maps the name that clients see to the tool that it belongs to.
pub(crate) type GivenNames = BTreeMap<String, Holder>;

/// Identifies the tool that a name belongs to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Holder {
    pub(crate) server: String,
    /// The server's own name for the tool.
    pub(crate) tool: String,
}

/// Serializes reading, assigning and writing within this process.
static GIVING: Mutex<()> = Mutex::new(());

/// Holds the file of the assigned names, and the current names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameFile {
    file: Option<PathBuf>,
    /// The assigned names if there is no file. They are lost when the process ends.
    given: Arc<Mutex<GivenNames>>,
    now: Arc<RwLock<Arc<ToolNames>>>,
}

impl NameFile {
    /// Creates the store next to the servers' pins, whose files have other names. Names from an earlier
    /// configuration stay valid.
    pub(crate) fn of(backends: &[Backend], before: Option<&Self>) -> Self {
        let pins = backends.iter().find_map(|backend| backend.served.pins.as_deref());
        let file = pins.and_then(Path::parent).map(|folder| folder.join("names.json"));
        let given = before.map(|before| Arc::clone(&before.given)).unwrap_or_default();
        Self { file, given, now: Arc::default() }
    }

    /// Returns the names as they were last assigned.
    pub(crate) fn now(&self) -> Arc<ToolNames> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Assigns further names in addition to the stored ones, and stores the new ones.
    pub(crate) fn give(
        &self,
        servers: &[&str],
        more: impl Fn(ToolNames) -> ToolNames,
    ) -> Arc<ToolNames> {
        let names = Arc::new(self.kept(servers, &more).unwrap_or_else(|error| {
            let file = self.file.as_deref().unwrap_or(Path::new(""));
            tracing::warn!(file = %file.display(), %error, "the names that tools have cannot be kept");
            more(ToolNames::default())
        }));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        names
    }

    /// Stores the names of a single server, whose tools keep their own names.
    pub(crate) fn give_own(&self, server: &str, tools: &[String]) {
        self.give(&[server], |kept| kept.alone(tools));
    }

    fn kept(
        &self,
        servers: &[&str],
        more: impl Fn(ToolNames) -> ToolNames,
    ) -> io::Result<ToolNames> {
        let _one = GIVING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.before()?;
        let names = more(ToolNames::kept(servers, &before));
        let mut after = before.clone();
        after.extend(names.given(servers));
        if after != before {
            self.keep(after)?;
        }
        Ok(names)
    }

    fn before(&self) -> io::Result<GivenNames> {
        let Some(file) = &self.file else {
            return Ok(self.given.lock().unwrap_or_else(PoisonError::into_inner).clone());
        };
        match fs::read(file) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(GivenNames::new()),
            Err(error) => Err(error),
        }
    }

    fn keep(&self, given: GivenNames) -> io::Result<()> {
        match &self.file {
            Some(file) => state_file::replace(file, &serde_json::to_string_pretty(&given)?),
            None => {
                *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_names_hold_for_as_long_as_we_run() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let give = |file: &NameFile, servers: &[&str], claimed: &[&[&str]]| {
            file.give(servers, |kept| {
                let claimed = claimed.iter().map(|names| list(names));
                kept.and(servers.iter().copied().zip(claimed))
            })
        };
        let file = NameFile::of(&[], None);
        // The first server has not listed its tools yet.
        give(&file, &["a", "b"], &[&[], &["x"]]);
        let names = give(&file, &["a", "b"], &[&["x"], &["x"]]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
        let again = NameFile::of(&[], Some(&file));
        let names = give(&again, &["c", "b"], &[&["x"], &["x"]]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("c_x"), Some("x")));
    }
}
