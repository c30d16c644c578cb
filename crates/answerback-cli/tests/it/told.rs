//! What a client is told of a call, and what the record says it was told.

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session};
use crate::prompt::at_a_terminal;
use crate::wrap::{Client, Desk, contains, files_below, meta, stub, text};

/// A client of the wrapped stub with the tools that only some tests want.
pub(crate) fn client(desk: &Desk, config: &str) -> Client {
    client_with(desk, config, |_| {})
}

fn client_with(desk: &Desk, config: &str, more: impl FnOnce(&mut std::process::Command)) -> Client {
    let mut command = desk.command();
    command.env("STUB_MORE", "1").args(["wrap", "--name", "stub"]);
    command.args(["--store", desk.path("state/answerback/ledger.db").to_str().unwrap()]);
    command.args(["--config", &desk.config(config), "--", "python3"]).arg(stub());
    more(&mut command);
    Client::start(command)
}

/// What the record has of the entry that a receipt names.
pub(crate) fn part(desk: &Desk, receipt: &Value, name: &str) -> Value {
    let index = receipt["index"].to_string();
    let kept = desk.good(&["ledger", "show", &index, "--raw", "--part", name]);
    serde_json::from_str(&kept).unwrap_or_else(|error| panic!("{error}: {kept}"))
}

/// An answer as the record should have it: without the receipt, which names the record.
fn without_receipt(mut result: Value) -> Value {
    let meta = result["_meta"].as_object_mut().unwrap();
    meta.remove("dev.answerback/receipt").expect("a receipt");
    result
}

#[test]
fn a_secret_that_only_a_schema_names_is_hidden_in_every_mode() {
    for (config, changed) in [
        ("gateway: {input: \"off\"}\n", false),
        ("gateway: {input: warn}\n", false),
        ("gateway: {input: enforce}\n", false),
        ("gateway: {pinning: enforce}\n", true),
    ] {
        let desk = Desk::new();
        let mut first = client(&desk, config);
        first.call("unlock", json!({}));
        first.leave();
        let mut client = client_with(&desk, config, |command| {
            if changed {
                command.env("STUB_CHANGED", "1");
            }
        });
        let answer = client.call("unlock", json!({"word": "swordfish"}));
        assert_eq!(answer["result"]["isError"] == true, changed, "{answer}");
        client.leave();
        let kept = files_below(&desk.path("state"));
        assert!(!contains(kept.as_bytes(), b"swordfish"), "{config}");
        desk.good(&["ledger", "verify"]);
    }
}

#[test]
fn the_record_says_which_members_of_a_result_were_changed() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {shown_bytes: 300}\n");
    let plain = client.call("echo", json!({"text": "a"}));
    let delivered = part(&desk, meta(&plain, "receipt"), "delivered");
    let added = without_receipt(plain["result"].clone())["_meta"].clone();
    assert_eq!(delivered, json!({"same_as": "received", "but": {"_meta": added}}));
    let cut = client.call("big", json!({"bytes": 5000}));
    let delivered = part(&desk, meta(&cut, "receipt"), "delivered");
    assert_eq!(delivered["but"]["content"], cut["result"]["content"], "{delivered}");
    assert_eq!(delivered["but"]["_meta"]["dev.answerback/cut"]["bytes"], 5000);
    // What takes its structured content away says so.
    let answer = client.call("suggest", json!({}));
    let delivered = part(&desk, meta(&answer, "receipt"), "delivered");
    assert_eq!(answer["result"].get("structuredContent"), None, "{answer}");
    assert_eq!(delivered["but"].get("structuredContent"), Some(&Value::Null), "{delivered}");
    client.leave();
    desk.good(&["ledger", "verify"]);
}

#[test]
fn an_envelope_as_structured_content_is_in_the_record_and_brings_nothing_back_that_was_cut() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {shown_bytes: 300, envelope: structured}\n");
    let answer = client.call("echo", json!({"text": "a"}));
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(structured["data"]["content"][0]["text"], "a", "{answer}");
    assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1, "the text is the tool's");
    let delivered = part(&desk, meta(&answer, "receipt"), "delivered");
    assert_eq!(&delivered["but"]["structuredContent"], structured);
    let cut = client.call("big", json!({"bytes": 5000}));
    assert!(!cut.to_string().contains(&"x".repeat(301)), "{cut}");
    assert_eq!(meta(&cut, "envelope")["status"], "ok");
    client.leave();
}

/// Every answer of our own has the same three things, and the record has all of it but the receipt.
#[test]
fn an_answer_of_our_own_has_facts_an_envelope_and_a_receipt() {
    let desk = Desk::new();
    let mut client = client(
        &desk,
        "gateway: {unknown_tool: result}\ntools: {validation: {retry: {while_blocked: block}}}\n",
    );
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"echo","arguments":{{"text":{deep}}}}}}}"#
    );
    let mut answers = vec![
        ("VAL-001", "arguments", "INVALID_PARAMETER", client.call("echo", json!({}))),
        ("VAL-008", "arguments", "UNKNOWN_TOOL", client.call("no_such", json!({}))),
    ];
    client.say(&deep);
    answers.push(("ARGUMENTS_UNREADABLE", "arguments", "ARGUMENTS_UNREADABLE", client.hear()));
    for _ in 0..2 {
        client.call("count", json!({"n": 0}));
    }
    let last = client.call("count", json!({"n": 0}));
    answers.push(("CALLS_BLOCKED", "stop", "INVALID_PARAMETER", last));
    // This one fits: it is not what holds it up.
    let blocked = client.call("count", json!({"n": 1}));
    assert_eq!(
        meta(&blocked, "envelope")["errors"][0]["message"],
        "Earlier calls of this tool wait for a person."
    );
    answers.push(("CALLS_BLOCKED", "stop", "CALLS_BLOCKED", blocked));
    answers.push(("NO_RESULT", "stop", "NO_RESULT", client.call("die", json!({}))));
    for (code, class, error, answer) in answers {
        let retry = meta(&answer, "retry");
        assert_eq!((&retry["code"], &retry["class"]), (&json!(code), &json!(class)), "{answer}");
        assert_eq!(retry["retryable"], class != "stop", "{answer}");
        let envelope = meta(&answer, "envelope");
        assert_eq!(
            (&envelope["status"], &envelope["errors"][0]["code"]),
            (&json!("error"), &json!(error))
        );
        assert_eq!(envelope["audit"]["correlation_id"], retry["correlationId"]);
        let delivered = part(&desk, meta(&answer, "receipt"), "delivered");
        assert_eq!(delivered, without_receipt(answer["result"].clone()), "{code}");
    }
    client.leave();
    desk.good(&["ledger", "verify"]);
}

#[test]
fn an_error_of_the_protocol_has_a_receipt_where_it_is_ours_and_crosses_where_it_is_not() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    let ours = client.call("no_such", json!({}));
    let receipt = &ours["error"]["data"]["dev.answerback/receipt"];
    let delivered = part(&desk, receipt, "delivered");
    assert_eq!(
        (&delivered["code"], &delivered["message"]),
        (&json!(-32602), &ours["error"]["message"])
    );
    let theirs = client.call("refuse", json!({}));
    assert_eq!(theirs["error"]["data"], json!({"why": {"b": 1.0, "a": 2}}));
    client.leave();
    let index = desk.leaves().iter().position(|leaf| leaf["outcome"] == "protocol_error").unwrap();
    let delivered = part(&desk, &json!({"index": index}), "delivered");
    assert_eq!(delivered, json!({"same_as": "received"}));
}

/// A call whose effect nobody knows is not repeated, unless the tool says that it does no harm.
#[test]
fn what_only_reads_may_be_called_again() {
    for (tool, class) in [("die", "stop"), ("peek", "wait")] {
        let desk = Desk::new();
        let mut client = client(&desk, "gateway: {}\n");
        let answer = client.call(tool, json!({}));
        assert_eq!(meta(&answer, "retry")["class"], class, "{answer}");
        assert!(text(&answer).contains("look before you repeat it"), "{answer}");
        client.leave();
    }
}

#[test]
fn what_a_tool_suggests_is_in_the_envelope() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    let answer = client.call("suggest", json!({}));
    let envelope = meta(&answer, "envelope");
    assert_eq!(envelope["intent"]["recommended_next"], "echo", "{answer}");
    assert_eq!(envelope["actions"][0]["id"], "say", "{answer}");
    assert_eq!(envelope["data"], json!({"ref": "/structuredContent"}));
    client.leave();
}

#[test]
fn a_name_that_stands_twice_is_told_and_crosses_as_it_is() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    for (how, bytes, code) in [
        (
            "twice",
            r#"[{"type":"text","text":"password=hunter22!","text":"fine"}]"#,
            "DUPLICATE_NAME",
        ),
        ("top", r#"[{"type":"text","text":"a"}],"x":1,"x":2,"_meta":{"dev.ans"#, "DUPLICATE_NAME"),
        ("beyond", r#""x":1e400,"_meta":{"dev.answerback/env"#, "RESULT_UNREADABLE"),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": how, "method": "tools/call", "params": {"name": "odd", "arguments": {"how": how}}});
        client.say(&call.to_string());
        let line = client.line();
        assert!(line.contains(bytes), "{line}");
        // What no reader here takes is taken out to read the rest.
        let answer: Value = serde_json::from_str(&line.replace("1e400", "1")).unwrap();
        let envelope = meta(&answer, "envelope");
        assert_eq!(envelope["status"], "warning", "{line}");
        assert_eq!(envelope["warnings"][0]["code"], code, "{line}");
        assert!(meta(&answer, "receipt")["index"].is_u64(), "{line}");
    }
    client.leave();
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_call_beyond_the_bound_is_told_to_wait_and_recorded() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {most_calls: 1}\n");
    for (id, tool, arguments) in
        [("slow", "sleep", json!({"seconds": 1})), ("more", "echo", json!({"text": "a"}))]
    {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.say(&call.to_string());
    }
    let answers = [client.hear(), client.hear()];
    let refused = answers.iter().find(|answer| answer["id"] == "more").unwrap();
    let retry = meta(refused, "retry");
    assert_eq!((&retry["code"], &retry["class"]), (&json!("TOO_MANY_CALLS"), &json!("wait")));
    assert_eq!(retry["correlationId"].as_str().unwrap().len(), 36);
    let delivered = part(&desk, meta(refused, "receipt"), "delivered");
    assert_eq!(delivered, without_receipt(refused["result"].clone()));
    client.leave();
}

#[test]
fn a_server_that_does_not_list_its_tools_is_waited_for() {
    let desk = Desk::new();
    let mut client = client_with(&desk, "gateway: {}\n", |command| {
        command.env("STUB_UNLISTED", "1");
    });
    let answer = client.call("echo", json!({"text": "a"}));
    let retry = meta(&answer, "retry");
    assert_eq!((&retry["code"], &retry["class"]), (&json!("TOOLS_UNKNOWN"), &json!("wait")));
    assert_eq!(retry["correlationId"].as_str().unwrap().len(), 36);
    assert_eq!(meta(&answer, "envelope")["errors"][0]["code"], "TOOLS_UNKNOWN", "{answer}");
    let delivered = part(&desk, meta(&answer, "receipt"), "delivered");
    assert_eq!(delivered, without_receipt(answer["result"].clone()));
    assert!(desk.reached().is_empty());
    client.leave();
}

/// How many entries have each of these outcomes.
pub(crate) fn counts<const N: usize>(desk: &Desk, outcomes: [&str; N]) -> [usize; N] {
    let leaves = desk.leaves();
    outcomes.map(|outcome| leaves.iter().filter(|leaf| leaf["outcome"] == outcome).count())
}

/// The result in what is said of a task, as if it were an answer of its own.
fn within(said: &Value) -> Value {
    json!({"result": said["result"]})
}

/// What is asked for later is checked and recorded like what is answered at once, and once.
#[test]
fn a_task_is_not_taken_for_an_empty_result_and_what_becomes_of_it_is_recorded() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    let made = client.call("later", json!({}));
    assert_eq!(made["result"]["task"]["taskId"], "t-1", "{made}");
    assert!(!made.to_string().contains("EMPTY_RESULT"), "{made}");
    let receipts: Vec<Value> = (0..2)
        .map(|_| {
            let result = client.ask("tasks/result", json!({"taskId": "t-1"}));
            assert_eq!(text(&result), "done later", "{result}");
            assert_eq!(meta(&result, "envelope")["tool"], "later", "{result}");
            let received = part(&desk, meta(&result, "receipt"), "received");
            assert_eq!(received["content"][0]["text"], "done later");
            meta(&result, "receipt").clone()
        })
        .collect();
    assert_eq!(receipts[0], receipts[1], "who asks again is shown the same record");
    client.leave();
    // The call, and whoever asked first.
    assert_eq!(counts(&desk, ["forwarded", "task", "ok"]), [2, 1, 1]);
    let leaves = desk.leaves();
    let of = |outcome: &str| leaves.iter().find(|leaf| leaf["outcome"] == outcome).unwrap();
    assert!(of("task")["correlation_id"].is_string());
    assert_eq!(of("task")["correlation_id"], of("ok")["correlation_id"]);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_result_within_a_task_is_checked_and_recorded_once_also_after_a_restart() {
    let desk = Desk::new();
    let mut first = client(&desk, "gateway: {}\n");
    for task in ["n-1", "n-2"] {
        let made = first.call("later_n", json!({"task": task}));
        assert_eq!(made["result"]["taskId"], task, "{made}");
        assert_eq!(meta(&made, "envelope"), &Value::Null, "{made}");
    }
    let get = |client: &mut Client, task: &str| {
        let working = client.ask("tasks/get", json!({"taskId": task}));
        assert_eq!(working["result"]["status"], "working", "{working}");
        assert!(!working.to_string().contains("dev.answerback"), "{working}");
        client.say(&json!({"jsonrpc": "2.0", "id": task, "method": "tasks/get", "params": {"taskId": task}}).to_string());
        let line = client.line();
        assert!(line.contains(r#""extra": [1.0]"#), "the rest is as it was: {line}");
        let done: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(done["result"]["status"], "completed", "{done}");
        let result = within(&done["result"]);
        assert_eq!(text(&result), "done later", "{done}");
        let warnings = &meta(&result, "envelope")["warnings"];
        assert_eq!(warnings[0]["code"], "OUTPUT_MISMATCH", "{done}");
        meta(&result, "receipt").clone()
    };
    let receipt = get(&mut first, "n-1");
    first.leave();
    // Another gateway, another server: what a task belongs to is known, and what was recorded is there.
    let mut second = client(&desk, "gateway: {}\n");
    assert_eq!(get(&mut second, "n-1"), receipt);
    let other = get(&mut second, "n-2");
    assert_ne!(other["index"], receipt["index"]);
    second.leave();
    assert_eq!(counts(&desk, ["forwarded", "task", "warned"]), [4, 2, 2]);
    let leaves = desk.leaves();
    let of = |outcome: &str| -> Vec<&Value> {
        let of = leaves.iter().filter(|leaf| leaf["outcome"] == outcome);
        of.map(|leaf| &leaf["correlation_id"]).collect()
    };
    assert_eq!(of("task"), of("warned"));
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_task_that_fails_or_is_told_of_or_changes_its_mind_is_recorded() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    client.call("later_n", json!({"task": "fails-1"}));
    client.ask("tasks/get", json!({"taskId": "fails-1"}));
    for _ in 0..2 {
        let failed = client.ask("tasks/get", json!({"taskId": "fails-1"}));
        assert_eq!(failed["result"]["error"]["data"], json!({"b": 1.0, "a": 2}), "{failed}");
    }
    assert_eq!(counts(&desk, ["task", "protocol_error"]), [1, 1]);
    // The server says by itself what became of it; who asks then finds the same.
    client.call("later_n", json!({"task": "told-1"}));
    client
        .say(r#"{"jsonrpc":"2.0","id":"u","method":"tasks/update","params":{"taskId":"told-1"}}"#);
    let told = client.hear();
    assert_eq!(told["method"], "notifications/tasks", "{told}");
    let receipt = meta(&within(&told["params"]), "receipt").clone();
    assert!(receipt["index"].is_u64(), "{told}");
    assert_eq!(client.hear()["id"], "u");
    let asked = client.ask("tasks/get", json!({"taskId": "told-1"}));
    assert_eq!(meta(&within(&asked["result"]), "receipt"), &receipt, "{asked}");
    assert_eq!(counts(&desk, ["task", "warned"]), [2, 1]);
    // Another result is another answer, and not lost.
    client.call("later", json!({"task": "other"}));
    let results = [(); 2].map(|()| client.ask("tasks/result", json!({"taskId": "other"})));
    assert_ne!(text(&results[0]), text(&results[1]));
    assert_ne!(meta(&results[0], "receipt"), meta(&results[1], "receipt"));
    assert_eq!(counts(&desk, ["task", "ok"]), [3, 2]);
    // A number that stands for two tasks is for none.
    client.say(r#"{"jsonrpc":"2.0","id":"d","method":"tasks/get","params":{"taskId":"t-9","taskId":"told-1"}}"#);
    assert_eq!(client.hear()["error"]["code"], -32602);
    client.leave();
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_task_is_asked_for_at_the_server_that_has_it() {
    let desk = Desk::new();
    let stub = stub();
    let server = |name: &str| {
        let stub = stub.display();
        format!("    {name}: {{command: python3, args: [{stub}], env: {{STUB_MORE: \"1\"}}}}\n")
    };
    let config = format!("gateway:\n  upstreams:\n{}{}", server("one"), server("two"));
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.call("two_later", json!({}));
    let ask = |client: &mut Session<'_>| {
        let result = client.ask("tasks/result", json!({"taskId": "t-1"}));
        assert_eq!(meta(&result, "envelope")["audit"]["source"], "upstreams/two", "{result}");
        meta(&result, "receipt").clone()
    };
    let receipt = ask(&mut client);
    gateway.stop();
    let gateway = Gateway::start(&desk, &config, &[]);
    assert_eq!(ask(&mut Session::begin(&gateway, "/mcp")), receipt);
    drop(gateway);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_tool_that_changed_does_not_run_where_pins_are_enforced() {
    let desk = Desk::new();
    let config = "gateway: {pinning: enforce}\n";
    let mut first = client(&desk, config);
    assert_eq!(text(&first.call("echo", json!({"text": "a"}))), "a");
    first.leave();
    let reached = desk.reached().len();
    let mut client = client_with(&desk, config, |command| {
        command.env("STUB_CHANGED", "1");
    });
    let answer = client.call("echo", json!({"text": "a"}));
    assert_eq!(meta(&answer, "retry")["code"], "DEFINITION_CHANGED", "{answer}");
    assert_eq!(meta(&answer, "retry")["class"], "stop");
    assert_eq!(meta(&answer, "envelope")["errors"][0]["code"], "DEFINITION_CHANGED");
    let delivered = part(&desk, meta(&answer, "receipt"), "delivered");
    assert_eq!(delivered, without_receipt(answer["result"].clone()));
    assert_eq!(desk.reached().len(), reached, "it did not reach the server");
    client.leave();
    desk.good(&["ledger", "verify"]);
}

#[test]
fn what_is_not_allowed_looks_absent() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {allow: [echo, say_*], deny: [say_error]}\n");
    let listed = client.ask("tools/list", json!({}));
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().collect();
    let names: Vec<&str> = names.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "say_nothing"]);
    // It is told like a tool that nobody has, and is not offered as one that was meant.
    let words = |answer: &Value, tool: &str| {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        answer["error"]["message"].as_str().unwrap().replace(tool, "TOOL")
    };
    let hidden = words(&client.call("count", json!({"n": 1})), "count");
    let absent = words(&client.call("xyzzy", json!({"n": 1})), "xyzzy");
    assert_eq!(hidden, absent);
    assert!(!hidden.contains("say_error"), "{hidden}");
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(desk.reached().len(), 1);
    client.leave();
}

#[test]
fn what_a_person_approved_runs_once_and_says_so() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    let wrong = |client: &mut Client| client.call("count", json!({"n": 0}));
    for _ in 0..3 {
        wrong(&mut client);
    }
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let listed = desk.good(&["inbox", "list", "--format", "json", "--store", store]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let id = case["case"]["id"].as_str().unwrap();
    let mut approve = desk.command();
    approve.args(["inbox", "approve", id, "--store", store]);
    let (code, _, shown) = at_a_terminal(approve, "y\n");
    assert_eq!(code, 0, "{shown}");
    let ran = wrong(&mut client);
    assert_eq!(text(&ran), "0 kg", "{ran}");
    let warnings = meta(&ran, "envelope")["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "CHECK_WAIVED"), "{ran}");
    assert_eq!(meta(&wrong(&mut client), "retry")["attempt"], 1);
    assert_eq!(desk.reached().len(), 1, "once");
    client.leave();
    let leaves = desk.leaves();
    assert_eq!(leaves.iter().filter(|leaf| leaf["outcome"] == "waived").count(), 1);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn a_person_approves_what_they_were_shown() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    client.call("count", json!({"n": 0}));
    client.call("count", json!({"n": 0}));
    client.call("count", json!({"n": -666}));
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let listed = desk.good(&["inbox", "list", "--format", "json", "--store", store]);
    let case: Value = serde_json::from_str(listed.trim()).unwrap();
    let id = case["case"]["id"].as_str().unwrap();
    let shown = desk.good(&["inbox", "show", id, "--store", store]);
    assert!(shown.contains(r#"The first call: {"n":0}"#), "{shown}");
    assert!(shown.contains(r#"The last call: {"n":-666}"#), "{shown}");
    let mut approve = desk.command();
    approve.args(["inbox", "approve", id, "--store", store]);
    assert_eq!(at_a_terminal(approve, "y\n").0, 0);
    assert_eq!(meta(&client.call("count", json!({"n": -667})), "retry")["attempt"], 1);
    assert_eq!(text(&client.call("count", json!({"n": -666}))), "-666 kg");
    assert_eq!(desk.reached().len(), 1);
    client.leave();
}

#[test]
fn a_served_text_has_a_link_for_the_person() {
    let desk = Desk::new();
    let config = format!(
        "gateway:\n  shown_bytes: 300\n  upstreams:\n    stub: {{command: python3, args: [{}]}}\n",
        stub().display()
    );
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let calls: Vec<Value> = (0..3).map(|_| client.call("count", json!({"n": 0}))).collect();
    let words = text(&calls[2]);
    assert!(words.contains(&format!("({}/inbox/", gateway.url(""))), "{words}");
    assert!(words.contains("answerback inbox show "), "{words}");
    let cut = client.call("big", json!({"bytes": 5000}));
    let words = cut["result"]["content"][1]["text"].as_str().unwrap();
    let id = meta(&cut, "cut")["requestId"].as_str().unwrap();
    assert!(
        words.contains(&format!("record: {}, or", gateway.url(&format!("/r/{id}")))),
        "{words}"
    );
    let shown = gateway.send("GET", &format!("/api/replies/{id}"), &[], "");
    assert_eq!(shown.status, 200, "{:?}", shown.events);
}

#[test]
fn people_see_what_the_gateway_answered_itself() {
    let desk = Desk::new();
    let config = format!(
        "tools: {{validation: {{retry: {{while_blocked: block}}}}}}\ngateway:\n  upstreams:\n    stub: {{command: python3, args: [{}]}}\n",
        stub().display()
    );
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    for _ in 0..3 {
        client.call("count", json!({"n": 0}));
    }
    let shown = |answer: &Value| {
        let id = meta(answer, "receipt")["index"].to_string();
        let shown = gateway.send("GET", &format!("/api/replies/{id}"), &[], "");
        assert_eq!(shown.status, 200, "{:?}", shown.events);
        shown.last().clone()
    };
    let blocked = shown(&client.call("count", json!({"n": 1})));
    assert_eq!(
        blocked["reply"]["summary"], "count: not run, waiting for a person's decision",
        "{blocked}"
    );
    let died = client.call("die", json!({}));
    let failed = shown(&died);
    assert_eq!(failed["document"]["errors"][0]["code"], "NO_RESULT", "{failed}");
    assert_eq!(failed["document"]["data"]["content"][0]["text"], text(&died), "{failed}");
    assert_eq!(failed["contract"], "tool");
}
