use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};

use answerback_mcp::wire::{Id, Message, Shape, code};
use axum::body::Bytes;
use tokio::sync::Notify;

use super::event::{self, EventId};

/// How many messages may wait for a reader.
const WAITING: usize = 64;

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
    events: VecDeque<Event>,
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
    reader: Option<Reader>,
    /// Rung when something is read.
    room: Option<Arc<Notify>>,
}

#[derive(Debug)]
struct Event {
    number: u64,
    /// Which came before which, over all streams of a client.
    order: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
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
struct Reader {
    turn: u64,
    waker: Option<Waker>,
}

/// Room in a stream for one more message.
pub(super) enum Room {
    Free,
    /// There is none; this is rung when something is read.
    None(Arc<Notify>),
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

impl Content {
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
            next: 1,
            last: 0,
            is_kept: false,
            is_primed: false,
            is_streamed: false,
            is_paused: false,
            is_answered: false,
            reader: None,
            room: None,
        }
    }

    /// Gives the turn to whoever reads from now on. Whoever read before has no more to hear.
    pub(super) fn hand_over(&mut self, turn: u64) {
        self.wake();
        // Who has come back is not sent away at once.
        self.is_paused = false;
        self.reader = Some(Reader { turn, waker: None });
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
        if let Some(room) = &self.room {
            room.notify_waiters();
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

    /// Whether a message may be added: nobody is run ahead of far who reads.
    pub(super) fn room(&mut self) -> Room {
        let unread = usize::try_from(self.next - 1 - self.last).unwrap_or(usize::MAX);
        if self.reader.is_none() || unread < WAITING {
            return Room::Free;
        }
        Room::None(Arc::clone(self.room.get_or_insert_default()))
    }

    /// Adds a message, and says how large it is.
    pub(super) fn add(&mut self, message: Message, order: u64) -> usize {
        self.is_answered |= matches!(message.shape(), Shape::Response { .. });
        let content = Content::Message(message);
        let size = content.size();
        self.events.push_back(Event { number: self.next, order, content });
        self.next += 1;
        self.wake();
        size
    }

    /// How many events there are, and how large they are.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.events.len(), self.events.iter().map(|event| event.content.size()).sum())
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
        if !matches!(self.events.front()?.content, Content::Message(_)) {
            return None;
        }
        let event = self.events.pop_front()?;
        self.last = event.number;
        self.has_read();
        match event.content {
            Content::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The next event as it is written. Also, by how many bytes what is kept has grown.
    pub(super) fn poll_event(
        &mut self,
        client: &str,
        waker: &Waker,
    ) -> Poll<Option<(Bytes, isize)>> {
        let first = self.first();
        if self.last + 1 < first {
            let lost = first - 1 - self.last;
            self.last = first - 1;
            return Poll::Ready(Some((event::gap(lost), 0)));
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
        let before = found.content.size();
        let text = match &found.content {
            Content::Sent { text, .. } => text.clone(),
            Content::Message(message) => event::message(&id, message),
            Content::Lost => event::message(&id, &lost(self.request.as_ref())),
        };
        if let Content::Message(_) = found.content {
            let is_answer = found.content.is_answer();
            found.content = Content::Sent { text: text.clone(), is_answer };
        }
        let grown = isize::try_from(found.content.size()).unwrap_or(0)
            - isize::try_from(before).unwrap_or(0);
        self.last += 1;
        self.has_read();
        Poll::Ready(Some((text, grown)))
    }

    fn has_read(&self) {
        if let Some(room) = &self.room {
            room.notify_one();
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

    /// Forgets the oldest event, but of an answer that there was one. Says how many events and bytes that is.
    pub(super) fn forget_oldest(&mut self) -> (usize, usize) {
        let Some(event) = self.events.front_mut() else { return (0, 0) };
        let size = event.content.size();
        if event.content.is_answer() && size > 0 {
            event.content = Content::Lost;
            return (0, size);
        }
        self.events.pop_front();
        (1, size)
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
