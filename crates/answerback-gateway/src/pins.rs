use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use answerback::Digest;

use crate::{Toolbox, state_file};

/// Stores the tool definitions as they were first seen, in a file. So the gateway can report a server that
/// changes a tool after a person approved it.
#[derive(Debug)]
pub struct Pins {
    file: PathBuf,
    pinned: BTreeMap<String, String>,
}

impl Pins {
    /// Reads the pins of a server. There are none if the file does not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or does not contain pins.
    pub fn read(file: impl Into<PathBuf>) -> Result<Self, PinError> {
        let file = file.into();
        let pinned = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| PinError { file: file.clone(), reason: error.to_string() })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(PinError { file, reason: error.to_string() }),
        };
        Ok(Self { file, pinned })
    }

    /// Pins the tools that are new.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn add(&mut self, tools: &Toolbox) -> Result<(), PinError> {
        let before = self.pinned.len();
        for (name, digest) in tools.definitions() {
            self.pinned.entry(name.to_owned()).or_insert_with(|| digest.to_string());
        }
        if self.pinned.len() == before { Ok(()) } else { self.write() }
    }

    /// True if a tool's definition differs from the pinned one.
    pub fn has_changed(&self, tool: &str, definition: Digest) -> bool {
        self.pinned.get(tool).is_some_and(|pinned| *pinned != definition.to_string())
    }

    /// The names of the pinned tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pinned.keys().map(String::as_str)
    }

    /// The path of the file. To accept a change, remove the tool's line or the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn write(&self) -> Result<(), PinError> {
        let text = serde_json::to_string_pretty(&self.pinned).unwrap_or_default();
        state_file::replace(&self.file, &text)
            .map_err(|error| PinError { file: self.file.clone(), reason: error.to_string() })
    }
}

/// Reports pins that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the pinned tool definitions in {file} cannot be used: {reason}")]
pub struct PinError {
    file: PathBuf,
    reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_pinned_when_it_is_first_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pins/a.json");
        let tools = |x: u8| {
            Toolbox::read([format!(r#"{{"tools":[{{"name":"a","x":{x}}}]}}"#).as_str()], |_| true)
                .unwrap()
        };
        let (first, second) = (tools(1), tools(2));
        let mut pins = Pins::read(&file).unwrap();
        pins.add(&first).unwrap();
        let mut pins = Pins::read(&file).unwrap();
        pins.add(&second).unwrap();
        assert!(!pins.has_changed("a", first.definition("a").unwrap()));
        assert!(pins.has_changed("a", second.definition("a").unwrap()));
        assert!(!pins.has_changed("b", second.definition("a").unwrap()));
        fs::write(&file, "nope").unwrap();
        assert!(Pins::read(&file).is_err());
    }
}
