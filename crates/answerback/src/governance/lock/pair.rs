//! Manifest and lock together: do they speak of the same prompts?

use super::{Lock, rule};
use crate::finding::{Rule, ValidationError};
use crate::governance::manifest::{Manifest, Prompt};
use crate::json::{Place, Pointer};

/// Something on which manifest and lock do not agree.
///
/// It has a place in each of the two, so that it can be told of whichever is being judged.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Disagreement {
    /// Where in the manifest.
    pub in_manifest: Pointer,
    /// Where in the lock.
    pub in_lock: Pointer,
    rule: &'static Rule,
    message: String,
    manifest_says: Option<String>,
    lock_says: Option<String>,
}

impl Disagreement {
    /// As a finding of the lock: what the manifest says is expected.
    pub fn of_lock(&self) -> ValidationError {
        self.finding(&self.in_lock, self.manifest_says.as_ref(), self.lock_says.as_ref())
    }

    /// As a finding of the manifest: what the lock says is expected.
    pub fn of_manifest(&self) -> ValidationError {
        self.finding(&self.in_manifest, self.lock_says.as_ref(), self.manifest_says.as_ref())
    }

    fn finding(
        &self,
        place: &Pointer,
        expected: Option<&String>,
        actual: Option<&String>,
    ) -> ValidationError {
        let found = ValidationError::of(self.rule, place.clone());
        let mut found = found.with_message(self.message.as_str());
        found.expected_value = expected.cloned();
        found.actual_value = actual.cloned();
        found
    }
}

/// Everything on which a manifest and a lock do not agree: versions, prompts, and the file, type and
/// version of each.
pub fn disagreements(manifest: &Manifest, lock: &Lock) -> Vec<Disagreement> {
    let mut found = Vec::new();
    if manifest.version != lock.version {
        let place = Place::Root.key("version").pointer();
        found.push(Disagreement {
            in_manifest: place.clone(),
            in_lock: place,
            rule: &rule::VERSIONS_DIFFER,
            message: format!(
                "the manifest is version {}, the lock is of version {}",
                manifest.version, lock.version
            ),
            manifest_says: Some(manifest.version.clone()),
            lock_says: Some(lock.version.clone()),
        });
    }
    for prompt in manifest.prompts() {
        let (in_manifest, in_lock) = (place_in_manifest(prompt), place_in_lock(prompt.key));
        let Some(locked) = lock.prompts.get(prompt.key) else {
            found.push(Disagreement {
                in_manifest,
                in_lock,
                rule: &rule::ENTRY_MISSING,
                message: format!("the prompt {:?} is not locked", prompt.key),
                manifest_says: Some("a locked prompt".to_owned()),
                lock_says: None,
            });
            continue;
        };
        for (name, manifest_says, lock_says) in [
            ("file", prompt.file, locked.file.as_str()),
            ("type", prompt.agent_type.as_str(), locked.agent_type.as_str()),
            ("version", prompt.version.as_str(), locked.version.as_str()),
        ] {
            if manifest_says != lock_says {
                found.push(Disagreement {
                    // A prompt's type is where it stands in the manifest.
                    in_manifest: match name {
                        "type" => in_manifest.clone(),
                        name => in_manifest.join(name),
                    },
                    in_lock: in_lock.join(name),
                    rule: &rule::ENTRY_DIFFERS,
                    message: format!(
                        "the {name} of {:?} is {manifest_says:?} in the manifest and {lock_says:?} in the lock",
                        prompt.key
                    ),
                    manifest_says: Some(manifest_says.to_owned()),
                    lock_says: Some(lock_says.to_owned()),
                });
            }
        }
    }
    let listed: std::collections::HashSet<&str> =
        manifest.prompts().map(|prompt| prompt.key).collect();
    for key in lock.prompts.keys().filter(|key| !listed.contains(key.as_str())) {
        found.push(Disagreement {
            in_manifest: Pointer::root(),
            in_lock: place_in_lock(key),
            rule: &rule::ENTRY_EXTRA,
            message: format!("the locked prompt {key:?} is not in the manifest"),
            manifest_says: None,
            lock_says: Some(key.clone()),
        });
    }
    found
}

fn place_in_manifest(prompt: Prompt<'_>) -> Pointer {
    use crate::contract::governed::AgentType;
    let group = match prompt.agent_type {
        AgentType::Domain => "domains",
        AgentType::Archetype => "archetypes",
        AgentType::Orchestrator => "orchestrators",
    };
    Place::Root.key(group).key(prompt.key).pointer()
}

fn place_in_lock(key: &str) -> Pointer {
    Place::Root.key("prompts").key(key).pointer()
}
