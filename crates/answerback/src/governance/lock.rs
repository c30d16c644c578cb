use serde::Deserialize;
use serde_json::{Map, Value};

use crate::contract::governed::{AgentId, AgentIdentity, AgentType, AgentVersion, PromptHash};

/// A prompt lock: for every prompt its file, hash, type and version.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Lock {
    /// The version of the set of prompts.
    pub version: String,
    /// The version of the format: 1 or 2.
    #[serde(rename = "lockfileVersion")]
    pub lockfile_version: u32,
    /// The locked prompts, by the key that the manifest gives them.
    prompts: Map<String, Value>,
}

/// What the lock says of one prompt.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct LockedPrompt {
    /// The prompt's file, relative to the lock.
    pub file: String,
    /// The SHA-256 of the file's bytes, in lower-case hexadecimal.
    pub hash: PromptHash,
    /// Domain, archetype or orchestrator.
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// The prompt's version.
    pub version: AgentVersion,
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    ///
    /// When the document is not a lock of a version we know.
    pub fn from_document(document: &Value) -> Result<Self, LockError> {
        let lock =
            Self::deserialize(document).map_err(|error| LockError::NotALock(error.to_string()))?;
        match lock.lockfile_version {
            1 | 2 => Ok(lock),
            other => Err(LockError::UnknownVersion(other)),
        }
    }

    /// What is locked under a key.
    ///
    /// # Errors
    ///
    /// When nothing is, or when the entry is malformed.
    pub fn prompt(&self, key: &str) -> Result<LockedPrompt, LockError> {
        let entry = self.prompts.get(key).ok_or_else(|| LockError::UnknownAgent {
            key: key.to_owned(),
            known: self.prompts.keys().take(8).cloned().collect(),
        })?;
        LockedPrompt::deserialize(entry)
            .map_err(|error| LockError::BadEntry { key: key.to_owned(), reason: error.to_string() })
    }

    /// The identity of the agent locked under its canonical id: an agent that takes its identity from here cannot
    /// get it wrong.
    ///
    /// # Errors
    ///
    /// When the lock does not have the agent.
    ///
    /// ```
    /// let document = serde_json::json!({
    ///     "version": "1.0.0", "lockfileVersion": 1, "algorithm": "SHA-256",
    ///     "prompts": {"domain-02-analysis": {
    ///         "file": "domains/02.md", "type": "domain", "version": "1.0.0",
    ///         "hash": "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c",
    ///     }},
    /// });
    /// let lock = answerback::governance::Lock::from_document(&document)?;
    /// let identity = lock.identity("domain-02-analysis")?;
    /// assert_eq!(identity.agent_version.as_str(), "1.0.0");
    /// # Ok::<(), answerback::governance::LockError>(())
    /// ```
    pub fn identity(&self, agent_id: &str) -> Result<AgentIdentity, LockError> {
        let prompt = self.prompt(agent_id)?;
        let bad = |reason: String| LockError::BadEntry { key: agent_id.to_owned(), reason };
        let id = AgentId::try_from(agent_id).map_err(|error| bad(error.to_string()))?;
        Ok(AgentIdentity::new(prompt.agent_type, id, prompt.version, prompt.hash))
    }
}

/// Why a lock does not give an identity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The document is something else.
    #[error("not a prompt lock: {0}")]
    NotALock(String),
    /// The format is newer than we know.
    #[error("lockfileVersion {0} is not known; 1 and 2 are")]
    UnknownVersion(u32),
    /// The lock has no such agent.
    #[error("the lock has no agent {key:?}; it has {}", .known.join(", "))]
    UnknownAgent {
        /// What was asked for.
        key: String,
        /// Some that it has.
        known: Vec<String>,
    },
    /// The entry is malformed.
    #[error("the lock's entry {key:?} is malformed: {reason}")]
    BadEntry {
        /// The entry.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}
