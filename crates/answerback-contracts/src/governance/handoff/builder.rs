use answerback_findings::Profile;
use answerback_json::UuidV4;
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::{Handoff, HandoffContext, HandoffGovernance, HandoffRequest, HandoffState};
use crate::Invalid;
use crate::governed::{AgentIdentity, ProtocolVersion};

/// Builds a handoff between two agents of a manifest. [`Authority::handoff`] starts it, so both identities
/// come from the lock and the compositions are verified.
///
/// [`Authority::handoff`]: crate::governance::Authority::handoff
#[derive(Clone, Debug)]
#[must_use]
pub struct HandoffBuilder {
    handoff_id: UuidV4,
    source_agent: AgentIdentity,
    target_agent: AgentIdentity,
    request: HandoffRequest,
    state: HandoffState,
    composition_valid: bool,
    boundaries_respected: bool,
    audit_trail: Value,
    meta: Map<String, Value>,
}

impl HandoffBuilder {
    pub(crate) fn new(
        handoff_id: UuidV4,
        source_agent: AgentIdentity,
        target_agent: AgentIdentity,
        composition_valid: bool,
        request: HandoffRequest,
        audit_trail: Value,
    ) -> Self {
        Self {
            handoff_id,
            source_agent,
            target_agent,
            request,
            state: HandoffState::default(),
            composition_valid,
            boundaries_respected: true,
            audit_trail,
            meta: Map::new(),
        }
    }

    /// Adds a message to the conversation history.
    pub fn with_message(mut self, message: impl Into<Value>) -> Self {
        self.state.conversation_history.push(message.into());
        self
    }

    /// Adds a named value to the accumulated context.
    pub fn with_context(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.state.accumulated_context.insert(name.into(), value.into());
        self
    }

    /// Adds a decision to the list of decisions.
    pub fn with_decision(mut self, decision: impl Into<Value>) -> Self {
        self.state.decisions_made.push(decision.into());
        self
    }

    /// Sets `boundaries_respected` to false, because the handoff goes beyond the boundaries of the domains.
    pub fn crossing_boundaries(mut self) -> Self {
        self.boundaries_respected = false;
        self
    }

    /// Adds a member to the extension slot `_meta`.
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }

    /// Finishes the handoff and dates it `now`.
    ///
    /// # Errors
    ///
    /// Returns the findings if the handoff would not pass the strict check.
    pub fn build(self, now: Timestamp) -> Result<Handoff, Invalid> {
        let handoff = Handoff {
            handoff_id: self.handoff_id,
            timestamp: now.to_utc_seconds(),
            protocol_version: ProtocolVersion::default(),
            source_agent: self.source_agent,
            target_agent: self.target_agent,
            context: HandoffContext { request: self.request, state: self.state, extra: Map::new() },
            governance: HandoffGovernance {
                // Both identities come from the lock.
                source_agent_verified: true,
                target_agent_verified: true,
                composition_valid: self.composition_valid,
                boundaries_respected: self.boundaries_respected,
                audit_trail: self.audit_trail,
                extra: Map::new(),
            },
            meta: self.meta,
            extra: Map::new(),
        };
        let document = handoff.to_document();
        Invalid::unless_emittable(&document, super::check(&document, Profile::Strict))?;
        Ok(handoff)
    }
}
