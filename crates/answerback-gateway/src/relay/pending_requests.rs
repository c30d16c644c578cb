use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use answerback_mcp::wire::{Id, Message, meta, splice, word};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The only request that stays open until the client closes it.
const LISTEN: &str = "subscriptions/listen";

/// Selects how the response to a client's request is processed.
pub(super) enum ResponseHandling {
    /// The response is forwarded unchanged.
    Forward,
    Initialize,
    Tasks,
    Tools {
        is_whole: bool,
        is_modern: bool,
    },
}

impl ResponseHandling {
    /// Returns how the response to a request is processed.
    fn of(method: &str, message: &Message) -> Self {
        match method {
            "initialize" | "server/discover" => Self::Initialize,
            "tasks/list" => Self::Tasks,
            "tools/list" => {
                let at = |path: &[&str]| splice::at(message.text(), path);
                let cursor = at(&["params", "cursor"]).filter(|cursor| *cursor != "null");
                let is_modern = at(&["params", "_meta", meta::VERSION]).is_some();
                Self::Tools { is_whole: cursor.is_none(), is_modern }
            }
            _ => Self::Forward,
        }
    }
}

/// Holds a pending request of the client.
pub(super) struct PendingRequest {
    handling: ResponseHandling,
    /// True if the request stays open until the client closes it.
    pub(super) is_subscription: bool,
    activity: RequestActivity,
    /// The task that ends the request after its timeout.
    timer: Option<AbortHandle>,
}

impl PendingRequest {
    pub(super) fn of(method: &str, message: &Message) -> Self {
        Self {
            handling: ResponseHandling::of(method, message),
            is_subscription: method == LISTEN,
            activity: RequestActivity::of(message),
            timer: None,
        }
    }
}

/// Holds the time of the last message about a request, and the request's progress token.
pub(super) struct RequestActivity {
    last_message: Instant,
    token: Option<Id>,
}

impl RequestActivity {
    pub(super) fn of(request: &Message) -> Self {
        let token = word::PROGRESS
            .is_in(request)
            .then(|| splice::id_at(request.text(), &["params", "_meta", "progressToken"]));
        Self { last_message: Instant::now(), token: token.flatten() }
    }

    pub(super) const fn last_message(&self) -> Instant {
        self.last_message
    }

    /// Sets the time of the last message if it is about this request, or has the request's progress token.
    pub(super) fn record(&mut self, id: &Id, about: Option<&Id>, token: Option<&Id>, now: Instant) {
        if about == Some(id) || token.is_some() && self.token.as_ref() == token {
            self.last_message = now;
        }
    }
}

/// Holds the pending requests other than calls: those of the client, and those of the server to the client.
#[derive(Default)]
pub(super) struct PendingRequests {
    /// The client's requests. A response that matches neither a call nor one of these is dropped.
    of_client: Mutex<HashMap<Id, PendingRequest>>,
    of_server: Mutex<HashSet<Id>>,
    /// Notifies waiters that a request of the client was answered.
    has_answered: Notify,
}

impl PendingRequests {
    fn of_client(&self) -> MutexGuard<'_, HashMap<Id, PendingRequest>> {
        self.of_client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_server(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.of_server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request of the client. Returns the reason if its id is in use or there are too many.
    pub(super) fn add(&self, id: &Id, request: PendingRequest, limit: usize) -> Result<(), String> {
        let mut pending = self.of_client();
        if pending.contains_key(id) {
            Err("a request with this id is under way".to_owned())
        } else if pending.len() >= limit {
            Err(too_many(limit))
        } else {
            pending.insert(id.clone(), request);
            Ok(())
        }
    }

    /// Sets the task that ends a request after its timeout. A request that was answered in the meantime needs
    /// none.
    pub(super) fn set_timer(&self, id: &Id, timer: AbortHandle) {
        match self.of_client().get_mut(id) {
            Some(request) => request.timer = Some(timer),
            None => timer.abort(),
        }
    }

    /// Removes a request of the client and stops its timer. Returns how its response is processed, or `None` if
    /// there is no such request.
    pub(super) fn take(&self, id: &Id) -> Option<ResponseHandling> {
        let request = self.of_client().remove(id)?;
        self.has_answered.notify_one();
        if let Some(timer) = request.timer {
            timer.abort();
        }
        Some(request.handling)
    }

    /// Removes a request whose timeout has expired. Returns false if it was answered in the meantime.
    pub(super) fn remove_expired(&self, id: &Id) -> bool {
        let is_pending = self.of_client().remove(id).is_some();
        if is_pending {
            self.has_answered.notify_one();
        }
        is_pending
    }

    /// Returns the ids of the client's requests.
    pub(super) fn ids(&self) -> Vec<Id> {
        self.of_client().keys().cloned().collect()
    }

    /// Removes all requests of the client and returns their ids.
    pub(super) fn take_all(&self) -> Vec<Id> {
        let mut ids = self.ids();
        ids.retain(|id| self.take(id).is_some());
        ids
    }

    /// Removes the subscriptions, which have no response to wait for.
    pub(super) fn remove_subscriptions(&self) {
        self.of_client().retain(|_, request| !request.is_subscription);
    }

    /// Waits until every request of the client is answered.
    pub(super) async fn wait_until_answered(&self) {
        while !self.of_client().is_empty() {
            self.has_answered.notified().await;
        }
    }

    /// Adds a request of the server to the client, unless there are too many.
    pub(super) fn add_of_server(&self, id: &Id, limit: usize) {
        let mut pending = self.of_server();
        if pending.len() < limit {
            pending.insert(id.clone());
        }
    }

    /// Removes a request of the server to the client.
    pub(super) fn remove_of_server(&self, id: &Id) {
        self.of_server().remove(id);
    }

    /// Returns true if the server waits for a response of the client.
    pub(super) fn has_server_requests(&self) -> bool {
        !self.of_server().is_empty()
    }

    /// Returns the time of the last message about a request of the client.
    pub(super) fn last_activity(&self, id: &Id) -> Option<Instant> {
        self.of_client().get(id).map(|request| request.activity.last_message())
    }

    /// Sets the time of the last message for the client's requests that a message belongs to.
    pub(super) fn record_activity(&self, about: Option<&Id>, token: Option<&Id>, now: Instant) {
        for (id, request) in self.of_client().iter_mut() {
            request.activity.record(id, about, token, now);
        }
    }
}

/// Returns the reason for rejecting a request because too many are pending.
pub(super) fn too_many(limit: usize) -> String {
    format!("{limit} requests are under way already; wait until one of them was answered")
}
