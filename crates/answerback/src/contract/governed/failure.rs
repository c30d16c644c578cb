use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Attestation, Flag};

/// The content of a response with status `error`: what failed and what to do about it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// What programs compare.
    pub error_code: String,
    /// What people read.
    pub error_message: String,
    /// The technical side of it: a text or an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Value>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_suggestion: Option<String>,
    /// Members that the contract does not know, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(error_code: impl Into<String>, error_message: impl Into<String>) -> Self {
        Self {
            error_code: error_code.into(),
            error_message: error_message.into(),
            error_details: None,
            recovery_suggestion: None,
            extra: Map::new(),
        }
    }

    /// Adds the technical side of it: a text or an object.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.error_details = Some(details.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn with_recovery(mut self, suggestion: impl Into<String>) -> Self {
        self.recovery_suggestion = Some(suggestion.into());
        self
    }

    /// What an agent can attest when it failed: everything but quality.
    pub fn attestation() -> Attestation {
        Attestation::upheld().without(Flag::QualityStandardsMet)
    }
}
