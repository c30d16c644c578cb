use answerback_findings::Profile;
use answerback_json::UuidV4;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AgentId, AgentIdentity, Attestation, Confidence, ContentType, Format, GovernedFailure,
    GovernedStatus, ProtocolVersion, Refusal, RequestType,
};
use crate::Invalid;

/// A governed response: an agent's answer with its identity and attestation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = super::schema::rules))]
#[non_exhaustive]
pub struct GovernedResponse {
    /// The id of the response.
    pub response_id: UuidV4,
    /// The time of the response, in ISO 8601.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = super::schema::TIMESTAMP)))]
    pub timestamp: String,
    /// The version of the contract that the response follows.
    pub protocol_version: ProtocolVersion,
    /// The agent that answers.
    pub agent: AgentIdentity,
    /// The status, the content and the confidence of the answer.
    pub response: Response,
    /// The request that the response answers.
    pub request_context: RequestContext,
    /// The agent's attestation about the response.
    pub governance: Attestation,
    /// Suggestions for the next steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "NextActions"))]
    pub next_actions: Option<NextActions>,
    /// The extension slot.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl GovernedResponse {
    /// Parses a response that meets the lenient profile.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] if the document does not meet the contract.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the response as a JSON document, with its keys in the order of the contract.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the status of the response.
    pub const fn status(&self) -> GovernedStatus {
        self.response.status
    }

    /// Returns the failure if the status is `error`.
    pub fn failure(&self) -> Option<GovernedFailure> {
        (self.status() == GovernedStatus::Error).then(|| self.content_as()).flatten()
    }

    /// Returns the refusal, if the response is one. Its status is `refused`, or `partial` if the
    /// caller's answer can resolve the reason.
    pub fn refusal(&self) -> Option<Refusal> {
        matches!(self.status(), GovernedStatus::Refused | GovernedStatus::Partial)
            .then(|| self.content_as())
            .flatten()
    }

    fn content_as<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(&self.response.content.data).ok()
    }
}

/// The status, the content and the confidence of an answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "GovernedContent"))]
#[non_exhaustive]
pub struct Response {
    /// The outcome of the request.
    pub status: GovernedStatus,
    /// The content of the answer.
    pub content: Content,
    /// The agent's confidence in the answer.
    pub confidence: Confidence,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Response {
    pub(super) fn new(status: GovernedStatus, content: Content, confidence: Confidence) -> Self {
        Self { status, content, confidence, extra: Map::new() }
    }
}

/// The content of an answer.
///
/// ```
/// use answerback_contracts::governed::{Content, ContentType, Format};
///
/// let content = Content::mixed("Sales rose.", [("rise", 12)]);
/// assert_eq!((content.kind, content.format), (ContentType::Mixed, Format::Json));
/// assert_eq!(content.data["narrative"], "Sales rose.");
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Content {
    /// The type of the content.
    #[serde(rename = "type")]
    pub kind: ContentType,
    /// The data: a string for text, an object otherwise.
    pub data: Value,
    /// The format of the content.
    pub format: Format,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Content {
    /// Creates text content with Markdown.
    pub fn markdown(text: impl Into<String>) -> Self {
        Self::new(ContentType::Text, Value::String(text.into()), Format::Markdown)
    }

    /// Creates plain text content.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(ContentType::Text, Value::String(text.into()), Format::Plain)
    }

    /// Creates structured content from named values.
    pub fn structured<N: Into<String>, V: Into<Value>>(
        data: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self::new(ContentType::Structured, Value::Object(members(data).collect()), Format::Json)
    }

    /// Creates mixed content: a narrative with named values next to it.
    pub fn mixed<N: Into<String>, V: Into<Value>>(
        narrative: impl Into<String>,
        data: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let narrative = ("narrative".to_owned(), Value::String(narrative.into()));
        let data = std::iter::once(narrative).chain(members(data)).collect();
        Self::new(ContentType::Mixed, Value::Object(data), Format::Json)
    }

    /// Creates structured content from the members of a serializable type.
    pub(super) fn of(data: impl Serialize) -> Self {
        // Serializing plain data into a tree cannot fail.
        let data = serde_json::to_value(data).unwrap_or_default();
        Self::new(ContentType::Structured, data, Format::Json)
    }

    fn new(kind: ContentType, data: Value, format: Format) -> Self {
        Self { kind, data, format, extra: Map::new() }
    }
}

fn members<N: Into<String>, V: Into<Value>>(
    data: impl IntoIterator<Item = (N, V)>,
) -> impl Iterator<Item = (String, Value)> {
    data.into_iter().map(|(name, value)| (name.into(), value.into()))
}

/// The request that a response answers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RequestContext {
    /// The id of the handoff that made the request, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "UuidV4"))]
    pub request_id: Option<UuidV4>,
    /// The kind of request.
    pub request_type: RequestType,
    /// A summary of the request.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub request_summary: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl RequestContext {
    /// Creates the context of a request that was made without a handoff.
    pub fn new(request_type: RequestType, request_summary: impl Into<String>) -> Self {
        Self {
            request_id: None,
            request_type,
            request_summary: request_summary.into(),
            extra: Map::new(),
        }
    }

    /// Links the response to the handoff that made the request.
    #[must_use]
    pub fn with_request_id(mut self, id: UuidV4) -> Self {
        self.request_id = Some(id);
        self
    }
}

/// Suggestions for the next steps. An absent list and an empty list are distinguished.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NextActions {
    /// Other agents that the caller could ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SuggestedHandoff>"))]
    pub suggested_handoffs: Option<Vec<SuggestedHandoff>>,
    /// Questions to the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", inner(regex(pattern = r"\S"))))]
    pub followup_questions: Option<Vec<String>>,
    /// The information that the agent would need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", inner(regex(pattern = r"\S"))))]
    pub additional_context_needed: Option<Vec<String>>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A suggestion to hand the request over to another agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuggestedHandoff {
    /// The canonical id of the agent.
    pub target_agent: AgentId,
    /// The reason for the suggestion.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub reason: String,
    /// True if the request cannot be completed without the handoff.
    pub required: bool,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SuggestedHandoff {
    /// Suggests an agent that is required to complete the request.
    pub fn required(target_agent: AgentId, reason: impl Into<String>) -> Self {
        Self { target_agent, reason: reason.into(), required: true, extra: Map::new() }
    }

    /// Suggests an agent that could continue.
    pub fn optional(target_agent: AgentId, reason: impl Into<String>) -> Self {
        Self { required: false, ..Self::required(target_agent, reason) }
    }
}
