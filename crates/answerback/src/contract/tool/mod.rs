//! The tool envelope `dotbot-mcp-response@1`: how every MCP tool answers.

mod builder;
mod catalogue;
mod check;
mod types;

pub use builder::{EnvelopeBuilder, ToolTimer};
pub use catalogue::Catalogue;
pub use check::{Policy, RULES, assert_envelope_schema, check, rule};
pub use types::{
    Action, Audit, EnvelopeResponse, ErrorObject, Intent, McpHost, SCHEMA_ID, SchemaId, Status,
    same_tool,
};
