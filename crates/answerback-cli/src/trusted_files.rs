//! Stores the configuration files that the user trusts, each by its path and its content.
//!
//! A file that was only found must not name commands, paths or keys, because a user who clones a repository has not
//! read it. A change of the content ends the trust.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use answerback::Digest;
use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::atomic_replace::replace;
use crate::user_folders;

/// The trust state of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TrustState {
    /// The file is trusted with this content.
    Trusted,
    /// The file was trusted and has changed since.
    Changed,
    /// The file was never trusted.
    Unknown,
}

/// The list of trusted files, stored in the user's state directory.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedFiles {
    /// The SHA-256 of each file's content, by its path without links.
    files: BTreeMap<String, String>,
}

impl TrustedFiles {
    fn place() -> anyhow::Result<PathBuf> {
        let folder = user_folders::state()
            .context("the user's state directory is unknown; set XDG_STATE_HOME")?;
        Ok(folder.join("answerback").join("trusted.json"))
    }

    /// Reads the list. Fails if the list cannot be read.
    pub(crate) fn read() -> anyhow::Result<Self> {
        if user_folders::state().is_none() {
            // Without a state directory, no file was ever trusted.
            return Ok(Self::default());
        }
        let place = Self::place()?;
        let text = match fs::read_to_string(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| cannot("read", &place)),
        };
        serde_json::from_str(&text).with_context(|| {
            format!(
                "{} is not the list of trusted files; remove it, and trust the files again",
                place.display()
            )
        })
    }

    fn write(&self) -> anyhow::Result<()> {
        let place = Self::place()?;
        user_folders::create_parent(&place)?;
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        replace(&place, text.as_bytes()).with_context(|| cannot("write", &place))
    }

    /// Returns the trust state of the file with this content.
    pub(crate) fn trust_state(&self, file: &Path, content: &[u8]) -> TrustState {
        let known = key(file).ok().and_then(|key| self.files.get(&key));
        match known {
            None => TrustState::Unknown,
            Some(digest) if *digest == Digest::of_bytes(content).to_string() => TrustState::Trusted,
            Some(_) => TrustState::Changed,
        }
    }

    /// Trusts the file with this content and returns the content's digest.
    pub(crate) fn add(&mut self, file: &Path, content: &[u8]) -> anyhow::Result<Digest> {
        let digest = Digest::of_bytes(content);
        self.files.insert(key(file)?, digest.to_string());
        self.write()?;
        Ok(digest)
    }

    /// Ends the trust in the file, which need not exist any more. Returns false if it was not trusted.
    pub(crate) fn remove(&mut self, file: &Path) -> anyhow::Result<bool> {
        let gone = |file: &Path| Some(std::path::absolute(file).ok()?.to_str()?.to_owned());
        let key = key(file).ok().or_else(|| gone(file)).unwrap_or_default();
        let was_there = self.files.remove(&key).is_some();
        if was_there {
            self.write()?;
        }
        Ok(was_there)
    }

    /// Returns the files with their digests.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(file, digest)| (file.as_str(), digest.as_str()))
    }
}

/// Returns a file's path without links, so that all its names count as one file.
fn key(file: &Path) -> anyhow::Result<String> {
    let path = fs::canonicalize(file).with_context(|| cannot("find", file))?;
    let text = path.to_str().context("a file whose path is not UTF-8 cannot be trusted")?;
    Ok(text.to_owned())
}

fn cannot(what: &str, file: &Path) -> String {
    format!("cannot {what} {}", file.display())
}
