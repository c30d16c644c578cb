//! A solution with a `.bot` folder, as it lies on the disk: read within bounds, never outside.

pub(crate) mod artifact;
pub(crate) mod document;
pub(crate) mod folder;
pub(crate) mod front_matter;
pub(crate) mod markdown;
pub(crate) mod project;
pub(crate) mod reference;
pub(crate) mod registry;
pub(crate) mod state;
pub(crate) mod trouble;
pub(crate) mod walk;
