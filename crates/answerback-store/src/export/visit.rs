//! Visits entries and checkpoints, one page at a time.

use std::ops::Range;

use answerback_ledger::{Checkpoint, Leaf, Note};

use super::ExportError;
use crate::engine::EngineRead;
use crate::{EntryFilter, StoreError, reading};

/// The number of entries that are read at a time.
pub(super) const PAGE: usize = 256;

pub(super) type EntryVisitor<'a> =
    dyn FnMut(u64, Vec<u8>, &mut dyn EngineRead) -> Result<(), ExportError> + 'a;

/// Visits the leaves of a range, one page at a time.
pub(super) fn leaves(
    read: &mut dyn EngineRead,
    filter: &EntryFilter,
    mut range: Range<u64>,
    visit: &mut EntryVisitor<'_>,
) -> Result<(), ExportError> {
    while !range.is_empty() {
        let page = read.leaves(filter, range.clone(), PAGE).map_err(StoreError::from)?;
        let Some((last, _)) = page.last() else { break };
        range.start = last + 1;
        for (index, leaf) in page {
            visit(index, leaf, read)?;
        }
    }
    Ok(())
}

/// Visits the checkpoints over more than `above` and at most `size` entries, oldest first.
pub(super) fn checkpoints(
    read: &mut dyn EngineRead,
    mut above: u64,
    size: u64,
    visit: &mut dyn FnMut(&str) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    while above < size {
        let notes = reading::checkpoints(read, above, PAGE)?;
        if notes.is_empty() {
            break;
        }
        for note in notes {
            above = size_of(&note)?;
            if above > size {
                break;
            }
            visit(&note.to_string())?;
        }
    }
    Ok(())
}

/// Returns the size of the tree in a checkpoint.
pub(super) fn size_of(note: &Note) -> Result<u64, StoreError> {
    let damaged = |error| StoreError::Damaged(format!("a checkpoint: {error}"));
    Checkpoint::read(note).map(|checkpoint| checkpoint.size()).map_err(damaged)
}

/// Parses a stored leaf.
pub(super) fn parsed(index: u64, bytes: &[u8]) -> Result<Leaf, StoreError> {
    Leaf::parse(bytes)
        .map_err(|error| StoreError::Damaged(format!("the entry at {index}: {error}")))
}
