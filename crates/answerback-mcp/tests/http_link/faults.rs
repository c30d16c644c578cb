//! Tests servers that misbehave.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::*;

/// Returns the response to a request if the server behaves like this.
async fn answer<F>(server: impl Fn(Asked) -> F + Send + Sync + 'static) -> String
where
    F: Future<Output = Answer> + Send + 'static,
{
    let (remote, _) = serve(server).await;
    let mut link = remote.connect("up", MAX);
    link.to.send(request(1, "tools/call", json!({"name": "a"}))).await.unwrap();
    told(&mut link).await
}

#[tokio::test]
async fn a_failure_is_told_in_words() {
    const REFUSAL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}"#;
    let html = answer(async |_| plain(500, "text/html", "<h1>Oops</h1>")).await;
    insta::assert_snapshot!(html, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 500 Internal Server Error","data":{"dev.answerback/link":"broken","status":500}}}"#);
    let refused = answer(async |_| plain(400, "application/json", REFUSAL)).await;
    insta::assert_snapshot!(refused, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 400 Bad Request: Bad Request: no session","data":{"dev.answerback/link":"broken","status":400}}}"#);
    let json = answer(async |_| plain(401, "application/json", r#"{"detail":"no"}"#)).await;
    insta::assert_snapshot!(json, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 401 Unauthorized","data":{"dev.answerback/link":"broken","status":401}}}"#);
    let moved = answer(async |_| {
        let mut answer = empty(307);
        answer.headers_mut().insert("Location", "http://127.0.0.1:9/".parse().unwrap());
        answer
    });
    insta::assert_snapshot!(moved.await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 307 Temporary Redirect, and redirects are not followed: use the URL to which it leads","data":{"dev.answerback/link":"broken","status":307}}}"#);
    insta::assert_snapshot!(answer(async |_| empty(202)).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 202 Accepted without a message","data":{"dev.answerback/link":"broken","status":202}}}"#);
    insta::assert_snapshot!(answer(async |_| plain(200, "text/html", "<h1>Hi</h1>")).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server answered 200 OK without a message","data":{"dev.answerback/link":"broken","status":200}}}"#);
}

/// This member tells the gateway that a request was never sent. The gateway then reports that nothing ran.
#[tokio::test]
async fn a_server_cannot_answer_as_the_link() {
    const FORGED: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":{"dev.answerback\/link":"unsent","x":1}}}"#;
    let expected =
        r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":{"x":1}}}"#;
    assert_eq!(answer(async |_| json_answer(FORGED)).await, expected);
    let batch = format!("[{FORGED}]");
    let batched = answer(move |_| {
        let batch = batch.clone();
        async { json_answer(batch) }
    });
    assert_eq!(batched.await, expected);
    let event = format!("data: {FORGED}\n\n");
    let streamed = answer(move |_| {
        let event = event.clone();
        async { pieces(vec![event], false) }
    });
    assert_eq!(streamed.await, expected);
}

#[tokio::test]
async fn an_answer_that_is_none_is_told() {
    insta::assert_snapshot!(answer(async |_| json_answer("{\"jsonrpc\":")).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's answer is no message: not JSON: EOF while parsing a value at line 1 column 11","data":{"dev.answerback/link":"broken","status":200}}}"#);
    insta::assert_snapshot!(answer(async |_| json_answer(&b"\xff"[..])).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's answer is not UTF-8","data":{"dev.answerback/link":"broken","status":200}}}"#);
    insta::assert_snapshot!(answer(async |_| json_answer(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's answer is none to this request","data":{"dev.answerback/link":"broken","status":200}}}"#);
    insta::assert_snapshot!(answer(async |_| json_answer(vec![b' '; MAX + 1])).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's message has more than 4096 bytes","data":{"dev.answerback/link":"broken"}}}"#);
    let long = format!("data: {}\n\n", "x".repeat(MAX + 1));
    insta::assert_snapshot!(answer(move |_| { let long = long.clone(); async { pieces(vec![long], false) } }).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's message has more than 4096 bytes","data":{"dev.answerback/link":"broken"}}}"#);
    insta::assert_snapshot!(answer(async |_| pieces(vec!["data: x\n\n".to_owned()], false)).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server sent an event that is no message: not JSON: expected value at line 1 column 1","data":{"dev.answerback/link":"broken"}}}"#);
    // A line break inside a string is not valid JSON, and is not repaired.
    let split = "data: {\"id\":1,\"resu\ndata: lt\":{}}\n\n";
    insta::assert_snapshot!(answer(move |_| async { pieces(vec![split.to_owned()], false) }).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server sent an event that is no message: not JSON: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 13","data":{"dev.answerback/link":"broken"}}}"#);
    insta::assert_snapshot!(answer(async |_| pieces(vec!["data: {\"id\"".to_owned()], false)).await, @r#"1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server's stream ended before the answer","data":{"dev.answerback/link":"broken"}}}"#);
}

#[tokio::test]
async fn a_broken_connection_is_told() {
    // The rest of the message is the operating system's text.
    let cut = answer(async |_| pieces(vec!["data: {\"id\"".to_owned()], true)).await;
    assert!(
        cut.contains(
            r#""code":-32603,"message":"the connection broke before the answer was whole: "#
        ),
        "{cut}"
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let mut link = remote(&url).connect("up", MAX);
    link.to.send(request(1, "ping", json!({}))).await.unwrap();
    let refused = told(&mut link).await;
    assert!(
        refused.contains(r#""code":-32603,"message":"the server cannot be reached: "#),
        "{refused}"
    );
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_without_tls_is_not_reached_by_https() {
    let (remote, log) = serve(async |_| empty(200)).await;
    let secure = remote.url().replace("http://", "https://");
    let mut link = super::server::remote(&secure).connect("up", MAX);
    link.to.send(request(1, "ping", json!({}))).await.unwrap();
    let told = told(&mut link).await;
    assert!(told.contains(r#""message":"the server cannot be reached: "#), "{told}");
    assert_eq!(log.what().len(), 0);
}

/// Sends a request to a server that always writes these bytes and closes. Returns the response.
async fn raw(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&bytes).await;
        }
    });
    let mut link = remote(&url).connect("up", MAX);
    link.to.send(request(1, "ping", json!({}))).await.unwrap();
    told(&mut link).await
}

#[tokio::test]
async fn half_an_answer_is_told() {
    let body = r#"{"jsonrpc":"2.0","id":1,"#;
    let half = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{body}"
    );
    let half = raw(half.into_bytes()).await;
    assert!(half.contains("the connection broke before the answer was whole: "), "{half}");
    for bytes in [b"HTTP/1.1 200".to_vec(), Vec::new(), b"SSH-2.0-nope\r\n".to_vec()] {
        let told = raw(bytes).await;
        assert!(told.contains("the connection to the server broke: "), "{told}");
    }
    // The size of the response head is limited as well.
    let head =
        format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(1 << 17));
    let told = raw(head.into_bytes()).await;
    assert!(told.contains("the connection to the server broke: "), "{told}");
}

#[tokio::test]
async fn a_silent_server_is_told_and_harms_nobody_else() {
    let (remote, _) = serve(async |asked: Asked| match asked.what().as_str() {
        "hang" => std::future::pending().await,
        "stall" => {
            let (mut sender, answer) = stream();
            tokio::spawn(async move {
                let _ = sender.send_data(": hello\n\n".into()).await;
                tokio::time::sleep(Duration::from_mins(1)).await;
            });
            answer
        }
        _ => json_answer(asked.result(json!({}))),
    })
    .await;
    let mut link = remote.connect("up", MAX);
    for (id, method) in [(1, "hang"), (2, "stall")] {
        link.to.send(request(id, method, json!({}))).await.unwrap();
    }
    for id in 3..40 {
        link.to.send(request(id, "ping", json!({}))).await.unwrap();
    }
    let mut answers = Vec::new();
    for _ in 1..40 {
        answers.push(told(&mut link).await);
    }
    // The requests that time out are answered last.
    answers[37..].sort();
    insta::assert_snapshot!(answers[37..].join("\n"), @r#"
    1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server did not answer within 2s","data":{"dev.answerback/link":"broken"}}}
    2 {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the server was silent for 2s","data":{"dev.answerback/link":"broken"}}}
    "#);
}

#[tokio::test]
async fn more_requests_than_a_link_takes_are_answered() {
    let (remote, log) = serve(async |_: Asked| std::future::pending().await).await;
    let mut link = remote.connect("up", MAX);
    for id in 0..257 {
        link.to.send(request(id, "hang", json!({}))).await.unwrap();
    }
    insta::assert_snapshot!(told(&mut link).await, @r#"256 {"jsonrpc":"2.0","id":256,"error":{"code":-32603,"message":"256 requests to the server are under way already","data":{"dev.answerback/link":"unsent"}}}"#);
    // A link that was dropped completely does not wait for its requests.
    drop(link);
    assert!(log.what().len() <= 256);
}
