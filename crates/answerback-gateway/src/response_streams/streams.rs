use std::sync::{Arc, Mutex, PoisonError};

use answerback_mcp::link::{Incoming, StreamState};
use answerback_mcp::wire::{Id, Message, splice, word};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::response_stream::ResponseStream;
use super::sse_event::EventId;
use super::stream_reader::StreamReader;
use super::stream_table::{GENERAL_STREAM, StreamTable};

/// A client's open response streams and the stored events of resumable ones. Each message goes into the
/// stream that it belongs to.
#[derive(Debug)]
pub(crate) struct ResponseStreams {
    table: Mutex<StreamTable>,
    /// Notifies waiters that an event was read or a stream was closed.
    pub(super) has_changed: Notify,
    /// The prefix of event ids, if the client can resume its streams. Clients that share a connection cannot.
    pub(super) client: Option<String>,
}

/// The error for an event id that no stored stream has.
#[derive(Debug)]
pub(crate) struct UnknownEvent;

impl ResponseStreams {
    /// Creates the streams of one client, which can resume them. Its event ids begin with this unique prefix.
    pub(crate) fn of_client(prefix: String) -> Self {
        Self { table: Mutex::default(), has_changed: Notify::new(), client: Some(prefix) }
    }

    /// Creates the streams of several clients that share a connection to the servers.
    pub(crate) fn shared() -> Self {
        let table = StreamTable { is_shared: true, ..StreamTable::default() };
        Self { table: Mutex::new(table), has_changed: Notify::new(), client: None }
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, StreamTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stream for a request. Returns `None` if a request with this id is table.
    pub(crate) fn open(self: &Arc<Self>, request: &Message, id: &Id) -> Option<StreamReader> {
        let token = progress_token(request);
        let mut table = self.lock();
        if table.unanswered(id).is_some() {
            return None;
        }
        if let Some(token) = token {
            table.tokens.insert(token, id.clone());
        }
        table.opened += 1;
        let stream = ResponseStream::new(table.opened, Some(id.clone()));
        Some(self.add_stream(&mut table, stream))
    }

    /// Closes the stream of a cancelled request. Returns true if it was table.
    pub(crate) fn close(&self, id: &Id) -> bool {
        let mut table = self.lock();
        let position = table.unanswered(id);
        if let Some(position) = position {
            table.remove(position);
            self.has_changed.notify_waiters();
        }
        position.is_some()
    }

    /// True if a client reads the response or can resume its stream. A client that left without an event
    /// id never receives the response.
    pub(crate) fn is_awaited(&self, id: &Id) -> bool {
        self.lock().unanswered(id).is_some()
    }

    /// True if a client can resume its streams.
    pub(crate) const fn can_resume(&self) -> bool {
        self.client.is_some()
    }

    /// Applies the state of the server's response stream to ours. If the server pauses its stream, ours is paused
    /// as well, so that a capable client resumes it later.
    pub(crate) fn apply_flow(&self, id: &Id, flow: StreamState) {
        let mut table = self.lock();
        if let Some(position) = table.unanswered(id) {
            let stream = &mut table.streams[position];
            stream.is_streamed = true;
            stream.is_paused |= flow == StreamState::Paused;
            stream.wake();
        }
    }

    /// Opens the stream for messages that belong to no request, and continues after the last event that was read.
    /// The previous reader is replaced.
    pub(crate) fn listen(self: &Arc<Self>) -> StreamReader {
        let mut table = self.lock();
        self.open_general_stream(&mut table);
        table.readers += 1;
        let reader_id = table.readers;
        if let Some(stream) = table.by_number(GENERAL_STREAM) {
            stream.set_reader(reader_id);
        }
        StreamReader { streams: Arc::clone(self), number: GENERAL_STREAM, reader_id }
    }

    /// Resumes the stream of an event after that event. The previous reader is replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if this client never had such an event, or if its stream is no longer stored.
    pub(crate) fn resume(self: &Arc<Self>, last: &str) -> Result<StreamReader, UnknownEvent> {
        let id = EventId::parse(last).filter(|id| Some(id.client) == self.client.as_deref());
        let id = id.ok_or(UnknownEvent)?;
        let mut table = self.lock();
        table.readers += 1;
        let reader_id = table.readers;
        let stream = table.by_number(id.stream).filter(|stream| stream.is_resumable);
        let stream = stream.ok_or(UnknownEvent)?;
        if !stream.rewind_to(id.number) {
            return Err(UnknownEvent);
        }
        stream.set_reader(reader_id);
        Ok(StreamReader { streams: Arc::clone(self), number: id.stream, reader_id })
    }

    /// True if no request is pending and no stream is read.
    pub(crate) fn is_idle(&self) -> bool {
        let is_open = |stream: &ResponseStream| {
            stream.has_reader() || (stream.request.is_some() && !stream.is_answered)
        };
        !self.lock().streams.iter().any(is_open)
    }

    /// Begins to end the session. Current readers still receive their responses, but no stream can be resumed.
    pub(crate) fn begin_end(&self) {
        let mut table = self.lock();
        table.is_ending = true;
        while let Some(position) = table.streams.iter().position(|stream| !stream.has_reader()) {
            table.remove(position);
        }
    }

    /// Closes every stream. Responses that already arrived can still be read.
    pub(crate) fn end(&self) {
        let mut table = self.lock();
        let has_unread_response = |stream: &ResponseStream| {
            stream.is_answered && stream.has_reader() && stream.has_unread()
        };
        while let Some(position) =
            table.streams.iter().position(|stream| !has_unread_response(stream))
        {
            table.remove(position);
        }
    }

    /// Adds a message to its stream. If the limits are exceeded, it waits briefly for slow readers.
    pub(crate) async fn send(&self, incoming: Incoming) {
        if self.store(incoming).is_none() {
            return;
        }
        loop {
            let changed = self.has_changed.notified();
            let Some(deadline) = self.lock().enforce_limit() else { return };
            let _ = tokio::time::timeout_at(deadline, changed).await;
        }
    }

    /// Adds a message to its stream. The result is the time until which a slow reader may delay the server.
    fn store(&self, incoming: Incoming) -> Option<Instant> {
        let Incoming { message, about, .. } = incoming;
        let mut table = self.lock();
        let number = table.stream_for(&message, about.as_ref())?;
        if number == GENERAL_STREAM {
            self.open_general_stream(&mut table);
        }
        table.add(number, message)
    }

    /// Opens the stream for messages that belong to no request, if the client can read one.
    fn open_general_stream(&self, table: &mut StreamTable) {
        if self.client.is_some() && table.by_number(GENERAL_STREAM).is_none() {
            table.streams.insert(0, ResponseStream::new(GENERAL_STREAM, None));
            table.make_resumable(GENERAL_STREAM, false);
        }
    }

    /// Opens a stream and returns its reader.
    fn add_stream(
        self: &Arc<Self>,
        table: &mut StreamTable,
        mut stream: ResponseStream,
    ) -> StreamReader {
        table.readers += 1;
        let (number, reader_id) = (stream.number, table.readers);
        stream.set_reader(reader_id);
        table.streams.push(stream);
        StreamReader { streams: Arc::clone(self), number, reader_id }
    }
}

/// Reads the progress token of a request.
fn progress_token(request: &Message) -> Option<Id> {
    if !word::PROGRESS.is_in(request) {
        return None;
    }
    splice::id_at(request.text(), &["params", "_meta", "progressToken"])
}
