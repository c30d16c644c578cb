//! Temporary folders for tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder that is removed after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("answerback-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Copies `examples/governance`.
    pub(crate) fn of_prompts(name: &str) -> Self {
        let folder = Self::new(name);
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/governance");
        for file in [
            "prompt-manifest.json",
            "prompt-lock.json",
            "response.json",
            "handoff.json",
            "domains/analysis.prompt.md",
            "domains/product.prompt.md",
            "archetypes/product-thinker.prompt.md",
        ] {
            folder.put(file, &fs::read_to_string(example.join(file)).unwrap());
        }
        folder
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Writes a document and returns its path.
    pub(crate) fn write(&self, name: &str, document: &Value) -> String {
        self.put(name, &document.to_string())
    }

    /// Writes a text and returns its path.
    pub(crate) fn put(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Replaces a part of a file, which must be there.
    pub(crate) fn edit(&self, name: &str, old: &str, new: &str) {
        let text = self.text(name);
        assert!(text.contains(old), "{name} has no {old:?}");
        self.put(name, &text.replacen(old, new, 1));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
