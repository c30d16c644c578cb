//! The independent verifier of Answerback's ledger.
//!
//! It shares no code with the writer. Its tree, its notes and its parser of leaves are written from
//! `docs/reference/ledger-format.md` alone. So its results do not depend on a correct writer.
//!
//! ```no_run
//! use answerback_verify::{NoteVerifierKey, VerifyOptions, open, verify};
//!
//! let key = NoteVerifierKey::parse("log.example+5c5e0b9d+AW1v…")?;
//! let mut log = open("ledger.db".as_ref())?;
//! let report = verify(log.as_mut(), &VerifyOptions::new().with_vkey(key))?;
//! assert_eq!(report.exit_code(), 0, "{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It reads the embedded store's file (feature `sqlite`), an export as JSON lines, or a directory
//! of C2SP tiles. Each is a [`LogSource`]. Memory use does not depend on content. The verifier holds
//! about a quarter of a byte per entry, the missing parts, the unanswered requests, the erasures,
//! and the recorded states of cases.
#![deny(missing_docs)]

mod checkpoint;
mod cosignature;
mod erasure;
mod examine;
mod governance;
mod hash;
mod hex;
mod json;
mod keys;
mod leaf;
mod log_check;
mod name_set;
mod note;
mod options;
mod pipeline;
mod progress;
mod proof;
mod receipt;
mod report;
mod semantics;
mod sha256_x2;
mod source;
mod states;
mod tiles;
mod time;
mod tree;
mod verify;

pub use checkpoint::{LogCheckpoint, LogCheckpointError};
pub use cosignature::CosignerKey;
pub use hash::MerkleHash;
pub use note::{NoteVerifierKey, SignatureCheck, SignedNote, SignedNoteError};
pub use options::{OutsideCheckpointError, VerifyOptions};
pub use progress::VerifyProgress;
pub use proof::{consistency_holds, inclusion_holds};
pub use receipt::{ProvenEntry, ReceiptProofError, verify_receipt};
pub use report::{KeyTrust, Level, LevelReport, VerifyFailure, VerifyReport, Warning};
#[cfg(feature = "postgres")]
pub use source::Postgres;
#[cfg(feature = "sqlite")]
pub use source::Sqlite;
pub use source::{
    EntryColumns, JsonLines, LogSource, SourceClaims, SourceEntry, SourceError, SourceHead,
    SourcePart, SourceRecord, SourceTile, StoredAttempt, StoredCase, StoredState, StoredTiles,
    TileDirectory, open,
};
pub use tree::{TreeFrontier, root_of};
pub use verify::{verify, verify_with_progress};
