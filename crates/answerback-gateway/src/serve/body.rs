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
use tokio::time::Interval;

/// How often a stream on which nothing happens says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is done when the reader of an answer leaves, whether it was answered or not.
pub(crate) type Leave = Box<dyn FnOnce() + Send + Sync>;

/// Messages as server-sent events, until nobody sends any more.
pub(crate) struct Events {
    first: Option<Message>,
    messages: mpsc::Receiver<Message>,
    keep_alive: Interval,
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    leave: Option<Leave>,
}

impl Events {
    /// A stream that ends when the server begins to close, where that is given: one on which nothing is waited for. One
    /// that has an answer to come ends with it.
    pub(crate) fn new(
        first: Option<Message>,
        messages: mpsc::Receiver<Message>,
        closing: Option<Closing>,
        leave: Option<Leave>,
    ) -> Self {
        let start = tokio::time::Instant::now() + KEEP_ALIVE;
        let keep_alive = tokio::time::interval_at(start, KEEP_ALIVE);
        let closing = closing.map(|closing| -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
            Box::pin(async move { closing.begun().await })
        });
        Self { first, messages, keep_alive, closing, leave }
    }

    /// The answer that has these events as its body.
    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(Body::new(self));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        // Proxies that gather answers are asked not to.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let message = match self.first.take() {
            Some(first) => Some(first),
            None => match self.messages.poll_recv(context) {
                Poll::Ready(message) => {
                    let Some(message) = message else { return Poll::Ready(None) };
                    Some(message)
                }
                Poll::Pending => None,
            },
        };
        if let Some(message) = message {
            return Poll::Ready(Some(Ok(Frame::data(event(&message)))));
        }
        if let Some(closing) = &mut self.closing
            && closing.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        if self.keep_alive.poll_tick(context).is_ready() {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))));
        }
        Poll::Pending
    }
}

/// A message as an event. A line end between two members of it is one of the event's, too.
fn event(message: &Message) -> Bytes {
    let text = message.text();
    let mut event = String::with_capacity(text.len() + 32);
    event.push_str("event: message\ndata: ");
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            event.push_str("\ndata: ");
        }
        event.push_str(line.strip_suffix('\r').unwrap_or(line));
    }
    event.push_str("\n\n");
    Bytes::from(event)
}

/// A message as the whole answer.
pub(crate) fn json(status: StatusCode, message: Message) -> Response {
    let mut response = Response::new(Body::from(message.into_text()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_message_whole() {
        let event = |text: &str| event(&Message::read(text.to_owned()).unwrap());
        assert_eq!(
            event(r#"{"method":"m"}"#),
            "event: message\ndata: {\"method\":\"m\"}\n\n".as_bytes()
        );
        assert_eq!(
            event("{\r\n \"method\":\n\"m\"}"),
            "event: message\ndata: {\ndata:  \"method\":\ndata: \"m\"}\n\n".as_bytes()
        );
    }
}
