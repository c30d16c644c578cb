//! Connects the load client to a server: over HTTP with one connection per session, or over the pipes of a process.

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

/// The protocol revision that every peer supports.
pub(crate) const REVISION: &str = "2025-11-25";
/// The limit for a response, in bytes.
const MAX_RESPONSE: usize = 16 << 20;

/// Describes where a session connects to.
#[derive(Clone)]
pub(crate) enum Endpoint {
    Http { uri: Uri, token: Option<String> },
    Stdio(Arc<Pipes>),
}

/// Holds a connection to one server.
pub(crate) enum Link {
    Http(Box<Http>),
    Stdio(Arc<Pipes>),
}

impl Link {
    pub(crate) fn open(endpoint: &Endpoint) -> anyhow::Result<Self> {
        Ok(match endpoint {
            Endpoint::Http { uri, token } => {
                Self::Http(Http::new(uri.clone(), token.as_deref())?.into())
            }
            Endpoint::Stdio(pipes) => Self::Stdio(Arc::clone(pipes)),
        })
    }

    /// Sends a request and returns the response unchanged: JSON, or an event stream that contains it.
    pub(crate) async fn ask(&self, id: u64, message: String) -> anyhow::Result<Bytes> {
        match self {
            Self::Http(http) => http.post(message).await,
            Self::Stdio(pipes) => pipes.ask(id, message).await,
        }
    }

    /// Sends a message that has no response.
    pub(crate) async fn notify(&self, message: String) -> anyhow::Result<()> {
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
    /// The session id, which the first response sets.
    session: Mutex<Option<HeaderValue>>,
}

impl Http {
    fn new(uri: Uri, token: Option<&str>) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // Each session has its own client, so that no two sessions share a connection.
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let authorization = token.map(|it| HeaderValue::try_from(format!("Bearer {it}")));
        let authorization =
            authorization.transpose().context("the token is not a valid header value")?;
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
        let body = match Limited::new(response.into_body(), MAX_RESPONSE).collect().await {
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

/// Holds the standard input and output of a server. All workers share them, because a server on pipes has one client.
pub(crate) struct Pipes {
    input: tokio::sync::Mutex<ChildStdin>,
    pending: Arc<PendingResponses>,
}

/// Maps the id of a request to its waiting caller.
#[derive(Default)]
struct PendingResponses(Mutex<HashMap<u64, oneshot::Sender<Bytes>>>);

impl PendingResponses {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipes {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> Arc<Self> {
        let pending = Arc::<PendingResponses>::default();
        tokio::spawn(dispatch_responses(output, Arc::clone(&pending)));
        Arc::new(Self { input: input.into(), pending })
    }

    async fn ask(&self, id: u64, message: String) -> anyhow::Result<Bytes> {
        let (sender, receiver) = oneshot::channel();
        self.pending.lock().insert(id, sender);
        self.send(message).await?;
        receiver.await.context("the server closed its output")
    }

    async fn send(&self, mut message: String) -> anyhow::Result<()> {
        message.push('\n');
        let mut input = self.input.lock().await;
        input.write_all(message.as_bytes()).await?;
        Ok(input.flush().await?)
    }
}

/// Sends each response to the caller that waits for it.
async fn dispatch_responses(output: ChildStdout, pending: Arc<PendingResponses>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 && line.len() <= MAX_RESPONSE => {}
            // Dropping the senders reports the end to all waiting callers.
            _ => return pending.lock().clear(),
        }
        let id = serde_json::from_slice::<Value>(&line).ok().and_then(|it| it.get("id")?.as_u64());
        if let Some(sender) = id.and_then(|id| pending.lock().remove(&id)) {
            // The caller of a call that timed out is gone.
            let _ = sender.send(line.into());
        }
    }
}

/// Returns the response with this id from JSON or from an event stream.
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
