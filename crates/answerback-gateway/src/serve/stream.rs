use std::collections::VecDeque;
use std::task::{Poll, Waker};

use answerback_mcp::wire::{Id, Message, Shape, code};
use axum::body::Bytes;
use tokio::time::Instant;

use super::event::{self, EventId};
use super::stream_usage::StreamUsage;

/// What a reader has to read to be given time anew: who reads so much is slow, and who reads less stands still.
const CATCHING_UP: StreamUsage = StreamUsage { events: 128, bytes: 2 << 20 };

/// What is said about one request, or about none, in its order: what nobody has read yet, and what whoever comes back
/// may not have got.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any may come first"
)]
pub(super) struct Stream {
    pub(super) number: u64,
    /// The request that it is the answer to; none, where it is what belongs to no request.
    pub(super) request: Option<Id>,
    /// Their numbers have no holes.
    events: VecDeque<StreamEvent>,
    /// How much they are.
    size: StreamUsage,
    /// The number of the next event.
    next: u64,
    /// The number of the last event that was read.
    last: u64,
    /// Whether what was read of it is kept: its client may come back, once it has heard of an event.
    pub(super) is_kept: bool,
    /// Whether its client was told an id at once, and so comes back where it ends early.
    pub(super) is_primed: bool,
    /// Whether the server streams its answer.
    pub(super) is_streamed: bool,
    /// Whether the server has closed its own stream for now.
    pub(super) is_paused: bool,
    pub(super) is_answered: bool,
    reader: Option<StreamReader>,
}

#[derive(Debug)]
struct StreamEvent {
    number: u64,
    /// Which came before which, over all streams of a client.
    order: u64,
    content: StreamContent,
}

#[derive(Debug)]
enum StreamContent {
    Message(Message),
    /// An event that was read, as it was written.
    Sent {
        text: Bytes,
        is_answer: bool,
    },
    /// An answer that could not be kept.
    Lost,
}

/// Who reads a stream. One at a time: whoever comes later has the turn.
#[derive(Debug)]
struct StreamReader {
    turn: u64,
    waker: Option<Waker>,
    behind: Option<ReaderLag>,
}

/// Since when a reader is behind what there is room for, and what it has read since.
#[derive(Debug)]
struct ReaderLag {
    since: Instant,
    read: StreamUsage,
}

/// What the answer to a request is.
#[derive(Debug)]
pub(crate) enum Due {
    /// One message.
    Whole(Message),
    /// A stream.
    Stream,
    /// Nothing: the request was given up.
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

    /// Gives the turn to whoever reads from now on. Whoever read before has no more to hear.
    pub(super) fn hand_over(&mut self, turn: u64) {
        self.wake();
        // Who has come back is not sent away at once.
        self.is_paused = false;
        self.reader = Some(StreamReader { turn, waker: None, behind: None });
    }

    pub(super) fn is_turn_of(&self, turn: u64) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.turn == turn)
    }

    pub(super) const fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether its client has the id of an event to come back with. What belongs to no request is read without one, too.
    pub(super) const fn has_way_back(&self) -> bool {
        self.is_kept && (self.request.is_none() || self.is_primed || self.last > 0)
    }

    /// Takes the turn from whoever reads.
    pub(super) fn leave(&mut self) {
        self.wake();
        self.reader = None;
    }

    /// Has nobody woken until somebody asks again.
    pub(super) fn look_away(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.waker = None;
        }
    }

    /// Has whoever reads look again.
    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.reader.as_mut().and_then(|reader| reader.waker.take()) {
            waker.wake();
        }
    }

    /// Whether there is something left for whoever reads.
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

    /// How much it holds.
    pub(super) const fn size(&self) -> StreamUsage {
        self.size
    }

    /// How much whoever reads may lose: what they have not got, but for the last of it. Who has one message to read is
    /// not behind, however large it is.
    pub(super) fn losable(&self) -> Option<StreamUsage> {
        let mut unread = StreamUsage::default();
        for event in self.events.iter().rev().take_while(|event| event.number > self.last) {
            unread += StreamUsage::one(event.content.size());
        }
        (self.reader.is_some() && unread.events > 1).then_some(unread)
    }

    /// Since when whoever reads is behind: from now on, unless it was before.
    pub(super) fn behind_since(&mut self) -> Option<Instant> {
        let now = || ReaderLag { since: Instant::now(), read: StreamUsage::default() };
        Some(self.reader.as_mut()?.behind.get_or_insert_with(now).since)
    }

    /// Goes back to where a reader was, which has heard this event last. Says whether there was such an event.
    pub(super) fn go_back(&mut self, last: u64) -> bool {
        let was_there = last < self.next;
        if was_there {
            self.last = last;
        }
        was_there
    }

    /// The number of the first event that is there, or of the one to come.
    fn first(&self) -> u64 {
        self.events.front().map_or(self.next, |event| event.number)
    }

    /// What the answer is, as soon as that shows.
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

    /// The next message, which is not kept.
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

    /// The next event as it is written.
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

    /// Notes that whoever reads has read so much.
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

    /// When the oldest event came, if it may be forgotten: what a reader has not got yet may not. `has_size` leaves out
    /// what is nothing but a mark already.
    pub(super) fn oldest(&self, has_size: bool) -> Option<u64> {
        let event = self.events.front()?;
        let may_go = event.number <= self.last || self.reader.is_none();
        (may_go && (!has_size || event.content.size() > 0)).then_some(event.order)
    }

    /// Forgets the oldest event, but of an answer that there was one.
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

    /// Whether nobody will ask for it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_answered && self.events.is_empty()
    }
}

/// What is said in the place of an answer that could not be kept.
fn lost(request: Option<&Id>) -> Message {
    let text = "the answer came while nobody read it, and was too large or too old to be kept; the request was carried \
                out";
    Message::error(request, code::INTERNAL_ERROR, text, None)
}
