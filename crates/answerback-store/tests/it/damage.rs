use std::fs;
use std::path::Path;

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, Token};
use answerback_store::{Filter, Health, Settings, Store, StoreError};
use rusqlite::Connection;

use crate::scene::{Scene, append, verified};

fn copy_store(from: &Path, to: &Path) {
    for ending in ["", "-wal"] {
        let name = format!("store.db{ending}");
        if from.join(&name).exists() {
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// A power cut can leave any beginning of the last writes: the file is cut at every 512 bytes of its
/// tail, and what opens is a whole log that is a beginning of the true one.
#[test]
fn a_torn_tail_is_a_shorter_whole_log() {
    let scene = Scene::new();
    let store = Store::open_sqlite(scene.path("store.db"), Settings::new(scene.path("ledger.key")))
        .unwrap();
    (0..6).for_each(|_| append(&store, 1));
    let whole = verified(&store);
    // A copy as the disk would have it, while the writer still has it open.
    let torn = Scene::new();
    copy_store(scene.path("").as_path(), torn.path("").as_path());
    let log = fs::read(torn.path("store.db-wal")).unwrap();
    let main = fs::read(torn.path("store.db")).unwrap();
    fs::copy(scene.path("ledger.key"), torn.path("ledger.key")).unwrap();
    let (mut sizes, mut zeroed) = (Vec::new(), Vec::new());
    let from = log.len().saturating_sub(24 * 1024);
    for cut in (from..=log.len()).step_by(512) {
        for (tail, sizes) in [(false, &mut sizes), (true, &mut zeroed)] {
            let mut kept = log[..cut].to_vec();
            if tail {
                kept.resize(log.len(), 0);
            }
            fs::write(torn.path("store.db"), &main).unwrap();
            fs::write(torn.path("store.db-wal"), kept).unwrap();
            let _ = fs::remove_file(torn.path("store.db-shm"));
            let settings = Settings::new(torn.path("ledger.key"));
            let opened = Store::open_sqlite(torn.path("store.db"), settings).unwrap();
            let hashes = verified(&opened);
            // Opening a log that lost everything starts it anew; else it is a beginning.
            let same = hashes.iter().zip(&whole).take_while(|(one, other)| one == other).count();
            assert!(same == hashes.len() || same == 0 && hashes.len() == 1, "cut at {cut}");
            sizes.push(same);
        }
    }
    assert!(sizes.is_sorted() && sizes.last() == Some(&whole.len()), "{sizes:?}");
    assert!(zeroed.last() == Some(&whole.len()) && sizes.first() < sizes.last());
    println!("{} cut or zeroed tails, each a whole log", sizes.len() + zeroed.len());
}

/// A restored backup is behind the anchor, and does not sign a second history.
#[test]
fn a_restored_backup_does_not_sign() {
    let scene = Scene::new();
    append(&scene.open().unwrap(), 3);
    let backup = Scene::new();
    copy_store(scene.path("").as_path(), backup.path("").as_path());
    append(&scene.open().unwrap(), 3);
    copy_store(backup.path("").as_path(), scene.path("").as_path());
    let _ = fs::remove_file(scene.path("store.db-shm"));
    let refused = scene.open().unwrap_err();
    assert!(matches!(refused, StoreError::Diverged(_)), "{refused}");
    assert!(refused.to_string().contains("restore the newer one"), "{refused}");
}

/// Somebody who changes rows behind our back is noticed when the store is opened, or by the writer that
/// has it open: it stops acknowledging until the store is whole again.
#[test]
fn changed_rows_poison_until_they_are_whole_again() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    append(&store, 3);
    let behind = Connection::open(scene.path("store.db")).unwrap();
    for sql in [
        "UPDATE entry SET leaf = x'00'",
        "DELETE FROM entry",
        "DELETE FROM tile",
        "UPDATE checkpoint SET note = ''",
    ] {
        let refused = behind.execute(sql, []);
        // There is no full tile yet, so nothing to guard.
        assert!(refused.is_err() || sql.contains("tile"), "{sql}");
    }
    let root: Vec<u8> = behind.query_row("SELECT root FROM head", [], |row| row.get(0)).unwrap();
    behind.execute("UPDATE head SET root = zeroblob(32)", []).unwrap();
    let refused = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    assert!(matches!(store.stats().health, Health::Poisoned { .. }));
    assert!(matches!(scene.open(), Err(StoreError::Damaged(_))));
    std::thread::sleep(std::time::Duration::from_millis(60));
    let refused = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(refused, StoreError::Poisoned(_)), "{refused}");
    behind.execute("UPDATE head SET root = ?1", [root]).unwrap();
    // It heals by itself, once its pause is over.
    let healed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        store.append(Draft::request()).unwrap().wait().is_ok()
    });
    assert!(healed && store.stats().health == Health::Good);
    verified(&store);
}

/// After an erasure no file of the store holds the content, nor its salt.
#[test]
fn erased_content_is_in_no_file() {
    let scene = Scene::new();
    let store =
        Store::open_sqlite(scene.path("store.db"), scene.settings().with_full_text(true)).unwrap();
    let secret = b"zanzibarMarmaladeQuintessence";
    let part = store.part("seen", [secret.as_slice(), b" and more"].concat()).unwrap();
    let salt = *part.salt().as_bytes();
    let index = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap().value.index;
    append(&store, 300);
    while store.stats().text_position < 300 {
        std::thread::yield_now();
    }
    let text = Filter::default().with_text("zanzibarMarmaladeQuintessence");
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 1);
    let holding = |needle: &[u8]| {
        let files = fs::read_dir(scene.path("")).unwrap().map(|file| file.unwrap().path());
        // FTS5 keeps its words in lower case.
        let holds = |path: &std::path::PathBuf| {
            let bytes = fs::read(path).unwrap().to_ascii_lowercase();
            bytes.windows(needle.len()).any(|window| window == needle.to_ascii_lowercase())
        };
        files.filter(holds).count()
    };
    assert!(holding(secret) >= 2 && holding(&salt) >= 1);
    store.erase(index, Token::new("seen").unwrap(), Basis::Request).unwrap().wait().unwrap();
    // The index follows the erasure's entry, in case it had been behind.
    let size = store.head().unwrap().size;
    while store.stats().text_position < size {
        std::thread::yield_now();
    }
    assert_eq!((holding(secret), holding(&salt)), (0, 0));
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 0);
    verified(&store);
}

/// Files that are not ours, or of a later version, are left alone.
#[test]
fn foreign_files_are_left_alone() {
    let scene = Scene::new();
    let foreign = Connection::open(scene.path("store.db")).unwrap();
    foreign.execute_batch("CREATE TABLE somebodys(x)").unwrap();
    assert!(scene.open().unwrap_err().to_string().contains("another's"));
    let scene = Scene::new();
    drop(scene.open().unwrap());
    let later = Connection::open(scene.path("store.db")).unwrap();
    later.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(scene.open().unwrap_err().to_string().contains("version 99"));
    fs::write(scene.path("store.db"), "not a database, but long enough to be looked at").unwrap();
    assert!(scene.open().is_err());
}

/// Reading needs no key and creates nothing.
#[test]
fn reading_alone_writes_nothing() {
    let scene = Scene::new();
    assert!(Store::read_sqlite(scene.path("store.db")).is_err());
    assert!(!scene.path("store.db").exists());
    append(&scene.open().unwrap(), 2);
    let store = Store::read_sqlite(scene.path("store.db")).unwrap();
    assert_eq!(store.head().unwrap().size, 3);
    assert!(matches!(store.append(Draft::request()), Err(StoreError::Closed)));
}
