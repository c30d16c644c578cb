use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use answerback_mcp::wire::{Id, Message, Shape};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Sends messages to a server without blocking. Messages wait in a bounded queue while the server does not read.
#[derive(Debug)]
pub(super) struct OutboundQueue {
    state: Mutex<QueueState>,
    /// The largest number of queued messages.
    most: usize,
}

#[derive(Debug)]
struct QueueState {
    /// The channel to the server, or `None` once it is closed.
    to: Option<mpsc::Sender<Message>>,
    waiting: VecDeque<Message>,
    /// The task that sends the queued messages, while there are any.
    passing: Option<AbortHandle>,
}

/// Tells if a message was accepted for the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Told {
    /// The message was sent or queued.
    Sent,
    /// The server is gone.
    Gone,
    /// The server does not read and the queue is full.
    Full,
}

impl OutboundQueue {
    /// Creates a queue for at most `most` messages.
    pub(super) fn new(to: mpsc::Sender<Message>, most: usize) -> Arc<Self> {
        let state = QueueState { to: Some(to), waiting: VecDeque::new(), passing: None };
        Arc::new(Self { state: Mutex::new(state), most })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the server and preserves the order.
    pub(super) fn tell(self: &Arc<Self>, message: Message) -> Told {
        let mut state = self.lock();
        let Some(to) = &state.to else { return Told::Gone };
        let message = if state.passing.is_some() {
            message
        } else {
            match to.try_send(message) {
                Ok(()) => return Told::Sent,
                Err(mpsc::error::TrySendError::Closed(_)) => return Told::Gone,
                Err(mpsc::error::TrySendError::Full(message)) => message,
            }
        };
        if state.waiting.len() >= self.most {
            return Told::Full;
        }
        if state.passing.is_none() {
            let passing = tokio::spawn(Arc::clone(self).pass_on(to.clone()));
            state.passing = Some(passing.abort_handle());
        }
        state.waiting.push_back(message);
        Told::Sent
    }

    /// Removes a request that is still queued. Returns true if it was, so the server never received it.
    pub(super) fn take_back(&self, id: &Id) -> bool {
        let mut state = self.lock();
        let is_it = |message: &Message| matches!(message.shape(), Shape::Request { id: own, .. } if own == id);
        let place = state.waiting.iter().position(is_it);
        place.is_some_and(|place| state.waiting.remove(place).is_some())
    }

    /// Closes the channel. The server still receives the messages that were already sent.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.to = None;
        state.waiting.clear();
        if let Some(passing) = state.passing.take() {
            passing.abort();
        }
    }

    async fn pass_on(self: Arc<Self>, to: mpsc::Sender<Message>) {
        loop {
            let permit = to.reserve().await;
            let mut state = self.lock();
            let Ok(permit) = permit else {
                // The server is gone, so the queued messages cannot be answered.
                state.waiting.clear();
                state.passing = None;
                return;
            };
            match state.waiting.pop_front() {
                Some(message) => permit.send(message),
                None => {
                    state.passing = None;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: usize) -> Message {
        Message::read(format!(r#"{{"id":{id},"method":"m"}}"#)).unwrap()
    }

    fn id(message: &Message) -> Id {
        let Shape::Request { id, .. } = message.shape().clone() else { panic!("a request") };
        id
    }

    #[tokio::test]
    async fn what_waits_is_bounded_keeps_its_order_and_can_be_taken_back() {
        let (to, mut told) = mpsc::channel(1);
        let way = OutboundQueue::new(to, 2);
        let outcomes: Vec<Told> = (0..4).map(|number| way.tell(message(number))).collect();
        assert_eq!(outcomes, [Told::Sent, Told::Sent, Told::Sent, Told::Full]);
        assert!(way.take_back(&id(&message(1))) && !way.take_back(&id(&message(0))));
        assert_eq!(way.tell(message(5)), Told::Sent);
        for number in [0, 2, 5] {
            assert_eq!(told.recv().await.unwrap().text(), message(number).text());
        }
        way.close();
        assert!(told.recv().await.is_none(), "nobody keeps it open");
        assert_eq!(way.tell(message(6)), Told::Gone);
    }
}
