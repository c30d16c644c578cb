use std::collections::HashMap;

use answerback_findings::{Profile, ValidationError};
use answerback_json::ValuePath;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lock::{Lock, UnknownAgent, compare_documents};
use super::manifest::{self, Manifest};
use crate::governed::{AgentId, AgentIdentity};
use crate::{Contract, Invalid};

/// Combines a manifest and its lock. It gives each agent its identity and its scope.
///
/// Any two documents can be combined, even broken ones. Their findings are in [`problems`](Self::problems).
/// While one of them is an error, no agent gets an identity and no response is accepted.
///
/// ```
/// use answerback_contracts::governance::Authority;
/// use serde_json::json;
///
/// let authority = Authority::new(&json!({}), &json!({}));
/// assert!(!authority.is_sound());
/// assert!(authority.identity("domain-02-analysis").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Authority {
    /// The agents by canonical id. `None` if the manifest has errors.
    agents: Option<HashMap<String, Agent>>,
    problems: Vec<(Contract, ValidationError)>,
}

/// Holds what manifest and lock state about one agent.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    /// The agent's identity. `None` if its prompt is not locked.
    pub(super) identity: Option<AgentIdentity>,
    pub(super) scope: Vec<AgentScope>,
    /// Findings about the agent's composition.
    pub(super) composition: Vec<ValidationError>,
}

/// Describes a part of an agent's scope, in the manifest's words.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AgentScope {
    /// The canonical id of the domain or orchestrator that has this scope.
    pub canonical_id: AgentId,
    /// The scope as the manifest describes it.
    pub text: String,
    /// The share of the agent that this scope makes up, in percent.
    pub percent: u8,
}

impl Authority {
    /// Parses a manifest and its lock. It checks each by itself and compares the two.
    pub fn new(manifest: &Value, lock: &Value) -> Self {
        let mut problems = Vec::new();
        let mut compositions = Vec::new();
        for finding in manifest::check(manifest, Profile::Lenient) {
            if manifest::names_a_composition(&finding) {
                compositions.push(finding);
            } else {
                problems.push((Contract::Manifest, finding));
            }
        }
        let locked = super::lock::check(lock, Profile::Lenient);
        problems.extend(locked.into_iter().map(|finding| (Contract::Lock, finding)));
        let read_manifest: Option<Manifest> = read(manifest, Contract::Manifest, &mut problems);
        let read_lock: Option<Lock> = read(lock, Contract::Lock, &mut problems);
        let found = compare_documents(manifest, lock);
        problems.extend(found.iter().map(|one| (Contract::Lock, one.of_lock())));
        let agents =
            read_manifest.map(|manifest| agents(&manifest, read_lock.as_ref(), &compositions));
        Self { agents, problems }
    }

    /// Returns true if manifest and lock are valid and agree. Otherwise [`Authority::verify`] accepts no
    /// response.
    pub fn is_sound(&self) -> bool {
        !self.problems.iter().any(|(_, finding)| finding.is_error())
    }

    /// Returns the findings about manifest and lock, each with the contract that it concerns. A composition
    /// that breaks its rules affects only its archetype, so it is not listed here.
    pub fn problems(&self) -> &[(Contract, ValidationError)] {
        &self.problems
    }

    /// Returns the identity of the agent with this canonical id.
    ///
    /// # Errors
    ///
    /// Returns an error if no agent has this id, or if manifest or lock has an error.
    pub fn identity(&self, agent_id: &str) -> Result<&AgentIdentity, AuthorityError> {
        self.sound()?;
        let agent = self.agent(agent_id).ok_or_else(|| self.unknown(agent_id))?;
        agent.identity.as_ref().ok_or_else(|| self.unknown(agent_id).into())
    }

    /// Returns true if the manifest could be parsed. Only then does a missing agent mean an unknown one.
    pub(super) fn knows_agents(&self) -> bool {
        self.agents.is_some()
    }

    pub(super) fn agent(&self, agent_id: &str) -> Option<&Agent> {
        self.agents.as_ref()?.get(agent_id)
    }

    pub(super) fn unknown(&self, agent_id: &str) -> UnknownAgent {
        let mut known: Vec<&str> =
            self.agents.iter().flat_map(HashMap::keys).map(String::as_str).collect();
        known.sort_unstable();
        UnknownAgent::among(agent_id, known.into_iter())
    }

    /// Returns the first error in manifest or lock as text, with the number of further errors.
    pub(super) fn complaint(&self) -> Option<String> {
        let mut errors = self.problems.iter().filter(|(_, finding)| finding.is_error());
        let (contract, first) = errors.next()?;
        let more = match errors.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("{}: {first}{more}", contract.title()))
    }

    fn sound(&self) -> Result<(), AuthorityError> {
        match self.complaint() {
            Some(complaint) => Err(AuthorityError::Unsound(complaint)),
            None => Ok(()),
        }
    }
}

/// Converts a document to its type, or returns `None` if its check found errors. A checked document that
/// cannot be converted is our mistake, and is reported as a problem too.
fn read<T: DeserializeOwned>(
    document: &Value,
    contract: Contract,
    problems: &mut Vec<(Contract, ValidationError)>,
) -> Option<T> {
    if problems.iter().any(|(of, finding)| *of == contract && finding.is_error()) {
        return None;
    }
    match T::deserialize(document) {
        Ok(read) => Some(read),
        Err(error) => {
            let found = Invalid::unreadable(&error).findings;
            problems.extend(found.into_iter().map(|finding| (contract, finding)));
            None
        }
    }
}

fn agents(
    manifest: &Manifest,
    lock: Option<&Lock>,
    compositions: &[ValidationError],
) -> HashMap<String, Agent> {
    let archetypes = ValuePath::Root.key("archetypes");
    manifest
        .prompts()
        .map(|prompt| {
            let locked = lock.and_then(|lock| lock.prompts.get(prompt.key));
            let below = archetypes.key(prompt.key).key("composition").pointer();
            let composition = compositions
                .iter()
                .filter(|finding| is_at_or_below(finding, below.as_str()))
                .filter(|_| manifest.archetypes.contains_key(prompt.key))
                .cloned()
                .collect();
            let agent = Agent {
                identity: locked.map(|locked| locked.identity(prompt.canonical_id.clone())),
                scope: scope(manifest, prompt.key),
                composition,
            };
            (prompt.canonical_id.as_str().to_owned(), agent)
        })
        .collect()
}

fn is_at_or_below(finding: &ValidationError, place: &str) -> bool {
    let path = finding.field_path.as_str();
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the scope of the agent under a prompt's key. An archetype has the scopes of its domains.
fn scope(manifest: &Manifest, key: &str) -> Vec<AgentScope> {
    let of = |domain: &super::Domain, percent| AgentScope {
        canonical_id: domain.canonical_id.clone(),
        text: domain.scope.clone(),
        percent,
    };
    if let Some(archetype) = manifest.archetypes.get(key) {
        let parts = archetype.composition.iter();
        return parts
            .filter_map(|(key, percent)| Some(of(manifest.domains.get(key)?, *percent)))
            .collect();
    }
    let domain = manifest.domains.get(key).or_else(|| manifest.orchestrators.get(key));
    domain.map(|domain| vec![of(domain, 100)]).unwrap_or_default()
}

/// An error that keeps an [`Authority`] from giving an identity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// No agent has this id.
    #[error(transparent)]
    Unknown(#[from] UnknownAgent),
    /// Manifest or lock has an error, so neither can be relied on.
    #[error("manifest and lock cannot be relied on: {0}")]
    Unsound(String),
}
