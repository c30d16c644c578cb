use answerback::case::{Case, CaseKind};
use answerback::{Digest, Timestamp, UuidV7};
use answerback_ledger::leaf::Basis;
use answerback_ledger::tree::consistency_proof;
use answerback_ledger::{Checkpoint, Draft, LeafKind, LeafToken};
use answerback_store::{
    CaseFilter, EntryFilter, MoveProgress, MoveTarget, NewCase, Store, StoreError, entry_reference,
    migrate,
};

use crate::scene::{Scene, append, tell_everything, told_key, verified};
use crate::server::Server;

fn target(scene: &Scene, server: &Server, name: &str) -> MoveTarget {
    MoveTarget::postgres(&server.url(name), scene.settings()).unwrap()
}

/// Creates a log with data in every table.
fn filled(scene: &Scene) -> (Store, Digest) {
    let store = scene.open().unwrap();
    append(&store, 700);
    tell_everything(&store);
    let blob = store
        .write(|transaction| {
            let request = transaction.append(&Draft::request().with_tool("moved"))?;
            let reference = entry_reference(request.index);
            transaction.append_event("stream", "row", Some(&reference), b"body")?;
            transaction.append_event("stream", "row", None, b"more")?;
            let id = UuidV7::from_time(Timestamp::from_unix_millis(1000), [1; 10]);
            let expires = Timestamp::from_unix_millis(1 << 45);
            let case = Case::new(id, CaseKind::Question, Digest::of_bytes(b"shown"), expires);
            transaction.put_case(&NewCase::new(case, *b"shown").with_private(*b"sealed"))?;
            transaction.put_blob(b"blob", Some(&reference))
        })
        .unwrap()
        .wait()
        .unwrap()
        .value;
    let part = store.part("seen", *b"to be erased").unwrap();
    let index = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap().value.index;
    store.erase(index, LeafToken::new("seen").unwrap(), Basis::Request).unwrap().wait().unwrap();
    (store, blob)
}

/// Checks that a moved log continues with its origin, key and root, that a proof spans the move,
/// and that the old store accepts no entries.
#[test]
fn a_proof_spans_the_move() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let (old, blob) = filled(&scene);
    let (head, key) = (old.head().unwrap(), old.verifier_key().unwrap());
    let before = Checkpoint::read(&old.checkpoint().unwrap()).unwrap();
    let receipt = old.receipt(300).unwrap();
    let mut seen: Vec<MoveProgress> = Vec::new();
    let new = migrate(&old, target(&scene, &server, "moved"), &mut |step| seen.push(step)).unwrap();
    assert!(seen.iter().any(|step| step.step == "check" && step.of == Some(step.done)));
    assert_eq!(new.origin().unwrap(), old.origin().unwrap());
    assert_eq!((new.verifier_key().unwrap(), new.first_key().unwrap()), (key.clone(), key.clone()));
    assert_eq!(new.head().unwrap().size, head.size + 1);
    let said = new.entry(head.size).unwrap().unwrap().leaf;
    assert_eq!((said.kind(), said.text("subject")), (LeafKind::Config, Some("migrate")));
    append(&new, 20);
    verified(&new);
    // The new store serves the hashes that lead from the old checkpoint's root to the new one's.
    let after = Checkpoint::read(&new.checkpoint().unwrap()).unwrap();
    let proof = new.consistency(before.size(), after.size()).unwrap();
    let source = Served(&new);
    assert_eq!(proof, consistency_proof(before.size(), after.size(), &source).unwrap());
    let root = answerback_ledger::tree::root_at(before.size(), &source).unwrap();
    assert_eq!(root, before.root());
    assert!(receipt.verify(&key).is_ok() && new.receipt(300).unwrap().verify(&key).is_ok());
    // The data outside the log was moved too, and removed data stayed removed.
    assert_eq!(new.blob(&blob).unwrap().as_deref(), Some(b"blob".as_slice()));
    assert_eq!(new.events(0, None, 9).unwrap().events, old.events(0, None, 9).unwrap().events);
    let cases = |store: &Store| store.cases(&CaseFilter::default(), None, 9).unwrap();
    assert_eq!((cases(&new), cases(&new).cases.len()), (cases(&old), 2));
    let state = new.retry_state(&told_key()).unwrap();
    assert!(state.is_some() && state == old.retry_state(&told_key()).unwrap());
    assert_eq!(new.entry(head.size - 2).unwrap().unwrap().parts.len(), 0);
    let known = old.checkpoints(0, 2000).unwrap();
    assert_eq!(new.checkpoints(0, known.len()).unwrap(), known);
    // The references of cases and retry states were moved, so later erasures still work.
    let behind = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        server.behind("moved").query_one(&sql, &[]).unwrap().get(0)
    };
    assert_eq!((behind("case_source"), behind("attempt_source")), (3, 1));
    // The old store can be read, but open and newly opened handles cannot write.
    assert_eq!(old.entries(&EntryFilter::default(), None, 9).unwrap().entries.len(), 9);
    let refused = old.append(Draft::request()).unwrap().wait().unwrap_err();
    assert!(refused.to_string().contains("the log was moved to schema"), "{refused}");
    drop(old);
    assert!(matches!(scene.open(), Err(StoreError::Moved(_))));
    let read = Store::read_sqlite(scene.path("store.db")).unwrap();
    assert_eq!(read.head().unwrap(), head);
    // The old store cannot be moved to a second place.
    let other = migrate(&read, target(&scene, &server, "other"), &mut |_| ());
    assert!(matches!(other, Err(StoreError::Moved(_))), "{other:?}");
    // A copy from before the move lacks the mark, but its anchor is ahead of it.
    drop(new);
    let copy = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    copy.execute("DELETE FROM meta WHERE key = 'moved'", []).unwrap();
    assert!(matches!(scene.open(), Err(StoreError::Diverged(_))));
}

/// Reads hashes through a store.
struct Served<'a>(&'a Store);

impl answerback_ledger::tree::HashReader for Served<'_> {
    type Error = StoreError;

    fn hashes(
        &self,
        level: u8,
        from: u64,
        count: u64,
    ) -> Result<Vec<answerback_ledger::Hash>, StoreError> {
        self.0.hashes(level, from, count)
    }
}

/// Checks that a pruned log can be moved, that a target with a log is rejected, and that a damaged
/// source is detected before it is marked.
#[test]
fn only_a_valid_log_moves_and_only_to_an_empty_store() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let (old, _) = filled(&scene);
    old.prune(512, &mut |_| ()).unwrap();
    let other = Scene::new();
    drop(Store::open_postgres(&server.url("taken"), other.settings()).unwrap());
    let taken = migrate(&old, target(&scene, &server, "taken"), &mut |_| ()).unwrap_err();
    assert!(taken.to_string().contains("there is a log in"), "{taken}");
    // The log could not continue with another key, so nothing is moved.
    let stranger = MoveTarget::postgres(&server.url("keyless"), other.settings()).unwrap();
    assert!(matches!(migrate(&old, stranger, &mut |_| ()), Err(StoreError::Key(_))));
    let behind = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    behind.execute_batch("DROP TRIGGER entry_update").unwrap();
    let leaf: Vec<u8> =
        behind.query_row("SELECT leaf FROM entry WHERE seq = 600", [], |row| row.get(0)).unwrap();
    behind.execute("UPDATE entry SET leaf = x'7b7d' WHERE seq = 600", []).unwrap();
    let damaged = migrate(&old, target(&scene, &server, "moved"), &mut |_| ()).unwrap_err();
    assert!(damaged.to_string().contains("what was copied is not the log"), "{damaged}");
    assert!(Store::read_postgres(&server.url("moved")).is_err(), "half a log was left behind");
    behind.execute("UPDATE entry SET leaf = ?1 WHERE seq = 600", [leaf]).unwrap();
    append(&old, 1);
    let new = migrate(&old, target(&scene, &server, "moved"), &mut |_| ()).unwrap();
    assert_eq!(new.head().unwrap().minimum, 512);
    assert!(!new.consistency(300, new.head().unwrap().size).unwrap().is_empty());
    assert!(new.entry(511).unwrap().is_none());
}

/// Checks that repeating a move continues after an interruption between the mark and the commit.
#[test]
fn an_interrupted_move_is_run_again() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    let (old, _) = filled(&scene);
    let size = old.head().unwrap().size;
    let mark = rusqlite::Connection::open(scene.path("store.db")).unwrap();
    let place = {
        // The mark with the name of the target, as the first move leaves it.
        let probe = Scene::new();
        let store = probe.open().unwrap();
        append(&store, 1);
        drop(migrate(&store, target(&probe, &server, "moved"), &mut |_| ()).unwrap());
        let read = rusqlite::Connection::open(probe.path("store.db")).unwrap();
        let sql = "SELECT value FROM meta WHERE key = 'moved'";
        read.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let drop_schema = format!("DROP SCHEMA {} CASCADE", server.schema("moved"));
    server.behind("moved").batch_execute(&drop_schema).unwrap();
    mark.execute("INSERT INTO meta VALUES ('moved', ?1)", [&place]).unwrap();
    assert!(old.append(Draft::request()).unwrap().wait().is_err());
    let new = migrate(&old, target(&scene, &server, "moved"), &mut |_| ()).unwrap();
    assert_eq!(new.head().unwrap().size, size + 1);
    verified(&new);
}
