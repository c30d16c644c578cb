//! Tests how connections are reused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use answerback_mcp::link::Link;
use answerback_mcp::wire::Message;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::server::*;

/// Returns a call that needs no session.
fn call(id: u32) -> Message {
    let modern =
        json!({"name": "a", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    request(id, "tools/call", modern)
}

async fn answered(link: &Link, id: u32) -> String {
    link.direct.send(call(id), None).ok().unwrap().await.unwrap().text().to_owned()
}

#[tokio::test]
async fn one_after_the_other_needs_one_connection_and_as_many_at_once_as_many() {
    let (remote, log) = serve(async |asked: Asked| json_answer(asked.result(json!({})))).await;
    let link = remote.connect("up", MAX);
    for id in 0..20 {
        answered(&link, id).await;
    }
    assert_eq!(log.connections(), 1);
    for _ in 0..3 {
        let together = (0..8).map(|id| link.direct.send(call(id), None).ok().unwrap());
        let together: Vec<_> = together.map(tokio::spawn).collect();
        for answer in together {
            assert!(answer.await.unwrap().is_some());
        }
    }
    assert!((2..=8).contains(&log.connections()), "{}", log.connections());
    let host = log.all()[0].header("host").to_owned();
    assert_eq!(format!("http://{host}/mcp"), remote.url());
}

#[tokio::test]
async fn a_request_is_not_lost_to_a_connection_that_the_server_closed_meanwhile() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&connections);
    // The server reports on a second connection when it has closed the first. Once that byte arrives, the first
    // connection's end has arrived as well.
    let side = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut hears = TcpStream::connect(side.local_addr().unwrap()).await.unwrap();
    let (mut tells, _) = side.accept().await.unwrap();
    // The server answers one request per connection and then closes it without announcing that.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            let mut asked = vec![0; 4096];
            let read = stream.read(&mut asked).await.unwrap();
            let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
            let body = asked.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap();
            let message: serde_json::Value = serde_json::from_str(&body).unwrap();
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}).to_string();
            let length = answer.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            drop(stream);
            tells.write_all(b".").await.unwrap();
        }
    });
    let remote = remote(&url);
    let link = remote.connect("up", MAX);
    for id in 0..5 {
        let answer = answered(&link, id).await;
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        // The connection's end follows the response. A client can detect it only after it has arrived.
        hears.read_exact(&mut [0]).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn an_answer_to_another_request_is_the_last_on_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    // After the first response on a connection, the server is one response behind.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut late = None;
                let mut asked = vec![0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut asked).await {
                    let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
                    let (_, body) = asked.split_once("\r\n\r\n").unwrap();
                    let message: serde_json::Value = serde_json::from_str(body).unwrap();
                    let answer =
                        json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}).to_string();
                    let said = late.replace(answer.clone()).unwrap_or(answer);
                    let head =
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
                    let text = format!("{head}: {}\r\n\r\n{said}", said.len());
                    if stream.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let link = remote(&url).connect("up", MAX);
    let told = async |id| answered(&link, id).await.contains("\"result\"");
    let mut answers = Vec::new();
    for id in 0..5 {
        answers.push(told(id).await);
    }
    // On every second request the reused connection is one response behind. The other requests are not affected.
    assert_eq!(answers, [true, false, true, false, true]);
}
