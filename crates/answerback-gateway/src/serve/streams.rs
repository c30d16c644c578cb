use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use answerback_mcp::link::{Flow, Incoming};
use answerback_mcp::wire::{Id, Message, Shape, meta, splice, word};
use axum::body::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::amount::Amount;
use super::event::{self, EventId};
use super::stream::{Due, Stream};

/// How many messages of a client are held, and how many bytes: those that nobody has read, and those that whoever read
/// them may not have got.
const KEPT: Amount = Amount { events: 256, bytes: 4 << 20 };
/// How long a reader that is behind holds its server up. What is behind it in the server's output waits as long, and may
/// be the answers to others.
const PATIENCE: Duration = Duration::from_millis(250);
/// The number of the stream of what belongs to no request.
const OWN: u64 = 0;

/// The answers to a client that are open, and what is kept of those that it may come back to: a message goes into the
/// one that it belongs to.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Mutex<Open>,
    /// Rung when something is read, or not wanted any more.
    has_changed: Notify,
    /// How the ids of events begin, where a client can come back to its streams. Several clients that share what comes
    /// cannot.
    client: Option<String>,
}

#[derive(Debug, Default)]
struct Open {
    /// In the order in which they were opened.
    streams: Vec<Stream>,
    /// Which request a token of progress belongs to.
    tokens: HashMap<Id, Id>,
    /// How many streams, messages and readers there were.
    opened: u64,
    said: u64,
    turns: u64,
    /// How much all streams hold.
    held: Amount,
    /// Whether several clients share them, of which none can be told of a gap.
    is_shared: bool,
    /// Whether the session ends, so that nobody comes back to anything.
    is_ending: bool,
}

/// A stream to go on with that there is not.
#[derive(Debug)]
pub(crate) struct NoSuchEvent;

impl Open {
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
        let most = |unread: Amount| if is_large { unread.bytes } else { unread.events };
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
        let open = Open { is_shared: true, ..Open::default() };
        Self { open: Mutex::new(open), has_changed: Notify::new(), client: None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
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
    fn own(&self, open: &mut Open) {
        if self.client.is_some() && open.by_number(OWN).is_none() {
            open.streams.insert(0, Stream::new(OWN, None));
            open.keep(OWN, false);
        }
    }

    /// Opens a stream for whoever reads it.
    fn read(self: &Arc<Self>, open: &mut Open, mut stream: Stream) -> Told {
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

    /// What the answer to a request is, as soon as that shows. One that is whole is not kept.
    pub(crate) async fn due(&self) -> Due {
        poll_fn(|context| self.poll(Due::Nothing, |stream| stream.poll_due(context.waker()))).await
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
    fn place(&self, open: &Open) -> Option<usize> {
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
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::read(text.to_owned()).unwrap()
    }

    fn request(id: u8, rest: &str) -> (Message, Id) {
        let text = format!(r#"{{"id":{id},"method":"tools/call","params":{{{rest}}}}}"#);
        let message = message(&text);
        let Shape::Request { id, .. } = message.shape().clone() else { panic!("{text}") };
        (message, id)
    }

    fn streams() -> Arc<Streams> {
        Arc::new(Streams::of_client("c".to_owned()))
    }

    fn opened(streams: &Arc<Streams>, id: u8) -> Told {
        let (message, id) = request(id, "");
        streams.open(&message, &id).unwrap()
    }

    async fn say(streams: &Streams, text: &str) {
        streams.send(message(text).into()).await;
    }

    async fn say_about(streams: &Streams, text: &str, id: u8) {
        streams.send(Incoming::about(message(text), request(id, "").1)).await;
    }

    /// The next event; nothing, where the stream ends.
    async fn event(told: &Told) -> Option<String> {
        let bytes = poll_fn(|context| told.poll_event(context)).await?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn written(id: &str, text: &str) -> String {
        format!("id: {id}\nevent: message\ndata: {text}\n\n")
    }

    const LOG: &str = r#"{"method":"notifications/message"}"#;

    #[tokio::test]
    async fn each_message_goes_where_it_belongs() {
        let streams = streams();
        let (first, first_id) = request(1, r#""_meta":{"progressToken":"t"}"#);
        let one = streams.open(&first, &first_id).unwrap();
        let two = opened(&streams, 2);
        assert!(streams.open(&first, &first_id).is_none(), "an id is open once");
        let ask = r#"{"id":"s","method":"elicitation/create"}"#;
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
        say(&streams, progress).await;
        say(&streams, ask).await;
        say_about(&streams, LOG, 1).await;
        say(&streams, LOG).await;
        assert_eq!(one.message().await.unwrap().text(), progress);
        assert_eq!(one.message().await.unwrap().text(), LOG);
        assert_eq!(two.message().await.unwrap().text(), ask);
        assert_eq!(two.message().await.unwrap().text(), LOG);
        let own = streams.listen();
        say(&streams, LOG).await;
        assert_eq!(event(&own).await.unwrap(), written("c-0-1", LOG));
        let answer = r#"{"id":2,"result":{}}"#;
        say(&streams, answer).await;
        assert_eq!(two.message().await.unwrap().text(), answer);
        assert!(two.message().await.is_none(), "the answer is the end");
    }

    #[tokio::test]
    async fn an_answer_is_whole_unless_there_is_more_to_say_or_the_server_streams() {
        let streams = streams();
        let (first, second, third) =
            (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3));
        say_about(&streams, LOG, 2).await;
        streams.flows(&request(3, "").1, Flow::Begun);
        for id in 1..=3 {
            say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
        }
        assert!(matches!(first.due().await, Due::Whole(_)));
        assert!(matches!(second.due().await, Due::Stream));
        assert!(matches!(third.due().await, Due::Stream));
        drop(first);
        assert!(streams.resume("c-1-0").is_err(), "nobody comes back to what was whole");
    }

    #[tokio::test]
    async fn whoever_comes_back_hears_the_rest_of_that_stream_and_nothing_else() {
        let streams = streams();
        let (one, two) = (opened(&streams, 1), opened(&streams, 2));
        assert_eq!(one.begin(true).unwrap(), "id: c-1-0\nretry: 1000\ndata: \n\n");
        two.begin(true);
        say_about(&streams, LOG, 1).await;
        assert_eq!(event(&one).await.unwrap(), written("c-1-1", LOG));
        drop(one);
        let (more, answer) = (r#"{"method":"m"}"#, r#"{"id":1,"result":{}}"#);
        say_about(&streams, more, 1).await;
        say_about(&streams, r#"{"method":"other"}"#, 2).await;
        let back = streams.resume("c-1-1").unwrap();
        assert_eq!(event(&back).await.unwrap(), written("c-1-2", more));
        drop(back);
        say(&streams, answer).await;
        assert!(streams.open(&request(1, "").0, &request(1, "").1).is_some(), "it was answered");
        // From the beginning, from the middle, and when all was heard.
        let told = [written("c-1-1", LOG), written("c-1-2", more), written("c-1-3", answer)];
        for last in 0..=3 {
            let back = streams.resume(&format!("c-1-{last}")).unwrap();
            for expected in &told[last..] {
                assert_eq!(event(&back).await.as_ref(), Some(expected), "after {last}");
            }
            assert_eq!(event(&back).await, None, "the answer is the end");
        }
    }

    #[tokio::test]
    async fn ids_that_this_client_never_had_lead_nowhere() {
        let streams = streams();
        let told = opened(&streams, 1);
        assert!(streams.resume("c-1-0").is_err(), "it is no stream yet");
        told.begin(true);
        for id in ["", "nonsense", "d-1-0", "c-1-1", "c-2-0", "c-0-0", "c-01-0", "C-1-0"] {
            assert!(streams.resume(id).is_err(), "{id}");
        }
        assert!(streams.resume("c-1-0").is_ok());
    }

    #[tokio::test]
    async fn of_two_readers_the_later_one_hears() {
        let streams = streams();
        let first = opened(&streams, 1);
        first.begin(true);
        let second = streams.resume("c-1-0").unwrap();
        say_about(&streams, LOG, 1).await;
        assert_eq!(event(&first).await, None);
        // Its leaving is not that of the one who came after it.
        drop(first);
        assert_eq!(event(&second).await.unwrap(), written("c-1-1", LOG));
        say(&streams, r#"{"id":1,"result":{}}"#).await;
        assert!(event(&second).await.unwrap().contains("result"));
        let (one, two) = (streams.listen(), streams.listen());
        say(&streams, LOG).await;
        assert_eq!(event(&one).await, None);
        assert_eq!(event(&two).await.unwrap(), written("c-0-1", LOG));
    }

    #[tokio::test]
    async fn what_nobody_hears_is_kept_up_to_a_bound_and_the_gap_is_told() {
        let streams = streams();
        for number in 1..=KEPT.events + 3 {
            say(&streams, &format!(r#"{{"method":"m{number}"}}"#)).await;
        }
        say(&streams, r#"{"id":9,"result":{}}"#).await;
        let own = streams.listen();
        assert_eq!(event(&own).await.unwrap(), "event: gap\ndata: {\"lost\":3}\n\n");
        assert_eq!(event(&own).await.unwrap(), written("c-0-4", r#"{"method":"m4"}"#));
        assert!(!streams.is_idle());
        drop(own);
        assert!(streams.is_idle());
        // Who comes back to what is gone is told, too.
        let back = streams.resume("c-0-1").unwrap();
        assert_eq!(event(&back).await.unwrap(), "event: gap\ndata: {\"lost\":2}\n\n");
        let within = streams.lock().held;
        assert!(within.events <= KEPT.events && within.bytes <= KEPT.bytes, "{within:?}");
    }

    #[tokio::test]
    async fn an_answer_too_large_to_be_kept_is_told_as_lost() {
        let streams = streams();
        let (one, two) = (opened(&streams, 1), opened(&streams, 2));
        one.begin(true);
        two.begin(true);
        drop(one);
        drop(two);
        let pad = "x".repeat(KEPT.bytes);
        say(&streams, &format!(r#"{{"id":1,"result":{{"pad":"{pad}"}}}}"#)).await;
        say(&streams, r#"{"id":2,"result":{}}"#).await;
        assert_eq!(streams.lock().held.events, 2);
        let back = streams.resume("c-1-0").unwrap();
        let lost = event(&back).await.unwrap();
        assert!(lost.starts_with("id: c-1-1\n") && lost.contains(r#""id":1,"error""#), "{lost}");
        assert_eq!(event(&back).await, None);
        let back = streams.resume("c-2-0").unwrap();
        assert_eq!(event(&back).await.unwrap(), written("c-2-1", r#"{"id":2,"result":{}}"#));
    }

    #[tokio::test]
    async fn a_client_that_never_comes_back_leaves_little_behind() {
        let streams = streams();
        let text = format!(r#"{{"method":"m","params":"{}"}}"#, "x".repeat(64 << 10));
        for id in 0..=255 {
            let told = opened(&streams, id);
            told.begin(true);
            drop(told);
            say_about(&streams, &text, id).await;
            say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
        }
        assert!(streams.is_idle(), "nothing is under way");
        let open = streams.lock();
        assert!(open.held.events <= KEPT.events && open.held.bytes <= KEPT.bytes);
        let counted: usize = open.streams.iter().map(|stream| stream.size().bytes).sum();
        assert_eq!(counted, open.held.bytes, "what is counted is what there is");
        assert!(open.streams.len() <= KEPT.events);
    }

    /// What all streams hold, counted one by one.
    fn held(streams: &Streams) -> Amount {
        let open = streams.lock();
        let mut held = Amount::default();
        for stream in &open.streams {
            held += stream.size();
        }
        assert_eq!(held, open.held, "what is counted is what there is");
        held
    }

    fn large(number: usize, bytes: usize) -> String {
        format!(r#"{{"method":"m{number}","params":"{}"}}"#, "x".repeat(bytes))
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_reader_does_not_read_is_within_the_bound_and_the_gap_is_told() {
        let streams = streams();
        let told = opened(&streams, 1);
        told.begin(true);
        for number in 1..=60 {
            say_about(&streams, &large(number, 1 << 20), 1).await;
            assert!(!held(&streams).is_beyond(KEPT));
        }
        say(&streams, r#"{"id":1,"result":{}}"#).await;
        assert_eq!(event(&told).await.unwrap(), "event: gap\ndata: {\"lost\":57}\n\n");
        for number in 58..=60 {
            let heard = event(&told).await.unwrap();
            assert!(heard.contains(&format!(r#""m{number}""#)), "{number}");
        }
        assert!(event(&told).await.unwrap().contains("result"), "an answer is not lost");
        assert_eq!(event(&told).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn one_message_is_read_however_large_it_is() {
        let streams = streams();
        let (one, two) = (opened(&streams, 1), opened(&streams, 2));
        for told in [&one, &two] {
            told.begin(true);
        }
        for id in 1..=2 {
            say_about(&streams, &large(1, 2 * KEPT.bytes), id).await;
        }
        for (told, id) in [(&one, 1), (&two, 2)] {
            assert!(event(told).await.unwrap().len() > KEPT.bytes);
            say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
            assert!(event(told).await.unwrap().contains("result"));
        }
        assert!(!held(&streams).is_beyond(KEPT));
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_misses_nothing_and_who_does_not_is_waited_for_once() {
        let streams = streams();
        let (idle, busy) = (opened(&streams, 1), opened(&streams, 2));
        for told in [&idle, &busy] {
            told.begin(true);
        }
        let began = Instant::now();
        for number in 1..=2 * KEPT.events {
            say_about(&streams, &large(number, 100), 1).await;
        }
        assert_eq!(began.elapsed(), PATIENCE, "not once more for each message");
        let said = async {
            for number in 1..=4 * KEPT.events {
                say_about(&streams, &large(number, 100), 2).await;
            }
        };
        let heard = async {
            for number in 1..=4 * KEPT.events {
                // It reads when there is much to read.
                if number % (KEPT.events / 2) == 1 {
                    tokio::time::sleep(PATIENCE / 5).await;
                }
                let heard = event(&busy).await.unwrap();
                assert!(heard.contains(&format!(r#""m{number}""#)), "{number}: {heard}");
            }
        };
        tokio::join!(said, heard);
        assert!(event(&idle).await.unwrap().starts_with("event: gap\n"));
        assert!(!held(&streams).is_beyond(KEPT));
    }

    #[tokio::test]
    async fn a_server_that_closes_its_stream_has_ours_closed_where_its_client_can_come_back() {
        let streams = streams();
        // Before it began, and with a message that was said before.
        let told = opened(&streams, 1);
        say_about(&streams, LOG, 1).await;
        streams.flows(&request(1, "").1, Flow::Paused);
        assert!(matches!(told.due().await, Due::Stream));
        told.begin(true);
        assert_eq!(event(&told).await.unwrap(), written("c-1-1", LOG));
        assert_eq!(event(&told).await, None);
        drop(told);
        let back = streams.resume("c-1-1").unwrap();
        say(&streams, r#"{"id":1,"result":{}}"#).await;
        assert!(event(&back).await.unwrap().contains("result"));
        // A client that knows no event has nothing to come back with.
        let told = opened(&streams, 2);
        told.begin(false);
        streams.flows(&request(2, "").1, Flow::Paused);
        say(&streams, r#"{"id":2,"result":{}}"#).await;
        assert!(event(&told).await.unwrap().contains("result"));
    }

    #[tokio::test]
    async fn an_answer_is_waited_for_by_whoever_reads_or_can_come_back() {
        let streams = streams();
        let is_waited_for = |id| streams.is_waited_for(&request(id, "").1);
        let (whole, unheard, heard, primed) =
            (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3), opened(&streams, 4));
        for (told, is_primed) in [(&unheard, false), (&heard, false), (&primed, true)] {
            told.begin(is_primed);
        }
        say_about(&streams, LOG, 2).await;
        say_about(&streams, LOG, 3).await;
        assert!(event(&heard).await.is_some());
        assert!((1..=4).all(is_waited_for) && !is_waited_for(5));
        drop((whole, unheard, heard, primed));
        assert_eq!([1, 2, 3, 4].map(is_waited_for), [false, false, true, true]);
        say(&streams, r#"{"id":3,"result":{}}"#).await;
        assert!(!is_waited_for(3), "it was answered");
        // With its session nobody comes back, and whoever reads is answered.
        let read = opened(&streams, 6);
        read.begin(true);
        streams.begin_end();
        assert_eq!([4, 6].map(is_waited_for), [false, true]);
        drop(read);
        assert!(!is_waited_for(6) && streams.lock().streams.is_empty());
        assert_eq!(streams.lock().held.events, 0);
    }

    #[tokio::test]
    async fn what_is_given_up_is_forgotten_and_what_was_answered_is_read_to_its_end() {
        let streams = streams();
        let (one, two) = (opened(&streams, 1), opened(&streams, 2));
        one.begin(true);
        assert!(streams.close(&request(1, "").1) && !streams.close(&request(1, "").1));
        assert_eq!(event(&one).await, None);
        assert!(streams.resume("c-1-0").is_err());
        say(&streams, r#"{"id":2,"result":{}}"#).await;
        streams.end();
        assert!(matches!(two.due().await, Due::Whole(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn of_clients_that_share_what_comes_one_that_does_not_read_is_cut_off() {
        let streams = Arc::new(Streams::shared());
        let (request, id) = request(1, r#""_meta":{"progressToken":"t"}"#);
        let (idle, other) = (streams.open(&request, &id).unwrap(), opened(&streams, 2));
        let progress = |bytes| {
            let pad = "x".repeat(bytes);
            format!(
                r#"{{"method":"notifications/progress","params":{{"progressToken":"t","message":"{pad}"}}}}"#
            )
        };
        for _ in 1..=60 {
            say(&streams, &progress(1 << 20)).await;
            assert!(!held(&streams).is_beyond(KEPT));
        }
        assert!(idle.message().await.is_none());
        // What was about it is not told to another.
        say(&streams, &progress(1)).await;
        say_about(&streams, LOG, 1).await;
        let answer = r#"{"id":2,"result":{}}"#;
        say(&streams, answer).await;
        assert_eq!(other.message().await.unwrap().text(), answer);
    }

    #[tokio::test]
    async fn clients_that_share_what_comes_have_nothing_to_come_back_to() {
        let streams = Arc::new(Streams::shared());
        let told = opened(&streams, 1);
        assert!(told.begin(true).is_none());
        drop(told);
        assert!(streams.resume("-1-0").is_err());
        say(&streams, LOG).await;
        assert!(streams.lock().streams.is_empty());
    }
}
