use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, LeafToken};
use answerback_store::{EntryFilter, Settings, Store, StoreError, StoreHealth, Transaction};
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

/// Checks recovery from a power cut, which can leave any prefix of the last writes. The file is cut
/// at every 512 bytes of its tail. The store that opens must contain a complete prefix of the true
/// log.
#[test]
fn a_torn_write_ahead_log_loses_only_the_last_transactions() {
    let scene = Scene::new();
    let store = Store::open_sqlite(scene.path("store.db"), Settings::new(scene.path("ledger.key")))
        .unwrap();
    (0..6).for_each(|_| append(&store, 1));
    let whole = verified(&store);
    // Copy the files as they are on the disk while the writer has them open.
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
            // A log that lost everything starts again. Otherwise it must be a prefix.
            let same = hashes.iter().zip(&whole).take_while(|(one, other)| one == other).count();
            assert!(same == hashes.len() || same == 0 && hashes.len() == 1, "cut at {cut}");
            sizes.push(same);
        }
    }
    assert!(sizes.is_sorted() && sizes.last() == Some(&whole.len()), "{sizes:?}");
    assert!(zeroed.last() == Some(&whole.len()) && sizes.first() < sizes.last());
    println!("{} cut or zeroed tails, each a whole log", sizes.len() + zeroed.len());
}

/// Checks that a restored backup is behind the anchor and does not sign a second history.
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

/// Checks that changed rows are detected when the store is opened, and by a writer that has it
/// open. The writer stops acknowledging until the rows are restored.
#[test]
fn changed_rows_poison_the_store_until_they_are_restored() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    append(&store, 300);
    let behind = Connection::open(scene.path("store.db")).unwrap();
    for sql in [
        "UPDATE entry SET leaf = x'00'",
        "DELETE FROM entry",
        "DELETE FROM tile",
        "UPDATE checkpoint SET note = ''",
    ] {
        assert!(behind.execute(sql, []).is_err(), "{sql}");
    }
    let root: Vec<u8> = behind.query_row("SELECT root FROM head", [], |row| row.get(0)).unwrap();
    behind.execute("UPDATE head SET root = zeroblob(32)", []).unwrap();
    let refused = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    assert!(matches!(store.stats().health, StoreHealth::Poisoned { .. }));
    assert!(matches!(scene.open(), Err(StoreError::Damaged(_))));
    std::thread::sleep(std::time::Duration::from_millis(60));
    let refused = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(refused, StoreError::Poisoned(_)), "{refused}");
    behind.execute("UPDATE head SET root = ?1", [root]).unwrap();
    // The store recovers by itself after the pause.
    let healed = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        store.append(Draft::request()).unwrap().wait().is_ok()
    });
    assert!(healed && store.stats().health == StoreHealth::Good);
    verified(&store);
}

/// Counts the scene's files that contain these bytes. It ignores case, because the full-text index
/// stores words in lower case.
fn holding(scene: &Scene, needle: &[u8]) -> usize {
    let needle = needle.to_ascii_lowercase();
    let files = fs::read_dir(scene.path("")).unwrap().map(|file| file.unwrap().path());
    let holds = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).unwrap().to_ascii_lowercase();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    files.filter(holds).count()
}

/// Returns the words that some file of the scene contains.
fn words_left(scene: &Scene) -> Vec<&'static str> {
    WORDS.into_iter().filter(|word| holding(scene, word.as_bytes()) > 0).collect()
}

fn wait_for_text(store: &Store) {
    let size = store.head().unwrap().size;
    while store.stats().text_position < size || !store.is_scrubbed().unwrap() {
        std::thread::yield_now();
    }
}

/// Checks that after an erasure no file of the store contains the content or its salt. The same
/// holds for everything else from the entry: events, blobs, retry states, people's words on cases,
/// and words in the index.
#[test]
fn erased_content_is_in_no_file() {
    let scene = Scene::new();
    let store =
        Store::open_sqlite(scene.path("store.db"), scene.settings().with_full_text(true)).unwrap();
    let entries = tell_everything(&store);
    append(&store, 300);
    wait_for_text(&store);
    let salt = *store.entry(entries[0]).unwrap().unwrap().parts[0].salt().as_bytes();
    let text = EntryFilter::default().with_text("quinceRequest");
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 1);
    assert_eq!(words_left(&scene), WORDS);
    assert!(holding(&scene, b"quinceRequest") >= 2 && holding(&scene, &salt) >= 1);
    for index in entries {
        store
            .erase(index, LeafToken::new("seen").unwrap(), Basis::Request)
            .unwrap()
            .wait()
            .unwrap();
    }
    // The index also processes the erasure entry, in case it was behind.
    wait_for_text(&store);
    assert_eq!((words_left(&scene), holding(&scene, &salt)), (vec![], 0));
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 0);
    assert_eq!(store.retry_state(&told_key()).unwrap(), None);
    verified(&store);
    judged(&scene.path("store.db"));
}

/// Checks that pruning removes the same content as erasing, in several steps, and leaves a valid
/// log.
#[test]
fn pruned_content_is_in_no_file() {
    let scene = Scene::new();
    let store =
        Store::open_sqlite(scene.path("store.db"), scene.settings().with_full_text(true)).unwrap();
    tell_everything(&store);
    // Append in two batches, because the queue rejects more than its limit.
    (0..2).for_each(|_| append(&store, 2500));
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

/// Checks an erasure while a reader uses an older state. The erasure completes and others can
/// write, but the store reports that the scrub is pending. The next writer scrubs after the reader
/// is done.
#[test]
fn erased_content_is_scrubbed_after_the_last_reader() {
    let scene = Scene::new();
    // With this timeout, any code that waits for the reader would hang the test.
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
        store
            .erase(index, LeafToken::new("seen").unwrap(), Basis::Request)
            .unwrap()
            .wait()
            .unwrap();
    }
    store.update_text().unwrap();
    append(&store, 3);
    assert!(!store.is_scrubbed().unwrap() && !words_left(&scene).is_empty());
    // The scrub request stays in the store after the erasing process ends.
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

/// Checks the same with a killed process: the store still contains the scrub request.
#[test]
fn the_next_writer_scrubs_for_a_killed_process() {
    let scene = Scene::new();
    drop(scene.open().unwrap());
    let reader = Connection::open(scene.path("store.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let mut child = scene.appender_that("erase", 3, 1);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("erased 5 ")));
    // The process waits for the end of its input, which does not come.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Store::read_sqlite(scene.path("store.db")).unwrap().is_scrubbed().unwrap());
    assert!(holding(&scene, b"quince") > 0 && holding(&scene, b"quinceState") > 0);
    reader.execute_batch("COMMIT").unwrap();
    let store = scene.open().unwrap();
    append(&store, 1);
    assert!(store.is_scrubbed().unwrap());
    assert_eq!(holding(&scene, b"quince"), 0);
    verified(&store);
}

/// Kills a process between two steps of a prune. The log must be valid and start later, and the
/// same call must continue.
#[test]
fn a_prune_that_is_killed_between_its_steps_can_go_on() {
    let scene = Scene::new();
    let mut child = scene.appender_that("prune", 9000, 256);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "pruned 4096"));
    // The process waits for a line of input before the next step.
    child.kill().unwrap();
    child.wait().unwrap();
    judged(&scene.path("store.db"));
    let store = scene.open().unwrap();
    assert_eq!((store.head().unwrap().minimum, store.entry(4095).unwrap()), (4096, None));
    let mut steps = Vec::new();
    store.prune(9000, &mut |step| steps.push((step.below, step.removed))).unwrap();
    assert_eq!(steps, [(8192, 4096), (8960, 768)]);
    judged(&scene.path("store.db"));
}

/// Checks that a row that a constraint rejects is reported as such and not as damage, and that
/// other units continue.
#[test]
fn a_refused_row_is_no_damage() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    let behind = Connection::open(scene.path("store.db")).unwrap();
    behind
        .execute_batch(
            "CREATE TRIGGER somebodys BEFORE INSERT ON blob BEGIN SELECT RAISE(ABORT, 'no blobs here'); END",
        )
        .unwrap();
    let unit = |transaction: &mut dyn Transaction| transaction.put_blob(b"blob", None);
    let error = store.write(unit).unwrap().wait().unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(error.to_string(), "the store refused a row: no blobs here");
    append(&store, 2);
    assert_eq!((store.stats().health, store.stats().poisonings), (StoreHealth::Good, 0));
    verified(&store);
}

/// Checks that files of other programs or of later versions are not changed.
#[test]
fn foreign_files_are_left_alone() {
    let scene = Scene::new();
    let foreign = Connection::open(scene.path("store.db")).unwrap();
    foreign.execute_batch("CREATE TABLE somebodys(x)").unwrap();
    let error = scene.open().unwrap_err().to_string();
    assert!(error.contains("another's") && !error.contains("damaged"), "{error}");
    let scene = Scene::new();
    drop(scene.open().unwrap());
    let later = Connection::open(scene.path("store.db")).unwrap();
    later.execute_batch("PRAGMA user_version = 99").unwrap();
    let error = scene.open().unwrap_err().to_string();
    assert!(error.contains("version 99") && error.contains("a newer program"), "{error}");
    fs::write(scene.path("store.db"), "not a database, but long enough to be looked at").unwrap();
    assert!(scene.open().is_err());
}

/// Checks that reading needs no key and creates nothing.
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
