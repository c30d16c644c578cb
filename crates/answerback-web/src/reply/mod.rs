//! Records replies and prepares them for people.

mod ingest;
mod reply_view;
mod row;

pub use ingest::{SubmittedReply, TakeInError, Taken, take_in};
pub use row::Row;

pub(crate) use ingest::{FILES, take_in_with};
pub(crate) use reply_view::{ReplyView, part, part_text};
pub(crate) use row::{is_passed, shortened, time_of};
