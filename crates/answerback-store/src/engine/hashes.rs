use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use answerback_ledger::Hash;
use answerback_ledger::tile::WIDTH;

use super::{EngineError, EngineRead, EngineResult};

/// Returns the hashes up to the first missing index. A hash after a gap would take another one's
/// position.
pub(crate) fn without_gap(rows: Vec<(i64, Hash)>, from: u64) -> Vec<Hash> {
    let is_next = |(place, (found, _)): &(u64, (i64, Hash))| u64::try_from(*found) == Ok(*place);
    (from..).zip(rows).take_while(is_next).map(|(_, (_, hash))| hash).collect()
}

/// Reads hashes of the tree from a store connection. The tree requires a shared reference, hence
/// the `RefCell`. It caches whole tiles, because a proof needs several ranges of the same tile.
pub(crate) struct Hashes<'a> {
    read: RefCell<&'a mut dyn EngineRead>,
    tiles: RefCell<HashMap<(u8, u64), Vec<Hash>>>,
}

impl<'a> Hashes<'a> {
    pub(crate) fn of(read: &'a mut dyn EngineRead) -> Self {
        Self { read: RefCell::new(read), tiles: RefCell::default() }
    }
}

impl answerback_ledger::tree::HashReader for Hashes<'_> {
    type Error = EngineError;

    fn hashes(&self, level: u8, from: u64, count: u64) -> EngineResult<Vec<Hash>> {
        let (tile, place) = (from / WIDTH, usize::try_from(from % WIDTH).unwrap_or(usize::MAX));
        let mut tiles = self.tiles.borrow_mut();
        let hashes = match tiles.entry((level, tile)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let read = self.read.borrow_mut().hashes(level, tile * WIDTH, WIDTH)?;
                unknown.insert(read)
            }
        };
        let end = place.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        if let Some(piece) = hashes.get(place..end) {
            return Ok(piece.to_vec());
        }
        Err(EngineError::damaged(format!(
            "hashes {from} to {} of level {level} are missing",
            from + count
        )))
    }
}
