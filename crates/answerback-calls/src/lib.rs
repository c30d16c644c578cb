#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod call;
pub mod case;
pub mod checker;
pub mod config;
pub mod enrich;
pub mod message;
pub mod provider;
pub mod retry;
#[cfg(feature = "schema")]
pub mod schema;
