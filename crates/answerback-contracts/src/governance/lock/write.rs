//! Creates a lock from a manifest and its files, and checks that it may replace the previous lock.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use answerback_findings::ValidationError;
use answerback_json::ValuePath;
use serde_json::Map;

use super::{Integrity, Lock, LockedPrompt, LockfileVersion, PromptFiles, rule};
use crate::form::compare_semver;
use crate::governance::manifest::{Governance, Manifest};
use crate::governed::AgentType;

impl Lock {
    /// Creates the lock of a manifest from the hashes of its files. The same manifest and files give the same
    /// lock, because its time and description come from the manifest.
    ///
    /// # Errors
    ///
    /// Returns the missing files if the hash of a prompt's file is not in `files`.
    pub fn of(
        manifest: &Manifest,
        files: &PromptFiles,
        lockfile_version: LockfileVersion,
    ) -> Result<Self, MissingFiles> {
        let mut prompts = BTreeMap::new();
        let mut missing = Vec::new();
        let mut integrity = Integrity::default();
        for prompt in manifest.prompts() {
            let Some(hash) = files.hash(prompt.file) else {
                missing.push(prompt.file.to_owned());
                continue;
            };
            let locked = LockedPrompt {
                file: prompt.file.to_owned(),
                hash: hash.clone(),
                agent_type: prompt.agent_type,
                version: prompt.version.clone(),
                extra: Map::new(),
            };
            prompts.insert(prompt.key.to_owned(), locked);
            integrity.total_prompts += 1;
            match prompt.agent_type {
                AgentType::Domain => integrity.domains += 1,
                AgentType::Archetype => integrity.archetypes += 1,
                AgentType::Orchestrator => integrity.orchestrators += 1,
            }
        }
        if !missing.is_empty() {
            return Err(MissingFiles { files: missing });
        }
        Ok(Self {
            version: manifest.version.clone(),
            lockfile_version,
            generated: manifest.generated.clone(),
            description: manifest.description.clone(),
            algorithm: lockfile_version.algorithm().to_owned(),
            prompts,
            integrity,
            extra: Map::new(),
        })
    }

    /// Returns the lock with the previous lock's description and its members that the contract does not know.
    #[must_use]
    pub fn keeping(mut self, previous: &Self) -> Self {
        self.description.clone_from(&previous.description);
        self.extra.clone_from(&previous.extra);
        self.integrity.extra.clone_from(&previous.integrity.extra);
        for (key, prompt) in &mut self.prompts {
            if let Some(before) = previous.prompts.get(key) {
                prompt.extra.clone_from(&before.extra);
            }
        }
        self
    }

    /// Returns the reasons why this lock may not replace the previous one under the manifest's rules. It
    /// reports every lowered version, and every prompt that changed under the same version. The paths of the
    /// findings point into the new lock.
    pub fn check_replacing(
        &self,
        previous: &Self,
        governance: &Governance,
    ) -> Vec<ValidationError> {
        let mut findings = Vec::new();
        for (key, before) in &previous.prompts {
            let Some(now) = self.prompts.get(key) else { continue };
            let is_immutable =
                governance.immutable_domains && before.agent_type == AgentType::Domain;
            if !is_immutable && !governance.version_increment_required {
                continue;
            }
            let order = compare_semver(now.version.as_str(), before.version.as_str());
            let is_changed = now.hash != before.hash;
            let (rule, told) = match order {
                Ordering::Greater => continue,
                Ordering::Less => (&rule::VERSION_LOWERED, "its version went down"),
                Ordering::Equal if !is_changed => continue,
                Ordering::Equal if is_immutable => {
                    (&rule::DOMAIN_CHANGED, "an immutable domain changed")
                }
                Ordering::Equal => (&rule::PROMPT_CHANGED, "the prompt changed"),
            };
            let place = ValuePath::Root.key("prompts");
            let message = format!(
                "{key} ({}): {told}: locked as version {} with hash {}, now version {} with hash {}; \
                 raise its version above {} in the manifest, or restore the file",
                now.file, before.version, before.hash, now.version, now.hash, before.version
            );
            findings.push(
                ValidationError::of(rule, place.key(key).key("version").pointer())
                    .with_message(message)
                    .with_expected(format!("a version above {}", before.version))
                    .with_actual(now.version.as_str()),
            );
        }
        findings
    }
}

/// The error for prompt files that the manifest names but that were not found.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not found: {}", .files.join(", "))]
#[non_exhaustive]
pub struct MissingFiles {
    /// The paths of the missing files.
    pub files: Vec<String>,
}
