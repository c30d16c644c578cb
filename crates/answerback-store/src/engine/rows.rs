//! The rows that an engine writes, and the results of its lookups.

use answerback_ledger::{Hash, Leaf, LeafId, LeafKind, Part};

use super::EngineResult;
use crate::tables::SqlCell;

/// An entry to be written.
#[derive(Clone, Debug)]
pub(crate) struct EntryRow {
    pub(crate) index: u64,
    pub(crate) leaf: Leaf,
    pub(crate) hash: Hash,
    pub(crate) parts: Vec<Part>,
    pub(crate) request_id: Option<LeafId>,
    pub(crate) response_id: Option<LeafId>,
    pub(crate) reply_id: Option<LeafId>,
}

/// The entries with the same request id: the request and its response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkedEntries {
    pub(crate) request: Option<u64>,
    pub(crate) answer: Option<u64>,
}

impl LinkedEntries {
    /// Adds the next entry with the id. A repeated request can be answered again.
    pub(crate) fn push(&mut self, kind: LeafKind, index: u64) {
        match kind {
            LeafKind::Request => *self = Self { request: Some(index), answer: None },
            LeafKind::Response => self.answer = Some(index),
            _ => {}
        }
    }
}

/// Holds the ids that a unit will look up in the log, as far as they are known before it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookupHint {
    pub(crate) request: Option<LeafId>,
    pub(crate) response: Option<LeafId>,
    pub(crate) reply: Option<LeafId>,
}

/// A source of rows: it calls the given function with one row after another.
pub(crate) type Rows<'a> =
    &'a mut dyn FnMut(&mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>) -> EngineResult<()>;

/// A blob to be written. Its key is the digest of its content.
#[derive(Debug)]
pub(crate) struct BlobRow<'a> {
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: &'a [u8],
    pub(crate) reference: Option<&'a str>,
    pub(crate) micros: i64,
}
