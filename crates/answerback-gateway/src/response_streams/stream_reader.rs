use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use answerback_mcp::wire::Message;
use axum::body::Bytes;

use super::response_stream::{ResponseKind, ResponseStream};
use super::sse_event::{self, EventId};
use super::stream_table::{GENERAL_STREAM, StreamTable};
use super::streams::ResponseStreams;

/// Reads a stream until a later reader replaces it.
#[derive(Debug)]
pub(crate) struct StreamReader {
    pub(super) streams: Arc<ResponseStreams>,
    pub(super) number: u64,
    pub(super) reader_id: u64,
}

impl StreamReader {
    /// True if this is the stream for messages that belong to no request.
    pub(crate) const fn is_general(&self) -> bool {
        self.number == GENERAL_STREAM
    }

    /// Waits until the kind of response is known. A single message is not stored. If `call` is given, it runs in
    /// the meantime.
    pub(crate) async fn response_kind(
        &self,
        mut call: Option<impl Future<Output = ()> + Unpin>,
    ) -> ResponseKind {
        poll_fn(|context| {
            if let Some(running) = &mut call {
                // The stream is polled right after the call, so the call need not wake this task.
                self.clear_waker();
                if Pin::new(running).poll(context).is_ready() {
                    call = None;
                }
            }
            self.poll_kind(context)
        })
        .await
    }

    fn poll_kind(&self, context: &mut Context<'_>) -> Poll<ResponseKind> {
        self.poll(ResponseKind::None, |stream| stream.poll_kind(context.waker()))
    }

    /// Removes the waker until the next poll.
    fn clear_waker(&self) {
        let mut table = self.streams.lock();
        if let Some(position) = self.position(&table) {
            table.streams[position].clear_waker();
        }
    }

    /// Waits for the next message, which cannot be resumed from. The result is `None` at the end of the stream.
    pub(crate) async fn message(&self) -> Option<Message> {
        poll_fn(|context| self.poll(None, |stream| stream.poll_message(context.waker()))).await
    }

    /// Begins an event stream, which stays stored if its reader leaves with an event id. A client that
    /// understands it receives an id at once and can then resume the stream.
    pub(crate) fn begin(&self, is_primed: bool) -> Option<Bytes> {
        let client = self.streams.client.as_deref()?;
        self.streams.lock().make_resumable(self.number, is_primed);
        let id = EventId { client, stream: self.number, number: 0 };
        is_primed.then(|| sse_event::priming_event(&id))
    }

    /// Ends the stream after its remaining events, so that the client resumes it.
    pub(crate) fn pause(&self) {
        let mut table = self.streams.lock();
        if let Some(stream) =
            table.by_number(self.number).filter(|stream| stream.is_current_reader(self.reader_id))
        {
            stream.is_paused = true;
        }
    }

    /// Resolves to the next event, or to `None` at the end of the stream.
    pub(crate) fn poll_event(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let client = self.streams.client.as_deref().unwrap_or_default();
        self.poll(None, |stream| stream.poll_event(client, context.waker()))
    }

    /// Polls the stream if it still exists and has no later reader. Otherwise the result is `end`.
    fn poll<T>(&self, end: T, poll: impl FnOnce(&mut ResponseStream) -> Poll<T>) -> Poll<T> {
        let mut table = self.streams.lock();
        let Some(position) = self.position(&table) else { return Poll::Ready(end) };
        let polled = table.with(position, poll);
        if polled.is_ready() {
            table.enforce_limit();
            self.streams.has_changed.notify_waiters();
        }
        polled
    }

    /// The position of the stream, unless a later reader has replaced this one.
    fn position(&self, table: &StreamTable) -> Option<usize> {
        let is_ours = |stream: &ResponseStream| {
            stream.number == self.number && stream.is_current_reader(self.reader_id)
        };
        table.streams.iter().rposition(is_ours)
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut table = self.streams.lock();
        if let Some(position) = self.position(&table) {
            table.release_reader(position);
            self.streams.has_changed.notify_waiters();
        }
    }
}
