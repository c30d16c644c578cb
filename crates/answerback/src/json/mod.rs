//! JSON as it arrives from people we do not trust.
//!
//! [`read()`] is strict RFC 8259 with bounds, and reports what two readers could understand differently:
//! repeated member names and numbers that do not fit. [`Pointer`] names a place, [`Place`] names it
//! without allocating, [`patch`] says how two documents differ, and [`canonical()`] writes the one
//! text that equal documents share.

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
