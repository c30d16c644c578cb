//! How the load client reaches a server: over HTTP, a connection a session, or through the pipes of a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;

/// The revision of the protocol that every peer speaks.
pub(crate) const REVISION: &str = "2025-11-25";
/// A response larger than this is a fault.
const LARGEST: usize = 16 << 20;

/// Where a session begins.
#[derive(Clone)]
pub(crate) enum Door {
    Http { uri: Uri, token: Option<String> },
    Stdio(Arc<Pipes>),
}

/// A way to one server.
pub(crate) enum Link {
    Http(Box<Http>),
    Stdio(Arc<Pipes>),
}

impl Link {
    pub(crate) fn through(door: &Door) -> anyhow::Result<Self> {
        Ok(match door {
            Door::Http { uri, token } => {
                Self::Http(Http::new(uri.clone(), token.as_deref())?.into())
            }
            Door::Stdio(pipes) => Self::Stdio(Arc::clone(pipes)),
        })
    }

    /// Sends a request and gives the response as it came: JSON, or the events that hold it.
    pub(crate) async fn ask(&self, id: u64, message: String) -> anyhow::Result<Bytes> {
        match self {
            Self::Http(http) => http.post(message).await,
            Self::Stdio(pipes) => pipes.ask(id, message).await,
        }
    }

    /// Sends what has no answer.
    pub(crate) async fn tell(&self, message: String) -> anyhow::Result<()> {
        match self {
            Self::Http(http) => http.post(message).await.map(drop),
            Self::Stdio(pipes) => pipes.send(message).await,
        }
    }
}

pub(crate) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    authorization: Option<HeaderValue>,
    /// What the server called this session; set by the first response.
    session: Mutex<Option<HeaderValue>>,
}

impl Http {
    fn new(uri: Uri, token: Option<&str>) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // A client of its own, so that no two sessions share a connection.
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let authorization = token.map(|it| HeaderValue::try_from(format!("Bearer {it}")));
        let authorization = authorization.transpose().context("the token is no header value")?;
        Ok(Self { client, uri, authorization, session: Mutex::default() })
    }

    async fn post(&self, message: String) -> anyhow::Result<Bytes> {
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", REVISION);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(session) = self.session().clone() {
            request = request.header("mcp-session-id", session);
        }
        let response = self.client.request(request.body(Full::from(message))?).await?;
        let status = response.status();
        if let Some(session) = response.headers().get("mcp-session-id") {
            *self.session() = Some(session.clone());
        }
        let body = match Limited::new(response.into_body(), LARGEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => bail!("the response broke off: {error}"),
        };
        let is_good = status == StatusCode::OK || status == StatusCode::ACCEPTED;
        ensure!(is_good, "status {status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Option<HeaderValue>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The standard input and output of a server, shared by all that ask it: a server on pipes has one client.
pub(crate) struct Pipes {
    input: tokio::sync::Mutex<ChildStdin>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting(Mutex<HashMap<u64, oneshot::Sender<Bytes>>>);

impl Waiting {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipes {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> Arc<Self> {
        let waiting = Arc::<Waiting>::default();
        tokio::spawn(sort(output, Arc::clone(&waiting)));
        Arc::new(Self { input: input.into(), waiting })
    }

    async fn ask(&self, id: u64, message: String) -> anyhow::Result<Bytes> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        self.send(message).await?;
        receiver.await.context("the server went away")
    }

    async fn send(&self, mut message: String) -> anyhow::Result<()> {
        message.push('\n');
        let mut input = self.input.lock().await;
        input.write_all(message.as_bytes()).await?;
        Ok(input.flush().await?)
    }
}

/// Gives each response to whoever asked for it.
async fn sort(output: ChildStdout, waiting: Arc<Waiting>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 && line.len() <= LARGEST => {}
            // Whoever still waits hears of it.
            _ => return waiting.lock().clear(),
        }
        let id = serde_json::from_slice::<Value>(&line).ok().and_then(|it| it.get("id")?.as_u64());
        if let Some(sender) = id.and_then(|id| waiting.lock().remove(&id)) {
            // Nobody waits any more for a call that was given up.
            let _ = sender.send(line.into());
        }
    }
}

/// The response with this id, of JSON or of events.
pub(crate) fn response(body: &[u8], id: u64) -> anyhow::Result<Value> {
    if let Ok(whole) = serde_json::from_slice(body) {
        return Ok(whole);
    }
    let text = std::str::from_utf8(body).context("a response that is not UTF-8")?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok())
        .find(|message| message.get("id").and_then(Value::as_u64) == Some(id))
        .with_context(|| format!("no response in {text:?}"))
}
