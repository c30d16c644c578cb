use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, LeafToken};
use answerback_store::{EntryFilter, Export, Settings, Store, StoreError, StoreHealth};
use answerback_verify::{NoteVerifierKey, VerifyOptions, open, verify};

use crate::crash::rounds;
use crate::proxy::{Cut, Proxy};
use crate::scene::{Scene, WORDS, acknowledged, append, tell_everything, told_key, verified};
use crate::server::Server;

/// Returns the minimum duration of a test in seconds. `scripts/torture` sets a longer one.
fn seconds() -> u64 {
    std::env::var("ANSWERBACK_POSTGRES_SECONDS").map_or(10, |seconds| seconds.parse().unwrap())
}

/// Runs eight processes that append to one chain, and kills and restarts them at random. The chain
/// must have no gap, no fork and no duplicate index, and must contain every acknowledged entry.
#[test]
fn eight_writers_are_killed_on_one_chain() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let key = scene.path("ledger.key");
    let store = Store::open_postgres(&server.url("chain"), Settings::new(&key)).unwrap();
    let until = Instant::now() + Duration::from_secs(seconds());
    let kills_each = rounds().div_ceil(8);
    let mut all = BTreeMap::new();
    let (mut kills, mut ended) = (0, 0);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8_u64)
            .map(|number| {
                let (server, key) = (&server, &key);
                scope.spawn(move || {
                    let (mut heard, mut kills, mut ended) = (Vec::new(), 0, 0);
                    let mut round = 0;
                    while Instant::now() < until || kills < kills_each {
                        let in_flight = [1, 16, 64][usize::try_from(round % 3).unwrap()];
                        let mut child = server.appender("chain", key, 1_000_000, in_flight);
                        let pause = 100 + (number * 7919 + round * 6151) % 900;
                        thread::sleep(Duration::from_millis(pause));
                        // A process that ended by itself was rejected. Print its error.
                        let is_killed = child.try_wait().unwrap().is_none();
                        child.kill().unwrap();
                        heard.extend(acknowledged(&mut child));
                        let output = child.wait_with_output().unwrap();
                        if is_killed {
                            kills += 1;
                        } else {
                            ended += 1;
                            println!("refused: {}", String::from_utf8_lossy(&output.stderr));
                        }
                        round += 1;
                    }
                    (heard, kills, ended)
                })
            })
            .collect();
        for writer in writers {
            let (heard, killed, refused) = writer.join().unwrap();
            (kills, ended) = (kills + killed, ended + refused);
            for (index, hash) in heard {
                assert_eq!(all.insert(index, hash), None, "index {index} was given twice");
            }
        }
    });
    append(&store, 1);
    let report = server.judged("chain");
    assert_eq!(report.exit_code(), 0, "{report}");
    let hashes = verified(&store);
    for (index, hash) in &all {
        let kept = hashes.get(usize::try_from(*index).unwrap());
        assert_eq!(kept.map(ToString::to_string).as_ref(), Some(hash), "entry {index}");
    }
    assert!(all.len() >= 8 && kills >= 8, "{} entries, {kills} kills", all.len());
    println!(
        "{kills} kills, {ended} ended early, {} entries acknowledged of {}; all are there",
        all.len(),
        hashes.len()
    );
    // The table for resolving commits has one row per writer, not one per batch.
    let writers: i64 =
        server.behind("chain").query_one("SELECT count(*) FROM writer", &[]).unwrap().get(0);
    assert!(writers.cast_unsigned() <= kills + ended + 1, "{writers}");
}

/// Terminates the server's sessions repeatedly while entries are written. The store must find out
/// the outcome of each commit: no acknowledged entry is missing, and none is duplicated.
#[test]
fn ended_backends_neither_lose_nor_double() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let settings = Settings::new(scene.path("ledger.key"));
    let name = server.schema("ended");
    let url = format!("{}&application_name={name}", server.url("ended"));
    let store = Store::open_postgres(&url, settings).unwrap();
    let until = Instant::now() + Duration::from_secs(seconds().min(60) / 2);
    let (mut given, mut refused, mut ends) = (Vec::new(), 0_u64, 0_i64);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut given, mut refused, mut number) = (Vec::new(), 0, 0_u64);
            while Instant::now() < until {
                let tickets: Vec<_> = (0..16)
                    .map(|_| {
                        number += 1;
                        let body = format!("entry number {number}").into_bytes();
                        let part = store.part("seen", body).unwrap();
                        (number, store.append(Draft::request().with_part(part)).unwrap())
                    })
                    .collect();
                for (number, ticket) in tickets {
                    match ticket.wait() {
                        Ok(done) => given.push((number, done.value)),
                        Err(_) => {
                            refused += 1;
                            thread::sleep(Duration::from_millis(5));
                        }
                    }
                }
            }
            (given, refused)
        });
        let mut behind = server.behind("ended");
        let mut pause = 3;
        while !writer.is_finished() {
            pause = (pause * 31 + 7) % 47;
            // Leave enough time for a batch to complete, even on a busy machine.
            thread::sleep(Duration::from_millis(100 + 5 * pause));
            let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE application_name = $1";
            ends += behind.query_one(sql, &[&name]).unwrap().get::<_, i64>(0);
        }
        (given, refused) = writer.join().unwrap();
    });
    // The last write may just have failed. The store recovers by itself.
    let healed = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        store.append(Draft::request()).unwrap().wait().is_ok()
    });
    assert!(healed && store.stats().health == StoreHealth::Good);
    let hashes = verified(&store);
    let mut bodies: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for index in 0..hashes.len() as u64 {
        for part in store.entry(index).unwrap().unwrap().parts {
            assert_eq!(bodies.insert(part.bytes().to_vec(), index), None, "doubled at {index}");
        }
    }
    for (number, appended) in &given {
        let body = format!("entry number {number}").into_bytes();
        assert_eq!(bodies.get(&body), Some(&appended.index), "entry number {number}");
        assert_eq!(hashes[usize::try_from(appended.index).unwrap()], appended.leaf_hash);
    }
    println!("{ends} backends ended, {} acknowledged, {refused} refused", given.len());
    assert!(ends > 5 && given.len() > 30, "{ends} ends, {} given", given.len());
}

/// Cuts the connection at the commit: before it reaches the server, or after it, so that only the
/// response is lost. In both cases the unit is acknowledged once and is in the log once.
#[test]
fn a_commit_with_a_lost_response_is_resolved() {
    let Some(server) = Server::new() else { return };
    for (name, cut) in [("lost", Cut::BeforeCommit), ("kept", Cut::AfterCommit)] {
        let scene = Scene::new();
        let proxy = Proxy::new(server.address(), cut);
        let url = server.url(name).replace(&server.address(), &proxy.address());
        let store = Store::open_postgres(&url, Settings::new(scene.path("ledger.key"))).unwrap();
        append(&store, 3);
        for round in 0..5_u64 {
            proxy.arm();
            let part = store.part("seen", format!("{round}").into_bytes()).unwrap();
            let done = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap();
            assert_eq!(done.value.index, 4 + round, "{name}");
            assert_eq!(proxy.cuts(), round + 1, "{name}");
        }
        assert_eq!((store.head().unwrap().size, store.stats().poisonings), (9, 0), "{name}");
        verified(&store);
        // A batch without entries leaves no trace in the tree, but must be resolved too.
        proxy.arm();
        let put = store.write(|transaction| transaction.put_blob(b"blob", None)).unwrap().wait();
        assert!(store.blob(&put.unwrap().value).unwrap().is_some(), "{name}");
    }
}

/// Checks that a commit is reported as in doubt if the server stays unreachable.
#[test]
fn a_server_that_stays_away_leaves_a_commit_in_doubt() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let proxy = Proxy::new(server.address(), Cut::ForGood);
    let url = server.url("away").replace(&server.address(), &proxy.address());
    let settings =
        Settings::new(scene.path("ledger.key")).with_lock_timeout(Duration::from_millis(200));
    let store = Store::open_postgres(&url, settings).unwrap();
    proxy.arm();
    let doubt = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(doubt, StoreError::InDoubt(_)), "{doubt}");
    assert!(matches!(store.stats().health, StoreHealth::Poisoned { .. }));
}

/// Checks that the log's rows are protected against accidental changes, and that a changed head is
/// detected.
#[test]
fn rows_of_the_log_are_guarded() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let settings = Settings::new(scene.path("ledger.key"));
    let store = Store::open_postgres(&server.url("guarded"), settings).unwrap();
    append(&store, 300);
    let mut behind = server.behind("guarded");
    for sql in [
        "UPDATE entry SET leaf = ''",
        "DELETE FROM entry",
        "DELETE FROM entry WHERE seq = 299",
        "TRUNCATE entry",
        "UPDATE tile SET data = ''",
        "DELETE FROM tile",
        "UPDATE checkpoint SET note = ''",
        "DELETE FROM checkpoint",
        "TRUNCATE checkpoint",
    ] {
        assert!(behind.batch_execute(sql).is_err(), "{sql}");
    }
    behind.batch_execute("UPDATE head SET root = sha256('')").unwrap();
    let refused = store.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
}

/// Checks that erased text is no longer found, even by a handle that fills the index at the same
/// time.
#[test]
fn erased_words_are_not_found() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let settings = Settings::new(scene.path("ledger.key")).with_full_text(true);
    let store = Store::open_postgres(&server.url("words"), settings).unwrap();
    let part = store.part("seen", *b"marmalade \0 and toast").unwrap();
    let index = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap().value.index;
    append(&store, 300);
    let text = EntryFilter::default().with_text("marmalade");
    let reaches = |size: u64| {
        let late = Instant::now() + Duration::from_secs(20);
        while store.stats().text_position < size {
            assert!(Instant::now() < late, "the index does not follow");
            thread::sleep(Duration::from_millis(10));
        }
    };
    reaches(store.head().unwrap().size);
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 1);
    store.erase(index, LeafToken::new("seen").unwrap(), Basis::Request).unwrap().wait().unwrap();
    reaches(store.head().unwrap().size);
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 0);
    let mut behind = server.behind("words");
    let held = "SELECT count(*) FROM text_words WHERE words @@ 'marmalade'::tsquery";
    assert_eq!(behind.query_one(held, &[]).unwrap().get::<_, i64>(0), 0);
    assert_eq!(store.stats().warnings, Vec::<String>::new());
}

/// Checks that schemas of other programs or of later versions are not changed, and that reading
/// creates nothing.
#[test]
fn foreign_schemas_are_left_alone() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let open = |name: &str| {
        Store::open_postgres(&server.url(name), Settings::new(scene.path("ledger.key")))
    };
    let missing = Store::read_postgres(&server.url("none")).unwrap_err();
    assert!(missing.to_string().contains("there is no store"), "{missing}");
    let mut behind = server.behind("foreign");
    let schema = server.schema("foreign");
    behind.batch_execute(&format!("CREATE SCHEMA {schema}; CREATE TABLE somebodys()")).unwrap();
    let error = open("foreign").unwrap_err().to_string();
    assert!(error.contains("another's") && !error.contains("damaged"), "{error}");
    append(&open("later").unwrap(), 2);
    let read = Store::read_postgres(&server.url("later")).unwrap();
    assert_eq!(read.head().unwrap().size, 3);
    assert!(matches!(read.append(Draft::request()), Err(StoreError::Closed)));
    let version = "UPDATE meta SET value = '99' WHERE key = 'tables'";
    server.behind("later").batch_execute(version).unwrap();
    let error = open("later").unwrap_err().to_string();
    assert!(error.contains("version 99") && error.contains("a newer program"), "{error}");
    let unknown = Store::read_postgres("postgres://nobody:s3cret@127.0.0.1:1/none").unwrap_err();
    assert!(!unknown.to_string().contains("s3cret"), "{unknown}");
}

/// Exports a log whose first key was in a pruned entry, and checks it with the verifier.
#[test]
fn a_log_pruned_beyond_a_change_of_keys_verifies() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let settings = Settings::new(scene.path("ledger.key"));
    let store = Store::open_postgres(&server.url("rotated"), settings).unwrap();
    let first = store.first_key().unwrap();
    append(&store, 10);
    store.rotate_key().unwrap().wait().unwrap();
    let second = store.verifier_key().unwrap();
    append(&store, 300);
    store.rotate_key().unwrap().wait().unwrap();
    let pruned = store.prune(290, &mut |_| ()).unwrap();
    assert_eq!((pruned.below, pruned.removed), (256, 256));
    append(&store, 5);
    assert!(first != second && store.first_key().unwrap() == second);
    let path = scene.path("export.jsonl");
    let mut lines = Vec::new();
    store.export_jsonl(Export::new(), &mut lines, &mut |_| {}).unwrap();
    std::fs::write(&path, lines).unwrap();
    store.export_tiles(scene.path("tiles"), &mut |_| {}).unwrap();
    for path in [path, scene.path("tiles")] {
        for key in [&second, &store.verifier_key().unwrap()] {
            let key = NoteVerifierKey::parse(&key.to_string()).unwrap();
            let options = VerifyOptions::new().with_vkey(key);
            let report = verify(open(&path).unwrap().as_mut(), &options).unwrap();
            assert_eq!(report.exit_code(), 0, "{report}");
            assert_eq!((report.from, report.size), (256, store.head().unwrap().size));
        }
        // The old key does not sign any of the remaining entries.
        let gone = NoteVerifierKey::parse(&first.to_string()).unwrap();
        let options = VerifyOptions::new().with_vkey(gone);
        let report = verify(open(&path).unwrap().as_mut(), &options).unwrap();
        assert_eq!(report.exit_code(), 11, "{report}");
    }
}

/// Checks that a task on a runtime's thread may read, as an HTTP server does between two messages.
#[test]
fn a_task_of_a_runtime_may_read() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let settings = Settings::new(scene.path("ledger.key"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let store = Store::open_postgres(&server.url("task"), settings).unwrap();
    let size = store.head().unwrap().size;
    runtime.block_on(async {
        let reading = tokio::spawn(async move {
            let size = store.head().unwrap().size;
            drop(store);
            size
        });
        assert_eq!(reading.await.unwrap(), size);
    });
}

/// Searches the rows of all tables except entries for a word, both as text and in hex.
fn rows_with(server: &Server, name: &str, word: &str) -> Vec<String> {
    let mut client = server.behind(name);
    let sql = "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = $1";
    let tables = client.query(sql, &[&server.schema(name)]).unwrap();
    let spelled: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut found = Vec::new();
    for table in tables {
        let table: String = table.get(0);
        let sql = format!(
            "SELECT count(*) FROM {table} AS row WHERE row::text ILIKE '%' || $1 || '%' OR row::text LIKE '%' || $2 || '%'"
        );
        let count: i64 = client.query_one(&sql, &[&word, &spelled]).unwrap().get(0);
        if count > 0 {
            found.push(table);
        }
    }
    found
}

/// Checks that erasing or pruning an entry also removes the data that comes from it.
#[test]
fn erased_and_pruned_content_is_in_no_row() {
    let Some(server) = Server::new() else { return };
    for name in ["erased", "pruned"] {
        let scene = Scene::new();
        let store = Store::open_postgres(&server.url(name), scene.settings()).unwrap();
        let entries = tell_everything(&store);
        append(&store, 300);
        store.rebuild_text().unwrap();
        for word in WORDS {
            assert!(!rows_with(&server, name, word).is_empty(), "{word}");
        }
        if name == "erased" {
            for index in entries {
                let part = LeafToken::new("seen").unwrap();
                store.erase(index, part, Basis::Request).unwrap().wait().unwrap();
            }
        } else {
            store.prune(256, &mut |_| ()).unwrap();
        }
        store.update_text().unwrap();
        for word in WORDS {
            assert_eq!(rows_with(&server, name, word), [""; 0], "{word}");
        }
        assert!(store.is_scrubbed().unwrap());
        assert_eq!(store.retry_state(&told_key()).unwrap(), None);
    }
}

/// Adopts a log after the database was restored from a backup, without the later rows.
#[test]
fn a_restored_database_is_adopted() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let url = server.url("adopted");
    let open = || Store::open_postgres(&url, scene.settings());
    append(&open().unwrap(), 3);
    let (schema, backup) = (server.schema("adopted"), server.schema("backup"));
    let mut client = server.behind("adopted");
    // A second schema with the same rows serves as the dump.
    let copy = |client: &mut ::postgres::Client, from: &str, to: &str| {
        for table in ["meta", "head", "entry", "part", "tile", "checkpoint"] {
            let sql = format!("CREATE TABLE {to}.{table} AS TABLE {from}.{table}");
            client.batch_execute(&sql).unwrap();
        }
    };
    client.batch_execute(&format!("CREATE SCHEMA {backup}")).unwrap();
    copy(&mut client, &schema, &backup);
    append(&open().unwrap(), 5);
    for table in ["meta", "head", "entry", "part", "tile", "checkpoint"] {
        client
            .batch_execute(&format!(
                "ALTER TABLE {schema}.{table} DISABLE TRIGGER USER; DELETE FROM {schema}.{table};
                 INSERT INTO {schema}.{table} SELECT * FROM {backup}.{table};
                 ALTER TABLE {schema}.{table} ENABLE TRIGGER USER"
            ))
            .unwrap();
    }
    let adopt = |settings: &Settings| Store::adopt_postgres(&url, settings);
    crate::adopt::is_adopted(&scene, &open, &adopt, (4, 9));
    assert_eq!(server.judged("adopted").exit_code(), 0);
}

#[test]
fn an_edited_block_is_found_in_a_database() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let url = server.url("states");
    let store = Store::open_postgres(&url, scene.settings()).unwrap();
    crate::states::block(&store);
    drop(store);
    let now = crate::states::now();
    let report = || {
        let (url, schema) = answerback_store::postgres_place(&url).unwrap();
        let mut source = answerback_verify::Postgres::open(&url, &schema).unwrap();
        crate::states::report_at(&mut source, now)
    };
    assert_eq!(report().exit_code(), 0, "{}", report());
    let mut client = server.behind("states");
    let tables = ["case_record", "case_source", "attempt", "attempt_source"];
    for table in tables {
        client.batch_execute(&format!("CREATE TABLE old_{table} AS TABLE {table}")).unwrap();
    }
    for (sql, words) in crate::states::EDITS_OF_A_BLOCK {
        client.batch_execute("DELETE FROM attempt_source").unwrap();
        client.batch_execute(sql).unwrap();
        let report = report();
        assert_eq!(report.exit_code(), 15, "{sql}: {report}");
        assert!(report.to_string().contains(words), "{sql}: {report}");
        client
            .batch_execute("DELETE FROM case_source; DELETE FROM case_record; DELETE FROM attempt")
            .unwrap();
        for table in tables {
            client
                .batch_execute(&format!("INSERT INTO {table} SELECT * FROM old_{table}"))
                .unwrap();
        }
    }
}
