//! Erases parts and prunes entries, and appends the entries that record it.

use answerback_ledger::leaf::Basis;
use answerback_ledger::tile::WIDTH;
use answerback_ledger::tree::root_at;
use answerback_ledger::{Draft, LeafToken};

use crate::StoreError;
use crate::engine::Hashes;
use crate::running_transaction::RunningTransaction;
use crate::transaction::{AppendedEntry, Log, entry_reference};

/// The result of erasing a part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ErasureOutcome {
    /// The entry that records the erasure.
    pub entry: AppendedEntry,
}

/// The result of pruning entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PruneOutcome {
    /// The entry that records the pruning.
    pub entry: AppendedEntry,
    /// The index below which all entries are removed.
    pub below: u64,
    /// The number of entries removed by this call.
    pub removed: u64,
}

pub(crate) fn erase(
    work: &mut RunningTransaction<'_>,
    index: u64,
    part: &LeafToken,
    basis: Basis,
) -> Result<ErasureOutcome, StoreError> {
    if !work.write(|engine| engine.erase_part(index, part.as_str()))? {
        return Err(StoreError::Missing(format!("part {part} of the entry at {index}")));
    }
    work.write(|engine| engine.erase_references(&entry_reference(index)))?;
    work.scrub = true;
    Ok(ErasureOutcome { entry: work.append(&Draft::erasure(index, part, basis))? })
}

/// The maximum number of entries that one transaction removes. Other writers wait for the lock in
/// the meantime.
const STEP: u64 = 16 * WIDTH;

/// Removes at most [`STEP`] of the oldest entries, up to a multiple of the tile width. The tiles
/// retain their hashes, so every proof about the remaining entries stays valid. Each step appends
/// its own prune entry, so an interruption leaves a consistent log.
pub(crate) fn prune(
    work: &mut RunningTransaction<'_>,
    below: u64,
) -> Result<PruneOutcome, StoreError> {
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
    Ok(PruneOutcome { entry: work.append(&Draft::prune(below, &root))?, below, removed })
}
