use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use answerback::contract::atdf::ErrorBuilder;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::figures::RouteMetrics;
use crate::front::{Front, PostRoute};
use crate::untrusted::{Connection, Eviction, UntrustedConnections};
use crate::{Alarm, Closing, Guard, Listener, Problem, ProblemKind, Routes, answer};

/// How many connections beyond the limit are told so at a time; what comes beyond these is closed without a word.
const MOST_REFUSED: usize = 64;
/// How long a connection that is only told so may take to say what it wants.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest head of a request. Without a bound here each connection could have several hundred kilobytes of it kept.
const HEAD_LIMIT: usize = 64 << 10;
/// How long connections that are cut have to be gone.
const CUTTING: Duration = Duration::from_secs(1);
/// How long to wait when the system gives no more connections, as when descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the routes behind the guard until `shutdown` ends; then requests have a while to end by themselves.
///
/// Bodies of answers pass as they are made: nothing is gathered and nothing times out.
pub async fn serve(
    listener: Listener,
    routes: Routes,
    guard: Guard,
    shutdown: impl Future<Output = ()>,
) {
    let (close, closing) = Closing::watched();
    let (guarded, posts) = routes.behind(guard.listening_on(listener.address()), &closing);
    // Without a word about its state, though there is none, a router builds a route's layers anew for each request.
    let guarded = guarded.with_state(());
    let settings = &listener.settings;
    let server = HttpServer {
        router: guarded,
        posts: posts.into(),
        closing,
        slots: Arc::new(Semaphore::new(settings.max_connections)),
        header_timeout: settings.header_timeout,
        refusals: Arc::new(Semaphore::new(MOST_REFUSED)),
        // Of all addresses together half, so that there is always room for who has a token.
        untrusted: UntrustedConnections::new(
            settings.max_half_open,
            settings.max_connections.div_ceil(2),
            settings.max_of_token,
        ),
    };
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = shutdown.as_mut() => break,
            accepted = listener.socket.accept() => match accepted {
                Ok((stream, peer)) => server.take(stream, peer.ip(), &mut connections),
                Err(error) => after_failed_accept(&error).await,
            },
            Some(ended) = connections.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "a handler panicked");
            },
        }
    }
    let grace = settings.shutdown_grace;
    // From here on connections are refused by the system, so that a client goes elsewhere at once.
    drop(listener.socket);
    close.send_replace(true);
    if timeout(grace, async { while connections.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(connections = connections.len(), "cut what did not end in time");
        // One that computes is gone when it is done with that, and nobody waits for it.
        let _ = timeout(CUTTING, connections.shutdown()).await;
    }
}

struct HttpServer {
    router: Router,
    posts: Arc<[PostRoute]>,
    closing: Closing,
    slots: Arc<Semaphore>,
    header_timeout: Duration,
    refusals: Arc<Semaphore>,
    untrusted: Arc<UntrustedConnections>,
}

impl HttpServer {
    /// Serves a connection, or tells it that there are too many: a full house is an answer, not a wait.
    fn take(&self, stream: TcpStream, address: IpAddr, connections: &mut JoinSet<()>) {
        let mut watched = None;
        let (router, posts, refusal, header_timeout) =
            if let Ok(slot) = self.slots.clone().try_acquire_owned() {
                // The slot is the connection's until it ends, or has to make room.
                watched = Some(self.untrusted.enter(address, Some(slot)));
                (self.router.clone(), Arc::clone(&self.posts), None, self.header_timeout)
            } else if let Ok(refusal) = self.refusals.clone().try_acquire_owned() {
                (full_house(), Arc::default(), Some(refusal), REFUSED_TIMEOUT)
            } else {
                return;
            };
        let (connection, evicted) = watched.unzip();
        let front = Front { posts, router, alarm: Alarm::default(), connection };
        // Answers are written whole or as events; waiting for more to send would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
        let closing = self.closing.clone();
        connections.spawn(carry(stream, front, evicted, refusal, header_timeout, closing));
    }
}

async fn carry(
    stream: TcpStream,
    front: Front,
    mut evicted: Option<oneshot::Receiver<Eviction>>,
    _refusal: Option<OwnedSemaphorePermit>,
    header_timeout: Duration,
    closing: Closing,
) {
    let watched = front.connection.clone().map(Watched);
    let mut builder = http1::Builder::new();
    builder
        .timer(front.alarm.clone())
        .header_read_timeout(header_timeout)
        .max_header_size(HEAD_LIMIT);
    let mut connection = builder.serve_connection(TokioIo::new(stream), front);
    let mut is_closing = false;
    let ended = loop {
        tokio::select! {
            biased;
            // One that became trusted, or that nobody watches, is never evicted.
            eviction = next_eviction(&mut evicted) => match eviction {
                Eviction::Idle => std::pin::Pin::new(&mut connection).graceful_shutdown(),
                // Its request came at the last moment, and has its answer.
                _ if watched.as_ref().is_some_and(|watched| watched.0.was_told()) => {}
                unheard => {
                    let problem = if unheard == Eviction::AddressUnheard {
                        too_many()
                    } else {
                        unavailable()
                    };
                    let stream = connection.into_parts().io.into_inner();
                    // Whoever does not read it is not waited for.
                    let _ = timeout(REFUSED_TIMEOUT, write_unasked(stream, problem)).await;
                    return;
                }
            },
            ended = &mut connection => break ended,
            () = closing.begun(), if !is_closing => {
                is_closing = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        // Clients that leave in the middle are ordinary.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A connection that leaves its places when it ends, however it ends.
struct Watched(Connection);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Waits until the connection has to be closed, which is once at most.
async fn next_eviction(evicted: &mut Option<oneshot::Receiver<Eviction>>) -> Eviction {
    if let Some(receiver) = evicted {
        let eviction = receiver.await;
        *evicted = None;
        if let Ok(eviction) = eviction {
            return eviction;
        }
    }
    std::future::pending().await
}

/// The answer to a connection whose address has too many that have shown no token.
pub(crate) fn too_many() -> Problem {
    let text = "Too many connections of this address have sent no request with a token";
    let error = ErrorBuilder::new("TOO_MANY_CONNECTIONS", text, "connection")
        .condition("A connection sends its request as soon as it is open")
        .solution("Close connections that are not used, or have gateway.most_half_open raised");
    closing_with(Problem::told(ProblemKind::TooManyRequests, error))
}

fn unavailable() -> Problem {
    closing_with(Problem::new(ProblemKind::Unavailable))
}

fn closing_with(problem: Problem) -> Problem {
    let close = HeaderValue::from_static("close");
    problem.with_retry_after(1).with_header(header::CONNECTION, close)
}

/// Writes a response to a client that has not asked anything yet, and closes the connection.
async fn write_unasked(mut stream: TcpStream, problem: Problem) -> io::Result<()> {
    metrics::counter!("answerback_http_refused_total", "code" => problem.code().to_owned())
        .increment(1);
    let (mut parts, body) = problem.into_response().into_parts();
    let body = axum::body::to_bytes(body, HEAD_LIMIT).await.map_err(io::Error::other)?;
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    let reason = parts.status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_u16()).into_bytes();
    for (name, value) in &parts.headers {
        for piece in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(piece);
        }
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&body);
    stream.write_all(&text).await?;
    // A connection that is closed with something unread is reset, and the client may not see why.
    let mut unread = [0; 4096];
    for _ in 0..HEAD_LIMIT / unread.len() {
        if !matches!(stream.try_read(&mut unread), Ok(count) if count > 0) {
            break;
        }
    }
    stream.shutdown().await
}

fn full_house() -> Router {
    let told = || async { unavailable() };
    let around = from_fn(async |request, next: Next| {
        answer::finish(&RouteMetrics::of_none(), request, 0, |request| next.run(request)).await
    });
    Router::new().fallback(told).layer(around)
}

async fn after_failed_accept(error: &io::Error) {
    let is_about_one_peer = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    );
    if !is_about_one_peer {
        tracing::error!(%error, "no connection can be accepted");
        sleep(ACCEPT_PAUSE).await;
    }
}
