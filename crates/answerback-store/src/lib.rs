//! Where the ledger lives, and what must change together with it: retry states, cases, events, blobs.
//!
//! A [`Store`] is a handle that any thread or task may hold. Its writing goes through one thread a
//! process, which groups what waits into one transaction, signs one checkpoint, and acknowledges after
//! the commit is on the disk. Several processes may share one store: each batch takes the write lock
//! and reads the head inside, so there is one chain whoever writes.
//!
//! [`Transaction`] is what a unit of work sees. The engine is SQLite in one file (feature `sqlite`), or
//! PostgreSQL for any number of machines (feature `postgres`); [`migrate`] moves a log from the one to the
//! other. Everything that is not SQL lies outside of them, and `conformance` (feature) holds any engine to the
//! same promises. Reads and waiting block: async callers await a [`Ticket`] and move reads aside.
#![warn(missing_docs)]

mod adopt;
mod attempt;
mod batch;
mod blob;
mod case;
mod chain;
mod effect;
mod engine;
mod erasure;
mod error;
mod event;
mod export;
mod filter;
mod head;
mod job;
mod migrate;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod randomness;
mod reading;
mod rotation;
mod scrub;
mod settings;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stats;
mod store;
mod table;
mod text;
mod ticket;
mod transaction;
#[cfg(feature = "witness")]
mod witness;
mod work;
mod writer;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use adopt::Adopted;
pub use attempt::KeptAttempt;
pub use case::{CaseFilter, CasePage, CaseRecord, CaseStatus};
pub use erasure::{Erased, Pruned};
pub use error::StoreError;
pub use event::{Event, EventPage, Gap, OWN_STREAMS, StreamFilter, StreamInfo};
pub use export::{Export, ExportError, ExportProgress, Exported};
pub use filter::{Entry, EntryPage, Filter, KeptPart};
pub use head::Head;
pub use migrate::{Progress, Target, migrate};
#[cfg(feature = "postgres")]
pub use postgres::postgres_place;
pub use randomness::fill_random;
pub use settings::{Clock, OnFailure, Random, Settings};
pub use stats::{Health, Stats, Totals};
pub use store::Store;
pub use ticket::{Committed, Ticket};
pub use transaction::{
    Appended, Blobs, Cases, EventLog, Log, NewCase, Notes, RetryStates, Transaction,
    case_reference, entry_reference,
};
#[cfg(feature = "witness")]
pub use witness::{Witness, WitnessError, Witnessed};
