//! Compares cases and retry states with the log: the verifier must detect rows that were edited or
//! deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use answerback::case::{Decision, DecisionSubmission};
use answerback::finding::ValidationError;
use answerback::retry::{
    AttemptOutcome, Context, HideSecrets, RetryEvent, RetryKey, RetryPolicy, Sent, TrackedCall,
    step,
};
use answerback::{Severity, UuidV7};
use answerback_ledger::leaf::Basis;
use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::{NewCase, Store, Transaction, entry_reference};
use answerback_verify::{LogSource, VerifyOptions, VerifyReport, open, verify};
use rusqlite::Connection;
use serde_json::json;

use crate::scene::{Scene, append};

fn key() -> RetryKey {
    RetryKey::of_conversation("thread", "read_file")
}

/// Blocks a key, as the last failing attempt of a call does, and returns the case.
pub(crate) fn block(store: &Store) -> UuidV7 {
    let seen = store.part("seen", *b"{\"path\":1}").unwrap();
    let unit = move |transaction: &mut dyn Transaction| {
        let now = transaction.now();
        let arguments = json!({ "path": 1 });
        let findings = [ValidationError::new("VAL-002", Severity::Error)];
        let call =
            TrackedCall::new("read_file", "call-1", Sent::Value(&arguments), &findings, [7; 10]);
        let policy = RetryPolicy::from(1);
        let context = Context::new(&policy, &HideSecrets, now);
        let step = step(None, RetryEvent::Call(call), &context);
        let AttemptOutcome::Blocked(blocked) = step.outcome else { panic!("{:?}", step.outcome) };
        let call = transaction.append(&Draft::validation(1, 1).with_part(seen.clone()))?;
        let reference = entry_reference(call.index);
        let case = blocked.escalation.case(step.state.as_ref().unwrap().expires());
        let shown = serde_json::to_vec(&blocked.escalation).unwrap();
        let new = NewCase::new(case.clone(), shown)
            .with_reference(reference.clone())
            .with_source(reference.clone())
            .with_blocked_key(&key());
        transaction.put_case(&new)?;
        let id = LeafId::try_from(&case.id).unwrap();
        transaction.append(&Draft::escalation(id, case.digest, case.revision))?;
        assert!(transaction.replace_retry_state(&key(), None, step.state.as_ref())?);
        transaction.add_attempt_source(&key(), &reference)?;
        Ok(case.id)
    };
    store.write(unit).unwrap().wait().unwrap().value
}

/// Decides a case, as a person does in a client.
pub(crate) fn decide(store: &Store, id: &UuidV7, decision: Decision) {
    let (id, said) = (id.clone(), store.part("decision", *b"{}").unwrap());
    let unit = move |transaction: &mut dyn Transaction| {
        let case = transaction.case(&id)?.unwrap().case;
        let submission = DecisionSubmission::about(&case, decision.clone()).with_by("operator");
        let record = transaction.decide_case(&id, &submission)?;
        let kept = transaction.retry_state(&key())?.unwrap();
        let policy = RetryPolicy::default();
        let context = Context::new(&policy, &HideSecrets, transaction.now());
        let event = RetryEvent::Decision { case: &id, decision: &decision };
        let state = step(Some(kept.state), event, &context).state;
        assert!(transaction.replace_retry_state(&key(), Some(kept.revision), state.as_ref())?);
        let word = LeafToken::new(decision.kind().as_str()).unwrap();
        let id = LeafId::try_from(&record.case.id).unwrap();
        let draft = Draft::decision(id, word, record.case.digest, record.case.revision);
        let appended = transaction.append(&draft.with_part(said.clone()))?;
        transaction.add_words_source(&record.case.id, &entry_reference(appended.index))
    };
    store.write(unit).unwrap().wait().unwrap();
}

/// Removes a retry state, as a call that runs despite its blocked key could.
fn release(store: &Store) {
    let unit = |transaction: &mut dyn Transaction| {
        let kept = transaction.retry_state(&key())?.unwrap();
        transaction.replace_retry_state(&key(), Some(kept.revision), None)
    };
    assert!(store.write(unit).unwrap().wait().unwrap().value);
}

/// Returns the system time in microseconds, which is passed to the verifier.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

pub(crate) fn report_at(source: &mut dyn LogSource, micros: i64) -> VerifyReport {
    verify(source, &VerifyOptions::new().with_time(micros)).unwrap()
}

fn report(path: &Path) -> VerifyReport {
    report_at(open(path).unwrap().as_mut(), now())
}

/// Copies the store's file, including the write-ahead log, and runs these statements on the copy.
fn edited(scene: &Scene, number: usize, sql: &str) -> PathBuf {
    let settle = Connection::open(scene.path("store.db")).unwrap();
    settle.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(settle);
    let copy = scene.path(&format!("copy-{number}.db"));
    fs::copy(scene.path("store.db"), &copy).unwrap();
    let behind = Connection::open(&copy).unwrap();
    behind.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    behind.execute_batch(sql).unwrap();
    copy
}

/// Checks that the verifier reports each of these edits with these words.
fn finds(scene: &Scene, edits: &[(&str, &str)]) {
    let plain = report(&edited(scene, 999, ""));
    assert_eq!(plain.exit_code(), 0, "{plain}");
    for (number, (sql, words)) in edits.iter().enumerate() {
        let report = report(&edited(scene, number, sql));
        assert_eq!(report.exit_code(), 15, "{sql}: {report}");
        assert!(report.to_string().contains(words), "{sql}: {report}");
    }
}

pub(crate) const EDITS_OF_A_BLOCK: &[(&str, &str)] = &[
    ("DELETE FROM attempt", "not in the store as recorded"),
    ("UPDATE attempt SET blocked = 0 <> 0", "not in the store as recorded"),
    ("UPDATE attempt SET expires = 1", "not in the store as recorded"),
    ("UPDATE attempt SET key = 'another'", "not in the store as recorded"),
    ("UPDATE attempt SET state = replace(state, '\"blocked\":', '\"open\":')", "as recorded"),
    ("DELETE FROM case_source; DELETE FROM case_record", "the store does not have it"),
    ("UPDATE case_record SET decided = 1 = 1", "the columns of its row"),
    ("UPDATE case_record SET expires = expires + 1", "its expiry is not"),
    ("UPDATE case_record SET revision = 1", "the columns of its row"),
    ("UPDATE case_record SET body = replace(body, '\"modify\",', '')", "its state is not"),
    ("UPDATE case_record SET body = '[]'", "is not a case"),
];

#[test]
fn an_edited_block_is_found() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    block(&store);
    append(&store, 3);
    drop(store);
    finds(&scene, EDITS_OF_A_BLOCK);
    finds(
        &scene,
        &[
            ("UPDATE case_record SET content = x'7b7d'", "what the person is shown"),
            ("UPDATE case_record SET content = x''", "what the person is shown"),
            (
                "UPDATE case_record SET decided = 1, revision = 1, body = json_set(body, '$.revision', 1, '$.state',
                   json('{\"status\":\"decided\",\"submission\":{\"decision\":\"approve\",\"digest\":\"\",\"revision\":0},\"at\":\"\"}'))",
                "its state is not",
            ),
            ("DROP TABLE attempt_source; DROP TABLE attempt", "no tables of cases"),
        ],
    );
}

#[test]
fn an_edited_decision_is_found() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    let case = block(&store);
    decide(&store, &case, Decision::Reject { reason: Some("not this file".into()) });
    is_readable_by_older_verifiers(&store);
    drop(store);
    finds(
        &scene,
        &[
            ("DELETE FROM attempt", "left stopped"),
            ("UPDATE case_record SET body = replace(body, '\"reject\"', '\"approve\"')", "its state"),
            ("UPDATE case_record SET body = replace(body, 'operator', 'somebody')", "its state"),
            ("UPDATE case_record SET body = replace(body, 'not this', 'any')", "its state"),
            (
                "UPDATE case_record SET decided = 0, revision = 0, body = json_set(body, '$.revision', 0,
                   '$.state', json('{\"status\":\"open\"}'))",
                "its state",
            ),
        ],
    );
}

/// Checks that the normal life cycle of rows is not reported as a failure.
#[test]
fn a_state_that_ended_in_its_own_way_is_no_failure() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    let case = block(&store);
    let gone = edited(&scene, 0, "DELETE FROM attempt");
    let later = report_at(open(&gone).unwrap().as_mut(), now() + 16 * 60 * 1_000_000);
    assert_eq!(later.exit_code(), 0, "{later}");
    let timeless = verify(open(&gone).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
    assert_eq!(timeless.exit_code(), 0, "{timeless}");
    assert!(timeless.to_string().contains("give the time"), "{timeless}");

    decide(&store, &case, Decision::Respond { message: "use a text".into() });
    assert_eq!(report(&edited(&scene, 1, "DELETE FROM attempt")).exit_code(), 0);

    let other = Scene::new();
    let store = other.open().unwrap();
    block(&store);
    let size = store.head().unwrap().size;
    release(&store);
    let entry = store.entry(size).unwrap().unwrap();
    assert_eq!(entry.leaf.text("outcome"), Some("released"));
    is_readable_by_older_verifiers(&store);
    let report = report(&edited(&other, 2, ""));
    assert_eq!((report.exit_code(), report.warnings.len()), (0, 1), "{report}");
}

#[test]
fn an_erasure_takes_words_and_states_along() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    let case = block(&store);
    decide(&store, &case, Decision::Reject { reason: Some("not this file".into()) });
    let seen = LeafToken::new("seen").unwrap();
    store.erase(1, seen, Basis::Request).unwrap().wait().unwrap();
    drop(store);
    let erased = report(&edited(&scene, 0, ""));
    assert_eq!(erased.exit_code(), 0, "{erased}");
    assert!(erased.to_string().contains("later erasure"), "{erased}");
    let forged = "UPDATE case_record SET body = replace(body, '\"reject\"', '\"approve\"')";
    assert_eq!(report(&edited(&scene, 1, forged)).exit_code(), 15);
}

/// Checks that a case gets an entry of its own if no other entry of its unit is about it.
#[test]
fn every_case_is_in_the_log() {
    use answerback::Digest;
    use answerback::case::{Case, CaseKind};

    let scene = Scene::new();
    let store = scene.open().unwrap();
    let unit = |transaction: &mut dyn Transaction| {
        let id = UuidV7::from_time(transaction.now(), [3; 10]);
        let digest = Digest::of_bytes(b"shown");
        let expires = transaction.now().plus_days(1);
        let case = Case::new(id, CaseKind::Question, digest, expires);
        transaction.put_case(&NewCase::new(case, *b"shown")).map(|record| record.case)
    };
    let case = store.write(unit).unwrap().wait().unwrap().value;
    let entry = store.entry(1).unwrap().unwrap();
    assert_eq!(entry.leaf.kind(), answerback_ledger::LeafKind::Escalation);
    assert_eq!(entry.leaf.text("case_id"), Some(case.id.as_str()));
    drop(store);
    finds(
        &scene,
        &[
            ("UPDATE case_record SET content = x'00'", "what the person is shown"),
            ("DELETE FROM case_record", "the store does not have it"),
        ],
    );
}

/// Checks that leaves contain only the members of the first version of the format. New data is in
/// parts, which older verifiers accept.
fn is_readable_by_older_verifiers(store: &Store) {
    const MEMBERS: [&str; 16] = [
        "attempt",
        "case_id",
        "claimed_ts",
        "decision",
        "digest",
        "kind",
        "max_attempts",
        "outcome",
        "parts",
        "revision",
        "sha256",
        "subject",
        "tool",
        "ts",
        "v",
        "vkey",
    ];
    for index in 0..store.head().unwrap().size {
        let leaf = store.entry(index).unwrap().unwrap().leaf;
        let leaf: serde_json::Value = serde_json::from_slice(leaf.bytes()).unwrap();
        for name in leaf.as_object().unwrap().keys() {
            assert!(MEMBERS.contains(&name.as_str()), "entry {index} has {name}");
        }
    }
}

/// Checks that the log records the readings of a clock that jumped into the future and back.
#[test]
fn readings_of_a_clock_that_jumped_are_recorded() {
    let scene = Scene::new();
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000_000));
    let read = Arc::clone(&clock);
    let settings = || {
        let read = Arc::clone(&read);
        scene.settings().with_clock(move || read.load(Ordering::Relaxed))
    };
    let store = Store::open_sqlite(scene.path("store.db"), settings()).unwrap();
    append(&store, 1);
    clock.store(4_000_000_000_000_000, Ordering::Relaxed);
    append(&store, 1);
    clock.store(1_800_000_060_000_000, Ordering::Relaxed);
    append(&store, 1);
    clock.store(1_800_000_120_000_000, Ordering::Relaxed);
    let now = store.write(|transaction| Ok(transaction.now())).unwrap().wait().unwrap().value;
    assert_eq!(now.unix_millis(), 1_800_000_120_000);
    append(&store, 1);
    let reading = |index: u64| {
        let entry = store.entry(index).unwrap().unwrap();
        let part = entry.parts.iter().find(|part| part.name().as_str() == "observed_ts")?;
        Some(String::from_utf8_lossy(part.bytes()).into_owned())
    };
    assert_eq!((reading(1), reading(2)), (None, None));
    let clock_entry = store.entry(3).unwrap().unwrap().leaf;
    assert_eq!(clock_entry.text("subject"), Some("clock"));
    assert_eq!(clock_entry.text("claimed_ts"), Some("2027-01-15T08:01:00.000000Z"));
    assert_eq!(reading(4).as_deref(), Some("2027-01-15T08:01:00.000000Z"));
    assert_eq!(reading(5).as_deref(), Some("2027-01-15T08:02:00.000000Z"));
    // The clock steps back again while it is already behind.
    clock.store(1_700_000_000_000_000, Ordering::Relaxed);
    append(&store, 1);
    assert_eq!(store.stats().clock_steps, 2);
    // An entry that must have exactly one part gets the reading in a separate entry before it.
    let part = store.part("manifest", *b"{}").unwrap();
    let digest = answerback::Digest::of_bytes(b"{}");
    let subject = answerback_ledger::leaf::Subject::Manifest;
    let draft = Draft::config(subject).with_sha256(digest).with_part(part);
    let manifest = store.append(draft).unwrap().wait().unwrap().value.index;
    is_readable_by_older_verifiers(&store);
    let before = store.entry(manifest - 1).unwrap().unwrap().leaf;
    assert_eq!(before.text("claimed_ts"), Some("2023-11-14T22:13:20.000000Z"));
    drop(store);
    let report = report(&scene.path("store.db"));
    assert_eq!(report.exit_code(), 0, "{report}");
    assert!(report.to_string().contains("ahead of the clock"), "{report}");
}
