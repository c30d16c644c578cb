//! Holds ATDF tool descriptors, basic 1.x and enhanced 2.x, and converts them to and from MCP tools.

mod check;
mod convert;
mod types;

pub use check::{RULES, check, rule};
pub use convert::{McpToolError, descriptor_to_mcp, mcp_to_descriptor};
pub use types::{Descriptor, DescriptorFailure, Edition, HowToUse, Input, Outputs};
