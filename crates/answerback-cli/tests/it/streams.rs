//! Live streams from outside: who may write to one, how long its events are kept, how many may follow, and from where.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console::start;
use crate::event_reader::Reader;
use crate::gateway::{Gateway, PATIENCE, Session};
use crate::person::Person;
use crate::replies::example;
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

/// Whoever sends something else is told where it is wrong, and what an event looks like.
#[test]
fn what_is_no_event_is_told_with_its_place() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let event = r#"{"kind": "note"}"#;
    for (stream, body, said, solution) in [
        ("a", "not json", "the body is not JSON: expected ident", "or a list of such events"),
        (
            "a",
            "7",
            "the event: an event is an object with a kind and a body",
            "a list of such events",
        ),
        ("a", r#"{"body": 1}"#, "the event: missing field `kind`", "a list of such events"),
        ("a", r#"{"kind": 1}"#, "the event: invalid type: integer `1`, expected a string", ""),
        ("a", &format!("[{event}, 7]"), "event 2 of the list: an event is an object", ""),
        (
            "a",
            &format!(r#"[{event}, {{"kind": "note", "text": "x"}}]"#),
            "event 2 of the list: unknown field `text`, expected `kind` or `body`",
            "",
        ),
        ("a", "[]", "a request has 1 to 1000 events; this one has 0", ""),
        ("a", r#"{"kind": "end"}"#, "which are reserved for the end of the stream", "such as note"),
        ("a", r#"{"kind": "a b"}"#, "letters, digits, dots, dashes or underscores", "such as note"),
        ("answerback%2Fx", event, "does not begin with answerback/", "in the path"),
    ] {
        let path = format!("/api/streams/{stream}/events");
        let answer = gateway.send("POST", &path, &[], body);
        let told = answer.last().to_string();
        assert_eq!(answer.status, 400, "{body}: {told}");
        let data = &answer.last()["data"];
        assert!(data["message"].as_str().unwrap().contains(said), "{body}: {told}");
        assert!(told.contains(solution), "{body}: {told}");
    }
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
    assert!(given.to_string().contains("this stream belongs to another principal"), "{given}");
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

#[test]
fn what_is_no_longer_kept_is_a_gap() {
    let desk = Desk::new();
    let config = "console:\n  events:\n    keep: {days: 7, count: 10}\n";
    let gateway = start(&desk, config);
    for number in 1..=30 {
        publish(&gateway, "long", number);
    }
    publish(&gateway, "short", 0);
    let ended = gateway.send("POST", "/api/streams/short/end", &[], "");
    assert_eq!(ended.status, 201, "{:?}", ended.events);
    let digest = gateway.send("GET", "/api/streams/short", &[], "").last()["digest"].clone();
    let kept = gateway.send("POST", "/api/replies", &[], &example("table")).last().clone();
    for number in 31..=40 {
        publish(&gateway, "long", number);
    }
    let newest = gateway.send("GET", "/api/overview", &[], "").last()["seq"].as_u64().unwrap();
    drop(gateway);
    // What is beyond goes as soon as the server is there.
    let gateway = start(&desk, config);
    let lost = newest - 10;
    let began = Instant::now();
    loop {
        let page = gateway.send("GET", "/api/streams/long/events?after=0", &[], "").last().clone();
        if page["gap"] == json!({"from": 1, "to": lost}) {
            assert_eq!(page["events"].as_array().unwrap().len(), 10, "{page}");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{page}");
        std::thread::sleep(Duration::from_millis(50));
    }
    for (path, header) in [("/api/events?after=5", ""), ("/api/events", "Last-Event-ID: 5\r\n")] {
        let mut reader = Reader::open(&gateway, path, header);
        assert_eq!(reader.next().unwrap().0, "hello");
        let (name, id, gap) = reader.next().unwrap();
        assert_eq!((name.as_str(), id), ("gap", Some(lost)), "{gap}");
        assert_eq!(gap, json!({"from": 6, "to": lost}));
        let seen: Vec<u64> = (0..10).map(|_| reader.live().unwrap().0).collect();
        assert_eq!(seen, (lost + 1..=newest).collect::<Vec<u64>>());
    }
    // Who was within what is kept misses nothing.
    let mut reader = Reader::open(&gateway, &format!("/api/events?after={lost}"), "");
    assert_eq!(reader.next().unwrap().0, "hello");
    assert_eq!(reader.next().unwrap().1, Some(lost + 1));
    let short = gateway.send("GET", "/api/streams/short", &[], "").last().clone();
    assert_eq!((&short["digest"], &short["events"]), (&digest, &json!(1)), "{short}");
    assert_eq!(short["warnings"], json!(["1 earlier event is no longer stored"]));
    let again = gateway.send("POST", "/api/streams/short/events", &[], &note(1));
    assert_eq!(again.status, 409, "what ended stays so");
    let artifact = format!("/api/artifacts/{}", kept["artifacts"][0]["id"].as_str().unwrap());
    assert_eq!(gateway.send("GET", &artifact, &[], "").status, 200, "the registry is no news");
}

#[test]
fn one_token_has_so_many_streams_and_waits_open() {
    let desk = Desk::new();
    let gateway = start(&desk, "console:\n  events:\n    readers: 8\n");
    let person = Person::unlock(&desk, &gateway);
    let mut readers: Vec<Reader> =
        (0..8).map(|_| Reader::open(&gateway, "/api/events", "")).collect();
    let refused = gateway.send("GET", "/api/events", &[], "");
    assert_eq!((refused.status, &refused.last()["data"]["code"]), (429, &json!("TOO_MANY_OPEN")));
    let cookie = format!("Cookie: {}\r\n", person.cookie);
    let mut other = Reader::open(&gateway, "/api/events", &cookie);
    assert_eq!(other.next().unwrap().0, "hello", "another's are not counted");
    // Who leaves makes room at once.
    drop(readers.pop());
    let began = Instant::now();
    while !matches!(Reader::status(&gateway, "/api/events", ""), Some(200)) {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }

    let question = json!({"kind": "question", "question": "Which?"}).to_string();
    let asked = gateway.send("POST", "/api/cases", &[], &question).last().clone();
    let path = format!("/api/cases/{}/decision", asked["case"]["id"].as_str().unwrap());
    let wait = || Reader::ask(&gateway, &format!("{path}?wait=60"), "");
    let mut waiting: Vec<Reader> = (0..64).map(|_| wait()).collect();
    let began = Instant::now();
    loop {
        let refused = gateway.send("GET", &format!("{path}?wait=1"), &[], "");
        if refused.status == 429 {
            assert_eq!(refused.last()["data"]["code"], "TOO_MANY_OPEN");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", refused.events);
        // It came before the last of them, which was refused instead.
        waiting.push(wait());
    }
    assert_eq!(gateway.send("GET", &path, &[], "").status, 200, "to look is not to wait");
    drop(waiting);
}

#[test]
fn a_stream_is_followed_from_any_point_and_over_a_kill() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let publish = |gateway: &Gateway, number: u64| {
        let event = json!({"kind": "note", "body": {"number": number}}).to_string();
        let answer = gateway.send("POST", "/api/streams/run/events", &[], &event);
        assert_eq!(answer.status, 201, "{:?}", answer.events);
    };
    let mut reader = Reader::open(&gateway, "/api/events?streams=run", "");
    assert_eq!(reader.next().unwrap().0, "hello");
    (1..=5).for_each(|number| publish(&gateway, number));
    let other = json!({"kind": "note", "body": {}}).to_string();
    gateway.send("POST", "/api/streams/another/events", &[], &other);
    let mut seen: Vec<u64> = Vec::new();
    let mut last = 0;
    for _ in 0..5 {
        let (id, event) = reader.live().unwrap();
        seen.push(event["body"]["number"].as_u64().unwrap());
        last = id;
    }
    // Both ways to say where one was, and the header counts first.
    for (path, header) in [
        (format!("/api/events?after={}", last - 2), String::new()),
        ("/api/events".to_owned(), format!("Last-Event-ID: {}\r\n", last - 2)),
        ("/api/events?after=0".to_owned(), format!("Last-Event-ID: {}\r\n", last - 2)),
    ] {
        let mut again = Reader::open(&gateway, &path, &header);
        assert_eq!(again.live().unwrap().0, last - 1, "{path} {header}");
    }
    assert_eq!(gateway.send("GET", "/api/events?after=x", &[], "").status, 400);

    // Killed and started again on the same store: the reader comes back with what it saw last.
    drop(gateway);
    while reader.next().is_some() {}
    let gateway = start(&desk, "");
    (6..=8).for_each(|number| publish(&gateway, number));
    let header = format!("Last-Event-ID: {last}\r\n");
    let mut reader = Reader::open(&gateway, "/api/events?streams=run", &header);
    for _ in 0..3 {
        seen.push(reader.live().unwrap().1["body"]["number"].as_u64().unwrap());
    }
    assert_eq!(seen, (1..=8).collect::<Vec<u64>>());

    let end = gateway.send("POST", "/api/streams/run/end", &[], r#"{"outcome":"completed"}"#);
    assert_eq!(end.status, 201, "{:?}", end.events);
    let late = json!({"kind": "note"}).to_string();
    let late = gateway.send("POST", "/api/streams/run/events", &[], &late);
    assert_eq!((late.status, &late.last()["data"]["code"]), (409, &json!("STREAM_ENDED")));
    let shown = gateway.send("GET", "/api/streams/run", &[], "").last().clone();
    assert_eq!((&shown["ended"], &shown["outcome"]), (&json!(true), &json!("completed")));
    for body in [r#"{"kind":"end"}"#, r#"{"kind":"a b"}"#, "[]"] {
        let refused = gateway.send("POST", "/api/streams/x/events", &[], body);
        assert_eq!(refused.status, 400, "{body}");
    }
    let store = desk.path("state/answerback/ledger.db");
    let store = store.to_str().unwrap();
    let watched = desk.good(&["watch", "run", "--store", store, "--format", "json"]);
    assert_eq!(watched.lines().count(), 10, "{watched}");
    let listed = desk.good(&["watch", "--store", store]);
    assert!(listed.contains("ended         9 events  run"), "{listed}");
    let missing = desk.command().args(["watch", "none", "--no-follow", "--store", store]).output();
    assert_eq!(missing.unwrap().status.code(), Some(2));
    let own = gateway.send("POST", "/api/streams/answerback%2Fcase/events", &[], &other);
    assert_eq!(own.status, 400, "streams of ours are not theirs");
}

#[test]
fn a_reader_that_does_not_read_harms_nobody() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let _slow: Vec<Reader> = (0..20).map(|_| Reader::open(&gateway, "/api/events", "")).collect();
    let mut quick = Reader::open(&gateway, "/api/events", "");
    let body = "x".repeat(100_000);
    let events = json!(vec![json!({"kind": "note", "body": {"text": body}}); 10]).to_string();
    for _ in 0..10 {
        let answer = gateway.send("POST", "/api/streams/big/events", &[], &events);
        assert_eq!(answer.status, 201, "{:?}", answer.events);
    }
    let read: Vec<u64> = (0..100).map(|_| quick.live().unwrap().0).collect();
    assert_eq!(read, (1..=100).collect::<Vec<u64>>());
}
