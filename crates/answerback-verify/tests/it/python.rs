//! Checks that the Python verifier in `docs` agrees with this crate, as far as it supports the same
//! checks.

use std::{path::Path, process::Command};

use answerback_verify::{VerifyOptions, open, verify};

use crate::support::{Ledger, Writer, key, sample, sign, text, vkey};

type Tampering = fn(&mut Ledger);

/// Runs `docs/verify.py` and returns its exit code and its output.
fn python(arguments: &[&str]) -> (i32, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let output = Command::new("python3").arg(script).args(arguments).output().unwrap();
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

#[expect(clippy::print_stdout, reason = "reports a skipped test")]
fn is_there() -> bool {
    let there = Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: there is no python3 to run docs/verify.py with");
    }
    there
}

/// Verifies an export and a file with both verifiers, and returns the exit code that they agree on.
fn judged(ledger: &Ledger) -> i32 {
    let directory = tempfile::tempdir().unwrap();
    let (export, file) =
        (directory.path().join("ledger.jsonl"), directory.path().join("ledger.db"));
    std::fs::write(&export, ledger.jsonl()).unwrap();
    ledger.write_sqlite(&file);
    let mut codes = Vec::new();
    for path in [&export, &file] {
        let ours = verify(open(path).unwrap().as_mut(), &VerifyOptions::new()).unwrap();
        let (code, printed) = python(&[path.to_str().unwrap()]);
        assert_eq!(code, i32::from(ours.exit_code()), "{}\n{printed}\n{ours}", path.display());
        assert!(code != 0 || printed.contains(&ours.root), "{printed}");
        assert_eq!(printed.contains("levels 1 to 4 hold"), code == 0, "{printed}");
        codes.push(code);
    }
    assert_eq!(codes[0], codes[1]);
    codes[0]
}

#[test]
fn python_agrees_on_good_logs() {
    if !is_there() {
        return;
    }
    assert_eq!(judged(&sample::every_kind().ledger), 0);
    let mut rotated = sample::every_kind();
    rotated.rotate(8);
    rotated.checkpoint();
    rotated.append("config", &[("subject", text("stop"))], &[]);
    rotated.checkpoint();
    assert_eq!(judged(&rotated.ledger), 0);
    let mut pruned = Writer::new(7);
    for number in 0..300 {
        sample::request(&mut pruned, number);
        if number % 100 == 0 {
            pruned.checkpoint();
        }
    }
    pruned.prune(256);
    pruned.checkpoint();
    assert_eq!(judged(&pruned.ledger), 0);
}

#[test]
fn python_agrees_on_tampered_logs() {
    if !is_there() {
        return;
    }
    let tamperings: [(&str, Tampering, i32); 10] = [
        (
            "signature",
            |ledger| ledger.checkpoints[5].1 = ledger.checkpoints[5].1.replace("\n15\n", "\n14\n"),
            11,
        ),
        (
            "other key",
            |ledger| ledger.checkpoints[5].1 = sign(&ledger.origin, 15, &[0; 32], &[&key(9)]),
            11,
        ),
        ("leaf", |ledger| ledger.rows[4].leaf[60] ^= 1, 12),
        ("entry deleted", |ledger| drop(ledger.rows.remove(9)), 12),
        ("newest deleted", |ledger| drop(ledger.rows.pop()), 12),
        ("newest checkpoint gone", |ledger| drop(ledger.checkpoints.pop()), 12),
        ("part", |ledger| ledger.parts[3].bytes[0] ^= 1, 13),
        ("salt", |ledger| ledger.parts[3].salt[0] ^= 1, 13),
        ("part gone", |ledger| drop(ledger.parts.remove(3)), 13),
        (
            "older checkpoint",
            |ledger| ledger.checkpoints[1].1 = sign(&ledger.origin, 5, &[0; 32], &[&key(7)]),
            14,
        ),
    ];
    for (name, tamper, expected) in tamperings {
        let mut ledger = sample::every_kind().ledger;
        tamper(&mut ledger);
        assert_eq!(judged(&ledger), expected, "{name}");
    }
}

#[test]
fn python_takes_keys_and_anchors() {
    if !is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut writer = sample::every_kind();
    let old = at("old.jsonl", &writer.ledger.jsonl());
    sample::request(&mut writer, 60);
    writer.checkpoint();
    let new = at("new.jsonl", &writer.ledger.jsonl());
    let anchor = at("anchor", &writer.ledger.anchor());
    assert_eq!(python(&[&new, "--vkey", &writer.ledger.vkey, "--checkpoint", &anchor]).0, 0);
    assert_eq!(python(&[&old, "--checkpoint", &anchor]).0, 14, "rolled back");
    assert_eq!(python(&[&new, "--vkey", &vkey(&writer.ledger.origin, &key(9))]).0, 11);
    let none = at("none", "{}\n");
    let missing = format!("{none}.jsonl");
    for (path, said) in [
        (
            &none,
            " is not a whole database, export or directory of tiles: 'answerback_ledger' is missing",
        ),
        (&missing, ": No such file or directory"),
    ] {
        let expected = format!("cannot be judged: {path}{said}\n");
        assert_eq!(python(&[path]), (2, expected));
    }
    assert_eq!(python(&[&at("cut", &writer.ledger.jsonl()[..900])]).0, 2);
}
