//! Tests a consumer that stops reading, such as `head`: the exit code does not change.

use std::path::Path;
use std::process::{Output, Stdio};

use crate::program::{program, run};

const DOCUMENTS: &str = "../answerback/tests/documents";
const GOOD: &str = "{\"status\":\"success\",\"data\":{\"message\":\"m\"},\"meta\":{\"timestamp\":\"2026-01-02T03:04:05Z\"}}\n";
const BAD: &str = "{\"response_type\":\"txt\",\"summary\":\"\"}\n";

/// Runs the program with a closed output.
fn run_left(arguments: &[&str], input: Stdio) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    program(DOCUMENTS).args(arguments).stdin(input).stdout(writer).output().unwrap()
}

/// Returns the exit code, which must be the same with an open and a closed output.
fn code(arguments: &[&str]) -> i32 {
    let heard = run(DOCUMENTS, arguments);
    let left = run_left(arguments, Stdio::null());
    let errors = String::from_utf8(left.stderr).unwrap();
    assert_eq!(left.status.code(), heard.status.code(), "{arguments:?}: {errors}");
    assert!(!errors.contains("ipe"), "{arguments:?}: {errors}");
    heard.status.code().unwrap()
}

fn file(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn what_is_judged_keeps_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.nd", BAD.repeat(3000));
    let good = file(folder.path(), "good.nd", GOOD.repeat(3000));
    let mixed = file(folder.path(), "mixed.nd", GOOD.repeat(3000) + BAD + "not json\n");
    for format in ["text", "json"] {
        assert_eq!(code(&["check", "--ndjson", "--format", format, &bad]), 1);
        assert_eq!(code(&["check", "--ndjson", "--format", format, &good]), 0);
        assert_eq!(code(&["check", "--ndjson", "--format", format, &mixed]), 2);
    }
    let tools = r#"[{"name": "t", "inputSchema": {"type": "object", "required": ["a"]}}]"#;
    let tools = file(folder.path(), "tools.json", tools);
    let right = "{\"id\": \"1\", \"tool\": \"t\", \"arguments\": {\"a\": 1}}\n".repeat(3000);
    let wrong = "{\"id\": \"2\", \"tool\": \"t\", \"arguments\": {}}\n";
    let right_calls = file(folder.path(), "right.nd", &right);
    let wrong_calls = file(folder.path(), "wrong.nd", right + wrong);
    for summary in [&["--summary"][..], &[]] {
        let replay = |calls| [&["replay", "--tools", &tools, calls], summary].concat();
        assert_eq!(code(&replay(&wrong_calls)), 1);
        assert_eq!(code(&replay(&right_calls)), 0);
    }
    assert_eq!(code(&["call", "--tool", "t", "--schema", &tools, "{}"]), 1);
    assert_eq!(code(&["call", "--tool", "t", "--schema", &tools, "{\"a\": 1}"]), 0);
    assert_eq!(code(&["validate", "date-range", "x", "y"]), 1);
    assert_eq!(code(&["validate", "email", "user@example.com"]), 0);
    assert_eq!(code(&["show", &file(folder.path(), "one.json", GOOD), "missing.json"]), 2);
}

#[test]
fn what_only_prints_stays_good() {
    for arguments in [&["explain"][..], &["explain", "TOOL-008"], &["schema", "tool"], &["man"]] {
        assert_eq!(code(arguments), 0);
    }
}

#[test]
fn what_fails_is_no_success_because_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(folder.path(), "config.yml", "{}");
    let store = folder.path().join("ledger.db").display().to_string();
    let document = file(folder.path(), "good.json", GOOD);
    run(DOCUMENTS, &["ledger", "--store", &store, "record", &document]);
    for (expected, arguments) in [
        (1, &["trust", "--remove", &config][..]),
        (2, &["trust", "no.yml"]),
        (2, &["explain", "NO-999"]),
        (2, &["schema", "no"]),
        (2, &["init", "--client", "cursor", "--file", "no.json", "--dry-run"]),
        (0, &["init", "--dry-run"]),
        (2, &["link", "--store", &store]),
        (2, &["tools", "--root", "no"]),
        (2, &["watch", "--store", &store, "no", "--no-follow"]),
        (0, &["watch", "--store", &store]),
        (2, &["serve", "--config", "no.yml"]),
        (2, &["ledger", "--store", &store, "show", "99"]),
        (0, &["ledger", "--store", &store, "show", "1"]),
        (2, &["ledger", "--store", &store, "prove", "99"]),
        (0, &["ledger", "--store", &store, "prove", "1"]),
    ] {
        assert_eq!(code(arguments), expected, "{arguments:?}");
    }
    // Without this, the command would never end.
    let followed = run_left(&["ledger", "--store", &store, "tail", "--follow"], Stdio::null());
    assert_eq!(followed.status.code(), Some(0));
}

#[test]
fn a_ledger_keeps_its_verdict_and_gets_all_of_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("ledger.db").display().to_string();
    let documents: Vec<String> =
        (0..3).map(|at| file(folder.path(), &format!("{at}.json"), GOOD)).collect();
    let mut record = vec!["ledger", "--store", &store, "record"];
    record.extend(documents.iter().map(String::as_str));
    assert_eq!(run_left(&record, Stdio::null()).status.code(), Some(0));
    let bad = file(folder.path(), "bad.json", BAD);
    assert_eq!(code(&["ledger", "--store", &store, "record", "--as", "ui", &bad]), 1);
    let found = run(DOCUMENTS, &["ledger", "--store", &store, "search", "--kind", "response"]);
    assert_eq!(String::from_utf8(found.stdout).unwrap().lines().count(), 3);
    assert_eq!(code(&["ledger", "--store", &store, "search", "--kind", "decision"]), 1);
    assert_eq!(code(&["ledger", "--store", &store, "tail"]), 0);
    assert_eq!(code(&["doctor", "--store", &store]), 0);
    assert_eq!(code(&["ledger", "--store", &store, "export", "--to", "-"]), 0);
    assert_eq!(code(&["ledger", "--store", &store, "verify"]), 0);
    let export = folder.path().join("export.jsonl").display().to_string();
    run(DOCUMENTS, &["ledger", "--store", &store, "export", "--to", &export]);
    let text = std::fs::read_to_string(&export).unwrap();
    let (one, two, other) = ("{\"index\":\"1\",", "{\"index\":\"2\",", "{\"index\":\"?\",");
    let swapped = text.replace(one, other).replace(two, one).replace(other, two);
    let changed = file(folder.path(), "changed.jsonl", swapped);
    for format in ["text", "json"] {
        assert_eq!(code(&["ledger", "verify", &changed, "--format", format]), 12);
    }
}

#[test]
fn of_an_input_without_an_end_nothing_unseen_is_called_good() {
    let tools = r#"[{"name": "t", "inputSchema": {"type": "object", "required": ["a"]}}]"#;
    let folder = tempfile::tempdir().unwrap();
    let tools = file(folder.path(), "tools.json", tools);
    let check = ["check", "--ndjson", "--format", "json", "-"];
    let replay = ["replay", "--tools", &tools, "-"];
    let right = "{\"id\": \"1\", \"tool\": \"t\", \"arguments\": {\"a\": 1}}\n";
    let wrong = "{\"id\": \"2\", \"tool\": \"t\", \"arguments\": {}}\n";
    let unseen =
        "error: the output was closed, so the rest was not checked; read the whole output\n";
    for (arguments, line, expected, told) in [
        (&check[..], GOOD, 2, unseen),
        (&check, BAD, 1, ""),
        (&replay, right, 2, unseen),
        (&replay, wrong, 1, ""),
    ] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let lines = line.repeat(5000);
        let writing = std::thread::spawn(move || {
            // The program ends before it has read everything.
            let _ = std::io::Write::write_all(&mut writer, lines.as_bytes());
        });
        let left = run_left(arguments, reader.into());
        writing.join().unwrap();
        assert_eq!(left.status.code(), Some(expected), "{arguments:?} {line}");
        assert_eq!(String::from_utf8(left.stderr).unwrap(), told, "{arguments:?} {line}");
    }
}
