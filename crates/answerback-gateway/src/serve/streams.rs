use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use answerback_mcp::link::Incoming;
use answerback_mcp::wire::{Id, Message, Shape, meta, splice, word};
use tokio::sync::mpsc;

/// How many messages may wait in one answer.
const WAITING: usize = 64;
/// How many messages are kept for a client that does not listen.
const KEPT: usize = 64;
/// How long a client may take to read what fills its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may where others wait meanwhile.
const SHARED_PATIENCE: Duration = Duration::from_millis(250);

/// The answers to a client that are open: a message goes into the one that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Open>,
    /// Whether several clients share what comes: then one that does not read is not waited for.
    is_shared: bool,
}

#[derive(Debug, Default)]
struct Open {
    /// In the order in which they were opened.
    requests: Vec<(Id, mpsc::Sender<Message>)>,
    /// Which request a token of progress belongs to.
    tokens: HashMap<Id, Id>,
    /// What belongs to no request.
    own: Option<mpsc::Sender<Message>>,
    /// What came while nobody listened.
    kept: VecDeque<Message>,
}

impl Open {
    fn request(&self, id: &Id) -> Option<&mpsc::Sender<Message>> {
        self.requests.iter().find(|(request, _)| request == id).map(|(_, sender)| sender)
    }

    fn close(&mut self, id: &Id) -> Option<mpsc::Sender<Message>> {
        let place = self.requests.iter().position(|(request, _)| request == id)?;
        self.tokens.retain(|_, request| request != id);
        Some(self.requests.remove(place).1)
    }
}

impl Streams {
    /// The answers to several clients, on one connection to their servers.
    pub(crate) fn shared() -> Self {
        Self { is_shared: true, ..Self::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the answer to a request; nothing, when one of this id is open.
    pub(crate) fn open(&self, request: &Message, id: &Id) -> Option<mpsc::Receiver<Message>> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let token = progress_token(request);
        let mut open = self.lock();
        if open.request(id).is_some() {
            return None;
        }
        if let Some(token) = token {
            open.tokens.insert(token, id.clone());
        }
        open.requests.push((id.clone(), sender));
        Some(receiver)
    }

    /// Forgets the answer to a request, because nobody reads it. Says whether it was open.
    pub(crate) fn close(&self, id: &Id) -> bool {
        self.lock().close(id).is_some()
    }

    /// Opens the stream for what belongs to no request. One that was open is closed.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Message> {
        let (sender, receiver) = mpsc::channel(WAITING.max(KEPT));
        let mut open = self.lock();
        for message in open.kept.drain(..) {
            // There is room for all that is kept.
            let _ = sender.try_send(message);
        }
        open.own = Some(sender);
        receiver
    }

    /// Whether no answer is open and nobody listens.
    pub(crate) fn is_idle(&self) -> bool {
        let open = self.lock();
        open.requests.is_empty() && open.own.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// Ends every stream.
    pub(crate) fn end(&self) {
        *self.lock() = Open::default();
    }

    /// Puts a message where it belongs.
    pub(crate) async fn send(&self, said: Incoming) {
        let Incoming { message, about, .. } = said;
        let Some(to) = self.place(&message, about.as_ref()) else {
            return self.keep(message);
        };
        // A full answer is waited for a while: it is its client that does not read.
        match to.try_send(message) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Closed(message)) => self.keep(message),
            Err(mpsc::error::TrySendError::Full(message)) => {
                let patience = if self.is_shared { SHARED_PATIENCE } else { PATIENCE };
                if tokio::time::timeout(patience, to.send(message)).await.is_err() {
                    tracing::warn!("a client does not read its answer, which is cut off");
                    self.cut(&to);
                }
            }
        }
    }

    /// Where a message belongs; nothing, where nobody listens.
    fn place(&self, message: &Message, about: Option<&Id>) -> Option<mpsc::Sender<Message>> {
        let mut open = self.lock();
        if let Shape::Response { id } = message.shape() {
            return open.close(id);
        }
        let named = about.cloned().or_else(|| match message.shape() {
            Shape::Notification { method } if method == "notifications/progress" => {
                open.tokens.get(&told_token(message)?).cloned()
            }
            Shape::Notification { .. } => subscription(message),
            _ => None,
        });
        if let Some(sender) = named.and_then(|id| open.request(&id).cloned()) {
            return Some(sender);
        }
        let own = open.own.clone().filter(|own| !own.is_closed());
        let newest = || open.requests.last().map(|(_, sender)| sender.clone());
        match message.shape() {
            // A server asks while it works on something, and the newest is the likeliest. The person is the same.
            Shape::Request { .. } => newest().or(own),
            _ => own.or_else(newest),
        }
    }

    /// Keeps a message for whoever listens next. An answer that nobody waits for is of no use to anybody.
    fn keep(&self, message: Message) {
        if matches!(message.shape(), Shape::Response { .. }) {
            return;
        }
        let mut open = self.lock();
        if open.kept.len() == KEPT {
            tracing::warn!("nobody listens; the oldest message is dropped");
            open.kept.pop_front();
        }
        open.kept.push_back(message);
    }

    fn cut(&self, stream: &mpsc::Sender<Message>) {
        let mut open = self.lock();
        open.requests.retain(|(_, sender)| !sender.same_channel(stream));
        if open.own.as_ref().is_some_and(|own| own.same_channel(stream)) {
            open.own = None;
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

    #[tokio::test]
    async fn each_message_goes_where_it_belongs() {
        let streams = Streams::default();
        let (first, first_id) = request(1, r#""_meta":{"progressToken":"t"}"#);
        let (second, second_id) = request(2, "");
        let mut one = streams.open(&first, &first_id).unwrap();
        let mut two = streams.open(&second, &second_id).unwrap();
        assert!(streams.open(&first, &first_id).is_none(), "an id is open once");
        let log = r#"{"method":"notifications/message"}"#;
        let ask = r#"{"id":"s","method":"elicitation/create"}"#;
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
        for (text, about) in [(progress, None), (ask, None), (log, Some(&first_id)), (log, None)] {
            let about = about.cloned();
            let said = match about {
                Some(id) => Incoming::about(message(text), id),
                None => Incoming::from(message(text)),
            };
            streams.send(said).await;
        }
        assert_eq!(one.recv().await.unwrap().text(), progress);
        assert_eq!(one.recv().await.unwrap().text(), log);
        assert_eq!(two.recv().await.unwrap().text(), ask);
        assert_eq!(two.recv().await.unwrap().text(), log);
        let mut own = streams.listen();
        streams.send(message(log).into()).await;
        assert_eq!(own.recv().await.unwrap().text(), log);
        let answer = r#"{"id":2,"result":{}}"#;
        streams.send(message(answer).into()).await;
        assert_eq!(two.recv().await.unwrap().text(), answer);
        assert!(two.recv().await.is_none(), "the answer is the end");
    }

    #[tokio::test]
    async fn what_nobody_hears_is_kept_up_to_a_bound() {
        let streams = Streams::default();
        for number in 0..=KEPT {
            let text = format!(r#"{{"method":"m{number}"}}"#);
            streams.send(message(&text).into()).await;
        }
        streams.send(message(r#"{"id":9,"result":{}}"#).into()).await;
        let mut own = streams.listen();
        assert_eq!(own.recv().await.unwrap().text(), r#"{"method":"m1"}"#);
        assert!(!streams.is_idle());
        drop(own);
        assert!(streams.is_idle());
    }
}
