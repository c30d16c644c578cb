use answerback_findings::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;

/// The edition of the format that a descriptor follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the format has exactly these two editions")]
pub enum Edition {
    /// Edition 1.x. It says what the tool does, when to use it, and how.
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

/// What a tool does, when and how to use it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ToolDescriptor", transform = super::check::schema_rules))]
#[non_exhaustive]
pub struct Descriptor {
    /// The version of the format, such as `1.0.0` or `2.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub schema_version: Option<String>,
    /// The tool's id; exactly one of this and `id` is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))]
    pub tool_id: Option<String>,
    /// The tool's id under its other name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))]
    pub id: Option<String>,
    /// What the tool does.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub description: String,
    /// When to use it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub when_to_use: String,
    /// What it takes and gives.
    pub how_to_use: HowToUse,
    /// Who wrote it, when, in which version, under which tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub metadata: Option<Map<String, Value>>,
    /// Its texts in other languages, by language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub localization: Option<Map<String, Value>>,
    /// What has to be there first: tools, conditions, permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub prerequisites: Option<Map<String, Value>>,
    /// How it shows progress and completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub feedback: Option<Map<String, Value>>,
    /// Uses of it, with what goes in and what comes out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    pub examples: Option<Vec<Map<String, Value>>>,
    /// The extension slot.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members that the format does not know, kept as they came.
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

/// What a tool takes and gives.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HowToUse {
    /// What it takes.
    pub inputs: Vec<Input>,
    /// What it gives.
    pub outputs: Outputs,
    /// Members that the format does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One thing that a tool takes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Input {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub name: String,
    /// Its type, such as `string`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub kind: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub required: Option<bool>,
    /// Its JSON Schema, where the type alone does not say enough (2.x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub schema: Option<Map<String, Value>>,
    /// Members that the format does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a tool gives.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outputs {
    /// What is said when it works.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub success: String,
    /// How it can fail.
    pub failure: Vec<Failure>,
    /// Members that the format does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One way in which a tool can fail.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Failure {
    /// The code of the error.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub code: String,
    /// What it means.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub description: String,
    /// Members that the format does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
