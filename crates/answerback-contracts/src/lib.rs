#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod atdf;
mod check;
pub mod codes;
pub mod convert;
mod form;
pub mod governance;
pub mod governed;
mod invalid;
mod kind;
mod recognise;
mod report;
pub mod tool;
pub mod ui;
mod word;

pub use invalid::Invalid;
pub use kind::{Contract, UnknownContract};
pub use recognise::{Recognition, recognise};
pub(crate) use report::Report;
