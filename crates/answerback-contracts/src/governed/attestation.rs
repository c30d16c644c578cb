use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Flag;

/// An agent's attestation about its response. A false flag needs an explanation, here or in the
/// content.
///
/// ```
/// use answerback_contracts::governed::{Attestation, Flag};
///
/// let attestation = Attestation::upheld()
///     .without(Flag::QualityStandardsMet)
///     .with_explanation("The sample is too small.");
/// assert!(attestation.flag(Flag::WithinScope) && !attestation.quality_standards_met);
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "the contract has these four flags")]
#[non_exhaustive]
pub struct Attestation {
    /// True if the content lies within the agent's domain.
    pub within_scope: bool,
    /// True if the agent did nothing that belongs to another domain.
    pub boundaries_respected: bool,
    /// True if the content meets the agent's standards.
    pub quality_standards_met: bool,
    /// True if the agent followed all constraints.
    pub constraints_followed: bool,
    /// The reason why a flag is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"\S")))]
    pub explanation: Option<String>,
    /// One or several references to the record of this response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::audit_trail"))]
    pub audit_trail: Option<Value>,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Attestation {
    /// Creates an attestation with all four flags true.
    pub fn upheld() -> Self {
        Self::all(true)
    }

    /// Creates an attestation with all four flags false.
    pub fn withheld() -> Self {
        Self::all(false)
    }

    fn all(flag: bool) -> Self {
        Self {
            within_scope: flag,
            boundaries_respected: flag,
            quality_standards_met: flag,
            constraints_followed: flag,
            explanation: None,
            audit_trail: None,
            extra: Map::new(),
        }
    }

    /// Sets one flag to false.
    #[must_use]
    pub fn without(mut self, flag: Flag) -> Self {
        match flag {
            Flag::WithinScope => self.within_scope = false,
            Flag::BoundariesRespected => self.boundaries_respected = false,
            Flag::QualityStandardsMet => self.quality_standards_met = false,
            Flag::ConstraintsFollowed => self.constraints_followed = false,
        }
        self
    }

    /// Explains why a flag is false.
    #[must_use]
    pub fn with_explanation(mut self, explanation: impl Into<String>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// Adds a reference to the record of this response.
    #[must_use]
    pub fn with_audit_trail(mut self, reference: impl Into<Value>) -> Self {
        self.audit_trail = Some(reference.into());
        self
    }

    /// Returns the value of one flag.
    pub const fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::WithinScope => self.within_scope,
            Flag::BoundariesRespected => self.boundaries_respected,
            Flag::QualityStandardsMet => self.quality_standards_met,
            Flag::ConstraintsFollowed => self.constraints_followed,
        }
    }
}
