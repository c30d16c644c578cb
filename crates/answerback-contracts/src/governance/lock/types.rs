use std::collections::BTreeMap;

use answerback_findings::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;
use crate::governance::manifest::is_none;
use crate::governed::{AgentId, AgentIdentity, AgentType, AgentVersion, PromptHash};

/// A prompt lock: for every prompt its file, hash, type and version.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = spelled))]
#[non_exhaustive]
pub struct Lock {
    /// The version of the set of prompts, copied from the manifest.
    #[cfg_attr(feature = "schema", schemars(with = "AgentVersion"))]
    pub version: String,
    /// The version of the lock's format.
    #[serde(rename = "lockfileVersion")]
    pub lockfile_version: LockfileVersion,
    /// The time at which the set of prompts was fixed, copied from the manifest.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = crate::governed::TIMESTAMP)))]
    pub generated: String,
    /// The purpose of the set of prompts.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub description: String,
    /// The hash algorithm, spelled as this version of the format spells it.
    pub algorithm: String,
    /// The locked prompts, by their key in the manifest.
    pub prompts: BTreeMap<String, LockedPrompt>,
    /// The numbers of locked prompts.
    pub integrity: Integrity,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The version of the lock's format.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "u64", into = "u64")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines two")]
pub enum LockfileVersion {
    /// Version 1, which spells the algorithm `SHA-256`.
    #[default]
    One,
    /// Version 2, which spells the algorithm `sha256`.
    Two,
}

impl LockfileVersion {
    /// Returns the version number as a lock states it.
    pub const fn number(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Returns the spelling of the algorithm in this version.
    pub const fn algorithm(self) -> &'static str {
        match self {
            Self::One => "SHA-256",
            Self::Two => "sha256",
        }
    }
}

impl From<LockfileVersion> for u64 {
    fn from(version: LockfileVersion) -> Self {
        version.number()
    }
}

impl TryFrom<u64> for LockfileVersion {
    type Error = UnknownLockfileVersion;

    fn try_from(number: u64) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            other => Err(UnknownLockfileVersion(other)),
        }
    }
}

/// The error for a `lockfileVersion` other than 1 and 2.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("lockfileVersion {0} is not known; 1 and 2 are")]
pub struct UnknownLockfileVersion(u64);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for LockfileVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LockfileVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"description": "The version of the lock's format.", "enum": [1, 2]})
    }
}

/// Adds conditions to the schema, because the spelling of the algorithm depends on `lockfileVersion`.
#[cfg(feature = "schema")]
fn spelled(schema: &mut schemars::Schema) {
    let conditions: Vec<Value> = [LockfileVersion::One, LockfileVersion::Two]
        .iter()
        .map(|version| {
            serde_json::json!({
                "if": {"properties": {"lockfileVersion": {"const": version.number()}}},
                "then": {"properties": {"algorithm": {"const": version.algorithm()}}},
            })
        })
        .collect();
    schema.insert("allOf".to_owned(), Value::Array(conditions));
}

/// A prompt in the lock.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LockedPrompt {
    /// The path of the prompt's file, relative to the folder of the prompts.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::governance::manifest::FILE)))]
    pub file: String,
    /// The SHA-256 of the file's bytes, in lowercase hexadecimal.
    pub hash: PromptHash,
    /// The agent type: domain, archetype or orchestrator.
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// The prompt's version.
    pub version: AgentVersion,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl LockedPrompt {
    /// Returns the identity of the agent that uses this prompt.
    pub fn identity(&self, agent_id: AgentId) -> AgentIdentity {
        let (version, hash) = (self.version.clone(), self.hash.clone());
        AgentIdentity::new(self.agent_type, agent_id, version, hash)
    }
}

/// The numbers of locked prompts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Integrity {
    /// The number of all prompts.
    pub total_prompts: u64,
    /// The number of domains.
    pub domains: u64,
    /// The number of archetypes.
    pub archetypes: u64,
    /// The number of orchestrators. It is omitted if it is 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub orchestrators: u64,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Lock {
    /// Parses a lock that meets the lenient profile.
    ///
    /// # Errors
    ///
    /// Returns an error if the document does not meet the contract.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the lock as a JSON document, with its keys in the contract's order and its prompts sorted by
    /// key.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the text of the lock file. Equal locks have the same bytes.
    pub fn to_text(&self) -> String {
        format!("{:#}\n", self.to_document())
    }

    /// Returns the identity of the agent whose canonical id is the key of its locked prompt. If the manifest
    /// is available as well, use [`Authority`](crate::governance::Authority), which maps ids to keys.
    ///
    /// # Errors
    ///
    /// Returns an error if the lock does not have the agent.
    pub fn identity(&self, agent_id: &str) -> Result<AgentIdentity, UnknownAgent> {
        let unknown = || UnknownAgent::among(agent_id, self.prompts.keys().map(String::as_str));
        let prompt = self.prompts.get(agent_id).ok_or_else(unknown)?;
        Ok(prompt.identity(AgentId::try_from(agent_id).map_err(|_| unknown())?))
    }
}

/// The error for an agent id that is not known.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("there is no agent {id:?}{}", list_agents(.known))]
#[non_exhaustive]
pub struct UnknownAgent {
    /// The id that was requested.
    pub id: String,
    /// Up to eight of the known ids.
    pub known: Vec<String>,
}

impl UnknownAgent {
    pub(crate) fn among<'k>(id: &str, known: impl Iterator<Item = &'k str>) -> Self {
        Self { id: id.to_owned(), known: known.take(8).map(str::to_owned).collect() }
    }
}

fn list_agents(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) }
}
