//! Tests failures around the gateway: servers that crash, clients that disconnect, and a gateway that is killed.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{Gateway, MODERN, PATIENCE, Session, json_of};
use crate::serve::{one_stub, two_stubs};
use crate::transport::{moody, upstream};
use crate::wrap::{Client, Desk, meta, text};

/// Waits until a condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has_reached(desk: &Desk, words: &str) -> bool {
    std::fs::read_to_string(desk.path("calls.log")).is_ok_and(|log| log.contains(words))
}

fn outcomes(desk: &Desk, kind: &str) -> Vec<String> {
    let leaves = desk.leaves();
    let of_kind = leaves.iter().filter(|leaf| leaf["kind"] == kind);
    of_kind.map(|leaf| leaf["outcome"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn half_a_line_is_no_answer_and_the_server_comes_back() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let half = client.call("garbage", json!({"how": "half"}));
    assert_eq!(half["result"]["isError"], true, "{half}");
    assert!(text(&half).contains("has no result"), "{half}");
    assert_eq!(text(&client.call("two_echo", json!({"text": "b"}))), "b");
    until("the server is started again", || {
        text(&client.call("echo", json!({"text": "a"}))) == "a"
    });
}

#[test]
fn a_flood_of_messages_holds_up_nobody_else() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.ask("tools/list", json!({}));
    let arguments = json!({"how": "flood", "lines": 20_000});
    let call = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "garbage", "arguments": arguments}});
    let mut flood = send_and_keep(&gateway, &[("Mcp-Session-Id", &client.name)], &call);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (mut said, mut bytes) = (Vec::new(), vec![0; 1 << 16]);
            while !String::from_utf8_lossy(&said).contains("garbage ran") {
                let read = flood.read(&mut bytes).unwrap();
                assert!(read > 0, "the answer comes, however much came before it");
                said.drain(..said.len().saturating_sub(100));
                said.extend_from_slice(&bytes[..read]);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut other = Session::begin(&gateway, "/mcp/two");
        let mut answered = 0;
        while answered == 0 || !is_over.load(Ordering::SeqCst) && !reading.is_finished() {
            assert_eq!(text(&other.call("echo", json!({"text": "b"}))), "b");
            answered += 1;
        }
    });
}

/// Sends a request as a client that does not read the response.
fn send_and_keep(gateway: &Gateway, headers: &[(&str, &str)], body: &Value) -> TcpStream {
    let address = gateway.endpoint.strip_prefix("http://").unwrap();
    let (address, path) = address.split_once('/').unwrap();
    let body = body.to_string();
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        gateway.token,
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{request}{headers}\r\n{body}").as_bytes()).unwrap();
    stream
}

#[test]
fn the_call_of_a_client_that_is_gone_ends_as_its_revision_says() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.ask("tools/list", json!({}));
    // With a session, a disconnect does not cancel the request. Only its response is lost.
    let arguments = json!({"seconds": 0.3, "who": "legacy"});
    let call = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "sleep", "arguments": arguments}});
    let gone = send_and_keep(&gateway, &[("Mcp-Session-Id", &client.name)], &call);
    until("the call reaches the server", || has_reached(&desk, "legacy"));
    drop(gone);
    until("its result is recorded", || outcomes(&desk, "response") == ["ok"]);
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    // Without a session, a disconnect cancels the request.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let arguments = json!({"seconds": 0.3, "who": "modern"});
    let call = json!({"jsonrpc": "2.0", "id": 51, "method": "tools/call", "params": {"name": "sleep", "arguments": arguments, "_meta": meta}});
    let headers =
        [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "sleep")];
    let gone = send_and_keep(&gateway, &headers, &call);
    until("the call reaches the server", || has_reached(&desk, "modern"));
    drop(gone);
    until("the server is told", || has_reached(&desk, "notifications/cancelled"));
    until("so is the record", || outcomes(&desk, "response").last().unwrap() == "no_result");
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_wrapped_call_whose_client_leaves_is_in_the_record() {
    let desk = Desk::new();
    let mut client = desk.client(&[]);
    client.ask("tools/list", json!({}));
    let call = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "sleep", "arguments": {"seconds": 0.3}}});
    client.say(&call.to_string());
    until("the call reaches the server", || has_reached(&desk, "sleep"));
    client.leave();
    let responses = outcomes(&desk, "response");
    assert_eq!((outcomes(&desk, "request").len(), responses.len()), (1, 1), "{responses:?}");
    desk.good(&["ledger", "verify"]);
}

/// Returns the child processes of a process.
fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_child).collect()
}

/// Makes a call and returns the index in its receipt, or `None` if there is no response.
fn receipt_of(url: &str, token: &str, session: &str, id: u64) -> Option<u64> {
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "count", "arguments": {"n": id}}});
    let request = ureq::post(url).header("Authorization", format!("Bearer {token}"));
    let request = request.header("Content-Type", "application/json");
    let request = request.header("Accept", "application/json, text/event-stream");
    let mut answer = request.header("Mcp-Session-Id", session).send(call.to_string()).ok()?;
    let answer = json_of(&answer.body_mut().read_to_string().ok()?);
    answer["result"]["_meta"]["dev.answerback/receipt"]["index"].as_u64()
}

#[test]
fn what_was_acknowledged_under_load_survives_a_kill_and_no_child_stays() {
    let desk = Desk::new();
    let mut gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let (url, token) = (gateway.url("/mcp"), gateway.token.clone());
    let sessions: Vec<String> = (0..4)
        .map(|_| {
            let mut session = Session::begin(&gateway, "/mcp");
            session.ask("tools/list", json!({}));
            session.name.clone()
        })
        .collect();
    let servers = children(gateway.child.id());
    assert!(!servers.is_empty());
    let acknowledged = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| {
                for id in 1.. {
                    let Some(index) = receipt_of(&url, &token, session, id) else { return };
                    acknowledged.lock().unwrap().insert(index);
                }
            });
        }
        until("calls are answered", || acknowledged.lock().unwrap().len() >= 40);
        // Every client has a call in progress.
        gateway.child.kill().unwrap();
        gateway.child.wait().unwrap();
    });
    until("its servers end with it", || {
        servers.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists())
    });
    let again = Gateway::start(&desk, &two_stubs(), &[]);
    assert_eq!(text(&Session::begin(&again, "/mcp").call("count", json!({"n": 1}))), "1 kg");
    let lines = desk.good(&["ledger", "tail", "-n", "10000", "--format", "json"]);
    let kept: BTreeSet<u64> =
        lines.lines().filter_map(|line| json_of(line)["index"].as_str()?.parse().ok()).collect();
    let acknowledged = acknowledged.into_inner().unwrap();
    let missing: Vec<_> = acknowledged.difference(&kept).collect();
    assert!(missing.is_empty(), "{missing:?} of {}", acknowledged.len());
    desk.good(&["ledger", "verify"]);
}

/// Returns the processes of servers that ignore both the end of their input and SIGTERM.
fn stubborn(desk: &Desk) -> Vec<u32> {
    let ids = std::fs::read_to_string(desk.path("pids")).unwrap_or_default();
    ids.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

fn until_gone(ids: &[u32]) {
    until("what was started ends with who started it", || {
        ids.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists())
    });
}

/// Wraps such a server. Returns the client and two processes: the server's and that of its child.
fn wrapped_stubborn(desk: &Desk) -> (Client, Vec<u32>) {
    let mut command = desk.command();
    command.env("MOOD", "stubborn").env("MOODY_PIDS", desk.path("pids"));
    command.args(["wrap", "--no-record", "--", "python3"]).arg(moody());
    let mut client = Client::start(command);
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    let ids = stubborn(desk);
    assert_eq!(ids.len(), 2);
    (client, ids)
}

#[test]
fn a_server_that_ended_is_started_again_whoever_holds_its_output() {
    let desk = Desk::new();
    let pids = desk.path("pids");
    let config = format!(
        "gateway:\n  upstreams:\n{}",
        upstream(&desk, "one", "stubborn", &[("MOODY_PIDS", &pids)])
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    let first = stubborn(&desk);
    let died = client.call("die", json!({}));
    assert_eq!(meta(&died, "retry")["code"], "NO_RESULT", "{died}");
    until_gone(&first);
    until("the server is there again", || text(&client.call("echo", json!({"text": "b"}))) == "b");
}

#[test]
fn no_server_outlives_a_wrap_that_is_killed() {
    let desk = Desk::new();
    let (client, ids) = wrapped_stubborn(&desk);
    client.kill();
    until_gone(&ids);
}

#[test]
fn no_server_outlives_a_wrap_that_ends() {
    let desk = Desk::new();
    let (client, ids) = wrapped_stubborn(&desk);
    assert_eq!(client.leave().0, 0);
    until_gone(&ids);
}

#[test]
fn no_server_outlives_a_serve_that_is_killed() {
    let desk = Desk::new();
    let pids = desk.path("pids");
    let config = format!(
        "gateway:\n  upstreams:\n{}",
        upstream(&desk, "one", "stubborn", &[("MOODY_PIDS", &pids)])
    );
    let mut gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let begin = |gateway: &Gateway| {
        assert_eq!(text(&Session::begin(gateway, "/mcp").call("echo", json!({"text": "a"}))), "a");
    };
    let wardens = |gateway: &Gateway| -> Vec<u32> {
        let name = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm"));
        let is_warden = |id: &u32| name(id).is_ok_and(|name| name.starts_with("warden/"));
        children(gateway.child.id()).into_iter().filter(is_warden).collect()
    };
    begin(&gateway);
    until("somebody stands by", || wardens(&gateway).len() == 1);
    // The reaper itself may be killed, too. A new one starts, and it knows all running servers.
    let first = wardens(&gateway);
    let id = rustix::process::Pid::from_raw(first[0].try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    until("somebody else stands by", || {
        let now = wardens(&gateway);
        now.len() == 1 && now != first
    });
    begin(&gateway);
    let ids = [stubborn(&desk), wardens(&gateway)].concat();
    assert_eq!(ids.len(), 5);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    until_gone(&ids);
}
