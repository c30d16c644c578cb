use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use answerback_http::Closing;
use answerback_mcp::wire::Message;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, Sleep};

use super::event;
use super::streams::Told;

/// The interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The idle time after which a polling client's stream is ended.
const QUIET: Duration = Duration::from_secs(1);

/// Runs when the reader of a response leaves, even if the request was answered.
pub(crate) type Leave = Box<dyn FnOnce() + Send + Sync>;

/// Streams messages as server-sent events until the sender is dropped.
pub(crate) struct EventBody {
    first: Option<Bytes>,
    source: EventSource,
    keep_alive: Interval,
    /// The time at which an idle stream ends, so that the client resumes it.
    quiet: Option<Pin<Box<Sleep>>>,
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    leave: Option<Leave>,
}

/// Provides the events of a stream.
enum EventSource {
    /// Messages that are not stored.
    Passing(mpsc::Receiver<Message>),
    /// A stream that the client can resume.
    Kept(Told),
}

impl EventBody {
    /// Creates the body of a stream that cannot be resumed. If `closing` is given, the stream ends when the
    /// server begins to close. Otherwise it ends with the response.
    pub(crate) fn passing(
        first: Option<&Message>,
        messages: mpsc::Receiver<Message>,
        closing: Option<Closing>,
        leave: Option<Leave>,
    ) -> Self {
        let mut events = Self::new(EventSource::Passing(messages), closing);
        (events.first, events.leave) = (first.map(event::passing), leave);
        events
    }

    /// Creates the body of a stream that the client can resume.
    pub(crate) fn kept(told: Told, closing: Option<Closing>) -> Self {
        Self::new(EventSource::Kept(told), closing)
    }

    fn new(source: EventSource, closing: Option<Closing>) -> Self {
        let keep_alive = tokio::time::interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        let closing = closing.map(|closing| -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
            Box::pin(async move { closing.begun().await })
        });
        Self { first: None, source, keep_alive, quiet: None, closing, leave: None }
    }

    /// Adds an event before all others.
    pub(crate) fn after(mut self, first: Option<Bytes>) -> Self {
        self.first = first;
        self
    }

    /// Ends the stream when it has been idle for a while. The client then resumes it.
    pub(crate) fn polled(mut self) -> Self {
        self.quiet = Some(Box::pin(tokio::time::sleep(QUIET)));
        self
    }

    /// Returns the HTTP response with these events as its body.
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
            EventSource::Passing(messages) => {
                messages.poll_recv(context).map(|message| message.as_ref().map(event::passing))
            }
            EventSource::Kept(told) => told.poll_event(context),
        }
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl http_body::Body for EventBody {
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
            if let Some(quiet) = &mut self.quiet {
                quiet.as_mut().reset(Instant::now() + QUIET);
            }
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        if let Some(closing) = &mut self.closing
            && closing.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        if let Some(quiet) = &mut self.quiet
            && quiet.as_mut().poll(context).is_ready()
        {
            self.quiet = None;
            if let EventSource::Kept(told) = &self.source {
                told.pause();
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

/// Returns a response that is one message.
pub(crate) fn json(status: StatusCode, message: Message) -> Response {
    let mut response = Response::new(Body::from(message.into_text()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
