//! Tests requests that state their protocol version.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::server::*;

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    params
}

#[tokio::test]
async fn a_request_crosses_byte_for_byte_with_its_headers() {
    let (remote, log) =
        serve(async |asked: Asked| json_answer(asked.result(json!({"n": 1})))).await;
    let remote = remote.with_header("Authorization", "Bearer s3cret").unwrap();
    let mut link = remote.connect("up", MAX);
    let text = r#"{ "jsonrpc":"2.0", "id":"a",  "method":"tools/call","params":{"name":"ü","big":12345678901234567890123,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}} }"#;
    link.to.send(answerback_mcp::wire::Message::read(text.to_owned()).unwrap()).await.unwrap();
    assert_eq!(told(&mut link).await, r#""a" {"jsonrpc":"2.0","id":"a","result":{"n":1}}"#);
    let asked = log.wait_for("tools/call").await;
    assert_eq!(asked.body, text);
    let names = [
        "accept",
        "content-type",
        "authorization",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
    ];
    let headers: String = names.map(|name| format!("{name}: {}\n", asked.header(name))).concat();
    insta::assert_snapshot!(headers, @r#"
    accept: application/json, text/event-stream
    content-type: application/json
    authorization: Bearer s3cret
    mcp-protocol-version: 2026-07-28
    mcp-method: tools/call
    mcp-name: =?base64?w7w=?=
    mcp-session-id: -
    "#);
    // There is no session to end.
    drop(link.to);
    assert!(link.from.recv().await.is_none());
    assert_eq!(log.what(), ["tools/call"]);
}

#[tokio::test]
async fn a_stream_is_read_however_it_comes() {
    let (remote, _) = serve(async |asked: Asked| {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
        let answer = asked.result(json!({"text": "é→"}));
        let (half, rest) = answer.split_at(1);
        let text = format!(": hello\r\n\r\nevent: message\r\ndata: {progress}\r\n\r\ndata: {half}\ndata: {rest}\n\n");
        let mut split: Vec<String> = Vec::new();
        for character in text.chars() {
            match split.last_mut() {
                Some(last) if last.len() < 7 => last.push(character),
                _ => split.push(character.into()),
            }
        }
        pieces(split, false)
    })
    .await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "tools/call", modern(json!({"name": "a"})))).await.unwrap();
    insta::assert_snapshot!(told(&mut link).await, @r#"1 {"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#);
    // Each message is put on one line, because it may be written to a line-based stream.
    insta::assert_snapshot!(told(&mut link).await, @r#"1 { "jsonrpc":"2.0","id":1,"result":{"text":"é→"}}"#);
}

#[tokio::test]
async fn an_error_of_the_protocol_passes_whatever_its_status() {
    let (remote, _) = serve(async |asked: Asked| {
        let id = &asked.message()["id"];
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}});
        plain(404, "application/json", error.to_string())
    })
    .await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "nope", modern(json!({})))).await.unwrap();
    insta::assert_snapshot!(told(&mut link).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
}

#[tokio::test]
async fn a_request_that_is_given_up_has_its_stream_closed() {
    let (closed, mut closings) = mpsc::channel(1);
    let (remote, log) = serve(move |asked: Asked| {
        let closed = closed.clone();
        async move {
            if asked.what() == "ping" {
                return json_answer(asked.result(json!({})));
            }
            let (mut sender, answer) = stream();
            tokio::spawn(async move {
                // Sending fails once the client has closed the stream.
                while sender.send_data(":\n\n".into()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                closed.send(()).await.unwrap();
            });
            answer
        }
    })
    .await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "tools/call", modern(json!({"name": "long"})))).await.unwrap();
    log.wait_for("tools/call").await;
    let params = json!({"requestId": 1});
    link.to.send(notification("notifications/cancelled", params.clone())).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), closings.recv()).await.unwrap().unwrap();
    // A second cancellation has no effect. The next message is the response to another request.
    link.to.send(notification("notifications/cancelled", params)).await.unwrap();
    link.to.send(request(2, "ping", modern(json!({})))).await.unwrap();
    assert_eq!(told(&mut link).await, r#"2 {"jsonrpc":"2.0","id":2,"result":{}}"#);
    assert_eq!(log.what(), ["tools/call", "ping"]);
}

#[tokio::test]
async fn arguments_stand_in_the_headers_that_a_list_of_tools_asked_for() {
    let (remote, log) = serve(async |asked: Asked| {
        let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
        json_answer(asked.result(json!({"tools": [{"name": "query", "inputSchema": schema}]})))
    })
    .await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "tools/list", modern(json!({})))).await.unwrap();
    next(&mut link).await;
    let params = json!({"name": "query", "arguments": {"region": "us-west1"}});
    link.to.send(request(2, "tools/call", modern(params))).await.unwrap();
    next(&mut link).await;
    assert_eq!(log.wait_for("tools/call").await.header("mcp-param-region"), "us-west1");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let (remote, log) = serve(async |asked: Asked| {
        let answer = asked.result(json!({}));
        if asked.what() == "json" {
            json_answer(answer)
        } else {
            pieces(vec![format!("data: {answer}\n\n")], false)
        }
    })
    .await;
    let mut link = remote.connect("up", MAX);
    for (id, method) in [(1, "json"), (2, "stream"), (3, "json"), (4, "stream")] {
        link.to.send(request(id, method, modern(json!({})))).await.unwrap();
        next(&mut link).await;
        // A response is forwarded before its stream has ended.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((log.what().len(), log.connections()), (4, 1));
}

#[tokio::test]
async fn a_subscription_may_be_silent_and_ends_with_the_link() {
    let (remote, log) = serve(async |_: Asked| {
        let (mut sender, answer) = stream();
        tokio::spawn(async move {
            let said = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            tokio::time::sleep(Duration::from_millis(2500)).await;
            let _ = sender.send_data(format!("data: {said}\n\n").into()).await;
            tokio::time::sleep(Duration::from_mins(1)).await;
        });
        answer
    })
    .await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "subscriptions/listen", modern(json!({})))).await.unwrap();
    // The pause is longer than the idle timeout of these tests.
    assert_eq!(
        told(&mut link).await,
        r#"1 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
    );
    drop(link.to);
    assert!(link.from.recv().await.is_none());
    assert_eq!(log.what(), ["subscriptions/listen"]);
}
