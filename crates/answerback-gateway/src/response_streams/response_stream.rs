use std::collections::VecDeque;
use std::task::{Poll, Waker};

use answerback_mcp::wire::{Id, Message, Shape, code};
use axum::body::Bytes;
use tokio::time::Instant;

use super::sse_event::{self, EventId};
use super::stream_usage::StreamUsage;

/// The amount that a slow reader must read to get more time. A reader that reads less has stalled.
const PROGRESS_REQUIRED: StreamUsage = StreamUsage { events: 128, bytes: 2 << 20 };

/// The messages about one request, or about none, in order. It stores unread messages, and read messages
/// that a resuming client may have missed.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub(super) struct ResponseStream {
    pub(super) number: u64,
    /// The request that the stream answers. It is `None` for messages that belong to no request.
    pub(super) request: Option<Id>,
    /// The stored events, with consecutive numbers.
    events: VecDeque<StreamEvent>,
    /// The amount of stored data.
    size: StreamUsage,
    /// The number of the next event.
    next: u64,
    /// The number of the last event that was read.
    last: u64,
    /// True if read events stay stored, because the client may resume the stream.
    pub(super) is_resumable: bool,
    /// True if the client received an event id at the start. It then resumes a stream that ends early.
    pub(super) is_primed: bool,
    /// True if the server streams its response.
    pub(super) is_streamed: bool,
    /// True if the server has closed its own stream for now.
    pub(super) is_paused: bool,
    pub(super) is_answered: bool,
    reader: Option<ReaderState>,
}

#[derive(Debug)]
struct StreamEvent {
    number: u64,
    /// The sequence number over all streams of a client.
    order: u64,
    content: StreamContent,
}

#[derive(Debug)]
enum StreamContent {
    Message(Message),
    /// An event that was read, as text.
    Sent {
        text: Bytes,
        is_answer: bool,
    },
    /// The marker for a response that could not be stored.
    Lost,
}

/// The reader of a stream. There is only one, and a later reader replaces it.
#[derive(Debug)]
struct ReaderState {
    reader_id: u64,
    waker: Option<Waker>,
    lag: Option<ReaderLag>,
}

/// Tracks a reader that is too slow: the time at which that began, and the amount read since then.
#[derive(Debug)]
struct ReaderLag {
    since: Instant,
    read: StreamUsage,
}

/// The kind of response that a request gets.
#[derive(Debug)]
pub(crate) enum ResponseKind {
    /// A single message.
    Single(Message),
    /// An event stream.
    Stream,
    /// No response, because the request was cancelled.
    None,
}

impl StreamContent {
    fn size(&self) -> usize {
        match self {
            Self::Message(message) => message.text().len(),
            Self::Sent { text, .. } => text.len(),
            Self::Lost => 0,
        }
    }

    fn is_answer(&self) -> bool {
        match self {
            Self::Message(message) => matches!(message.shape(), Shape::Response { .. }),
            Self::Sent { is_answer, .. } => *is_answer,
            Self::Lost => true,
        }
    }
}

impl ResponseStream {
    pub(super) const fn new(number: u64, request: Option<Id>) -> Self {
        Self {
            number,
            request,
            events: VecDeque::new(),
            size: StreamUsage { events: 0, bytes: 0 },
            next: 1,
            last: 0,
            is_resumable: false,
            is_primed: false,
            is_streamed: false,
            is_paused: false,
            is_answered: false,
            reader: None,
        }
    }

    /// Replaces the reader. The previous reader receives nothing more.
    pub(super) fn set_reader(&mut self, reader_id: u64) {
        self.wake();
        // A client that has just resumed the stream must not be disconnected again at once.
        self.is_paused = false;
        self.reader = Some(ReaderState { reader_id, waker: None, lag: None });
    }

    pub(super) fn is_current_reader(&self, reader_id: u64) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.reader_id == reader_id)
    }

    pub(super) const fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// True if the client has an event id to resume with. The stream for messages without a request can
    /// be read again without one.
    pub(super) const fn can_be_resumed(&self) -> bool {
        self.is_resumable && (self.request.is_none() || self.is_primed || self.last > 0)
    }

    /// Removes the reader.
    pub(super) fn remove_reader(&mut self) {
        self.wake();
        self.reader = None;
    }

    /// Removes the reader's waker until it polls again.
    pub(super) fn clear_waker(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.waker = None;
        }
    }

    /// Wakes the reader.
    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.reader.as_mut().and_then(|reader| reader.waker.take()) {
            waker.wake();
        }
    }

    /// True if there are unread events.
    pub(super) fn has_unread(&self) -> bool {
        self.last + 1 < self.next
    }

    /// Adds a message.
    pub(super) fn add(&mut self, message: Message, order: u64) {
        self.is_answered |= matches!(message.shape(), Shape::Response { .. });
        let content = StreamContent::Message(message);
        self.size += StreamUsage::of_event(content.size());
        self.events.push_back(StreamEvent { number: self.next, order, content });
        self.next += 1;
        self.wake();
    }

    /// The amount of stored data.
    pub(super) const fn size(&self) -> StreamUsage {
        self.size
    }

    /// The amount that the reader may lose: all unread events. It is `None` if there is no reader, or only one
    /// unread event. A reader with one unread event is not late, even if that event is large.
    pub(super) fn unread_usage(&self) -> Option<StreamUsage> {
        let mut unread = StreamUsage::default();
        for event in self.events.iter().rev().take_while(|event| event.number > self.last) {
            unread += StreamUsage::of_event(event.content.size());
        }
        (self.reader.is_some() && unread.events > 1).then_some(unread)
    }

    /// The time since which the reader is late. It is set to now if the reader was not late before.
    pub(super) fn lagging_since(&mut self) -> Option<Instant> {
        let now = || ReaderLag { since: Instant::now(), read: StreamUsage::default() };
        Some(self.reader.as_mut()?.lag.get_or_insert_with(now).since)
    }

    /// Continues after the event with this number. Returns false if there was no such event.
    pub(super) fn rewind_to(&mut self, last: u64) -> bool {
        let exists = last < self.next;
        if exists {
            self.last = last;
        }
        exists
    }

    /// The number of the first stored event, or of the next one.
    fn first(&self) -> u64 {
        self.events.front().map_or(self.next, |event| event.number)
    }

    /// Resolves to the kind of response as soon as it is known.
    pub(super) fn poll_kind(&mut self, waker: &Waker) -> Poll<ResponseKind> {
        match self.events.front().map(|event| &event.content) {
            _ if self.is_streamed => Poll::Ready(ResponseKind::Stream),
            None => self.wait(waker),
            Some(content) if !content.is_answer() => Poll::Ready(ResponseKind::Stream),
            Some(_) => match self.take() {
                Some(message) => Poll::Ready(ResponseKind::Single(message)),
                None => Poll::Ready(ResponseKind::Stream),
            },
        }
    }

    /// Resolves to the next message and removes it.
    pub(super) fn poll_message(&mut self, waker: &Waker) -> Poll<Option<Message>> {
        match self.take() {
            Some(message) => Poll::Ready(Some(message)),
            None if self.is_answered => Poll::Ready(None),
            None => self.wait(waker),
        }
    }

    fn take(&mut self) -> Option<Message> {
        if !matches!(self.events.front()?.content, StreamContent::Message(_)) {
            return None;
        }
        let event = self.events.pop_front()?;
        let size = StreamUsage::of_event(event.content.size());
        self.size -= size;
        self.last = event.number;
        self.record_read(size);
        match event.content {
            StreamContent::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Resolves to the next event as text.
    pub(super) fn poll_event(&mut self, client: &str, waker: &Waker) -> Poll<Option<Bytes>> {
        let first = self.first();
        if self.last + 1 < first {
            let lost = first - 1 - self.last;
            self.last = first - 1;
            return Poll::Ready(Some(sse_event::gap_event(lost)));
        }
        let position = usize::try_from(self.last + 1 - first).unwrap_or(usize::MAX);
        let id = EventId { client, stream: self.number, number: self.last + 1 };
        let Some(event) = self.events.get_mut(position) else {
            if self.is_answered {
                return Poll::Ready(None);
            }
            if self.is_paused && self.is_primed {
                self.is_paused = false;
                self.remove_reader();
                return Poll::Ready(None);
            }
            return self.wait(waker);
        };
        self.size -= StreamUsage::of_event(event.content.size());
        let text = match &event.content {
            StreamContent::Sent { text, .. } => text.clone(),
            StreamContent::Message(message) => sse_event::message_event(&id, message),
            StreamContent::Lost => {
                sse_event::message_event(&id, &response_not_stored(self.request.as_ref()))
            }
        };
        if let StreamContent::Message(_) = event.content {
            let is_answer = event.content.is_answer();
            event.content = StreamContent::Sent { text: text.clone(), is_answer };
        }
        let size = StreamUsage::of_event(event.content.size());
        self.size += size;
        self.last += 1;
        self.record_read(size);
        Poll::Ready(Some(text))
    }

    /// Records that the reader has read this amount.
    fn record_read(&mut self, size: StreamUsage) {
        let has_all = !self.has_unread();
        let Some(reader) = &mut self.reader else { return };
        if let Some(lag) = &mut reader.lag {
            lag.read += size;
            if has_all || lag.read.exceeds(PROGRESS_REQUIRED) {
                reader.lag = None;
            }
        }
    }

    fn wait<T>(&mut self, waker: &Waker) -> Poll<T> {
        if let Some(reader) = &mut self.reader {
            reader.waker = Some(waker.clone());
        }
        Poll::Pending
    }

    /// The sequence number of the oldest event, if that event may be removed. Events that the reader has
    /// not read may not. `has_size` excludes the markers of lost responses.
    pub(super) fn oldest_removable(&self, has_size: bool) -> Option<u64> {
        let event = self.events.front()?;
        let is_removable = event.number <= self.last || self.reader.is_none();
        (is_removable && (!has_size || event.content.size() > 0)).then_some(event.order)
    }

    /// Removes the oldest event. A response is replaced with a marker.
    pub(super) fn remove_oldest(&mut self) {
        let Some(event) = self.events.front_mut() else { return };
        self.size -= StreamUsage::of_event(event.content.size());
        if event.content.is_answer() && event.content.size() > 0 {
            event.content = StreamContent::Lost;
            self.size += StreamUsage::of_event(0);
        } else {
            self.events.pop_front();
        }
    }

    /// True if the stream is answered and has no events left.
    pub(super) fn is_finished(&self) -> bool {
        self.is_answered && self.events.is_empty()
    }
}

/// Builds the error that replaces a response that could not be stored.
fn response_not_stored(request: Option<&Id>) -> Message {
    let text = "the response arrived while no client read it, and was too large or too old to be stored; the request was \
                carried out";
    Message::error(request, code::INTERNAL_ERROR, text, None)
}
