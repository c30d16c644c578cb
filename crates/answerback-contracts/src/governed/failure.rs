use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Attestation, Flag};

/// The content of a response with status `error`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct GovernedFailure {
    /// The code, which programs compare.
    pub error_code: String,
    /// The message for people, which says what failed.
    pub error_message: String,
    /// The technical details: a string or an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Value>,
    /// Advice on what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_suggestion: Option<String>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl GovernedFailure {
    /// Creates a failure with a code and a message.
    pub fn new(error_code: impl Into<String>, error_message: impl Into<String>) -> Self {
        Self {
            error_code: error_code.into(),
            error_message: error_message.into(),
            error_details: None,
            recovery_suggestion: None,
            extra: Map::new(),
        }
    }

    /// Adds technical details: a string or an object.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.error_details = Some(details.into());
        self
    }

    /// Adds advice on what to do next.
    #[must_use]
    pub fn with_recovery(mut self, suggestion: impl Into<String>) -> Self {
        self.recovery_suggestion = Some(suggestion.into());
        self
    }

    /// Returns the attestation of an agent that failed: every flag is true except for quality.
    pub fn attestation() -> Attestation {
        Attestation::upheld().without(Flag::QualityStandardsMet)
    }
}
