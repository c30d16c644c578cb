//! The four response contracts. Each folder has the same three files: `types`, `builder`, `check`.

pub mod atdf;
pub mod governed;
mod kind;
mod recognise;
mod report;
pub mod tool;
pub mod ui;

pub use kind::{Contract, Profile};
pub use recognise::{Recognition, recognise};
pub(crate) use report::Report;
