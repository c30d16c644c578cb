use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, Token};
use answerback_store::{Filter, Health, Settings, Store, StoreError, Transaction};
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
    // Not all at once: more than the queue holds is refused, however fast the writer is.
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

/// As above, but the process that erased is killed: what it left to be done stands in the store.
#[test]
fn what_a_killed_process_erased_goes_with_the_next_writer() {
    let scene = Scene::new();
    drop(scene.open().unwrap());
    let reader = Connection::open(scene.path("store.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let mut child = scene.appender_that("erase", 3, 1);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("erased 5 ")));
    // It waits for its input to end, which does not happen.
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

/// Whoever prunes is killed between two steps: the log is whole, begins later, and the same call again goes on.
#[test]
fn a_prune_that_is_killed_between_its_steps_can_go_on() {
    let scene = Scene::new();
    let mut child = scene.appender_that("prune", 9000, 256);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "pruned 4096"));
    // It waits for a line of its input before the next step.
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

/// A row that a rule of the tables keeps out is told as that: nothing is damaged, and other units go on.
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
    assert_eq!((store.stats().health, store.stats().poisonings), (Health::Good, 0));
    verified(&store);
}

/// Files that are not ours, or of a later version, are left alone.
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
