//! Adopts logs that were restored from an older copy.

use std::fs;

use answerback_ledger::anchor::Divergence;
use answerback_ledger::{Anchor, FileAnchor};
use answerback_store::{AdoptionOutcome, Settings, Store, StoreError};
use rusqlite::Connection;

use crate::scene::{Scene, append, judged};

/// Checks the adoption of a log in any engine. `open` opens the log, and `adopt` adopts it.
pub(crate) fn is_adopted(
    scene: &Scene,
    open: &dyn Fn() -> Result<Store, StoreError>,
    adopt: &dyn Fn(&Settings) -> Result<AdoptionOutcome, StoreError>,
    (size, anchored): (u64, u64),
) {
    let before = fs::read(scene.path("anchor")).unwrap();
    let refused = open().unwrap_err();
    assert!(matches!(refused, StoreError::Diverged(Divergence::Behind { .. })), "{refused}");
    assert!(refused.to_string().contains("ledger adopt"), "{refused}");
    let adopted = adopt(&scene.settings()).unwrap();
    assert_eq!((adopted.index, adopted.size, adopted.anchored), (size, size, anchored));
    assert_eq!(fs::read(&adopted.backups[0]).unwrap(), before);
    let again = adopt(&scene.settings()).unwrap_err();
    assert!(again.to_string().contains("no rollback to adopt"), "{again}");

    let store = open().unwrap();
    let entry = store.entry(size).unwrap().unwrap();
    assert_eq!(entry.leaf.text("subject"), Some("migrate"));
    assert_eq!(entry.leaf.text("outcome"), Some("adopted"));
    let part = String::from_utf8(entry.parts[0].bytes().to_vec()).unwrap();
    assert!(part.contains(&format!("\"size\":\"{anchored}\"")), "{part}");
    append(&store, 3);
    drop(store);
    let newest = FileAnchor::new(scene.path("anchor")).newest().unwrap().unwrap();
    assert_eq!(newest.size(), size + 4);
    assert_eq!(open().unwrap().head().unwrap().size, size + 4);
}

#[test]
fn a_restored_file_is_adopted() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    append(&store, 3);
    drop(store);
    let settle = Connection::open(scene.path("store.db")).unwrap();
    settle.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(settle);
    fs::copy(scene.path("store.db"), scene.path("backup.db")).unwrap();
    let store = scene.open().unwrap();
    append(&store, 5);
    drop(store);
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(scene.path(&format!("store.db{ending}")));
    }
    fs::copy(scene.path("backup.db"), scene.path("store.db")).unwrap();
    let path = scene.path("store.db");
    let adopt = |settings: &Settings| Store::adopt_sqlite(&path, settings);
    is_adopted(&scene, &|| scene.open(), &adopt, (4, 9));
    judged(&path);
    // A holder of the old checkpoints still detects that the history differs.
    let old = fs::read_to_string(scene.path("anchor.before-adopt-1")).unwrap();
    let options =
        answerback_verify::VerifyOptions::new().with_checkpoints("old anchor", &old).unwrap();
    let mut source = answerback_verify::open(&path).unwrap();
    let report = answerback_verify::verify(source.as_mut(), &options).unwrap();
    assert_eq!(report.exit_code(), 14, "{report}");
    assert!(report.to_string().contains("restored from an older copy"), "{report}");
}

#[test]
fn only_a_log_that_is_there_is_adopted() {
    let scene = Scene::new();
    let adopted = Store::adopt_sqlite(scene.path("store.db"), &scene.settings());
    assert!(adopted.is_err());
    append(&scene.open().unwrap(), 1);
    let other = Scene::new();
    append(&other.open().unwrap(), 1);
    let settings = Settings::new(scene.path("ledger.key")).with_anchor_file(other.path("anchor"));
    let stranger = Store::adopt_sqlite(scene.path("store.db"), &settings).unwrap_err();
    assert!(matches!(stranger, StoreError::Diverged(Divergence::Stranger { .. })), "{stranger}");
}
