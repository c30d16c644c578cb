#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod atdf;
mod check;
pub mod codes;
mod contract_findings;
pub mod convert;
mod form;
pub mod governance;
pub mod governed;
mod invalid;
mod kind;
mod recognise;
pub mod tool;
pub mod ui;
mod word;

pub(crate) use contract_findings::ContractFindings;
pub use invalid::Invalid;
pub use kind::{Contract, UnknownContract};
pub use recognise::{Recognition, recognise};
