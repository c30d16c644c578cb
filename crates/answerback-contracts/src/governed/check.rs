mod content;
pub(crate) mod identity;
pub(crate) mod preamble;

use answerback_findings::{Profile, Rule, ValidationError};
use answerback_json::{UuidV4, ValuePath};
use answerback_redaction::is_blank;
use serde_json::{Map, Value};

use super::flat::{GROUPS, MemberGroup, flat_groups, moves};
use super::{AgentId, AgentIdentity, Confidence, Flag, GovernedStatus, RequestType, rule};
use crate::ContractFindings;
use crate::word::Word;

/// The settings for the check of a governed response.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct GovernedCheckOptions {
    /// The strictness of the check.
    pub profile: Profile,
    /// The agent that was observed to answer. If set, the response must have its identity.
    pub agent: Option<AgentIdentity>,
}

impl GovernedCheckOptions {
    /// Requires that the response is from this agent and prompt. The identity must come from a trusted
    /// source, not from the response itself.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentIdentity) -> Self {
        self.agent = Some(agent);
        self
    }
}

impl From<Profile> for GovernedCheckOptions {
    fn from(profile: Profile) -> Self {
        Self { profile, ..Self::default() }
    }
}

/// Checks a governed response and returns every finding.
///
/// ```
/// use answerback_findings::Profile;
/// use answerback_contracts::governed;
///
/// let document = serde_json::json!({"response_id": "1", "agent_id": "domain-02-analysis"});
/// let findings = governed::check(&document, Profile::Strict);
/// assert_eq!(findings[0].message, "the groups are flat; move agent_id into agent");
/// assert_eq!(findings[1].field_path.as_str(), "/response_id");
/// ```
pub fn check(document: &Value, options: impl Into<GovernedCheckOptions>) -> Vec<ValidationError> {
    let options = options.into();
    let mut report = ContractFindings::new(options.profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let flat = flat_groups(members);
        let mut check = Check { report: &mut report, options: &options, members, flat };
        check.flat();
        check.metadata();
        check.agent();
        let outcome = check.response();
        check.request();
        check.governance(&outcome);
        check.next(&outcome);
        check.rest();
    }
    report.into_findings()
}

type Members = Map<String, Value>;

struct Check<'c, 'd> {
    report: &'c mut ContractFindings,
    options: &'c GovernedCheckOptions,
    members: &'d Members,
    /// Groups whose members are at the top level. They are not checked until the members are moved.
    flat: Vec<&'static MemberGroup>,
}

/// The facts about the response's content that the rules of the other groups need.
#[derive(Default)]
struct ContentOutcome {
    /// The status, if it is valid.
    status: Option<GovernedStatus>,
    /// True if the content explains a false flag. `None` if the content has a problem that is already
    /// reported and leaves this open.
    explains: Option<bool>,
}

impl<'d> Check<'_, 'd> {
    fn flat(&mut self) {
        if !self.flat.is_empty() {
            let moves = moves(&self.flat, self.members);
            let message = format!("the groups are flat; move {moves}");
            self.report.add(&rule::FLAT, &ValuePath::Root, message).expected_value = Some(moves);
        }
    }

    fn metadata(&mut self) {
        let uuid = "a version 4 UUID";
        if let Some(id) = self.required(&ValuePath::Root, self.members, "response_id", uuid)
            && !id.as_str().is_some_and(UuidV4::is_valid)
        {
            let place = ValuePath::Root.key("response_id");
            self.report.wrong(&rule::RESPONSE_ID_WRONG, &place, id, uuid);
        }
        preamble::timestamp(self.report, &PREAMBLE, self.members);
        preamble::protocol_version(self.report, &PREAMBLE, self.members);
    }

    fn agent(&mut self) {
        let place = ValuePath::Root.key("agent");
        let Some(agent) = self.group("agent") else { return };
        let claimed = identity::read(self.report, &IDENTITY, &place, agent);
        if let Some(observed) = &self.options.agent {
            identity::compare(self.report, &IDENTITY, &place, &claimed, observed);
        }
    }

    fn response(&mut self) -> ContentOutcome {
        let place = ValuePath::Root.key("response");
        let Some(response) = self.group("response") else { return ContentOutcome::default() };
        let status = self.word::<GovernedStatus>(&rule::STATUS_WRONG, &place, response, "status");
        let explains = self.content(&place, response, status);
        self.word::<Confidence>(&rule::CONFIDENCE_WRONG, &place, response, "confidence");
        ContentOutcome { status, explains }
    }

    fn request(&mut self) {
        let place = ValuePath::Root.key("request_context");
        let Some(request) = self.group("request_context") else { return };
        if let Some(id) = request.get("request_id")
            && !id.as_str().is_some_and(UuidV4::is_valid)
        {
            let place = place.key("request_id");
            self.report.wrong(&rule::REQUEST_ID_WRONG, &place, id, "a version 4 UUID");
        }
        self.word::<RequestType>(&rule::REQUEST_TYPE_WRONG, &place, request, "request_type");
        let expected = "the request in short";
        if let Some(summary) = self.required(&place, request, "request_summary", expected) {
            let place = place.key("request_summary");
            self.report.text(&rule::REQUEST_SUMMARY_WRONG, &place, summary);
        }
    }

    fn governance(&mut self, outcome: &ContentOutcome) {
        let place = ValuePath::Root.key("governance");
        let Some(governance) = self.group("governance") else { return };
        let mut any_false = false;
        for flag in Flag::ALL {
            let name = flag.as_str();
            let Some(value) = self.required(&place, governance, name, "true or false") else {
                continue;
            };
            let here = place.key(name);
            if self.report.boolean(&rule::FLAG_WRONG, &here, value) == Some(false) {
                any_false = true;
                if outcome.status == Some(GovernedStatus::Success) {
                    let message = format!("the status is success, but {name} is false");
                    self.report.add(&rule::SUCCESS_WITHOUT_ATTESTATION, &here, message);
                }
            }
        }
        let here = place.key("explanation");
        match governance.get("explanation") {
            Some(explanation) => {
                self.report.text(&rule::EXPLANATION_WRONG, &here, explanation);
            }
            None if any_false && outcome.explains == Some(false) => {
                let message = "a governance flag is false and nothing explains it";
                self.report.add(&rule::EXPLANATION_MISSING, &here, message).expected_value =
                    Some("a text that is not blank".to_owned());
            }
            None => {}
        }
        let here = place.key("audit_trail");
        match governance.get("audit_trail") {
            Some(trail) if is_reference(trail) => {}
            Some(trail) => {
                let expected = "a reference: a text, an array or an object with something in it";
                self.report.wrong(&rule::AUDIT_TRAIL_WRONG, &here, trail, expected);
            }
            None => {
                let message = "no audit trail is referenced";
                self.report.add(&rule::AUDIT_TRAIL_MISSING, &here, message);
            }
        }
    }

    fn next(&mut self, outcome: &ContentOutcome) {
        let place = ValuePath::Root.key("next_actions");
        if self.is_flat("next_actions") {
            return;
        }
        let wrong = &rule::NEXT_ACTIONS_WRONG;
        let next = self.members.get("next_actions");
        let next = match next.map(|value| self.report.object(wrong, &place, value)) {
            // It is unknown whether the malformed value was meant to suggest a handoff.
            Some(None) => return,
            Some(Some(next)) => Some(next),
            None => None,
        };
        let handoffs = self.entries(&place, next, "suggested_handoffs");
        let here = place.key("suggested_handoffs");
        for (index, entry) in handoffs.unwrap_or_default().iter().enumerate() {
            self.handoff(&here.index(index), entry);
        }
        for name in ["followup_questions", "additional_context_needed"] {
            let here = place.key(name);
            let entries = self.entries(&place, next, name).unwrap_or_default();
            for (index, entry) in entries.iter().enumerate() {
                self.report.text(&rule::QUESTION_WRONG, &here.index(index), entry);
            }
        }
        if outcome.status == Some(GovernedStatus::Partial)
            && handoffs.is_some_and(<[Value]>::is_empty)
        {
            let message = "the response is partial and suggests no handoff";
            self.report.add(&rule::PARTIAL_WITHOUT_HANDOFF, &here, message);
        }
    }

    /// Returns the entries of an optional list. The result is empty if the list is absent, and `None` if the
    /// value is not a list.
    fn entries(
        &mut self,
        place: &ValuePath<'_>,
        next: Option<&'d Members>,
        name: &str,
    ) -> Option<&'d [Value]> {
        let Some(value) = next.and_then(|next| next.get(name)) else { return Some(&[]) };
        self.report.array(&rule::NEXT_ACTIONS_WRONG, &place.key(name), value)
    }

    fn handoff(&mut self, place: &ValuePath<'_>, entry: &'d Value) {
        let rule = &rule::HANDOFF_WRONG;
        let Some(handoff) = self.report.object(rule, place, entry) else { return };
        let form = AgentId::EXPECTED;
        if let Some(target) = self.report.required(rule, place, handoff, "target_agent", form)
            && !target.as_str().is_some_and(AgentId::is_valid)
        {
            self.report.wrong(rule, &place.key("target_agent"), target, form);
        }
        self.text(rule, place, handoff, "reason");
        let flag = "true or false";
        if let Some(required) = self.report.required(rule, place, handoff, "required", flag) {
            self.report.boolean(rule, &place.key("required"), required);
        }
    }

    fn rest(&mut self) {
        if let Some(meta) = self.members.get("_meta") {
            self.report.object(&rule::META_WRONG, &ValuePath::Root.key("_meta"), meta);
        }
        if self.flat.is_empty() {
            let members = self.members;
            self.report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
        } else {
            let strays = self.flat.iter().flat_map(|group| group.members);
            let known: Vec<&str> = MEMBERS.iter().chain(strays).copied().collect();
            let members = self.members;
            self.report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, &known);
        }
    }

    fn is_flat(&self, name: &str) -> bool {
        self.flat.iter().any(|group| group.name == name)
    }

    /// Returns a required group, or `None` if its members are at the top level. Reports a group that is
    /// missing or is not an object.
    fn group(&mut self, name: &'static str) -> Option<&'d Members> {
        if self.is_flat(name) {
            return None;
        }
        let value = self.members.get(name);
        if value.is_none() {
            let members = GROUPS.iter().find(|group| group.name == name);
            let members = members.map(|group| group.members.join(", ")).unwrap_or_default();
            let expected = format!("an object with {members}");
            self.required(&ValuePath::Root, self.members, name, &expected);
        }
        self.report.object(&rule::GROUP_WRONG, &ValuePath::Root.key(name), value?)
    }

    fn required(
        &mut self,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
        expected: &str,
    ) -> Option<&'d Value> {
        self.report.required(&rule::MEMBER_MISSING, parent, members, name, expected)
    }

    /// Returns a recommended member, and reports it under `rule` if it is missing.
    fn advised(
        &mut self,
        rule: &'static Rule,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
    ) -> Option<&'d Value> {
        let value = members.get(name);
        if value.is_none() {
            self.report.add(rule, &parent.key(name), format!("the member {name:?} is missing"));
        }
        value
    }

    /// Returns a required string. Missing and blank strings are reported under the same rule.
    fn text(
        &mut self,
        rule: &'static Rule,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
    ) -> Option<&'d str> {
        self.report.required_text((rule, rule), parent, members, name)
    }

    /// Returns a required word of a closed set.
    fn word<W: Word>(
        &mut self,
        rule: &'static Rule,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
    ) -> Option<W> {
        self.report.required_word((&rule::MEMBER_MISSING, rule), parent, members, name)
    }
}

const IDENTITY: identity::IdentityRules = identity::IdentityRules {
    missing: &rule::MEMBER_MISSING,
    agent_type: &rule::AGENT_TYPE_WRONG,
    agent_id: &rule::AGENT_ID_WRONG,
    agent_version: &rule::AGENT_VERSION_WRONG,
    prompt_hash: &rule::PROMPT_HASH_WRONG,
    mismatch: &rule::AGENT_MISMATCH,
    hash_mismatch: &rule::PROMPT_HASH_MISMATCH,
};

const PREAMBLE: preamble::PreambleRules = preamble::PreambleRules {
    missing: &rule::MEMBER_MISSING,
    timestamp: &rule::TIMESTAMP_WRONG,
    naive: &rule::TIMESTAMP_NAIVE,
    protocol: &rule::PROTOCOL_VERSION_WRONG,
    major: &rule::PROTOCOL_MAJOR_UNKNOWN,
    newer: &rule::PROTOCOL_NEWER,
};

/// The members of a governed response, in the contract's order. The last one is the extension slot.
pub const MEMBERS: &[&str] = &[
    "response_id",
    "timestamp",
    "protocol_version",
    "agent",
    "response",
    "request_context",
    "governance",
    "next_actions",
    "_meta",
];

/// True if the value can refer to a record: a string, array or object that is not empty.
pub(crate) fn is_reference(value: &Value) -> bool {
    match value {
        Value::String(text) => !is_blank(text),
        Value::Array(entries) => !entries.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governed::AgentType;
    use crate::governed::builder::samples;

    #[test]
    fn an_observed_identity_is_compared_member_by_member() {
        let document = samples::answer().to_document();
        let options =
            |observed: AgentIdentity| GovernedCheckOptions::default().with_agent(observed);
        assert_eq!(check(&document, options(samples::agent())), []);

        let mut observed = samples::agent();
        observed.agent_type = AgentType::Orchestrator;
        observed.agent_id = "orchestrator-01".try_into().unwrap();
        observed.agent_version = "1.2.1".try_into().unwrap();
        observed.prompt_hash = "0".repeat(64).try_into().unwrap();
        let told: Vec<String> =
            check(&document, options(observed)).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        error GOV-015 at /agent/agent_type: agent_type is "domain", but "orchestrator" was observed
        error GOV-015 at /agent/agent_id: agent_id is "domain-02-analysis", but "orchestrator-01" was observed
        error GOV-015 at /agent/agent_version: agent_version is "1.2.0", but "1.2.1" was observed
        error GOV-016 at /agent/prompt_hash: prompt_hash is "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", but "0000000000000000000000000000000000000000000000000000000000000000" was observed
        "#);
    }

    #[test]
    fn a_flat_response_is_told_where_its_members_belong() {
        let document = serde_json::json!({
            "response_id": "5e0b9a41-72cd-4f18-b3a6-0d9c8e7f6a55",
            "timestamp": "2026-04-18T07:30:05Z", "protocol_version": "1.0.0",
            "agent_type": "domain", "agent_id": "a", "agent_version": "1.0.0", "prompt_hash": "x",
            "status": "success", "content": {}, "confidence": "high",
            "request_type": "query", "request_summary": "?", "within_scope": true,
        });
        let told: Vec<String> =
            check(&document, Profile::Strict).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @"error GOV-003 at (root): the groups are flat; move agent_type, agent_id, agent_version, prompt_hash into agent; status, content, confidence into response; request_type, request_summary into request_context; within_scope into governance");
    }
}
