use answerback_findings::{Profile, ValidationError};
use answerback_parse::Document;
use serde_json::Value;

use super::at;
use super::response::{observed_boundaries, observed_scope, reason};
use crate::governance::{AgentScope, Authority, Refused};
use crate::governed::{AgentIdentity, Flag, RefusalReason};

/// The result of verifying a governed response.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a response is accepted or refused, nothing between")]
pub enum Verification<'a> {
    /// Everything that can be computed was computed, and it holds.
    Accepted(Accepted<'a>),
    /// Something does not hold or could not be computed.
    Refused(Box<Refused>),
}

/// Describes an accepted response: its agent, and each claim with the observed value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Accepted<'a> {
    /// The identity of the answering agent. The response states the same type, id, version and hash.
    pub agent: &'a AgentIdentity,
    /// The agent's scope in the manifest's words. The claim `within_scope` refers to it.
    pub scope: &'a [AgentScope],
    /// The four attestations.
    pub claims: [AttestedClaim; 4],
    /// True if the response is itself a refusal for a security reason, after which work must stop.
    pub halts: bool,
    /// The findings, none of which is an error.
    pub findings: Vec<ValidationError>,
}

/// One attestation, with the agent's claim and the observed value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AttestedClaim {
    /// The flag that is attested.
    pub flag: Flag,
    /// The value that the agent states.
    pub claimed: bool,
    /// The computed value, or `None` if it cannot be computed and remains a claim.
    pub observed: Option<bool>,
}

impl Verification<'_> {
    /// Returns true if the response was accepted.
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// Returns true if work must stop. The response was refused for a security reason, or is itself such a
    /// refusal.
    pub fn halts(&self) -> bool {
        match self {
            Self::Accepted(accepted) => accepted.halts,
            Self::Refused(refused) => refused.halts(),
        }
    }

    /// Consumes the verification and returns its findings.
    pub fn into_findings(self) -> Vec<ValidationError> {
        match self {
            Self::Accepted(accepted) => accepted.findings,
            Self::Refused(refused) => refused.findings,
        }
    }

    /// Returns the findings.
    pub fn findings(&self) -> &[ValidationError] {
        match self {
            Self::Accepted(accepted) => &accepted.findings,
            Self::Refused(refused) => &refused.findings,
        }
    }
}

impl Authority {
    /// Verifies a governed response against manifest, lock and, if given, its handoff. If something cannot be
    /// computed, the response is not accepted.
    ///
    /// A [`Value`] no longer shows names that the text repeats. If the text is available, use
    /// [`verify_document`](Self::verify_document), which reports them.
    pub fn verify(&self, response: &Value, handoff: Option<&Value>) -> Verification<'_> {
        self.verified(response, Vec::new(), handoff, Profile::Strict)
    }

    /// Verifies a governed response, including the findings of the JSON reader, such as repeated names.
    pub fn verify_document(
        &self,
        response: &Document,
        handoff: Option<&Value>,
        profile: Profile,
    ) -> Verification<'_> {
        self.verified(&response.value, response.findings.clone(), handoff, profile)
    }

    fn verified(
        &self,
        response: &Value,
        mut findings: Vec<ValidationError>,
        handoff: Option<&Value>,
        profile: Profile,
    ) -> Verification<'_> {
        let check = self.check_with_handoff(response, handoff, profile);
        findings.extend(check.findings);
        let holds = self.is_sound() && !findings.iter().any(ValidationError::is_error);
        let accepted = holds.then(|| self.accepted(response, handoff)).flatten();
        match accepted {
            Some(accepted) => Verification::Accepted(Accepted { findings, ..accepted }),
            None => {
                let refused = Refused::of(findings, &check.handoff, response, handoff);
                Verification::Refused(Box::new(refused))
            }
        }
    }

    /// Returns the identity, scope and claims for a response without errors.
    fn accepted(&self, response: &Value, handoff: Option<&Value>) -> Option<Accepted<'_>> {
        let agent = self.agent(at(response, &["agent", "agent_id"])?.as_str()?)?;
        let claim = |flag| claim(flag, response, handoff);
        Some(Accepted {
            agent: agent.identity.as_ref()?,
            scope: &agent.scope,
            claims: [
                claim(Flag::WithinScope)?,
                claim(Flag::BoundariesRespected)?,
                claim(Flag::QualityStandardsMet)?,
                claim(Flag::ConstraintsFollowed)?,
            ],
            halts: reason(response).is_some_and(RefusalReason::is_security),
            findings: Vec::new(),
        })
    }
}

/// Returns a response's claim for a flag, and the value that can be observed.
fn claim(flag: Flag, response: &Value, handoff: Option<&Value>) -> Option<AttestedClaim> {
    let claimed = response.get("governance")?.get(flag.as_str())?.as_bool()?;
    let observed = match flag {
        Flag::WithinScope => observed_scope(response),
        Flag::BoundariesRespected => {
            handoff.and_then(|handoff| observed_boundaries(response, handoff))
        }
        // Only people can say if the work is good, or if a constraint in words was met.
        Flag::QualityStandardsMet | Flag::ConstraintsFollowed => None,
    };
    Some(AttestedClaim { flag, claimed, observed })
}
