use answerback_findings::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;

/// The edition of the format that a descriptor follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format has exactly these two editions")]
pub enum Edition {
    /// Edition 1.x, which describes the tool, when to use it, and how.
    Basic,
    /// Edition 2.x. It adds metadata, translations, prerequisites, feedback and examples.
    Enhanced,
}

/// The names of the members that only the enhanced edition has.
pub(super) const ENHANCED: [&str; 5] =
    ["metadata", "examples", "localization", "prerequisites", "feedback"];

impl Edition {
    /// Detects the edition of a descriptor. It is enhanced if its `schema_version` starts with `2.`, or if it
    /// has a member that only the enhanced edition has.
    ///
    /// ```
    /// use answerback_contracts::atdf::descriptor::Edition;
    ///
    /// let descriptor = serde_json::json!({"tool_id": "drill", "metadata": {}});
    /// assert_eq!(Edition::of(&descriptor), Edition::Enhanced);
    /// ```
    pub fn of(descriptor: &Value) -> Self {
        let version = descriptor.get("schema_version").and_then(Value::as_str);
        let is_enhanced = version.is_some_and(|version| version.starts_with("2."))
            || ENHANCED.iter().any(|name| descriptor.get(name).is_some());
        if is_enhanced { Self::Enhanced } else { Self::Basic }
    }
}

/// A tool descriptor: the tool's purpose, and how to use it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ToolDescriptor", transform = super::check::schema_rules))]
#[non_exhaustive]
pub struct Descriptor {
    /// The version of the format, such as `1.0.0` or `2.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub schema_version: Option<String>,
    /// The id of the tool. A descriptor has either this or `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))]
    pub tool_id: Option<String>,
    /// The id of the tool, under the other name of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))]
    pub id: Option<String>,
    /// The purpose of the tool.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub description: String,
    /// The situations in which to use the tool.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub when_to_use: String,
    /// The inputs and outputs.
    pub how_to_use: HowToUse,
    /// The author, the date, the version and the tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub metadata: Option<Map<String, Value>>,
    /// Translations of the texts, by language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub localization: Option<Map<String, Value>>,
    /// The prerequisites: tools, conditions and permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub prerequisites: Option<Map<String, Value>>,
    /// The messages for progress and completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub feedback: Option<Map<String, Value>>,
    /// Examples of calls, with inputs and outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    pub examples: Option<Vec<Map<String, Value>>>,
    /// The extension slot.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members that the format does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Descriptor {
    /// Parses a descriptor of either edition.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] if the document does not meet the contract under the lenient profile.
    pub fn from_document(document: &Value) -> Result<Self, Invalid> {
        Invalid::unless_valid(super::check(document, Profile::Lenient))?;
        Self::deserialize(document).map_err(|error| Invalid::unreadable(&error))
    }

    /// Returns the descriptor as a JSON document, with its keys in the order of the format.
    pub fn to_document(&self) -> Value {
        // Serializing plain data into a tree cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns `tool_id`, or `id` if there is no `tool_id`. The text is empty if the descriptor has neither.
    pub fn name(&self) -> &str {
        self.tool_id.as_deref().or(self.id.as_deref()).unwrap_or_default()
    }
}

/// The inputs and outputs of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HowToUse {
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The outputs.
    pub outputs: Outputs,
    /// Members that the format does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One input of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Input {
    /// The name of the input.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub name: String,
    /// The type of the input, such as `string`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub kind: String,
    /// The purpose of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub description: Option<String>,
    /// True if the input is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub required: Option<bool>,
    /// The JSON Schema of the input, if the type alone is not precise enough (2.x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub schema: Option<Map<String, Value>>,
    /// Members that the format does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The outputs of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outputs {
    /// The message for a success.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub success: String,
    /// The possible failures.
    pub failure: Vec<DescriptorFailure>,
    /// Members that the format does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A possible failure of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Failure"))]
#[non_exhaustive]
pub struct DescriptorFailure {
    /// The code of the error.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub code: String,
    /// The meaning of the code.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub description: String,
    /// Members that the format does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
