use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use answerback_http::ShutdownSignal;
use answerback_mcp::wire::Message;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, Sleep};

use crate::response_streams::{StreamReader, unresumable_event};

/// The interval of keep-alive comments on an idle stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The idle time after which a polling client's stream is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs when the reader of a response leaves, even if the request was answered.
pub(crate) type OnDisconnect = Box<dyn FnOnce() + Send + Sync>;

/// A response body that streams messages as server-sent events until the sender is dropped.
pub(crate) struct EventStreamBody {
    first: Option<Bytes>,
    source: EventSource,
    keep_alive: Interval,
    /// The time at which an idle stream ends, so that the client resumes it.
    idle: Option<Pin<Box<Sleep>>>,
    shutdown: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    on_disconnect: Option<OnDisconnect>,
}

/// The source of a stream's events.
enum EventSource {
    /// Messages that are not stored.
    Unresumable(mpsc::Receiver<Message>),
    /// A stream that the client can resume.
    Resumable(StreamReader),
}

impl EventStreamBody {
    /// Creates the body of a stream that cannot be resumed. If `shutdown` is given, the stream ends when the
    /// server begins to stop. Otherwise it ends with the response.
    pub(crate) fn unresumable(
        first: Option<&Message>,
        messages: mpsc::Receiver<Message>,
        shutdown: Option<ShutdownSignal>,
        on_disconnect: Option<OnDisconnect>,
    ) -> Self {
        let mut events = Self::new(EventSource::Unresumable(messages), shutdown);
        (events.first, events.on_disconnect) = (first.map(unresumable_event), on_disconnect);
        events
    }

    /// Creates the body of a stream that the client can resume.
    pub(crate) fn resumable(reader: StreamReader, shutdown: Option<ShutdownSignal>) -> Self {
        Self::new(EventSource::Resumable(reader), shutdown)
    }

    fn new(source: EventSource, shutdown: Option<ShutdownSignal>) -> Self {
        let keep_alive =
            tokio::time::interval_at(Instant::now() + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
        let shutdown =
            shutdown.map(|shutdown| -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
                Box::pin(async move { shutdown.received().await })
            });
        Self { first: None, source, keep_alive, idle: None, shutdown, on_disconnect: None }
    }

    /// Adds an event before all others.
    pub(crate) fn with_first(mut self, first: Option<Bytes>) -> Self {
        self.first = first;
        self
    }

    /// Ends the stream when it has been idle for a while. The client then resumes it.
    pub(crate) fn ending_when_idle(mut self) -> Self {
        self.idle = Some(Box::pin(tokio::time::sleep(IDLE_TIMEOUT)));
        self
    }

    /// Builds the HTTP response with these events as its body.
    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(Body::new(self));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        // Proxies that buffer responses must not buffer this one.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.source {
            EventSource::Unresumable(messages) => {
                messages.poll_recv(context).map(|message| message.as_ref().map(unresumable_event))
            }
            EventSource::Resumable(reader) => reader.poll_event(context),
        }
    }
}

impl Drop for EventStreamBody {
    fn drop(&mut self) {
        if let Some(on_disconnect) = self.on_disconnect.take() {
            on_disconnect();
        }
    }
}

impl http_body::Body for EventStreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Poll::Ready(event) = self.poll_next(context) {
            if let Some(idle) = &mut self.idle {
                idle.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
            }
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        if let Some(shutdown) = &mut self.shutdown
            && shutdown.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        if let Some(idle) = &mut self.idle
            && idle.as_mut().poll(context).is_ready()
        {
            self.idle = None;
            if let EventSource::Resumable(reader) = &self.source {
                reader.pause();
            }
            // Events that arrived in the meantime are sent first.
            if let Poll::Ready(event) = self.poll_next(context) {
                return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
            }
        }
        if self.keep_alive.poll_tick(context).is_ready() {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))));
        }
        Poll::Pending
    }
}
