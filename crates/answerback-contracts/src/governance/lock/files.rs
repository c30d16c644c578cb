//! Compares a lock with the prompt files. The caller reads the files and passes their contents in.

use std::collections::{BTreeMap, BTreeSet};

use answerback_findings::ValidationError;
use answerback_json::ValuePath;
use serde::Deserialize;
use serde_json::Value;

use super::{Lock, LockedPrompt, rule};
use crate::governance::manifest::is_prompt_file;
use crate::governed::PromptHash;

/// Holds the hashes of prompt files, and the paths of similar files that the manifest does not name.
///
/// ```
/// use answerback_contracts::governance::PromptFiles;
///
/// let files = PromptFiles::default().with_file("domains/sales.md", b"You sell.").with_stray("domains/new.md");
/// assert_eq!(files.hash("domains/sales.md").map(|hash| &hash.as_str()[..8]), Some("09ce08d5"));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct PromptFiles {
    hashes: BTreeMap<String, PromptHash>,
    strays: BTreeSet<String>,
}

impl PromptFiles {
    /// Adds a file with its content.
    pub fn with_file(mut self, file: impl Into<String>, bytes: &[u8]) -> Self {
        self.hashes.insert(file.into(), PromptHash::of(bytes));
        self
    }

    /// Adds a file that looks like a prompt but is not in the manifest.
    pub fn with_stray(mut self, file: impl Into<String>) -> Self {
        self.strays.insert(file.into());
        self
    }

    /// Returns the hash of a file, or `None` if the file was not added.
    pub fn hash(&self, file: &str) -> Option<&PromptHash> {
        self.hashes.get(file)
    }
}

impl Lock {
    /// Compares the files with the lock. It reports every file that is missing, has another hash, or is not
    /// locked. The paths of the findings point into the lock.
    pub fn check_files(&self, files: &PromptFiles) -> Vec<ValidationError> {
        check_files(&self.prompts, files)
    }

    /// Returns the well-formed entries of a lock document, even if other parts of it are broken. One bad hash
    /// then does not prevent the comparison of all other files.
    pub fn entries(document: &Value) -> BTreeMap<String, LockedPrompt> {
        let entries = document.get("prompts").and_then(Value::as_object).into_iter().flatten();
        entries
            .filter_map(|(key, entry)| Some((key.clone(), LockedPrompt::deserialize(entry).ok()?)))
            .filter(|(_, prompt)| is_prompt_file(&prompt.file))
            .collect()
    }
}

/// Compares files with the entries of a lock, as [`Lock::check_files`] does.
pub fn check_files(
    entries: &BTreeMap<String, LockedPrompt>,
    files: &PromptFiles,
) -> Vec<ValidationError> {
    let mut findings = Vec::new();
    let prompts = ValuePath::Root.key("prompts");
    for (key, locked) in entries {
        let (entry, file) = (prompts.key(key), &locked.file);
        match files.hash(file) {
            None => {
                let message = format!("{file}: the file is missing");
                findings.push(
                    ValidationError::of(&rule::FILE_MISSING, entry.key("file").pointer())
                        .with_message(message)
                        .with_expected(file),
                );
            }
            Some(hash) if *hash != locked.hash => {
                let message =
                    format!("{file}: the locked hash is {}, the file's is {hash}", locked.hash);
                findings.push(
                    ValidationError::of(&rule::HASH_MISMATCH, entry.key("hash").pointer())
                        .with_message(message)
                        .with_expected(locked.hash.as_str())
                        .with_actual(hash.as_str()),
                );
            }
            Some(_) => {}
        }
    }
    let locked: BTreeSet<&str> = entries.values().map(|prompt| prompt.file.as_str()).collect();
    let strays = files.strays.iter().chain(files.hashes.keys());
    for file in strays.filter(|file| !locked.contains(file.as_str())) {
        let message = format!("{file}: the file looks like a prompt and is not locked");
        findings.push(
            ValidationError::of(&rule::FILE_EXTRA, prompts.pointer())
                .with_message(message)
                .with_actual(file),
        );
    }
    findings
}
