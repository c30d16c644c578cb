//! Pools the connections to one server.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::{TrySendError, http1};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::dialer::{BoxError, Dialer, Io};

/// The time that an idle connection is stored. Many servers close idle connections after five seconds. A request
/// sent at that moment would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// The largest number of idle connections.
const MAX_IDLE: usize = 64;
/// The limit for the head of a response, in bytes.
const LONGEST_HEAD: usize = 1 << 16;

/// Sends requests to one server and reuses its connections. It follows no redirects, stores no cookies and uses
/// no proxy.
///
/// The task that sends a request also drives its connection until the response is read. A background task per
/// connection would cost extra wakeups for every write and read.
pub(super) struct ConnectionPool {
    dialer: Dialer,
    /// The full URL of the server.
    uri: Uri,
    /// The path and query of that URL, as they are sent to the server.
    target: Uri,
    host: HeaderValue,
    idle: Arc<IdleConnections>,
}

/// Tells why a request got no response.
#[derive(Debug)]
pub(super) enum SendError {
    /// The connection could not be made.
    Unreached(BoxError),
    /// The connection broke, or its handshake failed.
    Broke(hyper::Error),
}

impl ConnectionPool {
    /// Creates a pool for this URL, which must have a host.
    pub(super) fn new(dialer: Dialer, uri: &Uri) -> Self {
        let path = uri.path_and_query().cloned();
        let target = Uri::from(path.unwrap_or(PathAndQuery::from_static("/")));
        let host = HeaderValue::from_str(&host_of(uri)).unwrap_or(HeaderValue::from_static(""));
        Self { dialer, uri: uri.clone(), target, host, idle: Arc::default() }
    }

    /// Sends a request and sets its target and host.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<PooledBody>, SendError> {
        *request.uri_mut() = self.target.clone();
        request.headers_mut().insert(HOST, self.host.clone());
        while let Some(connection) = self.idle.take() {
            match connection.answer(request, &self.idle).await {
                Ok(answer) => return Ok(answer),
                Err(mut error) => match error.take_message() {
                    // The server closed the connection in the meantime and received nothing of the request.
                    Some(unsent) => request = unsent,
                    None => return Err(SendError::Broke(error.into_error())),
                },
            }
        }
        // A new connection is rare. Boxing it keeps this future small for all other requests.
        let connection = Box::pin(self.connect()).await?;
        let answer = connection.answer(request, &self.idle).await;
        answer.map_err(|error| SendError::Broke(error.into_error()))
    }

    async fn connect(&self) -> Result<HttpConnection, SendError> {
        let io = self.dialer.connect(&self.uri).await.map_err(SendError::Unreached)?;
        HttpConnection::over(io).await.map_err(SendError::Broke)
    }

    /// Closes idle connections for as long as it is polled.
    pub(super) async fn close_idle(&self) -> std::convert::Infallible {
        loop {
            self.idle.arrived.notified().await;
            while self.idle.sweep() {
                tokio::time::sleep(IDLE_TIMEOUT).await;
            }
        }
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionPool").finish_non_exhaustive()
    }
}

/// Returns the value of the host header: the host, with the port unless it is the default.
fn host_of(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Holds the connections that wait for the next request.
#[derive(Default)]
struct IdleConnections {
    state: Mutex<IdleState>,
    /// Notifies [`ConnectionPool::close_idle`] that there are idle connections.
    arrived: Notify,
}

#[derive(Default)]
struct IdleState {
    connections: Vec<(HttpConnection, Instant)>,
    has_sweeper: bool,
}

impl IdleConnections {
    fn lock(&self) -> MutexGuard<'_, IdleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most recently used connection that still seems to be open.
    fn take(&self) -> Option<HttpConnection> {
        loop {
            let (mut connection, since) = self.lock().connections.pop()?;
            if since.elapsed() < IDLE_TIMEOUT && connection.is_ready() {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: HttpConnection) {
        let mut state = self.lock();
        if state.connections.len() >= MAX_IDLE {
            return;
        }
        state.connections.push((connection, Instant::now()));
        if !std::mem::replace(&mut state.has_sweeper, true) {
            self.arrived.notify_one();
        }
    }

    /// Closes connections that were idle for too long. Returns false if none is left, which ends the periodic
    /// check.
    fn sweep(&self) -> bool {
        let mut state = self.lock();
        state.connections.retain(|(_, since)| since.elapsed() < IDLE_TIMEOUT);
        state.has_sweeper = !state.connections.is_empty();
        state.has_sweeper
    }
}

/// Holds a connection and the future that drives it.
struct HttpConnection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Pin<Box<http1::Connection<Io, Full<Bytes>>>>,
    is_over: bool,
}

impl HttpConnection {
    async fn over(io: Io) -> hyper::Result<Self> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(LONGEST_HEAD);
        let (sender, driver) = builder.handshake(io).await?;
        Ok(Self { sender, driver: Box::pin(driver), is_over: false })
    }

    /// Polls the connection. Its error is reported to the caller that waits for a response.
    fn drive(&mut self, context: &mut Context<'_>) {
        if !self.is_over {
            self.is_over = self.driver.as_mut().poll(context).is_ready();
        }
    }

    /// Returns true if a request can be sent. This also detects a connection that the server has closed.
    fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.is_over && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of the response.
    async fn answer(
        mut self,
        request: Request<Full<Bytes>>,
        idle: &Arc<IdleConnections>,
    ) -> Result<Response<PooledBody>, TrySendError<Request<Full<Bytes>>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let answer = poll_fn(|context| {
            self.drive(context);
            // The response can only become ready through the poll above, so no waker is needed.
            answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        let answer = answer.await?;
        let idle = Arc::clone(idle);
        Ok(answer.map(|body| PooledBody {
            read: body,
            connection: Some((self, idle)),
            is_complete: false,
        }))
    }
}

/// Holds the body of a response and its connection. Dropping a body that was read completely returns the
/// connection to the pool. Dropping it earlier closes the connection.
pub(super) struct PooledBody {
    read: Incoming,
    connection: Option<(HttpConnection, Arc<IdleConnections>)>,
    is_complete: bool,
}

impl PooledBody {
    /// Closes the connection. The response did not match the request, so later responses would not match either.
    pub(super) fn close(&mut self) {
        self.connection = None;
    }
}

impl Drop for PooledBody {
    fn drop(&mut self) {
        if let Some((mut connection, idle)) = self.connection.take()
            && self.is_complete
            && connection.is_ready()
        {
            idle.put(connection);
        }
    }
}

impl hyper::body::Body for PooledBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // The connection reads more only when the body is polled. So the body is polled before and after driving
        // the connection.
        let mut frame = Pin::new(&mut self.read).poll_frame(context);
        if frame.is_pending()
            && let Some((connection, _)) = &mut self.connection
        {
            connection.drive(context);
            frame = Pin::new(&mut self.read).poll_frame(context);
        }
        self.is_complete |= matches!(frame, Poll::Ready(None));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_named_as_the_url_does() {
        for (url, host) in [
            ("http://localhost:8000/mcp", "localhost:8000"),
            ("http://localhost:80/", "localhost"),
            ("https://a.example:443", "a.example"),
            ("https://a.example:80", "a.example:80"),
            ("http://[::1]:7311/x?y", "[::1]:7311"),
        ] {
            assert_eq!(host_of(&url.parse().unwrap()), host);
        }
    }
}
