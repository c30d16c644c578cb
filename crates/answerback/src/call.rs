//! A model's call: its arguments are parsed, then checked against the tool's schema.

#[doc(inline)]
pub use answerback_calls::call::*;
#[doc(inline)]
pub use answerback_parse::{
    Confidence, Excerpt, Malformed, Mistake, MistakeKind, ProbableValue, parse, parse_arguments,
};
