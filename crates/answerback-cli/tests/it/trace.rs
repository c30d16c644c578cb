//! Traces of calls, as a collector gets them.

use std::io::{BufRead, BufReader, Write as _};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::wrap::{Client, Desk, PATIENCE, stub, text};

/// A collector that takes one message, and gives it.
fn collector() -> (String, Receiver<Value>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length, mut first) = (String::new(), 0, String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                if first.is_empty() {
                    first.clone_from(&line);
                }
                let (name, value) = line.split_once(':').unwrap_or_default();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            assert!(first.starts_with("POST /v1/traces "), "{first}");
            let mut body = vec![0; length];
            std::io::Read::read_exact(&mut stream, &mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.get_mut().write_all(answer).unwrap();
            let _ = sender.send(serde_json::from_slice(&body).unwrap());
        }
    });
    (endpoint, spans)
}

#[test]
fn a_call_is_a_span_of_the_trace_that_it_came_with() {
    let desk = Desk::new();
    let (endpoint, spans) = collector();
    let mut command = desk.command();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    command.args(["wrap", "--name", "stub", "--", "python3"]).arg(stub());
    let mut client = Client::start(command);
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let meta = json!({"traceparent": format!("00-{trace}-{parent}-01"), "tracestate": "a=b"});
    let mut span_of = |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let answer = client.ask("tools/call", params);
        let told = spans.recv_timeout(PATIENCE).unwrap();
        (answer, told["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone())
    };
    let of = |span: &Value, key: &str| {
        let attributes = span["attributes"].as_array().unwrap().clone();
        let found = attributes.into_iter().find(|attribute| attribute["key"] == key);
        found.map(|found| found["value"]["stringValue"].as_str().unwrap().to_owned())
    };
    let (answer, span) = span_of("echo", json!({"text": "a"}));
    assert_eq!(text(&answer), "a");
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(trace), &json!(parent)));
    assert_eq!((&span["name"], &span["kind"]), (&json!("execute_tool echo"), &json!(2)));
    assert_eq!(span["traceState"], "a=b");
    assert_eq!(of(&span, "gen_ai.operation.name").as_deref(), Some("execute_tool"));
    assert_eq!(of(&span, "error.type"), None);
    let correlation = crate::wrap::meta(&answer, "envelope")["audit"]["correlation_id"].clone();
    assert_eq!(of(&span, "answerback.correlation_id").unwrap(), correlation.as_str().unwrap());
    // The server is told the span that its own belong to.
    let passed = desk.reached()[0]["params"]["_meta"]["traceparent"].as_str().unwrap().to_owned();
    assert_eq!(passed, format!("00-{trace}-{}-01", span["spanId"].as_str().unwrap()));
    let (_, span) = span_of("count", json!({"n": 0}));
    assert_eq!(of(&span, "error.type").as_deref(), Some("tool_error"));
    assert_eq!(of(&span, "answerback.retry.class").as_deref(), Some("arguments"));
    client.leave();
}
