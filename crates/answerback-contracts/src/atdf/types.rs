use std::fmt;

use answerback_findings::{Profile, ValidationError};
use answerback_json::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Invalid;

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these two")]
pub enum EnrichedStatus {
    /// The call succeeded.
    Success,
    /// The call failed. The response contains the expected value and a solution.
    Error,
}

impl EnrichedStatus {
    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for EnrichedStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An ATDF response: a result, or an error with the expected value and a solution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these two")]
#[expect(
    clippy::large_enum_variant,
    reason = "responses are handled one at a time, mostly by reference"
)]
pub enum EnrichedResponse {
    /// `"status": "success"`
    Success(SuccessResponse),
    /// `"status": "error"`
    Error(ErrorResponse),
}

impl EnrichedResponse {
    /// Parses a response that meets the lenient profile. Examples in a bare list become `valid`. Invalid
    /// examples that are bare strings become objects with a placeholder as the reason.
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
    pub const fn status(&self) -> EnrichedStatus {
        match self {
            Self::Success(_) => EnrichedStatus::Success,
            Self::Error(_) => EnrichedStatus::Error,
        }
    }

    /// Returns the message for people, which says what happened.
    pub fn message(&self) -> &str {
        match self {
            Self::Success(success) => &success.data.message,
            Self::Error(error) => &error.data.message,
        }
    }

    /// Returns the code of an error, or `None` for a success.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Success(_) => None,
            Self::Error(error) => Some(&error.data.code),
        }
    }

    /// Returns the timestamp of the response and its extension slot.
    pub const fn meta(&self) -> &Meta {
        match self {
            Self::Success(success) => &success.meta,
            Self::Error(error) => &error.meta,
        }
    }
}

/// A response of a tool that succeeded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuccessResponse {
    /// The result.
    pub data: SuccessData,
    /// The time of the response.
    pub meta: Meta,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuccessData {
    /// The message for people.
    pub message: String,
    /// The tool's own output.
    #[serde(flatten)]
    pub output: Map<String, Value>,
}

/// A response of a tool that failed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The error.
    pub data: ErrorData,
    /// The time of the response.
    pub meta: Meta,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An error, with everything needed to correct the call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorData {
    /// The stable code, such as `INVALID_DATE_RANGE`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[A-Z_]+$")))]
    pub code: String,
    /// The message for people.
    pub message: String,
    /// The received value, the expected value, and the solution.
    pub details: Details,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The details of an error: the received value, the expected value, and the solution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Details {
    /// The field that is wrong.
    pub field: String,
    /// The received values.
    pub received: Map<String, Value>,
    /// The expected value.
    pub expected: Expected,
    /// The results of the checks, by condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "std::collections::BTreeMap<String, BooleanOrText>")
    )]
    pub validation_results: Option<Map<String, Value>>,
    /// A valid value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub suggested_value: Option<Value>,
    /// Everything else, such as `parsing_error`, `failed_conditions` or `errors`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    /// The steps that correct the call.
    pub solution: String,
}

impl Details {
    /// Returns the findings in `details.errors`. Entries that are not findings are left out.
    pub fn errors(&self) -> Vec<ValidationError> {
        let entries = self.extra.get(ERRORS).and_then(Value::as_array);
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| ValidationError::deserialize(entry).ok())
            .collect()
    }
}

/// A validation result: a flag that says if a condition holds, or a description.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the type only exists for the JSON Schema")]
enum BooleanOrText {
    Boolean(bool),
    Text(String),
}

/// The member of the details that holds the findings.
pub(super) const ERRORS: &str = "errors";

/// The expected value.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = super::check::expected_rules))]
#[non_exhaustive]
pub struct Expected {
    /// The conditions, each in words.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// The format, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub format: Option<String>,
    /// Constraints such as bounds and patterns, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub constraints: Map<String, Value>,
    /// Everything else, such as `strength_levels`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    /// Examples of valid and invalid values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Examples"))]
    pub examples: Option<Examples>,
}

/// Examples of valid and invalid values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "ReportedExamples")]
#[cfg_attr(feature = "schema", schemars(!from, transform = super::check::examples_rules))]
#[non_exhaustive]
pub struct Examples {
    /// Examples of valid values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ValidExamples", default))]
    pub valid: Option<ValidExamples>,
    /// Examples of invalid values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub invalid: Vec<InvalidExample>,
    /// Examples by other names, such as `valid_range`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Examples of valid values.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these two")]
pub enum ValidExamples {
    /// Texts.
    Texts(Vec<String>),
    /// Values of any kind, by the name of the field.
    ByName(Map<String, Value>),
}

impl ValidExamples {
    /// True if there are no examples.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Texts(texts) => texts.is_empty(),
            Self::ByName(values) => values.is_empty(),
        }
    }
}

/// An invalid value and the reason.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "ReportedInvalidExample")]
#[cfg_attr(feature = "schema", schemars(!from))]
#[non_exhaustive]
pub struct InvalidExample {
    /// The value: a text as it is, anything else as compact JSON.
    pub value: String,
    /// The reason why the value is invalid.
    pub reason: String,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl InvalidExample {
    /// Creates an example from a value and the reason why it is invalid. A value that is not a string is
    /// written as compact JSON.
    pub fn new(value: impl Into<Value>, reason: impl Into<String>) -> Self {
        Self { value: written(value.into()), reason: reason.into(), extra: Map::new() }
    }
}

/// Metadata of a response: its time and the extension slot.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Meta {
    /// The time of the response, by RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub timestamp: String,
    /// The extension slot.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub answerback: Map<String, Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Meta {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { timestamp: now.to_offset_micros(), answerback: Map::new(), extra: Map::new() }
    }
}

/// Examples as other programs write them: an object, or a bare list of valid examples.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReportedExamples {
    List(Vec<String>),
    Object {
        #[serde(default)]
        valid: Option<ValidExamples>,
        #[serde(default)]
        invalid: Vec<InvalidExample>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

impl From<ReportedExamples> for Examples {
    fn from(reported: ReportedExamples) -> Self {
        match reported {
            ReportedExamples::List(texts) => {
                Self { valid: Some(ValidExamples::Texts(texts)), ..Self::default() }
            }
            ReportedExamples::Object { valid, invalid, extra } => Self { valid, invalid, extra },
        }
    }
}

/// An invalid example as other programs write it: an object, or a bare string.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReportedInvalidExample {
    Text(String),
    Object {
        value: Value,
        reason: String,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

impl From<ReportedInvalidExample> for InvalidExample {
    fn from(reported: ReportedInvalidExample) -> Self {
        match reported {
            ReportedInvalidExample::Text(text) => Self::new(text, "no reason was given"),
            ReportedInvalidExample::Object { value, reason, extra } => {
                Self { value: written(value), reason, extra }
            }
        }
    }
}

/// Returns a string as it is, and any other value as compact JSON.
fn written(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Deserializes a member that is present, even if it is `null`. A suggested `null` is a suggestion.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
