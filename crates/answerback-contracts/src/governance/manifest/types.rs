use std::collections::{BTreeMap, BTreeSet};

use answerback_findings::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;
use crate::governed::{AgentId, AgentType, AgentVersion};

/// A prompt manifest: the prompts, the agents that use them, and the rules for changing them.
///
/// ```
/// use answerback_contracts::governance::{Domain, Manifest};
/// use answerback_json::Timestamp;
///
/// let manifest = Manifest::builder("1.0.0", "The prompts of a shop")
///     .domain("sales", Domain::new("Sales", "domains/sales.md", "domain-01-sales".try_into()?, "1.0.0".try_into()?, "What is sold"))
///     .build(Timestamp::from_unix_millis(1_767_362_220_000))?;
/// assert_eq!(manifest.taxonomy.total_prompts, 1);
/// assert_eq!(manifest.generated, "2026-01-02T13:57:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the set of prompts.
    #[cfg_attr(feature = "schema", schemars(with = "AgentVersion"))]
    pub version: String,
    /// The time at which the set of prompts was fixed, in ISO 8601.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = crate::governed::TIMESTAMP)))]
    pub generated: String,
    /// The purpose of the set of prompts.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub description: String,
    /// The numbers of prompts.
    pub taxonomy: Taxonomy,
    /// The domains, by key.
    pub domains: BTreeMap<String, Domain>,
    /// The archetypes, which are agents composed of domains, by key.
    pub archetypes: BTreeMap<String, Archetype>,
    /// The orchestrators, which direct other agents, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub orchestrators: BTreeMap<String, Domain>,
    /// The rules for changing prompts.
    pub governance: Governance,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The numbers of prompts in a manifest.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Taxonomy {
    /// The number of domains.
    pub domains: u64,
    /// The number of archetypes.
    pub archetypes: u64,
    /// The number of orchestrators. It is omitted if it is 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub orchestrators: u64,
    /// The number of all prompts.
    pub total_prompts: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The prompt of a domain or of an orchestrator.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Domain {
    /// The display name.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub name: String,
    /// The path of the prompt's file, relative to the folder of the prompts.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = FILE)))]
    pub file: String,
    /// The id of the agent in responses.
    pub canonical_id: AgentId,
    /// The version of the prompt.
    pub version: AgentVersion,
    /// The agent's scope, in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub scope: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Matches a relative path with forward slashes. The check makes sure that the path stays in its folder.
#[cfg(feature = "schema")]
pub(crate) const FILE: &str = r"^[^/\\~\s][^\\]*$";

impl Domain {
    /// Creates the prompt of a domain or an orchestrator.
    pub fn new(
        name: impl Into<String>,
        file: impl Into<String>,
        canonical_id: AgentId,
        version: AgentVersion,
        scope: impl Into<String>,
    ) -> Self {
        let (name, file, scope) = (name.into(), file.into(), scope.into());
        Self { name, file, canonical_id, version, scope, extra: Map::new() }
    }
}

/// The prompt of an archetype: an agent composed of domains.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Archetype {
    /// The display name.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub name: String,
    /// The path of the prompt's file, relative to the folder of the prompts.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = FILE)))]
    pub file: String,
    /// The id of the agent in responses.
    pub canonical_id: AgentId,
    /// The version of the prompt.
    pub version: AgentVersion,
    /// The share of each domain, in percent.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("minProperties" = 2, "maxProperties" = 4,
            "additionalProperties" = {"type": "integer", "minimum": 1, "maximum": 100}))
    )]
    pub composition: BTreeMap<String, u8>,
    /// The agent's purpose, in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub purpose: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Archetype {
    /// Creates the prompt of an archetype that is composed of the domains with these keys.
    pub fn new<K: Into<String>>(
        name: impl Into<String>,
        file: impl Into<String>,
        canonical_id: AgentId,
        version: AgentVersion,
        composition: impl IntoIterator<Item = (K, u8)>,
        purpose: impl Into<String>,
    ) -> Self {
        let composition = composition.into_iter().map(|(key, share)| (key.into(), share)).collect();
        let (name, file, purpose) = (name.into(), file.into(), purpose.into());
        Self { name, file, canonical_id, version, composition, purpose, extra: Map::new() }
    }
}

/// The rules for changing prompts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "the contract has these four rules")]
#[non_exhaustive]
pub struct Governance {
    /// True if a locked domain must not change under its version.
    pub immutable_domains: bool,
    /// True if hashes must be verified. Hashes are verified even if this is false.
    pub hash_verification_required: bool,
    /// True if a locked prompt must not change without a new version.
    pub version_increment_required: bool,
    /// True if compositions must be verified. Compositions are verified even if this is false.
    pub archetype_composition_validation: bool,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Default for Governance {
    /// Returns the rules with all four flags true.
    fn default() -> Self {
        Self {
            immutable_domains: true,
            hash_verification_required: true,
            version_increment_required: true,
            archetype_composition_validation: true,
            extra: Map::new(),
        }
    }
}

/// Describes one prompt of a manifest, independent of its group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Prompt<'m> {
    /// The prompt's key in the manifest and in the lock.
    pub key: &'m str,
    /// The agent type: domain, archetype or orchestrator.
    pub agent_type: AgentType,
    /// The id that responses use to name the agent.
    pub canonical_id: &'m AgentId,
    /// The version of the prompt.
    pub version: &'m AgentVersion,
    /// The path of the prompt's file.
    pub file: &'m str,
}

impl Manifest {
    /// Parses a manifest that meets the lenient profile.
    ///
    /// # Errors
    ///
    /// Returns an error if the document does not meet the contract.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the manifest as a JSON document, with its keys in the contract's order.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns every prompt: domains, then archetypes, then orchestrators, each group sorted by key.
    pub fn prompts(&self) -> impl Iterator<Item = Prompt<'_>> {
        let of = |agent_type: AgentType| {
            move |(key, domain)| {
                let (key, domain): (&String, &Domain) = (key, domain);
                Prompt {
                    key,
                    agent_type,
                    canonical_id: &domain.canonical_id,
                    version: &domain.version,
                    file: &domain.file,
                }
            }
        };
        let archetypes = self.archetypes.iter().map(|(key, archetype)| Prompt {
            key,
            agent_type: AgentType::Archetype,
            canonical_id: &archetype.canonical_id,
            version: &archetype.version,
            file: &archetype.file,
        });
        self.domains
            .iter()
            .map(of(AgentType::Domain))
            .chain(archetypes)
            .chain(self.orchestrators.iter().map(of(AgentType::Orchestrator)))
    }

    /// Returns the folders that contain prompts. The top folder is `""`.
    pub fn folders(&self) -> BTreeSet<&str> {
        self.prompts().map(|prompt| split(prompt.file).0).collect()
    }

    /// Returns true if a file looks like a prompt. It must be in a folder of prompts, and its name must end
    /// like a prompt's name there, from the first dot on (`.md`, `.system.prompt.md`).
    pub fn looks_like_a_prompt(&self, file: &str) -> bool {
        let (folder, name) = split(file);
        let is_alike = |prompt: Prompt<'_>| {
            let (its_folder, its_name) = split(prompt.file);
            its_folder == folder && ending(its_name) == ending(name)
        };
        self.prompts().any(is_alike)
    }
}

/// Splits a path into its folder and its file name.
fn split(file: &str) -> (&str, &str) {
    file.rsplit_once('/').unwrap_or(("", file))
}

/// Returns the part of a file name that starts at the first dot.
fn ending(name: &str) -> &str {
    name.find('.').map_or("", |at| &name[at..])
}
