//! `answerback serve` from outside: clients over HTTP in front, servers behind.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{Gateway, MODERN, PATIENCE, Session, json_of, stateless};
use crate::messages::{TWICE, with_members};
use crate::program::told;
use crate::prompt::once_shown;
use crate::wrap::{Desk, meta, stub, text};

pub(crate) fn one_stub() -> String {
    format!(
        "gateway:\n  upstreams:\n    stub: {{command: python3, args: [{}]}}\n",
        stub().display()
    )
}

pub(crate) fn two_stubs() -> String {
    let stub = stub();
    let stub = stub.display();
    format!(
        "gateway:\n  upstreams:\n    one: {{command: python3, args: [{stub}]}}\n    two: {{command: python3, args: [{stub}], env: {{STUB_PAGE: \"3\"}}}}\n"
    )
}

#[test]
fn a_client_with_a_session() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let tools = client.ask("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][0]["vendor"]["x"].to_string(), "1.0", "{tools}");
    let wrong = client.call("count", json!({"n": "seven", "unit": "KG"}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    assert_eq!(meta(&wrong, "retry")["class"], "arguments");
    assert!(desk.reached().is_empty());
    let right = client.call("count", json!({"n": 7, "unit": "kg"}));
    assert_eq!(text(&right), "7 kg");
    assert!(meta(&right, "receipt")["index"].is_u64(), "{right}");
    assert_eq!(client.send("DELETE", "").status, 200);
    assert_eq!(client.send("POST", r#"{"id":9,"method":"ping"}"#).status, 404);
    let ready = gateway.send("GET", "/readyz", &[("Authorization", "")], "");
    assert_eq!(ready.status, 200, "a server that was left is not missed: {:?}", ready.events);
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    desk.good(&["ledger", "verify"]);
    let kinds: Vec<_> =
        desk.leaves().iter().map(|leaf| leaf["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        ["config", "config", "config", "config", "validation", "request", "response", "config"]
    );
}

/// A server, wrapped servers and commands write to one file at the same time: each answer that named an entry has it,
/// and the verifier finds one whole log.
#[test]
fn a_server_wrapped_servers_and_commands_share_one_file() {
    const ROUNDS: usize = 8;
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let document = desk.path("reply.json");
    let reply = json!({"response_type": "text", "summary": "from a command", "timestamp": "2026-03-04T05:06:07Z"});
    std::fs::write(&document, reply.to_string()).unwrap();
    let receipt = |answer: &Value| {
        let receipt = meta(answer, "receipt");
        (receipt["index"].to_string(), Some(receipt["leafHash"].clone()))
    };
    let mut receipts = Vec::new();
    std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for _ in 0..2 {
            writers.push(scope.spawn(|| {
                let mut client = desk.client(&[]);
                let calls = (0..ROUNDS)
                    .map(|n| receipt(&client.call("echo", json!({"text": n.to_string()}))));
                let calls = calls.collect::<Vec<_>>();
                assert_eq!(client.leave().0, 0);
                calls
            }));
        }
        writers.push(scope.spawn(|| {
            let record = ["ledger", "record", "--format", "json", document.to_str().unwrap()];
            let recorded = (0..ROUNDS).map(|_| {
                let line: Value = serde_json::from_str(&desk.good(&record)).unwrap();
                let index = line["index"].as_str().unwrap().to_owned();
                (index, None)
            });
            recorded.collect::<Vec<_>>()
        }));
        let mut client = Session::begin(&gateway, "/mcp");
        let calls = (1..=ROUNDS).map(|n| client.call("count", json!({"n": n, "unit": "kg"})));
        receipts.extend(calls.map(|answer| receipt(&answer)));
        for writer in writers {
            receipts.extend(writer.join().unwrap());
        }
    });
    assert_eq!(gateway.stop().0, 0);
    desk.good(&["ledger", "verify"]);
    let lines = desk.good(&["ledger", "tail", "-n", "1000", "--format", "json"]);
    let entries: BTreeMap<String, Value> = lines
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            (entry["index"].to_string().trim_matches('"').to_owned(), entry["hash"].clone())
        })
        .collect();
    let mut indexes = BTreeSet::new();
    for (index, hash) in receipts {
        let kept = entries.get(&index).unwrap_or_else(|| panic!("entry {index} is missing"));
        assert!(hash.is_none_or(|hash| hash == *kept), "entry {index} is another");
        indexes.insert(index);
    }
    assert_eq!(indexes.len(), 4 * ROUNDS, "each has an entry of its own");
}

/// Where `scripts/postgres` runs the tests: the same on the store that several share.
#[test]
fn a_gateway_on_postgresql() {
    let Ok(server) = std::env::var("ANSWERBACK_TEST_POSTGRES") else { return };
    let desk = Desk::new();
    let url = format!("{server}?schema=served_{}", std::process::id());
    let mut command = desk.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &desk.config(&one_stub())]);
    command.args(["--store", &url, "--key"]).arg(desk.path("ledger.key"));
    let gateway = Gateway::run(command, &desk);
    let mut client = Session::begin(&gateway, "/mcp");
    let wrong = client.call("count", json!({"n": "seven", "unit": "KG"}));
    assert_eq!(meta(&wrong, "retry")["class"], "arguments");
    let right = client.call("count", json!({"n": 7, "unit": "kg"}));
    assert!(meta(&right, "receipt")["index"].is_u64(), "{right}");
    assert_eq!(gateway.send("GET", "/readyz", &[("Authorization", "")], "").status, 200);
    for path in ["/api/replies", "/api/cases", "/api/streams", "/api/ledger", "/api/artifacts"] {
        let answer = gateway.send("GET", path, &[], "");
        assert!(answer.status == 200, "{path}: {} {:?}", answer.status, answer.events);
    }
    // The verifier reads the tables, from within a server as well.
    let verified = gateway.send("POST", "/api/ledger/verify", &[], "");
    assert_eq!((verified.status, &verified.last()["ok"]), (200, &json!(true)));
    let (code, said) = gateway.stop();
    assert_eq!(code, 0, "{said:?}");
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
}

#[test]
fn a_client_without_a_session_speaks_to_a_server_of_the_other_era() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let discovered = stateless(&gateway, "/mcp", "server/discover", json!({}));
    let found = &discovered.last()["result"];
    assert!(found["supportedVersions"].to_string().contains(MODERN), "{found}");
    let tools = stateless(&gateway, "/mcp/stub", "tools/list", json!({}));
    assert_eq!(tools.last()["result"]["resultType"], "complete", "{:?}", tools.events);
    let call = |arguments| {
        let params = json!({"name": "count", "arguments": arguments});
        stateless(&gateway, "/mcp", "tools/call", params).last().clone()
    };
    assert_eq!(call(json!({}))["result"]["isError"], true);
    let right = call(json!({"n": 2}));
    assert_eq!((text(&right), &right["id"]), ("2 kg", &json!(7)), "{right}");
    // What headers and message say must agree.
    let lie = r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call")];
    let refused = gateway.send("POST", "/mcp", &headers, lie);
    assert_eq!((refused.status, &refused.last()["error"]["code"]), (400, &json!(-32020)));
    let unknown = stateless(&gateway, "/mcp", "no/such", json!({}));
    assert_eq!((unknown.status, &unknown.last()["error"]["code"]), (404, &json!(-32601)));
    assert_eq!(gateway.send("GET", "/mcp", &[], "").status, 405);
}

#[test]
fn a_server_that_dies_is_started_again_and_harms_no_other() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let died = client.call("die", json!({}));
    assert_eq!(meta(&died, "retry")["class"], "stop", "{died}");
    assert_eq!(text(&client.call("two_echo", json!({"text": "b"}))), "b");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = client.call("echo", json!({"text": "a"}));
        if text(&answer) == "a" {
            break;
        }
        // Nobody was there to hear it, and the model is told so.
        let is_told =
            ["was not sent", "was not run"].iter().any(|words| text(&answer).contains(words));
        assert!(is_told, "{answer}");
        assert!(Instant::now() < deadline, "it is started again");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn results_servers_and_cases_are_counted() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    for _ in 0..2 {
        client.call("echo", json!({"text": "a"}));
    }
    client.call("fail", json!({}));
    client.call("say_nothing", json!({}));
    client.call("refuse", json!({}));
    client.call("no_such_tool", json!({}));
    for _ in 0..3 {
        client.call("count", json!({}));
    }
    let page = gateway.metrics();
    for line in [
        r#"answerback_gateway_calls_total{outcome="forwarded",tool="echo",upstream="stub"} 2"#,
        r#"answerback_gateway_calls_total{outcome="answered",tool="count",upstream="stub"} 2"#,
        r#"answerback_gateway_calls_total{outcome="asked",tool="count",upstream="stub"} 1"#,
        r#"answerback_gateway_calls_total{outcome="answered",tool="(unknown)",upstream="stub"} 1"#,
        r#"answerback_gateway_results_total{outcome="ok",tool="echo",upstream="stub"} 2"#,
        r#"answerback_gateway_results_total{outcome="tool_error",tool="fail",upstream="stub"} 1"#,
        r#"answerback_gateway_results_total{outcome="warned",tool="say_nothing",upstream="stub"} 1"#,
        r#"answerback_gateway_results_total{outcome="protocol_error",tool="refuse",upstream="stub"} 1"#,
        r#"answerback_gateway_call_seconds_count{tool="echo",upstream="stub"} 2"#,
        r#"answerback_gateway_upstream_up{upstream="stub"} 1"#,
        r#"answerback_gateway_upstream_restarts_total{upstream="stub"} 0"#,
        "answerback_gateway_open_cases 1",
        "answerback_store_healthy 1",
        "answerback_store_withheld_total 0",
        "answerback_store_queue_full_total 0",
        "# TYPE answerback_gateway_call_seconds histogram",
        "# HELP answerback_gateway_upstream_up 1 if the server is up, 0 if it is down",
    ] {
        assert!(page.lines().any(|told| told == line), "{line}\n{page}");
    }
    assert!(!page.contains("no_such_tool"), "{page}");
    client.call("die", json!({}));
    let died =
        r#"answerback_gateway_results_total{outcome="no_result",tool="die",upstream="stub"}"#;
    assert_eq!(gateway.figure(died), Some(1.0));
    let again = r#"answerback_gateway_upstream_restarts_total{upstream="stub"}"#;
    assert!(gateway.comes_to(again, |restarts| restarts >= 1.0), "{}", gateway.metrics());
    let is_up = r#"answerback_gateway_upstream_up{upstream="stub"}"#;
    assert!(gateway.comes_to(is_up, |up| up > 0.0), "{}", gateway.metrics());
}

#[test]
fn what_is_recorded_is_indexed_before_anybody_searches() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.call("echo", json!({"text": "zanzibar marmalade"}));
    let size = gateway.send("GET", "/api/ledger", &[], "").last()["size"].as_f64().unwrap();
    let position = "answerback_store_text_position";
    assert!(gateway.comes_to(position, |next| next >= size), "{}", gateway.metrics());
    let found = gateway.send("GET", "/api/replies?text=marmalade", &[], "");
    assert_eq!(found.last()["replies"].as_array().unwrap().len(), 1, "{:?}", found.events);
    assert_eq!(found.last()["indexed"].as_f64(), Some(size), "{:?}", found.events);
}

#[test]
fn a_gateway_may_be_a_server_of_another() {
    let desk = Desk::new();
    let behind = Gateway::start(&desk, &one_stub(), &["--no-record"]);
    let bearer = format!("Bearer {}", behind.token);
    let config = format!(
        "gateway:\n  upstreams:\n    far: {{url: \"{}\", headers: {{Authorization: {{env: FAR_TOKEN}}}}}}\n",
        behind.endpoint
    );
    let front = Desk::new();
    let mut command = front.command();
    let file = front.config(&config);
    command.env("FAR_TOKEN", bearer);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &file]);
    let front_gateway = Gateway::run(command, &front);
    let mut client = Session::begin(&front_gateway, "/mcp");
    assert_eq!(text(&client.call("echo", json!({"text": "far"}))), "far");
    let odd = client.call("odd", json!({}));
    assert_eq!(odd["result"]["content"][0]["vendor"].to_string(), "1.5", "{odd}");
    let modern = stateless(
        &front_gateway,
        "/mcp",
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "m"}}),
    );
    assert_eq!(text(modern.last()), "m", "{:?}", modern.events);
    // The server behind goes: the model is told to wait, and nothing hangs.
    drop(behind);
    let gone = client.call("echo", json!({"text": "x"}));
    assert_eq!(meta(&gone, "retry")["class"], "wait", "{gone}");
}

#[test]
fn a_person_answers_a_client_without_a_session() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let call = |more: Value| {
        let mut params = json!({
            "name": "count", "arguments": {"n": "many"},
            "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}},
        });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        stateless(&gateway, "/mcp", "tools/call", params).last()["result"].clone()
    };
    let mut last = Value::Null;
    for _ in 0..3 {
        last = call(json!({}));
    }
    assert_eq!(last["resultType"], "input_required", "{last}");
    let form = &last["inputRequests"]["answerback"];
    assert_eq!(form["method"], "elicitation/create", "{last}");
    // The record has the question, and the receipt says where.
    let index = last["_meta"]["dev.answerback/receipt"]["index"].to_string();
    let asked = desk.good(&["ledger", "show", &index, "--raw", "--part", "delivered"]);
    assert_eq!(json_of(&asked)["inputRequests"], last["inputRequests"]);
    let answer =
        json!({"action": "accept", "content": {"decision": "correct", "arguments": "{\"n\": 3}"}});
    let ran = call(
        json!({"inputResponses": {"answerback": answer}, "requestState": last["requestState"]}),
    );
    assert_eq!(ran["content"][0]["text"], "3 kg", "{ran}");
    let kinds: Vec<_> = desk.leaves().iter().map(|leaf| leaf["kind"].clone()).collect();
    assert!(
        kinds.contains(&json!("escalation")) && kinds.contains(&json!("decision")),
        "{kinds:?}"
    );
    // Once is once.
    let again = call(
        json!({"inputResponses": {"answerback": {"action": "accept", "content": {"decision": "correct", "arguments": "{\"n\": 4}"}}}, "requestState": last["requestState"]}),
    );
    assert_eq!(again["isError"], true, "{again}");
}

#[test]
fn who_may_not_gets_nothing() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (headers, status) in [
        (&[("Authorization", "")][..], 401),
        (&[("Authorization", "Bearer ab_nothing")], 401),
        (&[("Origin", "https://evil.example")], 403),
        (&[("Host", "evil.example")], 421),
        (&[("Content-Type", "text/plain")], 415),
        (&[("Content-Encoding", "gzip")], 415),
        (&[("Content-Encoding", "identity, br")], 415),
        (&[("Accept", "text/html")], 406),
        (&[], 400),
    ] {
        let answer = gateway.send("POST", "/mcp", headers, ping);
        assert_eq!(answer.status, status, "{headers:?}: {:?}", answer.events);
    }
    let decision = gateway.send("POST", "/api/cases/x/decision", &[], "{}");
    assert_eq!(decision.status, 403, "our own token decides nothing");
    assert_eq!(gateway.send("GET", "/healthz", &[("Authorization", "")], "").status, 200);
    assert_eq!(gateway.send("GET", "/metrics", &[("Authorization", "")], "").status, 401);
}

#[test]
fn a_newcomer_at_a_terminal_is_told_how_to_connect() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let store = desk.path("state/answerback/ledger.db");
    let another = format!("another: answerback link --store {})", store.display());
    once_shown(command, &another, |shown| {
        let line =
            shown.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{shown}"));
        let client = &json_of(line)["mcpServers"]["answerback"];
        let kept = std::fs::read_to_string(desk.path("state/answerback/serve.token")).unwrap();
        let (url, header) =
            (client["url"].as_str().unwrap(), client["headers"]["Authorization"].as_str().unwrap());
        assert_eq!(
            (&client["type"], header),
            (&json!("http"), format!("Bearer {}", kept.trim()).as_str())
        );
        // Pasted as it is, it works.
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
        let request = ureq::post(url)
            .header("Authorization", header)
            .header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        assert_eq!(request.send(hello.to_string()).unwrap().status(), 200);
        let inbox = format!("answerback inbox list --store {}", store.display());
        for words in
            [format!("endpoint {url}"), "servers  tools".to_owned(), inbox, "/#t=".to_owned()]
        {
            assert!(shown.contains(&words), "{words}: {shown}");
        }
    });
    // What is kept in a file is not told where others may read it.
    let gateway = Gateway::run(
        {
            let mut command = desk.command();
            command.args(["serve", "--listen", "127.0.0.1:0"]);
            command
        },
        &desk,
    );
    let token = gateway.token.clone();
    let (_, said) = gateway.stop();
    assert!(!said.iter().any(|line| line.contains(&token)), "{said:?}");
}

#[test]
fn a_token_that_may_decide_decides() {
    let desk = Desk::new();
    let config =
        format!("{}  tokens:\n    desk: {{scopes: [read, decide], env: DESK_TOKEN}}\n", one_stub());
    let file = desk.config(&config);
    let mut command = desk.command();
    let token = format!("ab_{}", "A".repeat(43));
    command.env("DESK_TOKEN", &token);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &file]);
    let gateway = Gateway::run(command, &desk);
    let mut client = Session::begin(&gateway, "/mcp");
    for _ in 0..3 {
        client.call("count", json!({"n": "many"}));
    }
    let bearer = format!("Bearer {token}");
    let desk_headers = [("Authorization", bearer.as_str())];
    let cases = gateway.send("GET", "/api/cases", &desk_headers, "");
    let case = cases.last()["cases"][0]["case"].clone();
    let path = format!("/api/cases/{}/decision", case["id"].as_str().unwrap());
    let decision = |message: &str| {
        json!({"decision": "respond", "message": message, "digest": case["digest"], "revision": case["revision"]}).to_string()
    };
    let decided = gateway.send("POST", &path, &desk_headers, &decision("use a number"));
    assert_eq!(decided.status, 201, "{:?}", decided.events);
    let late = gateway.send("POST", &path, &desk_headers, &decision("something else"));
    assert_eq!(late.status, 409, "{:?}", late.events);
    let guided = client.call("count", json!({"n": 5}));
    assert!(guided.to_string().contains("use a number"), "{guided}");
}

#[test]
fn without_a_configuration_our_own_tools_are_served() {
    let desk = Desk::new();
    let mut command = desk.command();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let gateway = Gateway::run(command, &desk);
    let mut client = Session::begin(&gateway, "/mcp/tools");
    let answer = client.call("validate_email", json!({"email": "a@example.org"}));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    // A second copy cannot have the port, and says so.
    let address = gateway.endpoint.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let second = desk.command().args(["serve", "--listen", address]).output().unwrap();
    assert_eq!(second.status.code(), Some(2), "{}", told(&second));
    assert!(told(&second).contains("in use"), "{}", told(&second));
}

#[test]
fn a_server_that_stops_does_not_hide_another() {
    let desk = Desk::new();
    let first = Gateway::start(&desk, &one_stub(), &[]);
    let second = Gateway::start(&desk, &one_stub(), &[]);
    let store = desk.path("state/answerback/ledger.db");
    let link = ["link", "--store", store.to_str().unwrap()];
    first.stop();
    assert!(desk.good(&link).starts_with(&second.url("/#t=")));
    second.stop();
    let output = desk.command().args(link).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
}

#[test]
fn who_is_refused_leaves_nothing_behind() {
    let desk = Desk::new();
    for (listen, said) in [
        ("0.0.0.0:0", "other machines can reach 0.0.0.0:0"),
        ("localhost:7311", "expected an address with a port, such as 127.0.0.1:7311"),
        ("7311", "expected an address with a port, such as 127.0.0.1:7311"),
    ] {
        let output = desk.command().args(["serve", "--listen", listen]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(said), "{}", told(&output));
        assert!(!desk.path("state").exists() && !desk.path("data").exists(), "{listen}");
    }
}

#[test]
fn the_doctor_looks_at_everything() {
    let desk = Desk::new();
    let config = format!("{}    gone: {{command: no-such-program}}\n", one_stub());
    let file = desk.config(&config);
    let output =
        desk.command().args(["doctor", "--format", "json", "--config", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = lines.lines().map(json_of).collect();
    let has = |standing: &str, about: &str, what: &str| {
        found.iter().any(|line| {
            line["standing"] == standing
                && line["about"].as_str().unwrap().contains(about)
                && line["what"].as_str().unwrap().contains(what)
        })
    };
    assert!(has("good", "server stub", "stub 1.2.3"), "{lines}");
    assert!(has("problem", "tool 'broken_schema'", "cannot be used"), "{lines}");
    assert!(has("problem", "server gone", "cannot be started"), "{lines}");
    assert!(has("advice", "tool 'count'", "does not know"), "{lines}");
    let output = desk.command().args(["doctor", "--only", "tools"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_configuration_is_read_again_and_nobody_is_dropped() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut before = Session::begin(&gateway, "/mcp");
    assert_eq!(text(&before.call("echo", json!({"text": "a"}))), "a");
    desk.config(&format!("{}  deny: [echo]\n", two_stubs()));
    let id = rustix::process::Pid::from_child(&gateway.child);
    rustix::process::kill_process(id, rustix::process::Signal::HUP).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !gateway.said.recv_timeout(PATIENCE).unwrap().contains("was reloaded") {
        assert!(Instant::now() < deadline);
    }
    // Who is there goes on as before; who comes now finds what is in force now.
    assert_eq!(text(&before.call("echo", json!({"text": "b"}))), "b");
    let mut after = Session::begin(&gateway, "/mcp/two");
    assert_eq!(after.call("echo", json!({"text": "c"}))["error"]["code"], -32602);
    assert_eq!(text(&after.call("count", json!({"n": 1}))), "1 kg");
    // What cannot be used changes nothing.
    desk.config("gateway: {upstreams: {x: {}}}\n");
    rustix::process::kill_process(id, rustix::process::Signal::HUP).unwrap();
    while !gateway.said.recv_timeout(PATIENCE).unwrap().contains("was not reloaded") {
        assert!(Instant::now() < deadline);
    }
    assert_eq!(text(&after.call("count", json!({"n": 2}))), "2 kg");
}

#[test]
fn a_long_result_is_cut_for_the_model_and_kept() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &format!("{}  shown_bytes: 1000\n", one_stub()), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let answer = client.call("big", json!({"bytes": 5000}));
    assert_eq!(text(&answer).len(), 1000, "{answer}");
    assert_eq!(meta(&answer, "cut")["bytes"], 5000);
    let note = answer["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("answerback ledger search --request"), "{note}");
    let index = meta(&answer, "receipt")["index"].to_string();
    let kept = desk.good(&["ledger", "show", &index, "--raw", "--part", "received"]);
    assert!(kept.contains(&"x".repeat(5000)), "the record has all of it");
}

#[test]
fn a_server_that_hangs_or_says_too_much_holds_up_nobody() {
    let desk = Desk::new();
    let config = format!("{}  call_seconds: 10\n  largest_message: 1000000\n", two_stubs());
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let flood = client.call("big", json!({"bytes": 100_000_000}));
    assert_eq!(meta(&flood, "retry")["class"], "stop", "{flood}");
    assert!(text(&flood).contains("more than 1000000 bytes"), "{flood}");
    let hung = client.call("sleep", json!({"seconds": 40}));
    assert!(text(&hung).contains("did not answer within 10 seconds"), "{hung}");
    assert_eq!(text(&client.call("two_echo", json!({"text": "b"}))), "b");
    let garbage = client.call("two_garbage", json!({}));
    assert_eq!(text(&garbage), "garbage ran", "what is no message is passed over");
}

#[test]
fn one_token_does_not_lock_out_the_others() {
    let desk = Desk::new();
    let config = "gateway:\n  upstreams:\n    gone: {url: \"http://127.0.0.1:9/mcp\"}\n  tokens:\n    desk: {scopes: [call], file: desk.token}\n";
    let gateway = Gateway::start(&desk, config, &["--no-record"]);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let begin =
        |headers: &[(&str, &str)]| gateway.send("POST", "/mcp", headers, &hello.to_string()).status;
    for _ in 0..32 {
        assert_eq!(begin(&[]), 200);
    }
    assert_eq!(begin(&[]), 429);
    let other = std::fs::read_to_string(desk.path("desk.token")).unwrap();
    assert_eq!(begin(&[("Authorization", &format!("Bearer {}", other.trim()))]), 200);
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let desk = Desk::new();
    let mut gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let indices: Vec<u64> = (1..=20)
        .map(|number| {
            let answer = client.call("count", json!({ "n": number }));
            meta(&answer, "receipt")["index"].as_u64().unwrap()
        })
        .collect();
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let again = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&again, "/mcp");
    assert_eq!(text(&client.call("count", json!({"n": 1}))), "1 kg");
    for index in indices {
        desk.good(&["ledger", "show", &index.to_string()]);
    }
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_log_that_nobody_reads_costs_no_answer() {
    let desk = Desk::new();
    let config = desk.config(&one_stub());
    let file = desk.path("token");
    let mut command = desk.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-record", "--config", &config]);
    command.arg("--token-file").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let endpoint =
        lines.find_map(|line| line.unwrap().strip_prefix("endpoint ").map(str::to_owned));
    drop(lines);
    let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
    let gateway = Gateway { child, said: channel().1, endpoint: endpoint.unwrap(), token };
    let mut client = Session::begin(&gateway, "/mcp");
    // Each of these is worth a line in the log.
    for _ in 0..3 {
        let wrong = client.call("count", json!({"n": "many"}));
        assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    }
}

#[test]
fn a_correction_that_does_not_fit_is_refused_and_the_case_stays_open() {
    let desk = Desk::new();
    let config = format!(
        "{}  tokens:\n    desk: {{scopes: [read, decide], file: desk.token}}\n",
        one_stub()
    );
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    for _ in 0..3 {
        client.call("count", json!({"n": "many"}));
    }
    // A token in a file is made on first use, and for this user alone.
    let token = std::fs::read_to_string(desk.path("desk.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let headers = [("Authorization", bearer.as_str())];
    let case = gateway.send("GET", "/api/cases", &headers, "").last()["cases"][0]["case"].clone();
    let path = format!("/api/cases/{}/decision", case["id"].as_str().unwrap());
    let decide = |arguments: Value| {
        let decision = json!({"decision": "modify", "arguments": arguments, "digest": case["digest"], "revision": case["revision"]});
        gateway.send("POST", &path, &headers, &decision.to_string())
    };
    let refused = decide(json!({"n": "few"}));
    assert_eq!(refused.status, 422, "{:?}", refused.events);
    assert!(refused.last().to_string().contains("do not fit"), "{:?}", refused.events);
    assert_eq!(decide(json!({"n": 4})).status, 201);
    assert_eq!(text(&client.call("count", json!({"n": 4}))), "4 kg");
}

#[test]
fn nothing_gets_past_the_check() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &format!("{}  deny: [log_in]\n", one_stub()), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    // A call that is none, because nobody would answer it.
    for id in ["", r#""id":null,"#] {
        let call = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"log_in","arguments":{{}}}}}}"#
        );
        assert_eq!(client.send("POST", &call).status, 400, "{call}");
    }
    // A call within another message, on a line of its own.
    let inner = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"log_in","arguments":{}}}"#;
    let outer = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"x/y\",\"params\":{{\"a\":[\n{inner}\n]}}}}"
    );
    assert_eq!(client.send("POST", &outer).last()["error"]["code"], -32601);
    // A call that another reader could take for another one.
    for more in TWICE {
        let answer = client.send("POST", &with_members("tools/call", more));
        let said = (answer.status, &answer.last()["id"], &answer.last()["error"]["code"]);
        assert_eq!(said, (400, &json!("w"), &json!(-32600)), "{more}: {:?}", answer.events);
    }
    // A list of tools that the server never gave, under an id of ours.
    for number in 0..4 {
        let forged = json!({"jsonrpc": "2.0", "id": format!("answerback/{number}"), "result": {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}});
        client.send("POST", &forged.to_string());
    }
    assert_eq!(client.call("count", json!({"n": "many"}))["result"]["isError"], true);
    assert!(desk.reached().is_empty(), "{:?}", desk.reached());
    // Written over several lines, a call is still one.
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 5,\n  \"method\": \"tools/call\",\n  \"params\": {\"name\": \"count\", \"arguments\": {\"n\": 3}}\n}";
    assert_eq!(text(client.send("POST", pretty).last()), "3 kg");
}

#[test]
fn what_is_given_up_is_not_delivered() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &one_stub(), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.ask("tools/list", json!({}));
    let (url, name) = (gateway.url("/mcp"), client.name.clone());
    let bearer = format!("Bearer {}", gateway.token);
    let log = desk.path("calls.log");
    let giving_up = std::thread::spawn(move || {
        // When the server has it.
        let deadline = Instant::now() + PATIENCE;
        while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("sleep")) {
            assert!(Instant::now() < deadline, "the call reaches the server");
            std::thread::sleep(Duration::from_millis(10));
        }
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":50}}"#;
        let request = ureq::post(&url).header("Authorization", bearer);
        let request =
            request.header("Content-Type", "application/json").header("Mcp-Session-Id", name);
        let request = request.header("Accept", "application/json, text/event-stream");
        request.send(cancel).unwrap().status().as_u16()
    });
    let call = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "sleep", "arguments": {"seconds": 2}}});
    let answer = client.send("POST", &call.to_string());
    let told = answer.last()["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("the request was cancelled"), "{:?}", answer.events);
    assert_eq!(giving_up.join().unwrap(), 202);
    // The server's late answer goes nowhere; what comes next is answered.
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    let outcomes: Vec<_> = desk.leaves().iter().map(|leaf| leaf["outcome"].clone()).collect();
    assert!(outcomes.contains(&json!("no_result")), "{outcomes:?}");
    assert_eq!(client.send("DELETE", "").status, 200);
}
