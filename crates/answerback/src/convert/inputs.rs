use serde_json::{Map, Value};

use super::ToolFacts;
use crate::id::UuidV4;

/// What a target may require and a source may lack. It is asked for, never invented.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inputs {
    /// For tool envelopes: which tool, in which version.
    pub tool: Option<ToolFacts>,
    /// For governed responses: the id of the new response.
    pub response_id: Option<UuidV4>,
    /// For governed responses: `agent_type`, `agent_id`, `agent_version`, `prompt_hash`.
    pub agent: Option<Map<String, Value>>,
    /// For governed responses: the four flags, and an explanation where one is false.
    pub governance: Option<Map<String, Value>>,
    /// For governed responses: `request_type` and `request_summary`.
    pub request: Option<Map<String, Value>>,
    /// For governed responses: high, medium, low or `not_applicable`.
    pub confidence: Option<String>,
}

impl Inputs {
    /// Names the tool.
    #[must_use]
    pub fn with_tool(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.tool = Some(ToolFacts::new(name, version));
        self
    }

    /// Sets the id of the new response.
    #[must_use]
    pub fn with_response_id(mut self, id: UuidV4) -> Self {
        self.response_id = Some(id);
        self
    }

    /// Sets the agent's identity.
    #[must_use]
    pub fn with_agent(mut self, agent: Map<String, Value>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Sets what is attested.
    #[must_use]
    pub fn with_governance(mut self, governance: Map<String, Value>) -> Self {
        self.governance = Some(governance);
        self
    }

    /// Sets what was asked.
    #[must_use]
    pub fn with_request(mut self, request: Map<String, Value>) -> Self {
        self.request = Some(request);
        self
    }

    /// Sets how sure the agent is.
    #[must_use]
    pub fn with_confidence(mut self, confidence: impl Into<String>) -> Self {
        self.confidence = Some(confidence.into());
        self
    }
}

/// Something the target requires that neither the source nor the inputs have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MissingInput {
    /// A tool envelope needs a tool.
    #[error("a tool envelope needs the tool's name and version")]
    Tool,
    /// A governed response needs an id.
    #[error("a governed response needs a response id")]
    ResponseId,
    /// A governed response needs an agent.
    #[error("a governed response needs the agent's identity, from a lock")]
    Agent,
    /// A governed response needs an attestation.
    #[error("a governed response needs an attestation (the four governance flags)")]
    Governance,
    /// A governed response needs to say what was asked.
    #[error("a governed response needs the request's type and summary")]
    Request,
    /// A governed response needs a confidence.
    #[error("a governed response needs a confidence")]
    Confidence,
}
