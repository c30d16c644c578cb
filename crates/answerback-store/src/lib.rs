//! Stores the ledger and the data that changes together with it: retry states, cases, events and
//! blobs.
//!
//! A [`Store`] is a handle that any thread or task may hold. Each process has one writer thread. It
//! groups waiting units of work into one transaction, signs one checkpoint, and acknowledges after
//! the commit is on the disk. Several processes may share one store. Each batch takes the write
//! lock and reads the head under it, so there is always one chain.
//!
//! A unit of work uses a [`Transaction`]. The engine is SQLite in one file (feature `sqlite`), or
//! PostgreSQL for any number of machines (feature `postgres`). [`migrate`] moves a log from SQLite
//! to PostgreSQL. The engines contain only SQL; all other code is shared. `conformance` (feature)
//! tests that an engine meets the same guarantees. Reads and waiting block. Async callers await a
//! [`Ticket`] and run reads on a blocking thread.
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
