#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod arguments;
mod arithmetic;
mod bare;
mod escape;
mod excerpt;
mod frame;
mod malformed;
mod mistake;
mod quoted;
mod read;
mod reader;

pub use arguments::{parse, parse_arguments};
pub use excerpt::Excerpt;
pub use malformed::{Confidence, Malformed, ProbableValue};
pub use mistake::{Mistake, MistakeKind};
pub use read::{Document, ReadError, ReadErrorKind, read};
