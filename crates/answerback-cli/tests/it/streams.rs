//! Live streams from outside: who may write to one, how long its events are kept, and how many may follow.

use serde_json::{Value, json};

use crate::console::start;
use crate::serve::Gateway;
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
