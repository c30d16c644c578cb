//! `answerback wrap` from outside: a client's lines in, its lines out, a server that checks nothing behind it.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{program, told};
#[cfg(unix)]
use crate::prompt::at_a_terminal;

/// The longest that an answer may take here, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A desk with a state of its own, at which wrapped servers are run.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program(".");
        let home = self.folder.path();
        command.env_remove("ANSWERBACK_STORE").env_remove("ANSWERBACK_CONFIG").env("HOME", home);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_DATA_HOME", home.join("data"));
        command.env("XDG_CONFIG_HOME", home.join("config"));
        command.env("STUB_LOG", self.path("calls.log"));
        command.current_dir(home);
        command
    }

    pub(crate) fn config(&self, text: &str) -> String {
        let file = self.path("config.yml");
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// A client of the wrapped stub, which has said hello.
    pub(crate) fn client(&self, options: &[&str]) -> Client {
        let mut command = self.command();
        command.arg("wrap").args(["--name", "stub"]).args(options);
        command.args(["--", "python3"]).arg(stub());
        Client::start(command)
    }

    /// What reached the server.
    pub(crate) fn reached(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.path("calls.log")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs another command at this desk, which must do well.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The leaves of the ledger.
    pub(crate) fn leaves(&self) -> Vec<Value> {
        let lines = self.good(&["ledger", "tail", "-n", "1000", "--format", "json"]);
        lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["leaf"].clone())
            .collect()
    }
}

#[cfg(unix)]
impl Desk {
    /// The first decision of the ledger, as `ledger show` shows it.
    pub(crate) fn decision(&self, options: &[&str]) -> Option<Value> {
        let tail = ["ledger", "tail", "-n", "1000", "--format", "json"];
        let lines = self.good(&[&tail[..], options].concat());
        let mut entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let entry = entries.find(|entry| entry["leaf"]["kind"] == "decision")?;
        let show =
            ["ledger", "show", entry["index"].as_str().unwrap(), "--raw", "--part", "decision"];
        let shown = self.good(&[&show[..], options].concat());
        Some(serde_json::from_str(&shown).unwrap())
    }
}

pub(crate) fn stub() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stub_server.py")
}

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Client {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, json!({}))
    }

    /// A client that can do what it says.
    pub(crate) fn start_with(command: Command, capabilities: Value) -> Self {
        let mut client = Self::spawn(command);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "0"}});
        assert_eq!(client.ask("initialize", hello)["result"]["serverInfo"]["name"], "stub");
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// A client that has said nothing yet.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, next: 0 }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer in time")
    }

    pub(crate) fn hear(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.say(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Ends the program without a word to it.
    #[cfg(target_os = "linux")]
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Says nothing more.
    #[cfg(unix)]
    pub(crate) fn close(&mut self) {
        drop(self.input.take());
    }

    /// Tells the program to end.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Leaves, and waits for the program to end.
    pub(crate) fn leave(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

pub(crate) fn meta<'a>(answer: &'a Value, name: &str) -> &'a Value {
    &answer["result"]["_meta"][format!("dev.answerback/{name}").as_str()]
}

#[test]
fn a_wrong_call_is_answered_and_does_not_reach_the_server() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    for arguments in [json!({}), json!({"n": "seven"}), json!({"n": 1, "unit": "stone"})] {
        let answer = client.call("count", arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let retry = meta(&answer, "retry");
        assert_eq!(
            (&retry["max"], &retry["correlationId"].as_str().map(str::len)),
            (&json!(3), &Some(36))
        );
    }
    // The third was the last attempt.
    let answer = client.call("count", json!({"n": 0}));
    let retry = meta(&answer, "retry");
    assert_eq!((&retry["class"], &retry["code"]), (&json!("stop"), &json!("CALLS_BLOCKED")));
    assert!(desk.reached().is_empty(), "{:?}", desk.reached());
    // Another tool is not concerned, and an unknown field that its schema forbids is told.
    let answer = client.call("echo", json!({"text": "a", "txt": "b"}));
    assert!(text(&answer).contains("/txt (VAL-005)"), "{answer}");
    let answer = client.call("echo", json!({"text": "a"}));
    assert_eq!(text(&answer), "a");
    assert_eq!(client.leave().0, 0);
}

#[test]
fn the_message_says_what_to_mend() {
    let desk = Desk::new();
    let config = desk.config("tools: {validation: {repair: offer}}\n");
    let mut client = desk.client(&["--no-record", "--config", &config]);
    let answer = client.call("count", json!({"n": "7", "unit": "KG"}));
    insta::assert_snapshot!(text(&answer));
    let facts = meta(&answer, "retry");
    assert_eq!(
        (&facts["attempt"], &facts["retryable"], &facts["class"]),
        (&json!(1), &json!(true), &json!("arguments"))
    );
    assert_eq!(meta(&answer, "envelope")["status"], "error");
    // Nothing is recorded, and nothing was made.
    assert!(!desk.path("state").exists());
    let (code, errors) = client.leave();
    assert_eq!(code, 0);
    // Operators are told once, and never a value.
    assert_eq!(errors.matches("Tool validation failed").count(), 1, "{errors}");
    assert!(!errors.contains("KG"), "{errors}");
}

/// A value that is only written in another way is rewritten, and that is recorded and reported.
#[test]
fn a_spelling_that_loses_nothing_is_corrected_on_the_way() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let answer = client.call("count", json!({"n": "7", "unit": "KG"}));
    assert_eq!(text(&answer), "7 kg", "{answer}");
    let reached = desk.reached();
    assert_eq!(reached[0]["params"]["arguments"], json!({"n": 7, "unit": "kg"}), "{reached:?}");
    let warnings = &meta(&answer, "envelope")["warnings"];
    assert_eq!(warnings[0]["code"], "REPAIR_APPLIED", "{answer}");
    let words = answer["result"]["content"][1]["text"].as_str().unwrap();
    let expected = "The arguments were repaired before the call: write 7 for \"7\" in 'n'; write \"kg\" for \"KG\" in 'unit'.";
    assert!(words.contains(expected), "{words}");
    // It is no attempt, and what would lose something is left to the model.
    let answer = client.call("count", json!({"n": "7.5"}));
    assert_eq!(meta(&answer, "retry")["attempt"], 1, "{answer}");
    assert_eq!(desk.reached().len(), 1);
    client.leave();
    let leaf = desk.leaves().into_iter().find(|leaf| leaf["kind"] == "request").unwrap();
    let parts: Vec<&str> =
        leaf["parts"].as_array().unwrap().iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(parts, ["seen", "sent"], "{leaf}");
}

/// The configuration switches it off, and a gateway that only warns forwards calls as they came.
#[test]
fn repairs_are_applied_as_configured() {
    for (config, reached) in [
        ("tools: {validation: {repair: offer}}\n", None),
        ("tools: {validation: {repair: \"off\"}}\n", None),
        ("tools: {validation: {overrides: {count: {repair: offer}}}}\n", None),
        ("tools: {validation: {repair: apply_lossless}}\n", Some(json!({"n": 7}))),
        ("gateway: {input: warn}\n", Some(json!({"n": "7"}))),
    ] {
        let desk = Desk::new();
        let file = desk.config(config);
        let mut client = desk.client(&["--no-record", "--config", &file]);
        let answer = client.call("count", json!({"n": "7"}));
        let found = desk.reached().first().map(|call| call["params"]["arguments"].clone());
        assert_eq!(found, reached, "{config}: {answer}");
        let says_so = answer.to_string().contains("were repaired before the call");
        assert_eq!(says_so, reached == Some(json!({"n": 7})), "{config}: {answer}");
        client.leave();
    }
}

#[test]
fn a_result_crosses_byte_for_byte_but_for_what_is_added() {
    let desk = Desk::new();
    let mut client = desk.client(&["--no-record"]);
    client.say(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"odd"}}"#);
    let line = client.line();
    let (before, after) = (
        r#"{"jsonrpc":"2.0","extra":1,"result":{"content" : [ {"type":"text","text":"\u00e9","vendor":1.50} ],"extra":{"b":1,"a":12345678901234567890123},"_meta":{"vendor/x":[ ],"dev.answerback/envelope":"#,
        r#"}},"id":"a"}"#,
    );
    assert!(line.starts_with(before) && line.ends_with(after), "{line}");
    // An error of the protocol crosses whole, and so does every other method.
    client.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"refuse"}}"#);
    assert_eq!(
        client.line(),
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"no","data":{"why":{"b":1.0,"a":2}}}}"#
    );
    client.say(r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#);
    assert_eq!(
        client.line(),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no such method","data":{"k":[1]}}}"#
    );
    let tools = client.ask("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][0]["vendor"]["x"], json!(1.0));
    client.leave();
}

#[test]
fn a_result_to_which_nothing_is_added_has_no_meta_either() {
    let desk = Desk::new();
    let config = desk.config("gateway: {envelope: \"off\"}\n");
    let mut client = desk.client(&["--no-record", "--config", &config]);
    let answer = client.call("echo", json!({"text": "a"}));
    assert_eq!((text(&answer), answer["result"].get("_meta")), ("a", None), "{answer}");
    client.leave();
}

#[test]
fn what_looks_like_success_and_is_none_is_flagged() {
    let desk = Desk::new();
    let mut client = desk.client(&["--no-record"]);
    let mut codes = |tool: &str, arguments: Value| -> (Value, Vec<String>) {
        let answer = client.call(tool, arguments);
        let envelope = meta(&answer, "envelope").clone();
        let told = [&envelope["warnings"], &envelope["errors"]];
        let codes = told.iter().filter_map(|list| list.as_array()).flatten();
        (
            envelope["status"].clone(),
            codes.map(|one| one["code"].as_str().unwrap().to_owned()).collect(),
        )
    };
    for (tool, arguments, status, code) in [
        ("echo", json!({"text": "fine"}), "ok", None),
        ("say_nothing", json!({}), "warning", Some("EMPTY_RESULT")),
        ("say_error", json!({}), "warning", Some("ERROR_IN_SUCCESS")),
        ("promise", json!({"n": "x"}), "warning", Some("OUTPUT_MISMATCH")),
        ("promise", json!({"n": 1}), "ok", None),
        ("broken_schema", json!({"any": 1}), "warning", Some("INPUT_UNCHECKED")),
        ("fail", json!({}), "error", Some("TOOL_FAILED")),
    ] {
        let expected: Vec<String> = code.into_iter().map(str::to_owned).collect();
        assert_eq!(codes(tool, arguments.clone()), (json!(status), expected), "{tool} {arguments}");
    }
    client.leave();
}

#[test]
fn an_unknown_tool_is_an_error_with_the_nearest_names() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let answer = client.call("Echo", json!({"text": "a"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("echo"), "{answer}");
    let answer = client.ask("tools/call", json!({"arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(desk.reached().is_empty());
    client.leave();
    // The model's own word is not in a leaf.
    let leaf = desk.leaves().into_iter().find(|leaf| leaf["kind"] == "validation").unwrap();
    assert!(leaf.get("tool").is_none() && leaf["tool_sha256"].is_string(), "{leaf}");
}

#[test]
fn everything_is_recorded_before_it_is_answered_and_verifies() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let answer = client.call("echo", json!({"text": "hello"}));
    let receipt = meta(&answer, "receipt").clone();
    let index = receipt["index"].as_u64().unwrap();
    // The program still runs: what was answered is there.
    let entry: Value = serde_json::from_str(&desk.good(&[
        "ledger",
        "show",
        &index.to_string(),
        "--format",
        "json",
    ]))
    .unwrap();
    assert_eq!(entry["leaf"]["kind"], "response", "{entry}");
    assert_eq!(entry["leaf"]["outcome"], "ok", "{entry}");
    assert_eq!(receipt["leafHash"], entry["hash"], "{entry}");
    client.call("count", json!({"n": 0}));
    client.call("log_in", json!({"user": "ada", "password": "correct horse battery"}));
    client.leave();
    let kinds: Vec<String> = desk
        .leaves()
        .iter()
        .map(|leaf| {
            format!(
                "{} {}",
                leaf["kind"].as_str().unwrap(),
                leaf["subject"].as_str().or(leaf["outcome"].as_str()).unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "config start",
            "config start",
            "config policy",
            "config catalogue",
            "request forwarded",
            "response ok",
            "validation retry",
            "request forwarded",
            "response ok",
            "config stop"
        ]
    );
    desk.good(&["ledger", "verify"]);
    // A secret is nowhere in the files.
    let files = fs::read_dir(desk.path("state/answerback")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|file| file.is_file());
    let bytes: Vec<u8> = files.flat_map(|file| fs::read(file).unwrap()).collect();
    assert!(contains(&bytes, b"hello"));
    assert!(!contains(&bytes, b"correct horse battery"));
}

pub(crate) fn contains(bytes: &[u8], sought: &[u8]) -> bool {
    bytes.windows(sought.len()).any(|window| window == sought)
}

/// All that is in the files of a folder.
pub(crate) fn files_below(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&files_below(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
    text
}

#[test]
fn what_cannot_be_read_is_recorded_all_the_same_and_its_secrets_are_not() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    for (how, text) in [("beyond", "1e400"), ("twice", "fine")] {
        let call = json!({"jsonrpc": "2.0", "id": how, "method": "tools/call", "params": {"name": "odd", "arguments": {"how": how}}});
        client.say(&call.to_string());
        let line = client.line();
        assert!(line.contains(text), "{line}");
    }
    client.leave();
    let leaves = desk.leaves();
    let outcomes: Vec<&str> = leaves
        .iter()
        .filter(|leaf| leaf["kind"] == "response")
        .map(|leaf| leaf["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["unreadable", "warned"]);
    let stored = files_below(desk.folder.path());
    assert!(stored.contains("1e400") && stored.contains("fine"), "what was said is in the record");
    for secret in ["hunter22", "abcd1234efgh"] {
        assert!(!stored.contains(secret), "{secret}");
    }
    desk.good(&["ledger", "verify"]);
}

#[test]
fn parallel_failures_are_one_attempt_and_pages_are_read_to_the_end() {
    let desk = Desk::new();
    let mut command = desk.command();
    command
        .env("STUB_PAGE", "3")
        .args(["wrap", "--no-record", "--name", "stub", "--", "python3"])
        .arg(stub());
    let mut client = Client::start(command);
    for id in ["a", "b", "c"] {
        client.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "big", "arguments": {"bytes": "x"}}}).to_string());
    }
    let attempts: Vec<Value> =
        (0..3).map(|_| meta(&client.hear(), "retry")["attempt"].clone()).collect();
    assert!(attempts.iter().filter(|attempt| **attempt == 1).count() >= 2, "{attempts:?}");
    client.leave();
}

#[test]
fn a_server_that_fails_harms_nobody() {
    let desk = Desk::new();
    // Garbage on its output is passed over.
    let mut client = desk.client(&[]);
    assert_eq!(text(&client.call("garbage", json!({}))), "garbage ran");
    // It ends in the middle of a call: the call is answered.
    let answer = client.call("die", json!({}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("the server ended"), "{answer}");
    assert_eq!(meta(&answer, "retry")["class"], "stop");
    // It is started again; what comes meanwhile is not sent, and said so.
    let deadline = Instant::now() + PATIENCE;
    loop {
        client.next += 1;
        let call = json!({"jsonrpc": "2.0", "id": client.next, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "a"}}});
        client.say(&call.to_string());
        let mut answer = client.hear();
        while answer["method"] == "notifications/tools/list_changed" {
            answer = client.hear();
        }
        if text(&answer) == "a" {
            break;
        }
        assert_eq!(meta(&answer, "retry")["class"], "wait", "{answer}");
        assert!(Instant::now() < deadline, "it is started again");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, errors) = client.leave();
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("a server is gone"), "{errors}");
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_definition_that_changed_is_told() {
    let desk = Desk::new();
    let client = desk.client(&[]);
    let mut client = client;
    client.call("echo", json!({"text": "a"}));
    client.leave();
    let mut command = desk.command();
    command.env("STUB_CHANGED", "1").args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
    let mut client = Client::start(command);
    let answer = client.call("echo", json!({"text": "a"}));
    assert_eq!(meta(&answer, "envelope")["warnings"][0]["code"], "DEFINITION_CHANGED", "{answer}");
    let (_, errors) = client.leave();
    assert!(errors.contains("not the one that was first seen"), "{errors}");
}

#[test]
fn several_share_one_record_and_nothing_acknowledged_is_lost_when_one_is_killed() {
    let desk = Desk::new();
    let mut clients: Vec<Client> = (0..3).map(|_| desk.client(&[])).collect();
    let mut receipts = Vec::new();
    for round in 0..5 {
        for client in &mut clients {
            let answer = client.call("echo", json!({"text": format!("round {round}")}));
            receipts.push(meta(&answer, "receipt").clone());
        }
    }
    let mut killed = clients.remove(0);
    killed.say(r#"{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{"name":"echo","arguments":{"text":"lost?"}}}"#);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    for client in clients {
        assert_eq!(client.leave().0, 0);
    }
    for receipt in receipts {
        let index = receipt["index"].to_string();
        let entry: Value =
            serde_json::from_str(&desk.good(&["ledger", "show", &index, "--format", "json"]))
                .unwrap();
        assert_eq!(entry["hash"], receipt["leafHash"]);
    }
    desk.good(&["ledger", "verify"]);
}

#[test]
fn the_configuration_decides_what_there_is_and_what_is_checked() {
    let desk = Desk::new();
    let config = desk.config(
        "gateway:\n  input: warn\n  unknown_tool: result\n  envelope: structured\n  deny: [log_in]\n  tools:\n    echo: {input: off}\n",
    );
    let mut client = desk.client(&["--config", &config]);
    let listed = client.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"echo") && !names.contains(&"log_in"), "{names:?}");
    // What is denied looks absent, to the model as well.
    let answer = client.call("log_in", json!({"user": "a", "password": "b"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("log_in"), "{answer}");
    // Warned, and passed on; the result stands where the envelope can hold it.
    let answer = client.call("count", json!({"n": 0}));
    assert_eq!(text(&answer), "0 kg");
    assert_eq!(answer["result"]["structuredContent"]["status"], "warning", "{answer}");
    // Not even looked at.
    let answer = client.call("echo", json!({"text": "a", "b": 1}));
    assert_eq!(meta(&answer, "envelope")["status"], "ok", "{answer}");
    assert_eq!(desk.reached().len(), 2);
    client.leave();
    let wrong = desk.config("gateway: {input: strict}\n");
    let output = desk.command().args(["wrap", "--config", &wrong, "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains("gateway.input is \"strict\"; expected one of off, warn, enforce"),
        "{errors}"
    );
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_is_told_what_it_waits_for() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["wrap", "--no-record", "--", "true"]);
    let (_, printed, shown) = at_a_terminal(command, "");
    assert!(shown.contains("it waits for JSON-RPC on standard input"), "{shown}");
    assert_eq!(printed, "");
}

/// A command is a command, with or without -- before it.
#[test]
fn the_separator_is_not_needed() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["wrap", "--no-record", "python3", "-u"]).arg(stub()).args(["--name", "x", "--"]);
    let mut client = Client::start(command);
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(client.leave().0, 0);
}

/// A client shows its user what `initialize` is answered with, and not our standard error.
#[test]
fn a_client_that_cannot_be_served_is_answered() {
    let desk = Desk::new();
    let config = desk.config("mcpServers: {}\n");
    let wrong = ["--config", config.as_str(), "--", "true"];
    for (words, expected) in [
        (&["--", "no-such-program-here"][..], "cannot start no-such-program-here"),
        (&wrong[..], "standard error has the reason"),
    ] {
        let mut command = desk.command();
        command.arg("wrap").args(words);
        let mut client = Client::spawn(command);
        client.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#);
        let answer = client.hear();
        assert_eq!(answer["id"], 0, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(expected), "{answer}");
        let (code, errors) = client.leave();
        assert_eq!(code, 2, "{errors}");
    }
}

/// Two servers that one program starts are two servers.
#[test]
fn servers_without_a_name_do_not_share_what_is_kept_of_them() {
    let desk = Desk::new();
    for (name, changed) in [("one.py", None), ("two.py", Some("1"))] {
        let script = desk.path(name);
        fs::copy(stub(), &script).unwrap();
        let mut command = desk.command();
        if let Some(changed) = changed {
            command.env("STUB_CHANGED", changed);
        }
        command.args(["wrap", "--", "python3"]).arg(&script);
        let mut client = Client::start(command);
        let answer = client.call("echo", json!({"text": "a"}));
        assert_eq!(meta(&answer, "envelope")["status"], "ok", "{answer}");
        client.leave();
    }
    let upstreams: Vec<Value> = desk.leaves().iter().map(|leaf| leaf["upstream"].clone()).collect();
    for name in ["one", "two"] {
        assert!(upstreams.contains(&json!(name)), "{upstreams:?}");
    }
}

/// Calls are checked wherever we run; only the record needs a place.
#[cfg(unix)]
#[test]
fn without_a_place_for_the_record_wrap_says_so_and_runs() {
    let desk = Desk::new();
    for is_unset in [true, false] {
        let mut command = desk.command();
        for name in ["HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            if is_unset {
                command.env_remove(name);
            } else {
                // No folder can be made there, whoever runs the tests.
                command.env(name, "/proc/nowhere");
            }
        }
        command.args(["wrap", "--", "python3"]).arg(stub());
        let mut client = Client::start(command);
        let answer = client.call("count", json!({"n": 0}));
        assert_eq!(meta(&answer, "retry")["attempt"], 1, "{answer}");
        assert_eq!(text(&client.call("count", json!({"n": 1}))), "1 kg");
        let (code, errors) = client.leave();
        assert_eq!(code, 0, "{errors}");
        assert!(errors.contains("warning: nothing is recorded"), "{errors}");
    }
    // What somebody asked for is not left out.
    let output =
        desk.command().args(["wrap", "--store", "/proc/nowhere/l.db", "--", "true"]).output();
    assert_eq!(output.unwrap().status.code(), Some(2));
}

#[test]
fn logs_have_time_stamps_and_may_be_json() {
    let desk = Desk::new();
    for format in ["text", "json"] {
        let mut client = desk.client(&["--no-record", "--log-format", format]);
        client.call("count", json!({"n": 0}));
        let (_, errors) = client.leave();
        let line = errors.lines().find(|line| line.contains("Tool validation failed")).unwrap();
        if format == "json" {
            let read: Value = serde_json::from_str(line).unwrap();
            assert!(read["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
            assert!(
                read["message"].as_str().unwrap().starts_with("Tool validation failed"),
                "{line}"
            );
            assert_eq!(read["fields"]["tool_name"], "count", "{line}");
        } else {
            let stamp = line.split_whitespace().next().unwrap();
            assert!(stamp.ends_with('Z') && stamp.contains('T'), "{line}");
        }
    }
}

#[test]
fn usage_is_told() {
    let desk = Desk::new();
    let output = desk.command().args(["wrap", "--", "no-such-program-here"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("cannot start no-such-program-here"), "{errors}");
    assert!(errors.contains("install it, or write its path"), "{errors}");
    assert!(!desk.path("state").exists() && !desk.path("data").exists(), "nothing is left behind");
    let output = desk.command().arg("wrap").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A correct call is never refused because of earlier wrong ones.
#[test]
fn a_valid_call_runs_and_closes_the_case() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    for _ in 0..3 {
        client.call("count", json!({"n": 0}));
    }
    let blocked = client.call("count", json!({"n": 0}));
    let said = text(&blocked);
    assert!(said.starts_with("Blocked: ") && said.contains("Stop calling this tool"), "{said}");
    // Nobody was notified: the case is in an inbox, and that is what is said.
    assert!(!said.contains("was asked") && said.contains("waits for a person"), "{said}");
    assert_eq!(meta(&blocked, "retry")["code"], "CALLS_BLOCKED", "{blocked}");
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let id = case["case"]["id"].as_str().unwrap();
    assert!(said.contains(id), "{said}");
    assert_eq!(text(&client.call("count", json!({"n": 2}))), "2 kg");
    assert_eq!(desk.good(&["inbox", "list"]), "No open cases.\n");
    let shown = desk.good(&["inbox", "show", id]);
    assert!(shown.contains("Resolved by the model"), "{shown}");
    // The next wrong call is a first attempt again.
    assert_eq!(meta(&client.call("count", json!({"n": 0})), "retry")["attempt"], 1);
    client.leave();
    desk.good(&["ledger", "verify"]);
    assert_eq!(desk.leaves().iter().filter(|leaf| leaf["kind"] == "decision").count(), 1);
}

#[test]
fn valid_calls_are_blocked_where_the_configuration_says_so() {
    let desk = Desk::new();
    let config =
        desk.config("tools: {validation: {retry: {max_attempts: 1, while_blocked: block}}}\n");
    let mut client = desk.client(&["--config", &config]);
    client.call("count", json!({"n": 0}));
    let blocked = client.call("count", json!({"n": 1}));
    assert_eq!(meta(&blocked, "retry")["code"], "CALLS_BLOCKED", "{blocked}");
    assert!(!text(&blocked).contains("still runs"), "{blocked}");
    assert!(desk.reached().is_empty());
    client.leave();
}

/// The server may take as long as it likes; the client has left.
#[cfg(unix)]
#[test]
fn wrap_ends_with_its_client_whatever_the_server_does() {
    for (method, params) in [
        ("tools/call", json!({"name": "sleep", "arguments": {"seconds": 600}})),
        ("hang", json!({})),
    ] {
        let desk = Desk::new();
        let mut client = desk.client(&[]);
        client.ask("tools/list", json!({}));
        client.say(
            &json!({"jsonrpc": "2.0", "id": "u", "method": method, "params": params}).to_string(),
        );
        client.close();
        let answer = client.hear();
        assert_eq!(answer["id"], "u", "{answer}");
        assert!(answer.to_string().contains("the client closed its input"), "{answer}");
        assert_eq!(client.leave().0, 0);
        desk.good(&["ledger", "verify"]);
    }
}

/// Nobody waits for a call's whole time for an answer that cannot be read.
#[test]
fn an_answer_that_is_not_utf_8_is_answered_at_once() {
    let desk = Desk::new();
    let mut client = desk.client(&["--no-record"]);
    let answer = client.call("garbage", json!({"how": "bytes"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("its answer is not UTF-8"), "{answer}");
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    client.leave();
}

#[cfg(unix)]
#[test]
fn a_case_waits_and_its_decision_takes_effect() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let wrong = |client: &mut Client| client.call("count", json!({"n": 0}));
    for _ in 0..2 {
        assert_eq!(meta(&wrong(&mut client), "retry")["class"], "arguments");
    }
    let answer = wrong(&mut client);
    assert_eq!(meta(&answer, "retry")["class"], "stop");
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let id = case["case"]["id"].as_str().unwrap().to_owned();
    assert!(text(&answer).contains(&id), "{answer}");
    assert_eq!(case["content"]["attempts"].as_array().unwrap().len(), 3, "{case}");
    // A person sees which server it is about, and how long there is to decide.
    let row = desk.good(&["inbox", "list"]);
    assert!(row.contains(&id) && row.contains("  stub  count  3 attempts  until 20"), "{row}");
    let shown = desk.good(&["inbox", "show", &id[..13]]);
    assert!(shown.contains("Server stub, tool count\nOpened 20"), "{shown}");
    assert!(shown.contains(", until 20"), "{shown}");
    // Each decision is a line that can be pasted.
    for decision in ["reject", "approve", "defer", "respond", "modify"] {
        let words = match decision {
            "respond" => " 'TEXT'",
            "modify" => " '{\"NAME\": VALUE}'",
            _ => "",
        };
        let line = format!("    answerback inbox {decision} {id}{words}");
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let store = desk.path("state/answerback/ledger.db");
    let shown = desk.good(&["inbox", "show", &id, "--store", store.to_str().unwrap()]);
    let reject = format!("    answerback inbox reject {id} --store {}\n", store.display());
    assert!(shown.contains(&reject), "{shown}");
    // A program is no person.
    let output =
        desk.command().args(["inbox", "reject", &id]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run this in a terminal"));
    let mut respond = desk.command();
    respond.args(["inbox", "respond", &id, "n is at least 1"]);
    let (code, decided, shown) = at_a_terminal(respond, "");
    assert_eq!(code, 0, "{shown}");
    assert!(decided.contains("respond"), "{decided}");
    let answer = wrong(&mut client);
    assert!(text(&answer).contains("n is at least 1"), "{answer}");
    let answer = client.call("count", json!({"n": 3}));
    assert_eq!(text(&answer), "3 kg");
    client.leave();
    desk.good(&["ledger", "verify"]);
    assert_eq!(desk.good(&["inbox", "list"]), "No open cases.\n");
    let kinds: Vec<Value> = desk.leaves().iter().map(|leaf| leaf["kind"].clone()).collect();
    for kind in ["escalation", "decision"] {
        assert_eq!(kinds.iter().filter(|it| **it == kind).count(), 1, "{kinds:?}");
    }
}

/// What a model sent and what a person answered stands in entries, in the case and in what is remembered of the attempts.
/// Erasing the entries leaves it nowhere.
#[cfg(unix)]
#[test]
fn erasing_the_entries_of_a_case_leaves_nothing_of_it() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    let words = ["quinceFirst", "quinceSecond", "quinceThird", "quinceAnswer"];
    for word in &words[..3] {
        client.call("count", json!({"n": 0, "unit": word}));
    }
    let listed = desk.good(&["inbox", "list", "--format", "json"]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let mut respond = desk.command();
    respond.args(["inbox", "respond", case["case"]["id"].as_str().unwrap(), "quinceAnswer"]);
    assert_eq!(at_a_terminal(respond, "").0, 0);
    client.leave();
    let state = desk.path("state");
    let held = || words.iter().filter(|word| files_below(&state).contains(**word)).count();
    assert_eq!(held(), 4);
    let lines = desk.good(&["ledger", "tail", "-n", "1000", "--format", "json"]);
    for line in lines.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let leaf = &entry["leaf"];
        if leaf["kind"] != "validation" && leaf["kind"] != "decision" {
            continue;
        }
        let index = entry["index"].to_string();
        for part in leaf["parts"].as_array().unwrap() {
            let (index, part) = (index.trim_matches('"'), part["name"].as_str().unwrap());
            desk.good(&["ledger", "erase", index, part, "--basis", "request", "--yes"]);
        }
    }
    assert_eq!(held(), 0);
    desk.good(&["ledger", "verify"]);
    let shown = desk.good(&["inbox", "list", "--all", "--format", "json"]);
    assert!(shown.contains("respond"), "that it was decided stays: {shown}");
}

#[test]
fn a_client_that_can_asks_its_user_at_once() {
    let wrong = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"count","arguments":{"n":0}}}"#;
    for (answer, expected) in [
        (
            json!({"action": "accept", "content": {"decision": "correct", "arguments": "{\"n\": 4}"}}),
            "4 kg",
        ),
        (
            json!({"action": "accept", "content": {"decision": "guide", "guidance": "count from one"}}),
            "A person answered: count from one",
        ),
        (
            json!({"action": "accept", "content": {"decision": "stop"}}),
            "A person stopped the calls",
        ),
        (json!({"action": "decline"}), "A person was asked: case"),
        (
            json!({"action": "accept", "content": {"decision": "approve"}}),
            "A person was asked: case",
        ),
    ] {
        let desk = Desk::new();
        let mut command = desk.command();
        command.args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
        let mut client = Client::start_with(command, json!({"elicitation": {}}));
        for _ in 0..2 {
            client.call("count", json!({"n": 0}));
        }
        client.say(wrong);
        let question = client.hear();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let schema = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(schema, &json!(["guide", "correct", "stop"]));
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string());
        let told = client.hear();
        assert_eq!(told["id"], "w", "{told}");
        assert!(
            text(&told).starts_with(expected) || text(&told).contains(expected),
            "{answer}: {told}"
        );
        let reached = desk.reached();
        assert_eq!(reached.len(), usize::from(expected == "4 kg"), "{reached:?}");
        client.leave();
        desk.good(&["ledger", "verify"]);
    }
}
