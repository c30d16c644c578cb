//! What is carried well however difficult a server is: over `answerback wrap` and `answerback serve`.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::gateway::{Gateway, MODERN, PATIENCE, Session, json_of, stateless};
use crate::resumed::Streaming;
use crate::wrap::{Client, Desk, meta, text};

pub(crate) fn moody() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/moody_server.py")
}

/// A wrapped server of this mood.
fn wrapped(desk: &Desk, mood: &str, config: &str) -> Command {
    let mut command = desk.command();
    command.env("MOOD", mood).env("MOODY_LOG", desk.path("heard.log"));
    command.args(["wrap", "--no-record", "--name", "stub", "--config", &desk.config(config)]);
    command.args(["--", "python3"]).arg(moody());
    command
}

/// An upstream of this mood, with a log of its own and more variables.
pub(crate) fn upstream(desk: &Desk, name: &str, mood: &str, more: &[(&str, &Path)]) -> String {
    let log = desk.path(&format!("{name}.log"));
    let variables = more.iter().map(|(variable, file)| format!(", {variable}: {}", file.display()));
    format!(
        "    {name}: {{command: python3, args: [{}], env: {{MOOD: {mood}, MOODY_LOG: {}{}}}}}\n",
        moody().display(),
        log.display(),
        variables.collect::<String>()
    )
}

fn heard(desk: &Desk, name: &str) -> String {
    std::fs::read_to_string(desk.path(&format!("{name}.log"))).unwrap_or_default()
}

/// Waits for something that happens in its own time.
fn until(what: &str, has_happened: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !has_happened() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_legacy_client_is_served_by_a_wrapped_server_that_ends_over_initialize() {
    let desk = Desk::new();
    let mut client = Client::start(wrapped(&desk, "modern", "{}\n"));
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(client.leave().0, 0);
    assert_eq!(heard(&desk, "heard").matches(r#""initialize""#).count(), 1);
}

#[test]
fn a_modern_client_is_served_by_a_wrapped_server_that_ends_over_anything_but_initialize() {
    let desk = Desk::new();
    let mut client = Client::spawn(wrapped(&desk, "legacy", "{}\n"));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "echo", "arguments": {"text": "a"}, "_meta": meta});
    assert_eq!(text(&client.ask("tools/call", params)), "a");
    assert_eq!(client.leave().0, 0);
}

#[test]
fn a_wrapped_program_that_never_was_a_server_is_told() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["wrap", "--no-record", "--", "python3", "-c", "raise SystemExit(5)"]);
    // Its input stays open, as a client's does.
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("the server exited before its first response: exit status: 5"), "{told}");
}

/// Whether it ends badly or well, before it is asked or over it: nobody waits for an answer that does not come.
#[test]
fn who_asks_a_program_that_never_was_a_server_is_answered() {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    for (script, ends_unasked) in [
        ("exit 0", true),
        ("echo hello; sleep 1", false),
        ("read line; exit 0", false),
        ("read line; exit 3", false),
    ] {
        let desk = Desk::new();
        let (mut command, number) = (desk.command(), desk.path("number"));
        let begun = format!("echo $$ > \"$0\"; {script}");
        command.args(["wrap", "--no-record", "--", "sh", "-c", &begun]).arg(&number);
        let mut client = Client::spawn(command);
        until("it has begun, or ended", || {
            let number = std::fs::read_to_string(&number).unwrap_or_default();
            let process = number.trim().parse().ok().and_then(Pid::from_raw);
            process.is_some_and(|it| !ends_unasked || test_kill_process(it).is_err())
        });
        let answer = client.ask("initialize", hello.clone());
        assert_eq!(answer["error"]["code"], -32603, "{script}: {answer}");
        let (code, told) = client.leave();
        assert_eq!(code, 2, "{script}: {told}");
        assert!(told.contains("the server exited before its first response"), "{script}: {told}");
    }
}

#[test]
fn who_asks_and_leaves_is_answered_by_a_program_that_never_was_a_server() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["wrap", "--no-record", "--", "sh", "-c", "cat > /dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#;
    child.stdin.take().unwrap().write_all(format!("{asked}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)), "{answer}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("the server exited before its first response"), "{told}");
}

#[test]
fn what_comes_too_late_or_twice_is_told_to_nobody() {
    let desk = Desk::new();
    let mut client = Client::start(wrapped(&desk, "legacy", "gateway: {call_seconds: 1}\n"));
    let late = client.call("hold", json!({}));
    assert!(text(&late).contains("did not answer within 1 seconds"), "{late}");
    // The server says the late answer before this one.
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(text(&client.call("twice", json!({}))), "once");
    assert_eq!(text(&client.call("echo", json!({"text": "b"}))), "b");
    // What is no call is bounded as well.
    let silent = client.ask("no/answer", json!({}));
    assert!(silent["error"]["message"].as_str().unwrap().contains("1 seconds"), "{silent}");
    assert_eq!(client.leave().0, 0);
    let heard = heard(&desk, "heard");
    assert_eq!(heard.matches("notifications/cancelled").count(), 2, "{heard}");
}

#[test]
fn a_server_that_does_not_read_leaves_nothing_unanswered() {
    const MANY: usize = 600;
    let desk = Desk::new();
    let mut client = Client::start(wrapped(&desk, "legacy", "gateway: {call_seconds: 1}\n"));
    client.ask("tools/list", json!({}));
    client.say(r#"{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"stop"}}"#);
    let pad = "x".repeat(2000);
    for number in 0..MANY {
        let method = if number % 2 == 0 { "tools/call" } else { "no/answer" };
        let params = json!({"name": "echo", "arguments": {"text": pad}});
        let id = format!("n{number}");
        client.say(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
    }
    let answered: std::collections::BTreeSet<String> =
        (0..=MANY).map(|_| client.hear()["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(answered.len(), MANY + 1);
    assert_eq!(client.leave().0, 0);
}

#[test]
fn a_call_that_is_worked_on_is_not_given_up() {
    let desk = Desk::new();
    let config = "gateway: {idle_seconds: 2, call_seconds: 60}\n";
    let mut client = Client::start(wrapped(&desk, "legacy", config));
    let silent = client.call("hold", json!({}));
    assert!(text(&silent).contains("nothing was heard of it for 2 seconds"), "{silent}");
    client.say(r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"work","_meta":{"progressToken":"t"}}}"#);
    let answer = loop {
        let said = client.hear();
        if said["method"] != "notifications/progress" {
            break said;
        }
    };
    assert_eq!(text(&answer), "worked");
    assert_eq!(client.leave().0, 0);
}

#[test]
fn a_server_that_never_answers_stalls_no_other() {
    let desk = Desk::new();
    let config = format!(
        "gateway:\n  upstreams:\n{}{}",
        upstream(&desk, "mute", "mute", &[]),
        upstream(&desk, "good", "legacy", &[])
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "echo", "{listed}");
    for _ in 0..5 {
        // Each time there is a reason to list anew.
        assert_eq!(text(&client.call("change", json!({}))), "changed");
        assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    }
    // The next client does not wait for it any more, and it is not asked what it could only answer when greeted.
    let mut other = Session::begin(&gateway, "/mcp");
    assert_eq!(text(&other.call("echo", json!({"text": "b"}))), "b");
    let heard = heard(&desk, "mute");
    assert!(heard.contains("initialize") && !heard.contains("tools/list"), "{heard}");
    assert!(!heard.contains("notifications/initialized"), "{heard}");
}

/// Whose a call is may have to be found out first. What is given up meanwhile is nobody's.
#[test]
fn a_call_that_is_given_up_while_tools_are_listed_reaches_no_server() {
    let desk = Desk::new();
    let gate = desk.path("listing");
    let listing = [("MOODY_LISTING", gate.as_path())];
    let config = format!(
        "gateway:\n  upstreams:\n{}{}",
        upstream(&desk, "one", "legacy", &listing),
        upstream(&desk, "two", "legacy", &listing)
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let params = json!({"name": "echo", "arguments": {"text": "given up"}});
    let call = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params});
    let mut calling = client.sent("POST", &call.to_string());
    until("the tools are listed", || heard(&desk, "one").contains("tools/list"));
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#;
    assert_eq!(client.send("POST", cancelled).status, 202);
    let mut answer = String::new();
    calling.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("the request was cancelled"), "{answer}");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    // Whatever is under way when the gateway ends is carried out before.
    gateway.stop();
    let heard = heard(&desk, "one");
    assert!(heard.contains(r#""text":"a""#) && !heard.contains("given up"), "{heard}");
}

#[test]
fn tools_do_not_disappear_with_their_server() {
    let desk = Desk::new();
    let grave = desk.path("grave");
    let config = format!(
        "gateway:\n  upstreams:\n{}{}",
        upstream(&desk, "one", "legacy", &[("MOODY_GRAVE", &grave)]),
        upstream(&desk, "two", "legacy", &[])
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let (mut alone, mut all) =
        (Session::begin(&gateway, "/mcp/one"), Session::begin(&gateway, "/mcp"));
    let names = |client: &mut Session<'_>| -> Vec<String> {
        let listed = client.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let (own, whole) = (names(&mut alone), names(&mut all));
    assert_eq!(whole.len(), 2 * own.len(), "{whole:?}");
    for client in [&mut alone, &mut all] {
        let died = client.call("die", json!({}));
        assert_eq!(meta(&died, "retry")["class"], "stop", "{died}");
    }
    assert_eq!(names(&mut alone), own);
    assert_eq!(names(&mut all), whole);
    // Who comes now is told as well, where anybody greets it.
    let mut late = Session::begin(&gateway, "/mcp");
    assert_eq!(names(&mut late), whole);
    assert_eq!(text(&late.call("two_echo", json!({"text": "a"}))), "a");
}

/// A stream of events that is read as it comes.
fn events(gateway: &Gateway, headers: &[(&str, &str)], body: &Value) -> Receiver<Value> {
    let mut request = ureq::http::Request::builder().method("POST").uri(gateway.url("/mcp"));
    let bearer = format!("Bearer {}", gateway.token);
    let usual = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    for (name, value) in usual.iter().chain(headers) {
        request = request.header(*name, *value);
    }
    let agent: ureq::Agent = ureq::Agent::config_builder().build().into();
    let request = request.body(body.to_string()).unwrap();
    let (sender, events) = channel();
    std::thread::spawn(move || {
        let mut answer = agent.run(request).unwrap();
        for line in BufReader::new(answer.body_mut().as_reader()).lines().map_while(Result::ok) {
            let data = line.strip_prefix("data: ").map(json_of);
            // Who does not listen any more leaves; a keep-alive is enough to find out.
            if data.is_some_and(|data| sender.send(data).is_err()) {
                return;
            }
        }
    });
    events
}

#[test]
fn a_call_that_streams_is_answered_when_the_gateway_ends() {
    let desk = Desk::new();
    let gate = desk.path("gate");
    let config = format!(
        "gateway:\n  upstreams:\n{}",
        upstream(&desk, "one", "legacy", &[("MOODY_GATE", &gate)])
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let client = Session::begin(&gateway, "/mcp");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "_meta": {"progressToken": 1}}});
    let said = events(&gateway, &[("Mcp-Session-Id", &client.name)], &call);
    let first = said.recv_timeout(PATIENCE).unwrap();
    assert_eq!(first["method"], "notifications/progress", "{first}");
    let address = gateway.url("").trim_start_matches("http://").to_owned();
    let id = Pid::from_child(&gateway.child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    until("nobody is let in any more", || TcpStream::connect(&address).is_err());
    std::fs::write(&gate, "").unwrap();
    let answer = said.recv_timeout(PATIENCE).unwrap();
    assert_eq!(text(&answer), "waited", "{answer}");
}

/// A gateway in front of two servers at which somebody listens for changes of tools, and what is said to them.
fn listened(desk: &Desk) -> (Gateway, Receiver<Value>) {
    let config = format!(
        "gateway:\n  upstreams:\n{}{}",
        upstream(desk, "one", "modern", &[]),
        upstream(desk, "two", "modern", &[])
    );
    let gateway = Gateway::start(desk, &config, &["--no-record"]);
    stateless(&gateway, "/mcp", "tools/list", json!({}));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let listen =
        json!({"jsonrpc": "2.0", "id": 70, "method": "subscriptions/listen", "params": params});
    let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "subscriptions/listen")];
    let said = events(&gateway, &headers, &listen);
    assert_eq!(next_of(&said), "notifications/subscriptions/acknowledged");
    (gateway, said)
}

/// What is said next to whoever listens.
fn next_of(said: &Receiver<Value>) -> String {
    let said = said.recv_timeout(PATIENCE).unwrap();
    let mine = &said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(mine, &json!(70), "{said}");
    said["method"].as_str().unwrap().to_owned()
}

/// Both servers tell something, and it is heard; and when the client leaves, both are told.
fn hears_both_and_leaves(desk: &Desk, gateway: &Gateway, said: Receiver<Value>) {
    for tool in ["change", "two_change"] {
        let changed = stateless(gateway, "/mcp", "tools/call", json!({"name": tool}));
        assert_eq!(text(changed.last()), "changed", "{:?}", changed.events);
        assert_eq!(next_of(&said), "notifications/tools/list_changed");
    }
    // The client leaves, which it does when it reads something that it does not want any more.
    drop(said);
    stateless(gateway, "/mcp", "tools/call", json!({"name": "change"}));
    until("every server is told", || {
        ["one", "two"].iter().all(|name| heard(desk, name).contains("notifications/cancelled"))
    });
}

#[test]
fn listening_at_all_servers_is_one_request() {
    let desk = Desk::new();
    let (gateway, said) = listened(&desk);
    hears_both_and_leaves(&desk, &gateway, said);
}

#[test]
fn listening_goes_on_at_a_server_that_comes_back() {
    let desk = Desk::new();
    let (gateway, said) = listened(&desk);
    let died = stateless(&gateway, "/mcp", "tools/call", json!({"name": "two_die"}));
    assert_eq!(meta(died.last(), "retry")["class"], "stop", "{:?}", died.events);
    // What the client may have missed is told when the server is listened to again, and nothing is acknowledged twice.
    assert_eq!(next_of(&said), "notifications/tools/list_changed");
    assert_eq!(heard(&desk, "two").matches("subscriptions/listen").count(), 2);
    assert_eq!(heard(&desk, "one").matches("subscriptions/listen").count(), 1);
    hears_both_and_leaves(&desk, &gateway, said);
}

/// A server's batch is its messages, each looked at and recorded as if it had come alone.
#[test]
fn a_batch_of_a_server_is_taken_apart() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.env("MOOD", "batches").args(["wrap", "--name", "stub"]);
    command.args(["--store", desk.path("state/answerback/ledger.db").to_str().unwrap()]);
    command.args(["--", "python3"]).arg(moody());
    let mut client = Client::spawn(command);
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    let ask = |client: &mut Client, id: u64, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        client.say(&request.to_string());
        // What came in one batch comes in its order.
        let mut before = Value::Null;
        loop {
            let said = client.hear();
            if said["id"] == id {
                assert_eq!(before["params"]["data"], "before", "{before}");
                return said;
            }
            before = said;
        }
    };
    let greeted = ask(&mut client, 1, "initialize", hello);
    assert_eq!(greeted["result"]["serverInfo"]["name"], "stub", "{greeted}");
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = json!({"name": "echo", "arguments": {"text": "a"}});
    let answer = ask(&mut client, 2, "tools/call", call);
    assert_eq!(text(&answer), "a", "{answer}");
    assert_eq!(meta(&answer, "envelope")["status"], "ok", "{answer}");
    assert!(meta(&answer, "receipt")["index"].is_u64(), "{answer}");
    assert_eq!(client.leave().0, 0);
    let leaves = desk.leaves();
    assert_eq!(leaves.iter().filter(|leaf| leaf["kind"] == "response").count(), 1);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_batch_of_a_server_among_several_is_taken_apart() {
    let desk = Desk::new();
    let config = format!(
        "gateway:\n  upstreams:\n{}{}",
        upstream(&desk, "one", "batches", &[]),
        upstream(&desk, "two", "legacy", &[])
    );
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    for tool in ["echo", "two_echo"] {
        let answer = client.call(tool, json!({"text": "a"}));
        assert_eq!(text(&answer), "a", "{answer}");
        assert!(meta(&answer, "receipt")["index"].is_u64(), "{answer}");
    }
    drop(gateway);
    desk.good(&["ledger", "verify"]);
}

/// So is one of a server behind a URL, as a body or as an event: the answer reaches whoever asked, the rest comes in its order.
#[test]
fn a_batch_of_a_server_behind_a_url_is_taken_apart() {
    let desk = Desk::new();
    let server = Streaming::start();
    let config = format!("gateway:\n  upstreams:\n    far: {{url: \"{}\"}}\n", server.url);
    let gateway = Gateway::start(&desk, &config, &[]);
    let client = Session::begin(&gateway, "/mcp");
    let listening = listening(&gateway, &client);
    for (id, tool) in [(1, "batched"), (2, "batched_stream")] {
        let params = json!({"name": tool, "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = client.send("POST", &call.to_string());
        let [before, answer] = &answer.events[..] else { panic!("{:?}", answer.events) };
        assert_eq!(before["params"]["data"], "before", "{before}");
        assert_eq!((&answer["id"], text(answer)), (&json!(id), tool), "{answer}");
        assert!(meta(answer, "receipt")["index"].is_u64(), "{answer}");
        // What comes behind the answer belongs to no request any more.
        let after = listening.recv_timeout(PATIENCE).unwrap();
        assert_eq!(after["params"]["data"], "after", "{after}");
    }
    let (_, said) = gateway.stop();
    let told =
        said.iter().filter(|line| line.contains("a batch with something that is no message"));
    assert_eq!(told.count(), 2, "{said:?}");
    desk.good(&["ledger", "verify"]);
}

/// What a session is told that belongs to no request.
fn listening(gateway: &Gateway, client: &Session<'_>) -> Receiver<Value> {
    let request = ureq::get(gateway.url("/mcp"));
    let request = request.header("Authorization", format!("Bearer {}", gateway.token));
    let request = request.header("Accept", "text/event-stream");
    let answer = request.header("Mcp-Session-Id", &client.name).call().unwrap();
    let (sender, said) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(answer.into_body().into_reader()).lines().map_while(Result::ok) {
            if let Some(message) = line.strip_prefix("data: ").filter(|data| !data.is_empty()) {
                let _ = sender.send(json_of(message));
            }
        }
    });
    said
}

/// What a client can do, and what its server keeps of it, is not another client's.
#[test]
fn clients_without_sessions_share_a_server_only_where_they_are_alike() {
    let asks = |name: &str, capabilities: Value| {
        json!({"name": "echo", "arguments": {"text": "a"}, "_meta": {
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }})
    };
    for (sharing, starts) in [("per_client", 3), ("shared", 1)] {
        let desk = Desk::new();
        let servers = upstream(&desk, "one", "legacy", &[]);
        let config = format!("gateway:\n  sharing: {sharing}\n  upstreams:\n{servers}");
        let gateway = Gateway::start(&desk, &config, &["--no-record"]);
        for (name, capabilities) in
            [("a", json!({})), ("b", json!({})), ("a", json!({"sampling": {}})), ("a", json!({}))]
        {
            let answer = stateless(&gateway, "/mcp", "tools/call", asks(name, capabilities));
            assert_eq!(text(answer.last()), "a", "{:?}", answer.events);
        }
        let heard = heard(&desk, "one");
        let greetings: Vec<&str> =
            heard.lines().filter(|line| line.contains(r#""method":"initialize""#)).collect();
        assert_eq!(greetings.len(), starts, "{heard}");
        let can_sample = greetings.iter().filter(|line| line.contains("sampling")).count();
        assert_eq!(can_sample, starts / 3, "{heard}");
    }
}
