//! Tests `answerback check`: valid, invalid, and documents that cannot be checked.

use serde_json::Value;

use crate::program::{run, run_with, told};

/// The library's valid documents.
const DOCUMENTS: &str = "../answerback/tests/documents";

#[test]
fn good_bad_and_unreadable() {
    for (name, arguments) in [
        ("good", &["check", "tool-full.json", "governed-full.json", "ui-full.json"][..]),
        ("good-json", &["check", "--format", "json", "tool-full.json"]),
        ("as-another", &["check", "--as", "ui", "tool-least.json"]),
        ("missing-file", &["check", "no-such.json", "tool-least.json"]),
        ("missing-file-json", &["check", "--format", "json", "no-such.json"]),
        ("directory", &["check", "."]),
    ] {
        insta::assert_snapshot!(format!("check-{name}"), told(&run(DOCUMENTS, arguments)));
    }
}

const BROKEN: &str = r#"{
  "schema_id": "dotbot-mcp-response@1",
  "tool": "solution.info",
  "version": "one",
  "status": "ok",
  "summary": "Two sentences. Here they are.",
  "data": [],
  "warnings": ["bare"],
  "errors": [],
  "audit": {"timestamp": "yesterday", "duration_ms": -1, "source": "/etc/passwd"},
  "extra\u001b[31m": 1
}"#;

#[test]
fn every_finding_is_told_with_its_place() {
    let strict = run_with(DOCUMENTS, &["check", "-"], BROKEN);
    insta::assert_snapshot!("check-broken", told(&strict));
    let lenient = run_with(DOCUMENTS, &["check", "--profile", "lenient", "-"], BROKEN);
    insta::assert_snapshot!("check-broken-lenient", told(&lenient));
    let json = run_with(DOCUMENTS, &["check", "--format", "json", "-"], BROKEN);
    insta::assert_snapshot!("check-broken-json", told(&json));
    let line: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(line["findings"][0]["field_path"], "/version");
}

#[test]
fn what_is_no_document_is_not_judged() {
    for (name, input) in [
        ("empty", ""),
        ("not-json", "{\n  'status': True}"),
        ("cut", "{\"status\": \"ok\", \"da"),
        ("nobody-knows", "{\"hello\": \"world\"}"),
        ("a-list", "[1, 2]"),
    ] {
        let output = run_with(DOCUMENTS, &["check", "-"], input);
        insta::assert_snapshot!(format!("check-{name}"), told(&output));
    }
}

#[test]
fn repeated_names_are_found() {
    let document = r#"{"response_type": "text", "summary": "a", "summary": "b",
        "timestamp": "2026-01-02T03:04:05Z", "metadata": {"n": 123456789012345678901234567890}}"#;
    insta::assert_snapshot!(
        "check-repeated",
        told(&run_with(DOCUMENTS, &["check", "-"], document))
    );
}

#[test]
fn lines_are_documents_of_their_own() {
    let lines = "{\"response_type\":\"text\",\"summary\":\"a\",\"timestamp\":\"2026-01-02T03:04:05Z\"}\r\n\
        \n\
        {\"response_type\":\"txt\",\"summary\":\"\"}\n\
        not json\n\
        {\"status\":\"success\",\"data\":{\"message\":\"m\"},\"meta\":{\"timestamp\":\"2026-01-02T03:04:05Z\"}}";
    insta::assert_snapshot!(
        "check-ndjson",
        told(&run_with(DOCUMENTS, &["check", "--ndjson", "-"], lines))
    );
    let json = run_with(DOCUMENTS, &["check", "--ndjson", "--format", "json", "-"], lines);
    insta::assert_snapshot!("check-ndjson-json", told(&json));
}

#[test]
fn lines_without_a_document_are_not_judged() {
    for (name, format, lines) in
        [("text", "text", ""), ("blank", "text", "\n \r\n"), ("json", "json", "")]
    {
        let arguments = ["check", "--ndjson", "--format", format, "-"];
        let output = run_with(DOCUMENTS, &arguments, lines);
        insta::assert_snapshot!(format!("check-ndjson-empty-{name}"), told(&output));
    }
}

#[test]
fn a_line_that_is_too_long_does_not_hide_the_next() {
    let lines = format!(
        "{}\n{{\"status\":\"success\",\"data\":{{\"message\":\"m\"}},\"meta\":{{\"timestamp\":\"2026-01-02T03:04:05Z\"}}}}\n",
        "[".repeat(3000)
    );
    let output = run_with(DOCUMENTS, &["check", "--ndjson", "--max-bytes", "1000", "-"], lines);
    insta::assert_snapshot!("check-ndjson-long", told(&output));
}

#[test]
fn a_reader_that_goes_away_is_told_nothing() {
    use std::io::Read;
    let mut command = crate::program::program(DOCUMENTS);
    let mut child = command
        .args(["check", "--ndjson", "--format", "json", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let line = "{\"response_type\":\"txt\",\"summary\":\"\"}\n".repeat(5000);
    let _ = std::io::Write::write_all(&mut input, line.as_bytes());
    drop(input);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Each tool of a `tools/list` is converted to a descriptor, which is checked.
#[test]
fn a_list_of_tools_is_checked_as_descriptors() {
    let tools = r#"[
  {"name": "good", "description": "Reads a file.", "inputSchema": {"type": "object"}},
  {"name": "bad", "inputSchema": {"type": "object"}},
  {"name": "broken", "description": "x", "inputSchema": 7}
]"#;
    let lists = [
        tools.to_owned(),
        format!(r#"{{"tools": {tools}}}"#),
        format!(r#"{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": {tools}}}}}"#),
    ];
    insta::assert_snapshot!(
        "check-tools",
        told(&run_with(DOCUMENTS, &["check", "-"], lists[0].as_str()))
    );
    let of_list = |list: &String| {
        let output = run_with(DOCUMENTS, &["check", "--format", "json", "-"], list.as_str());
        String::from_utf8(output.stdout).unwrap()
    };
    insta::assert_snapshot!("check-tools-json", of_list(&lists[0]));
    assert!(lists.iter().all(|list| of_list(list) == of_list(&lists[0])));
    // A single definition counts as a list of one.
    let one =
        r#"{"name": "good", "description": "Reads a file.", "inputSchema": {"type": "object"}}"#;
    assert_eq!(run_with(DOCUMENTS, &["check", "-"], one).status.code(), Some(0));
}
