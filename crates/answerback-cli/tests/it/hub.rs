//! Tests several servers behind one endpoint: names, lists and tasks.

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, json_of, stateless, stateless_with};
use crate::serve::two_stubs;
use crate::wrap::{Desk, meta, stub, text};

#[test]
fn what_the_revision_without_sessions_does_not_have_is_unknown_where_servers_are_one() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &["--no-record"]);
    for method in ["initialize", "ping", "logging/setLevel"] {
        let answer = stateless(&gateway, "/mcp", method, json!({"level": "info"}));
        let said = (answer.status, &answer.last()["error"]["code"]);
        assert_eq!(said, (404, &json!(-32601)), "{method}: {:?}", answer.events);
    }
}

#[test]
fn servers_are_one_and_each_is_itself() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &two_stubs(), &[]);
    let mut all = Session::begin(&gateway, "/mcp");
    let tools = all.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 28, "{names:?}");
    assert_eq!((names[0], names[14]), ("echo", "two_echo"), "the first keeps its name");
    assert_eq!(text(&all.call("two_echo", json!({"text": "b"}))), "b");
    assert_eq!(text(&all.call("echo", json!({"text": "a"}))), "a");
    let called: Vec<_> = desk.reached().iter().map(|call| call["params"]["name"].clone()).collect();
    assert_eq!(called, ["echo", "echo"], "a server hears its own name");
    let unknown = all.call("two_eco", json!({"text": "a"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("two_echo"), "{unknown}");
    let envelope = &unknown["error"]["data"]["dev.answerback/envelope"];
    assert_eq!(envelope["errors"][0]["code"], "UNKNOWN_TOOL", "{unknown}");
    assert_eq!(envelope["errors"][0]["message"], "There is no such tool.");
    let counted = gateway.metrics();
    assert!(counted.contains(r#"answerback_calls_total{tool="(unknown)"} 1"#), "{counted}");
    assert!(!counted.contains("two_eco\""), "{counted}");
    let mut one = Session::begin(&gateway, "/mcp/two");
    assert_eq!(text(&one.call("echo", json!({"text": "c"}))), "c");
    assert_eq!(gateway.send("POST", "/mcp/three", &[], "{}").status, 404);
    let prompts = all.ask("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"], json!([]), "nobody has any");
}

/// Configures two stubs that each have their name in a variable, and a third one without it.
fn stubs_with(variable: &str) -> String {
    let stub = stub();
    let stub = stub.display();
    let one = |name: &str| {
        format!("    {name}: {{command: python3, args: [{stub}], env: {{{variable}: {name}}}}}\n")
    };
    let without = format!("    without: {{command: python3, args: [{stub}]}}\n");
    format!("gateway:\n  upstreams:\n{without}{}{}", one("one"), one("two"))
}

/// This also holds if it is the first request about prompts.
#[test]
fn a_prompt_is_completed_by_the_server_that_has_it() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &stubs_with("STUB_PROMPTS"), &["--no-record"]);
    for (shown, server) in [("two_greet", "two"), ("greet", "one")] {
        let mut client = Session::begin(&gateway, "/mcp");
        let reference = json!({"type": "ref/prompt", "name": shown});
        let params = json!({"ref": reference, "argument": {"name": "who", "value": "a"}});
        let answer = client.ask("completion/complete", params);
        assert_eq!(answer["result"]["completion"]["values"], json!([server, "greet"]), "{answer}");
    }
}

#[test]
fn the_tasks_of_all_servers_are_one_list() {
    let desk = Desk::new();
    let gateway = Gateway::start(&desk, &stubs_with("STUB_TASKS"), &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let listed = client.ask("tasks/list", json!({}))["result"].clone();
    let tasks = listed["tasks"].as_array().unwrap();
    let ids: Vec<_> = tasks.iter().map(|task| task["taskId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["one-0", "one-1", "one-2", "two-0", "two-1", "two-2"]);
    assert_eq!((&listed["nextCursor"], &tasks[3]["ttl"]), (&Value::Null, &json!(60000)));
    // Each task can be queried, whichever server created it.
    for id in ids {
        let task = client.ask("tasks/get", json!({"taskId": id}));
        assert_eq!(task["result"]["taskId"], id, "{task}");
    }
    // If no server supports tasks, the response is an error.
    let other = Desk::new();
    let without = Gateway::start(&other, &two_stubs(), &["--no-record"]);
    let refused = Session::begin(&without, "/mcp").ask("tasks/list", json!({}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

#[test]
fn a_name_that_was_given_out_stays_with_its_server() {
    let desk = Desk::new();
    let servers = |names: &[&str]| {
        let stub = stub();
        let line =
            |name: &&str| format!("    {name}: {{command: python3, args: [{}]}}\n", stub.display());
        let lines: String = names.iter().map(line).collect();
        format!("gateway:\n  upstreams:\n{lines}")
    };
    // Returns the server that owns the name, and the names of all echo tools.
    let meant = |names: &[&str]| {
        let gateway = Gateway::start(&desk, &servers(names), &[]);
        let mut client = Session::begin(&gateway, "/mcp");
        let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
        let named = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        let mut echoes: Vec<_> = tools.as_array().unwrap().iter().map(named).collect();
        echoes.retain(|name| name.ends_with("echo"));
        let answer = client.call("echo", json!({"text": "a"}));
        (
            meta(&answer, "envelope")["audit"]["source"]
                .as_str()
                .unwrap_or_else(|| panic!("{answer}"))
                .to_owned(),
            echoes,
        )
    };
    let who = |source: &str, echoes: &[&str]| {
        (format!("upstreams/{source}"), echoes.iter().map(|name| (*name).to_owned()).collect())
    };
    assert_eq!(meant(&["old"]), who("old", &["echo"]));
    assert_eq!(meant(&["new", "old"]), who("old", &["new_echo", "echo"]));
    // Both servers are known now, and the new one comes first.
    assert_eq!(meant(&["new", "old"]), who("old", &["new_echo", "echo"]));
    let file = desk.path("state/answerback/pins/names.json");
    let kept = json_of(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(kept["echo"], json!({"server": "old", "tool": "echo"}));
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // A server that is no longer configured loses its names.
    assert_eq!(meant(&["new", "newer"]), who("newer", &["new_echo", "echo"]));
    let all = ["old_echo", "echo", "new_echo"];
    assert_eq!(meant(&["old", "newer", "new"]), who("newer", &all));
}

#[test]
fn arguments_in_headers_are_those_of_the_tool_that_is_meant() {
    let desk = Desk::new();
    let config = two_stubs().replace("STUB_PAGE: \"3\"", "STUB_HEADER: \"1\"");
    let gateway = Gateway::start(&desk, &config, &[]);
    stateless(&gateway, "/mcp", "tools/list", json!({}));
    let call = |tool: &str, headers: &[(&str, &str)]| {
        let params = json!({"name": tool, "arguments": {"n": 1, "unit": "lb"}});
        let answer = stateless_with(&gateway, "/mcp", "tools/call", params, headers);
        (answer.status, answer.last()["error"]["code"].as_i64())
    };
    assert_eq!(call("two_count", &[]), (400, Some(-32020)));
    assert_eq!(call("two_count", &[("Mcp-Param-Unit", "kg")]), (400, Some(-32020)));
    assert_eq!(call("two_count", &[("Mcp-Param-Unit", "lb")]), (200, None));
    // The first server's tool does not require the header.
    assert_eq!(call("count", &[]), (200, None));
}
