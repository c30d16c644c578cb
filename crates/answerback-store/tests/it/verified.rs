//! Checks the store's output with the verifier, which shares no code with it.

use std::fs;
use std::path::Path;

use answerback::Digest;
use answerback_ledger::leaf::{Basis, ClaimedFlags, GovernanceVerdict, Subject};
use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::Store;
use answerback_verify::{NoteVerifierKey, VerifyOptions, VerifyReport, open, verify};
use rusqlite::Connection;

use crate::scene::{Scene, append};

const PROMPT: &str = "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c";
const MANIFEST: &str = r#"{"version":"1.0.0","domains":{"domain-02":{"name":"Analysis","file":"02.md","canonical_id":"domain-02-analysis","version":"1.0.0","scope":"analysis"}},"archetypes":{}}"#;

fn token(text: &str) -> LeafToken {
    LeafToken::new(text).unwrap()
}

fn wait(store: &Store, draft: Draft) -> u64 {
    store.append(draft).unwrap().wait().unwrap().value.index
}

/// Appends a manifest, a lock, and a governed response under them.
fn governed(store: &Store) -> u64 {
    let lock = format!(
        r#"{{"version":"1.0.0","lockfileVersion":1,"algorithm":"SHA-256","prompts":{{"domain-02":{{"file":"02.md","hash":"{PROMPT}","type":"domain","version":"1.0.0"}}}}}}"#
    );
    let of = |text: &str| Digest::of_bytes(text.as_bytes());
    for (subject, text) in [(Subject::Manifest, MANIFEST), (Subject::Lock, lock.as_str())] {
        let part = store.part(subject.as_str(), text.as_bytes()).unwrap();
        wait(store, Draft::config(subject).with_sha256(of(text)).with_part(part));
    }
    let id = LeafId::from([0x42; 16]);
    let seen = store.part("as_seen", *b"{\"city\":\"Oslo\"}").unwrap();
    wait(store, Draft::request().with_request_id(id).with_tool("weather.now").with_part(seen));
    let claimed = ClaimedFlags {
        within_scope: true,
        boundaries_respected: true,
        quality_standards_met: true,
        constraints_followed: true,
    };
    let response = Draft::response()
        .with_request_id(id)
        .with_response_id(LeafId::from([0x43; 16]))
        .with_reply_id(LeafId::from([0x44; 16]))
        .with_agent(&token("domain-02-analysis"), &token("domain"), &token("1.0.0"))
        .with_prompt(Digest::try_from(PROMPT.to_owned()).unwrap())
        .with_governance(of(MANIFEST), of(&lock))
        .with_claimed(claimed)
        .with_verdict(GovernanceVerdict::Accepted, [])
        .with_outcome(&token("ok"))
        .with_part(store.part("response", *b"{\"answer\":\"sunny\"}").unwrap());
    wait(store, response)
}

/// Writes entries of every kind, full tiles, an erasure, a key rotation and a prune, and opens the
/// store a second time.
pub(crate) fn written(scene: &Scene) {
    let store = scene.open().unwrap();
    append(&store, 300);
    let answered = governed(&store);
    let reply = LeafId::from([0x55; 16]);
    wait(&store, Draft::rejected().with_reply_id(reply).with_codes([token("GOV-001")]));
    wait(&store, Draft::validation(1, 3).with_unknown_tool("no such tool").with_reply_id(reply));
    let (case, digest) = (LeafId::from([0x66; 16]), Digest::of_bytes(b"shown"));
    wait(&store, Draft::escalation(case, digest, 1).with_attempt(3, 3));
    wait(&store, Draft::decision(case, token("approve"), digest, 1));
    store.erase(answered, token("response"), Basis::Request).unwrap().wait().unwrap();
    store.rotate_key().unwrap().wait().unwrap();
    store.prune(290, &mut |_| ()).unwrap();
    append(&store, 300);
    drop(store);
    let store = scene.open().unwrap();
    append(&store, 3);
    wait(&store, Draft::config(Subject::Stop));
}

fn judged(path: &Path) -> VerifyReport {
    verify(open(path).unwrap().as_mut(), &VerifyOptions::new()).unwrap()
}

#[test]
fn the_verifier_accepts_every_kind_of_entry() {
    let scene = Scene::new();
    written(&scene);
    let path = scene.path("store.db");
    let store = Store::read_sqlite(&path).unwrap();
    let key = NoteVerifierKey::parse(&store.verifier_key().unwrap().to_string()).unwrap();
    let anchor = fs::read_to_string(scene.path("anchor")).unwrap();
    let options = VerifyOptions::new().with_vkey(key).with_checkpoints("anchor", &anchor).unwrap();
    let report = verify(open(&path).unwrap().as_mut(), &options).unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!((report.from, report.erased_parts), (256, 1), "{report}");
    assert!(report.levels.iter().all(|level| level.checked > 0), "{report}");
    let head = store.head().unwrap();
    assert_eq!((report.size, report.root), (head.size, head.root.to_string()));
}

/// Changes by an attacker without the key, and the lowest level that detects each.
const TAMPERINGS: &[(&str, u8)] = &[
    ("UPDATE checkpoint SET note = replace(note, char(10) || '— ', char(10) || '—  ')", 11),
    ("UPDATE head SET note = replace(note, char(10) || '— ', char(10) || '—  ')", 11),
    ("UPDATE head SET note = (SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1)", 11),
    ("UPDATE meta SET value = value || 'x' WHERE key = 'origin'", 11),
    (
        "UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'vkey') WHERE key = 'signer'",
        12,
    ),
    ("UPDATE entry SET leaf = CAST(replace(CAST(leaf AS TEXT), 'weather', 'Weather') AS BLOB)", 12),
    ("UPDATE head SET note = ''", 12),
    ("UPDATE entry SET reply_id = NULL", 12),
    ("UPDATE entry SET tool = 'other' WHERE seq = 300", 12),
    ("DELETE FROM entry WHERE seq = 400", 12),
    ("DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry)", 12),
    ("UPDATE tile SET root = zeroblob(32) WHERE level = 0 AND n = 1", 12),
    ("UPDATE tile SET data = zeroblob(8192) WHERE level = 0 AND n = 0", 12),
    ("DELETE FROM tile WHERE n = 1", 12),
    (
        "UPDATE head SET minimum = 512; UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'signer') WHERE key = 'vkey'; DELETE FROM part WHERE seq < 512; DELETE FROM entry WHERE seq < 512",
        12,
    ),
    ("UPDATE part SET bytes = x'00' WHERE name = 'as_seen'", 13),
    ("UPDATE part SET salt = zeroblob(32) WHERE name = 'as_seen'", 13),
    ("DELETE FROM part WHERE name = 'lock'", 13),
];

#[test]
fn the_verifier_finds_every_tampering() {
    let scene = Scene::new();
    written(&scene);
    // Move everything into the one file that is copied.
    let settle = Connection::open(scene.path("store.db")).unwrap();
    settle.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(settle);
    for (number, (sql, expected)) in TAMPERINGS.iter().enumerate() {
        let copy = scene.path(&format!("copy-{number}.db"));
        fs::copy(scene.path("store.db"), &copy).unwrap();
        let behind = Connection::open(&copy).unwrap();
        let guards: Vec<String> = {
            let mut names =
                behind.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").unwrap();
            names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        for guard in guards {
            behind.execute_batch(&format!("DROP TRIGGER {guard}")).unwrap();
        }
        assert_eq!(judged(&copy).exit_code(), 0, "the guards are not part of the log");
        behind.execute_batch(sql).unwrap();
        assert!(behind.changes() > 0, "{sql}");
        let report = judged(&copy);
        assert_eq!(report.exit_code(), *expected, "{sql}\n{report}");
    }
}

/// Checks that an old copy is valid in itself, but fails against the anchor.
#[test]
fn a_rolled_back_store_fails_against_its_anchor() {
    let scene = Scene::new();
    append(&scene.open().unwrap(), 3);
    fs::copy(scene.path("store.db"), scene.path("old.db")).unwrap();
    append(&scene.open().unwrap(), 3);
    let anchor = fs::read_to_string(scene.path("anchor")).unwrap();
    let options = VerifyOptions::new().with_checkpoints("anchor", &anchor).unwrap();
    let old = scene.path("old.db");
    assert_eq!(judged(&old).exit_code(), 0);
    assert_eq!(verify(open(&old).unwrap().as_mut(), &options).unwrap().exit_code(), 14);
}
