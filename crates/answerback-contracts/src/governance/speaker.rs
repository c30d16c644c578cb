use answerback_json::UuidV4;
use serde_json::Value;

use super::authority::{Authority, AuthorityError};
use super::handoff::{HandoffBuilder, HandoffRequest};
use crate::governed::{
    AgentIdentity, Attestation, Content, GovernedBuilder, GovernedCheckOptions, GovernedFailure,
    Refusal, RequestContext,
};

/// Builds responses for one agent, with the identity that manifest and lock give it. An honest agent cannot
/// state a wrong identity by mistake.
///
/// ```
/// # fn example(authority: &answerback_contracts::governance::Authority) -> Result<(), Box<dyn std::error::Error>> {
/// use answerback_contracts::governed::{Attestation, Content, RequestContext, RequestType};
/// use answerback_json::{Timestamp, UuidV4};
///
/// let speaker = authority.speaker("domain-02-analysis")?;
/// let response = speaker
///     .answer(
///         UuidV4::from_random([7; 16]),
///         RequestContext::new(RequestType::Query, "Did sales rise?"),
///         Content::plain("They rose by 12 %."),
///         Attestation::upheld().with_audit_trail("ledger:42"),
///     )
///     .build(Timestamp::from_unix_millis(1_767_362_220_000))?;
/// assert!(authority.verify(&response.to_document(), None).is_accepted());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'a> {
    identity: &'a AgentIdentity,
}

impl Authority {
    /// Returns a [`Speaker`] for the agent with this canonical id.
    ///
    /// # Errors
    ///
    /// Returns an error if no agent has this id, or if manifest or lock has an error.
    pub fn speaker(&self, agent_id: &str) -> Result<Speaker<'_>, AuthorityError> {
        Ok(Speaker { identity: self.identity(agent_id)? })
    }

    /// Starts a handoff between two agents. Both identities come from the lock, and the validity of their
    /// compositions is computed.
    ///
    /// # Errors
    ///
    /// Returns an error if no agent has one of the ids, or if manifest or lock has an error.
    pub fn handoff(
        &self,
        handoff_id: UuidV4,
        (source, target): (&str, &str),
        request: HandoffRequest,
        audit_trail: impl Into<Value>,
    ) -> Result<HandoffBuilder, AuthorityError> {
        let is_whole = |id: &str| self.agent(id).is_some_and(|agent| agent.composition.is_empty());
        Ok(HandoffBuilder::new(
            handoff_id,
            self.identity(source)?.clone(),
            self.identity(target)?.clone(),
            is_whole(source) && is_whole(target),
            request,
            audit_trail.into(),
        ))
    }
}

impl Speaker<'_> {
    /// Returns the identity of the agent.
    pub fn identity(&self) -> &AgentIdentity {
        self.identity
    }

    /// Starts an answer with its attestation.
    pub fn answer(
        &self,
        response_id: UuidV4,
        request: RequestContext,
        content: Content,
        attestation: Attestation,
    ) -> GovernedBuilder {
        let agent = self.identity.clone();
        self.judged(GovernedBuilder::answer(response_id, agent, request, content, attestation))
    }

    /// Starts a response that reports a failure.
    pub fn failure(
        &self,
        response_id: UuidV4,
        request: RequestContext,
        failure: &GovernedFailure,
    ) -> GovernedBuilder {
        let agent = self.identity.clone();
        self.judged(GovernedBuilder::failure(response_id, agent, request, failure))
    }

    /// Starts a refusal.
    pub fn refusal(
        &self,
        response_id: UuidV4,
        request: RequestContext,
        refusal: &Refusal,
    ) -> GovernedBuilder {
        let agent = self.identity.clone();
        self.judged(GovernedBuilder::refusal(response_id, agent, request, refusal))
    }

    fn judged(self, builder: GovernedBuilder) -> GovernedBuilder {
        builder
            .with_check_options(GovernedCheckOptions::default().with_agent(self.identity.clone()))
    }
}
