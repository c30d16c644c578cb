//! Tests `answerback call`: one call, and the message for the model.

use crate::program::{run, run_with, told};

const LOG: &str = "tests/replay";
const BAD: &str = r#"{"pth": "a.txt", "encoding": "uft8", "limit": "10"}"#;

/// Returns the output, with the escalation's id and the times masked, because they change every time.
fn call(options: &[&str], text: &str) -> String {
    let schema = ["call", "--schema", "tools.json"];
    let output = run(LOG, &[&schema[..], options, &[text]].concat());
    steady(&told(&output))
}

fn steady(told: &str) -> String {
    let mut steady = String::new();
    let mut rest = told;
    for (mark, end) in [("\"id\":\"0", "\""), ("\"timestamp\": \"", "\"")] {
        while let Some((before, after)) = rest.split_once(mark) {
            let (_, behind) = after.split_once(end).unwrap();
            steady = steady + before + mark + "…" + end;
            rest = behind;
        }
    }
    steady + rest
}

#[test]
fn in_every_format() {
    for format in [
        "message",
        "json",
        "mcp",
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "atdf",
    ] {
        let options = ["--tool", "read_file", "--format", format];
        insta::assert_snapshot!(format!("call-bad-{format}"), call(&options, BAD));
        let good = call(&options, r#"{"path": "a.txt"}"#);
        let nothing = "exit: 0\n----- stdout -----\n----- stderr -----\n";
        if format == "json" {
            insta::assert_snapshot!("call-good-json", good);
        } else {
            assert_eq!(good, nothing, "{format}");
        }
    }
}

#[test]
fn blocked_at_the_last_attempt() {
    for format in ["message", "json", "mcp", "anthropic"] {
        let options =
            ["--tool", "read_file", "--attempt", "3", "--call-id", "c3", "--format", format];
        insta::assert_snapshot!(format!("call-blocked-{format}"), call(&options, BAD));
    }
}

#[test]
fn what_else_can_be_wrong() {
    let read_file = ["--tool", "read_file"];
    for (name, options, text) in [
        ("second-attempt", &["--tool", "read_file", "--attempt", "2"][..], BAD),
        ("too-many-attempts", &["--tool", "read_file", "--attempt", "4"], BAD),
        ("compact", &["--tool", "read_file", "--style", "compact"], BAD),
        ("not-json", &read_file, "{'path': 'a.txt', 'limit': 1/6}"),
        ("not-json-atdf", &["--tool", "read_file", "--format", "atdf"], "{'path'"),
        ("nothing", &read_file, ""),
        ("unknown-tool", &["--tool", "readFile"], BAD),
        ("bad-schema", &["--tool", "broken"], BAD),
        ("bad-schema-json", &["--tool", "broken", "--format", "json"], BAD),
        ("notes", &["--tool", "search"], r#"{"query": "x", "extra": 1}"#),
        ("notes-strict", &["--tool", "search", "--strict"], r#"{"query": "x", "extra": 1}"#),
        ("config", &["--tool", "read_file", "--config", "config.yml", "--attempt", "2"], BAD),
        ("no-config", &["--tool", "read_file", "--config", "none.yml"], BAD),
    ] {
        insta::assert_snapshot!(format!("call-{name}"), call(options, text));
    }
}

#[test]
fn from_standard_input() {
    let call = |schema: &str, text: &str, input: &str| {
        told(&run_with(LOG, &["call", "--tool", "t", "--schema", schema, text], input))
    };
    let schema = r#"{"type": "object", "required": ["a"]}"#;
    insta::assert_snapshot!("call-schema-from-input", call("-", "{}", schema));
    let tool = format!(r#"{{"name": "t", "inputSchema": {schema}}}"#);
    assert_eq!(call("-", "{}", &tool), call("-", "{}", schema));
    insta::assert_snapshot!("call-both-from-input", call("-", "-", schema));
    insta::assert_snapshot!("call-no-schema", call("none.json", "{}", ""));
    let bad = run_with(LOG, &["call", "--tool", "read_file", "--schema", "tools.json", "-"], BAD);
    let given = run(LOG, &["call", "--tool", "read_file", "--schema", "tools.json", BAD]);
    assert_eq!(told(&bad), told(&given));
}

/// A file that is not a schema, such as a package.json, leaves the call unchecked.
#[test]
fn a_file_without_a_keyword_of_json_schema_is_no_check() {
    for schema in [
        r#"{"name": "x", "version": "1.0.0", "description": "A package"}"#,
        r#"{"name": "x", "type": "module", "dependencies": {"a": "^1.0.0"}}"#,
    ] {
        let arguments = ["call", "--tool", "t", "--schema", "-", "{}"];
        let output = run_with(LOG, &arguments, schema);
        assert_eq!(output.status.code(), Some(2), "{schema}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("warning: the call is not checked: "), "{said}");
    }
}

/// A text that is too long for its pattern causes a warning. It hides no other finding and uses no attempt.
#[test]
fn a_long_text_is_a_warning() {
    let schema =
        r#"{"properties": {"q": {"type": "string", "pattern": "^(?!x)"}, "n": {"minimum": 1}}}"#;
    let long = "a".repeat(5000);
    for (arguments, code) in
        [(format!(r#"{{"q": "{long}"}}"#), 0), (format!(r#"{{"q": "{long}", "n": 0}}"#), 1)]
    {
        let options = ["call", "--tool", "t", "--format", "json", "--schema", "-", &arguments];
        let output = run_with(LOG, &options, schema);
        assert_eq!(output.status.code(), Some(code));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors = answer["errors"].as_array().unwrap();
        let warning = errors.iter().find(|finding| finding["field_path"] == "/q").unwrap();
        assert_eq!(warning["severity"], "warning");
        assert!(warning["message"].as_str().unwrap().contains("longer than 4096 characters"));
        assert_eq!(errors.len(), usize::try_from(code).unwrap() + 1);
    }
}
