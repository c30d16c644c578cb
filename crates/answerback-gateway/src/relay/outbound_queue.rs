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
    limit: usize,
}

#[derive(Debug)]
struct QueueState {
    /// The channel to the server, or `None` once it is closed.
    to: Option<mpsc::Sender<Message>>,
    waiting: VecDeque<Message>,
    /// The task that sends the queued messages, while there are any.
    sender_task: Option<AbortHandle>,
}

/// Reports if a message was accepted for the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SendOutcome {
    /// The message was sent or queued.
    Sent,
    /// The server is gone.
    Gone,
    /// The server does not read and the queue is full.
    Full,
}

impl OutboundQueue {
    /// Creates a queue for at most `most` messages.
    pub(super) fn new(to: mpsc::Sender<Message>, limit: usize) -> Arc<Self> {
        let state = QueueState { to: Some(to), waiting: VecDeque::new(), sender_task: None };
        Arc::new(Self { state: Mutex::new(state), limit })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the server and preserves the order.
    pub(super) fn send(self: &Arc<Self>, message: Message) -> SendOutcome {
        let mut state = self.lock();
        let Some(to) = &state.to else { return SendOutcome::Gone };
        let message = if state.sender_task.is_some() {
            message
        } else {
            match to.try_send(message) {
                Ok(()) => return SendOutcome::Sent,
                Err(mpsc::error::TrySendError::Closed(_)) => return SendOutcome::Gone,
                Err(mpsc::error::TrySendError::Full(message)) => message,
            }
        };
        if state.waiting.len() >= self.limit {
            return SendOutcome::Full;
        }
        if state.sender_task.is_none() {
            let sender_task = tokio::spawn(Arc::clone(self).drain(to.clone()));
            state.sender_task = Some(sender_task.abort_handle());
        }
        state.waiting.push_back(message);
        SendOutcome::Sent
    }

    /// Removes a request that is still queued. Returns true if it was, so the server never received it.
    pub(super) fn take_back(&self, id: &Id) -> bool {
        let mut state = self.lock();
        let is_it = |message: &Message| matches!(message.shape(), Shape::Request { id: own, .. } if own == id);
        let position = state.waiting.iter().position(is_it);
        position.is_some_and(|position| state.waiting.remove(position).is_some())
    }

    /// Closes the channel. The server still receives the messages that were already sent.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.to = None;
        state.waiting.clear();
        if let Some(sender_task) = state.sender_task.take() {
            sender_task.abort();
        }
    }

    async fn drain(self: Arc<Self>, to: mpsc::Sender<Message>) {
        loop {
            let permit = to.reserve().await;
            let mut state = self.lock();
            let Ok(permit) = permit else {
                // The server is gone, so the queued messages cannot be answered.
                state.waiting.clear();
                state.sender_task = None;
                return;
            };
            match state.waiting.pop_front() {
                Some(message) => permit.send(message),
                None => {
                    state.sender_task = None;
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
    async fn the_queue_is_bounded_ordered_and_revocable() {
        let (to, mut received) = mpsc::channel(1);
        let queue = OutboundQueue::new(to, 2);
        let outcomes: Vec<SendOutcome> = (0..4).map(|number| queue.send(message(number))).collect();
        assert_eq!(
            outcomes,
            [SendOutcome::Sent, SendOutcome::Sent, SendOutcome::Sent, SendOutcome::Full]
        );
        assert!(queue.take_back(&id(&message(1))) && !queue.take_back(&id(&message(0))));
        assert_eq!(queue.send(message(5)), SendOutcome::Sent);
        for number in [0, 2, 5] {
            assert_eq!(received.recv().await.unwrap().text(), message(number).text());
        }
        queue.close();
        assert!(received.recv().await.is_none(), "the channel is closed");
        assert_eq!(queue.send(message(6)), SendOutcome::Gone);
    }
}
