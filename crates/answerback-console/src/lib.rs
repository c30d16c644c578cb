//! What people look at: every reply, what waits for them, what happens now, and that the record holds.
//!
//! [`Console`] is the HTTP API, the live events and, with the feature `web`, the web application; [`Behind`] is what it
//! shows and does that is another's. [`reply::take_in`] and [`stream`] do the same without HTTP, for tools that an agent
//! calls. Nothing that came from an agent is ever HTML, a path that is opened, or a URL that is fetched.
#![warn(missing_docs)]

pub mod agent_tools;
mod artifact;
mod ask;
mod case;
mod console;
mod files;
mod host;
mod live;
mod log_summary;
mod notice;
mod openapi;
pub mod reply;
mod retention;
pub mod stream;
mod surface;

/// Small replies in every contract and with every kind of artifact: a JSON list of `{name, title, document}`.
pub const EXAMPLES: &str = include_str!("../examples.json");

pub use artifact::{ArtifactDocument, Settled};
pub use case::{CaseDocument, Proposal, Question};
pub use console::{Console, ConsoleSettings};
pub use host::{AgentView, AgentsView, Behind, Commands, RemarkView, ServerView, ToolView};
pub use openapi::document as openapi_document;
pub use retention::Retention;
