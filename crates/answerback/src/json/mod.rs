//! JSON as it arrives from people we do not trust.
//!
//! [`read()`] is strict RFC 8259 with bounds, and reports what two readers could understand differently:
//! repeated member names and numbers that do not fit. [`Pointer`] names a place, [`Place`] names it
//! without allocating, and [`patch`] says how two documents differ.

mod limits;
pub mod patch;
mod place;
mod pointer;
mod read;

pub use limits::Limits;
pub use place::Place;
pub use pointer::Pointer;
pub(crate) use pointer::push_token;
pub use read::{Document, ReadError, ReadErrorKind, read};
