//! Manifests, which list the prompts and their agents.

mod builder;
mod check;
pub mod rule;
mod types;

pub use builder::ManifestBuilder;
pub(crate) use check::{CountRules, PROMPT_FILE, check, is_prompt_file, names_a_composition};
#[cfg(feature = "schema")]
pub(crate) use types::FILE;
pub(crate) use types::is_none;
pub use types::{Archetype, Domain, Governance, Manifest, Prompt, Taxonomy};
