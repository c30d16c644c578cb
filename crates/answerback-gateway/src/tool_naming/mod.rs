//! Assigns the names under which clients see the tools and prompts of several servers, and stores them.

mod tool_name_store;
mod tool_names;

pub(crate) use tool_name_store::ToolNameStore;
pub(crate) use tool_names::ToolNames;
