//! The same reply in another contract.
//!
//! Every document is read into one shared view, the [`Reply`], and written from it. What the target has no
//! member for goes into its extension slot, so that the way back restores the document exactly; what
//! the target requires and the source lacks is an [`Inputs`] member, never invented.
//!
//! | file | what it does |
//! |---|---|
//! | `reply` | the shared view |
//! | `atdf`, `governed`, `tool`, `ui` | one contract to and from the view |
//! | `slot` | what rides along unseen |
//! | `between` | the way there and the way home |

mod atdf;
mod between;
mod body;
mod governed;
mod inputs;
mod mapping;
mod reply;
mod slot;
mod tool;
mod ui;

pub use between::{ConvertError, Converted, convert};
pub use inputs::{Inputs, MissingInput};
pub use mapping::{MAPPING, Mapping};
pub use reply::{Next, NextKind, Outcome, Reply, ReplyProblem, ToolFacts};
