use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::vocabulary::words;
use super::{AgentId, Attestation, Flag, GovernedStatus};

words! {
    /// The reason why an agent refuses a request.
    RefusalReason {
        /// The request is outside the agent's domain.
        OutOfScope = "OUT_OF_SCOPE",
        /// The request would require work that belongs to another domain.
        BoundaryViolation = "BOUNDARY_VIOLATION",
        /// The agent's standards cannot be met.
        QualityCannotBeMet = "QUALITY_CANNOT_BE_MET",
        /// A prompt's hash is not the one in the lock.
        HashVerificationFailure = "HASH_VERIFICATION_FAILURE",
        /// The request names an agent that is not in the manifest.
        InvalidAgentReference = "INVALID_AGENT_REFERENCE",
        /// An archetype's composition breaks its rules.
        CompositionViolation = "COMPOSITION_VIOLATION",
        /// The request would change something immutable.
        ImmutabilityViolation = "IMMUTABILITY_VIOLATION",
        /// The request lacks necessary information.
        InsufficientContext = "INSUFFICIENT_CONTEXT",
        /// The request can be understood in several ways.
        AmbiguousRequest = "AMBIGUOUS_REQUEST",
        /// Several approaches are valid, and the caller must choose one.
        MultipleValidApproaches = "MULTIPLE_VALID_APPROACHES",
    }
    /// The severity of a refusal.
    RefusalSeverity {
        /// The caller can correct the request.
        Low = "Low",
        /// The request belongs to another agent, or must change.
        Medium = "Medium",
        /// The request would break a rule of governance.
        High = "High",
        /// The foundation of governance cannot be trusted, such as the identity of an agent.
        Critical = "Critical",
    }
}

impl RefusalReason {
    /// Returns a one-line description of the reason.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OutOfScope => "the request is outside the agent's domain",
            Self::BoundaryViolation => {
                "the request would require work that belongs to another domain"
            }
            Self::QualityCannotBeMet => "the agent's standards cannot be met",
            Self::HashVerificationFailure => "a prompt's hash is not the one in the lock",
            Self::InvalidAgentReference => "the request names an agent that is not in the manifest",
            Self::CompositionViolation => "an archetype's composition breaks its rules",
            Self::ImmutabilityViolation => "the request would change something immutable",
            Self::InsufficientContext => "the request lacks necessary information",
            Self::AmbiguousRequest => "the request can be understood in several ways",
            Self::MultipleValidApproaches => {
                "several approaches are valid, and the caller must choose one"
            }
        }
    }

    /// Returns the severity of a refusal for this reason.
    pub const fn severity(self) -> RefusalSeverity {
        match self {
            Self::HashVerificationFailure | Self::ImmutabilityViolation => {
                RefusalSeverity::Critical
            }
            Self::BoundaryViolation | Self::InvalidAgentReference | Self::CompositionViolation => {
                RefusalSeverity::High
            }
            Self::OutOfScope | Self::QualityCannotBeMet => RefusalSeverity::Medium,
            Self::InsufficientContext | Self::AmbiguousRequest | Self::MultipleValidApproaches => {
                RefusalSeverity::Low
            }
        }
    }

    /// True if identity or integrity is in doubt. Such a refusal has a security flag, and work must stop.
    pub const fn is_security(self) -> bool {
        matches!(
            self,
            Self::HashVerificationFailure
                | Self::InvalidAgentReference
                | Self::ImmutabilityViolation
        )
    }

    /// Returns the status of a response with this reason. It is `partial` if the caller's answer
    /// can resolve it.
    pub const fn status(self) -> GovernedStatus {
        match self {
            Self::AmbiguousRequest | Self::MultipleValidApproaches => GovernedStatus::Partial,
            _ => GovernedStatus::Refused,
        }
    }

    /// True if another agent could do the work, so that the refusal should name one.
    pub const fn is_for_another_agent(self) -> bool {
        matches!(self, Self::OutOfScope | Self::BoundaryViolation)
    }

    /// Returns the attestation of an agent that refuses for this reason. A security reason attests nothing.
    pub fn attestation(self) -> Attestation {
        let doubtful = Attestation::upheld().without(Flag::QualityStandardsMet);
        match self {
            _ if self.is_security() => Attestation::withheld(),
            // The scope of an invalid composition is undefined, so nothing lies within it.
            Self::OutOfScope | Self::BoundaryViolation | Self::CompositionViolation => {
                doubtful.without(Flag::WithinScope)
            }
            _ => doubtful,
        }
    }
}

/// The content of a refusal: the reason, the rule, and an agent that could help.
///
/// ```
/// use answerback_contracts::governed::{Refusal, RefusalReason, GovernedStatus};
///
/// let refusal = Refusal::new(RefusalReason::OutOfScope, "Pricing is not analysis.")
///     .with_suggested_agent("domain-05-product".try_into()?)
///     .with_governance_rule("scope");
/// assert_eq!(refusal.refusal_reason.status(), GovernedStatus::Refused);
/// assert!(!refusal.security_flag);
/// # Ok::<(), answerback_contracts::governed::IdentityError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = super::schema::security_flag))]
#[non_exhaustive]
pub struct Refusal {
    /// The reason, as a word.
    pub refusal_reason: RefusalReason,
    /// The explanation, in words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"\S")))]
    pub explanation: String,
    /// The agent to ask instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "AgentId"))]
    pub suggested_agent: Option<AgentId>,
    /// The rule that forbids the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"\S")))]
    pub governance_rule: Option<String>,
    /// True if work must stop because an identity or the integrity of a prompt is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub security_flag: bool,
    /// Members that the contract does not define, stored unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Refusal {
    /// Creates a refusal. The security flag follows from the reason.
    pub fn new(refusal_reason: RefusalReason, explanation: impl Into<String>) -> Self {
        Self {
            refusal_reason,
            explanation: explanation.into(),
            suggested_agent: None,
            governance_rule: None,
            security_flag: refusal_reason.is_security(),
            extra: Map::new(),
        }
    }

    /// Names the agent to ask instead.
    #[must_use]
    pub fn with_suggested_agent(mut self, agent: AgentId) -> Self {
        self.suggested_agent = Some(agent);
        self
    }

    /// Names the rule that forbids the request.
    #[must_use]
    pub fn with_governance_rule(mut self, rule: impl Into<String>) -> Self {
        self.governance_rule = Some(rule.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_consequences() {
        let table: Vec<String> = RefusalReason::ALL
            .iter()
            .map(|reason| {
                let flags: String = Flag::ALL
                    .iter()
                    .map(|flag| if reason.attestation().flag(*flag) { '+' } else { '-' })
                    .collect();
                let security = if reason.is_security() { " security" } else { "" };
                format!("{reason} {} {} {flags}{security}", reason.severity(), reason.status())
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"), @"
        OUT_OF_SCOPE Medium refused -+-+
        BOUNDARY_VIOLATION High refused -+-+
        QUALITY_CANNOT_BE_MET Medium refused ++-+
        HASH_VERIFICATION_FAILURE Critical refused ---- security
        INVALID_AGENT_REFERENCE High refused ---- security
        COMPOSITION_VIOLATION High refused -+-+
        IMMUTABILITY_VIOLATION Critical refused ---- security
        INSUFFICIENT_CONTEXT Low refused ++-+
        AMBIGUOUS_REQUEST Low partial ++-+
        MULTIPLE_VALID_APPROACHES Low partial ++-+
        ");
    }
}
