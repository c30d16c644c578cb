use std::collections::VecDeque;
use std::task::{Poll, Waker};

use answerback_mcp::wire::{Id, Message, Shape, code};
use axum::body::Bytes;
use tokio::time::Instant;

use super::event::{self, EventId};
use super::stream_usage::StreamUsage;

/// The amount that a slow reader must read to get more time. A reader that reads less has stalled.
const CATCHING_UP: StreamUsage = StreamUsage { events: 128, bytes: 2 << 20 };

/// Holds the messages about one request, or about none, in order. It stores unread messages, and read messages
/// that a resuming client may have missed.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub(super) struct Stream {
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
    pub(super) is_kept: bool,
    /// True if the client received an event id at the start. It then resumes a stream that ends early.
    pub(super) is_primed: bool,
    /// True if the server streams its response.
    pub(super) is_streamed: bool,
    /// True if the server has closed its own stream for now.
    pub(super) is_paused: bool,
    pub(super) is_answered: bool,
    reader: Option<StreamReader>,
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

/// Identifies the reader of a stream. There is only one, and a later reader replaces it.
#[derive(Debug)]
struct StreamReader {
    turn: u64,
    waker: Option<Waker>,
    behind: Option<ReaderLag>,
}

/// Tracks a reader that is too slow: the time at which that began, and the amount read since then.
#[derive(Debug)]
struct ReaderLag {
    since: Instant,
    read: StreamUsage,
}

/// Tells which kind of response a request gets.
#[derive(Debug)]
pub(crate) enum Due {
    /// A single message.
    Whole(Message),
    /// An event stream.
    Stream,
    /// No response, because the request was cancelled.
    Nothing,
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

impl Stream {
    pub(super) const fn new(number: u64, request: Option<Id>) -> Self {
        Self {
            number,
            request,
            events: VecDeque::new(),
            size: StreamUsage { events: 0, bytes: 0 },
            next: 1,
            last: 0,
            is_kept: false,
            is_primed: false,
            is_streamed: false,
            is_paused: false,
            is_answered: false,
            reader: None,
        }
    }

    /// Replaces the reader. The previous reader receives nothing more.
    pub(super) fn hand_over(&mut self, turn: u64) {
        self.wake();
        // A client that has just resumed the stream must not be disconnected again at once.
        self.is_paused = false;
        self.reader = Some(StreamReader { turn, waker: None, behind: None });
    }

    pub(super) fn is_turn_of(&self, turn: u64) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.turn == turn)
    }

    pub(super) const fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns true if the client has an event id to resume with. The stream for messages without a request can
    /// be read again without one.
    pub(super) const fn has_way_back(&self) -> bool {
        self.is_kept && (self.request.is_none() || self.is_primed || self.last > 0)
    }

    /// Removes the reader.
    pub(super) fn leave(&mut self) {
        self.wake();
        self.reader = None;
    }

    /// Removes the reader's waker until it polls again.
    pub(super) fn look_away(&mut self) {
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

    /// Returns true if there are unread events.
    pub(super) fn is_unread(&self) -> bool {
        self.last + 1 < self.next
    }

    /// Adds a message.
    pub(super) fn add(&mut self, message: Message, order: u64) {
        self.is_answered |= matches!(message.shape(), Shape::Response { .. });
        let content = StreamContent::Message(message);
        self.size += StreamUsage::one(content.size());
        self.events.push_back(StreamEvent { number: self.next, order, content });
        self.next += 1;
        self.wake();
    }

    /// Returns the amount of stored data.
    pub(super) const fn size(&self) -> StreamUsage {
        self.size
    }

    /// Returns the amount that the reader may lose: all unread events. Returns `None` if there is no reader, or
    /// only one unread event. A reader with one unread event is not late, even if that event is large.
    pub(super) fn losable(&self) -> Option<StreamUsage> {
        let mut unread = StreamUsage::default();
        for event in self.events.iter().rev().take_while(|event| event.number > self.last) {
            unread += StreamUsage::one(event.content.size());
        }
        (self.reader.is_some() && unread.events > 1).then_some(unread)
    }

    /// Returns the time since which the reader is late, and sets it to now if the reader was not late before.
    pub(super) fn behind_since(&mut self) -> Option<Instant> {
        let now = || ReaderLag { since: Instant::now(), read: StreamUsage::default() };
        Some(self.reader.as_mut()?.behind.get_or_insert_with(now).since)
    }

    /// Continues after the event with this number. Returns false if there was no such event.
    pub(super) fn go_back(&mut self, last: u64) -> bool {
        let was_there = last < self.next;
        if was_there {
            self.last = last;
        }
        was_there
    }

    /// Returns the number of the first stored event, or of the next one.
    fn first(&self) -> u64 {
        self.events.front().map_or(self.next, |event| event.number)
    }

    /// Returns the kind of response as soon as it is known.
    pub(super) fn poll_due(&mut self, waker: &Waker) -> Poll<Due> {
        match self.events.front().map(|event| &event.content) {
            _ if self.is_streamed => Poll::Ready(Due::Stream),
            None => self.wait(waker),
            Some(content) if !content.is_answer() => Poll::Ready(Due::Stream),
            Some(_) => match self.take() {
                Some(message) => Poll::Ready(Due::Whole(message)),
                None => Poll::Ready(Due::Stream),
            },
        }
    }

    /// Returns the next message and removes it.
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
        let size = StreamUsage::one(event.content.size());
        self.size -= size;
        self.last = event.number;
        self.has_read(size);
        match event.content {
            StreamContent::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Returns the next event as text.
    pub(super) fn poll_event(&mut self, client: &str, waker: &Waker) -> Poll<Option<Bytes>> {
        let first = self.first();
        if self.last + 1 < first {
            let lost = first - 1 - self.last;
            self.last = first - 1;
            return Poll::Ready(Some(event::gap(lost)));
        }
        let place = usize::try_from(self.last + 1 - first).unwrap_or(usize::MAX);
        let id = EventId { client, stream: self.number, number: self.last + 1 };
        let Some(found) = self.events.get_mut(place) else {
            if self.is_answered {
                return Poll::Ready(None);
            }
            if self.is_paused && self.is_primed {
                self.is_paused = false;
                self.leave();
                return Poll::Ready(None);
            }
            return self.wait(waker);
        };
        self.size -= StreamUsage::one(found.content.size());
        let text = match &found.content {
            StreamContent::Sent { text, .. } => text.clone(),
            StreamContent::Message(message) => event::message(&id, message),
            StreamContent::Lost => event::message(&id, &lost(self.request.as_ref())),
        };
        if let StreamContent::Message(_) = found.content {
            let is_answer = found.content.is_answer();
            found.content = StreamContent::Sent { text: text.clone(), is_answer };
        }
        let size = StreamUsage::one(found.content.size());
        self.size += size;
        self.last += 1;
        self.has_read(size);
        Poll::Ready(Some(text))
    }

    /// Records that the reader has read this amount.
    fn has_read(&mut self, size: StreamUsage) {
        let has_all = !self.is_unread();
        let Some(reader) = &mut self.reader else { return };
        if let Some(behind) = &mut reader.behind {
            behind.read += size;
            if has_all || behind.read.is_beyond(CATCHING_UP) {
                reader.behind = None;
            }
        }
    }

    fn wait<T>(&mut self, waker: &Waker) -> Poll<T> {
        if let Some(reader) = &mut self.reader {
            reader.waker = Some(waker.clone());
        }
        Poll::Pending
    }

    /// Returns the sequence number of the oldest event, if that event may be removed. Events that the reader has
    /// not read may not. `has_size` excludes the markers of lost responses.
    pub(super) fn oldest(&self, has_size: bool) -> Option<u64> {
        let event = self.events.front()?;
        let may_go = event.number <= self.last || self.reader.is_none();
        (may_go && (!has_size || event.content.size() > 0)).then_some(event.order)
    }

    /// Removes the oldest event. A response is replaced with a marker.
    pub(super) fn forget_oldest(&mut self) {
        let Some(event) = self.events.front_mut() else { return };
        self.size -= StreamUsage::one(event.content.size());
        if event.content.is_answer() && event.content.size() > 0 {
            event.content = StreamContent::Lost;
            self.size += StreamUsage::one(0);
        } else {
            self.events.pop_front();
        }
    }

    /// Returns true if the stream is answered and has no events left.
    pub(super) fn is_over(&self) -> bool {
        self.is_answered && self.events.is_empty()
    }
}

/// Builds the error that replaces a response that could not be stored.
fn lost(request: Option<&Id>) -> Message {
    let text = "the answer came while nobody read it, and was too large or too old to be kept; the request was carried \
                out";
    Message::error(request, code::INTERNAL_ERROR, text, None)
}
