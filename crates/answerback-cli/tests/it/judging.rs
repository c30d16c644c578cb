//! Tests calls that take long to check: neither other calls nor the shutdown wait for them.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session};
use crate::serve::one_stub;
use crate::wrap::{Client, Desk, stub, text};

/// Returns a schema and arguments that take about a quarter of an hour to check. The texts have maximum length, and the
/// patterns look ahead from every position in several ways.
fn slow() -> (Value, Value) {
    let pattern = |number: usize| {
        let ways = (0..10).map(|way| format!("a(?=a*{number}{way}b)|"));
        json!({"pattern": format!("{}b", ways.collect::<String>())})
    };
    let items = json!({"type": "string", "allOf": (0..10).map(pattern).collect::<Vec<_>>()});
    let schema =
        json!({"type": "object", "properties": {"texts": {"type": "array", "items": items}}});
    (schema, json!({"texts": vec![format!("{}b", "a".repeat(4095)); 500]}))
}

/// Starts one slow check per thread. Dropping the connections disconnects the clients.
fn occupy(session: &Session<'_>) -> Vec<TcpStream> {
    let (_, arguments) = slow();
    let threads = std::thread::available_parallelism().unwrap().get();
    let call = |number| {
        let params = json!({"name": "slow", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": format!("slow {number}"), "method": "tools/call", "params": params});
        session.sent("POST", &call.to_string())
    };
    (0..threads).map(call).collect()
}

/// True if no response has arrived yet. The head of a stream may have.
fn is_unanswered(connection: &mut TcpStream) -> bool {
    connection.set_nonblocking(true).unwrap();
    let mut said = Vec::new();
    let ended = connection.read_to_end(&mut said);
    let is_open = ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    is_open && !String::from_utf8_lossy(&said).contains('{')
}

/// Writes the tool with slow calls to a file.
fn slow_tool(desk: &Desk) -> PathBuf {
    let (schema, _) = slow();
    let tool = json!({"name": "slow", "inputSchema": schema}).to_string();
    let file = desk.path("slow.json");
    std::fs::write(&file, tool).unwrap();
    file
}

fn start(desk: &Desk) -> Gateway {
    let env = format!("], env: {{STUB_TOOL: {}}}}}", slow_tool(desk).display());
    Gateway::start(desk, &one_stub().replace("]}", &env), &[])
}

/// Starts a client of a wrapped server with a slow check in progress.
fn wrapped(desk: &Desk) -> Client {
    let mut command = desk.command();
    command.args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
    command.env("STUB_TOOL", slow_tool(desk));
    let mut client = Client::start(command);
    // The tools are known after this call.
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    let (_, arguments) = slow();
    let params = json!({"name": "slow", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params});
    client.say(&call.to_string());
    // Another call is answered in the meantime.
    assert_eq!(text(&client.call("echo", json!({"text": "b"}))), "b");
    client
}

#[test]
fn who_calls_meanwhile_is_answered_and_the_end_does_not_wait() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let mut slow = Session::begin(&gateway, "/mcp");
    // The tools are known after this call.
    assert_eq!(text(&slow.call("echo", json!({"text": "a"}))), "a");
    let mut judged = occupy(&slow);
    for number in 0..10 {
        let mut other = Session::begin(&gateway, "/mcp");
        let said = number.to_string();
        assert_eq!(text(&other.call("echo", json!({"text": said}))), said);
    }
    assert!(judged.iter_mut().all(is_unanswered), "they were meant to take longer");
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    let leaves = desk.leaves();
    assert_eq!(leaves.last().unwrap()["subject"], "stop", "{leaves:?}");
}

/// A call from a program is checked on its connection's task.
#[test]
fn a_call_that_a_program_has_judged_holds_nobody_up_either() {
    let desk = Desk::new();
    let gateway = start(&desk);
    let client = Session::begin(&gateway, "/mcp");
    let (schema, arguments) = slow();
    let line = json!({"id": "a", "tool": "slow", "arguments": arguments, "schema": schema});
    let mut judged = client.sent_to("/api/calls/check", "POST", &line.to_string());
    for _ in 0..10 {
        assert_eq!(gateway.send("GET", "/healthz", &[], "").status, 200);
    }
    assert!(is_unanswered(&mut judged), "it was meant to take longer");
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    assert_eq!(desk.leaves().last().unwrap()["subject"], "stop");
}

/// If the client closes its end or the program is terminated, the pending call is answered as not run.
#[test]
fn the_end_of_wrap_does_not_wait_for_what_is_judged_either() {
    let leave: [fn(&mut Client); 2] = [Client::close, |client| client.terminate()];
    for leave in leave {
        let desk = Desk::new();
        let mut client = wrapped(&desk);
        leave(&mut client);
        let answer = client.hear();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("slow"), &json!(-32603)),
            "{answer}"
        );
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains("did not run"), "{said}");
        let (code, said) = client.leave();
        assert_eq!(code, 0, "{said}");
        assert!(!said.contains("panicked"), "{said}");
        let leaves = desk.leaves();
        assert_eq!(leaves.last().unwrap()["subject"], "stop", "{leaves:?}");
    }
}
