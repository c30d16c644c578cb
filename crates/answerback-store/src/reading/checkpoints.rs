//! Reads checkpoints and computes proofs from the stored tree.

use answerback_ledger::tree::{consistency_proof, inclusion_proof, root_at};
use answerback_ledger::{Checkpoint, Hash, Note, Receipt};

use super::head;
use crate::StoreError;
use crate::engine::{EngineRead, Hashes};

/// Creates the receipt of an entry against the newest checkpoint.
pub(crate) fn receipt(read: &mut dyn EngineRead, index: u64) -> Result<Receipt, StoreError> {
    let missing = || StoreError::Missing(format!("entry {index}"));
    let leaf = read.leaf(index)?.ok_or_else(missing)?;
    let note = newest_checkpoint(read)?.ok_or_else(missing)?;
    let checkpoint =
        Checkpoint::read(&note).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let path = inclusion_proof(index, checkpoint.size(), &Hashes::of(read))?;
    Ok(Receipt::new(leaf, index, path, note))
}

pub(crate) fn consistency(
    read: &mut dyn EngineRead,
    old: u64,
    new: u64,
) -> Result<Vec<Hash>, StoreError> {
    let size = head(read)?.size;
    if old > new || new > size {
        return Err(StoreError::Missing(format!(
            "proof from {old} to {new} entries; it has {size}"
        )));
    }
    Ok(consistency_proof(old, new, &Hashes::of(read))?)
}

/// Returns the root that the tree had at this size.
pub(crate) fn root(read: &mut dyn EngineRead, size: u64) -> Result<Hash, StoreError> {
    let has = head(read)?.size;
    if size > has {
        return Err(StoreError::Missing(format!("root of {size} entries; it has {has}")));
    }
    Ok(root_at(size, &Hashes::of(read))?)
}

/// Returns the newest checkpoint with its cosignatures.
pub(crate) fn newest_checkpoint(read: &mut dyn EngineRead) -> Result<Option<Note>, StoreError> {
    let note = read.newest_checkpoint()?.map(|note| parse_note(&note)).transpose()?;
    Ok(cosigned(read, note.into_iter().collect())?.pop())
}

/// Returns the checkpoints of trees larger than this with their cosignatures, smallest first.
pub(crate) fn checkpoints(
    read: &mut dyn EngineRead,
    above: u64,
    limit: usize,
) -> Result<Vec<Note>, StoreError> {
    let notes = read.checkpoints(above, limit)?;
    let notes: Result<_, _> = notes.iter().map(|note| parse_note(note)).collect();
    cosigned(read, notes?)
}

/// Adds the cosignatures to checkpoints, which must be sorted by size.
fn cosigned(read: &mut dyn EngineRead, mut notes: Vec<Note>) -> Result<Vec<Note>, StoreError> {
    let damaged = |error: String| StoreError::Damaged(format!("a checkpoint: {error}"));
    let sizes: Result<Vec<u64>, _> = notes
        .iter()
        .map(|note| Checkpoint::read(note).map(|checkpoint| checkpoint.size()))
        .collect();
    let sizes = sizes.map_err(|error| damaged(error.to_string()))?;
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Ok(notes) };
    for (size, line) in read.cosignatures(*first..=*last)? {
        if let Ok(place) = sizes.binary_search(&size) {
            let note = notes[place].with_signatures(&line);
            notes[place] = note.map_err(|error| damaged(error.to_string()))?;
        }
    }
    Ok(notes)
}

pub(crate) fn parse_note(text: &str) -> Result<Note, StoreError> {
    Note::parse(text).map_err(|error| StoreError::Damaged(format!("a checkpoint: {error}")))
}
