use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use answerback_mcp::wire::{Id, Message};
use tokio::sync::oneshot;

/// The prefix of the ids of our own requests, on both sides.
const PREFIX: &str = "answerback";

/// Names the side that must answer a request of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RequestRecipient {
    Client,
    Server,
}

/// Holds the gateway's own pending requests to both sides.
#[derive(Debug)]
pub(super) struct OwnRequests {
    pending: Mutex<HashMap<Id, (RequestRecipient, oneshot::Sender<Message>)>>,
    /// The unguessable prefix of the ids of our own requests.
    prefix: String,
    next_number: AtomicU64,
}

impl OwnRequests {
    /// Creates an empty set. Without randomness there is no client either, so no relay uses the default prefix.
    pub(super) fn new() -> Self {
        let random: [u8; 8] = answerback_store::system::random().unwrap_or_default();
        Self {
            pending: Mutex::default(),
            prefix: format!("{PREFIX}/{:016x}", u64::from_be_bytes(random)),
            next_number: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, (RequestRecipient, oneshot::Sender<Message>)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns its id and the receiver for its response.
    pub(super) fn add(&self, recipient: RequestRecipient) -> (Id, oneshot::Receiver<Message>) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let id = Id::of_text(&format!("{}/{number}", self.prefix));
        let (sender, response) = oneshot::channel();
        self.lock().insert(id.clone(), (recipient, sender));
        (id, response)
    }

    /// Removes a request and returns the sender that waits for its response, if the response comes from the side
    /// that must answer it.
    pub(super) fn take(
        &self,
        id: &Id,
        sender: RequestRecipient,
    ) -> Option<oneshot::Sender<Message>> {
        let mut pending = self.lock();
        let is_expected = pending.get(id).is_some_and(|(recipient, _)| *recipient == sender);
        if is_expected { pending.remove(id).map(|(_, response)| response) } else { None }
    }

    /// Removes a request. A later response is dropped.
    pub(super) fn remove(&self, id: &Id) {
        self.lock().remove(id);
    }

    /// Removes the requests to one side, because it has left.
    pub(super) fn remove_all_to(&self, side: RequestRecipient) {
        self.lock().retain(|_, (recipient, _)| *recipient != side);
    }

    /// Removes all requests.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns true if this is the id of a request of ours.
    pub(super) fn has_issued(&self, id: &Id) -> bool {
        let text = id.as_json().strip_prefix('"');
        text.and_then(|text| text.strip_prefix(&self.prefix)).is_some_and(|it| it.starts_with('/'))
    }
}
