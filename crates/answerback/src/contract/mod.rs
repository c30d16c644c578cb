//! Defines the four reply contracts. Each folder has the same three files: `types`, `builder`, `check`.

pub mod atdf;
pub(crate) mod form;
pub mod governed;
mod invalid;
mod kind;
mod recognise;
mod report;
pub mod tool;
pub mod ui;

pub use invalid::Invalid;
pub use kind::{Contract, Profile};
pub use recognise::{Recognition, recognise};
pub(crate) use report::Report;
