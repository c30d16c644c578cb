//! Stores the ledger and the data that changes with it: retry states, cases, events and blobs.
//!
//! A [`Store`] is a handle that any thread or task may hold. Each process has one writer thread. It
//! groups waiting units of work into one transaction, signs one checkpoint, and acknowledges after
//! the commit is on the disk. Several processes may share one store. Each batch takes the write
//! lock and reads the head under it, so there is always one chain.
//!
//! A unit of work uses a [`Transaction`]. The engine is SQLite in one file (feature `sqlite`), or
//! PostgreSQL for any number of machines (feature `postgres`). The engines contain only SQL; all
//! other code is shared. [`migrate`] moves a log from SQLite to PostgreSQL. [`recording`] turns
//! documents into entries. Reads and waiting block. Async callers await a [`Ticket`] and run reads
//! on a blocking thread.
#![warn(missing_docs)]

mod adopt;
mod batch;
mod case;
mod chain;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "witness")]
mod cosigning;
mod effects;
mod engine;
mod entry;
mod erasure;
mod error;
mod event;
mod export;
mod head;
mod job;
mod migrate;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod randomness;
mod reading;
pub mod recording;
mod retry_state;
mod rotation;
mod running_transaction;
mod scrub_schedule;
mod settings;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stats;
mod store;
pub mod system;
mod tables;
mod text_indexer;
mod ticket;
mod transaction;
#[cfg(feature = "witness")]
mod witness;
mod writer;

pub use adopt::AdoptionOutcome;
pub use case::{CaseFilter, CasePage, CaseRecord, CaseStatus};
#[cfg(feature = "witness")]
pub use cosigning::{CosignedCheckpoint, WitnessError};
pub use entry::{EntryFilter, EntryPage, LedgerEntry};
pub use erasure::{ErasureOutcome, PruneOutcome};
pub use error::StoreError;
pub use event::{EventGap, EventPage, OWN_STREAMS, StoredEvent, StreamFilter, StreamInfo};
pub use export::{Export, ExportError, ExportProgress, ExportSummary};
pub use head::LogHead;
pub use migrate::{MoveProgress, MoveTarget, migrate};
#[cfg(feature = "postgres")]
pub use postgres::postgres_place;
pub use retry_state::StoredRetryState;
pub use settings::{Clock, OnFailure, Random, Settings};
pub use stats::{LogTotals, StoreHealth, StoreStats};
pub use store::Store;
pub use ticket::{Commit, Ticket};
pub use transaction::{
    AppendedEntry, Blobs, Cases, EventLog, Log, NewCase, Notes, RetryStates, Transaction,
    case_reference, entry_reference,
};
#[cfg(feature = "witness")]
pub use witness::Witness;
