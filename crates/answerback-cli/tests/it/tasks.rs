//! Tasks whose ids do not tell them apart: of several clients, servers and tokens.

use std::cell::RefCell;
use std::fs;

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, until};
use crate::resumed::{POLLING, Stream};
use crate::told::{client, counts, part};
use crate::wrap::{Desk, meta, stub, text};

const TOKENS: &str = "  tokens:\n    other: {scopes: [call, read], file: other.token}\n";

fn config(servers: &[&str], more: &str) -> String {
    let stub = stub();
    let server = |name: &&str| {
        let (stub, more) = (stub.display(), more.replace("NAME", name));
        format!(
            "    {name}: {{command: python3, args: [{stub}], env: {{STUB_MORE: \"1\"{more}}}}}\n"
        )
    };
    let servers: String = servers.iter().map(server).collect();
    format!("gateway:\n  upstreams:\n{servers}")
}

/// What became of a task, by the tool that the envelope names, and its receipt.
fn result_of(client: &mut Session<'_>, task: &str) -> (Value, Value) {
    let result = client.ask("tasks/result", json!({"taskId": task}));
    assert_eq!(text(&result), "done later", "{result}");
    let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
    assert_eq!(related, task, "{result}");
    (meta(&result, "envelope").clone(), meta(&result, "receipt").clone())
}

/// Each client with a session has a process of its own, and each process counts from one.
#[test]
fn equal_tasks_of_two_sessions_are_told_apart() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &config(&["stub"], ""), &[]);
    let (mut one, mut other) = (Session::begin(&gateway, "/mcp"), Session::begin(&gateway, "/mcp"));
    one.call("later", json!({"task": "t-1"}));
    other.call("later_n", json!({"task": "t-1"}));
    let (first, second) = (result_of(&mut one, "t-1"), result_of(&mut other, "t-1"));
    assert_eq!((&first.0["tool"], &second.0["tool"]), (&json!("later"), &json!("later_n")));
    assert_ne!(first.1, second.1);
    // A process that was started again counts from one again: the task is the one that was made last.
    one.call("die", json!({}));
    let one = RefCell::new(one);
    let is_made = || {
        let made = one.borrow_mut().call("later_n", json!({"task": "t-1"}));
        made["result"]["taskId"] == "t-1"
    };
    assert!(until(is_made), "the server is started again");
    let mut one = one.into_inner();
    let again = result_of(&mut one, "t-1");
    assert_eq!(again.0["tool"], "later_n");
    assert!(again.1 != first.1 && again.1 != second.1);
    // Whose it is of two that are gone nobody can say, and the record does not.
    let mut third = Session::begin(&gateway, "/mcp");
    let unknown = result_of(&mut third, "t-1");
    assert_eq!((&unknown.0["tool"], &unknown.1["index"].is_u64()), (&json!("unknown"), &true));
    drop(gateway);
    assert_eq!(counts(&desk, ["task"]), [3]);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn equal_tasks_of_two_servers_are_told_apart_where_they_are_one() {
    let desk = Desk::new();
    let config = config(&["one", "two"], "");
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    let made = client.call("later", json!({"task": "t-1"}));
    assert_eq!(made["result"]["task"]["taskId"], "t-1", "who came first keeps it: {made}");
    let made = client.call("two_later", json!({"task": "t-1"}));
    assert_eq!(made["result"]["task"]["taskId"], "two/t-1", "{made}");
    let delivered = part(&desk, meta(&made, "receipt"), "delivered");
    assert_eq!(delivered["but"]["task"]["taskId"], "two/t-1", "{delivered}");
    let made = client.call("two_later_n", json!({"task": "t-2"}));
    assert_eq!(made["result"]["taskId"], "t-2", "nobody else has it: {made}");
    let made = client.call("later_n", json!({"task": "t-2"}));
    assert_eq!(made["result"]["taskId"], "one/t-2", "{made}");
    let expected =
        [("t-1", "upstreams/one"), ("two/t-1", "upstreams/two"), ("t-2", "upstreams/two")];
    let ask = |client: &mut Session<'_>| {
        expected.map(|(task, server)| {
            let (envelope, receipt) = result_of(client, task);
            assert_eq!(envelope["audit"]["source"], server, "{task}");
            receipt
        })
    };
    let receipts = ask(&mut client);
    for task in ["two/t-1", "one/t-2"] {
        for method in ["tasks/get", "tasks/get"] {
            let said = client.ask(method, json!({"taskId": task}));
            assert_eq!(said["result"]["taskId"], task, "{said}");
        }
    }
    // The server's own endpoint has its own ids.
    let mut alone = Session::begin(&gateway, "/mcp/two");
    assert_eq!(alone.call("later", json!({"task": "t-1"}))["result"]["task"]["taskId"], "t-1");
    gateway.stop();
    // It holds for whoever comes back.
    let gateway = Gateway::start(&desk, &config, &[]);
    let mut again = Session::begin(&gateway, "/mcp");
    for (task, server) in expected {
        assert_eq!(result_of(&mut again, task).0["audit"]["source"], server, "{task}");
    }
    assert_eq!(result_of(&mut again, "t-1").1, receipts[0]);
    drop(gateway);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn news_of_a_task_have_the_name_that_the_client_knows() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &config(&["one", "two"], ""), &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.call("later_n", json!({"task": "t-1"}));
    client.call("two_later_n", json!({"task": "t-1"}));
    let mut heard = Stream::open(&gateway, &client.name, POLLING, None, None);
    for task in ["t-1", "two/t-1"] {
        client.ask("tasks/update", json!({"taskId": task}));
        let told = loop {
            let said = heard.message().1;
            if said["method"] == "notifications/tasks" {
                break said;
            }
        };
        assert_eq!(told["params"]["taskId"], task, "{told}");
        let result = json!({"result": told["params"]["result"]});
        assert!(meta(&result, "receipt")["index"].is_u64(), "{told}");
    }
}

#[test]
fn equal_tasks_in_the_lists_of_two_servers_are_told_apart() {
    let desk = Desk::new();
    let config = config(&["one", "two"], ", STUB_TASKS: x");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let listed = client.ask("tasks/list", json!({}))["result"].clone();
    let tasks = listed["tasks"].as_array().unwrap();
    let ids: Vec<_> = tasks.iter().map(|task| task["taskId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["x-0", "x-1", "x-2", "two/x-0", "two/x-1", "two/x-2"]);
    for id in ids {
        let task = client.ask("tasks/get", json!({"taskId": id}));
        assert_eq!(task["result"]["taskId"], id, "{task}");
    }
}

#[test]
fn what_belongs_to_another_token_is_not_there() {
    let desk = Desk::new();
    let config = format!("{}{TOKENS}", config(&["stub"], ""));
    let mut gateway = Gateway::start(&desk, &config, &[]);
    let mut client = Session::begin(&gateway, "/mcp");
    client.call("later", json!({"task": "t-1"}));
    client.call("later_n", json!({"task": "n-1"}));
    result_of(&mut client, "t-1");
    let before = desk.leaves().len();
    gateway.token = fs::read_to_string(desk.path("other.token")).unwrap().trim().to_owned();
    let mut other = Session::begin(&gateway, "/mcp");
    for (method, task) in [
        ("tasks/result", "t-1"),
        ("tasks/get", "n-1"),
        ("tasks/update", "n-1"),
        ("tasks/cancel", "n-1"),
    ] {
        let refused = other.ask(method, json!({"taskId": task}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(refused["error"]["message"], "there is no such task", "{refused}");
    }
    assert_eq!(desk.leaves().len(), before);
    // What nobody was seen to make may be anybody's, and is recorded as that.
    let receipts = [(); 2].map(|()| {
        let (envelope, receipt) = result_of(&mut other, "t-9");
        assert_eq!(envelope["tool"], "unknown");
        receipt
    });
    assert_eq!(receipts[0], receipts[1], "and once");
    assert_eq!(desk.leaves().len(), before + 2);
    drop(gateway);
    desk.good(&["ledger", "verify"]);
}

#[test]
fn every_answer_of_a_task_is_given_and_recorded() {
    let desk = Desk::new();
    let mut client = client(&desk, "gateway: {}\n");
    client.call("later", json!({"task": "other"}));
    for number in 1..=20 {
        let result = client.ask("tasks/result", json!({"taskId": "other"}));
        assert_eq!(text(&result), format!("done {number}"), "{result}");
        let received = part(&desk, meta(&result, "receipt"), "received");
        assert_eq!(received["content"][0]["text"], format!("done {number}"));
    }
    assert_eq!(counts(&desk, ["task", "ok"]), [1, 20]);
    // What a server says anew each time beside the result makes it no other result.
    client.call("later", json!({"task": "dated"}));
    let receipts = [(); 3].map(|()| {
        let result = client.ask("tasks/result", json!({"taskId": "dated"}));
        assert_eq!(text(&result), "done later", "{result}");
        meta(&result, "receipt").clone()
    });
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]), "{receipts:?}");
    assert_eq!(counts(&desk, ["task", "ok"]), [2, 21]);
    client.leave();
    desk.good(&["ledger", "verify"]);
}
