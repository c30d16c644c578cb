use answerback_json::UuidV4;
use serde_json::{Map, Value};

use super::ToolFacts;

/// The values that a target contract may require and a source may lack. The caller provides them, because
/// they must not be made up.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inputs {
    /// For tool envelopes: the name and version of the tool.
    pub tool: Option<ToolFacts>,
    /// For governed responses: the id of the new response.
    pub response_id: Option<UuidV4>,
    /// For governed responses: `agent_type`, `agent_id`, `agent_version`, `prompt_hash`.
    pub agent: Option<Map<String, Value>>,
    /// For governed responses: the four flags, and an explanation if one of them is false.
    pub governance: Option<Map<String, Value>>,
    /// For governed responses: `request_type` and `request_summary`.
    pub request: Option<Map<String, Value>>,
    /// For governed responses: high, medium, low or `not_applicable`.
    pub confidence: Option<String>,
}

impl Inputs {
    /// Sets the name and version of the tool.
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

    /// Sets the attestation.
    #[must_use]
    pub fn with_governance(mut self, governance: Map<String, Value>) -> Self {
        self.governance = Some(governance);
        self
    }

    /// Sets the type and summary of the request.
    #[must_use]
    pub fn with_request(mut self, request: Map<String, Value>) -> Self {
        self.request = Some(request);
        self
    }

    /// Sets the confidence of the agent.
    #[must_use]
    pub fn with_confidence(mut self, confidence: impl Into<String>) -> Self {
        self.confidence = Some(confidence.into());
        self
    }
}

/// A value that the target requires but neither the source nor the inputs have.
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
    /// A governed response needs the request's type and summary.
    #[error("a governed response needs the request's type and summary")]
    Request,
    /// A governed response needs a confidence.
    #[error("a governed response needs a confidence")]
    Confidence,
}
