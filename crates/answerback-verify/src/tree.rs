//! Computes the tree of RFC 6962 forward, as a frontier of complete subtrees that grows one entry
//! at a time.

use crate::hash::MerkleHash;

/// The roots of a tree's complete subtrees, largest first. They suffice to append entries and to
/// compute the root.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TreeFrontier {
    size: u64,
    subtrees: Vec<MerkleHash>,
}

impl TreeFrontier {
    /// Creates the frontier of the empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a frontier from the roots of its complete subtrees, largest first. Returns `None` if
    /// their number does not match the size.
    pub fn from_subtrees(size: u64, subtrees: Vec<MerkleHash>) -> Option<Self> {
        (subtrees.len() == size.count_ones() as usize).then_some(Self { size, subtrees })
    }

    /// Returns the number of entries in the tree.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the roots of the complete subtrees, largest first.
    pub fn subtrees(&self) -> &[MerkleHash] {
        &self.subtrees
    }

    /// Appends an entry by its leaf hash.
    pub fn push(&mut self, leaf: MerkleHash) {
        self.push_observed(leaf, |_, _| {});
    }

    /// Appends an entry, and calls `complete` with the height and root of every subtree that it
    /// completes.
    pub(crate) fn push_observed(
        &mut self,
        leaf: MerkleHash,
        mut complete: impl FnMut(u32, MerkleHash),
    ) {
        let mut root = leaf;
        complete(0, root);
        for height in 1..=self.size.trailing_ones() {
            // The size has one bit set per subtree. Each trailing one bit is a subtree to merge
            // with.
            let Some(left) = self.subtrees.pop() else { break };
            root = MerkleHash::of_node(&left, &root);
            complete(height, root);
        }
        self.subtrees.push(root);
        self.size += 1;
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> MerkleHash {
        let mut subtrees = self.subtrees.iter().rev();
        let Some(&smallest) = subtrees.next() else { return MerkleHash::of_nothing() };
        subtrees.fold(smallest, |right, left| MerkleHash::of_node(left, &right))
    }
}

/// Computes the root over leaf hashes.
pub fn root_of(leaves: impl IntoIterator<Item = MerkleHash>) -> MerkleHash {
    let mut frontier = TreeFrontier::new();
    for leaf in leaves {
        frontier.push(leaf);
    }
    frontier.root()
}

#[cfg(test)]
pub(crate) mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// The eight leaves that Certificate Transparency implementations use in tests.
    pub(crate) const LEAVES: [&str; 8] = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];

    /// The roots for the sizes 0 to 8.
    pub(crate) const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    pub(crate) fn leaves() -> Vec<MerkleHash> {
        LEAVES
            .iter()
            .map(|leaf| MerkleHash::of_leaf(&HEXLOWER.decode(leaf.as_bytes()).unwrap()))
            .collect()
    }

    #[test]
    fn published_roots() {
        let leaves = leaves();
        for (size, expected) in ROOTS.iter().enumerate() {
            assert_eq!(
                root_of(leaves[..size].iter().copied()).to_string(),
                *expected,
                "size {size}"
            );
        }
    }

    #[test]
    fn goes_on_from_its_subtrees() {
        let leaves = leaves();
        let mut whole = TreeFrontier::new();
        for leaf in &leaves[..5] {
            whole.push(*leaf);
        }
        let mut resumed = TreeFrontier::from_subtrees(5, whole.subtrees().to_vec()).unwrap();
        resumed.push(leaves[5]);
        assert_eq!(resumed.root().to_string(), ROOTS[6]);
        assert_eq!(TreeFrontier::from_subtrees(6, vec![leaves[0]]), None);
    }
}
