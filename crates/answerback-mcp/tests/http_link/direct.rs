//! Tests requests that bypass the queues of a link.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use answerback_mcp::era::{EraCache, bridge_link};
use answerback_mcp::link::{
    Link, Remote, Restart, StartedServer, StreamState, UpstreamHealth, supervise,
};
use serde_json::json;

use super::legacy::{initialized, usual};
use super::server::*;

fn call(id: u32) -> answerback_mcp::wire::Message {
    request(id, "tools/call", json!({"name": "a"}))
}

/// Returns a link whose server has accepted `notifications/initialized`.
async fn greeted(remote: &Remote, log: &Log) -> Link {
    let link = initialized(remote).await;
    // The event stream is opened after that notification.
    log.wait_for("GET").await;
    link
}

#[tokio::test]
async fn an_answer_that_is_one_message_comes_to_whoever_asked() {
    let (remote, log) = serve(async |asked: Asked| usual(&asked)).await;
    let early = remote.connect("up", MAX);
    let returned = early.direct.send(call(7), None).err().unwrap();
    assert_eq!(returned.text(), call(7).text(), "nobody greeted the server");
    let modern =
        json!({"name": "a", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert!(
        early.direct.send(request(8, "tools/call", modern), None).is_ok(),
        "modern ones need no greeting"
    );

    let mut link = greeted(&remote, &log).await;
    let answering = link.direct.send(call(1), None).ok().unwrap();
    assert!(link.direct.send(call(1), None).is_err(), "an id is under way once");
    let answer = answering.await.unwrap();
    assert_eq!(answer.text(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(link.direct.send(call(1), None).is_ok(), "and can be used again");
    link.to.send(request(2, "ping", json!({}))).await.unwrap();
    assert_eq!(told(&mut link).await, r#"2 {"jsonrpc":"2.0","id":2,"result":{}}"#);
}

/// The server ends the stream more often than a broken stream is resumed. Each stream contains a new event, so
/// the attempts start over.
#[tokio::test]
async fn a_server_that_lets_us_go_is_asked_again_until_its_answer_is_there() {
    const TIMES: usize = 8;
    let times = Arc::new(AtomicUsize::new(0));
    let (remote, log) = serve(move |asked: Asked| {
        let times = times.clone();
        async move {
            let last = asked.header("last-event-id").to_owned();
            match asked.what().as_str() {
                "tools/call" => pieces(vec!["retry: 10\nid: p0\ndata:\n\n".to_owned()], false),
                "GET" if last.starts_with('p') => {
                    let time = times.fetch_add(1, Ordering::SeqCst) + 1;
                    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"times":8}}"#;
                    let data = if time < TIMES { "" } else { answer };
                    pieces(vec![format!("id: p{time}\ndata: {data}\n\n")], false)
                }
                _ => usual(&asked),
            }
        }
    })
    .await;
    let mut link = greeted(&remote, &log).await;
    let flows: Arc<Mutex<Vec<StreamState>>> = Arc::default();
    let heard = flows.clone();
    let watch = Box::new(move |flow| heard.lock().unwrap().push(flow));
    let answering = link.direct.send(call(1), Some(watch)).ok().unwrap();
    assert!(answering.await.is_none());
    let answer = next(&mut link).await;
    assert_eq!(answer.message.text(), r#"{"jsonrpc":"2.0","id":1,"result":{"times":8}}"#);
    assert!(answer.is_streamed);
    let mut expected = vec![StreamState::Begun];
    expected.extend([StreamState::Paused; TIMES]);
    assert_eq!(*flows.lock().unwrap(), expected);
    let all = log.all();
    let fetches = all.iter().filter(|asked| asked.header("last-event-id").starts_with('p'));
    assert_eq!(fetches.count(), TIMES);
}

#[tokio::test]
async fn what_a_stream_has_comes_on_the_link_in_its_order() {
    let (remote, log) = serve(async |asked: Asked| match asked.what().as_str() {
        "tools/call" => {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
            let answer = asked.result(json!({}));
            pieces(vec![format!("data: {progress}\n\n"), format!("data: {answer}\n\n")], false)
        }
        _ => usual(&asked),
    })
    .await;
    let mut link = greeted(&remote, &log).await;
    let answering = link.direct.send(call(1), None).ok().unwrap();
    assert!(answering.await.is_none());
    assert_eq!(told(&mut link).await, r#"1 {"jsonrpc":"2.0","method":"notifications/progress"}"#);
    assert_eq!(told(&mut link).await, r#"1 {"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test]
async fn a_server_is_told_what_nobody_waits_for() {
    let (remote, log) = serve(async |asked: Asked| match asked.what().as_str() {
        "tools/call" => std::future::pending().await,
        _ => usual(&asked),
    })
    .await;
    let link = greeted(&remote, &log).await;
    let answering = tokio::spawn(link.direct.send(call(1), None).ok().unwrap());
    log.wait_for("tools/call").await;
    answering.abort();
    assert!(answering.await.unwrap_err().is_cancelled());
    for id in [9, 1] {
        let cancelled = notification("notifications/cancelled", json!({"requestId": id}));
        link.to.send(cancelled).await.unwrap();
    }
    let cancelled = log.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled.message()["params"]["requestId"], 1, "the other was never under way");
}

#[tokio::test]
async fn a_link_ends_when_what_was_asked_directly_is_answered() {
    let (release, held) = tokio::sync::watch::channel(false);
    let (remote, log) = serve(move |asked: Asked| {
        let mut held = held.clone();
        async move {
            if asked.what() == "tools/call" {
                held.wait_for(|released| *released).await.unwrap();
            }
            usual(&asked)
        }
    })
    .await;
    let Link { to, mut from, direct } = greeted(&remote, &log).await;
    let answering = tokio::spawn(direct.send(call(1), None).ok().unwrap());
    log.wait_for("tools/call").await;
    drop(to);
    release.send_replace(true);
    assert!(answering.await.unwrap().is_some());
    assert!(from.recv().await.is_none());
    assert_eq!(log.what().last().map(String::as_str), Some("DELETE"));
}

#[tokio::test]
async fn the_way_is_closed_while_the_server_is_made_anew() {
    let (remote, log) = serve(async |asked: Asked| match asked.what().as_str() {
        "tools/call" => empty(404),
        _ => usual(&asked),
    })
    .await;
    let health = Arc::new(UpstreamHealth::default());
    let open = move || {
        let link = bridge_link(remote.connect("up", MAX), EraCache::default());
        Ok(StartedServer { link, child: None })
    };
    let mut link = supervise("up", open, health.clone(), Restart::Always);
    assert!(link.direct.send(call(1), None).is_err());
    link.to.send(request(0, "initialize", json!({}))).await.unwrap();
    next(&mut link).await;
    link.to.send(notification("notifications/initialized", json!({}))).await.unwrap();
    log.wait_for("GET").await;
    let answer = link.direct.send(call(1), None).ok().unwrap().await.unwrap();
    insta::assert_snapshot!(answer.text(), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server does not know the session any more","data":{"dev.answerback/link":"broken"}}}"#);
    assert!(!health.is_up());
    // The restarted session is initialized before it receives anything else.
    let changed = next(&mut link).await.message;
    assert!(changed.text().contains("list_changed"), "{}", changed.text());
    let greetings = log.what().iter().filter(|what| *what == "initialize").count();
    assert_eq!(greetings, 2);
}
