//! An agent's identity: the four members that a response and a handoff claim, and what was observed.

use serde_json::{Map, Value};

use crate::contract::Report;
use crate::contract::governed::{AgentId, AgentIdentity, AgentType, AgentVersion, PromptHash};
use crate::finding::Rule;
use crate::json::Place;

/// The rules under which a contract reports what is wrong with an identity.
pub(crate) struct Rules {
    pub(crate) missing: &'static Rule,
    pub(crate) agent_type: &'static Rule,
    pub(crate) agent_id: &'static Rule,
    pub(crate) agent_version: &'static Rule,
    pub(crate) prompt_hash: &'static Rule,
    /// Type, id or version is not the observed one.
    pub(crate) mismatch: &'static Rule,
    /// The hash is not the observed one.
    pub(crate) hash_mismatch: &'static Rule,
}

/// What a document says of an agent, as far as it is well-formed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claimed<'d> {
    pub(crate) agent_type: Option<AgentType>,
    pub(crate) agent_id: Option<&'d str>,
    pub(crate) agent_version: Option<&'d str>,
    pub(crate) prompt_hash: Option<&'d str>,
}

/// Reads an identity and reports what is not of its form.
pub(crate) fn read<'d>(
    report: &mut Report,
    rules: &Rules,
    place: &Place<'_>,
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

/// Reports every member that is not the observed one.
pub(crate) fn compare(
    report: &mut Report,
    rules: &Rules,
    place: &Place<'_>,
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
