//! The PostgreSQL store: one schema of a database, shared by any number of processes.
//!
//! Every batch locks the row of the head with `FOR UPDATE`, reads it, appends and commits. The lock
//! on this row determines the order of the log. So replicas need no leader and have no state of
//! their own that could diverge. The store uses only features that PostgreSQL and compatible
//! databases share: no advisory locks, no LISTEN, no sequences.
//!
//! Each log has its own schema instead of a column with its name. The tables are the same as in
//! SQLite, an operator can grant rights on a log or drop it as a whole, and no query can mix two
//! logs.
//!
//! There is no TLS support. A TLS connector would be added in
//! [`session::PostgresSession::connect`].

mod error;
mod opener;
mod read;
mod schema;
mod session;
mod text;
mod value;
mod write;

pub(crate) use opener::PostgresOpener;
pub use opener::postgres_place;
