//! The console for people: replies, cases to decide, live events, and proofs of the ledger.
//!
//! [`Console`] is the HTTP API, the live events and, with the feature `web`, the web application. [`Behind`] is the
//! part that the host program provides. The modules [`reply`] and [`stream`] offer the same functions without HTTP, for
//! tools that an agent calls. Data of an agent never becomes HTML, a URL that is fetched, or a path outside the
//! configured folders.
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

/// Small replies in every contract and with every kind of artifact, as a JSON list of `{name, title, document}`.
pub const EXAMPLES: &str = include_str!("../examples.json");

pub use artifact::{ArtifactDocument, Settled};
pub use case::{CaseDocument, Proposal, Question};
pub use console::{Console, ConsoleSettings};
pub use host::{AgentView, AgentsView, Behind, Commands, RemarkView, ServerView, ToolView};
pub use openapi::document as openapi_document;
pub use retention::Retention;
