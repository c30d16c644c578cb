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
use crate::running_calls::CallFuture;

/// The limits for the stored messages of a client: unread ones, and read ones that a resuming client may have
/// missed.
const KEPT: StreamUsage = StreamUsage { events: 256, bytes: 4 << 20 };
/// The time for which a slow reader may delay its server. Later output of the server waits as well, and may
/// include other responses.
const PATIENCE: Duration = Duration::from_millis(250);
/// The number of the stream for messages that belong to no request.
const OWN: u64 = 0;

/// Holds a client's open response streams and the stored events of resumable ones. Each message goes into the
/// stream that it belongs to.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Mutex<OpenStream>,
    /// Notifies waiters that an event was read or a stream was closed.
    has_changed: Notify,
    /// The prefix of event ids, if the client can resume its streams. Clients that share a connection cannot.
    client: Option<String>,
}

#[derive(Debug, Default)]
struct OpenStream {
    /// The streams in the order in which they were opened.
    streams: Vec<Stream>,
    /// Maps progress tokens to their requests.
    tokens: HashMap<Id, Id>,
    /// Count the streams, messages and readers so far.
    opened: u64,
    said: u64,
    turns: u64,
    /// The amount of stored data in all streams.
    held: StreamUsage,
    /// True if several clients share the streams. Such clients cannot be told about a gap.
    is_shared: bool,
    /// True if the session is ending, so that no stream can be resumed.
    is_ending: bool,
}

/// Reports that there is no stream to resume.
#[derive(Debug)]
pub(crate) struct NoSuchEvent;

impl OpenStream {
    fn by_number(&mut self, number: u64) -> Option<&mut Stream> {
        // The requested stream is mostly a recent one.
        self.streams.iter_mut().rev().find(|stream| stream.number == number)
    }

    /// Returns the position of an unanswered request.
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

    /// Removes the reader of a stream. The stream stays open if the client can resume it.
    fn let_go(&mut self, place: usize) {
        if self.streams[place].has_way_back() && !self.is_ending {
            self.streams[place].leave();
        } else {
            self.remove(place);
        }
        self.make_room();
    }

    /// Stores the events of a stream when its reader leaves.
    fn keep(&mut self, number: u64, is_primed: bool) {
        if let Some(stream) = self.by_number(number) {
            (stream.is_kept, stream.is_primed) = (true, is_primed);
        }
    }

    /// Runs a function on a stream and updates the total usage.
    fn with<T>(&mut self, place: usize, act: impl FnOnce(&mut Stream) -> T) -> T {
        let stream = &mut self.streams[place];
        self.held -= stream.size();
        let done = act(stream);
        self.held += stream.size();
        done
    }

    /// Removes the oldest events until the limits are met. Unread events of current readers are removed last,
    /// from the slowest reader first, and only after a grace period. Returns the end of that period if a reader
    /// still has time.
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

    /// Returns the position of the stream with the oldest removable event.
    fn oldest(&self) -> Option<usize> {
        let has_size = self.held.events <= KEPT.events;
        let streams = self.streams.iter().enumerate();
        let oldest = streams.filter_map(|(place, stream)| Some((stream.oldest(has_size)?, place)));
        oldest.min().map(|(_, place)| place)
    }

    /// Returns the position of the stream whose reader has the most unread data.
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

    /// Adds a message to a stream. Returns the time until which a slow reader is waited for, if there is one.
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

    /// Returns the stream that a message belongs to. Returns `None` if the message answers no open request.
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
        // A message about one client's request must not reach another client.
        if self.is_shared && (named.is_some() || is_progress(message)) {
            return None;
        }
        let read = || self.streams.iter().rev().filter(|it| !it.is_answered && it.has_reader());
        let own = || read().find(|it| it.number == OWN).map(|it| it.number);
        let newest = || read().find(|it| it.number != OWN).map(|it| it.number);
        let heard = match message.shape() {
            // A server mostly asks while it processes a call, and the newest call is the most likely one. All
            // calls have the same user.
            Shape::Request { .. } => newest().or_else(own),
            _ => own().or_else(newest),
        };
        // Without a reader, the message is stored for a later one.
        heard.or(Some(OWN))
    }
}

impl Streams {
    /// Creates the streams of one client, which can resume them. Its event ids begin with this unique word.
    pub(crate) fn of_client(word: String) -> Self {
        Self { open: Mutex::default(), has_changed: Notify::new(), client: Some(word) }
    }

    /// Creates the streams of several clients that share a connection to the servers.
    pub(crate) fn shared() -> Self {
        let open = OpenStream { is_shared: true, ..OpenStream::default() };
        Self { open: Mutex::new(open), has_changed: Notify::new(), client: None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OpenStream> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stream for a request. Returns `None` if a request with this id is open.
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

    /// Closes the stream of a cancelled request. Returns true if it was open.
    pub(crate) fn close(&self, id: &Id) -> bool {
        let mut open = self.lock();
        let place = open.request(id);
        if let Some(place) = place {
            open.remove(place);
            self.has_changed.notify_waiters();
        }
        place.is_some()
    }

    /// Returns true if a client reads the response or can resume its stream. A client that left without an event
    /// id never receives the response.
    pub(crate) fn is_waited_for(&self, id: &Id) -> bool {
        self.lock().request(id).is_some()
    }

    /// Returns true if a client can resume its streams.
    pub(crate) const fn can_resume(&self) -> bool {
        self.client.is_some()
    }

    /// Applies the state of the server's response stream to ours. If the server pauses its stream, ours is paused
    /// as well, so that a capable client resumes it later.
    pub(crate) fn flows(&self, id: &Id, flow: Flow) {
        let mut open = self.lock();
        if let Some(place) = open.request(id) {
            let stream = &mut open.streams[place];
            stream.is_streamed = true;
            stream.is_paused |= flow == Flow::Paused;
            stream.wake();
        }
    }

    /// Opens the stream for messages that belong to no request, and continues after the last event that was read.
    /// The previous reader is replaced.
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

    /// Resumes the stream of an event after that event. The previous reader is replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if this client never had such an event, or if its stream is no longer stored.
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

    /// Returns true if no request is pending and no stream is read.
    pub(crate) fn is_idle(&self) -> bool {
        let is_open = |stream: &Stream| {
            stream.has_reader() || (stream.request.is_some() && !stream.is_answered)
        };
        !self.lock().streams.iter().any(is_open)
    }

    /// Begins to end the session. Current readers still receive their responses, but no stream can be resumed.
    pub(crate) fn begin_end(&self) {
        let mut open = self.lock();
        open.is_ending = true;
        while let Some(place) = open.streams.iter().position(|stream| !stream.has_reader()) {
            open.remove(place);
        }
    }

    /// Closes every stream. Responses that already arrived can still be read.
    pub(crate) fn end(&self) {
        let mut open = self.lock();
        let is_wanted = |it: &Stream| it.is_answered && it.has_reader() && it.is_unread();
        while let Some(place) = open.streams.iter().position(|stream| !is_wanted(stream)) {
            open.remove(place);
        }
    }

    /// Adds a message to its stream. If the limits are exceeded, it waits briefly for slow readers.
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

    /// Creates the stream for messages that belong to no request, if the client can read one.
    fn own(&self, open: &mut OpenStream) {
        if self.client.is_some() && open.by_number(OWN).is_none() {
            open.streams.insert(0, Stream::new(OWN, None));
            open.keep(OWN, false);
        }
    }

    /// Opens a stream and returns its reader.
    fn read(self: &Arc<Self>, open: &mut OpenStream, mut stream: Stream) -> Told {
        open.turns += 1;
        let (number, turn) = (stream.number, open.turns);
        stream.hand_over(turn);
        open.streams.push(stream);
        Told { streams: Arc::clone(self), number, turn }
    }
}

/// Reads a stream until a later reader replaces it.
#[derive(Debug)]
pub(crate) struct Told {
    streams: Arc<Streams>,
    number: u64,
    turn: u64,
}

impl Told {
    /// Returns true if this is the stream for messages that belong to no request.
    pub(crate) const fn is_own(&self) -> bool {
        self.number == OWN
    }

    /// Waits until the kind of response is known. A single message is not stored. If `call` is given, it runs in
    /// the meantime.
    pub(crate) async fn due_of(&self, mut call: Option<CallFuture>) -> Due {
        poll_fn(|context| {
            if let Some(carried) = &mut call {
                // The stream is polled right after the call, so the call need not wake this task.
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

    /// Removes the waker until the next poll.
    fn look_away(&self) {
        let mut open = self.streams.lock();
        if let Some(place) = self.place(&open) {
            open.streams[place].look_away();
        }
    }

    /// Returns the next message, which cannot be resumed from. Returns `None` at the end of the stream.
    pub(crate) async fn message(&self) -> Option<Message> {
        poll_fn(|context| self.poll(None, |stream| stream.poll_message(context.waker()))).await
    }

    /// Begins an event stream, which stays stored if its reader leaves with an event id. A client that
    /// understands it receives an id at once and can then resume the stream.
    pub(crate) fn begin(&self, is_primed: bool) -> Option<Bytes> {
        let client = self.streams.client.as_deref()?;
        self.streams.lock().keep(self.number, is_primed);
        let id = EventId { client, stream: self.number, number: 0 };
        is_primed.then(|| event::priming(&id))
    }

    /// Ends the stream after its remaining events, so that the client resumes it.
    pub(crate) fn pause(&self) {
        let mut open = self.streams.lock();
        if let Some(stream) = open.by_number(self.number).filter(|it| it.is_turn_of(self.turn)) {
            stream.is_paused = true;
        }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub(crate) fn poll_event(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let client = self.streams.client.as_deref().unwrap_or_default();
        self.poll(None, |stream| stream.poll_event(client, context.waker()))
    }

    /// Polls the stream if it still exists and was not taken over. Otherwise returns `end`.
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

    /// Returns the position of the stream if it was not taken over.
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

/// Returns the id of the subscription that a notification belongs to.
fn subscription(notification: &Message) -> Option<Id> {
    if !word::SUBSCRIPTION.is_in(notification) {
        return None;
    }
    splice::id_at(notification.text(), &["params", "_meta", meta::SUBSCRIPTION])
}

/// Returns the progress token of a request.
fn progress_token(request: &Message) -> Option<Id> {
    if !word::PROGRESS.is_in(request) {
        return None;
    }
    splice::id_at(request.text(), &["params", "_meta", "progressToken"])
}

fn is_progress(message: &Message) -> bool {
    matches!(message.shape(), Shape::Notification { method } if method == "notifications/progress")
}

/// Returns the progress token of a notification.
fn told_token(notification: &Message) -> Option<Id> {
    splice::id_at(notification.text(), &["params", "progressToken"])
}

#[cfg(test)]
mod tests;
