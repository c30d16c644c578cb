use answerback::Timestamp;
use answerback::contract::ui::{Artifact, ArtifactContent, ResponseBuilder, ResponseType, UiHints};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A mission that an agent proposes.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Proposal {
    /// A one-line title.
    #[schemars(regex(pattern = r"\S"))]
    pub title: String,
    /// The type of the mission's objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_type: Option<String>,
    /// A description of the proposed action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments of the proposed action.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The JSON Schema that modified arguments must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// The risk: `low` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// The effects of the action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// The number of seconds until the proposal expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = u32::MAX))]
    pub expires_in_seconds: Option<u32>,
}

impl Proposal {
    /// Returns the proposal as a reply.
    ///
    /// # Errors
    ///
    /// If the title is blank.
    pub fn reply(&self, now: Timestamp) -> Result<Value, answerback::contract::Invalid> {
        let content = serde_json::to_value(self).unwrap_or_default();
        let draft = Artifact::new(self.title.clone(), ArtifactContent::MissionDraft(content));
        let hints = UiHints::default()
            .with_priority(if self.risk.as_deref() == Some("high") { "urgent" } else { "normal" })
            .with_color_scheme("info")
            .with_icon("clipboard")
            .with_actions(["Review", "Approve", "Modify", "Reject"]);
        let envelope = ResponseBuilder::new()
            .response_type(ResponseType::ArtifactBundle)
            .summary(self.title.clone())
            .add_artifact(draft)
            .hints(hints)
            .metadata("awaiting_approval", true)
            .build(now)?;
        Ok(envelope.to_document())
    }
}
