//! The five tools for a solution with a `.bot` folder. Each file has one tool's definition and its implementation.

mod draft;
mod health_check;
mod info;
mod project_register;
mod shared_text;
mod standards_list;
mod structure;
mod tool;

pub(crate) use draft::{EnvelopeDraft, ToolRun};
pub(crate) use tool::SolutionTool;
