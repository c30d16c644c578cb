//! Who may speak, and whether they may be believed.
//!
//! A [`Manifest`] lists the prompts, a [`Lock`] their hashes, a [`Handoff`] passes a request from one agent
//! to another. Manifest and lock together are an [`Authority`]: it gives agents their identity, and
//! [`Authority::verify`] accepts a governed response or gives the refusal that the rules demand. It fails
//! closed: what cannot be computed is not accepted.
//!
//! Files are read by whoever calls; here only their bytes are hashed ([`PromptFiles`]).

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
