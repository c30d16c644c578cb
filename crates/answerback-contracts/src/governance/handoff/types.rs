use answerback_findings::Profile;
use answerback_json::UuidV4;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;
use crate::governed::{AgentIdentity, ProtocolVersion, RequestContext, RequestType};

/// The transfer of a request from one agent to another.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Handoff {
    /// The id of the handoff. The response repeats it as `request_id`.
    pub handoff_id: UuidV4,
    /// The time at which the handoff was created, in ISO 8601.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = crate::governed::TIMESTAMP)))]
    pub timestamp: String,
    /// The version of the contract that the handoff follows.
    pub protocol_version: ProtocolVersion,
    /// The agent that hands the request over.
    pub source_agent: AgentIdentity,
    /// The agent that takes the request over.
    pub target_agent: AgentIdentity,
    /// The request and the state of the work.
    pub context: HandoffContext,
    /// The checks that were made before the handoff.
    pub governance: HandoffGovernance,
    /// The extension slot.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Handoff {
    /// Parses a handoff that meets the lenient profile.
    ///
    /// # Errors
    ///
    /// Returns an error if the document does not meet the contract.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the handoff as a JSON document, with its keys in the contract's order.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the request context for a response to this handoff: its id, type and description.
    pub fn request_context(&self) -> RequestContext {
        let request = &self.context.request;
        RequestContext::new(request.request_type, request.description.as_str())
            .with_request_id(self.handoff_id.clone())
    }
}

/// The content of a handoff: the request and the state of the work.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffContext {
    /// The request.
    pub request: HandoffRequest,
    /// The conversation, the knowledge and the decisions before the handoff.
    pub state: HandoffState,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The request to the agent that takes over.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffRequest {
    /// The kind of request.
    #[serde(rename = "type")]
    pub request_type: RequestType,
    /// The request in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub description: String,
    /// The input of the request: an object or a text.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "string"])))]
    pub input_data: Value,
    /// The constraints that the answer must meet.
    #[cfg_attr(feature = "schema", schemars(inner(regex(pattern = r"\S"))))]
    pub constraints: Vec<String>,
    /// The expected result, in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub expected_output: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl HandoffRequest {
    /// Creates a request with empty input data and no constraints.
    pub fn new(
        request_type: RequestType,
        description: impl Into<String>,
        expected_output: impl Into<String>,
    ) -> Self {
        Self {
            request_type,
            description: description.into(),
            input_data: Value::Object(Map::new()),
            constraints: Vec::new(),
            expected_output: expected_output.into(),
            extra: Map::new(),
        }
    }

    /// Sets the input data, which must be an object or a text.
    #[must_use]
    pub fn with_input_data(mut self, input_data: impl Into<Value>) -> Self {
        self.input_data = input_data.into();
        self
    }

    /// Adds a constraint that the answer must meet.
    #[must_use]
    pub fn with_constraint(mut self, constraint: impl Into<String>) -> Self {
        self.constraints.push(constraint.into());
        self
    }
}

/// The conversation, the knowledge and the decisions before the handoff.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffState {
    /// The messages of the conversation, in order.
    pub conversation_history: Vec<Value>,
    /// The known facts, by name.
    pub accumulated_context: Map<String, Value>,
    /// The decisions, in order.
    pub decisions_made: Vec<Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The checks that were made before a handoff.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "the contract has these four flags")]
#[non_exhaustive]
pub struct HandoffGovernance {
    /// True if the identity of the agent that hands over was verified.
    pub source_agent_verified: bool,
    /// True if the identity of the agent that takes over was verified.
    pub target_agent_verified: bool,
    /// True if the composition of each archetype among the two agents is valid.
    pub composition_valid: bool,
    /// True if the handoff respects the boundaries of the domains.
    pub boundaries_respected: bool,
    /// A reference to the record of this handoff.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::governed::audit_trail"))]
    pub audit_trail: Value,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
