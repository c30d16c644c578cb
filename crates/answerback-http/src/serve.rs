use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{Next, from_fn};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connection_rejection::{server_overloaded, too_many_connections, write_rejection};
use crate::connection_service::{ConnectionService, PostRoute};
use crate::finish_response::finish_response;
use crate::route_metrics::RouteMetrics;
use crate::untrusted_connections::{Eviction, TrackedConnection, UntrustedConnections};
use crate::{ConnectionTimer, Guard, HttpListener, Routes, ShutdownSignal};

/// The number of connections over the limit that get a 503 response at a time. Connections beyond these are closed
/// without a response.
const MAX_REJECTIONS: usize = 64;
/// The head timeout of a connection that only gets a 503 response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest head of a request. Without a limit, each connection could make the server buffer several hundred
/// kilobytes.
const MAX_HEAD: usize = 64 << 10;
/// The time to wait until aborted connections are gone.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after a failed accept, for example when the process has run out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the routes behind the guard until `shutdown` resolves. Then running requests get the grace period to end.
///
/// Response bodies are streamed as they are produced, without buffering and without a timeout.
pub async fn serve(
    listener: HttpListener,
    routes: Routes,
    guard: Guard,
    shutdown: impl Future<Output = ()>,
) {
    let (begin_shutdown, shutdown_signal) = ShutdownSignal::channel();
    let guard = guard.listening_on(listener.address());
    let (guarded, post_routes) = routes.guarded_by(guard, &shutdown_signal);
    // Without this call, a router builds the layers of a route anew for each request, even though it has no state.
    let guarded = guarded.with_state(());
    let settings = &listener.settings;
    let server = HttpServer {
        router: guarded,
        post_routes: post_routes.into(),
        shutdown: shutdown_signal,
        slots: Arc::new(Semaphore::new(settings.max_connections)),
        header_timeout: settings.header_timeout,
        rejections: Arc::new(Semaphore::new(MAX_REJECTIONS)),
        // All addresses together get half of the connections, so that clients with a token always find room.
        untrusted: UntrustedConnections::new(
            settings.max_half_open,
            settings.max_connections.div_ceil(2),
            settings.max_per_token,
        ),
    };
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = shutdown.as_mut() => break,
            accepted = listener.socket.accept() => match accepted {
                Ok((stream, peer)) => server.accept(stream, peer.ip(), &mut connections),
                Err(error) => handle_accept_error(&error).await,
            },
            Some(ended) = connections.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "a handler panicked");
            },
        }
    }
    let grace = settings.shutdown_grace;
    // From here on the operating system refuses connections, so clients can go elsewhere at once.
    drop(listener.socket);
    begin_shutdown.send_replace(true);
    if timeout(grace, async { while connections.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "aborted the connections that did not end in time"
        );
        // A task that computes cannot be aborted before its next await point, and the server does not wait for it.
        let _ = timeout(ABORT_TIMEOUT, connections.shutdown()).await;
    }
}

struct HttpServer {
    router: Router,
    post_routes: Arc<[PostRoute]>,
    shutdown: ShutdownSignal,
    slots: Arc<Semaphore>,
    header_timeout: Duration,
    rejections: Arc<Semaphore>,
    untrusted: Arc<UntrustedConnections>,
}

impl HttpServer {
    /// Serves a connection, or answers it with 503 if there are too many. An overloaded server answers instead of
    /// making clients wait.
    fn accept(&self, stream: TcpStream, address: IpAddr, connections: &mut JoinSet<()>) {
        let mut tracked = None;
        let (router, post_routes, rejection, header_timeout) =
            if let Ok(slot) = self.slots.clone().try_acquire_owned() {
                // The connection holds the slot until it ends or is evicted.
                tracked = Some(self.untrusted.enter(address, Some(slot)));
                (self.router.clone(), Arc::clone(&self.post_routes), None, self.header_timeout)
            } else if let Ok(rejection) = self.rejections.clone().try_acquire_owned() {
                (overload_router(), Arc::default(), Some(rejection), REJECTION_TIMEOUT)
            } else {
                return;
            };
        let (connection, evicted) = tracked.unzip();
        let timer = ConnectionTimer::default();
        let service = ConnectionService { post_routes, router, timer, connection };
        // Responses are written whole or as events, so waiting for more data would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
        let shutdown = self.shutdown.clone();
        connections.spawn(serve_connection(
            stream,
            service,
            evicted,
            rejection,
            header_timeout,
            shutdown,
        ));
    }
}

async fn serve_connection(
    stream: TcpStream,
    service: ConnectionService,
    mut evicted: Option<oneshot::Receiver<Eviction>>,
    _rejection: Option<OwnedSemaphorePermit>,
    header_timeout: Duration,
    shutdown: ShutdownSignal,
) {
    let tracked = service.connection.clone().map(ReleaseOnDrop);
    let mut builder = http1::Builder::new();
    builder
        .timer(service.timer.clone())
        .header_read_timeout(header_timeout)
        .max_header_size(MAX_HEAD);
    let mut connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut is_closing = false;
    let ended = loop {
        tokio::select! {
            biased;
            // A trusted connection, or one without limits, is never evicted.
            eviction = next_eviction(&mut evicted) => match eviction {
                Eviction::Idle => std::pin::Pin::new(&mut connection).graceful_shutdown(),
                // Its request arrived at the last moment and gets its response.
                _ if tracked.as_ref().is_some_and(|tracked| tracked.0.has_eviction_response()) => {}
                limit => {
                    let problem = if limit == Eviction::AddressLimit {
                        too_many_connections()
                    } else {
                        server_overloaded()
                    };
                    let stream = connection.into_parts().io.into_inner();
                    // The client may not read the response, so writing it has a time limit.
                    let _ = timeout(REJECTION_TIMEOUT, write_rejection(stream, problem)).await;
                    return;
                }
            },
            ended = &mut connection => break ended,
            () = shutdown.received(), if !is_closing => {
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
struct ReleaseOnDrop(TrackedConnection);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release();
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

/// Builds the router that answers every request with 503.
fn overload_router() -> Router {
    let handler = || async { server_overloaded() };
    let layer = from_fn(async |request, next: Next| {
        let metrics = RouteMetrics::unmatched();
        finish_response(&metrics, request, 0, |request| next.run(request)).await
    });
    Router::new().fallback(handler).layer(layer)
}

async fn handle_accept_error(error: &io::Error) {
    let is_peer_error = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    );
    if !is_peer_error {
        tracing::error!(%error, "no connection can be accepted");
        sleep(ACCEPT_PAUSE).await;
    }
}
