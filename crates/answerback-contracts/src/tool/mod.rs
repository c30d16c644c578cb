//! Defines the tool envelope `dotbot-mcp-response@1`, the form of every MCP tool's response.

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
