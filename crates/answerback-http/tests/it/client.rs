//! A server with a few routes, and a client that sends requests exactly as given.

use std::net::SocketAddr;
use std::time::Duration;

use answerback_http::{
    BearerToken, Guard, HealthChecks, HttpListener, ListenSettings, Principal, Routes, Scope,
    TokenTable, Tokens, serve,
};
use axum::Extension;
use axum::body::Bytes;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The time limit for every wait, so that a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) table: TokenTable,
    /// A token with the scopes `read` and `ingest`.
    pub(crate) token: BearerToken,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl TestServer {
    /// Starts a server with these routes in addition to those of every test.
    pub(crate) async fn with(routes: Routes, settings: ListenSettings) -> Self {
        Self::guarded(routes, settings, |guard| guard).await
    }

    pub(crate) async fn guarded(
        routes: Routes,
        settings: ListenSettings,
        adjust: impl FnOnce(Guard) -> Guard,
    ) -> Self {
        let token = BearerToken::generate().unwrap();
        let scopes = [Scope::Read, Scope::Ingest];
        let table = TokenTable::new(Tokens::new().with("editor", &token, scopes).unwrap());
        let listener = HttpListener::bind(settings).await.unwrap();
        let address = listener.address();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let guard = adjust(Guard::new(table.clone()));
        let routes = routes.merge(routes_of_every_test()).merge(HealthChecks::new().routes());
        let server = tokio::spawn(serve(listener, routes, guard, shutdown));
        Self { address, table, token, stop, server }
    }

    pub(crate) async fn new() -> Self {
        Self::with(Routes::new(), ListenSettings::default()).await
    }

    /// Sends a request with the right `Host` and `Authorization`, and further header lines.
    pub(crate) async fn ask(&self, request: &str, lines: &[&str]) -> Answer {
        let host = format!("Host: {}", self.address);
        let authorization = format!("Authorization: Bearer {}", self.token.text());
        let lines = [&[host.as_str(), authorization.as_str()], lines].concat();
        self.send(request, &lines, "").await
    }

    /// Sends a request with exactly these header lines and this body.
    pub(crate) async fn send(&self, request: &str, lines: &[&str], body: &str) -> Answer {
        let mut stream = self.connect().await;
        let lines = lines.join("\r\n");
        let text = format!("{request} HTTP/1.1\r\n{lines}\r\nConnection: close\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        Answer::parse(&String::from_utf8(answer).unwrap())
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Stops the server and waits until it has stopped.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(PATIENCE, self.server).await.unwrap().unwrap();
    }

    /// Begins to stop the server and returns the task to wait for.
    pub(crate) fn begin_to_stop(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.server
    }
}

fn routes_of_every_test() -> Routes {
    let name =
        |Extension(principal): Extension<Principal>| async move { principal.name().to_owned() };
    let size = |body: Bytes| async move { body.len().to_string() };
    Routes::with_body_limit(1000)
        .route("/api/name/{id}", Scope::Read, get(name))
        .route("/api/size", Scope::Ingest, post(size))
        .route("/api/decide", Scope::Decide, post(|| async { "decided" }))
        .public("/page", get(|| async { "a page" }).post(|| async { "a form" }))
}

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or(0), head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Returns the code of the ATDF error in the body, which must be one.
    pub(crate) fn code(&self) -> String {
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        let response =
            answerback::contract::atdf::EnrichedResponse::from_document(&document).unwrap();
        assert!(self.has("content-type: application/json"), "{self:?}");
        response.code().unwrap().to_owned()
    }

    /// Returns status and body of a success, or status and code of an error.
    pub(crate) fn told(&self) -> String {
        let said = if self.status < 400 { self.body.clone() } else { self.code() };
        format!("{} {said}", self.status)
    }

    pub(crate) fn has(&self, line: &str) -> bool {
        self.head.lines().any(|other| other == line)
    }
}

/// Reads until `text` has arrived.
pub(crate) async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let mut bytes = [0; 1024];
        let count = timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert_ne!(count, 0, "{text:?} never came after {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    seen
}

/// Reads until the server closes the connection. The second value is true if it closed without a reset.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> (String, bool) {
    let mut bytes = Vec::new();
    let ended = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    (String::from_utf8_lossy(&bytes).into_owned(), ended.is_ok())
}
