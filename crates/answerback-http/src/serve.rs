use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::figures::RouteFigures;
use crate::front::{Front, Post};
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
    let server = Server {
        router: guarded,
        posts: posts.into(),
        closing,
        slots: Arc::new(Semaphore::new(settings.max_connections)),
        header_timeout: settings.header_timeout,
        refusals: Arc::new(Semaphore::new(MOST_REFUSED)),
    };
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = shutdown.as_mut() => break,
            accepted = listener.socket.accept() => match accepted {
                Ok((stream, _)) => server.take(stream, &mut connections),
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

struct Server {
    router: Router,
    posts: Arc<[Post]>,
    closing: Closing,
    slots: Arc<Semaphore>,
    header_timeout: Duration,
    refusals: Arc<Semaphore>,
}

impl Server {
    /// Serves a connection, or tells it that there are too many: a full house is an answer, not a wait.
    fn take(&self, stream: TcpStream, connections: &mut JoinSet<()>) {
        let (router, posts, permit, header_timeout) =
            if let Ok(slot) = self.slots.clone().try_acquire_owned() {
                (self.router.clone(), Arc::clone(&self.posts), slot, self.header_timeout)
            } else if let Ok(refusal) = self.refusals.clone().try_acquire_owned() {
                (full_house(), Arc::default(), refusal, REFUSED_TIMEOUT)
            } else {
                return;
            };
        let front = Front { posts, router, alarm: Alarm::default() };
        // Answers are written whole or as events; waiting for more to send would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
        connections.spawn(carry(stream, front, permit, header_timeout, self.closing.clone()));
    }
}

async fn carry(
    stream: TcpStream,
    front: Front,
    _permit: OwnedSemaphorePermit,
    header_timeout: Duration,
    closing: Closing,
) {
    let mut builder = http1::Builder::new();
    builder
        .timer(front.alarm.clone())
        .header_read_timeout(header_timeout)
        .max_header_size(HEAD_LIMIT);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), front));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.begun() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients that leave in the middle are ordinary.
        tracing::debug!(%error, "a connection ended early");
    }
}

fn full_house() -> Router {
    let told = || async {
        let close = HeaderValue::from_static("close");
        Problem::new(ProblemKind::Unavailable)
            .with_retry_after(1)
            .with_header(header::CONNECTION, close)
    };
    let around = from_fn(async |request, next: Next| {
        answer::finish(&RouteFigures::of_none(), request, 0, |request| next.run(request)).await
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
