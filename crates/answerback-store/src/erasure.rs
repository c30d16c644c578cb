//! Erasing and pruning: what may go, and the entry that says that it went.

use answerback_ledger::leaf::Basis;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::root_at;
use answerback_ledger::{Draft, Token};

use crate::StoreError;
use crate::engine::Hashes;
use crate::transaction::{Appended, Log, entry_reference};
use crate::work::RunningTransaction;

/// A part that was erased.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Erased {
    /// The entry that says so.
    pub entry: Appended,
}

/// Entries that were pruned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Pruned {
    /// The entry that says so.
    pub entry: Appended,
    /// Entries below this index are gone.
    pub below: u64,
    /// How many went this time.
    pub removed: u64,
}

pub(crate) fn erase(
    work: &mut RunningTransaction<'_>,
    index: u64,
    part: &Token,
    basis: Basis,
) -> Result<Erased, StoreError> {
    if !work.write(|engine| engine.erase_part(index, part.as_str()))? {
        return Err(StoreError::Missing(format!("part {part} of the entry at {index}")));
    }
    work.write(|engine| engine.erase_references(&entry_reference(index)))?;
    work.scrub = true;
    Ok(Erased { entry: work.append(&Draft::erasure(index, part, basis))? })
}

/// The most entries that one transaction removes: others wait for the lock meanwhile.
const STEP: u64 = 16 * WIDTH;

/// Removes the oldest entries below a full tile, a step of them: the tile keeps their hashes, so every proof about the
/// rest holds. Each step is a prune of its own, with its entry, so that whatever ends the work leaves a whole log.
pub(crate) fn prune(work: &mut RunningTransaction<'_>, below: u64) -> Result<Pruned, StoreError> {
    let below = below - below % WIDTH;
    let size = work.size() - work.entries.len() as u64;
    if below > size || below <= work.minimum {
        return Err(StoreError::Missing(format!(
            "entries to prune below {below}: it holds {} to {size}",
            work.minimum
        )));
    }
    let below = below.min(work.minimum - work.minimum % WIDTH + STEP);
    let root = work.read(|engine| root_at(below, &Hashes::of(engine)))?;
    let removed = work.write(|engine| engine.prune_entries(below))?;
    work.minimum = below;
    work.scrub = true;
    Ok(Pruned { entry: work.append(&Draft::prune(below, &root))?, below, removed })
}
