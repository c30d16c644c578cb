//! Implements a test server that responds as a test decides and logs its requests.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use answerback_mcp::link::{Incoming, Link, Remote, Timeouts};
use answerback_mcp::wire::Message;
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The size limit for a message in tests, in bytes.
pub(crate) const MAX: usize = 4096;

pub(crate) type Body = BoxBody<Bytes, std::io::Error>;
pub(crate) type Answer = Response<Body>;

/// Holds a request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Asked {
    /// Returns a header, or "-" if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("-", |value| value.to_str().unwrap())
    }

    /// Returns the body as JSON, or null.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns the method of the message, or the HTTP method if there is no message.
    pub(crate) fn what(&self) -> String {
        let message = self.message();
        message["method"].as_str().map_or_else(|| self.method.to_string(), str::to_owned)
    }

    /// Returns the response to this request with the given result.
    pub(crate) fn result(&self, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.message()["id"], "result": result}).to_string()
    }
}

/// Logs the requests and counts the connections of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Log {
    pub(crate) fn all(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the methods of all requests, in order.
    pub(crate) fn what(&self) -> Vec<String> {
        self.all().iter().map(Asked::what).collect()
    }

    /// Waits for the first request with this method and returns it.
    pub(crate) async fn wait_for(&self, what: &str) -> Asked {
        for _ in 0..500 {
            if let Some(asked) = self.all().into_iter().find(|asked| asked.what() == what) {
                return asked;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what} never came, only {:?}", self.what());
    }
}

/// Starts a server whose responses a function creates.
pub(crate) async fn serve<F>(answer: impl Fn(Asked) -> F + Send + Sync + 'static) -> (Remote, Log)
where
    F: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let log = Log::default();
    let (seen, answer) = (log.clone(), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            seen.connections.fetch_add(1, Ordering::SeqCst);
            let (seen, answer) = (seen.clone(), answer.clone());
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let (seen, answer) = (seen.clone(), answer.clone());
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let body = String::from_utf8(body.to_vec()).unwrap();
                    let asked = Asked { method: parts.method, headers: parts.headers, body };
                    seen.asked.lock().unwrap().push(asked.clone());
                    Ok::<_, Infallible>(answer(asked).await)
                }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(serving);
        }
    });
    (remote(&url), log)
}

/// Creates a remote server with short timeouts.
pub(crate) fn remote(url: &str) -> Remote {
    let (connect, idle) = (Duration::from_secs(5), Duration::from_secs(2));
    Remote::new(url).unwrap().with_timeouts(Timeouts { connect, idle })
}

/// Returns a response with this status, type and body.
pub(crate) fn plain(status: u16, kind: &str, body: impl Into<Bytes>) -> Answer {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed();
    let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    response.header(CONTENT_TYPE, kind).body(body).unwrap()
}

/// Returns a response that is one message.
pub(crate) fn json_answer(text: impl Into<Bytes>) -> Answer {
    plain(200, "application/json; charset=utf-8", text)
}

/// Returns a response without a body.
pub(crate) fn empty(status: u16) -> Answer {
    plain(status, "text/plain", "")
}

/// Returns an event stream and its sender.
pub(crate) fn stream() -> (Sender<Bytes, std::io::Error>, Answer) {
    let (sender, body) = Channel::new(1);
    let response = Response::builder().header(CONTENT_TYPE, "text/event-stream");
    (sender, response.body(body.boxed()).unwrap())
}

/// Returns a stream of these pieces, which then ends or breaks.
pub(crate) fn pieces(pieces: Vec<String>, is_broken: bool) -> Answer {
    let (mut sender, answer) = stream();
    tokio::spawn(async move {
        for piece in pieces {
            if sender.send_data(piece.into()).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if is_broken {
            sender.abort(std::io::Error::other("cut"));
        }
    });
    answer
}

/// Creates a request.
pub(crate) fn request(id: u32, method: &str, params: Value) -> Message {
    let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    Message::read(text.to_string()).unwrap()
}

/// Creates a notification.
pub(crate) fn notification(method: &str, params: Value) -> Message {
    Message::notification(method, &params)
}

/// Returns the server's next message, and panics if it does not arrive in time.
pub(crate) async fn next(link: &mut Link) -> Incoming {
    let next = tokio::time::timeout(Duration::from_secs(10), link.from.recv());
    next.await.expect("nothing came").expect("the link ended")
}

/// Returns the server's next message with the id of the request that it belongs to.
pub(crate) async fn told(link: &mut Link) -> String {
    let Incoming { message, about, .. } = next(link).await;
    format!("{} {}", about.as_ref().map_or("-", |id| id.as_json()), message.text())
}

/// Waits for the end of a link and panics if another message arrives.
pub(crate) async fn ended(link: &mut Link) {
    let next = tokio::time::timeout(Duration::from_secs(10), link.from.recv());
    let next = next.await.expect("the link did not end");
    assert!(next.is_none(), "{next:?}");
}
