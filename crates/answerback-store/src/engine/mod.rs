//! The interface to a database: it reads and writes rows in one transaction. All other code is
//! shared.

mod error;
mod hashes;
mod opener;
mod read;
mod rows;
mod text_index;
mod write;

pub(crate) use error::{EngineError, EngineFailure, EngineResult};
pub(crate) use hashes::{Hashes, without_gap};
pub(crate) use opener::Opener;
pub(crate) use read::EngineRead;
pub(crate) use rows::{BlobRow, EntryRow, LinkedEntries, LookupHint, Rows};
pub(crate) use text_index::{IndexStep, OpenTextIndex, TextIndex};
pub(crate) use write::Engine;
