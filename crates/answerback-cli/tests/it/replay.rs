//! Tests `answerback replay`: a log of calls, checked in order.

use std::fmt::Write as _;

use serde_json::Value;

use crate::program::{program, run, run_with, told};

const LOG: &str = "tests/replay";

fn replay(options: &[&str]) -> std::process::Output {
    let arguments = [&["replay", "--tools", "tools.json"], options, &["calls.ndjson"]].concat();
    run(LOG, &arguments)
}

fn answers(stdout: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(stdout).unwrap().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_is_answered_line_by_line() {
    insta::assert_snapshot!("replay-log", told(&replay(&[])));
}

#[test]
fn attempts_follow_the_conversation() {
    let lines: Vec<String> = answers(&replay(&[]).stdout)
        .iter()
        .map(|answer| {
            let [id, valid, attempt, status] =
                ["tool_call_id", "valid", "attempt", "status"].map(|name| &answer[name]);
            let [told, escalated] = ["result", "escalation"].map(|name| !answer[name].is_null());
            format!("{id} valid {valid} {status} {attempt} told {told} escalated {escalated}")
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_configuration_holds() {
    insta::assert_snapshot!("replay-config", told(&replay(&["--config", "config.yml"])));
    let mut by_variable = program(LOG);
    by_variable.env("ANSWERBACK_CONFIG", "config.yml");
    let arguments = ["replay", "--tools", "tools.json", "calls.ndjson"];
    let by_variable = by_variable.args(arguments).output().unwrap();
    assert_eq!(by_variable.stdout, replay(&["--config", "config.yml"]).stdout);
    let strict = answers(&replay(&["--strict"]).stdout);
    let noted = strict.iter().find(|answer| answer["tool_call_id"] == "g1").unwrap();
    assert_eq!(
        (&noted["valid"], &noted["errors"][0]["severity"]),
        (&false.into(), &"error".into())
    );
}

#[test]
fn a_configuration_is_found_above() {
    let folder = std::env::temp_dir().join(format!("answerback-replay-{}", std::process::id()));
    std::fs::create_dir_all(folder.join(".agent")).unwrap();
    std::fs::create_dir_all(folder.join("within")).unwrap();
    let file = folder.join(".agent/config.yml");
    let tools = std::path::absolute("tests/replay/tools.json").unwrap();
    let line = "{\"id\": \"1\", \"tool\": \"read_file\", \"arguments\": {}}\n";
    let told = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let within = folder.join("within");
        let within = within.to_str().unwrap();
        let tools = tools.to_str().unwrap();
        let output = run_with(within, &["replay", "--tools", tools, "--format", "text", "-"], line);
        told(&output).replace(folder.to_str().unwrap(), "[folder]")
    };
    let good =
        told("tools: {validation: {retry: {max_attempts: 7}, formating: {}}}\nconsole: {}\n");
    let bad = told("tools: {validation: {retry: {max_attempts: 11}}}\n");
    let no_yaml = told("tools: [\n");
    let twice = told("tools: {}\ntools: {}\n");
    std::fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!("replay-config-found", good);
    insta::assert_snapshot!("replay-config-out-of-range", bad);
    assert!(twice.ends_with("line 2 column 1: duplicate mapping key: tools\n"), "{twice}");
    assert!(no_yaml.starts_with("exit: 2") && no_yaml.contains("not YAML"), "{no_yaml}");
}

#[test]
fn a_summary_says_what_it_comes_to() {
    insta::assert_snapshot!("replay-summary", told(&replay(&["--summary"])));
    insta::assert_snapshot!(
        "replay-summary-json",
        told(&replay(&["--summary", "--format", "json"]))
    );
    insta::assert_snapshot!("replay-text", told(&replay(&["--format", "text"])));
}

#[test]
fn what_cannot_be_judged() {
    let replay = |arguments: &[&str], input: &str| {
        told(&run_with(LOG, &[&["replay"], arguments].concat(), input))
    };
    let lines =
        "no JSON\n{\"id\": 1}\n{\"tool\": \"search\", \"arguments\": {\"query\": \"x\"}}\n[1]\n";
    insta::assert_snapshot!("replay-no-calls", replay(&["--tools", "tools.json", "-"], lines));
    insta::assert_snapshot!("replay-no-tools", replay(&["--tools", "config.yml", "-"], ""));
    insta::assert_snapshot!("replay-no-list", replay(&["--tools", "-", "calls.ndjson"], "{}"));
    insta::assert_snapshot!("replay-no-log", replay(&["--tools", "tools.json", "none.ndjson"], ""));
    insta::assert_snapshot!("replay-empty", replay(&["--tools", "tools.json", "-"], "\n\n"));
    insta::assert_snapshot!("replay-both", replay(&["--tools", "-", "-"], "[]"));
    let small = ["--tools", "tools.json", "--max-bytes", "2000", "-"];
    let long = format!("{{\"tool\": \"search\", \"arguments\": \"{}\"}}\n", "x".repeat(3000));
    insta::assert_snapshot!("replay-long-line", replay(&small, &long));
}

#[test]
fn the_same_log_gives_the_same_answers() {
    let line = |index: usize| {
        let arguments = ["{}", "{\"path\": 1}", "{\"path\": \"x\"}", "\"{'path'\""][index % 4];
        let conversation = index % 7;
        format!(
            "{{\"id\": \"{index}\", \"tool\": \"read_file\", \"arguments\": {arguments}, \"conversation\": \"{conversation}\"}}\n"
        )
    };
    let log: String = (0..20_000).map(line).collect();
    let once = || run_with(LOG, &["replay", "--tools", "tools.json", "-"], log.as_str());
    let (first, second) = (once(), once());
    assert_eq!(first.status.code(), Some(1));
    assert!(first.stdout == second.stdout && first.stderr.is_empty() && second.stderr.is_empty());
    let ids = answers(&first.stdout);
    let told: Vec<&str> = ids.iter().filter_map(|answer| answer["tool_call_id"].as_str()).collect();
    let expected: Vec<String> = (0..20_000).map(|index| index.to_string()).collect();
    assert_eq!(told, expected);
}

/// Every part of a failing call is some kind of secret. None of them may be printed.
#[test]
fn secrets_never_leave() {
    let secrets = [
        "sk-proj-Zk3Qw9Lm2Xv8Rt5Yb7Nc4Hd6Jf1Gs0Pa",
        "ghp_a8Kd03jLs92mQpXz7VbN4tRe6WyU1oIc5FhG",
        "AKIAQ3EGRNZ7K5XW2PLB",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "hunter2-plain-pass",
        "correct-horse-staple",
    ];
    let [key, token, access, jwt, named, hidden] = secrets;
    let arguments = [
        // Found by shape: as a value, inside a text, as a name, and as an argument of an unknown tool.
        ("read_file", format!(r#"{{"path": ["{key}"], "encoding": "{token}"}}"#)),
        ("read_file", format!(r#"{{"path": 1, "{access}": 2, "note": "see {jwt} there"}}"#)),
        ("reed_file", format!(r#"{{"path": "{key}", "password": "{named}"}}"#)),
        // Found by name.
        ("read_file", format!(r#"{{"path": 7, "password": "{named}", "api_key": "{named}"}}"#)),
        ("search", format!(r#"{{"query": {{"client_secret": "{named}"}}}}"#)),
        // Found by schema: writeOnly, in JSON and in text that is not JSON.
        ("log_in", format!(r#"{{"user": 1, "word": "{hidden}"}}"#)),
        ("log_in", format!(r#"{{"user": "u", "word": ["{hidden}"], "retries": "3"}}"#)),
        ("log_in", format!(r#"{{"user": "u", "word": "{hidden}", "retries": "3"}}"#)),
        // In texts that are not JSON.
        ("log_in", format!(r#""{{'user': 'u', 'word': '{hidden}'""#)),
        ("read_file", format!(r#""{{'path': '{key}'""#)),
        ("read_file", format!(r#""{{'password': '{named}', 'path': 1/0}}""#)),
    ];
    // Each call is made three times, so that it is escalated, too.
    let mut log = String::new();
    for (index, (tool, arguments)) in arguments.iter().enumerate() {
        for attempt in 0..3 {
            let _ = writeln!(
                log,
                "{{\"id\": \"{index}-{attempt}\", \"tool\": \"{tool}\", \"arguments\": {arguments}, \"conversation\": \"{index}\"}}"
            );
        }
    }
    for options in [
        &[][..],
        &["--format", "text"],
        &["--summary"],
        &["--summary", "--format", "json"],
        &["--strict"],
    ] {
        let arguments = [&["replay", "--tools", "tools.json"], options, &["-"]].concat();
        let output = run_with(LOG, &arguments, log.as_str());
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        for secret in secrets {
            assert!(!said.contains(secret), "{secret} in {options:?}: {said}");
        }
    }
}

/// A log without any checked call is not reported as valid.
#[test]
fn a_log_of_unchecked_calls_could_not_be_judged() {
    let folder = tempfile::tempdir().unwrap();
    let tools = r#"[{"name": "odd", "inputSchema": {"type": "dict"}}, {"name": "t", "inputSchema": {"required": ["a"]}}]"#;
    std::fs::write(folder.path().join("tools.json"), tools).unwrap();
    let folder = folder.path().to_str().unwrap();
    let odd = "{\"id\": \"1\", \"tool\": \"odd\", \"arguments\": {}}\n";
    let good = "{\"id\": \"2\", \"tool\": \"t\", \"arguments\": {\"a\": 1}}\n";
    let wrong = "{\"id\": \"3\", \"tool\": \"t\", \"arguments\": {}}\n";
    for options in [&["--summary"][..], &[]] {
        let arguments = [&["replay", "--tools", "tools.json"], options, &["-"]].concat();
        for (log, expected) in [
            (odd.to_owned(), 2),
            (format!("{good}{odd}"), 0),
            (format!("{odd}{wrong}"), 1),
            (wrong.to_owned(), 1),
            (good.to_owned(), 0),
        ] {
            let output = run_with(folder, &arguments, log.clone());
            assert_eq!(output.status.code(), Some(expected), "{log}: {}", told(&output));
            let errors = String::from_utf8(output.stderr).unwrap();
            let is_told = errors.contains("calls of \"odd\" are not checked");
            assert_eq!(is_told, log.contains("odd"), "{errors}");
            assert_eq!(errors.contains("no call could be checked"), expected == 2, "{errors}");
        }
    }
}

/// A tool without a usable schema is never "ok". A broken keyword does not prevent the other checks.
#[test]
fn what_cannot_be_checked_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let tools = serde_json::json!([
        {"name": "mcp", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        {"name": "anthropic", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        {"name": "null", "inputSchema": null},
        {"name": "text", "inputSchema": "{}"},
        {"name": "partly", "inputSchema": {"type": "object", "properties": {
            "n": {"type": "integer"}, "p": {"type": "string", "pattern": "("},
        }}},
    ]);
    std::fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    let mut log = String::new();
    for tool in ["mcp", "anthropic", "null", "text", "partly"] {
        let _ = writeln!(log, r#"{{"id": "{tool}", "tool": "{tool}", "arguments": {{"n": "x"}}}}"#);
    }
    std::fs::write(folder.path().join("calls.ndjson"), log).unwrap();
    let mut replay = program(folder.path().to_str().unwrap());
    let output = replay.args(["replay", "--tools", "tools.json", "calls.ndjson"]).output().unwrap();
    let statuses: Vec<String> = answers(&output.stdout)
        .iter()
        .map(|answer| format!("{} {}", answer["tool"], answer["status"]).replace('"', ""))
        .collect();
    let expected =
        ["mcp retry", "anthropic retry", "null unchecked", "text unchecked", "partly retry"];
    assert_eq!(statuses, expected);
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "warning: calls of \"null\" are not checked: the tool's schema cannot be used: the tool declares none",
            "warning: calls of \"text\" are not checked: the tool's schema cannot be used: it is a string, not a JSON Schema",
            "warning: a part of the schema of \"partly\" is not checked as written: /properties/p/pattern is not a regular expression that can be run within the limits, so it is not checked",
        ]
    );
}

/// `--formats` applies to every tool and overrides the configuration.
#[test]
fn formats_are_checked_as_the_option_says() {
    let folder = tempfile::tempdir().unwrap();
    let tools = serde_json::json!([{"name": "t", "inputSchema": {"type": "object", "properties": {
        "at": {"type": "string", "format": "date-time"},
    }}}]);
    std::fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    let call =
        |at: &str| format!("{}\n", serde_json::json!({"tool": "t", "arguments": {"at": at}}));
    let log = call("2024-01-01T00:00:00") + &call("tomorrow");
    std::fs::write(folder.path().join("calls.ndjson"), log).unwrap();
    let configured = "tools: {validation: {formats: warn}}\n";
    std::fs::write(folder.path().join("config.yml"), configured).unwrap();
    for (options, expected) in [
        (&[][..], ["ok warning", "retry error"]),
        (&["--formats", "lenient"], ["ok warning", "retry error"]),
        (&["--formats", "assert"], ["retry error", "retry error"]),
        (&["--formats", "warn"], ["ok warning", "ok warning"]),
        (&["--formats", "off"], ["ok none", "ok none"]),
        (&["--config", "config.yml"], ["ok warning", "ok warning"]),
        (&["--config", "config.yml", "--formats", "assert"], ["retry error", "retry error"]),
    ] {
        let mut replay = program(folder.path().to_str().unwrap());
        let arguments = [&["replay", "--tools", "tools.json"], options, &["calls.ndjson"]].concat();
        let output = replay.args(arguments).output().unwrap();
        let found: Vec<String> = answers(&output.stdout)
            .iter()
            .map(|answer| {
                let severity = answer["errors"][0]["severity"].as_str().unwrap_or("none");
                format!("{} {severity}", answer["status"].as_str().unwrap())
            })
            .collect();
        assert_eq!(found, expected, "{options:?}");
    }
}
