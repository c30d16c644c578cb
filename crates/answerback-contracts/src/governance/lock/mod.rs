//! Prompt locks, which record the hash under which each prompt of a manifest was reviewed.

mod check;
mod files;
mod pair;
pub mod rule;
mod types;
mod write;

pub(crate) use check::check;
pub use files::{PromptFiles, check_files};
pub use pair::{Disagreement, compare_documents, disagreements, not_compared};
pub use types::{
    Integrity, Lock, LockedPrompt, LockfileVersion, UnknownAgent, UnknownLockfileVersion,
};
pub use write::MissingFiles;
