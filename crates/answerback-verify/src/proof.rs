//! Checks inclusion and consistency proofs with the iterative algorithms of RFC 9162 (2.1.3.2 and
//! 2.1.4.2).

use crate::hash::MerkleHash;

/// True if the path proves that a leaf is at `index` in the tree with this size and root.
pub fn inclusion_holds(
    leaf: MerkleHash,
    index: u64,
    size: u64,
    path: &[MerkleHash],
    root: MerkleHash,
) -> bool {
    if index >= size {
        return false;
    }
    let (mut position, mut last) = (index, size - 1);
    let mut computed = leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if position & 1 == 1 || position == last {
            computed = MerkleHash::of_node(sibling, &computed);
            // At the right edge, a node without a sibling moves up unchanged.
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            computed = MerkleHash::of_node(&computed, sibling);
        }
        position >>= 1;
        last >>= 1;
    }
    last == 0 && computed == root
}

/// True if the path proves that the tree of `new_size` and `new_root` extends the one of `old_size`
/// and `old_root`.
pub fn consistency_holds(
    old_size: u64,
    old_root: MerkleHash,
    new_size: u64,
    new_root: MerkleHash,
    path: &[MerkleHash],
) -> bool {
    if old_size == 0 {
        // Every tree extends the empty one.
        return path.is_empty() && old_root == MerkleHash::of_nothing();
    }
    if old_size >= new_size {
        return old_size == new_size && path.is_empty() && old_root == new_root;
    }
    // A complete old tree is its own starting point, and the path omits it.
    let (start, rest) = if old_size.is_power_of_two() {
        (old_root, path)
    } else {
        let Some((first, rest)) = path.split_first() else { return false };
        (*first, rest)
    };
    let shift = (old_size - 1).trailing_ones();
    let (mut position, mut last) = ((old_size - 1) >> shift, (new_size - 1) >> shift);
    let (mut old, mut new) = (start, start);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if position & 1 == 1 || position == last {
            old = MerkleHash::of_node(sibling, &old);
            new = MerkleHash::of_node(sibling, &new);
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            new = MerkleHash::of_node(&new, sibling);
        }
        position >>= 1;
        last >>= 1;
    }
    last == 0 && old == old_root && new == new_root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{
        root_of,
        tests::{ROOTS, leaves},
    };

    fn hashes(texts: &[&str]) -> Vec<MerkleHash> {
        texts.iter().map(|text| MerkleHash::from_hex(text.as_bytes()).unwrap()).collect()
    }

    /// Checks the published paths over the eight known leaves.
    #[test]
    fn known_paths() {
        let leaves = leaves();
        let root = |size: usize| MerkleHash::from_hex(ROOTS[size].as_bytes()).unwrap();
        let inclusion = hashes(&[
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]);
        assert!(inclusion_holds(leaves[5], 5, 8, &inclusion, root(8)));
        assert!(!inclusion_holds(leaves[5], 4, 8, &inclusion, root(8)));
        assert!(!inclusion_holds(leaves[5], 5, 7, &inclusion, root(7)));
        assert!(!inclusion_holds(leaves[5], 5, 8, &inclusion[..2], root(8)));
        assert!(inclusion_holds(leaves[0], 0, 1, &[], root(1)));

        let consistency = hashes(&[
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]);
        assert!(consistency_holds(6, root(6), 8, root(8), &consistency));
        assert!(!consistency_holds(5, root(5), 8, root(8), &consistency));
        assert!(!consistency_holds(6, root(6), 8, root(7), &consistency));
    }

    #[test]
    fn edges_of_consistency() {
        let leaves = leaves();
        let root = |size: usize| root_of(leaves[..size].iter().copied());
        assert!(consistency_holds(0, MerkleHash::of_nothing(), 3, root(3), &[]));
        assert!(!consistency_holds(0, root(1), 3, root(3), &[]));
        assert!(consistency_holds(3, root(3), 3, root(3), &[]));
        assert!(!consistency_holds(3, root(3), 3, root(4), &[]));
        assert!(!consistency_holds(4, root(4), 3, root(3), &[]));
        assert!(!consistency_holds(3, root(3), 4, root(4), &[]));
        assert!(consistency_holds(1, root(1), 2, root(2), &[leaves[1]]));
    }
}
