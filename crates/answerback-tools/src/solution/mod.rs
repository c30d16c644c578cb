//! The five tools for a solution with a `.bot` folder. One file a tool: its definition, and what it does.

mod draft;
mod health_check;
mod info;
mod project_register;
mod standards_list;
mod structure;
mod told;
mod tool;

pub(crate) use draft::{Draft, Run};
pub(crate) use tool::SolutionTool;
