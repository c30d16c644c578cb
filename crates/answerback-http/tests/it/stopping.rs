use std::convert::Infallible;
use std::time::{Duration, Instant};

use answerback_http::{
    ListenSettings, Principal, Routes, Scope, ShutdownSignal, TokenTable, Tokens,
};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::routing::get;
use http_body_util::channel::{Channel, Sender};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::client::{TestServer, read_to_end, read_until};

/// Returns a sender and a body that streams what the sender sends.
fn stream() -> (Sender<Bytes, Infallible>, Body) {
    let (sender, channel) = Channel::new(4);
    (sender, Body::new(channel))
}

/// Defines one stream that ends when the server begins to stop, and one that never ends.
fn streams() -> Routes {
    let polite = |Extension(closing): Extension<ShutdownSignal>| async move {
        let (mut sender, body) = stream();
        tokio::spawn(async move {
            let _ = sender.send_data("data: one\n\n".into()).await;
            closing.received().await;
            let _ = sender.send_data("data: last\n\n".into()).await;
        });
        body
    };
    let stubborn = || async {
        let (mut sender, body) = stream();
        tokio::spawn(async move {
            let _ = sender.send_data("data: one\n\n".into()).await;
            std::future::pending::<()>().await;
        });
        body
    };
    Routes::new().route("/api/polite", Scope::Read, get(polite)).route(
        "/api/stubborn",
        Scope::Read,
        get(stubborn),
    )
}

async fn open(served: &TestServer, path: &str) -> TcpStream {
    let mut stream = served.connect().await;
    let (address, token) = (served.address, served.token.text());
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_stream_that_watches_the_signal_ends_in_order() {
    // The grace period is longer than the test's time limit, so a cut connection fails the test.
    let settings = ListenSettings::default().with_shutdown_grace(Duration::from_hours(1));
    let served = TestServer::with(streams(), settings).await;
    let mut stream = open(&served, "/api/polite").await;
    // The first event arrives before the next one exists, so responses are not buffered.
    read_until(&mut stream, "data: one").await;
    let mut idle = open(&served, "/api/name/7").await;
    read_until(&mut idle, "editor").await;
    let address = served.address;
    let stopping = served.begin_to_stop();
    let (rest, in_order) = read_to_end(&mut stream).await;
    assert!(rest.contains("data: last") && rest.ends_with("0\r\n\r\n") && in_order, "{rest:?}");
    assert_eq!(read_to_end(&mut idle).await, (String::new(), true));
    stopping.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_stream_that_ignores_the_signal_is_aborted() {
    let settings = ListenSettings::default().with_shutdown_grace(Duration::from_millis(200));
    let served = TestServer::with(streams(), settings).await;
    let mut stream = open(&served, "/api/stubborn").await;
    read_until(&mut stream, "data: one").await;
    let started = Instant::now();
    let stopping = served.begin_to_stop();
    let (rest, _) = read_to_end(&mut stream).await;
    assert!(
        !rest.contains("0\r\n\r\n"),
        "a stream that was cut does not look like one that ended: {rest:?}"
    );
    stopping.await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn the_head_timeout_does_not_end_a_stream() {
    let settings = ListenSettings::default().with_header_timeout(Duration::from_millis(50));
    let served = TestServer::with(streams(), settings).await;
    let mut stream = open(&served, "/api/polite").await;
    read_until(&mut stream, "data: one").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stopping = served.begin_to_stop();
    let (rest, _) = read_to_end(&mut stream).await;
    assert!(rest.contains("data: last"), "{rest:?}");
    stopping.await.unwrap();
}

#[tokio::test]
async fn revoking_a_token_ends_its_streams() {
    let (table, known) = watch::channel(None::<TokenTable>);
    let follow = move |Extension(principal): Extension<Principal>| {
        let table = known.borrow().clone();
        async move {
            let (mut sender, body) = stream();
            tokio::spawn(async move {
                let _ = sender.send_data("data: one\n\n".into()).await;
                table.unwrap().revoked(&principal).await;
            });
            body
        }
    };
    let routes = Routes::new().route("/api/follow", Scope::Read, get(follow));
    let served = TestServer::with(routes, ListenSettings::default()).await;
    table.send_replace(Some(served.table.clone()));
    let mut stream = open(&served, "/api/follow").await;
    read_until(&mut stream, "data: one").await;
    // The token has other scopes now, so the stream ends.
    served.table.replace(Tokens::new().with("editor", &served.token, Scope::Ingest).unwrap());
    read_until(&mut stream, "0\r\n\r\n").await;
    served.stop().await;
}
