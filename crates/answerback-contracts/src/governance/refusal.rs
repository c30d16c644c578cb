use answerback_findings::{Rule, ValidationError};
use answerback_json::UuidV4;
use answerback_json::time::Timestamp;
use answerback_redaction::is_blank;
use serde_json::{Value, json};

use super::speaker::Speaker;
use super::verify::rule as response;
use super::{Handoff, handoff};
use crate::Invalid;
use crate::governed::{
    AgentId, GovernedResponse, Refusal, RefusalReason, RefusalSeverity, RequestContext, RequestType,
};

/// Describes a response that was not accepted, with the refusal that the rules demand instead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// The refusal. Its reason follows from the most serious finding.
    pub refusal: Refusal,
    /// All findings about the response, including warnings.
    pub findings: Vec<ValidationError>,
    request: RequestContext,
    /// The id of the response that was not accepted, if that id is valid.
    response_id: Option<UuidV4>,
}

impl Refused {
    pub(super) fn of(
        findings: Vec<ValidationError>,
        of_handoff: &[ValidationError],
        response: &Value,
        handoff: Option<&Value>,
    ) -> Self {
        let nobody = response.pointer("/agent/agent_id").and_then(Value::as_str).is_none();
        let errors = || findings.iter().filter(|finding| finding.is_error());
        let causes = errors().chain(of_handoff.iter().filter(|finding| finding.is_error()));
        let gravest = causes
            .map(|finding| match reason(finding) {
                // A response without an agent id matches no agent of the manifest.
                RefusalReason::QualityCannotBeMet if nobody => {
                    (RefusalReason::InvalidAgentReference, finding)
                }
                reason => (reason, finding),
            })
            .min_by_key(|(reason, _)| rank(*reason));
        let refusal = match gravest {
            Some((reason, first)) => {
                let more = match errors().count().saturating_sub(1) {
                    0 => String::new(),
                    more => format!(" ({more} more findings)"),
                };
                let explanation = format!("The response was not accepted: {}{more}", first.message);
                Refusal::new(reason, explanation).with_governance_rule(first.error_code.as_ref())
            }
            // Without an error finding, the verification itself did not work. Fail closed.
            None => Refusal::new(
                RefusalReason::HashVerificationFailure,
                "The response could not be verified.",
            )
            .with_governance_rule(response::AUTHORITY_BROKEN.code),
        };
        let refusal = match suggested(refusal.refusal_reason, response, handoff) {
            Some(agent) => refusal.with_suggested_agent(agent),
            None => refusal,
        };
        let request = request(response, handoff);
        let id = response.get("response_id").and_then(Value::as_str);
        let response_id = id.and_then(|id| UuidV4::try_from(id).ok());
        Self { refusal, findings, request, response_id }
    }

    /// Returns the severity of the refusal.
    pub const fn severity(&self) -> RefusalSeverity {
        self.refusal.refusal_reason.severity()
    }

    /// Returns true if work must stop because identity or integrity is in doubt.
    pub const fn halts(&self) -> bool {
        self.refusal.refusal_reason.is_security()
    }

    /// Returns the refusal as a governed response. The speaker is the agent that verifies, never the one that
    /// was refused. `_meta` holds the codes and paths of the findings.
    ///
    /// # Errors
    ///
    /// Returns the findings if the response would not pass the strict check.
    pub fn respond(
        &self,
        speaker: &Speaker<'_>,
        response_id: UuidV4,
        now: Timestamp,
    ) -> Result<GovernedResponse, Invalid> {
        let found: Vec<Value> = self
            .findings
            .iter()
            .filter(|finding| finding.is_error())
            .map(|finding| json!({"error_code": finding.error_code, "field_path": finding.field_path}))
            .collect();
        let mut about = json!({"severity": self.severity(), "findings": found});
        if let Some(id) = &self.response_id {
            about["response_id"] = id.as_str().into();
        }
        speaker
            .refusal(response_id, self.request.clone(), &self.refusal)
            .meta("dev.answerback/refusal", about)
            .build(now)
    }
}

/// Returns the refusal reason that a finding demands.
fn reason(finding: &ValidationError) -> RefusalReason {
    let (code, path) = (finding.error_code.as_ref(), finding.field_path.as_str());
    let is = |rules: &[&Rule]| rules.iter().any(|rule| rule.code == code);
    let names_an_agent =
        || ["/agent", "/source_agent", "/target_agent"].iter().any(|group| path.starts_with(group));
    if is(&HASH) || path.ends_with("/prompt_hash") {
        RefusalReason::HashVerificationFailure
    } else if is(&[&response::COMPOSITION_BROKEN, &handoff::rule::COMPOSITION_BROKEN]) {
        RefusalReason::CompositionViolation
    } else if is(&[&response::BOUNDARIES_CONTRADICTED, &response::NOT_ADDRESSED]) {
        RefusalReason::BoundaryViolation
    } else if is(&[&response::SCOPE_CONTRADICTED]) {
        RefusalReason::OutOfScope
    } else if is(&[&response::TARGET_UNKNOWN]) || names_an_agent() {
        RefusalReason::InvalidAgentReference
    } else if code.starts_with("HAND-") || is(&[&response::HANDOFF_BROKEN]) {
        RefusalReason::InsufficientContext
    } else {
        RefusalReason::QualityCannotBeMet
    }
}

/// The rules whose violation means that no hash can be relied on.
static HASH: [&Rule; 4] = [
    &response::AGENT_NOT_LOCKED,
    &response::AUTHORITY_BROKEN,
    &handoff::rule::AGENT_NOT_LOCKED,
    &handoff::rule::AUTHORITY_BROKEN,
];

/// Returns the rank of a refusal reason. Security reasons come first, then the most severe ones.
fn rank(reason: RefusalReason) -> (bool, std::cmp::Reverse<RefusalSeverity>) {
    (!reason.is_security(), std::cmp::Reverse(reason.severity()))
}

/// Returns the agent to ask instead, if the handoff or the response names one.
fn suggested(reason: RefusalReason, response: &Value, handoff: Option<&Value>) -> Option<AgentId> {
    let named = match reason {
        RefusalReason::BoundaryViolation => handoff?.pointer("/target_agent/agent_id"),
        RefusalReason::OutOfScope => response.pointer("/response/content/data/suggested_agent"),
        _ => None,
    };
    AgentId::try_from(named?.as_str()?).ok()
}

/// Returns the request context from the handoff, or else from the response. Without either, it is a request
/// to accept or refuse a governed response.
fn request(response: &Value, handoff: Option<&Value>) -> RequestContext {
    use serde::Deserialize;
    let asked = handoff.and_then(|handoff| Handoff::from_document(handoff).ok());
    let said = || {
        let said = RequestContext::deserialize(response.get("request_context")?).ok()?;
        (!is_blank(&said.request_summary)).then_some(said)
    };
    asked.map(|handoff| handoff.request_context()).or_else(said).unwrap_or_else(|| {
        RequestContext::new(RequestType::Decision, "Accept or refuse a governed response")
    })
}
