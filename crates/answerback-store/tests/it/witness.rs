//! Tests witnesses over real HTTP: what they sign and reject, and that the store does not wait for
//! an unreachable one.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use answerback_ledger::{SigningKey, WitnessKey};
use answerback_store::{Export, Settings, Store, Witness, WitnessError};
use answerback_verify::{VerifyOptions, VerifyReport, open, verify};

use crate::scene::{Scene, append};
use crate::witness_server::{Manner, WitnessServer};

fn known(server: &WitnessServer, store: &Store) -> Witness {
    server.know(&store.verifier_key().unwrap().to_string());
    let key = WitnessKey::parse(&server.key()).unwrap();
    Witness::new(server.url(), key).with_timeout(Duration::from_secs(2))
}

fn judged(path: &std::path::Path, witness: &str) -> VerifyReport {
    let key = answerback_verify::CosignerKey::parse(witness).unwrap();
    let options = VerifyOptions::new().with_witness(key);
    verify(open(path).unwrap().as_mut(), &options).unwrap()
}

#[test]
fn a_cosignature_is_stored_and_exported() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let witness = known(&server, &store);
    let before = judged(&scene.path("store.db"), &server.key());
    assert_eq!(before.exit_code(), 11, "{before}");
    append(&store, 300);
    let first = store.ask_witness(&witness).unwrap();
    assert_eq!((first.size, first.time), (301, 1_794_767_084));
    assert_eq!(store.checkpoint().unwrap(), first.note);
    // A cosigned checkpoint is not sent again. The next request starts from the last cosigned size.
    assert_eq!(store.ask_witness(&witness).unwrap(), first);
    append(&store, 77);
    let second = store.ask_witness(&witness).unwrap();
    assert_eq!(server.asked(), [0, 301]);
    assert_eq!(store.witnessed().unwrap(), [(witness.key().signer(), second.size)]);
    // The receipt, both exports and the file contain the cosignature.
    assert!(store.receipt(5).unwrap().to_string().contains("witness.example/w1"));
    let mut lines = Vec::new();
    store.export_jsonl(Export::new(), &mut lines, &mut |_| {}).unwrap();
    fs::write(scene.path("export.jsonl"), lines).unwrap();
    store.export_tiles(scene.path("tiles"), &mut |_| {}).unwrap();
    for name in ["store.db", "export.jsonl", "tiles"] {
        let report = judged(&scene.path(name), &server.key());
        assert_eq!(report.exit_code(), 0, "{name}\n{report}");
        assert!(!report.to_string().contains("witness"), "{name}\n{report}");
    }
    // The report says that the witness did not sign the entries after its last cosignature.
    append(&store, 3);
    let report = judged(&scene.path("store.db"), &server.key()).to_string();
    assert!(report.contains("witness.example/w1 has signed for 378 of 381 entries"), "{report}");
}

#[test]
fn a_forged_line_in_the_store_fails_at_the_signatures() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let witness = known(&server, &store);
    append(&store, 5);
    store.ask_witness(&witness).unwrap();
    append(&store, 5);
    store.ask_witness(&witness).unwrap();
    drop(store);
    // Copy the line of one checkpoint to another one.
    let behind = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    behind
        .execute_batch(
            "UPDATE cosignature SET line = (SELECT line FROM cosignature ORDER BY size LIMIT 1)",
        )
        .unwrap();
    drop(behind);
    let report = judged(&scene.path("store.db"), &server.key());
    assert_eq!(report.exit_code(), 11, "{report}");
    // A verification without this witness ignores its lines.
    let other =
        verify(open(&scene.path("store.db")).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
    assert_eq!(other.exit_code(), 0, "{other}");
}

#[test]
fn a_conflict_is_resolved_by_the_size_that_the_witness_names() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let witness = known(&server, &store);
    append(&store, 10);
    store.ask_witness(&witness).unwrap();
    append(&store, 10);
    let behind = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    behind.execute_batch("DELETE FROM cosignature").unwrap();
    server.asked();
    assert_eq!(store.ask_witness(&witness).unwrap().size, 21);
    assert_eq!(server.asked(), [0, 11]);
}

#[test]
fn a_log_that_went_back_or_forked_gets_no_signature() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let witness = known(&server, &store);
    append(&store, 10);
    drop(store);
    let old = scene.path("old.db");
    let behind = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    behind.execute("VACUUM INTO ?1", [old.to_str().unwrap()]).unwrap();
    drop(behind);
    let store = scene.open().unwrap();
    append(&store, 10);
    store.ask_witness(&witness).unwrap();
    // Without its anchor the old copy signs, but the witness remembers the newer size.
    let forked = Store::open_sqlite(&old, Settings::new(scene.path("ledger.key"))).unwrap();
    let error = forked.ask_witness(&witness).unwrap_err();
    assert!(matches!(error, WitnessError::Ahead { seen: 21, size: 11 }), "{error}");
    append(&forked, 10);
    let error = forked.ask_witness(&witness).unwrap_err();
    assert!(matches!(error, WitnessError::Inconsistent { seen: 21 }), "same size: {error}");
    append(&forked, 10);
    let error = forked.ask_witness(&witness).unwrap_err();
    assert!(matches!(error, WitnessError::Inconsistent { seen: 21 }), "longer: {error}");
    assert!(forked.witnessed().unwrap().is_empty());
}

#[test]
fn a_forged_cosignature_is_not_stored() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let key = WitnessKey::parse(&server.key()).unwrap();
    let witness = Witness::new(server.url(), key).with_timeout(Duration::from_secs(2));
    let said = |wanted: &str| {
        append(&store, 1);
        let error = store.ask_witness(&witness).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
    };
    said("does not know this log");
    server.know("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW");
    said("does not know this log");
    let other = SigningKey::new(&store.origin().unwrap(), &[9; 32]).unwrap();
    server.know(&other.verifier().to_string());
    said("does not trust the key");
    known(&server, &store);
    for (manner, wanted) in [
        (Manner::Forging, "is not one of this checkpoint"),
        (Manner::Stranger, "did not sign with the key"),
        (Manner::Status(500), "status 500"),
        (Manner::Status(302), "status 302"),
        (Manner::Status(409), "no size in a conflict"),
        (Manner::Status(200), "no signature lines"),
    ] {
        server.behave(manner);
        said(wanted);
    }
    assert!(store.witnessed().unwrap().is_empty());
    assert!(!store.checkpoint().unwrap().to_string().contains("witness"));
}

/// Checks a witness that is unreachable, and one that accepts the request but does not respond.
/// Both are reported, and appending continues.
#[test]
fn nobody_waits_for_a_witness() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    server.behave(Manner::Silent);
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let key = WitnessKey::parse(&server.key()).unwrap();
    let away = Witness::new(format!("http://{nowhere}"), key.clone());
    let silent = Witness::new(server.url(), key).with_timeout(Duration::from_millis(300));
    let settings = scene.settings().with_witness(away).with_witness(silent.clone());
    let store = Store::open_sqlite(scene.path("store.db"), settings).unwrap();
    let begun = Instant::now();
    let error = store.ask_witness(&silent).unwrap_err();
    assert!(matches!(error, WitnessError::Unreachable(_)), "{error}");
    let until = begun + Duration::from_secs(20);
    while store.stats().witness_trouble.len() < 2 {
        append(&store, 1);
        assert!(Instant::now() < until, "{:?}", store.stats());
    }
    let stats = store.stats();
    assert!(stats.witness_failures >= 2 && stats.units_failed == 0, "{stats:?}");
    assert!(stats.witness_trouble[0].contains("cannot be reached"), "{stats:?}");
    drop(store);
}

#[test]
fn a_store_that_stays_open_has_its_checkpoints_witnessed() {
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let first = scene.open().unwrap();
    let witness = known(&server, &first);
    drop(first);
    let settings = scene.settings().with_witness(witness);
    let store = Store::open_sqlite(scene.path("store.db"), settings).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    for count in [3, 300] {
        append(&store, count);
        let size = store.head().unwrap().size;
        while store.witnessed().unwrap().first().is_none_or(|(_, seen)| *seen < size) {
            assert!(Instant::now() < until, "{:?}", store.stats());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert!(store.stats().witness_trouble.is_empty());
}

/// Checks that cosignatures move with the log, and that the witness continues afterward.
#[cfg(feature = "postgres")]
#[test]
fn signatures_move_into_a_database() {
    use answerback_store::{MoveTarget, migrate};

    let Some(database) = crate::server::Server::new() else { return };
    let (scene, server) = (Scene::new(), WitnessServer::start());
    let store = scene.open().unwrap();
    let witness = known(&server, &store);
    append(&store, 300);
    let before = store.ask_witness(&witness).unwrap();
    let target = MoveTarget::postgres(&database.url("witnessed"), scene.settings()).unwrap();
    let moved = migrate(&store, target, &mut |_| {}).unwrap();
    assert_eq!(moved.checkpoints(before.size - 1, 1).unwrap(), [before.note]);
    append(&moved, 10);
    let after = moved.ask_witness(&witness).unwrap();
    assert_eq!(server.asked(), [0, before.size]);
    assert_eq!(moved.checkpoint().unwrap(), after.note);
    assert_eq!(moved.witnessed().unwrap(), [(witness.key().signer(), after.size)]);
    let mut lines = Vec::new();
    moved.export_jsonl(Export::new(), &mut lines, &mut |_| {}).unwrap();
    fs::write(scene.path("export.jsonl"), lines).unwrap();
    let report = judged(&scene.path("export.jsonl"), &server.key());
    assert_eq!(report.exit_code(), 0, "{report}");
}
