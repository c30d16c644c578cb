use answerback::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A question of an agent to a person.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Question {
    /// The text of the question.
    #[schemars(regex(pattern = r"\S"))]
    pub question: String,
    /// The answers to choose from.
    #[serde(default)]
    pub options: Vec<String>,
    /// True if an answer outside the options is allowed.
    #[serde(default = "yes")]
    pub allow_free_text: bool,
    /// The context of the question.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The number of seconds until the question expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = u32::MAX))]
    pub expires_in_seconds: Option<u32>,
}

const fn yes() -> bool {
    true
}

impl Question {
    /// Returns the question as a reply.
    ///
    /// # Errors
    ///
    /// If the question is blank.
    pub fn reply(&self, now: Timestamp) -> Result<Value, answerback::contract::Invalid> {
        let options = self.options.clone();
        let response = answerback::contract::ui::clarification_response(
            self.question.clone(),
            options,
            self.context.clone(),
            now,
        )?;
        let mut document = response.to_document();
        document["metadata"]["clarification"]["allow_free_text"] = self.allow_free_text.into();
        if let Some(seconds) = self.expires_in_seconds {
            document["metadata"]["clarification"]["expires_in_seconds"] = seconds.into();
        }
        Ok(document)
    }
}
