//! Defines the governed response: an agent's answer, its prompt, and the attestation about the answer.
//!
//! A response is checked by itself, or against an observed identity ([`GovernedCheckOptions::with_agent`]). This module
//! does not determine that identity. The caller takes it from a manifest and a lock of prompts, and passes it
//! in as an [`AgentIdentity`].

mod attestation;
mod builder;
pub(crate) mod check;
mod failure;
mod flat;
mod identity;
mod refusal;
pub mod rule;
#[cfg(feature = "schema")]
mod schema;
mod types;
pub(crate) mod vocabulary;

pub use attestation::Attestation;
pub use builder::GovernedBuilder;
pub use check::{GovernedCheckOptions, MEMBERS, check};
pub use failure::GovernedFailure;
pub use identity::{
    AgentId, AgentIdentity, AgentVersion, IdentityError, PromptHash, ProtocolVersion,
};
pub use refusal::{Refusal, RefusalReason, RefusalSeverity};
pub use rule::RULES;
#[cfg(feature = "schema")]
pub(crate) use schema::{TIMESTAMP, audit_trail};
pub use types::{
    Content, GovernedResponse, NextActions, RequestContext, Response, SuggestedHandoff,
};
pub use vocabulary::{
    AgentType, Confidence, ContentType, Flag, Format, GovernedStatus, RequestType,
};
