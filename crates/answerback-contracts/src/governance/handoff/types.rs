use answerback_findings::Profile;
use answerback_json::UuidV4;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;
use crate::governed::{AgentIdentity, ProtocolVersion, RequestContext, RequestType};

/// One agent hands a request over to another.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Handoff {
    /// Names this handoff; the response carries it as `request_id`.
    pub handoff_id: UuidV4,
    /// When it was made, by ISO 8601.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = crate::governed::TIMESTAMP)))]
    pub timestamp: String,
    /// The edition of the contract that it follows.
    pub protocol_version: ProtocolVersion,
    /// Who hands over.
    pub source_agent: AgentIdentity,
    /// Who takes over.
    pub target_agent: AgentIdentity,
    /// What is handed over.
    pub context: HandoffContext,
    /// What was verified before.
    pub governance: HandoffGovernance,
    /// The extension slot.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members that the contract does not know, kept as they came.
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

/// What is handed over.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffContext {
    /// What is asked.
    pub request: HandoffRequest,
    /// What was said, learned and decided before.
    pub state: HandoffState,
    /// Members that the contract does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is asked of the agent that takes over.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffRequest {
    /// What kind of request it is.
    #[serde(rename = "type")]
    pub request_type: RequestType,
    /// The request in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub description: String,
    /// What to work on: an object or a text.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "string"])))]
    pub input_data: Value,
    /// What must be kept to.
    #[cfg_attr(feature = "schema", schemars(inner(regex(pattern = r"\S"))))]
    pub constraints: Vec<String>,
    /// What is wanted back, in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub expected_output: String,
    /// Members that the contract does not know, kept as they came.
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

/// What was said, learned and decided before the handoff.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffState {
    /// What was said, in order.
    pub conversation_history: Vec<Value>,
    /// What is known, by name.
    pub accumulated_context: Map<String, Value>,
    /// What was decided, in order.
    pub decisions_made: Vec<Value>,
    /// Members that the contract does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What was verified before a handoff.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "the contract has these four flags")]
#[non_exhaustive]
pub struct HandoffGovernance {
    /// The agent that hands over is who it says.
    pub source_agent_verified: bool,
    /// The agent that takes over is who it should be.
    pub target_agent_verified: bool,
    /// The composition of each archetype among them is valid.
    pub composition_valid: bool,
    /// The handoff keeps to the boundaries of the domains.
    pub boundaries_respected: bool,
    /// Where the record of this handoff is.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::governed::audit_trail"))]
    pub audit_trail: Value,
    /// Members that the contract does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
