//! Checks proofs and roots against an independent implementation of RFC 6962.

use answerback_verify::{MerkleHash, TreeFrontier, consistency_holds, inclusion_holds, root_of};
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use sha2::Sha256;

fn hashes(proof: &[u8]) -> Vec<MerkleHash> {
    proof.chunks_exact(32).map(|hash| MerkleHash::try_from(hash).unwrap()).collect()
}

/// Checks every entry and every pair of sizes for trees of up to 200 entries, and a sample for up
/// to 1,000.
#[test]
fn proofs_of_another_implementation_hold_and_altered_ones_do_not() {
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    let mut frontier = TreeFrontier::new();
    let mut roots = vec![MerkleHash::of_nothing()];
    let mut leaves = Vec::new();
    let (mut inclusions, mut consistencies) = (0_u64, 0_u64);
    for size in 1..=1_000_u64 {
        let value = format!("entry {size}").into_bytes();
        let leaf = MerkleHash::of_leaf(&value);
        leaves.push(leaf);
        tree.push(value);
        frontier.push(leaf);
        let root = MerkleHash::try_from(tree.root().as_bytes().as_slice()).unwrap();
        assert_eq!(frontier.root(), root, "size {size}");
        roots.push(root);
        let step = if size <= 200 { 1 } else { 131 };
        for index in (0..size).step_by(step) {
            let path = hashes(tree.prove_inclusion(usize::try_from(index).unwrap()).as_bytes());
            let leaf = leaves[usize::try_from(index).unwrap()];
            assert!(inclusion_holds(leaf, index, size, &path, root), "{index} in {size}");
            assert!(!inclusion_holds(root, index, size, &path, root) || size == 1);
            assert!(!inclusion_holds(leaf, index, size, &path, leaf) || size == 1);
            assert!(!inclusion_holds(leaf, size, size, &path, root));
            if let Some((_, shorter)) = path.split_last() {
                assert!(!inclusion_holds(leaf, index, size, shorter, root));
                assert!(!inclusion_holds(leaf, index ^ 1, size, &path, root));
            }
            assert!(!inclusion_holds(leaf, index, size, &[path, vec![root]].concat(), root));
            inclusions += 1;
        }
        for old in (1..size).step_by(step) {
            let added = usize::try_from(size - old).unwrap();
            let path = hashes(tree.prove_consistency(added).as_bytes());
            let old_root = roots[usize::try_from(old).unwrap()];
            assert!(consistency_holds(old, old_root, size, root, &path), "{old} to {size}");
            assert!(!consistency_holds(old, root, size, root, &path));
            assert!(!consistency_holds(old, old_root, size, old_root, &path));
            assert!(!consistency_holds(old, old_root, size, root, &path[1..]));
            assert!(!consistency_holds(old, old_root, size, root, &[path, vec![root]].concat()));
            consistencies += 1;
        }
    }
    assert_eq!(root_of(leaves), roots[1_000]);
    assert!(inclusions > 20_000 && consistencies > 20_000, "{inclusions} {consistencies}");
}
