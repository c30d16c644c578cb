use answerback_findings::{Profile, ValidationError};
use answerback_json::{UuidV4, ValuePath};
use serde_json::{Map, Value};

use super::rule;
use crate::ContractFindings;
use crate::governed::RequestType;
use crate::governed::check::{identity, is_reference, preamble};

/// Checks a handoff by itself and returns every finding.
pub(crate) fn check(document: &Value, profile: Profile) -> Vec<ValidationError> {
    let mut report = ContractFindings::new(profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let mut check = HandoffCheck { report: &mut report, members };
        check.heading();
        for name in AGENTS {
            check.agent(name);
        }
        check.context();
        check.governance();
        if let Some(meta) = members.get("_meta") {
            check.report.object(&rule::META_WRONG, &ValuePath::Root.key("_meta"), meta);
        }
        check.report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

/// The members that hold the two agents of a handoff.
pub(crate) const AGENTS: [&str; 2] = ["source_agent", "target_agent"];

pub(crate) const IDENTITY: identity::IdentityRules = identity::IdentityRules {
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

const MEMBERS: &[&str] = &[
    "handoff_id",
    "timestamp",
    "protocol_version",
    "source_agent",
    "target_agent",
    "context",
    "governance",
    "_meta",
];

type Members = Map<String, Value>;

struct HandoffCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    members: &'d Members,
}

impl<'d> HandoffCheck<'_, 'd> {
    fn heading(&mut self) {
        let uuid: (fn(&str) -> bool, &str) = (UuidV4::is_valid, "a version 4 UUID");
        let rules = (&rule::MEMBER_MISSING, &rule::HANDOFF_ID_WRONG);
        self.report.required_form(rules, uuid, &ValuePath::Root, self.members, "handoff_id");
        preamble::timestamp(self.report, &PREAMBLE, self.members);
        preamble::protocol_version(self.report, &PREAMBLE, self.members);
    }

    fn agent(&mut self, name: &str) {
        let expected = "an object with agent_type, agent_id, agent_version and prompt_hash";
        if let Some(agent) = self.group(&ValuePath::Root, self.members, name, expected) {
            identity::read(self.report, &IDENTITY, &ValuePath::Root.key(name), agent);
        }
    }

    fn context(&mut self) {
        let root = &ValuePath::Root;
        let Some(context) = self.group(root, self.members, "context", "request and state") else {
            return;
        };
        let place = root.key("context");
        if let Some(request) = self.group(&place, context, "request", "what is asked") {
            self.request(&place.key("request"), request);
        }
        if let Some(state) = self.group(&place, context, "state", "what is known") {
            self.state(&place.key("state"), state);
        }
    }

    fn request(&mut self, place: &ValuePath<'_>, request: &'d Members) {
        let missing = &rule::MEMBER_MISSING;
        let rules = (missing, &rule::REQUEST_TYPE_WRONG);
        self.report.required_word::<RequestType>(rules, place, request, "type");
        let text = (missing, &rule::TEXT_BLANK);
        self.report.required_text(text, place, request, "description");
        let form = "an object or a text";
        if let Some(data) = self.report.required(missing, place, request, "input_data", form)
            && !(data.is_object() || data.is_string())
        {
            self.report.wrong(&rule::INPUT_WRONG, &place.key("input_data"), data, form);
        }
        let here = place.key("constraints");
        for (index, constraint) in self.list(place, request, "constraints").iter().enumerate() {
            self.report.text(&rule::TEXT_BLANK, &here.index(index), constraint);
        }
        self.report.required_text(text, place, request, "expected_output");
    }

    fn state(&mut self, place: &ValuePath<'_>, state: &'d Members) {
        self.list(place, state, "conversation_history");
        let (missing, name) = (&rule::MEMBER_MISSING, "accumulated_context");
        if let Some(known) = self.report.required(missing, place, state, name, "an object") {
            self.report.object(&rule::STATE_WRONG, &place.key(name), known);
        }
        self.list(place, state, "decisions_made");
    }

    fn governance(&mut self) {
        let root = &ValuePath::Root;
        let expected = "an object with the four flags and audit_trail";
        let Some(governance) = self.group(root, self.members, "governance", expected) else {
            return;
        };
        let (place, missing) = (root.key("governance"), &rule::MEMBER_MISSING);
        for name in FLAGS {
            let form = "true or false";
            let Some(value) = self.report.required(missing, &place, governance, name, form) else {
                continue;
            };
            let here = place.key(name);
            if self.report.boolean(&rule::FLAG_WRONG, &here, value) == Some(false) {
                let message = format!("{name} is false: the handoff should not be followed");
                self.report.add(&rule::FLAG_FALSE, &here, message);
            }
        }
        let (name, form) = ("audit_trail", "a reference to the record");
        if let Some(trail) = self.report.required(missing, &place, governance, name, form)
            && !is_reference(trail)
        {
            self.report.wrong(&rule::AUDIT_TRAIL_WRONG, &place.key(name), trail, form);
        }
    }

    fn group(
        &mut self,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
        expected: &str,
    ) -> Option<&'d Members> {
        let missing = &rule::MEMBER_MISSING;
        let value = self.report.required(missing, parent, members, name, expected)?;
        self.report.object(&rule::GROUP_WRONG, &parent.key(name), value)
    }

    fn list(&mut self, parent: &ValuePath<'_>, members: &'d Members, name: &str) -> &'d [Value] {
        let missing = &rule::MEMBER_MISSING;
        let value = self.report.required(missing, parent, members, name, "an array");
        value
            .and_then(|value| self.report.array(&rule::STATE_WRONG, &parent.key(name), value))
            .unwrap_or_default()
    }
}

const FLAGS: [&str; 4] =
    ["source_agent_verified", "target_agent_verified", "composition_valid", "boundaries_respected"];
