//! Records replies and prepares them for people.

mod ingest;
mod reply_view;
mod row;

pub use ingest::{IngestError, IngestedReply, SubmittedReply, ingest};
pub use row::ReplyRow;

pub(crate) use ingest::{FILES, ingest_with_files};
pub(crate) use reply_view::{ReplyView, part, part_text};
pub(crate) use row::{is_passed, time_of};
