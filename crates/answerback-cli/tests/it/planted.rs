//! Plants a secret everywhere a caller or a model can put one: in names, ids and values. It must not appear in any
//! output, record or metric.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session};
use crate::program::{program, run_with, told};
use crate::serve::one_stub;
use crate::wrap::{Desk, contains, files_below};

const SECRET: &str = "sk-proj-Zk3Qw9Lm2Xv8Rt5Yb7Nc4Hd6Jf1Gs0Pa";

#[track_caller]
fn is_hidden(said: &str) {
    // Even a part of the secret must not appear.
    let place = said.find(&SECRET[10..24]);
    assert!(place.is_none(), "{}", &said[place.unwrap_or(0).saturating_sub(300)..]);
}

/// Returns arguments with the secret as a member's name, which a repair would omit, and as a value.
fn arguments() -> [Value; 4] {
    [
        json!({"path": "a", SECRET: null}),
        json!({SECRET: "a"}),
        json!({"path": "a", "limit": "7", "api_key": SECRET}),
        json!({"path": {SECRET: SECRET}, "limit": [SECRET]}),
    ]
}

fn tools() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "api_key": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    json!([{"name": "read_file", "inputSchema": schema}])
}

#[test]
fn a_single_call_is_told_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("schema.json");
    fs::write(&schema, tools()[0]["inputSchema"].to_string()).unwrap();
    let list = folder.path().join("tools.json");
    fs::write(&list, tools().to_string()).unwrap();
    for file in [&schema, &list] {
        for format in ["message", "json", "mcp", "openai", "anthropic", "gemini", "bedrock", "atdf"]
        {
            for attempt in ["1", "3"] {
                for arguments in arguments() {
                    let mut command = program(".");
                    command
                        .args(["call", "--tool", SECRET, "--call-id", SECRET, "--schema"])
                        .arg(file);
                    command.args([
                        "--format",
                        format,
                        "--attempt",
                        attempt,
                        &arguments.to_string(),
                    ]);
                    is_hidden(&told(&command.output().unwrap()));
                }
            }
        }
    }
}

#[test]
fn a_log_is_answered_and_summed_up_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("tools.json");
    fs::write(&list, tools().to_string()).unwrap();
    let mut log = String::new();
    for member in ["id", "tool", "conversation", "model", "turn", "arguments"] {
        for arguments in arguments() {
            for _ in 0..4 {
                let mut line = json!({"id": "c1", "tool": "read_file", "conversation": "c", "arguments": arguments});
                if member != "arguments" {
                    line[member] = json!(SECRET);
                }
                writeln!(log, "{line}").unwrap();
            }
        }
    }
    writeln!(log, "{{\"tool\":\"read_file\",\"{SECRET}\":1,\"{SECRET}\":2}}").unwrap();
    let list = list.to_str().unwrap();
    for options in [
        &[][..],
        &["--format", "text"],
        &["--summary"],
        &["--summary", "--format", "json"],
        &["--strict"],
    ] {
        let arguments = [&["replay", "--tools", list][..], options, &["-"]].concat();
        let said = told(&run_with(".", &arguments, log.clone()));
        is_hidden(&said);
        assert!(said.contains("[redacted: API key]"), "{said}");
    }
}

#[test]
fn what_is_validated_is_not_repeated() {
    for arguments in [
        &["email", SECRET][..],
        &["date-range", SECRET, SECRET],
        &["email", &format!("{SECRET}@example.com")],
    ] {
        for format in ["json", "text"] {
            let arguments = [&["validate", "--format", format][..], arguments].concat();
            is_hidden(&told(&program(".").args(&arguments).output().unwrap()));
        }
    }
}

#[test]
fn a_gateway_answers_records_and_counts_without_it() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let mut said = String::new();
    for tool in ["count", SECRET] {
        for arguments in [json!({SECRET: SECRET}), json!({"n": SECRET, "password": SECRET})] {
            for _ in 0..4 {
                let meta = json!({"dev.answerback/conversation": SECRET});
                let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
                said.push_str(&client.ask("tools/call", params).to_string());
            }
            for conversation in [None, Some("c"), Some(SECRET)] {
                for schema in [None, Some(tools()[0]["inputSchema"].clone())] {
                    for _ in 0..4 {
                        let line = json!({
                            "id": SECRET, "tool": tool, "model": SECRET, "arguments": arguments,
                            "conversation": conversation, "schema": schema,
                        });
                        let answer =
                            gateway.send("POST", "/api/calls/check", &[], &line.to_string());
                        write!(said, "{:?}", answer.events).unwrap();
                    }
                }
            }
        }
    }
    for path in ["/api/cases", "/api/replies", "/api/stats", "/readyz", "/healthz"] {
        let answer = gateway.send("GET", path, &[], "");
        write!(said, "{:?}", answer.events).unwrap();
    }
    is_hidden(&said);
    let counted = gateway.metrics();
    is_hidden(&counted);
    assert!(counted.contains(r#"tool="(unknown)""#), "{counted}");
    let (code, logged) = gateway.stop();
    assert_eq!(code, 0);
    is_hidden(&logged.join("\n"));
    let cases = desk.good(&["inbox", "list", "--all", "--format", "json"]);
    is_hidden(&cases);
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let id = case["case"]["id"].as_str().unwrap();
        is_hidden(&desk.good(&["inbox", "show", id]));
        is_hidden(&desk.good(&["inbox", "show", id, "--format", "json"]));
    }
    is_hidden(&desk.good(&["inbox", "list"]));
    let config = desk.path("config.yml");
    let config = config.to_str().unwrap();
    let doctor = desk.command().args(["doctor", "--config", config]).output().unwrap();
    is_hidden(&told(&doctor));
    for format in ["text", "json"] {
        is_hidden(&desk.good(&["ledger", "tail", "-n", "1000", "--format", format]));
        is_hidden(&desk.good(&["ledger", "stats", "--format", format]));
    }
    let export = desk.path("export.jsonl");
    desk.good(&["ledger", "export", "--to", export.to_str().unwrap()]);
    is_hidden(&fs::read_to_string(export).unwrap());
    assert!(!contains(files_below(&desk.path("state")).as_bytes(), &SECRET.as_bytes()[10..24]));
    desk.good(&["ledger", "verify"]);
}
