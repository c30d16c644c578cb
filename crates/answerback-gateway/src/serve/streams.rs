use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use answerback_mcp::link::{Flow, Incoming};
use answerback_mcp::wire::{Id, Message, Shape, meta, splice, word};
use axum::body::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::event::{self, EventId};
use super::stream::{Due, Stream};
use super::stream_usage::StreamUsage;
use crate::relay::CarriedCall;

/// How many messages of a client are held, and how many bytes: those that nobody has read, and those that whoever read
/// them may not have got.
const KEPT: StreamUsage = StreamUsage { events: 256, bytes: 4 << 20 };
/// How long a reader that is behind holds its server up. What is behind it in the server's output waits as long, and may
/// be the answers to others.
const PATIENCE: Duration = Duration::from_millis(250);
/// The number of the stream of what belongs to no request.
const OWN: u64 = 0;

/// The answers to a client that are open, and what is kept of those that it may come back to: a message goes into the
/// one that it belongs to.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Mutex<OpenStream>,
    /// Rung when something is read, or not wanted any more.
    has_changed: Notify,
    /// How the ids of events begin, where a client can come back to its streams. Several clients that share what comes
    /// cannot.
    client: Option<String>,
}

#[derive(Debug, Default)]
struct OpenStream {
    /// In the order in which they were opened.
    streams: Vec<Stream>,
    /// Which request a token of progress belongs to.
    tokens: HashMap<Id, Id>,
    /// How many streams, messages and readers there were.
    opened: u64,
    said: u64,
    turns: u64,
    /// How much all streams hold.
    held: StreamUsage,
    /// Whether several clients share them, of which none can be told of a gap.
    is_shared: bool,
    /// Whether the session ends, so that nobody comes back to anything.
    is_ending: bool,
}

/// A stream to go on with that there is not.
#[derive(Debug)]
pub(crate) struct NoSuchEvent;

impl OpenStream {
    fn by_number(&mut self, number: u64) -> Option<&mut Stream> {
        // What is asked for was mostly opened last.
        self.streams.iter_mut().rev().find(|stream| stream.number == number)
    }

    /// The place of a request that has not been answered.
    fn request(&self, id: &Id) -> Option<usize> {
        let is_it = |stream: &Stream| !stream.is_answered && stream.request.as_ref() == Some(id);
        self.streams.iter().position(is_it)
    }

    fn forget_token(&mut self, id: &Id) {
        if !self.tokens.is_empty() {
            self.tokens.retain(|_, request| request != id);
        }
    }

    fn remove(&mut self, place: usize) {
        let mut stream = self.streams.remove(place);
        self.held -= stream.size();
        stream.leave();
        if let Some(id) = stream.request.as_ref().filter(|_| !stream.is_answered) {
            self.forget_token(id);
        }
    }

    /// Lets go of the reader of a stream. The stream goes on without it, where somebody can come back to it.
    fn let_go(&mut self, place: usize) {
        if self.streams[place].has_way_back() && !self.is_ending {
            self.streams[place].leave();
        } else {
            self.remove(place);
        }
        self.make_room();
    }

    /// Keeps what a stream has, and what comes, when its reader leaves.
    fn keep(&mut self, number: u64, is_primed: bool) {
        if let Some(stream) = self.by_number(number) {
            (stream.is_kept, stream.is_primed) = (true, is_primed);
        }
    }

    /// Does something to a stream, and counts anew what it holds.
    fn with<T>(&mut self, place: usize, act: impl FnOnce(&mut Stream) -> T) -> T {
        let stream = &mut self.streams[place];
        self.held -= stream.size();
        let done = act(stream);
        self.held += stream.size();
        done
    }

    /// Forgets the oldest of what is held until it is within its bound. What readers have not got is the last to go, of
    /// those that are furthest behind first, and only when they had their time: says until when one of them has.
    fn make_room(&mut self) -> Option<Instant> {
        while self.held.is_beyond(KEPT) {
            if let Some(place) = self.oldest() {
                self.forget_oldest(place);
                continue;
            }
            let place = self.furthest_behind()?;
            let until = self.streams[place].behind_since()? + PATIENCE;
            if Instant::now() < until {
                return Some(until);
            }
            if self.is_shared {
                tracing::warn!("a client does not read its answer, which is cut off");
                self.remove(place);
            } else {
                tracing::debug!("a client does not read its answer, and misses the oldest of it");
                self.forget_oldest(place);
            }
        }
        None
    }

    /// Where the oldest event is that may be forgotten.
    fn oldest(&self) -> Option<usize> {
        let has_size = self.held.events <= KEPT.events;
        let streams = self.streams.iter().enumerate();
        let oldest = streams.filter_map(|(place, stream)| Some((stream.oldest(has_size)?, place)));
        oldest.min().map(|(_, place)| place)
    }

    /// The stream whose reader has the most to read.
    fn furthest_behind(&self) -> Option<usize> {
        let is_large = self.held.bytes > KEPT.bytes;
        let most = |unread: StreamUsage| if is_large { unread.bytes } else { unread.events };
        let streams = self.streams.iter().enumerate();
        let behind = streams.filter_map(|(place, stream)| Some((most(stream.losable()?), place)));
        behind.max().map(|(_, place)| place)
    }

    fn forget_oldest(&mut self, place: usize) {
        self.with(place, Stream::forget_oldest);
        if self.streams[place].is_over() {
            self.remove(place);
        }
    }

    /// Adds a message to a stream. Says until when one that is behind is waited for.
    fn add(&mut self, number: u64, message: Message) -> Option<Instant> {
        self.said += 1;
        let order = self.said;
        if let Shape::Response { id } = message.shape() {
            self.forget_token(id);
        }
        let place = self.streams.iter().rposition(|stream| stream.number == number)?;
        self.with(place, |stream| stream.add(message, order));
        self.make_room()
    }

    /// The stream that a message belongs to; none, where it answers nothing that is open.
    fn place(&self, message: &Message, about: Option<&Id>) -> Option<u64> {
        let at = |place: usize| self.streams[place].number;
        if let Shape::Response { id } = message.shape() {
            return self.request(id).map(at);
        }
        let named = about.cloned().or_else(|| match message.shape() {
            Shape::Notification { .. } if is_progress(message) => {
                self.tokens.get(&told_token(message)?).cloned()
            }
            Shape::Notification { .. } => subscription(message),
            _ => None,
        });
        if let Some(place) = named.as_ref().and_then(|id| self.request(id)) {
            return Some(at(place));
        }
        // What one client's request was about is no other client's business.
        if self.is_shared && (named.is_some() || is_progress(message)) {
            return None;
        }
        let read = || self.streams.iter().rev().filter(|it| !it.is_answered && it.has_reader());
        let own = || read().find(|it| it.number == OWN).map(|it| it.number);
        let newest = || read().find(|it| it.number != OWN).map(|it| it.number);
        let heard = match message.shape() {
            // A server asks while it works on something, and the newest is the likeliest. The person is the same.
            Shape::Request { .. } => newest().or_else(own),
            _ => own().or_else(newest),
        };
        // Nobody listens; somebody may yet.
        heard.or(Some(OWN))
    }
}

impl Streams {
    /// The answers to one client, which can come back to them: the ids of their events begin with this word, which no
    /// other client's do.
    pub(crate) fn of_client(word: String) -> Self {
        Self { open: Mutex::default(), has_changed: Notify::new(), client: Some(word) }
    }

    /// The answers to several clients, on one connection to their servers.
    pub(crate) fn shared() -> Self {
        let open = OpenStream { is_shared: true, ..OpenStream::default() };
        Self { open: Mutex::new(open), has_changed: Notify::new(), client: None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OpenStream> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the answer to a request; nothing, when one of this id is open.
    pub(crate) fn open(self: &Arc<Self>, request: &Message, id: &Id) -> Option<Told> {
        let token = progress_token(request);
        let mut open = self.lock();
        if open.request(id).is_some() {
            return None;
        }
        if let Some(token) = token {
            open.tokens.insert(token, id.clone());
        }
        open.opened += 1;
        let stream = Stream::new(open.opened, Some(id.clone()));
        Some(self.read(&mut open, stream))
    }

    /// Forgets the answer to a request, because nobody wants it. Says whether it was open.
    pub(crate) fn close(&self, id: &Id) -> bool {
        let mut open = self.lock();
        let place = open.request(id);
        if let Some(place) = place {
            open.remove(place);
            self.has_changed.notify_waiters();
        }
        place.is_some()
    }

    /// Whether the answer to a request is waited for: somebody reads it, or can come back to read it. A client that left
    /// without an event to come back with never hears it.
    pub(crate) fn is_waited_for(&self, id: &Id) -> bool {
        self.lock().request(id).is_some()
    }

    /// Whether a client can come back to its streams.
    pub(crate) const fn can_resume(&self) -> bool {
        self.client.is_some()
    }

    /// Notes what becomes of the stream that the server answers a request with. Ours is one, too; and where the server
    /// lets us go, to be asked for the rest, we let a client go that can do so.
    pub(crate) fn flows(&self, id: &Id, flow: Flow) {
        let mut open = self.lock();
        if let Some(place) = open.request(id) {
            let stream = &mut open.streams[place];
            stream.is_streamed = true;
            stream.is_paused |= flow == Flow::Paused;
            stream.wake();
        }
    }

    /// Reads what belongs to no request, from where it was read last. Whoever did so before does no longer.
    pub(crate) fn listen(self: &Arc<Self>) -> Told {
        let mut open = self.lock();
        self.own(&mut open);
        open.turns += 1;
        let turn = open.turns;
        if let Some(stream) = open.by_number(OWN) {
            stream.hand_over(turn);
        }
        Told { streams: Arc::clone(self), number: OWN, turn }
    }

    /// Goes on with the stream of an event, behind it. Whoever read that stream before does no longer.
    ///
    /// # Errors
    ///
    /// When this client has no such event, or had it so long ago that nothing is known of its stream any more.
    pub(crate) fn resume(self: &Arc<Self>, last: &str) -> Result<Told, NoSuchEvent> {
        let id = EventId::read(last).filter(|id| Some(id.client) == self.client.as_deref());
        let id = id.ok_or(NoSuchEvent)?;
        let mut open = self.lock();
        open.turns += 1;
        let turn = open.turns;
        let stream = open.by_number(id.stream).filter(|stream| stream.is_kept);
        let stream = stream.ok_or(NoSuchEvent)?;
        if !stream.go_back(id.number) {
            return Err(NoSuchEvent);
        }
        stream.hand_over(turn);
        Ok(Told { streams: Arc::clone(self), number: id.stream, turn })
    }

    /// Whether no request is under way and nobody listens.
    pub(crate) fn is_idle(&self) -> bool {
        let is_open = |stream: &Stream| {
            stream.has_reader() || (stream.request.is_some() && !stream.is_answered)
        };
        !self.lock().streams.iter().any(is_open)
    }

    /// Begins the end of a session: whoever reads is answered, and nobody comes back.
    pub(crate) fn begin_end(&self) {
        let mut open = self.lock();
        open.is_ending = true;
        while let Some(place) = open.streams.iter().position(|stream| !stream.has_reader()) {
            open.remove(place);
        }
    }

    /// Ends every stream. What was answered is still read.
    pub(crate) fn end(&self) {
        let mut open = self.lock();
        let is_wanted = |it: &Stream| it.is_answered && it.has_reader() && it.is_unread();
        while let Some(place) = open.streams.iter().position(|stream| !is_wanted(stream)) {
            open.remove(place);
        }
    }

    /// Puts a message where it belongs. Where that is more than may be held, whoever does not read is waited for, but not
    /// for long.
    pub(crate) async fn send(&self, said: Incoming) {
        if self.put(said).is_none() {
            return;
        }
        loop {
            let changed = self.has_changed.notified();
            let Some(until) = self.lock().make_room() else { return };
            let _ = tokio::time::timeout_at(until, changed).await;
        }
    }

    fn put(&self, said: Incoming) -> Option<Instant> {
        let Incoming { message, about, .. } = said;
        let mut open = self.lock();
        let number = open.place(&message, about.as_ref())?;
        if number == OWN {
            self.own(&mut open);
        }
        open.add(number, message)
    }

    /// A stream for what belongs to no request, where somebody may ever listen.
    fn own(&self, open: &mut OpenStream) {
        if self.client.is_some() && open.by_number(OWN).is_none() {
            open.streams.insert(0, Stream::new(OWN, None));
            open.keep(OWN, false);
        }
    }

    /// Opens a stream for whoever reads it.
    fn read(self: &Arc<Self>, open: &mut OpenStream, mut stream: Stream) -> Told {
        open.turns += 1;
        let (number, turn) = (stream.number, open.turns);
        stream.hand_over(turn);
        open.streams.push(stream);
        Told { streams: Arc::clone(self), number, turn }
    }
}

/// Whoever reads a stream, as long as it is their turn.
#[derive(Debug)]
pub(crate) struct Told {
    streams: Arc<Streams>,
    number: u64,
    turn: u64,
}

impl Told {
    /// Whether it is the stream of what belongs to no request.
    pub(crate) const fn is_own(&self) -> bool {
        self.number == OWN
    }

    /// What the answer to a request is, as soon as that shows. One that is whole is not kept. A call that is given is carried
    /// meanwhile.
    pub(crate) async fn due_of(&self, mut call: Option<CarriedCall>) -> Due {
        poll_fn(|context| {
            if let Some(carried) = &mut call {
                // What comes of it is looked for right behind it: nobody has to be woken for that.
                self.look_away();
                if Pin::new(carried).poll(context).is_ready() {
                    call = None;
                }
            }
            self.poll_due(context)
        })
        .await
    }

    fn poll_due(&self, context: &mut Context<'_>) -> Poll<Due> {
        self.poll(Due::Nothing, |stream| stream.poll_due(context.waker()))
    }

    /// Is not woken any more until it is asked again.
    fn look_away(&self) {
        let mut open = self.streams.lock();
        if let Some(place) = self.place(&open) {
            open.streams[place].look_away();
        }
    }

    /// The next message, which nobody can come back to; nothing, when there will be none.
    pub(crate) async fn message(&self) -> Option<Message> {
        poll_fn(|context| self.poll(None, |stream| stream.poll_message(context.waker()))).await
    }

    /// Begins a stream, which is kept when its reader leaves with the id of an event. A client that understands it hears
    /// one at once, and can come back from then on.
    pub(crate) fn begin(&self, is_primed: bool) -> Option<Bytes> {
        let client = self.streams.client.as_deref()?;
        self.streams.lock().keep(self.number, is_primed);
        let id = EventId { client, stream: self.number, number: 0 };
        is_primed.then(|| event::priming(&id))
    }

    /// Leaves, and lets the client come back, unless there is something to read.
    pub(crate) fn pause(&self) {
        let mut open = self.streams.lock();
        if let Some(stream) = open.by_number(self.number).filter(|it| it.is_turn_of(self.turn)) {
            stream.is_paused = true;
        }
    }

    /// The next event; nothing, when there will be none.
    pub(crate) fn poll_event(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let client = self.streams.client.as_deref().unwrap_or_default();
        self.poll(None, |stream| stream.poll_event(client, context.waker()))
    }

    /// Asks the stream, as long as it is there and it is our turn.
    fn poll<T>(&self, end: T, ask: impl FnOnce(&mut Stream) -> Poll<T>) -> Poll<T> {
        let mut open = self.streams.lock();
        let Some(place) = self.place(&open) else { return Poll::Ready(end) };
        let asked = open.with(place, ask);
        if asked.is_ready() {
            open.make_room();
            self.streams.has_changed.notify_waiters();
        }
        asked
    }

    /// Where our stream is, as long as it is our turn.
    fn place(&self, open: &OpenStream) -> Option<usize> {
        let is_ours =
            |stream: &Stream| stream.number == self.number && stream.is_turn_of(self.turn);
        open.streams.iter().rposition(is_ours)
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        if let Some(place) = self.place(&open) {
            open.let_go(place);
            self.streams.has_changed.notify_waiters();
        }
    }
}

/// The request by which a client subscribed to what a notification tells.
fn subscription(notification: &Message) -> Option<Id> {
    if !word::SUBSCRIPTION.is_in(notification) {
        return None;
    }
    splice::id_at(notification.text(), &["params", "_meta", meta::SUBSCRIPTION])
}

/// The token by which a request wants to hear of progress.
fn progress_token(request: &Message) -> Option<Id> {
    if !word::PROGRESS.is_in(request) {
        return None;
    }
    splice::id_at(request.text(), &["params", "_meta", "progressToken"])
}

fn is_progress(message: &Message) -> bool {
    matches!(message.shape(), Shape::Notification { method } if method == "notifications/progress")
}

/// The token that a notification of progress has.
fn told_token(notification: &Message) -> Option<Id> {
    splice::id_at(notification.text(), &["params", "progressToken"])
}

#[cfg(test)]
mod tests;
