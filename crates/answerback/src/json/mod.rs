//! JSON from untrusted sources.
//!
//! [`read()`] parses strict RFC 8259 JSON within limits. It reports input that two parsers could read differently:
//! repeated member names, and numbers that do not fit. [`Pointer`] names a place, and [`Place`] does so without
//! allocation. [`patch`] describes the difference of two documents. [`canonical()`] writes one text for all equal
//! documents.

mod canonical;
mod depth;
mod limits;
mod locate;
pub mod patch;
mod place;
mod pointer;
mod read;

pub use canonical::canonical;
pub(crate) use canonical::{write_canonical, write_string};
pub(crate) use depth::is_deeper_than;
pub use depth::{MAX_OUTPUT_DEPTH, is_readable_output};
pub use limits::Limits;
pub use locate::{Position, locate};
pub use place::Place;
pub use pointer::Pointer;
pub(crate) use pointer::{below, find, push_token, unescape};
pub use read::{Document, ReadError, ReadErrorKind, read};
pub(crate) use read::{FEW_MEMBERS, line_and_column, read_if_json};
