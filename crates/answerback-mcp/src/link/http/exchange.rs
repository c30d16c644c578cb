//! Runs one request and reads its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;

use super::connection_pool::PooledBody;
use super::event_reader::{EventReader, ServerSentEvent};
use super::fault::Fault;
use super::http_upstream::{AnswerKind, HttpUpstream, drain, kind};
use crate::link::direct_path::{StreamState, StreamWatcher};
use crate::link::{Incoming, trusted};
use crate::wire::{Id, Message, MessageError, Messages, Shape};

/// The number of consecutive attempts to resume a stream without any new event.
const MAX_IDLE_RESUMPTIONS: u32 = 5;
/// The total number of attempts to resume a stream. Otherwise a server could cause endless requests by sending
/// one new event each time.
const MAX_RESUMPTIONS: u32 = 1000;
/// The number of characters of a server's error message that are repeated.
const MAX_REPEATED: usize = 300;

/// Runs a request that is in progress.
pub(super) struct Exchange {
    pub(super) server: Arc<HttpUpstream>,
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) is_modern: bool,
    /// True once the client has cancelled the request.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Receives the states of the response stream, if the caller wants them.
    pub(super) watch: Option<StreamWatcher>,
}

/// Tells how an event stream ended.
enum EventStreamEnd {
    /// The stream contained the response.
    Answered,
    /// The server closed the stream before the response. A legacy server that sent event ids expects the client
    /// to resume.
    Closed,
    /// The stream broke before the response.
    Broken(Fault),
}

impl Exchange {
    /// Returns true if the request opens a subscription stream.
    pub(super) fn is_subscription(&self) -> bool {
        self.method == "subscriptions/listen"
    }

    /// Sends the request and forwards all messages of the server to the link. A request that fails is answered
    /// with an error. So every request is answered, unless the link ends.
    pub(super) async fn run(self, message: Message, modern: Option<HeaderMap>) -> Id {
        match self.ask(message, modern).await {
            Ok(None) => {}
            Ok(Some(answer)) => self.forward(answer).await,
            Err(Fault::SessionGone) => self.server.session_gone.notify_one(),
            Err(_) if self.is_cancelled() => {}
            Err(fault) => self.forward(fault.answer(&self.id)).await,
        }
        self.id
    }

    /// Sends the request and returns the response to the direct caller. Returns `None` if the server sent a
    /// stream or a batch: all its messages are then forwarded to the link in order.
    pub(super) async fn answer(
        self,
        message: Message,
        modern: Option<HeaderMap>,
    ) -> Option<Message> {
        match self.ask(message, modern).await {
            Ok(answer) => {
                if let Some(answer) = &answer {
                    self.learn(answer);
                }
                answer
            }
            Err(fault) => {
                if matches!(fault, Fault::SessionGone) {
                    self.server.session_gone.notify_one();
                }
                (!self.is_cancelled()).then(|| fault.answer(&self.id))
            }
        }
    }

    /// Sends the request. Returns the response if it is one message, or `None` if the messages were forwarded to
    /// the link.
    async fn ask(
        &self,
        message: Message,
        modern: Option<HeaderMap>,
    ) -> Result<Option<Message>, Fault> {
        if self.is_initialize() {
            self.server.begin_session();
        }
        let response = self.server.post(message, modern, self.idle_timeout()).await?;
        let status = response.status();
        if self.is_initialize() && status.is_success() {
            self.server.store_session(response.headers());
        }
        match kind(response.headers()) {
            AnswerKind::Events if status.is_success() => {
                self.report_state(StreamState::Begun);
                // Boxing keeps this future small for the common case of one message.
                Box::pin(self.take_events(response.into_body())).await.map(|()| None)
            }
            AnswerKind::Json if !status.is_redirection() => self.take_json(response).await,
            _ => {
                let reason = status_reason(&response);
                Box::pin(drain(response.into_body())).await;
                Err(Fault::of_answer(status, reason))
            }
        }
    }

    /// Reads a JSON response with any status, because the modern era sends protocol errors with a matching HTTP
    /// status. Returns `None` if the body was a batch, which was forwarded to the link.
    async fn take_json(&self, response: Response<PooledBody>) -> Result<Option<Message>, Fault> {
        let status = response.status();
        let mut body = response.into_body();
        let text = match self.read_all(&mut body).await {
            Ok(text) => text,
            // Without a readable body, the status is the only information.
            Err(_) if !status.is_success() => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let refusal = (!status.is_success()).then(|| failure_reason(status, &text));
        let fault = match String::from_utf8(text).map(|text| read(&self.server.name, text)) {
            Ok(Ok(answer)) if self.is_answer(&answer) => return Ok(Some(answer)),
            Ok(Ok(batch)) if *batch.shape() == Shape::Batch => {
                if Box::pin(self.forward_all(batch, false)).await {
                    return Ok(None);
                }
                "the server's batch has no answer to this request".to_owned()
            }
            Ok(Ok(_)) => "the server's answer is none to this request".to_owned(),
            Ok(Err(error)) => format!("the server's answer is no message: {error}"),
            Err(_) => "the server's answer is not UTF-8".to_owned(),
        };
        // An error response need not contain our id. A success with another id means that the connection is out
        // of step, so it is closed.
        if status.is_success() {
            body.close();
        }
        Err(Fault::of_answer(status, refusal.unwrap_or(fault)))
    }

    /// Reads a response that is a stream. If a legacy server sent event ids, a broken stream is resumed.
    async fn take_events(&self, mut body: PooledBody) -> Result<(), Fault> {
        let mut events = EventReader::new(self.server.max_message_bytes);
        let (mut attempt, mut attempts) = (0, 0);
        loop {
            let (reason, is_closed) = match self.take_stream(body, &mut events).await? {
                EventStreamEnd::Answered => return Ok(()),
                EventStreamEnd::Closed => {
                    (Fault::new("the server's stream ended before the answer"), true)
                }
                EventStreamEnd::Broken(reason) => (reason, false),
            };
            if events.has_progressed() {
                attempt = 0;
            }
            let can_resume = !self.is_modern && events.last_id().is_some();
            if can_resume && is_closed {
                self.report_state(StreamState::Paused);
            }
            body = loop {
                attempt += 1;
                attempts += 1;
                let is_enough = attempt > MAX_IDLE_RESUMPTIONS || attempts > MAX_RESUMPTIONS;
                if !can_resume || is_enough || self.is_cancelled() {
                    return Err(reason);
                }
                tokio::time::sleep(events.pause(attempt)).await;
                match self.server.get(events.last_id()).await {
                    Ok(response) if is_stream(&response) => break response.into_body(),
                    Ok(response) if response.status().is_server_error() => {}
                    Ok(response) => {
                        let reason = "the server's stream ended before the answer and cannot be taken up again";
                        return Err(Fault::of_answer(response.status(), reason));
                    }
                    Err(Fault::SessionGone) => return Err(Fault::SessionGone),
                    Err(Fault::Failed { .. }) => {}
                }
            };
            events.resume();
        }
    }

    /// Forwards the messages of a stream until the response or the end of the stream.
    async fn take_stream(
        &self,
        mut body: PooledBody,
        events: &mut EventReader,
    ) -> Result<EventStreamEnd, Fault> {
        loop {
            let bytes = match self.next_bytes(&mut body).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => {
                    body.close();
                    return Ok(EventStreamEnd::Closed);
                }
                Err(reason) => return Ok(EventStreamEnd::Broken(reason)),
            };
            let mut bytes = &bytes[..];
            while let Some(event) = events.next(&mut bytes) {
                let message = read_event(&self.server.name, event, self.server.max_message_bytes)
                    .map_err(Fault::new)?;
                if self.forward_all(message, true).await {
                    drain(body).await;
                    return Ok(EventStreamEnd::Answered);
                }
            }
        }
    }

    /// Reads the whole body of a response.
    async fn read_all(&self, body: &mut PooledBody) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next_bytes(body).await? {
            if whole.len() + bytes.len() > self.server.max_message_bytes {
                return Err(Fault::new(too_long(self.server.max_message_bytes)));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }

    async fn next_bytes(&self, body: &mut PooledBody) -> Result<Option<Bytes>, Fault> {
        let idle_timeout = self.idle_timeout();
        loop {
            return match tokio::time::timeout(idle_timeout, body.frame()).await {
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => Ok(Some(bytes)),
                    // Trailers are ignored.
                    Err(_) => continue,
                },
                Ok(Some(Err(error))) => Err(Fault::of_connection(
                    "the connection broke before the answer was whole",
                    &error,
                )),
                Ok(None) => Ok(None),
                Err(_) => Err(Fault::new(format!("the server was silent for {idle_timeout:?}"))),
            };
        }
    }

    /// Reports the state of the stream to the caller that watches it.
    fn report_state(&self, flow: StreamState) {
        if let Some(watch) = &self.watch {
            watch(flow);
        }
    }

    /// Forwards the messages of a text in order. Returns true if the response was among them.
    async fn forward_all(&self, message: Message, is_streamed: bool) -> bool {
        let mut is_answered = false;
        for message in split_batch(&self.server.name, message) {
            if is_answered {
                // Messages after the response no longer belong to an open request.
                let _ = self.server.to_client.send(Incoming::from(message)).await;
                continue;
            }
            is_answered = self.is_answer(&message);
            self.forward_as(message, is_answered && is_streamed).await;
        }
        is_answered
    }

    async fn forward(&self, message: Message) {
        self.forward_as(message, false).await;
    }

    /// Forwards a message. The response is evaluated first, so that the caller's next request already uses what
    /// it contains.
    async fn forward_as(&self, message: Message, is_streamed: bool) {
        if self.is_answer(&message) {
            self.learn(&message);
        }
        let incoming = Incoming { is_streamed, ..Incoming::about(message, self.id.clone()) };
        // If the receiver is gone, the link ends anyway.
        let _ = self.server.to_client.send(incoming).await;
    }

    /// Stores what a response says about the server: the protocol version, or the tools with header arguments.
    fn learn(&self, answer: &Message) {
        if self.is_initialize() {
            self.server.store_version(answer);
        } else if self.is_modern && self.method == "tools/list" {
            self.server.learn_annotations(answer);
        }
    }

    fn is_answer(&self, message: &Message) -> bool {
        matches!(message.shape(), Shape::Response { id } if *id == self.id)
    }

    fn is_initialize(&self) -> bool {
        !self.is_modern && self.method == "initialize"
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn idle_timeout(&self) -> Duration {
        if self.is_subscription() { Duration::MAX } else { self.server.idle() }
    }
}

/// Returns true if a response is an event stream that we can read.
pub(super) fn is_stream(response: &Response<PooledBody>) -> bool {
    response.status().is_success() && kind(response.headers()) == AnswerKind::Events
}

/// Reads the message of an event, or returns the reason why it is not one.
pub(super) fn read_event(
    server: &str,
    event: ServerSentEvent,
    max_bytes: usize,
) -> Result<Message, String> {
    match event {
        ServerSentEvent::Data(text) => read(server, text)
            .map_err(|error| format!("the server sent an event that is no message: {error}")),
        ServerSentEvent::TooLong => Err(too_long(max_bytes)),
        ServerSentEvent::NotText => Err("the server sent an event that is not UTF-8".to_owned()),
    }
}

/// Returns the messages of a text one by one. An element that is not a message is logged and skipped.
pub(super) fn split_batch(server: &str, message: Message) -> impl Iterator<Item = Message> {
    Messages::from(message).filter_map(move |read| match read {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::warn!(upstream = %server, %error, "the server sent a batch with something that is no message");
            None
        }
    })
}

/// Reads a message and puts it on one line, because most transports need that. A space replaces each line break
/// of the JSON.
fn read(server: &str, text: String) -> Result<Message, MessageError> {
    let message = trusted(server, Message::read(text)?);
    if memchr::memchr2(b'\r', b'\n', message.text().as_bytes()).is_none() {
        return Ok(message);
    }
    // The text is valid JSON, so its line breaks are not inside strings.
    let text = message.text().replace(['\r', '\n'], " ");
    Ok(message.with_text(text))
}

fn too_long(max_bytes: usize) -> String {
    format!("the server's message has more than {max_bytes} bytes")
}

/// Returns the error text for a response without a message.
fn status_reason(response: &Response<PooledBody>) -> String {
    let status = response.status();
    if status.is_redirection() {
        format!(
            "the server answered {status}, and redirects are not followed: use the URL to which it leads"
        )
    } else if status.is_success() {
        format!("the server answered {status} without a message")
    } else {
        format!("the server answered {status}")
    }
}

/// Returns the error text for a failed response whose JSON is not the response to the request. Some servers put
/// the reason in its error message.
fn failure_reason(status: StatusCode, body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match body["error"]["message"].as_str() {
        Some(reason) => {
            let reason: String = reason.chars().take(MAX_REPEATED).collect();
            format!("the server answered {status}: {reason}")
        }
        None => format!("the server answered {status}"),
    }
}
