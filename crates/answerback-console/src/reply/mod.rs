//! A reply: how it comes in, and how people are shown it.

mod row;
mod shown;
mod take_in;

pub use row::Row;
pub use take_in::{HandedIn, TakeInError, Taken, take_in};

pub(crate) use row::{is_passed, shortened, time_of};
pub(crate) use shown::{Shown, part, part_text};
pub(crate) use take_in::{FILES, take_in_with};
