use serde_json::Value;

use super::at;
use super::response::{observed_boundaries, observed_scope, reason};
use crate::contract::Profile;
use crate::contract::governed::{AgentIdentity, Flag, RefusalReason};
use crate::finding::ValidationError;
use crate::governance::{AgentScope, Authority, Refused};
use crate::json::Document;

/// What became of a response that was verified.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a response is accepted or refused, nothing between")]
pub enum Verification<'a> {
    /// Everything that can be computed was, and holds.
    Accepted(Accepted<'a>),
    /// Something does not hold, or could not be computed.
    Refused(Box<Refused>),
}

/// A response that was accepted: what was observed beside what it claims.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Accepted<'a> {
    /// Who answered, as manifest and lock have it: type, id, version and hash are what the response says.
    pub agent: &'a AgentIdentity,
    /// What the agent is for, in the manifest's words: what `within_scope` is claimed of.
    pub scope: &'a [AgentScope],
    /// The four attestations.
    pub claims: [AttestedClaim; 4],
    /// Whether the response is itself a refusal for a security reason, after which work halts.
    pub halts: bool,
    /// What deserves attention and is no error.
    pub findings: Vec<ValidationError>,
}

/// One attestation: what the agent claims, and what was observed of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AttestedClaim {
    /// Which one.
    pub flag: Flag,
    /// What the agent says.
    pub claimed: bool,
    /// What was computed; `None` where nothing can be, and the claim is only a claim.
    pub observed: Option<bool>,
}

impl Verification<'_> {
    /// Whether the response was accepted.
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// Whether work has to halt: the response was refused for a security reason, or is such a refusal.
    pub fn halts(&self) -> bool {
        match self {
            Self::Accepted(accepted) => accepted.halts,
            Self::Refused(refused) => refused.halts(),
        }
    }

    /// Everything that was found, taken out.
    pub fn into_findings(self) -> Vec<ValidationError> {
        match self {
            Self::Accepted(accepted) => accepted.findings,
            Self::Refused(refused) => refused.findings,
        }
    }

    /// Everything that was found.
    pub fn findings(&self) -> &[ValidationError] {
        match self {
            Self::Accepted(accepted) => &accepted.findings,
            Self::Refused(refused) => &refused.findings,
        }
    }
}

impl Authority {
    /// Verifies a governed response against manifest and lock, and together with its handoff where one is
    /// given. Whatever cannot be computed is not accepted.
    ///
    /// In a [`Value`] a name that stood twice is gone. Where the response's text is at hand,
    /// [`verify_document`](Self::verify_document) knows.
    pub fn verify(&self, response: &Value, handoff: Option<&Value>) -> Verification<'_> {
        self.verified(response, Vec::new(), handoff, Profile::Strict)
    }

    /// Verifies a governed response as it was read: what reading it found counts as well.
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
        let judged = self.judge(response, handoff, profile);
        findings.extend(judged.findings);
        let holds = self.is_sound() && !findings.iter().any(ValidationError::is_error);
        let accepted = holds.then(|| self.accepted(response, handoff)).flatten();
        match accepted {
            Some(accepted) => Verification::Accepted(Accepted { findings, ..accepted }),
            None => {
                let refused = Refused::of(findings, &judged.handoff, response, handoff);
                Verification::Refused(Box::new(refused))
            }
        }
    }

    /// What is observed of a response in which nothing is wrong.
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

/// What a response claims by a flag, and what was observed of it.
fn claim(flag: Flag, response: &Value, handoff: Option<&Value>) -> Option<AttestedClaim> {
    let claimed = response.get("governance")?.get(flag.as_str())?.as_bool()?;
    let observed = match flag {
        Flag::WithinScope => observed_scope(response),
        Flag::BoundariesRespected => {
            handoff.and_then(|handoff| observed_boundaries(response, handoff))
        }
        // Whether work is good, and whether a constraint in words was kept, is for people to say.
        Flag::QualityStandardsMet | Flag::ConstraintsFollowed => None,
    };
    Some(AttestedClaim { flag, claimed, observed })
}
