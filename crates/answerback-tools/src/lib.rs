//! Our own MCP tools: an example for tool authors, and a server to try a gateway with.
//!
//! Three validators answer in ATDF. Five tools for a solution with a `.bot` folder answer in tool envelopes, with codes
//! of the catalogue, a suggested next call, and actions. The tools are plain functions: the caller provides the folder,
//! the clock and the host. [`serve`] serves them over MCP on any pair of streams, and [`serve_stdio`] on standard input
//! and output.
//!
//! ```
//! use std::time::Duration;
//!
//! use answerback::Timestamp;
//! use answerback_tools::{Call, Root, Surroundings, Tools};
//! use serde_json::json;
//!
//! let clock = || Timestamp::from_unix_millis(1_767_362_220_000);
//! let tools = Tools::new(Root::At("no-such-folder".into()), Surroundings::new(clock, || Duration::ZERO));
//! let answer = tools.call(&Call::new("solution_info", json!({})))?;
//! assert_eq!(answer.to_document()["errors"][0]["code"], "DOTBOT_NOT_FOUND");
//! # Ok::<(), answerback_tools::CallError>(())
//! ```
//!
//! The tools run no programs and use nothing outside the folder. They read files up to 1 MiB and never follow links out
//! of the folder.
#![warn(missing_docs)]

mod answer;
mod bot;
mod call;
mod context;
mod definition;
mod issue;
pub mod replace;
#[cfg(feature = "server")]
mod server;
mod solution;
mod tools;
mod validators;

pub use answer::Answer;
pub use bot::folder::Root;
pub use call::{Call, CallError};
pub use context::Surroundings;
pub use definition::{Definition, Effect};
#[cfg(feature = "server")]
pub use server::{ServeError, serve, serve_stdio};
pub use tools::Tools;
