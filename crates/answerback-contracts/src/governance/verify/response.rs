//! Checks a governed response against manifest and lock, and against the handoff that it answers.

use answerback_findings::{Profile, ValidationError, preview};
use answerback_json::ValuePath;
use serde_json::Value;

use super::{at, rule};
use crate::ContractFindings;
use crate::governance::Authority;
use crate::governed::check::preamble::moment;
use crate::governed::{self, AgentId, GovernedCheckOptions, GovernedStatus, RefusalReason};

/// Holds the findings about a response and its handoff.
pub(super) struct ResponseCheck {
    /// The findings about the response.
    pub(super) findings: Vec<ValidationError>,
    /// The findings about the handoff; empty if there is none.
    pub(super) handoff: Vec<ValidationError>,
}

impl Authority {
    /// Checks a governed response by itself, against manifest and lock, and against its handoff if there is
    /// one. It returns every finding.
    pub fn check_response(
        &self,
        document: &Value,
        handoff: Option<&Value>,
        profile: Profile,
    ) -> Vec<ValidationError> {
        self.check_with_handoff(document, handoff, profile).findings
    }

    pub(super) fn check_with_handoff(
        &self,
        document: &Value,
        handoff: Option<&Value>,
        profile: Profile,
    ) -> ResponseCheck {
        let claimed = text(document, &["agent", "agent_id"]).filter(|id| AgentId::is_valid(id));
        let identity = claimed.and_then(|id| self.agent(id)?.identity.clone());
        let options = GovernedCheckOptions { profile, agent: identity };
        let mut findings = governed::check(document, options);
        let mut report = ContractFindings::new(profile);
        if let Some(complaint) = self.complaint() {
            let message = format!("nothing can be verified: {complaint}");
            report.add(&rule::AUTHORITY_BROKEN, &ValuePath::Root, message);
        }
        if self.knows_agents() {
            self.agent_of_response(&mut report, claimed);
            self.suggested(&mut report, document);
        }
        scope(&mut report, document);
        let handoff = handoff.map(|handoff| {
            let found = self.check_handoff(handoff, profile);
            linked(&mut report, document, handoff, &found);
            found
        });
        findings.extend(report.into_findings());
        ResponseCheck { findings, handoff: handoff.unwrap_or_default() }
    }

    fn agent_of_response(&self, report: &mut ContractFindings, claimed: Option<&str>) {
        // `governed::check` has already reported an id that is missing or malformed.
        let Some(id) = claimed else { return };
        let group = ValuePath::Root.key("agent");
        let here = group.key("agent_id");
        let Some(agent) = self.agent(id) else {
            let found = report.add(&rule::AGENT_UNKNOWN, &here, self.unknown(id).to_string());
            found.actual_value = Some(preview(&Value::from(id)));
            return;
        };
        if agent.identity.is_none() {
            let message = format!("the lock has no prompt of {id}");
            report.add(&rule::AGENT_NOT_LOCKED, &here, message);
        }
        if let Some(finding) = agent.composition.first() {
            let message = format!("the composition of {id} is broken: {}", finding.message);
            report.add(&rule::COMPOSITION_BROKEN, &here, message);
        }
    }

    /// Checks that every agent that the response suggests is in the manifest.
    fn suggested(&self, report: &mut ContractFindings, document: &Value) {
        let next = ValuePath::Root.key("next_actions");
        let list = next.key("suggested_handoffs");
        let handoffs = at(document, &["next_actions", "suggested_handoffs"]);
        for (index, handoff) in handoffs.and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            let entry = list.index(index);
            self.target(report, &entry.key("target_agent"), handoff.get("target_agent"));
        }
        let response = ValuePath::Root.key("response");
        let content = response.key("content");
        let data = content.key("data");
        if reason(document).is_some() {
            let agent = at(document, &["response", "content", "data", "suggested_agent"]);
            self.target(report, &data.key("suggested_agent"), agent);
        }
    }

    fn target(&self, report: &mut ContractFindings, place: &ValuePath<'_>, target: Option<&Value>) {
        let target = target.and_then(Value::as_str).filter(|id| AgentId::is_valid(id));
        if let Some(id) = target.filter(|id| self.agent(id).is_none()) {
            let found = report.add(&rule::TARGET_UNKNOWN, place, self.unknown(id).to_string());
            found.actual_value = Some(preview(&Value::from(id)));
        }
    }
}

/// Returns the refusal reason of a refused or partial response, or `None` if it gives none.
pub(super) fn reason(document: &Value) -> Option<RefusalReason> {
    use crate::word::Word;
    let status = text(document, &["response", "status"]).and_then(GovernedStatus::from_word)?;
    let reason = text(document, &["response", "content", "data", "refusal_reason"])?;
    matches!(status, GovernedStatus::Refused | GovernedStatus::Partial)
        .then(|| RefusalReason::from_word(reason))
        .flatten()
}

/// Returns `Some(false)` if the response refuses the request as out of scope. Nothing else about the scope
/// can be computed.
pub(super) fn observed_scope(document: &Value) -> Option<bool> {
    (reason(document) == Some(RefusalReason::OutOfScope)).then_some(false)
}

/// Returns `Some(true)` if the handoff respects the boundaries and names the answering agent as its target.
/// Returns `None` if one of these members is missing.
pub(super) fn observed_boundaries(document: &Value, handoff: &Value) -> Option<bool> {
    let said = at(handoff, &["governance", "boundaries_respected"])?.as_bool()?;
    let agent = text(document, &["agent", "agent_id"])?;
    Some(said && text(handoff, &["target_agent", "agent_id"])? == agent)
}

fn scope(report: &mut ContractFindings, document: &Value) {
    let claimed = at(document, &["governance", "within_scope"]);
    if observed_scope(document) == Some(false) && claimed == Some(&Value::Bool(true)) {
        let message = "within_scope is attested, but the request is refused as out of scope";
        let group = ValuePath::Root.key("governance");
        let found = report.add(&rule::SCOPE_CONTRADICTED, &group.key("within_scope"), message);
        found.expected_value = Some("false".to_owned());
        found.actual_value = Some("true".to_owned());
    }
}

/// Compares a response with the handoff that it answers.
fn linked(
    report: &mut ContractFindings,
    document: &Value,
    handoff: &Value,
    found: &[ValidationError],
) {
    let request = ValuePath::Root.key("request_context");
    let here = request.key("request_id");
    let mut errors = found.iter().filter(|finding| finding.is_error());
    if let Some(first) = errors.next() {
        let more = match errors.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message = format!("the handoff is not valid: {first}{more}");
        report.add(&rule::HANDOFF_BROKEN, &here, message);
    }
    let id = text(handoff, &["handoff_id"]);
    match (at(document, &["request_context", "request_id"]), id) {
        (None, _) => {
            let message = "the response does not say which handoff it answers";
            let found = report.add(&rule::REQUEST_ID_MISSING, &here, message);
            found.expected_value = id.map(str::to_owned);
        }
        // UUIDs are equal in either letter case.
        (Some(Value::String(claimed)), Some(id)) if !claimed.eq_ignore_ascii_case(id) => {
            differ(report, &rule::REQUEST_ID_MISMATCH, &here, "request_id", (claimed, id));
        }
        _ => {}
    }
    let types = (
        text(document, &["request_context", "request_type"]),
        text(handoff, &["context", "request", "type"]),
    );
    if let (Some(claimed), Some(asked)) = types
        && claimed != asked
    {
        let here = request.key("request_type");
        differ(report, &rule::REQUEST_TYPE_MISMATCH, &here, "request_type", (claimed, asked));
    }
    let agents =
        (text(document, &["agent", "agent_id"]), text(handoff, &["target_agent", "agent_id"]));
    if let (Some(claimed), Some(target)) = agents
        && claimed != target
    {
        let group = ValuePath::Root.key("agent");
        let here = group.key("agent_id");
        differ(report, &rule::NOT_ADDRESSED, &here, "agent_id", (claimed, target));
    }
    let time = |document| text(document, &["timestamp"]).and_then(moment);
    if let (Some((answered, _)), Some((asked, _))) = (time(document), time(handoff))
        && answered < asked
    {
        let here = ValuePath::Root.key("timestamp");
        let message = format!("the response is dated {answered}, the handoff {asked}");
        report.add(&rule::ANSWERED_BEFORE, &here, message);
    }
    let claims = at(document, &["governance", "boundaries_respected"]) == Some(&Value::Bool(true));
    let said = at(handoff, &["governance", "boundaries_respected"]);
    if claims && said == Some(&Value::Bool(false)) {
        let group = ValuePath::Root.key("governance");
        let message = "boundaries_respected is attested, but the handoff says that they are not";
        let here = group.key("boundaries_respected");
        let found = report.add(&rule::BOUNDARIES_CONTRADICTED, &here, message);
        found.expected_value = Some("false".to_owned());
        found.actual_value = Some("true".to_owned());
    }
}

fn differ(
    report: &mut ContractFindings,
    rule: &'static answerback_findings::Rule,
    place: &ValuePath<'_>,
    name: &str,
    (claimed, expected): (&str, &str),
) {
    let (claimed, expected) = (preview(&Value::from(claimed)), preview(&Value::from(expected)));
    let message = format!("{name} is {claimed}, but the handoff has {expected}");
    let found = report.add(rule, place, message);
    found.expected_value = Some(expected);
    found.actual_value = Some(claimed);
}

fn text<'d>(document: &'d Value, path: &[&str]) -> Option<&'d str> {
    at(document, path).and_then(Value::as_str)
}
