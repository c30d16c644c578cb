//! Agent identities, and the verification of governed responses.
//!
//! A [`Manifest`] lists the prompts, and a [`Lock`] lists their hashes. A [`Handoff`] passes a request from
//! one agent to another. An [`Authority`] combines manifest and lock, and gives agents their identity.
//! [`Authority::verify`] accepts a governed response or returns the refusal that the rules demand. It fails
//! closed: if something cannot be computed, the response is not accepted.
//!
//! This module does no I/O. The caller reads the files, and [`PromptFiles`] hashes their bytes.

mod authority;
pub mod handoff;
pub mod lock;
pub mod manifest;
mod refusal;
mod speaker;
pub mod verify;

pub use authority::{AgentScope, Authority, AuthorityError};
pub use handoff::{
    Handoff, HandoffBuilder, HandoffContext, HandoffGovernance, HandoffRequest, HandoffState,
};
pub use lock::{
    Disagreement, Integrity, Lock, LockedPrompt, LockfileVersion, MissingFiles, PromptFiles,
    UnknownAgent, UnknownLockfileVersion, compare_documents, disagreements, not_compared,
};
pub use manifest::{Archetype, Domain, Governance, Manifest, ManifestBuilder, Prompt, Taxonomy};
pub use refusal::Refused;
pub use speaker::Speaker;
pub use verify::{Accepted, AttestedClaim, Verification};
