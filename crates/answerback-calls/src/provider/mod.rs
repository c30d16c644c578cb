//! The tool-call and tool-result shapes of MCP, OpenAI, Anthropic, Gemini and Bedrock.
//!
//! Each provider's file describes the places of values in its messages. The code that reads messages and
//! writes results is shared. Nothing is validated: arguments that are not JSON are read as text.

mod anthropic;
mod bedrock;
mod error;
mod gemini;
mod mcp;
mod message_shape;
mod openai_chat;
mod openai_responses;
mod tool_call;
mod tool_list;
mod tool_result;
mod wire;

pub use error::{ShapeError, TurnError, UnknownProvider};
pub use message_shape::Provider;
pub use tool_call::{Arguments, Tool, ToolCall};
pub use tool_list::read_tools;
pub use tool_result::{ToolResult, ToolRole, ToolStatus};
