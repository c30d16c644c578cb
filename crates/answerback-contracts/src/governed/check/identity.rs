//! Checks the four members of an agent's identity that a response or handoff claims against an observed
//! identity.

use answerback_findings::Rule;
use answerback_json::ValuePath;
use serde_json::{Map, Value};

use crate::ContractFindings;
use crate::governed::{AgentId, AgentIdentity, AgentType, AgentVersion, PromptHash};

/// The rules under which a contract reports problems of an identity.
pub(crate) struct IdentityRules {
    pub(crate) missing: &'static Rule,
    pub(crate) agent_type: &'static Rule,
    pub(crate) agent_id: &'static Rule,
    pub(crate) agent_version: &'static Rule,
    pub(crate) prompt_hash: &'static Rule,
    /// The rule for a type, id or version that differs from the observed one.
    pub(crate) mismatch: &'static Rule,
    /// The rule for a hash that differs from the observed one.
    pub(crate) hash_mismatch: &'static Rule,
}

/// The identity that a document claims. Malformed members are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claimed<'d> {
    pub(crate) agent_type: Option<AgentType>,
    pub(crate) agent_id: Option<&'d str>,
    pub(crate) agent_version: Option<&'d str>,
    pub(crate) prompt_hash: Option<&'d str>,
}

/// Parses an identity, and reports missing and malformed members.
pub(crate) fn read<'d>(
    report: &mut ContractFindings,
    rules: &IdentityRules,
    place: &ValuePath<'_>,
    agent: &'d Map<String, Value>,
) -> Claimed<'d> {
    let missing = rules.missing;
    Claimed {
        agent_type: report.required_word((missing, rules.agent_type), place, agent, "agent_type"),
        agent_id: report.required_form(
            (missing, rules.agent_id),
            (AgentId::is_valid, AgentId::EXPECTED),
            place,
            agent,
            "agent_id",
        ),
        agent_version: report.required_form(
            (missing, rules.agent_version),
            (AgentVersion::is_valid, AgentVersion::EXPECTED),
            place,
            agent,
            "agent_version",
        ),
        prompt_hash: report.required_form(
            (missing, rules.prompt_hash),
            (PromptHash::is_valid, PromptHash::EXPECTED),
            place,
            agent,
            "prompt_hash",
        ),
    }
}

/// Reports every claimed member that differs from the observed identity.
pub(crate) fn compare(
    report: &mut ContractFindings,
    rules: &IdentityRules,
    place: &ValuePath<'_>,
    claimed: &Claimed<'_>,
    observed: &AgentIdentity,
) {
    let kind = claimed.agent_type.map(AgentType::as_str);
    let claims = [
        ("agent_type", kind, observed.agent_type.as_str(), rules.mismatch),
        ("agent_id", claimed.agent_id, observed.agent_id.as_str(), rules.mismatch),
        ("agent_version", claimed.agent_version, observed.agent_version.as_str(), rules.mismatch),
        ("prompt_hash", claimed.prompt_hash, observed.prompt_hash.as_str(), rules.hash_mismatch),
    ];
    for (name, claimed, observed, rule) in claims {
        if let Some(claimed) = claimed
            && claimed != observed
        {
            let message = format!("{name} is {claimed:?}, but {observed:?} was observed");
            let found = report.add(rule, &place.key(name), message);
            found.expected_value = Some(observed.to_owned());
            found.actual_value = Some(claimed.to_owned());
        }
    }
}
