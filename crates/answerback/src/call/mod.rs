//! A model's call: heard, then checked.

mod parse;

pub use parse::{Confidence, Excerpt, Malformed, Mistake, MistakeKind, Reading, hear, parse};
