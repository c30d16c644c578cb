//! Tests the console from outside: its API as programs, agents and people use it.

use std::fs;
use std::time::{Duration, Instant};

use answerback::contract::Profile;
use serde_json::{Value, json};

use crate::gateway::{Answer, Gateway, PATIENCE, Session};
use crate::person::Person;
use crate::replies::example;
use crate::wrap::Desk;

/// Starts a server with our own tools behind it and everything recorded.
pub(crate) fn start(desk: &Desk, config: &str) -> Gateway {
    Gateway::start(desk, config, &[])
}

#[test]
fn every_operation_of_the_description_is_there() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let document = person.send("GET", "/api/openapi.json", "").last().clone();
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let committed: Value = serde_json::from_str(&fs::read_to_string(committed).unwrap()).unwrap();
    assert_eq!(document, committed, "docs/openapi.json is not current: run scripts/generate");
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            // These operations are tested elsewhere, and the event stream never ends.
            if path == "/api/events" || method == "delete" {
                continue;
            }
            let place =
                path.replace("{id}", "0").replace("{index}", "0").replace("{position}", "0");
            let method = method.to_uppercase();
            let nobody = gateway.send(&method, &place, &[("Authorization", "")], "{}");
            let is_open = operation["security"] == json!([]);
            assert!(is_open || nobody.status == 401, "{method} {path}: {}", nobody.status);
            let answer = person.send(&method, &place, "{}");
            asked += 1;
            let told = answer.last()["data"]["message"].as_str().unwrap_or_default().to_owned();
            assert!(answer.status != 405, "{method} {path}");
            assert!(told != "There is nothing at this address", "{method} {path}");
        }
    }
    assert!(asked > 30, "{asked}");
}

/// Asserts that a response is a problem, and that the operation's description lists its status.
fn assert_described(operation: &Value, answer: &Answer, about: &str) {
    let problem = answer.last();
    let findings = answerback::contract::atdf::check(problem, Profile::Strict);
    assert!(findings.is_empty(), "{about}: {findings:?} in {problem}");
    let status = answer.status.to_string();
    assert!(operation["responses"][&status].is_object(), "{about}: {status} is not described");
}

#[test]
fn every_wrong_request_is_answered_with_a_problem_that_is_described() {
    let desk = Desk::new();
    let scopes = "[call, ingest, read, decide, admin]";
    let config =
        format!("gateway:\n  tokens:\n    tester: {{scopes: {scopes}, file: tester.token}}\n");
    let gateway = start(&desk, &config);
    let token = fs::read_to_string(desk.path("tester.token")).unwrap();
    let token = format!("Bearer {}", token.trim());
    let send = |method: &str, path: &str, kind: &str, body: &str| {
        gateway.send(method, path, &[("Authorization", &token), ("Content-Type", kind)], body)
    };
    let as_json = "application/json";
    let document = send("GET", "/api/openapi.json", as_json, "").last().clone();
    // None of these bodies is an object, whatever members an operation requires.
    let wrong = ["[]", "[1]", "\"text\"", "7", "null", "{", "{} {}", "{\"a\": 1, \"a\": 2}"];
    let mut requests = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if path == "/api/events" || method == "delete" {
                continue;
            }
            let method = method.to_uppercase();
            let fill = |index: &str| {
                path.replace("{id}", "0").replace("{index}", index).replace("{position}", index)
            };
            let name = |reference: &Value| {
                reference.as_str().unwrap().rsplit('/').next().unwrap().to_owned()
            };
            let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            if body.is_string() {
                let takes_any = name(body) == "Document";
                for text in wrong {
                    for kind in [as_json, "text/plain", "application/x-www-form-urlencoded"] {
                        let answer = send(&method, &fill("0"), kind, text);
                        let about = format!("{method} {path} with {text} as {kind}");
                        requests += 1;
                        if takes_any && answer.status == 200 {
                            continue;
                        }
                        assert_eq!(answer.status, 400, "{about}: {}", answer.last());
                        assert_described(operation, &answer, &about);
                    }
                }
            }
            for parameter in operation["parameters"].as_array().unwrap() {
                let is_number = parameter["schema"]["type"] == "integer";
                let words = parameter["schema"]["enum"].is_array();
                if !is_number && !words {
                    continue;
                }
                let given = parameter["name"].as_str().unwrap();
                for text in ["x", "-1", "1.5", "99999999999999999999"] {
                    let place = match parameter["in"].as_str() {
                        Some("path") => fill(text),
                        _ => format!("{}?{given}={text}", fill("0")),
                    };
                    let answer = send(&method, &place, as_json, "{}");
                    let about = format!("{method} {place}");
                    requests += 1;
                    // Some operations look up the path before they parse the body.
                    assert!(matches!(answer.status, 400 | 404), "{about}: {}", answer.last());
                    assert_described(operation, &answer, &about);
                }
            }
        }
    }
    assert!(requests > 300, "{requests}");
    // The description allows a whole number with a zero fraction.
    let call = r#"{"tool": "a", "arguments": {}, "turn": 3.0, "schema": {"type": "object"}}"#;
    assert_eq!(send("POST", "/api/calls/check", as_json, call).status, 200);
    // The index of a variant does not count as its name: `0` would mean approve.
    let question =
        send("POST", "/api/cases", as_json, r#"{"kind": "question", "question": "Go?"}"#);
    let case = &question.last()["case"];
    let (digest, revision) = (&case["digest"], &case["revision"]);
    let path = format!("/api/cases/{}/decision", case["id"].as_str().unwrap());
    let decision = json!({"decision": 0, "digest": digest, "revision": revision}).to_string();
    let refused = send("POST", &path, as_json, &decision);
    assert_eq!(
        (refused.status, &refused.last()["data"]["code"]),
        (400, &json!("INVALID_PARAMETER"))
    );
    let twice = r#"{"decision": "respond", "message": "a", "message": "b"}"#;
    assert_eq!(send("POST", &path, as_json, twice).status, 400);
    let words =
        json!({"decision": "respond", "message": "Go.", "digest": digest, "revision": revision});
    assert_eq!(send("POST", &path, as_json, &words.to_string()).status, 201);
}

#[test]
fn a_person_decides_and_the_agent_that_waits_hears_of_it() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let asked = gateway.send("POST", "/api/replies", &[], &example("mission_draft"));
    let id = asked.last()["cases"][0].as_str().unwrap().to_owned();
    let path = format!("/api/cases/{id}");
    let case = person.send("GET", &path, "").last().clone();
    assert_eq!(case["content"]["arguments"]["to_berth"], 4);

    std::thread::scope(|scope| {
        let (url, bearer) =
            (gateway.url(&format!("{path}/decision?wait=50")), format!("Bearer {}", gateway.token));
        let waiting = scope.spawn(move || {
            let began = Instant::now();
            let mut answer = ureq::get(url).header("Authorization", bearer).call().unwrap();
            let text = answer.body_mut().read_to_string().unwrap();
            (began.elapsed(), serde_json::from_str::<Value>(&text).unwrap())
        });
        // The decision must refer to the content that the person saw.
        let mut other = case.clone();
        other["case"]["digest"] = "0".repeat(64).into();
        let changed = person.decide(&other, json!({"decision": "approve"}));
        assert_eq!(
            (changed.status, &changed.last()["data"]["code"]),
            (409, &json!("CASE_CHANGED"))
        );
        // Changed arguments must match the proposal's schema on every surface.
        let wrong = json!({"decision": "modify", "arguments": {"ship": "Aurora", "to_berth": "seven", "at": "15:00"}});
        let refused = person.decide(&case, wrong);
        assert_eq!(
            (refused.status, &refused.last()["data"]["code"]),
            (422, &json!("DECISION_UNUSABLE"))
        );
        let arguments = json!({"ship": "Aurora", "to_berth": 7, "at": "15:00"});
        let modify = json!({"decision": "modify", "arguments": arguments});
        assert_eq!(person.decide(&case, modify.clone()).status, 201);
        assert_eq!(person.decide(&case, modify).status, 200, "the same again is answered alike");
        let late = person.decide(&case, json!({"decision": "reject"}));
        assert_eq!((late.status, &late.last()["data"]["code"]), (409, &json!("ALREADY_DECIDED")));
        let winning = &late.last()["data"]["details"]["received"]["winning"];
        assert_eq!(winning["decision"], "modify", "{:?}", late.events);
        let (took, told) = waiting.join().unwrap();
        assert!(took < Duration::from_secs(40), "{took:?}");
        let decision = &told["case"]["state"]["submission"];
        assert_eq!((&decision["arguments"], &decision["by"]), (&arguments, &json!("console")));
    });
    let early = gateway.send("GET", &path, &[], "");
    assert_eq!(early.last()["acknowledged"], Value::Null);
    let seen = json!({"outcome": "done", "note": "moved"}).to_string();
    let acknowledged = gateway.send("POST", &format!("{path}/acknowledgement"), &[], &seen);
    assert_eq!(acknowledged.status, 201, "{:?}", acknowledged.events);
    assert_eq!(acknowledged.last()["acknowledged"]["outcome"], "done");
    let again = gateway.send("POST", &format!("{path}/acknowledgement"), &[], &seen);
    assert_eq!(again.status, 200);
    // Every decision is in the ledger.
    let decisions = desk.leaves().into_iter().filter(|leaf| leaf["kind"] == "decision").count();
    assert_eq!(decisions, 1);

    let question = json!({"kind": "question", "question": "Which?", "options": ["a", "b"]});
    let asked = gateway.send("POST", "/api/cases", &[], &question.to_string());
    assert_eq!(asked.status, 201, "{:?}", asked.events);
    let answered = person.decide(asked.last(), json!({"decision": "respond", "message": "a"}));
    assert_eq!(answered.status, 201, "{:?}", answered.events);
    let empty = gateway.send("POST", "/api/cases", &[], &question.to_string());
    let empty = person.decide(empty.last(), json!({"decision": "respond", "message": "  "}));
    assert_eq!((empty.status, &empty.last()["data"]["code"]), (422, &json!("DECISION_UNUSABLE")));
    // The terminal shows the same cases as the pages.
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let listed = desk.good(&["inbox", "list", "--all", "--store", store]);
    assert!(listed.contains("proposal  Move the Aurora to berth 4"), "{listed}");
    assert!(listed.contains("question  Which?"), "{listed}");
    let shown = desk.good(&["inbox", "show", &id, "--store", store]);
    for line in ["Risk: high", "  to_berth: 4", "  - Berth 2 is free from 15:00", "Decided: "] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    let short = json!({"kind": "proposal", "title": "t", "expires_in_seconds": 1});
    let short = gateway.send("POST", "/api/cases", &[], &short.to_string());
    let path = format!("/api/cases/{}", short.last()["case"]["id"].as_str().unwrap());
    let began = Instant::now();
    while person.send("GET", &path, "").last()["is_expired"] != true {
        assert!(began.elapsed() < PATIENCE);
    }
    let lapsed = person.decide(short.last(), json!({"decision": "approve"}));
    assert_eq!((lapsed.status, &lapsed.last()["data"]["code"]), (410, &json!("CASE_EXPIRED")));
    let unknown = gateway.send("POST", "/api/cases", &[], r#"{"kind":"order","title":"t"}"#);
    assert_eq!(unknown.status, 400);
}

#[test]
fn an_agent_needs_no_http_client_of_its_own() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let person = Person::unlock(&desk, &gateway);
    let mut agent = Session::begin(&gateway, "/mcp/answerback");
    let listed = agent.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["reply_submit", "stream_publish", "decision_request", "decision_get"]);
    let document: Value = serde_json::from_str(&example("table")).unwrap();
    let given = agent.call("reply_submit", json!({ "document": document }));
    assert_eq!(given["result"]["structuredContent"]["accepted"], true, "{given}");
    let events = json!([{"kind": "note", "body": {"text": "on it"}}]);
    let given = agent.call("stream_publish", json!({"stream": "s", "events": events, "end": true}));
    assert_eq!(given["result"]["structuredContent"]["ended"], true, "{given}");
    let asked = json!({"kind": "proposal", "title": "Move the ship", "arguments": {"berth": 4}});
    let given = agent.call("decision_request", asked);
    let case = given["result"]["structuredContent"]["case"].as_str().unwrap().to_owned();
    let open = agent.call("decision_get", json!({"case": case, "wait_seconds": 0}));
    assert_eq!(open["result"]["structuredContent"]["status"], "open", "{open}");
    let shown = person.send("GET", &format!("/api/cases/{case}"), "").last().clone();
    assert_eq!(person.decide(&shown, json!({"decision": "approve"})).status, 201);
    let decided = agent.call("decision_get", json!({"case": case, "wait_seconds": 20}));
    let decided = &decided["result"]["structuredContent"];
    assert_eq!(
        (&decided["status"], &decided["decision"]["decision"]),
        (&json!("decided"), &json!("approve"))
    );
    // Our own tools are checked like all others, and are not part of /mcp.
    let wrong = agent.call("decision_get", json!({"case": 7}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let mut client = Session::begin(&gateway, "/mcp");
    let listed = client.ask("tools/list", json!({})).to_string();
    assert!(!listed.contains("reply_submit"), "{listed}");
}
