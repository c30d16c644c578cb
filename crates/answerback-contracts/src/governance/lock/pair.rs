//! Compares a manifest with its lock: their versions, and the prompts that both list.

use std::collections::HashSet;

use answerback_findings::{Rule, ValidationError};
use answerback_json::{Pointer, ValuePath};
use serde_json::Value;

use super::{Lock, rule};
use crate::Contract;
use crate::governance::manifest::Manifest;
use crate::governed::AgentType;

/// A difference between a manifest and its lock.
///
/// It has a place in both documents, so it can be reported for either one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Disagreement {
    /// The place in the manifest.
    pub in_manifest: Pointer,
    /// The place in the lock.
    pub in_lock: Pointer,
    rule: &'static Rule,
    message: String,
    manifest_says: Option<String>,
    lock_says: Option<String>,
}

impl Disagreement {
    /// Returns the difference as a finding of the lock. The manifest's value is the expected one.
    pub fn of_lock(&self) -> ValidationError {
        self.finding(&self.in_lock, self.manifest_says.as_ref(), self.lock_says.as_ref())
    }

    /// Returns the difference as a finding of the manifest. The lock's value is the expected one.
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

/// Returns all differences between a manifest and a lock: in their versions, in their sets of prompts, and in
/// the file, type and version of each prompt.
pub fn disagreements(manifest: &Manifest, lock: &Lock) -> Vec<Disagreement> {
    compare_documents(&manifest.to_document(), &lock.to_document())
}

/// Compares two documents that may be broken, as [`disagreements`] does for valid ones. It compares the parts
/// that are well-formed in both, so an error in one place does not hide a difference in another.
pub fn compare_documents(manifest: &Value, lock: &Value) -> Vec<Disagreement> {
    let mut disagreements = Vec::new();
    let version = |document: &Value| document.get("version")?.as_str().map(str::to_owned);
    if let (Some(of_manifest), Some(of_lock)) = (version(manifest), version(lock))
        && of_manifest != of_lock
    {
        let place = ValuePath::Root.key("version").pointer();
        disagreements.push(Disagreement {
            in_manifest: place.clone(),
            in_lock: place,
            rule: &rule::VERSIONS_DIFFER,
            message: format!(
                "the manifest is version {of_manifest}, the lock is of version {of_lock}"
            ),
            manifest_says: Some(of_manifest),
            lock_says: Some(of_lock),
        });
    }
    let locked = lock.get("prompts").and_then(Value::as_object);
    let mut listed = HashSet::new();
    // If a group cannot be parsed, a locked prompt may belong to it. Then no entry is reported as extra.
    let mut is_whole = true;
    for (group, agent_type) in GROUPS {
        let prompts = match manifest.get(group) {
            None => {
                is_whole &= agent_type == AgentType::Orchestrator;
                continue;
            }
            Some(prompts) => prompts.as_object(),
        };
        let Some(prompts) = prompts else {
            is_whole = false;
            continue;
        };
        for (key, prompt) in prompts {
            let Some(locked) = locked.filter(|_| listed.insert(key.as_str())) else { continue };
            let in_manifest = ValuePath::Root.key(group);
            let in_manifest = in_manifest.key(key);
            compare_prompt(
                &mut disagreements,
                &in_manifest,
                key,
                (prompt, agent_type),
                locked.get(key),
            );
        }
    }
    let extra = locked.into_iter().flatten().map(|(key, _)| key);
    for key in extra.filter(|key| is_whole && !listed.contains(key.as_str())) {
        disagreements.push(Disagreement {
            in_manifest: Pointer::root(),
            in_lock: place_in_lock(key),
            rule: &rule::ENTRY_EXTRA,
            message: format!("the locked prompt {key:?} is not in the manifest"),
            manifest_says: None,
            lock_says: Some(key.clone()),
        });
    }
    disagreements
}

/// The groups of a manifest, each with the type of its prompts.
const GROUPS: [(&str, AgentType); 3] = [
    ("domains", AgentType::Domain),
    ("archetypes", AgentType::Archetype),
    ("orchestrators", AgentType::Orchestrator),
];

/// Compares a prompt of the manifest with its entry in the lock.
fn compare_prompt(
    disagreements: &mut Vec<Disagreement>,
    in_manifest: &ValuePath<'_>,
    key: &str,
    (prompt, agent_type): (&Value, AgentType),
    locked: Option<&Value>,
) {
    let in_lock = place_in_lock(key);
    let Some(locked) = locked else {
        disagreements.push(Disagreement {
            in_manifest: in_manifest.pointer(),
            in_lock,
            rule: &rule::ENTRY_MISSING,
            message: format!("the prompt {key:?} is not locked"),
            manifest_says: Some("a locked prompt".to_owned()),
            lock_says: None,
        });
        return;
    };
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    for name in ["file", "type", "version"] {
        // In the manifest, the group of a prompt states its type.
        let (place, manifest_says) = if name == "type" {
            (in_manifest.pointer(), Some(agent_type.as_str().to_owned()))
        } else {
            (in_manifest.key(name).pointer(), text(prompt, name))
        };
        let (Some(manifest_says), Some(lock_says)) = (manifest_says, text(locked, name)) else {
            continue;
        };
        if manifest_says == lock_says {
            continue;
        }
        disagreements.push(Disagreement {
            in_manifest: place,
            in_lock: in_lock.join(name),
            rule: &rule::ENTRY_DIFFERS,
            message: format!(
                "the {name} of {key:?} is {manifest_says:?} in the manifest and {lock_says:?} in the lock"
            ),
            manifest_says: Some(manifest_says),
            lock_says: Some(lock_says),
        });
    }
}

/// Returns the finding that a document cannot be compared because the other one has errors, or `None` if it
/// has none. `of` is the contract of the other document.
pub fn not_compared(of: Contract, errors: &[ValidationError]) -> Option<ValidationError> {
    let first = errors.iter().find(|finding| finding.is_error())?;
    let more = match errors.iter().filter(|finding| finding.is_error()).count() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let message = format!("cannot be compared: the {} is not sound: {first}{more}", of.title());
    Some(ValidationError::of(&rule::NOT_COMPARED, Pointer::root()).with_message(message))
}

fn place_in_lock(key: &str) -> Pointer {
    ValuePath::Root.key("prompts").key(key).pointer()
}
