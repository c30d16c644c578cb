//! Our own MCP tools: the model for tool authors, and an upstream to try a gateway with.
//!
//! Three validators answer in ATDF; five tools for a solution with a `.bot` folder answer in tool envelopes, with the
//! codes of the catalogue, a suggestion what to call next, and actions. The tools are plain functions: the folder,
//! the clock and the host are handed in. [`serve`] puts them behind MCP on any pair of streams, [`serve_stdio`] on
//! standard input and output.
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
//! Left out: anything that runs a program, and anything outside the folder. Files are read up to 1 MiB, links are
//! not followed out of the folder.
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
