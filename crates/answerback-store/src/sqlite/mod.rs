//! The embedded store: one SQLite file, shared by any number of processes.

mod connection;
mod copy;
mod ids;
mod number;
mod opener;
mod read;
mod schema;
mod text;
mod tile_index;
mod write;

use connection::{SqliteConnection, connect, truncate_log};
use number::{int, part_ids, uint};
pub(crate) use opener::SqliteOpener;

/// The rows of `meta` that count erasures: how many were made, and how many of them no file
/// contains any more.
const SCRUB_WANTED: &str = "scrub_wanted";
const SCRUB_DONE: &str = "scrub_done";
