//! The web server's content: the HTTP API, live events, and the console, where people read replies and decide cases.
//!
//! [`Console`] has the routes of the API and of the live events. With the feature `web` it also has the web application. [`ConsoleHost`] is the
//! part that the host program provides. The modules [`reply`] and [`stream`] offer the same functions without HTTP, for
//! tools that an agent calls. Data of an agent never becomes HTML, a URL that is fetched, or a path outside the
//! configured folders.
#![warn(missing_docs)]

pub mod agent_tools;
mod api;
mod artifact;
mod case;
mod console;
mod decisions;
mod files;
mod host;
mod live;
mod log_summary;
mod openapi;
pub mod reply;
mod retention;
pub mod stream;
mod text;

/// Small replies in every contract and with every kind of artifact, as a JSON list of `{name, title, document}`.
pub const EXAMPLES: &str = include_str!("../examples.json");

pub use artifact::{ArtifactDocument, StatusChange};
pub use case::{CaseDocument, Proposal, Question};
pub use console::{Console, ConsoleSettings};
pub use host::{AgentView, AgentsView, Commands, ConsoleHost, RemarkView, ServerView, ToolView};
pub use openapi::document as openapi_document;
pub use retention::Retention;
