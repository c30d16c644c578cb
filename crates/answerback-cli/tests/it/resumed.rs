//! Streams that a client with a session comes back to: over `answerback serve`, by `Last-Event-ID`.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::gateway::{Gateway, PATIENCE, Session, json_of, stateless};
use crate::transport::upstream;
use crate::wrap::{Desk, text};

/// The revision whose clients come back to a stream that ends early.
pub(crate) const POLLING: &str = "2025-11-25";

/// A call of a tool that waits until the gate is there, and says before that it does.
fn waiting() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "_meta": {"progressToken": 1}}})
}

/// A server on pipes whose tool `wait` waits for the gate, and how its answers are given.
fn configured(desk: &Desk, answers: &str) -> (PathBuf, String) {
    let gate = desk.path("gate");
    let server = upstream(desk, "one", "legacy", &[("MOODY_GATE", &gate)]);
    (gate, format!("gateway:\n  answers: {answers}\n  upstreams:\n{server}"))
}

/// An event as it stands in a stream.
#[derive(Debug, Eq, PartialEq)]
struct Event {
    id: String,
    kind: String,
    data: String,
    retry: String,
}

/// An answer that is a stream, read as it comes. Whoever drops it has left.
pub(crate) struct Stream {
    status: u16,
    is_events: bool,
    lines: Lines<BufReader<ureq::BodyReader<'static>>>,
}

impl Stream {
    /// Asks in a session, as a client of this revision.
    pub(crate) fn open(
        gateway: &Gateway,
        session: &str,
        revision: &str,
        last_event: Option<&str>,
        body: Option<&Value>,
    ) -> Self {
        let method = if body.is_some() { "POST" } else { "GET" };
        let mut request = ureq::http::Request::builder().method(method).uri(gateway.url("/mcp"));
        let bearer = format!("Bearer {}", gateway.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", revision),
            ("Mcp-Session-Id", session),
        ];
        let last_event = last_event.map(|id| ("Last-Event-ID", id));
        for (name, value) in headers.into_iter().chain(last_event) {
            request = request.header(name, value);
        }
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        let agent: ureq::Agent = agent.into();
        let answer = match body {
            Some(body) => agent.run(request.body(body.to_string()).unwrap()),
            None => agent.run(request.body(()).unwrap()),
        };
        let answer = answer.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap();
        let is_events = kind.starts_with("text/event-stream");
        let status = answer.status().as_u16();
        let lines = BufReader::new(answer.into_body().into_reader()).lines();
        Self { status, is_events, lines }
    }

    /// The next event; nothing, where the stream ended.
    fn next(&mut self) -> Option<Event> {
        let mut event = None;
        for line in self.lines.by_ref() {
            let line = line.expect("a stream that ends by itself");
            let Some((field, value)) = line.split_once(':') else {
                match event {
                    Some(event) => return Some(event),
                    None => continue,
                }
            };
            if field.is_empty() {
                continue;
            }
            let event = event.get_or_insert_with(|| Event {
                id: String::new(),
                kind: "message".to_owned(),
                data: String::new(),
                retry: String::new(),
            });
            let place = match field {
                "id" => &mut event.id,
                "event" => &mut event.kind,
                "data" => &mut event.data,
                "retry" => &mut event.retry,
                other => panic!("{other}"),
            };
            value.trim_start().clone_into(place);
        }
        None
    }

    pub(crate) fn message(&mut self) -> (String, Value) {
        let event = self.next().expect("a message");
        assert_eq!(event.kind, "message");
        (event.id, json_of(&event.data))
    }

    /// The event that says where to go on.
    pub(crate) fn primed(&mut self) -> String {
        let event = self.next().expect("an event to begin with");
        assert!(self.is_events && event.data.is_empty() && !event.id.is_empty(), "{event:?}");
        assert_eq!(event.retry, "1000");
        event.id
    }
}

#[test]
fn an_answer_whose_reader_left_is_there_for_whoever_comes_back() {
    let desk = Desk::new();
    let (gate, config) = configured(&desk, "stream");
    let gateway = Gateway::start(&desk, &config, &[]);
    let client = Session::begin(&gateway, "/mcp");
    let back = |last: &str| Stream::open(&gateway, &client.name, POLLING, Some(last), None);
    let mut first = Stream::open(&gateway, &client.name, POLLING, None, Some(&waiting()));
    let start = first.primed();
    let (heard, progress) = first.message();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    drop(first);
    std::fs::write(&gate, "").unwrap();
    let mut second = back(&heard);
    let (last, answer) = second.message();
    assert_eq!((text(&answer), &answer["id"]), ("waited", &json!(1)), "{answer}");
    assert_eq!(second.next(), None, "the answer is the end");
    // All of it once more, and nothing where all was heard.
    let mut whole = back(&start);
    assert_eq!(whole.message(), (heard, progress));
    assert_eq!(whole.message(), (last.clone(), answer));
    assert_eq!(whole.next(), None);
    assert_eq!(back(&last).next(), None);
    let called = desk.leaves().iter().filter(|leaf| leaf["kind"] == "request").count();
    assert_eq!(called, 1, "coming back is no call");
}

#[test]
fn of_two_readers_the_later_one_hears() {
    let desk = Desk::new();
    let (gate, config) = configured(&desk, "stream");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let client = Session::begin(&gateway, "/mcp");
    let mut first = Stream::open(&gateway, &client.name, POLLING, None, Some(&waiting()));
    first.primed();
    let (heard, _) = first.message();
    let mut second = Stream::open(&gateway, &client.name, POLLING, Some(&heard), None);
    assert_eq!(first.next(), None, "it is not its turn any more");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(text(&second.message().1), "waited");
}

#[test]
fn ids_of_others_lead_nowhere() {
    let desk = Desk::new();
    let (gate, config) = configured(&desk, "stream");
    std::fs::write(gate, "").unwrap();
    let tokens = "  tokens:\n    other: {scopes: [call], file: other.token}\n";
    let gateway = Gateway::start(&desk, &format!("{config}{tokens}"), &["--no-record"]);
    let (mine, theirs) = (Session::begin(&gateway, "/mcp"), Session::begin(&gateway, "/mcp"));
    let mut stream = Stream::open(&gateway, &mine.name, POLLING, None, Some(&waiting()));
    let id = stream.primed();
    while stream.next().is_some() {}
    // Another session of the same principal, and ids that nobody has.
    for (session, id) in [(&theirs, id.as_str()), (&mine, "0-1-0"), (&mine, "nonsense")] {
        let refused = Stream::open(&gateway, &session.name, POLLING, Some(id), None);
        assert_eq!(refused.status, 400, "{id}");
    }
    // Another principal sees no session at all.
    let other = std::fs::read_to_string(desk.path("other.token")).unwrap();
    let bearer = format!("Bearer {}", other.trim());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", &mine.name),
        ("Last-Event-ID", &id),
    ];
    assert_eq!(gateway.send("GET", "/mcp", &headers, "").status, 404);
    let mut own = Stream::open(&gateway, &mine.name, POLLING, Some(&id), None);
    assert_eq!(own.message().1["method"], "notifications/progress");
}

#[test]
fn a_stream_that_is_quiet_is_closed_where_answers_are_polled() {
    let desk = Desk::new();
    let (gate, config) = configured(&desk, "poll");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let client = Session::begin(&gateway, "/mcp");
    let mut stream = Stream::open(&gateway, &client.name, POLLING, None, Some(&waiting()));
    stream.primed();
    let (heard, _) = stream.message();
    assert_eq!(stream.next(), None, "it is closed before the answer");
    // Whoever comes back too early is let go again.
    let mut early = Stream::open(&gateway, &client.name, POLLING, Some(&heard), None);
    assert_eq!(early.next(), None);
    std::fs::write(&gate, "").unwrap();
    let mut back = Stream::open(&gateway, &client.name, POLLING, Some(&heard), None);
    assert_eq!(text(&back.message().1), "waited");
}

#[test]
fn older_clients_are_not_sent_away_and_hear_no_empty_events() {
    let desk = Desk::new();
    let (gate, config) = configured(&desk, "poll");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let client = Session::begin(&gateway, "/mcp");
    let mut stream = Stream::open(&gateway, &client.name, "2025-06-18", None, Some(&waiting()));
    let (id, progress) = stream.message();
    assert_eq!(progress["method"], "notifications/progress");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(text(&stream.message().1), "waited");
    // By ids they may come back, too.
    let mut back = Stream::open(&gateway, &client.name, "2025-06-18", Some(&id), None);
    assert_eq!(text(&back.message().1), "waited");
}

#[test]
fn what_is_said_while_nobody_listens_is_heard_by_whoever_comes_back_to_listen() {
    let desk = Desk::new();
    let (_, config) = configured(&desk, "as_needed");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let name = client.name.clone();
    let listen = |last: Option<&str>| Stream::open(&gateway, &name, POLLING, last, None);
    let mut own = listen(None);
    client.call("change", json!({}));
    let (first, said) = own.message();
    assert_eq!(said["method"], "notifications/tools/list_changed", "{said}");
    client.call("change", json!({}));
    let (second, _) = own.message();
    drop(own);
    let mut back = listen(Some(&first));
    assert_eq!(back.message().0, second, "what it may not have got, and nothing else");
}

#[test]
fn without_sessions_there_is_nothing_to_come_back_to() {
    let desk = Desk::new();
    let (_, config) = configured(&desk, "stream");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let answer = stateless(
        &gateway,
        "/mcp",
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "a"}}),
    );
    assert_eq!(text(answer.last()), "a");
    assert!(!answer.is_stream, "an answer of one message is one");
}

/// A call of a tool that says so much about it, and is answered with the next one.
fn flooding(count: usize, bytes: usize) -> Value {
    let params = json!({"name": "flood", "arguments": {"count": count, "bytes": bytes}, "_meta": {"progressToken": "t"}});
    json!({"jsonrpc": "2.0", "id": "flood", "method": "tools/call", "params": params})
}

/// Reads a stream to its answer. Says how many messages came before, and how many are told to be missing.
fn read_flood(stream: &mut Stream) -> (usize, usize) {
    let (mut heard, mut lost) = (0, 0);
    loop {
        let event = stream.next().expect("a stream that is not cut off");
        let said = json_of(&event.data);
        match event.kind.as_str() {
            "gap" => lost += usize::try_from(said["lost"].as_u64().unwrap()).unwrap(),
            _ if said["id"] == "flood" => return (heard, lost),
            _ => heard += 1,
        }
    }
}

#[test]
fn what_nobody_reads_holds_up_no_other_answer_and_is_bounded() {
    let desk = Desk::new();
    let (_, config) = configured(&desk, "stream");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    // Few that are large, and many that are small.
    for (count, bytes) in [(30, 1 << 20), (2000, 8 << 10)] {
        let mut client = Session::begin(&gateway, "/mcp");
        let flood = flooding(count, bytes);
        let mut unread = Stream::open(&gateway, &client.name, POLLING, None, Some(&flood));
        assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
        unread.primed();
        let (heard, lost) = read_flood(&mut unread);
        assert_eq!(heard + lost, count);
        // The connection itself takes some, too.
        assert!(lost > count / 4, "{heard} of {count} were kept");
    }
}

#[test]
fn a_message_larger_than_what_is_kept_is_heard() {
    let desk = Desk::new();
    let (_, config) = configured(&desk, "stream");
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let mut client = Session::begin(&gateway, "/mcp");
    let flood = flooding(1, 8 << 20);
    let mut stream = Stream::open(&gateway, &client.name, POLLING, None, Some(&flood));
    stream.primed();
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(read_flood(&mut stream), (1, 0));
}

/// A server behind a URL that streams, and ends its stream early.
pub(crate) struct Streaming {
    child: Child,
    pub(crate) url: String,
}

impl Streaming {
    pub(crate) fn start() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streaming_server.py");
        let mut command = Command::new("python3");
        let mut child = command.arg(file).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        Self { child, url }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_answer_is_what_the_server_makes_of_it() {
    let desk = Desk::new();
    let server = Streaming::start();
    let config = format!("gateway:\n  upstreams:\n    far: {{url: \"{}\"}}\n", server.url);
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    let client = Session::begin(&gateway, "/mcp");
    let call = |id: u8, tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        Stream::open(&gateway, &client.name, POLLING, None, Some(&call))
    };
    let mut whole = call(1, "whole");
    assert!(!whole.is_events);
    assert_eq!(text(&json_of(&whole.lines.next().unwrap().unwrap())), "whole");
    let mut streamed = call(2, "streamed");
    streamed.primed();
    assert_eq!(text(&streamed.message().1), "streamed");
    assert_eq!(streamed.next(), None);
    // The server closes its stream twice before it answers. So do we, and go back to it meanwhile.
    let mut polled = call(3, "polled");
    let id = polled.primed();
    assert_eq!(polled.next(), None, "it is closed before the answer");
    let answer = (0..10).find_map(|_| {
        let mut back = Stream::open(&gateway, &client.name, POLLING, Some(&id), None);
        back.next()
    });
    assert_eq!(text(&json_of(&answer.unwrap().data)), "polled");
}
