//! `answerback tools`: the real program, driven over standard input and output by a client of a few lines.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use answerback::call::{Schema, check};
use answerback::contract::{Contract, Profile};
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{program, run, told};

/// A client that sends lines and reads lines.
struct Client {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    next_id: u64,
    /// What every request says of itself, in the era without sessions.
    meta: Option<Value>,
}

impl Client {
    /// Starts the program.
    fn start(root: &str) -> Self {
        let mut command = program(".");
        for name in ["WARP_SESSION", "CLAUDE_DESKTOP", "CI"] {
            command.env_remove(name);
        }
        command.args(["tools", "--root", root]).env("CLAUDE_DESKTOP", "1");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let requests = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self { child, requests, replies, next_id: 0, meta: None }
    }

    /// Starts the program and a session of the older era.
    fn initialized(root: &str) -> Self {
        let mut client = Self::start(root);
        let reply = client.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1.0.0"},
            }),
        );
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
        assert_eq!(reply["result"]["serverInfo"]["name"], "answerback-tools");
        assert!(reply["result"]["capabilities"]["tools"].is_object());
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts the program for requests of the newer era, each of which stands alone.
    fn stateless(root: &str) -> Self {
        let mut client = Self::start(root);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        client
    }

    fn send(&mut self, message: &Value) {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{message}").unwrap();
        requests.flush().unwrap();
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        let reply: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    fn tools(&mut self) -> Vec<Value> {
        let reply = self.request("tools/list", json!({}));
        reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone()
    }

    /// Calls a tool; judges the result by everything that was promised of it.
    fn call(&mut self, tools: &[Value], name: &str, arguments: &Value) -> Value {
        let mut params = json!({"name": name, "arguments": arguments});
        if arguments.is_null() {
            params = json!({"name": name});
        }
        let reply = self.request("tools/call", params);
        let result = &reply["result"];
        let answer = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(text, answer.to_string(), "the same JSON, compact");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert_eq!(result["isError"], answer["status"] == "error", "{reply}");
        let contract = if name.starts_with("validate_") { Contract::Atdf } else { Contract::Tool };
        let findings = contract.check(&answer, Profile::Strict);
        assert!(findings.is_empty(), "{name} {arguments}: {findings:?}\n{answer:#}");
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let schema = Schema::compile(tool["outputSchema"].clone()).unwrap();
        let findings = check(&schema, &answer, ()).unwrap();
        assert!(findings.is_empty(), "{name} {arguments}: {findings:?}\n{answer:#}");
        answer
    }

    /// Ends the input; the program ends by itself, with nothing on standard error.
    fn end(mut self) {
        self.requests = None;
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// A copy of `examples/harbour`.
fn harbour(name: &str) -> Folder {
    let folder = Folder::new(name);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbour"), &folder, "");
    folder
}

fn copy(from: &Path, folder: &Folder, below: &str) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), folder, &format!("{name}/"));
        } else {
            folder.put(&name, &fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Every tool, called well and badly, with the code that comes of it.
fn calls() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let range = |start: &str, end: &str| json!({"start_date": start, "end_date": end});
    vec![
        ("validate_date_range", range("2990-01-01T00:00:00Z", "2990-01-15T00:00:00Z"), None),
        (
            "validate_date_range",
            range("2001-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
            Some("INVALID_DATE_RANGE"),
        ),
        ("validate_date_range", range("2990-01-01", "soon"), Some("INVALID_DATE_FORMAT")),
        ("validate_date_range", json!({"start": "x"}), Some("VALIDATION_FAILED")),
        ("validate_email", json!({"email": "user@example.com"}), None),
        ("validate_email", json!({"email": "user@"}), Some("INVALID_EMAIL_FORMAT")),
        ("validate_email", json!({}), Some("REQUIRED_FIELD_MISSING")),
        ("validate_password_strength", json!({"password": "MyP@ssw0rd!"}), None),
        ("validate_password_strength", json!({"password": "hunter2"}), Some("WEAK_PASSWORD")),
        ("validate_password_strength", json!({"password": 7}), Some("TYPE_MISMATCH")),
        ("solution_info", Value::Null, None),
        ("solution_info", json!({"include_roadmap": true}), None),
        ("solution_info", json!({"include_roadmap": 1}), Some("INVALID_PARAMETER")),
        ("solution_structure", json!({"include_dependencies": true}), None),
        ("solution_structure", json!({"deep": true}), Some("INVALID_PARAMETER")),
        ("solution_standards_list", json!({"applicable_to": "be"}), None),
        ("solution_standards_list", json!({"applicable_to": "nobody"}), Some("PROJECT_NOT_FOUND")),
        ("solution_project_register", json!({"project_name": "be", "alias": "api"}), None),
        ("solution_project_register", json!({"project_name": "be"}), Some("PROJECT_NOT_FOUND")),
        (
            "solution_project_register",
            json!({"project_name": "api", "alias": "fe"}),
            Some("ALIAS_CONFLICT"),
        ),
        ("solution_health_check", json!({"check_level": "comprehensive"}), None),
        ("solution_health_check", json!({"check_level": "all"}), Some("INVALID_PARAMETER")),
    ]
}

fn code(answer: &Value) -> Option<&str> {
    answer["data"]["code"].as_str().or_else(|| answer["errors"][0]["code"].as_str())
}

#[test]
fn every_tool_answers_well_and_badly_in_both_eras() {
    for era in ["initialized", "stateless"] {
        let folder = harbour(&format!("tools-{era}"));
        let mut client = match era {
            "initialized" => Client::initialized(folder.path()),
            _ => Client::stateless(folder.path()),
        };
        let tools = client.tools();
        for (name, arguments, expected) in calls() {
            let answer = client.call(&tools, name, &arguments);
            assert_eq!(code(&answer), expected, "{era}: {name} {arguments}\n{answer:#}");
            if name.starts_with("solution_") {
                assert_eq!(answer["audit"]["host"], "claude-desktop");
                assert!(answer["tool"].as_str().unwrap().replace('.', "_") == name);
            }
            assert!(!answer.to_string().contains("hunter2"));
        }
        let registry: Value =
            serde_json::from_str(&folder.text(".bot/solution/projects.json")).unwrap();
        assert_eq!(registry["projects"]["Harbour.Api"]["alias"], "api");
        client.end();
    }
}

#[test]
fn the_newer_era_is_discovered() {
    let folder = harbour("tools-discover");
    let mut client = Client::stateless(folder.path());
    let reply = client.request("server/discover", json!({}));
    let versions =
        reply["result"]["supportedVersions"].as_array().unwrap_or_else(|| panic!("{reply}"));
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")));
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    assert_eq!(listed["result"]["ttlMs"], 3_600_000);
    assert_eq!(listed["result"]["cacheScope"], "public");
    client.end();
}

#[test]
fn tools_are_listed_with_all_that_a_client_needs() {
    let folder = harbour("tools-list");
    let mut client = Client::initialized(folder.path());
    let tools = client.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "validate_date_range",
            "validate_email",
            "validate_password_strength",
            "solution_info",
            "solution_structure",
            "solution_standards_list",
            "solution_project_register",
            "solution_health_check",
        ]
    );
    for tool in &tools {
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            Schema::compile(tool[schema].clone()).unwrap();
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        let reads = tool["name"] != "solution_project_register";
        let annotations = json!({
            "title": tool["title"], "readOnlyHint": reads, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], annotations);
    }
    client.end();
}

#[test]
fn what_is_no_tool_is_an_error_of_the_protocol() {
    let folder = harbour("tools-unknown");
    let mut client = Client::initialized(folder.path());
    let reply = client.request("tools/call", json!({"name": "solution.info", "arguments": {}}));
    assert_eq!(reply["error"]["code"], -32602);
    assert_eq!(
        reply["error"]["message"],
        "Unknown tool 'solution.info'; did you mean 'solution_info'?"
    );
    assert_eq!(
        client.request("resources/read", json!({"uri": "file:///etc/passwd"}))["error"]["code"],
        -32601
    );
    // Lines that are no message do no harm.
    let requests = client.requests.as_mut().unwrap();
    requests.write_all(b"{\n\xff\xfe\n\n").unwrap();
    assert_eq!(client.tools().len(), 8);
    client.end();
}

#[test]
fn a_folder_without_a_solution_is_told_in_the_answer() {
    let folder = Folder::new("tools-nothing");
    let mut client = Client::initialized(folder.path());
    let tools = client.tools();
    let answer = client.call(&tools, "solution_info", &json!({}));
    assert_eq!(code(&answer), Some("DOTBOT_NOT_FOUND"));
    client.end();
}

#[test]
fn the_folder_must_be_there() {
    insta::assert_snapshot!(told(&run(".", &["tools", "--root", "no-such-folder"])), @r"
    exit: 2
    ----- stdout -----
    ----- stderr -----
    error: no-such-folder is not a folder; name the one that contains .bot
    ");
}

/// Requests that wait when the input ends are answered before the program ends, as `printf … | answerback tools` needs.
#[test]
fn what_was_asked_is_answered_before_the_end() {
    let folder = harbour("tools-pipe");
    let mut client = Client::initialized(folder.path());
    for id in 100..120 {
        let params =
            json!({"name": "solution_health_check", "arguments": {"check_level": "comprehensive"}});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    client.requests = None;
    let answered = client.replies.lines().map_while(Result::ok).count();
    assert_eq!(answered, 20);
    assert!(client.child.wait().unwrap().success());
}
