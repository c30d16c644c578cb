//! Reads a solution with a `.bot` folder from disk, within limits and never outside the folder.

pub(crate) mod artifact;
pub(crate) mod document;
pub(crate) mod file_error;
pub(crate) mod folder;
pub(crate) mod front_matter;
pub(crate) mod markdown;
pub(crate) mod project;
pub(crate) mod reference;
pub(crate) mod registry;
pub(crate) mod state;
pub(crate) mod walk;
