//! Our own MCP tools: an example for tool authors, and a server to try a gateway with.
//!
//! Three validators reply in ATDF. Five tools for a solution with a `.bot` folder reply in tool envelopes, with codes
//! of the catalogue, a suggested next call, and actions. The tools are plain functions: the caller provides the folder,
//! the clock and the host. [`server::serve`] serves them over MCP on any pair of streams, and [`serve_stdio`] on
//! standard input and output.
//!
//! The tools run no programs and use nothing outside the folder. They read files up to 1 MiB and never follow links out
//! of the folder.

mod bot;
mod call;
mod definition;
mod environment;
mod issue;
mod server;
mod solution;
#[cfg(test)]
mod tests;
mod tool_reply;
mod toolset;
mod validators;

pub(crate) use bot::folder::SolutionRoot;
pub(crate) use environment::ToolEnvironment;
pub(crate) use server::serve_stdio;
pub(crate) use toolset::Toolset;
