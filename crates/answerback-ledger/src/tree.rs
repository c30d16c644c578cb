//! The Merkle tree: its right edge, which grows, and the proofs about it.
//!
//! Only full tiles are stored. Hashes to the right of the last full tile are read from the leaves
//! and from the roots of the tiles below. So appending never rewrites stored data.

use crate::Hash;
use crate::hash::hashes_of;
use crate::tile::{HEIGHT, Tile, WIDTH, subtree_root};

/// Holds the roots of the complete subtrees that make up a tree, largest first.
///
/// These at most 64 hashes suffice to append a leaf and to compute the root.
///
/// ```
/// use answerback_ledger::{Hash, tree::Frontier};
///
/// let mut frontier = Frontier::default();
/// frontier.append(Hash::of_leaf(b"one"));
/// frontier.append(Hash::of_leaf(b"two"));
/// let kept = frontier.to_bytes();
/// assert_eq!(Frontier::from_bytes(2, &kept), Some(frontier));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frontier {
    size: u64,
    roots: Vec<Hash>,
}

impl Frontier {
    /// Appends the hash of a leaf.
    pub fn append(&mut self, leaf: Hash) {
        let mut node = leaf;
        // Each trailing one bit of the size is a complete subtree that merges with the new node.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.roots.pop() {
                node = Hash::of_node(&left, &node);
            }
        }
        self.roots.push(node);
        self.size += 1;
    }

    /// Returns the number of leaves in the tree.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the roots of the complete subtrees, largest first.
    pub fn roots(&self) -> &[Hash] {
        &self.roots
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> Hash {
        let mut from_the_right = self.roots.iter().rev();
        from_the_right.next().map_or_else(Hash::of_nothing, |last| {
            from_the_right.fold(*last, |right, left| Hash::of_node(left, &right))
        })
    }

    /// Returns the roots in order, concatenated.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.roots.iter().flat_map(|hash| *hash.as_bytes()).collect()
    }

    /// Parses the frontier of a tree of this size, or returns `None` if the number of hashes does
    /// not match the size.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Option<Self> {
        let roots = hashes_of(bytes)?;
        (roots.len() == size.count_ones() as usize).then_some(Self { size, roots })
    }
}

/// Holds the hashes to the right of the last full tile of each level. They become the next tiles.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Edge {
    size: u64,
    levels: Vec<Vec<Hash>>,
}

impl Edge {
    /// Reads the edge of a tree of this size.
    ///
    /// # Errors
    ///
    /// Returns an error if the reader fails.
    pub fn read<R: HashReader + ?Sized>(size: u64, reader: &R) -> Result<Self, R::Error> {
        let mut levels = Vec::new();
        let (mut level, mut count) = (0, size);
        while count > 0 {
            let full = count / WIDTH;
            let first = full * WIDTH;
            levels.push(if first == count {
                Vec::new()
            } else {
                reader.hashes(level, first, count - first)?
            });
            (level, count) = (level + 1, full);
        }
        Ok(Self { size, levels })
    }

    /// Returns the number of leaves in the tree.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends the hash of a leaf. It calls `completed` for each tile that becomes full, lowest
    /// level first.
    pub fn append(&mut self, leaf: Hash, completed: &mut dyn FnMut(Tile)) {
        let mut index = self.size;
        self.size += 1;
        let (mut level, mut hash) = (0_u8, leaf);
        loop {
            let row = usize::from(level);
            if self.levels.len() == row {
                self.levels.push(Vec::new());
            }
            self.levels[row].push(hash);
            if (self.levels[row].len() as u64) < WIDTH {
                return;
            }
            index /= WIDTH;
            let Some(tile) = Tile::new(level, index, std::mem::take(&mut self.levels[row])) else {
                return;
            };
            hash = tile.root();
            completed(tile);
            level += 1;
        }
    }
}

/// Reads the stored hashes of a tree.
pub trait HashReader {
    /// The error of a failed read.
    type Error;

    /// Returns `count` hashes of a tile level, starting at this index. Level 0 contains the hashes
    /// of leaves; each higher level contains the roots of the full tiles one level below. The range
    /// lies within one tile, which need not be full.
    ///
    /// # Errors
    ///
    /// Returns an error if a hash is missing or cannot be read.
    fn hashes(&self, level: u8, from: u64, count: u64) -> Result<Vec<Hash>, Self::Error>;
}

/// Returns the root that the tree had when it contained `size` leaves.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn root_at<R: HashReader + ?Sized>(size: u64, reader: &R) -> Result<Hash, R::Error> {
    range_root(0, size, reader)
}

/// Returns the frontier that the tree had when it contained `size` leaves.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn frontier_at<R: HashReader + ?Sized>(size: u64, reader: &R) -> Result<Frontier, R::Error> {
    let (mut start, mut roots) = (0, Vec::new());
    for height in (0..u64::BITS).rev().filter(|height| size >> height & 1 == 1) {
        roots.push(complete(height, start >> height, reader)?);
        start += 1 << height;
    }
    Ok(Frontier { size, roots })
}

/// Returns the inclusion proof of RFC 6962. It consists of the sibling hashes from a leaf up to the
/// root of the tree of this size, lowest first. The proof is empty if the leaf does not exist.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn inclusion_proof<R: HashReader + ?Sized>(
    index: u64,
    size: u64,
    reader: &R,
) -> Result<Vec<Hash>, R::Error> {
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 && index < size {
        let middle = start + split(end - start);
        if index < middle {
            path.push(range_root(middle, end, reader)?);
            end = middle;
        } else {
            path.push(range_root(start, middle, reader)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Returns the consistency proof of RFC 6962. It proves that the tree of the old size is the
/// beginning of the tree of the new size. The proof is empty if the old size is 0 or not smaller
/// than the new one.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn consistency_proof<R: HashReader + ?Sized>(
    old: u64,
    new: u64,
    reader: &R,
) -> Result<Vec<Hash>, R::Error> {
    if old == 0 || old >= new {
        return Ok(Vec::new());
    }
    let (mut start, mut end) = (0, new);
    let mut path = Vec::new();
    // Descend to the subtree that ends where the old tree ended.
    while end != old {
        let middle = start + split(end - start);
        if old <= middle {
            path.push(range_root(middle, end, reader)?);
            end = middle;
        } else {
            path.push(range_root(start, middle, reader)?);
            start = middle;
        }
    }
    // If this subtree is the whole old tree, the verifier already has its root.
    if start != 0 {
        path.push(range_root(start, end, reader)?);
    }
    path.reverse();
    Ok(path)
}

/// Computes the root that an inclusion proof leads to. It returns `None` if the proof does not have
/// the length that the sizes require.
pub fn root_of_inclusion(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    // The algorithm of RFC 9162, section 2.1.3.2.
    let (mut node, mut last) = (index, size - 1);
    let mut root = leaf;
    for beside in path {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            root = Hash::of_node(beside, &root);
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            root = Hash::of_node(&root, beside);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    (last == 0).then_some(root)
}

/// Returns the largest power of two below `count`, which must be at least 2.
fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// Computes the root over the leaves from `start` to `end`. `start` must be the start of a subtree
/// of that length.
fn range_root<R: HashReader + ?Sized>(start: u64, end: u64, reader: &R) -> Result<Hash, R::Error> {
    let count = end - start;
    if count == 0 {
        return Ok(Hash::of_nothing());
    }
    if count.is_power_of_two() {
        let height = count.ilog2();
        return complete(height, start >> height, reader);
    }
    let middle = start + split(count);
    let left = range_root(start, middle, reader)?;
    Ok(Hash::of_node(&left, &range_root(middle, end, reader)?))
}

/// Reads the root of the complete subtree with this height and this index among the subtrees of its
/// height.
fn complete<R: HashReader + ?Sized>(height: u32, index: u64, reader: &R) -> Result<Hash, R::Error> {
    let level = u8::try_from(height / HEIGHT).unwrap_or(u8::MAX);
    let within = height % HEIGHT;
    reader.hashes(level, index << within, 1 << within).map(|hashes| subtree_root(&hashes))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;

    use ct_merkle::mem_backed_tree::MemoryBackedTree;
    use sha2::Sha256;

    use super::*;

    /// Stores tiles in memory the way the real stores do: full tiles and leaves.
    #[derive(Default)]
    pub(crate) struct MemoryTree {
        leaves: Vec<Hash>,
        tiles: HashMap<(u8, u64), Tile>,
        edge: Edge,
    }

    impl MemoryTree {
        pub(crate) fn push(&mut self, leaf: Hash) {
            self.leaves.push(leaf);
            let tiles = &mut self.tiles;
            self.edge.append(leaf, &mut |tile| {
                assert!(tiles.insert((tile.level(), tile.index()), tile).is_none());
            });
        }
    }

    impl HashReader for MemoryTree {
        type Error = Infallible;

        fn hashes(&self, level: u8, from: u64, count: u64) -> Result<Vec<Hash>, Infallible> {
            assert_eq!(from / WIDTH, (from + count - 1) / WIDTH, "within one tile");
            let take = |hashes: &[Hash], from: u64| {
                let from = usize::try_from(from).unwrap();
                hashes[from..from + usize::try_from(count).unwrap()].to_vec()
            };
            Ok(match (self.tiles.get(&(level, from / WIDTH)), level) {
                (Some(tile), _) => take(tile.hashes(), from % WIDTH),
                (None, 0) => take(&self.leaves, from),
                (None, _) => (from..from + count)
                    .map(|below| self.tiles[&(level - 1, below)].root())
                    .collect(),
            })
        }
    }

    /// Checks the eight leaves and roots that implementations of Certificate Transparency share.
    #[test]
    fn roots_of_the_shared_vectors() {
        let leaves: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut frontier = Frontier::default();
        assert_eq!(frontier.root(), Hash::of_nothing());
        for (leaf, root) in leaves.iter().zip(roots) {
            frontier.append(Hash::of_leaf(leaf));
            assert_eq!(frontier.root().to_string(), root);
        }
    }

    /// Returns the interval at which proofs are compared. `scripts/torture` sets
    /// `ANSWERBACK_ALL_PROOFS` to compare all of them.
    fn stride() -> u64 {
        if std::env::var_os("ANSWERBACK_ALL_PROOFS").is_some() { 1 } else { 32 }
    }

    /// Compares our proofs of every size up to 1,000 with those of another implementation.
    #[test]
    fn proofs_of_every_size_equal_those_of_another_implementation() {
        let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
        let mut ours = MemoryTree::default();
        let mut frontier = Frontier::default();
        let (stride, mut compared) = (stride(), 0);
        for size in 1..=1000_u64 {
            let leaf = size.to_le_bytes().to_vec();
            ours.push(Hash::of_leaf(&leaf));
            frontier.append(Hash::of_leaf(&leaf));
            theirs.push(leaf);
            let root = frontier.root();
            assert_eq!(root.as_bytes().as_slice(), theirs.root().as_bytes().as_slice());
            assert_eq!(root_at(size, &ours), Ok(root));
            assert_eq!(frontier_at(size, &ours), Ok(frontier.clone()));
            assert_eq!(Edge::read(size, &ours), Ok(ours.edge.clone()));
            // Small sizes compare all indexes. Larger sizes compare a sample that shifts with the
            // size.
            let is_compared = |number: &u64| (number + size).is_multiple_of(stride) || size < 70;
            for index in (0..size).filter(is_compared) {
                let path = inclusion_proof(index, size, &ours).unwrap();
                let bytes: Vec<u8> = path.iter().flat_map(|hash| *hash.as_bytes()).collect();
                let at = usize::try_from(index).unwrap();
                assert_eq!(bytes, theirs.prove_inclusion(at).as_bytes(), "{index} in {size}");
                let leaf = Hash::of_leaf(&(index + 1).to_le_bytes());
                assert_eq!(root_of_inclusion(leaf, index, size, &path), Some(root));
                compared += 1;
            }
            for old in (1..size).filter(is_compared) {
                let path = consistency_proof(old, size, &ours).unwrap();
                let bytes: Vec<u8> = path.iter().flat_map(|hash| *hash.as_bytes()).collect();
                let added = usize::try_from(size - old).unwrap();
                assert_eq!(bytes, theirs.prove_consistency(added).as_bytes(), "{old} to {size}");
                compared += 1;
            }
        }
        println!("{compared} proofs are those of another implementation");
    }

    /// Checks a tree beyond the first tile of the second level, where roots of tiles are hashes of
    /// a full tile.
    #[test]
    fn proofs_across_tile_levels() {
        let mut kept = MemoryTree::default();
        let size = WIDTH * WIDTH + 3 * WIDTH + 5;
        let leaf = |index: u64| Hash::of_leaf(&index.to_le_bytes());
        (0..size).for_each(|index| kept.push(leaf(index)));
        assert!(kept.tiles.contains_key(&(1, 0)));
        let root = root_at(size, &kept).unwrap();
        for index in [0, 255, 256, WIDTH * WIDTH - 1, WIDTH * WIDTH, size - 6, size - 1] {
            let path = inclusion_proof(index, size, &kept).unwrap();
            assert_eq!(root_of_inclusion(leaf(index), index, size, &path), Some(root), "{index}");
            assert_eq!(root_of_inclusion(leaf(index), index, size, &path[1..]), None);
            let wrong = root_of_inclusion(leaf(index + 1), index, size, &path);
            assert_ne!(wrong, Some(root));
        }
        assert_eq!(Edge::read(size, &kept), Ok(kept.edge.clone()));
        assert_eq!(inclusion_proof(size, size, &kept), Ok(vec![]));
    }

    #[test]
    fn a_frontier_has_the_length_its_size_demands() {
        assert_eq!(Frontier::from_bytes(3, &[0; 32]), None);
        assert_eq!(Frontier::from_bytes(2, &[0; 33]), None);
        assert!(Frontier::from_bytes(3, &[0; 64]).is_some());
    }
}
