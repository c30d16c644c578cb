//! Our own MCP tools: an example for tool authors, and a server to try a gateway with.
//!
//! Three validators reply in ATDF. Five tools for a solution with a `.bot` folder reply in tool envelopes, with codes
//! of the catalogue, a suggested next call, and actions. The tools are plain functions: the caller provides the folder,
//! the clock and the host. [`serve`] serves them over MCP on any pair of streams, and [`serve_stdio`] on standard input
//! and output.
//!
//! The tools run no programs and use nothing outside the folder. They read files up to 1 MiB and never follow links out
//! of the folder.

mod answer;
mod bot;
mod call;
mod context;
mod definition;
mod issue;
mod server;
mod solution;
#[cfg(test)]
mod tests;
mod tools;
mod validators;

pub(crate) use answer::Answer;
pub(crate) use bot::folder::Root;
pub(crate) use call::{Call, CallError};
pub(crate) use context::Surroundings;
pub(crate) use definition::{Definition, Effect};
pub(crate) use server::{ServeError, serve, serve_stdio};
pub(crate) use tools::Tools;
