//! Converts replies from one contract to another.
//!
//! Every document is read into one shared form, the [`Reply`], and written from it. Parts that the target has
//! no member for go into its extension slot, so that converting back restores the document exactly. Values
//! that the target requires and the source lacks come from the [`Inputs`]. They are never made up.
//!
//! | file | purpose |
//! |---|---|
//! | `reply` | the shared form |
//! | `atdf`, `governed`, `tool`, `ui` | reading and writing one contract |
//! | `slot` | the extension slot |
//! | `between` | the conversion in both directions |

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
pub use reply::{NextStep, NextStepKind, Reply, ReplyOutcome, ReplyProblem, ToolFacts};
