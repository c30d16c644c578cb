//! Tests sessions and the messages that a server sends by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use answerback_mcp::link::{Link, Remote};
use answerback_mcp::wire::Message;
use hyper::header::HeaderValue;
use serde_json::json;

use super::server::*;

/// Returns the response that most test servers share. Each test handles the other requests.
pub(crate) fn usual(asked: &Asked) -> Answer {
    match asked.what().as_str() {
        "initialize" => {
            let mut answer = json_answer(asked.result(json!({"protocolVersion": "2025-11-25"})));
            answer.headers_mut().insert("Mcp-Session-Id", HeaderValue::from_static("s-1"));
            answer
        }
        "GET" => empty(405),
        "DELETE" => empty(200),
        _ if asked.message()["id"].is_null() || asked.message()["method"].is_null() => empty(202),
        _ => json_answer(asked.result(json!({}))),
    }
}

pub(crate) async fn initialized(remote: &Remote) -> Link {
    let mut link = remote.connect("up", MAX);
    link.to.send(request(0, "initialize", json!({}))).await.unwrap();
    next(&mut link).await;
    link.to.send(notification("notifications/initialized", json!({}))).await.unwrap();
    link
}

#[tokio::test]
async fn a_session_is_kept_and_ended() {
    let (remote, log) = serve(async |asked: Asked| usual(&asked)).await;
    let mut link = initialized(&remote).await;
    link.to.send(request(1, "ping", json!({}))).await.unwrap();
    assert_eq!(told(&mut link).await, r#"1 {"jsonrpc":"2.0","id":1,"result":{}}"#);
    log.wait_for("GET").await;
    let Link { to, mut from, .. } = link;
    drop(to);
    assert!(from.recv().await.is_none());
    let mut lines: Vec<String> = Vec::new();
    for asked in log.all() {
        let (session, version) =
            (asked.header("mcp-session-id"), asked.header("mcp-protocol-version"));
        lines.push(format!("{} {session} {version} {}", asked.what(), asked.header("mcp-method")));
    }
    // The stream is opened at the same time as the next request.
    lines[2..4].sort();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    initialize - - -
    notifications/initialized s-1 2025-11-25 -
    GET s-1 2025-11-25 -
    ping s-1 2025-11-25 -
    DELETE s-1 2025-11-25 -
    "#);
}

#[tokio::test]
async fn what_wants_no_answer_keeps_its_order() {
    let (remote, log) = serve(async |asked: Asked| {
        // The first message takes longest.
        let number = asked.message()["params"]["n"].as_u64().unwrap_or(9);
        tokio::time::sleep(Duration::from_millis(20u64.saturating_sub(number * 2))).await;
        usual(&asked)
    })
    .await;
    let link = initialized(&remote).await;
    for number in 0..9 {
        let params = json!({"n": number});
        link.to.send(notification("notifications/x", params)).await.unwrap();
    }
    let Link { to, mut from, .. } = link;
    to.send(Message::read(r#"{"jsonrpc":"2.0","id":"theirs","result":{}}"#.to_owned()).unwrap())
        .await
        .unwrap();
    drop(to);
    assert!(from.recv().await.is_none());
    let all = log.all();
    let told: Vec<_> =
        all.iter().filter_map(|asked| asked.message()["params"]["n"].as_u64()).collect();
    assert_eq!(told, (0..9).collect::<Vec<_>>());
    assert!(all.iter().any(|asked| asked.body.contains("theirs")));
}

#[tokio::test]
async fn what_a_server_says_by_itself_is_heard_and_goes_on_where_it_broke() {
    let times = Arc::new(AtomicUsize::new(0));
    let (remote, log) = serve(move |asked: Asked| {
        let times = times.clone();
        async move {
            if asked.what() != "GET" {
                return usual(&asked);
            }
            let time = times.fetch_add(1, Ordering::SeqCst);
            let said = |number: usize| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m{number}\"}}");
            match time {
                0 => pieces(
                    vec![format!("retry: 20\nid: e0\ndata: {}\n\nid: e1\ndata: {{", said(0))],
                    true,
                ),
                1 => empty(503),
                2 => {
                    pieces(vec![format!("id: e2\ndata: nonsense\n\ndata: {}\n\n", said(2))], false)
                }
                _ => empty(405),
            }
        }
    })
    .await;
    let mut link = initialized(&remote).await;
    assert_eq!(told(&mut link).await, r#"- {"jsonrpc":"2.0","method":"m0"}"#);
    assert_eq!(told(&mut link).await, r#"- {"jsonrpc":"2.0","method":"m2"}"#);
    for _ in 0..200 {
        if log.what().iter().filter(|what| *what == "GET").count() == 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let all = log.all();
    let asked = all.iter().filter(|asked| asked.what() == "GET");
    let from: Vec<_> = asked.map(|asked| asked.header("last-event-id")).collect();
    assert_eq!(from, ["-", "e0", "e0", "e2"]);
}

/// One revision allowed batches. Each message of a batch is received as if it were sent alone, in every place
/// where a server may send one.
#[tokio::test]
async fn a_batch_is_taken_apart() {
    let said = |words: &str| format!(r#"{{"jsonrpc":"2.0","method":"{words}"}}"#);
    let batch = move |asked: &Asked| {
        let answer = asked.result(json!({"n": 1}));
        format!("[{} , 7,\n{answer},[{}],{}]", said("before"), said("inner"), said("after"))
    };
    let (remote, log) = serve(move |asked: Asked| async move {
        match (asked.what().as_str(), asked.header("last-event-id")) {
            ("whole", _) => json_answer(batch(&asked)),
            ("refused", _) => plain(400, "application/json", batch(&asked)),
            ("streamed", _) => {
                let lines = batch(&asked).replace('\n', "\ndata: ");
                pieces(vec![format!("data: {lines}\n\n")], false)
            }
            ("empty", _) => json_answer(format!("[{}]", said("before"))),
            ("GET", "-") => pieces(vec![format!("id: e\ndata: [{},1]\n\n", said("own"))], false),
            _ => usual(&asked),
        }
    })
    .await;
    let mut link = initialized(&remote).await;
    assert_eq!(told(&mut link).await, r#"- {"jsonrpc":"2.0","method":"own"}"#);
    for (id, method) in [(1, "whole"), (2, "streamed"), (3, "refused")] {
        link.to.send(request(id, method, json!({}))).await.unwrap();
        let expected = [
            format!(r#"{id} {{"jsonrpc":"2.0","method":"before"}}"#),
            format!(r#"{id} {{"jsonrpc":"2.0","id":{id},"result":{{"n":1}}}}"#),
            r#"- {"jsonrpc":"2.0","method":"after"}"#.to_owned(),
        ];
        for expected in expected {
            assert_eq!(told(&mut link).await, expected, "{method}");
        }
    }
    // The caller of a direct request receives the batch on the link, in order.
    log.wait_for("GET").await;
    let answering = link.direct.send(request(4, "whole", json!({})), None).ok().unwrap();
    assert!(answering.await.is_none());
    assert!(told(&mut link).await.contains("before"));
    assert!(told(&mut link).await.starts_with(r#"4 {"jsonrpc":"2.0","id":4"#));
    assert!(told(&mut link).await.contains("after"));
    // A batch without the response still answers the request, with an error.
    link.to.send(request(5, "empty", json!({}))).await.unwrap();
    assert!(told(&mut link).await.contains("before"));
    let failed = told(&mut link).await;
    assert!(failed.contains("the server's batch has no answer to this request"), "{failed}");
}

#[tokio::test]
async fn an_answer_whose_stream_broke_is_fetched() {
    let (remote, log) =
        serve(async |asked: Asked| match (asked.what().as_str(), asked.header("last-event-id")) {
            ("tools/call", _) => pieces(vec!["retry: 20\nid: c1\ndata:\n\n".to_owned()], true),
            ("GET", "c1") => {
                let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"late":true}}"#;
                pieces(vec![format!("id: c2\ndata: {answer}\n\n")], false)
            }
            _ => usual(&asked),
        })
        .await;
    let mut link = initialized(&remote).await;
    link.to.send(request(1, "tools/call", json!({"name": "a"}))).await.unwrap();
    assert_eq!(told(&mut link).await, r#"1 {"jsonrpc":"2.0","id":1,"result":{"late":true}}"#);
    let calls = log.what().iter().filter(|what| *what == "tools/call").count();
    assert_eq!(calls, 1, "a call is never made twice");
}

#[tokio::test]
async fn fetching_an_answer_has_an_end() {
    let (remote, log) =
        serve(async |asked: Asked| match (asked.what().as_str(), asked.header("last-event-id")) {
            ("tools/call", _) => pieces(vec!["retry: 10\nid: c1\ndata:\n\n".to_owned()], false),
            ("GET", "c1") => pieces(vec![":\n\n".to_owned()], false),
            _ => usual(&asked),
        })
        .await;
    let mut link = initialized(&remote).await;
    link.to.send(request(1, "tools/call", json!({"name": "a"}))).await.unwrap();
    insta::assert_snapshot!(told(&mut link).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's stream ended before the answer","data":{"dev.answerback/link":"broken"}}}"#);
    let fetches = log.all().iter().filter(|asked| asked.header("last-event-id") == "c1").count();
    assert_eq!(fetches, 5);
}

#[tokio::test]
async fn a_session_that_is_gone_ends_the_link() {
    let (remote, log) = serve(async |asked: Asked| {
        if asked.what() == "tools/list" {
            return plain(
                404,
                "application/json",
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}"#,
            );
        }
        usual(&asked)
    })
    .await;
    let mut link = initialized(&remote).await;
    link.to.send(request(1, "tools/list", json!({}))).await.unwrap();
    ended(&mut link).await;
    assert!(link.to.is_closed());
    assert!(!log.what().contains(&"DELETE".to_owned()));
}

#[tokio::test]
async fn a_request_that_is_given_up_is_told_and_not_answered_by_us() {
    let (remote, log) = serve(async |asked: Asked| {
        if asked.what() == "tools/call" {
            // A server that received a cancellation ends the stream without a response.
            return pieces((0..30).map(|_| ":\n\n".to_owned()).collect(), false);
        }
        usual(&asked)
    })
    .await;
    let mut link = initialized(&remote).await;
    link.to.send(request(1, "tools/call", json!({"name": "a"}))).await.unwrap();
    log.wait_for("tools/call").await;
    link.to.send(notification("notifications/cancelled", json!({"requestId": 1.0}))).await.unwrap();
    log.wait_for("notifications/cancelled").await;
    drop(link.to);
    assert!(link.from.recv().await.is_none());
}

#[tokio::test]
async fn a_server_that_does_not_let_go_is_left() {
    let (remote, log) = serve(async |asked: Asked| {
        if asked.what() == "DELETE" {
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        usual(&asked)
    })
    .await;
    let Link { to, mut from, .. } = initialized(&remote).await;
    drop(to);
    assert!(tokio::time::timeout(Duration::from_secs(8), from.recv()).await.unwrap().is_none());
    assert_eq!(log.wait_for("DELETE").await.header("mcp-session-id"), "s-1");
}
