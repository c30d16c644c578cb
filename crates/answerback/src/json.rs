//! JSON from untrusted sources: the strict reader, pointers, patches, and the canonical form.

#[doc(inline)]
pub use answerback_json::{
    Limits, MAX_OUTPUT_DEPTH, Pointer, TextPosition, ValuePath, canonical, is_readable_output,
    locate, patch,
};
#[doc(inline)]
pub use answerback_parse::{Document, ReadError, ReadErrorKind, read};
