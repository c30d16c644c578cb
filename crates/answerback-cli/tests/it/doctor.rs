//! Tests `answerback doctor` from outside, in environments with problems.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::program::told;
use crate::wrap::{Desk, stub};

/// Returns the exit code and the findings for this configuration.
fn found(desk: &Desk, config: &str) -> (i32, Vec<Value>) {
    let config = desk.config(config);
    let mut command = desk.command();
    command.args(["doctor", "--format", "json", "--config", &config]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code().unwrap(), lines)
}

/// True if one of the problems contains this text.
fn is_a_problem(found: &[Value], said: &str) -> bool {
    let says = |finding: &&Value| finding["what"].as_str().unwrap().contains(said);
    found.iter().filter(says).any(|finding| finding["standing"] == "problem")
}

#[test]
fn every_key_that_means_nothing_is_a_problem() {
    let desk = Desk::new();
    let (code, found) = found(
        &desk,
        "legder: {}\ngateway:\n  inputs: warn\n  upstreams: {cat: {command: \"true\", colour: red}}\n",
    );
    assert_eq!(code, 1);
    for said in [
        "legder is not a known key; did you mean ledger?",
        "gateway.inputs is not a known key",
        "gateway.upstreams.cat.colour is not a known key",
    ] {
        assert!(is_a_problem(&found, said), "{said}: {found:#?}");
    }
}

/// The file may be shared with programs that use those keys.
#[test]
fn keys_of_other_programs_are_no_problem() {
    let desk = Desk::new();
    let (code, found) = found(&desk, "model: x\ngateway: {upstreams: {}}\n");
    assert_eq!(code, 0, "{found:#?}");
    let about = found.iter().find(|finding| finding["about"] == "configuration").unwrap();
    assert_eq!(about["standing"], "good", "{about}");
    assert!(about["what"].as_str().unwrap().contains("not read: model"), "{about}");
    assert_eq!(about["mend"], Value::Null, "{about}");
}

/// A typo must not change which servers are served.
#[test]
fn a_typing_error_in_the_configuration_serves_nothing() {
    let desk = Desk::new();
    for (config, said) in [
        (
            "upstraems: {a: {command: x}}\n",
            "upstraems is not a known key; did you mean gateway.upstreams?",
        ),
        ("mcpServers: {a: {command: x}}\n", "mcpServers is a key of an MCP client's configuration"),
        ("servers: {a: {command: x}}\n", "did you mean gateway.upstreams?"),
        (
            "gateway: {upstraems: {}}\n",
            "gateway.upstraems is not a known key; did you mean upstreams?",
        ),
    ] {
        desk.config(config);
        let mut serve = desk.command();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--config", "config.yml"]);
        let output = serve.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{config}: {}", told(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{}", told(&output));
    }
}

#[test]
fn what_is_wrong_is_named_by_its_file() {
    let desk = Desk::new();
    let (_, found) = found(&desk, "gateway: {listen: here}\n");
    let wrong = found.iter().find(|finding| finding["standing"] == "problem").unwrap();
    let said = wrong["what"].as_str().unwrap();
    assert!(said.contains("config.yml: gateway.listen is \"here\""), "{said}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_one_problem() {
    let desk = Desk::new();
    let (code, found) = found(&desk, "tools: [");
    assert_eq!((code, found.len()), (1, 1), "{found:#?}");
}

#[test]
fn tokens_that_are_not_there_yet_are_no_names() {
    let desk = Desk::new();
    let tokens = "gateway:\n  tokens: {desk: {scopes: [read], file: desk.token}}\n";
    let (code, found) = found(&desk, tokens);
    assert_eq!(code, 0, "{found:#?}");
    let tokens = found.iter().find(|finding| finding["about"] == "tokens").unwrap();
    assert_eq!(tokens["what"], "0 of 1 exist; the others are created when the server starts");
}

/// Under `scripts/postgres`, tests the database's durability settings.
#[test]
fn a_database_that_may_lose_entries_is_told() {
    let Ok(server) = std::env::var("ANSWERBACK_TEST_POSTGRES") else { return };
    let desk = Desk::new();
    let sloppy = "options=-c%20synchronous_commit%3Doff";
    let url = format!("{server}?schema=doctor_{}&{sloppy}", std::process::id());
    let key = desk.path("ledger.key");
    let config = format!("store: \"{url}\"\nledger: {{key: {}}}\n", key.display());
    let file = desk.config(&config);
    let reply = desk.path("reply.json");
    std::fs::write(&reply, r#"{"status":"success","data":{"message":"a"},"meta":{"timestamp":"2026-01-01T00:00:00Z"}}"#).unwrap();
    let mut record = desk.command();
    record.args(["ledger", "record", "--config", &file]).arg(&reply);
    assert!(record.output().unwrap().status.success());
    let (code, found) = found(&desk, &config);
    let told =
        |finding: &&Value| finding["what"].as_str().unwrap().contains("synchronous_commit is off");
    let finding = found.iter().find(told).unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(
        (code, finding["standing"].as_str(), finding["about"].as_str()),
        (0, Some("advice"), Some("store"))
    );
}

/// Findings are printed before a slow server responds.
#[test]
fn findings_are_told_as_they_are_found() {
    let desk = Desk::new();
    let config = format!(
        "gateway:\n  upstreams:\n    stub: {{command: python3, args: [{}]}}\n    mute: {{command: sleep, args: [60]}}\n",
        stub().display()
    );
    let config = desk.config(&config);
    let mut command = desk.command();
    command.args(["doctor", "--config", &config]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).any(|line| line.starts_with("good     server stub:"));
    let is_waiting = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told && is_waiting, "told {told}, waiting {is_waiting}");
}

#[test]
fn a_server_cannot_write_to_the_terminal() {
    let desk = Desk::new();
    let server = desk.path("named.py");
    let says = r#"import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    if asked["method"] == "initialize":
        told = {"result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "a\u202eb\u009b", "version": "1"}}}
    elif asked["method"] == "tools/list":
        told = {"result": {"tools": []}}
    else:
        told = {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"#;
    std::fs::write(&server, says).unwrap();
    let server = server.display();
    let config =
        format!("gateway:\n  upstreams: {{named: {{command: python3, args: [{server}]}}}}\n");
    let config = desk.config(&config);
    for format in ["text", "json"] {
        let told = desk.good(&["doctor", "--config", &config, "--format", format]);
        assert!(
            told.contains("server named") && !told.contains(['\u{202e}', '\u{9b}']),
            "{told:?}"
        );
    }
}

/// Everything that `serve` rejects is a problem for the doctor.
#[test]
fn what_cannot_be_served_is_a_problem() {
    let desk = Desk::new();
    std::fs::write(desk.path("taken"), "a file, not a folder").unwrap();
    for (config, said) in [
        (
            "gateway:\n  tokens: {desk: {scopes: [reed], file: desk.token}}\n",
            "gateway.tokens.desk.scopes",
        ),
        ("gateway:\n  tokens: {desk: {scopes: [read], file: taken/desk.token}}\n", "taken"),
        ("governance: {manifest: m.json, lock: l.json}\n", "m.json"),
        ("governance: {agent: domain-01-a}\n", "set governance.manifest and governance.lock"),
        ("store: taken/below/ledger.db\n", "taken"),
        ("ledger: {key: taken/ledger.key}\n", "taken"),
    ] {
        let (code, found) = found(&desk, config);
        assert_eq!(code, 1, "{config}: {found:#?}");
        assert!(is_a_problem(&found, said), "{config}: {found:#?}");
        let mut serve = desk.command();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--config", "config.yml"]);
        let output = serve.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{config}: {}", told(&output));
    }
    assert!(!desk.path("desk.token").exists(), "who only looks makes nothing");
}

/// The configuration has exactly one finding, never two that contradict each other.
#[test]
fn a_configuration_is_good_or_a_problem() {
    let desk = Desk::new();
    for (config, standing) in
        [("gateway: {input: maybe}\n", "problem"), ("gateway: {input: warn}\n", "good")]
    {
        let (_, found) = found(&desk, config);
        let about = found.iter().filter(|finding| finding["about"] == "configuration");
        let standings: Vec<&str> = about.map(|it| it["standing"].as_str().unwrap()).collect();
        assert_eq!(standings, [standing], "{found:#?}");
    }
}

#[test]
fn a_ledger_that_is_none_is_told_with_a_command_that_looks_at_it() {
    let desk = Desk::new();
    std::fs::write(desk.path("no ledger.json"), "{}").unwrap();
    let output = desk.command().args(["doctor", "--store", "no ledger.json"]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let file = std::fs::canonicalize(desk.path("no ledger.json")).unwrap();
    let verify = format!("answerback ledger verify --store '{}'", file.display());
    assert!(shown.contains(&verify), "{shown}");
}

/// Reading an empty file does not turn it into a ledger.
#[test]
fn an_empty_file_stays_one() {
    let desk = Desk::new();
    std::fs::write(desk.path("empty.db"), "").unwrap();
    for words in ["doctor", "ledger stats", "ledger rotate --yes", "ledger tail", "inbox list"] {
        let mut command = desk.command();
        command.args(words.split(' ')).args(["--store", "empty.db"]);
        let output = command.output().unwrap();
        let said = told(&output);
        assert!(said.contains("the file is empty, not a ledger"), "{words}: {said}");
        let code = if words == "doctor" { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{words}: {said}");
        assert_eq!(std::fs::metadata(desk.path("empty.db")).unwrap().len(), 0, "{words}");
        assert!(!desk.path("empty.key").exists(), "{words}");
    }
}
