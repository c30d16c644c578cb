use std::collections::BTreeMap;

use crate::scene::{Scene, acknowledged, judged, verified};

/// Checks that four processes can write to one file while this process reads it.
#[test]
fn several_processes_share_one_file() {
    const EACH: u64 = 150;
    let scene = Scene::new();
    let reader = scene.open().unwrap();
    let mut children: Vec<_> = (0..4).map(|number| scene.appender(EACH, 1 + number * 3)).collect();
    // A concurrent reader must see a consistent log at every moment.
    let mut seen = 0;
    while seen < 2 * EACH {
        let head = reader.head().unwrap();
        assert!(head.size >= seen && head.frontier.root() == head.root);
        seen = head.size;
        let key = reader.verifier_key().unwrap();
        assert!(reader.receipt(seen - 1).unwrap().verify(&key).is_ok());
    }
    let mut all = BTreeMap::new();
    for child in &mut children {
        for (index, hash) in acknowledged(child) {
            assert_eq!(all.insert(index, hash), None, "an index was given twice");
        }
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(all.len() as u64, 4 * EACH);
    judged(&scene.path("store.db"));
    let hashes = verified(&reader);
    assert_eq!(hashes.len() as u64, 4 * EACH + 1);
    for (index, hash) in all {
        assert_eq!(hashes[usize::try_from(index).unwrap()].to_string(), hash);
    }
}
