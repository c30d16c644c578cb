//! Defines the tool envelope `dotbot-mcp-response@1`, the form of every MCP tool's response.

mod builder;
mod check;
mod error_catalog;
mod types;

pub use builder::{EnvelopeBuilder, ToolTimer};
pub use check::{EnvelopeCheckOptions, RULES, assert_envelope_schema, check, rule};
pub use error_catalog::ErrorCatalog;
pub use types::{
    Action, Audit, EnvelopeResponse, EnvelopeStatus, ErrorObject, Intent, McpHost, SCHEMA_ID,
    SchemaId, same_tool,
};
