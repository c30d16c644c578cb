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

/// The number of connections over the limit that get a 503 response at a time. Connections beyond these are closed
/// without a response.
const MOST_REFUSED: usize = 64;
/// The head timeout of a connection that only gets a 503 response.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest head of a request. Without a limit, each connection could make the server buffer several hundred
/// kilobytes.
const HEAD_LIMIT: usize = 64 << 10;
/// The time to wait until aborted connections are gone.
const CUTTING: Duration = Duration::from_secs(1);
/// The pause after a failed accept, for example when the process has run out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the routes behind the guard until `shutdown` resolves. Then running requests get the grace period to end.
///
/// Response bodies are streamed as they are produced, without buffering and without a timeout.
pub async fn serve(
    listener: Listener,
    routes: Routes,
    guard: Guard,
    shutdown: impl Future<Output = ()>,
) {
    let (close, closing) = Closing::watched();
    let (guarded, posts) = routes.behind(guard.listening_on(listener.address()), &closing);
    // Without this call, a router builds the layers of a route anew for each request, even though it has no state.
    let guarded = guarded.with_state(());
    let settings = &listener.settings;
    let server = HttpServer {
        router: guarded,
        posts: posts.into(),
        closing,
        slots: Arc::new(Semaphore::new(settings.max_connections)),
        header_timeout: settings.header_timeout,
        refusals: Arc::new(Semaphore::new(MOST_REFUSED)),
        // All addresses together get half of the connections, so that clients with a token always find room.
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
    // From here on the operating system refuses connections, so clients can go elsewhere at once.
    drop(listener.socket);
    close.send_replace(true);
    if timeout(grace, async { while connections.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(connections = connections.len(), "cut what did not end in time");
        // A task that computes cannot be aborted before its next await point, and the server does not wait for it.
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
    /// Serves a connection, or answers it with 503 if there are too many. An overloaded server answers instead of
    /// making clients wait.
    fn take(&self, stream: TcpStream, address: IpAddr, connections: &mut JoinSet<()>) {
        let mut watched = None;
        let (router, posts, refusal, header_timeout) =
            if let Ok(slot) = self.slots.clone().try_acquire_owned() {
                // The connection holds the slot until it ends or is evicted.
                watched = Some(self.untrusted.enter(address, Some(slot)));
                (self.router.clone(), Arc::clone(&self.posts), None, self.header_timeout)
            } else if let Ok(refusal) = self.refusals.clone().try_acquire_owned() {
                (full_house(), Arc::default(), Some(refusal), REFUSED_TIMEOUT)
            } else {
                return;
            };
        let (connection, evicted) = watched.unzip();
        let front = Front { posts, router, alarm: Alarm::default(), connection };
        // Responses are written whole or as events, so waiting for more data would only delay them.
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
            // A trusted connection, or one without limits, is never evicted.
            eviction = next_eviction(&mut evicted) => match eviction {
                Eviction::Idle => std::pin::Pin::new(&mut connection).graceful_shutdown(),
                // Its request arrived at the last moment and gets its response.
                _ if watched.as_ref().is_some_and(|watched| watched.0.was_told()) => {}
                unheard => {
                    let problem = if unheard == Eviction::AddressUnheard {
                        too_many()
                    } else {
                        unavailable()
                    };
                    let stream = connection.into_parts().io.into_inner();
                    // The client may not read the response, so writing it has a time limit.
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
        // Clients that disconnect early are normal.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Releases the places of a connection when it is dropped.
struct Watched(Connection);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Waits until the connection must be closed. This resolves at most once.
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

/// Builds the response for a connection whose address has too many connections without a token.
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

/// Writes a response to a client that has sent no complete request, and closes the connection.
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
    // Closing a connection with unread data resets it, and the client may then not see the response.
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
