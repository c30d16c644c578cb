//! Decisions as those hear of them who follow, wherever they were made.

use std::fs;

use serde_json::{Value, json};

use crate::console::{Reader, Sent, start};
use crate::serve::Gateway;
use crate::wrap::Desk;

const CONFIG: &str = "gateway:\n  tokens:\n    decider: {scopes: [decide, read], file: decider.token}\n    writer: {scopes: [ingest], file: writer.token}\n";

fn bearer(desk: &Desk, name: &str) -> String {
    let token = fs::read_to_string(desk.path(&format!("{name}.token"))).unwrap();
    format!("Bearer {}", token.trim())
}

fn ask(gateway: &Gateway, question: &str) -> Value {
    let question = json!({"kind": "question", "question": question}).to_string();
    let asked = gateway.send("POST", "/api/cases", &[], &question);
    assert_eq!(asked.status, 201, "{:?}", asked.events);
    asked.last()["case"].clone()
}

fn decide(desk: &Desk, gateway: &Gateway, case: &Value, decision: Value) {
    let mut decision = decision;
    decision["digest"] = case["digest"].clone();
    decision["revision"] = case["revision"].clone();
    let path = format!("/api/cases/{}/decision", case["id"].as_str().unwrap());
    let bearer = bearer(desk, "decider");
    let decided = gateway.send("POST", &path, &[("Authorization", &bearer)], &decision.to_string());
    assert_eq!(decided.status, 201, "{:?}", decided.events);
}

fn next_decision(reader: &mut Reader) -> Sent {
    loop {
        let sent = reader.next().unwrap();
        if sent.0 == "decision" {
            return sent;
        }
    }
}

#[test]
fn whoever_follows_hears_of_decisions_and_acknowledgements() {
    let desk = Desk::new();
    let gateway = start(&desk, CONFIG);
    let mut reader = Reader::open(&gateway, "/api/events", "");
    assert_eq!(reader.next().unwrap().0, "hello");
    let case = ask(&gateway, "Which?");
    let later = json!({"decision": "defer", "until": case["expires"]});
    decide(&desk, &gateway, &case, later);
    let (_, put_off, told) = next_decision(&mut reader);
    assert_eq!(told["state"], "deferred", "{told}");
    assert_eq!(told["seq"], put_off.unwrap());
    // Another process on the same store decides.
    let path = format!("/api/cases/{}", case["id"].as_str().unwrap());
    let current = gateway.send("GET", &path, &[], "").last()["case"].clone();
    let elsewhere = start(&desk, CONFIG);
    let answer = json!({"decision": "respond", "message": "the hidden words"});
    decide(&desk, &elsewhere, &current, answer);
    let (_, decided, told) = next_decision(&mut reader);
    assert_eq!(
        (&told["case"], &told["kind"], &told["decision"], &told["state"]),
        (&case["id"], &json!("question"), &json!("respond"), &json!("decided"))
    );
    assert!(!told.to_string().contains("hidden words"), "{told}");
    let seen = format!("{path}/acknowledgement");
    let seen = gateway.send("POST", &seen, &[], r#"{"outcome":"done","note":"n"}"#);
    assert_eq!((seen.status, &seen.last()["acknowledged"]["note"]), (201, &json!("n")));
    let (_, acknowledged, told) = next_decision(&mut reader);
    assert_eq!(
        (&told["case"], &told["decision"], &told["state"]),
        (&case["id"], &json!("respond"), &json!("acknowledged"))
    );
    // Whoever was away goes on from where they were, and nothing comes twice.
    let after = format!("Last-Event-ID: {}\r\n", put_off.unwrap());
    let mut again = Reader::open(&gateway, "/api/events", &after);
    assert_eq!(next_decision(&mut again).1, decided);
    assert_eq!(next_decision(&mut again).1, acknowledged);
    // Who may only hand in waits for its own cases, and follows nothing.
    let writer = bearer(&desk, "writer");
    let refused = gateway.send("GET", "/api/events", &[("Authorization", &writer)], "");
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (403, &json!("SCOPE_MISSING")));
}
