use std::fs;
use std::path::Path;

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, Token};
use answerback_store::{Filter, Health, Settings, Store, StoreError};
use rusqlite::Connection;

use crate::scene::{Scene, WORDS, append, judged, tell_everything, told_key, verified};

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

/// How many of the scene's files hold this, in whatever case: the index for full text keeps its words in lower case.
fn holding(scene: &Scene, needle: &[u8]) -> usize {
    let needle = needle.to_ascii_lowercase();
    let files = fs::read_dir(scene.path("")).unwrap().map(|file| file.unwrap().path());
    let holds = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).unwrap().to_ascii_lowercase();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    files.filter(holds).count()
}

/// The words that a file of the scene holds.
fn words_left(scene: &Scene) -> Vec<&'static str> {
    WORDS.into_iter().filter(|word| holding(scene, word.as_bytes()) > 0).collect()
}

fn wait_for_text(store: &Store) {
    let size = store.head().unwrap().size;
    while store.stats().text_position < size || !store.is_scrubbed().unwrap() {
        std::thread::yield_now();
    }
}

/// After an erasure no file of the store holds the content, nor its salt; nor what else came from the entry: events,
/// blobs, retry states, cases with what people said of them, words in the index.
#[test]
fn erased_content_is_in_no_file() {
    let scene = Scene::new();
    let store =
        Store::open_sqlite(scene.path("store.db"), scene.settings().with_full_text(true)).unwrap();
    let entries = tell_everything(&store);
    append(&store, 300);
    wait_for_text(&store);
    let salt = *store.entry(entries[0]).unwrap().unwrap().parts[0].salt().as_bytes();
    let text = Filter::default().with_text("quinceRequest");
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 1);
    assert_eq!(words_left(&scene), WORDS);
    assert!(holding(&scene, b"quinceRequest") >= 2 && holding(&scene, &salt) >= 1);
    for index in entries {
        store.erase(index, Token::new("seen").unwrap(), Basis::Request).unwrap().wait().unwrap();
    }
    // The index follows the erasure's entry, in case it had been behind.
    wait_for_text(&store);
    assert_eq!((words_left(&scene), holding(&scene, &salt)), (vec![], 0));
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 0);
    assert_eq!(store.attempt(&told_key()).unwrap(), None);
    verified(&store);
    judged(&scene.path("store.db"));
}

/// Pruning takes along what erasing does, in several steps, and what is left is a whole log.
#[test]
fn pruned_content_is_in_no_file() {
    let scene = Scene::new();
    let store =
        Store::open_sqlite(scene.path("store.db"), scene.settings().with_full_text(true)).unwrap();
    tell_everything(&store);
    append(&store, 5000);
    wait_for_text(&store);
    assert_eq!(words_left(&scene), WORDS);
    let mut steps = Vec::new();
    let done = store.prune(4999, &mut |step| steps.push((step.below, step.removed))).unwrap();
    assert_eq!(steps, [(4096, 4096), (4864, 768)]);
    assert_eq!((done.below, done.removed), (4864, 4864));
    wait_for_text(&store);
    assert_eq!(words_left(&scene), [""; 0]);
    assert_eq!(store.head().unwrap().minimum, 4864);
    judged(&scene.path("store.db"));
}

/// Somebody reads an older state while content is erased. Nobody waits for them: the erasure is answered, others write,
/// and the store says that it is not done. The next writer sees to it when they have gone.
#[test]
fn what_is_read_while_it_is_erased_goes_later() {
    let scene = Scene::new();
    // Whoever waited would wait for longer than a test may take.
    let settings = || scene.settings().with_lock_timeout(std::time::Duration::from_hours(1));
    let open = || Store::open_sqlite(scene.path("store.db"), settings()).unwrap();
    let store = open();
    let entries = tell_everything(&store);
    store.rebuild_text().unwrap();
    let readers = ["store.db", "store.db-text"].map(|name| {
        let reader = Connection::open(scene.path(name)).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
        reader
    });
    for index in entries {
        store.erase(index, Token::new("seen").unwrap(), Basis::Request).unwrap().wait().unwrap();
    }
    store.update_text().unwrap();
    append(&store, 3);
    assert!(!store.is_scrubbed().unwrap() && !words_left(&scene).is_empty());
    // The process that erased ends, and the mark stays.
    drop(store);
    assert!(!Store::read_sqlite(scene.path("store.db")).unwrap().is_scrubbed().unwrap());
    for reader in &readers {
        reader.execute_batch("COMMIT").unwrap();
    }
    let store = open();
    append(&store, 1);
    store.update_text().unwrap();
    assert!(store.is_scrubbed().unwrap());
    assert_eq!(words_left(&scene), [""; 0]);
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
