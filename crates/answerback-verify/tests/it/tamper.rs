//! Applies one change per table row, and checks exactly which levels fail.

use answerback_verify::{NoteVerifierKey, VerifyOptions, open};

use crate::{
    failed, judge,
    support::{
        Ledger, PartRow, Row, Writer, key, root, sample, sign, text, vkey, written::InMemory,
    },
};

/// Flips one bit.
fn flip(bytes: &mut [u8], at: usize) {
    bytes[at] ^= 1;
}

fn replace(ledger: &mut Ledger, index: usize, from: &str, to: &str) {
    let leaf = String::from_utf8(ledger.rows[index].leaf.clone()).unwrap();
    assert!(leaf.contains(from), "{leaf}");
    ledger.rows[index].leaf = leaf.replacen(from, to, 1).into_bytes();
}

fn replace_note(ledger: &mut Ledger, place: usize, from: &str, to: &str) {
    let note = &mut ledger.checkpoints[place].1;
    assert!(note.contains(from), "{note}");
    *note = note.replacen(from, to, 1);
}

type Tampering = fn(&mut Ledger);
type Appending = fn(&mut Writer) -> u64;

/// Lists changes to the log of [`sample::every_kind`], which has 15 entries and checkpoints at
/// sizes 3, 5, 7, 10, 13 and 15.
const TAMPERINGS: &[(&str, Tampering, &[u8])] = &[
    ("nothing", |_| {}, &[]),
    // Columns next to the leaf.
    ("ts column", |ledger| ledger.rows[4].ts += 1, &[2]),
    ("kind column", |ledger| flip(&mut ledger.rows[4].kind, 0), &[2]),
    ("agent column", |ledger| flip(ledger.rows[4].agent.as_mut().unwrap(), 0), &[2]),
    ("agent column gone", |ledger| ledger.rows[4].agent = None, &[2]),
    ("tool column", |ledger| flip(ledger.rows[3].tool.as_mut().unwrap(), 0), &[2]),
    ("tool column made up", |ledger| ledger.rows[7].tool = Some(b"x".to_vec()), &[2]),
    ("outcome column", |ledger| flip(ledger.rows[4].outcome.as_mut().unwrap(), 0), &[2]),
    ("request_id column", |ledger| flip(ledger.rows[4].request_id.as_mut().unwrap(), 9), &[2]),
    ("response_id column", |ledger| flip(ledger.rows[4].response_id.as_mut().unwrap(), 9), &[2]),
    ("reply_id column", |ledger| flip(ledger.rows[4].reply_id.as_mut().unwrap(), 9), &[2]),
    ("leaf_hash column", |ledger| flip(&mut ledger.rows[4].leaf_hash, 31), &[2]),
    // Leaves. Older checkpoints over the entry do not match any more either.
    ("a value in an old leaf", |ledger| replace(ledger, 4, "success", "succesS"), &[2, 4]),
    ("a value in the newest leaf", |ledger| replace(ledger, 14, "stop", "lock"), &[2, 5]),
    ("a commitment", |ledger| replace(ledger, 4, "\"commit\":\"", "\"commit\":\"0"), &[2, 4, 5]),
    ("a part's length", |ledger| replace(ledger, 4, "\"len\":18", "\"len\":19"), &[2, 3, 4]),
    (
        "a leaf that is not canonical",
        |ledger| replace(ledger, 4, "{\"agent_id\"", "{ \"agent_id\""),
        &[2, 4, 5],
    ),
    (
        "a leaf with a member twice",
        |ledger| replace(ledger, 4, "\"v\":1", "\"v\":1,\"v\":1"),
        &[2, 4, 5],
    ),
    ("the key in the first entry", |ledger| replace(ledger, 0, "start", "stop"), &[2, 4, 5]),
    // Parts.
    ("a part's bytes", |ledger| flip(&mut ledger.parts[3].bytes, 0), &[3]),
    ("a part's salt", |ledger| flip(&mut ledger.parts[3].salt, 0), &[3]),
    ("a salt cut short", |ledger| ledger.parts[3].salt.truncate(31), &[3]),
    ("a part's name", |ledger| flip(&mut ledger.parts[3].name, 0), &[3]),
    ("a part filed elsewhere", |ledger| ledger.parts[3].seq = 9, &[3]),
    ("a part filed beyond the log", |ledger| ledger.parts[3].seq = 99, &[3]),
    ("a part gone without an erasure entry", |ledger| drop(ledger.parts.remove(3)), &[3]),
    ("the manifest's bytes", |ledger| flip(&mut ledger.parts[0].bytes, 3), &[3, 5]),
    (
        "an extra part",
        |ledger| {
            let part = PartRow { name: b"z".to_vec(), ..ledger.parts[3].clone() };
            ledger.parts.insert(4, part);
        },
        &[3],
    ),
    (
        "an erased part put back",
        |ledger| {
            let part = PartRow { seq: 10, name: b"as_sent".to_vec(), ..ledger.parts[3].clone() };
            ledger.parts.push(part);
        },
        &[3],
    ),
    // Rows.
    ("an entry deleted", |ledger| drop(ledger.rows.remove(8)), &[2, 4]),
    ("an entry with parts deleted", |ledger| drop(ledger.rows.remove(3)), &[2, 3, 4, 5]),
    (
        "entries far beyond the log",
        |ledger| {
            // A request and its response. The verifier's memory use must not depend on their
            // indexes.
            ledger.rows.truncate(12);
            (ledger.rows[10].seq, ledger.rows[11].seq) = (1 << 62, (1 << 62) + 1);
            replace(
                ledger,
                11,
                "\"request_index\":\"10\"",
                "\"request_index\":\"4611686018427387904\"",
            );
        },
        &[2, 3, 4],
    ),
    ("the newest entry deleted", |ledger| drop(ledger.rows.pop()), &[2]),
    ("the tail deleted", |ledger| ledger.rows.truncate(12), &[2, 3, 4]),
    ("the first entry deleted", |ledger| drop(ledger.rows.remove(0)), &[2, 4]),
    (
        "two leaves swapped",
        |ledger| {
            let (left, right) = (ledger.rows[8].leaf.clone(), ledger.rows[9].leaf.clone());
            (ledger.rows[8].leaf, ledger.rows[9].leaf) = (right, left);
        },
        &[2, 4, 5],
    ),
    (
        "two whole rows swapped",
        |ledger| {
            ledger.rows.swap(8, 9);
            (ledger.rows[8].seq, ledger.rows[9].seq) = (8, 9);
        },
        &[2, 4, 5],
    ),
    (
        "an entry appended without a checkpoint",
        |ledger| {
            let row = Row { seq: 15, ..ledger.rows[14].clone() };
            ledger.rows.push(row);
        },
        &[2, 5],
    ),
    // Head and meta.
    ("head.size", |ledger| ledger.size += 1, &[2]),
    ("head.root", |ledger| flip(&mut ledger.root, 0), &[2]),
    ("head.frontier", |ledger| flip(&mut ledger.frontier, 40), &[2]),
    ("head.frontier cut short", |ledger| ledger.frontier.truncate(32), &[2]),
    ("head.last_ts", |ledger| ledger.last_ts -= 1, &[2]),
    ("meta.signer", |ledger| ledger.signer = vkey(&ledger.origin, &key(9)), &[2]),
    ("the origin", |ledger| ledger.origin.push('x'), &[1]),
    ("the key of another log", |ledger| ledger.vkey = vkey(&ledger.origin, &key(9)), &[2]),
    ("a key that is none", |ledger| ledger.vkey.push('A'), &[1, 2]),
    // Checkpoints.
    (
        "the newest checkpoint's signature",
        |ledger| replace_note(ledger, 5, "\n— ", "\n—  "),
        &[1, 2],
    ),
    (
        "the newest checkpoint's origin",
        |ledger| replace_note(ledger, 5, "answerback", "Answerback"),
        &[1],
    ),
    ("the newest checkpoint's size", |ledger| replace_note(ledger, 5, "\n15\n", "\n14\n"), &[1, 2]),
    ("an older checkpoint's size", |ledger| replace_note(ledger, 2, "\n7\n", "\n6\n"), &[1, 4]),
    ("an extension line", |ledger| replace_note(ledger, 2, "\n\n", "\nmore\n\n"), &[1]),
    ("a checkpoint filed under another size", |ledger| ledger.checkpoints[2].0 = 6, &[1, 4]),
    ("all checkpoints gone", |ledger| ledger.checkpoints.clear(), &[1]),
    ("the newest checkpoint gone", |ledger| drop(ledger.checkpoints.pop()), &[2]),
    (
        "a checkpoint of another key",
        |ledger| {
            let root = root(&ledger.hashes[..5]);
            ledger.checkpoints[1].1 = sign(&ledger.origin, 5, &root, &[&key(9)]);
        },
        &[1],
    ),
    (
        "a checkpoint that the key signed over another tree",
        |ledger| ledger.checkpoints[1].1 = sign(&ledger.origin, 5, &[0; 32], &[&key(7)]),
        &[4],
    ),
    (
        "a tile that the tree has not",
        |ledger| ledger.tiles.push((0, 0, vec![0; 32], vec![0; 8_192])),
        &[2],
    ),
];

#[test]
fn every_tampering_fails_at_its_levels() {
    let good = sample::every_kind().ledger;
    let directory = tempfile::tempdir().unwrap();
    for (number, (name, tamper, expected)) in TAMPERINGS.iter().enumerate() {
        let mut ledger = good.clone();
        tamper(&mut ledger);
        let report = judge(&mut InMemory::new(ledger.clone()), VerifyOptions::new());
        assert_eq!(failed(&report), *expected, "{name}\n{report}");
        assert_eq!(report.exit_code(), expected.first().map_or(0, |level| 10 + level), "{name}");
        assert_eq!(report.valid, expected.is_empty());
        // The file must give the same result, unless the database rejects such rows.
        ledger.parts.sort_by(|left, right| (left.seq, &left.name).cmp(&(right.seq, &right.name)));
        let unique = ledger.rows.windows(2).all(|rows| rows[0].seq != rows[1].seq)
            && ledger.checkpoints.windows(2).all(|rows| rows[0].0 != rows[1].0);
        if unique {
            let path = directory.path().join(format!("{number}.db"));
            ledger.write_sqlite(&path);
            let report = judge(open(&path).unwrap().as_mut(), VerifyOptions::new());
            assert_eq!(failed(&report), *expected, "{name}, from the file\n{report}");
        }
    }
}

/// Checks that the newest checkpoint is read from the head. It need not be in the table of
/// checkpoints.
#[test]
fn the_newest_checkpoint_stands_with_the_head() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    sample::every_kind().ledger.write_sqlite(&path);
    let behind = rusqlite::Connection::open(&path).unwrap();
    for (sql, expected) in [
        ("DELETE FROM checkpoint WHERE size = (SELECT size FROM head)", &[][..]),
        ("UPDATE head SET note = replace(note, char(10) || '— ', char(10) || '—  ')", &[1, 2]),
        ("UPDATE head SET note = (SELECT note FROM checkpoint WHERE size = 13)", &[1, 2]),
        ("UPDATE head SET note = ''", &[2]),
    ] {
        assert_eq!(behind.execute(sql, []).unwrap(), 1, "{sql}");
        let report = judge(open(&path).unwrap().as_mut(), VerifyOptions::new());
        assert_eq!(failed(&report), expected, "{sql}\n{report}");
    }
}

/// Verifies a log that a forger extends with a valid key, so that all proofs are valid. Returns the
/// levels that failed.
fn written(entries: impl FnOnce(&mut Writer) -> u64) -> Vec<u8> {
    let mut writer = sample::every_kind();
    entries(&mut writer);
    writer.checkpoint();
    let report = judge(&mut InMemory::new(writer.ledger), VerifyOptions::new());
    failed(&report)
}

#[test]
fn semantics_are_checked_even_if_all_proofs_hold() {
    let cases: [(&str, Appending, &[u8]); 16] = [
        ("nothing more", |_| 0, &[]),
        ("a second answer", |writer| sample::ungoverned_response(writer, 3), &[5]),
        ("an answer to what is no request", |writer| sample::ungoverned_response(writer, 4), &[5]),
        ("an answer to what comes later", |writer| sample::ungoverned_response(writer, 99), &[5]),
        ("an answer without a request", |writer| writer.append("response", &[], &[]), &[]),
        (
            "an answer with another request's id",
            |writer| {
                let members =
                    [("request_index", text("12")), ("request_id", text(sample::uuid(77)))];
                writer.append("response", &members, &[])
            },
            &[5],
        ),
        (
            "a rejected answer after the answer",
            |writer| writer.append("rejected", &[("request_index", text("3"))], &[]),
            &[],
        ),
        (
            "time that goes back",
            |writer| writer.append("escalation", &[("ts", text(crate::support::time(5)))], &[]),
            &[2, 5],
        ),
        (
            "a member of another kind",
            |writer| writer.append("request", &[("below", text("1"))], &[]),
            &[5],
        ),
        (
            "a member of no kind",
            |writer| writer.append("request", &[("note", text("x"))], &[]),
            &[5],
        ),
        ("an erasure of what never was", |writer| writer.erase(8, "as_sent"), &[5]),
        ("an erasure of what comes later", |writer| writer.erase(99, "as_sent"), &[5]),
        ("an erasure twice", |writer| writer.erase(10, "as_sent"), &[]),
        (
            "a prune with another root",
            |writer| {
                writer.append("prune", &[("below", text("0")), ("root", text("0".repeat(64)))], &[])
            },
            &[5],
        ),
        (
            "a start with another key",
            |writer| {
                let other = vkey(&writer.ledger.origin, &key(9));
                writer.append("config", &[("subject", text("start")), ("vkey", text(other))], &[])
            },
            &[5],
        ),
        (
            "a key of another log",
            |writer| {
                let members = [("subject", text("key")), ("vkey", text(vkey("other", &key(9))))];
                writer.append("config", &members, &[])
            },
            &[5],
        ),
    ];
    for (name, entries, expected) in cases {
        assert_eq!(written(entries), expected, "{name}");
    }
}

#[test]
fn an_orphan_is_a_warning() {
    let report = judge(&mut InMemory::new(sample::every_kind().ledger), VerifyOptions::new());
    let orphans =
        report.warnings.iter().find(|warning| warning.what.starts_with("request without")).unwrap();
    assert_eq!(orphans.indexes, [12]);
}

/// Checks that replaying an old state, or forking the history with the same key, fails only against
/// an earlier checkpoint.
#[test]
fn rollback_and_fork_show_against_a_checkpoint_from_outside() {
    let mut writer = sample::every_kind();
    let old = writer.ledger.clone();
    sample::request(&mut writer, 50);
    let newer = writer.checkpoint();
    let mut fork = sample::every_kind();
    sample::request(&mut fork, 51);
    fork.checkpoint();
    sample::request(&mut fork, 52);
    fork.checkpoint();
    let with = |ledger: &Ledger| {
        let options = VerifyOptions::new().with_checkpoints("anchor", &newer).unwrap();
        failed(&judge(&mut InMemory::new(ledger.clone()), options))
    };
    assert_eq!(with(&writer.ledger), [0_u8; 0]);
    assert_eq!(with(&old), [4], "rolled back");
    assert_eq!(with(&fork.ledger), [4], "forked");
    assert_eq!(
        failed(&judge(&mut InMemory::new(old), VerifyOptions::new())),
        [0_u8; 0],
        "nothing to compare with"
    );

    let stranger = sign(&writer.ledger.origin, 5, &root(&writer.ledger.hashes[..5]), &[&key(9)]);
    let options = VerifyOptions::new().with_checkpoints("stranger", &stranger).unwrap();
    assert_eq!(
        failed(&judge(&mut InMemory::new(writer.ledger), options)),
        [1],
        "given, and not signed"
    );
}

#[test]
fn a_log_of_another_key_is_not_the_one_that_is_trusted() {
    let ledger = sample::every_kind().ledger;
    let trust = |name: &str, seed: u8| {
        let key = NoteVerifierKey::parse(&vkey(name, &key(seed))).unwrap();
        failed(&judge(&mut InMemory::new(ledger.clone()), VerifyOptions::new().with_vkey(key)))
    };
    assert_eq!(trust(&ledger.origin, 7), [0_u8; 0]);
    assert_eq!(trust(&ledger.origin, 9), [1]);
    assert_eq!(trust("elsewhere", 7), [1]);
}

/// Checks that a key rotation without the old key's signature is a forgery.
#[test]
fn a_forged_change_of_keys_fails() {
    let mut writer = sample::every_kind();
    let old = writer.ledger.checkpoints.len();
    writer.rotate(8);
    writer.checkpoint();
    writer.append("config", &[("subject", text("stop"))], &[]);
    writer.checkpoint();
    let judged = |ledger: Ledger| failed(&judge(&mut InMemory::new(ledger), VerifyOptions::new()));
    assert_eq!(judged(writer.ledger.clone()), [0_u8; 0]);

    let (origin, hashes) = (writer.ledger.origin.clone(), writer.ledger.hashes.clone());
    let resigned = |seeds: &[&[u8]]| {
        let mut ledger = writer.ledger.clone();
        for (place, seeds) in (old..).zip(seeds) {
            let size = ledger.checkpoints[place].0;
            let keys: Vec<_> = seeds.iter().map(|seed| key(*seed)).collect();
            let root = root(&hashes[..usize::try_from(size).unwrap()]);
            ledger.checkpoints[place].1 =
                sign(&origin, size, &root, &keys.iter().collect::<Vec<_>>());
        }
        judged(ledger)
    };
    assert_eq!(resigned(&[&[8], &[8]]), [1], "the old key did not sign");
    assert_eq!(resigned(&[&[7], &[8]]), [1], "the new key did not sign");
    assert_eq!(resigned(&[&[7, 8], &[7]]), [1], "the old key went on signing");
    assert_eq!(resigned(&[&[8, 7], &[8, 7]]), [0_u8; 0], "the order of signatures says nothing");
    // Removing the checkpoint that both keys signed must fail too.
    let mut thinned = writer.ledger.clone();
    thinned.checkpoints.remove(old);
    assert_eq!(judged(thinned), [1]);
}

#[test]
fn a_log_rewritten_under_another_key_fails_with_a_trusted_key() {
    let mut forged = Writer::new(9);
    sample::request(&mut forged, 1);
    forged.checkpoint();
    let honest = NoteVerifierKey::parse(&vkey(&forged.ledger.origin, &key(7))).unwrap();
    let ledger = forged.ledger;
    assert_eq!(failed(&judge(&mut InMemory::new(ledger.clone()), VerifyOptions::new())), [0_u8; 0]);
    assert_eq!(
        failed(&judge(&mut InMemory::new(ledger), VerifyOptions::new().with_vkey(honest))),
        [1]
    );
}
