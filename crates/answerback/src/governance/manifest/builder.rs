use std::collections::BTreeMap;

use serde_json::Map;

use super::{Archetype, Domain, Governance, Manifest, Taxonomy};
use crate::contract::{Contract, Invalid, Profile};
use crate::time::Timestamp;

/// Builds a manifest. Counts are computed, and what it builds passes the strict check.
#[derive(Clone, Debug)]
#[must_use]
pub struct ManifestBuilder {
    version: String,
    description: String,
    domains: BTreeMap<String, Domain>,
    archetypes: BTreeMap<String, Archetype>,
    orchestrators: BTreeMap<String, Domain>,
    governance: Governance,
}

impl Manifest {
    /// Starts a manifest of this version, with all rules of governance in force.
    pub fn builder(version: impl Into<String>, description: impl Into<String>) -> ManifestBuilder {
        ManifestBuilder {
            version: version.into(),
            description: description.into(),
            domains: BTreeMap::new(),
            archetypes: BTreeMap::new(),
            orchestrators: BTreeMap::new(),
            governance: Governance::default(),
        }
    }
}

impl ManifestBuilder {
    /// Adds a domain under its key.
    pub fn domain(mut self, key: impl Into<String>, domain: Domain) -> Self {
        self.domains.insert(key.into(), domain);
        self
    }

    /// Adds an archetype under its key.
    pub fn archetype(mut self, key: impl Into<String>, archetype: Archetype) -> Self {
        self.archetypes.insert(key.into(), archetype);
        self
    }

    /// Adds an orchestrator under its key.
    pub fn orchestrator(mut self, key: impl Into<String>, orchestrator: Domain) -> Self {
        self.orchestrators.insert(key.into(), orchestrator);
        self
    }

    /// Says by which rules prompts may change.
    pub fn governance(mut self, governance: Governance) -> Self {
        self.governance = governance;
        self
    }

    /// Finishes the manifest, dated `now`.
    ///
    /// # Errors
    ///
    /// When it would not pass the strict check, with every reason.
    pub fn build(self, now: Timestamp) -> Result<Manifest, Invalid> {
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let (domains, archetypes) = (count(self.domains.len()), count(self.archetypes.len()));
        let orchestrators = count(self.orchestrators.len());
        let total_prompts = domains + archetypes + orchestrators;
        let manifest = Manifest {
            version: self.version,
            generated: now.to_utc_seconds(),
            description: self.description,
            taxonomy: Taxonomy { domains, archetypes, orchestrators, total_prompts },
            domains: self.domains,
            archetypes: self.archetypes,
            orchestrators: self.orchestrators,
            governance: self.governance,
            extra: Map::new(),
        };
        Invalid::unless_valid(Contract::Manifest.check(&manifest.to_document(), Profile::Strict))?;
        Ok(manifest)
    }
}
