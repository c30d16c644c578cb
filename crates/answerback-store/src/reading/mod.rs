//! Reads from the store: a pool of connections, and results computed from rows.

mod checkpoints;
mod entries;
mod events;
mod head;
mod readers;
#[cfg(all(test, feature = "sqlite"))]
mod tests;

pub(crate) use checkpoints::{checkpoints, consistency, newest_checkpoint, receipt, root};
pub(crate) use entries::{LOOKS, entries, entry, search_entries};
pub(crate) use events::{events, stream};
pub(crate) use head::head;
pub(crate) use readers::Readers;
