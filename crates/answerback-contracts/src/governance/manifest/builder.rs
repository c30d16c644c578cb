use std::collections::BTreeMap;

use answerback_findings::Profile;
use answerback_json::time::Timestamp;
use serde_json::Map;

use super::{Archetype, Domain, Governance, Manifest, Taxonomy};
use crate::Invalid;

/// Builds a manifest. It computes the counts, and the result passes the strict check.
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
    /// Starts a manifest of this version with all rules of governance in force.
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

    /// Sets the rules by which prompts may change.
    pub fn governance(mut self, governance: Governance) -> Self {
        self.governance = governance;
        self
    }

    /// Finishes the manifest and dates it `now`.
    ///
    /// # Errors
    ///
    /// Returns the findings if the manifest would not pass the strict check.
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
        Invalid::unless_valid(super::check(&manifest.to_document(), Profile::Strict))?;
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(id: &str) -> Domain {
        let (id, version) = (id.try_into().unwrap(), "1.0.0".try_into().unwrap());
        Domain::new("Name", format!("domains/{id}.md"), id, version, "Scope")
    }

    fn archetype(parts: [(&str, u8); 2]) -> Archetype {
        let (id, version) = ("both".try_into().unwrap(), "1.0.0".try_into().unwrap());
        Archetype::new("Both", "both.md", id, version, parts, "Two in one")
    }

    #[test]
    fn counts_are_computed_and_rules_hold() {
        let now = Timestamp::from_unix_millis(1_767_362_220_000);
        let two = Manifest::builder("1.0.0", "Two domains and more")
            .domain("one", domain("one"))
            .domain("two", domain("two"))
            .orchestrator("three", domain("three"));
        let whole = two.clone().archetype("both", archetype([("one", 50), ("two", 50)]));
        let manifest = whole.build(now).unwrap();
        let counts = manifest.taxonomy;
        let stated =
            [counts.domains, counts.archetypes, counts.orchestrators, counts.total_prompts];
        assert_eq!(stated, [2, 1, 1, 4]);
        assert_eq!(Manifest::from_document(&manifest.to_document()).unwrap(), manifest);

        let broken = two.archetype("one", archetype([("one", 50), ("nobody", 49)]));
        let told: Vec<String> = broken
            .build(now)
            .unwrap_err()
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.error_code, finding.field_path))
            .collect();
        assert_eq!(
            told,
            [
                "MAN-011 /archetypes/one",
                "MAN-017 /archetypes/one/composition/nobody",
                "MAN-018 /archetypes/one/composition"
            ]
        );
    }

    #[test]
    fn prompts_are_told_from_other_files() {
        let now = Timestamp::from_unix_millis(0);
        let long = Domain { file: "a/x.system.prompt.md".to_owned(), ..domain("two") };
        let top = Domain { file: "top.txt".to_owned(), ..domain("three") };
        let manifest = Manifest::builder("1.0.0", "Files")
            .domain("one", domain("one"))
            .domain("two", long)
            .domain("three", top)
            .build(now)
            .unwrap();
        for (file, is_one) in [
            ("domains/new.md", true),
            ("domains/README.txt", false),
            ("domains/below/new.md", false),
            ("a/y.system.prompt.md", true),
            ("a/README.md", false),
            ("b.txt", true),
            ("b.md", false),
            ("LICENSE", false),
        ] {
            assert_eq!(manifest.looks_like_a_prompt(file), is_one, "{file}");
        }
        assert_eq!(manifest.folders().into_iter().collect::<Vec<_>>(), ["", "a", "domains"]);
    }
}
