//! Live streams from outside: who may write to one, how long its events are kept, and how many may follow.

use std::fs;

use serde_json::{Value, json};

use crate::console::start;
use crate::serve::{Gateway, Session};
use crate::wrap::Desk;

fn note(number: usize) -> String {
    json!({"kind": "note", "body": {"number": number}}).to_string()
}

fn publish(gateway: &Gateway, stream: &str, number: usize) {
    let path = format!("/api/streams/{stream}/events");
    let answer = gateway.send("POST", &path, &[], &note(number));
    assert_eq!(answer.status, 201, "{:?}", answer.events);
}

#[test]
fn every_stream_is_listed_page_by_page() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    for number in 0..205 {
        publish(&gateway, &format!("run-{number}"), number);
    }
    let (mut seen, mut before) = (Vec::new(), String::new());
    let mut pages = 0;
    loop {
        let page = gateway.send("GET", &format!("/api/streams?limit=100{before}"), &[], "");
        let page = page.last().clone();
        let ids = page["streams"].as_array().unwrap().iter();
        seen.extend(ids.map(|stream| stream["id"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    let newest_first: Vec<String> = (0..205).rev().map(|number| format!("run-{number}")).collect();
    assert_eq!((pages, seen), (3, newest_first));
    let oldest = gateway.send("GET", "/api/streams/run-0", &[], "");
    assert_eq!((oldest.status, &oldest.last()["events"]), (200, &Value::from(1)));
}

#[test]
fn a_stream_belongs_to_whoever_began_it() {
    let desk = Desk::new();
    let config = "gateway:\n  tokens:\n    writer: {scopes: [ingest], file: writer.token}\n    other: {scopes: [ingest, call], file: other.token}\n    chief: {scopes: [admin], file: chief.token}\n";
    let gateway = start(&desk, config);
    let bearer = |name: &str| {
        let token = fs::read_to_string(desk.path(&format!("{name}.token"))).unwrap();
        format!("Bearer {}", token.trim())
    };
    let (writer, other, chief) = (bearer("writer"), bearer("other"), bearer("chief"));
    let send = |gateway: &Gateway, path: &str, who: &str, body: &str| {
        let answer = gateway.send("POST", path, &[("Authorization", who)], body);
        (answer.status, answer.last()["data"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let (events, end) = ("/api/streams/run/events", "/api/streams/run/end");
    let refused = (403, "STREAM_OF_ANOTHER".to_owned());
    assert_eq!(send(&gateway, events, &writer, &note(1)).0, 201);
    assert_eq!(send(&gateway, events, &other, &note(2)), refused);
    assert_eq!(send(&gateway, end, &other, "{}"), refused);
    // Who runs the server may, and the stream stays whose it is.
    assert_eq!(send(&gateway, events, &chief, &note(3)).0, 201);
    drop(gateway);
    let gateway = start(&desk, config);
    assert_eq!(send(&gateway, events, &other, &note(4)), refused);
    assert_eq!(send(&gateway, events, &writer, &note(5)).0, 201);
    // An agent at the tools is the token that it came with.
    let mut agent = Session::begin(&gateway, "/mcp/answerback");
    let arguments = json!({"stream": "run", "events": [{"kind": "note"}]});
    let given = agent.call("stream_publish", arguments);
    assert_eq!(given["result"]["isError"], true, "{given}");
    assert!(given.to_string().contains("another began this stream"), "{given}");
    let given = agent.call("stream_publish", json!({"stream": "run", "end": true}));
    assert_eq!(given["result"]["isError"], true, "{given}");
    let given =
        agent.call("stream_publish", json!({"stream": "its", "events": [{"kind": "note"}]}));
    assert_eq!(given["result"]["isError"], false, "{given}");
    assert_eq!(gateway.send("POST", "/api/streams/its/end", &[], "").status, 201, "the same token");
    assert_eq!(send(&gateway, end, &writer, "{}").0, 201);
    assert_eq!(send(&gateway, end, &other, "{}"), refused);
    let shown = gateway.send("GET", "/api/streams/run", &[], "").last().clone();
    assert_eq!((&shown["owner"], &shown["events"]), (&json!("writer"), &json!(3)), "{shown}");
}
