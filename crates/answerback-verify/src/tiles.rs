//! Hash tiles as in C2SP tlog-tiles: 256 hashes each, at every eighth level of the tree.

use crate::{
    hash::MerkleHash,
    tree::{TreeFrontier, root_of},
};

/// The number of hashes in a full tile.
pub(crate) const TILE_WIDTH: u64 = 256;

/// Returns number and width of every tile of a level for a tree of this size, including the partial
/// tile at the end.
pub(crate) fn tiles_of(size: u64, level: u32) -> impl Iterator<Item = (u64, u64)> {
    let hashes = size.checked_shr(8 * level).unwrap_or(0);
    let full = (0..hashes / TILE_WIDTH).map(|number| (number, TILE_WIDTH));
    let partial =
        (!hashes.is_multiple_of(TILE_WIDTH)).then_some((hashes / TILE_WIDTH, hashes % TILE_WIDTH));
    full.chain(partial)
}

/// Collects the expected content of the tiles while the tree grows.
///
/// It stores only the root of each full tile: 32 bytes for 256 entries. That suffices, because only
/// the correct hashes have this root.
#[derive(Debug, Default)]
pub(crate) struct TileRoots {
    /// The roots of the subtrees of height 8, 16, …, one list per tile level.
    levels: Vec<Vec<MerkleHash>>,
    /// The leaf hashes after the last full tile.
    tail: Vec<MerkleHash>,
}

impl TileRoots {
    /// Appends an entry to the tree and stores the roots of the subtrees that it completes.
    pub(crate) fn push(&mut self, frontier: &mut TreeFrontier, leaf: MerkleHash) {
        self.tail.push(leaf);
        frontier.push_observed(leaf, |height, root| {
            if height > 0 && height % 8 == 0 {
                let level = (height / 8 - 1) as usize;
                if level == 0 {
                    self.tail.clear();
                }
                self.levels.resize_with(self.levels.len().max(level + 1), Vec::new);
                self.levels[level].push(root);
            }
        });
    }

    /// Checks the content of a tile against the tree. `tile` contains the tile's hashes,
    /// concatenated.
    pub(crate) fn check(&self, level: u64, number: u64, tile: &[u8]) -> TileVerdict {
        let hashes: Vec<MerkleHash> =
            tile.chunks_exact(32).filter_map(|hash| MerkleHash::try_from(hash).ok()).collect();
        let Some(start) = usize::try_from(number).ok().and_then(|number| number.checked_mul(256))
        else {
            return TileVerdict::Extra;
        };
        let expected = match usize::try_from(level) {
            Ok(0) => {
                let full = self.levels.first().map_or(&[][..], Vec::as_slice);
                match full.get(start / 256) {
                    Some(root) => {
                        let found = root_of(hashes.iter().copied());
                        let right = hashes.len() == 256 && tile.len() == 256 * 32 && found == *root;
                        return if right { TileVerdict::Right } else { TileVerdict::Wrong };
                    }
                    None if start == full.len() * 256 => self.tail.as_slice(),
                    None => &[],
                }
            }
            Ok(level) => {
                let hashes = self.levels.get(level - 1).map_or(&[][..], Vec::as_slice);
                hashes.get(start..).map_or(&[][..], |rest| &rest[..rest.len().min(256)])
            }
            Err(_) => &[],
        };
        if expected.is_empty() {
            TileVerdict::Extra
        } else if tile.len() == expected.len() * 32 && hashes == expected {
            TileVerdict::Right
        } else {
            TileVerdict::Wrong
        }
    }

    /// Returns the root of a full tile, which the tree has already computed.
    pub(crate) fn above(&self, level: u64, number: u64) -> Option<MerkleHash> {
        let level = self.levels.get(usize::try_from(level).ok()?)?;
        level.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the root that the tree had at this size, if the size is a multiple of the tile
    /// width.
    pub(crate) fn root_at(&self, size: u64) -> Option<MerkleHash> {
        let full = self.levels.first().map_or(&[][..], Vec::as_slice);
        let count = usize::try_from(size / TILE_WIDTH).ok()?;
        size.is_multiple_of(TILE_WIDTH)
            .then(|| full.get(..count))?
            .map(|roots| root_of(roots.iter().copied()))
    }
}

/// The result of checking a tile.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TileVerdict {
    Right,
    Wrong,
    /// The tree has no such tile.
    Extra,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_of_a_tree_is_checked() {
        let size = 256 * 256 + 256 * 2 + 3_u64;
        let (mut frontier, mut tiles) = (TreeFrontier::new(), TileRoots::default());
        let leaves: Vec<MerkleHash> =
            (0..size).map(|number| MerkleHash::of(&number.to_be_bytes())).collect();
        for leaf in &leaves {
            tiles.push(&mut frontier, *leaf);
        }
        let level_1: Vec<MerkleHash> =
            leaves.chunks_exact(256).map(|tile| root_of(tile.iter().copied())).collect();
        let level_2 = [root_of(level_1[..256].iter().copied())];
        for (level, hashes) in
            [(0, leaves.as_slice()), (1, level_1.as_slice()), (2, level_2.as_slice())]
        {
            assert_eq!(tiles_of(size, level).count(), hashes.chunks(256).count());
            for (number, tile) in hashes.chunks(256).enumerate() {
                let mut bytes: Vec<u8> = tile.iter().flat_map(|hash| *hash.as_bytes()).collect();
                let check = |bytes: &[u8]| tiles.check(u64::from(level), number as u64, bytes);
                assert_eq!(check(&bytes), TileVerdict::Right, "tile {level} {number}");
                assert_eq!(
                    check(&bytes[..bytes.len() - 1]),
                    TileVerdict::Wrong,
                    "tile {level} {number}"
                );
                bytes[7] ^= 1;
                assert_eq!(check(&bytes), TileVerdict::Wrong, "tile {level} {number}");
            }
        }
        assert_eq!(tiles.check(0, 259, &[0; 32]), TileVerdict::Extra);
        assert_eq!(tiles.check(3, 0, &[0; 32]), TileVerdict::Extra);
        assert_eq!(tiles.check(u64::MAX, u64::MAX, &[]), TileVerdict::Extra);
        assert_eq!(tiles.root_at(512), Some(root_of(leaves[..512].iter().copied())));
        assert_eq!(tiles.root_at(65_536), Some(level_2[0]));
        assert_eq!(tiles.root_at(100), None);
    }
}
