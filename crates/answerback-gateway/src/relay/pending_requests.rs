//! Tracks the client's requests other than calls, and the timeouts of all requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use answerback_mcp::link::unsent_error;
use answerback_mcp::wire::{Id, Message, Shape, code, meta, splice, word};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::outbound_queue::Told;
use super::{Relay, Stage, can_ask, lock};

/// The reason for a message that is not sent.
pub(super) const UNREAD: &str = "the server does not read what it is told";
/// The only request that stays open until the client closes it.
const LISTEN: &str = "subscriptions/listen";

/// Selects how the response to a client's request is processed.
pub(super) enum Watched {
    /// The response is forwarded unchanged.
    Not,
    Initialize,
    Tasks,
    Tools {
        is_whole: bool,
        is_modern: bool,
    },
}

/// Holds a pending request of the client.
pub(super) struct Asked {
    watched: Watched,
    /// True if the request stays open until the client closes it.
    is_subscription: bool,
    heard: Heard,
    /// The task that ends the request after its timeout.
    timer: Option<AbortHandle>,
}

impl Asked {
    pub(super) const fn is_subscription(&self) -> bool {
        self.is_subscription
    }
}

/// Holds the time of the last message about a request, and the request's progress token.
pub(super) struct Heard {
    when: Instant,
    token: Option<Id>,
}

impl Heard {
    pub(super) fn of(request: &Message) -> Self {
        let token = word::PROGRESS
            .is_in(request)
            .then(|| splice::id_at(request.text(), &["params", "_meta", "progressToken"]));
        Self { when: Instant::now(), token: token.flatten() }
    }
}

impl Relay {
    /// Forwards a request that is not a call.
    pub(super) async fn ask(self: &Arc<Self>, id: Id, method: &str, message: Message) {
        if method == "initialize" {
            self.can_ask.store(can_ask(&message), Ordering::Release);
        }
        let watched = watched(method, &message);
        let is_subscription = method == LISTEN;
        let asked = Asked { watched, is_subscription, heard: Heard::of(&message), timer: None };
        let refusal = {
            let most = self.gateway.settings().most_calls;
            let mut under_way = lock(&self.asked);
            if under_way.contains_key(&id) {
                Some("a request with this id is under way".to_owned())
            } else if under_way.len() >= most {
                Some(too_many(most))
            } else {
                under_way.insert(id.clone(), asked);
                None
            }
        };
        if let Some(reason) = refusal {
            let answer = Message::error(Some(&id), code::INVALID_REQUEST, &reason, None);
            return self.tell(answer).await;
        }
        let reason = match self.to_server.tell(message) {
            Told::Sent if is_subscription => return,
            Told::Sent => return self.watch_over(id),
            Told::Gone => "the server has ended",
            Told::Full => UNREAD,
        };
        self.take_asked(&id);
        self.tell(unsent_error(&id, reason)).await;
    }

    /// Starts the timeout of a request.
    fn watch_over(self: &Arc<Self>, id: Id) {
        let relay = Arc::clone(self);
        let watching = id.clone();
        let timer = tokio::spawn(async move {
            let reason = relay.overdue(&watching).await;
            if lock(&relay.asked).remove(&watching).is_none() {
                return;
            }
            relay.has_answered_other.notify_one();
            let was_sent = !relay.to_server.take_back(&watching);
            let answer = if was_sent {
                relay.withdraw(&watching);
                Message::error(Some(&watching), code::INTERNAL_ERROR, &reason, None)
            } else {
                unsent_error(&watching, UNREAD)
            };
            relay.tell(answer).await;
        });
        // If the request was answered in the meantime, no timeout is needed.
        match lock(&self.asked).get_mut(&id) {
            Some(asked) => asked.timer = Some(timer.abort_handle()),
            None => timer.abort(),
        }
    }

    /// Removes a pending request. Returns how its response is processed, or `None` if there is no such request.
    pub(super) fn take_asked(&self, id: &Id) -> Option<Watched> {
        let asked = lock(&self.asked).remove(id)?;
        self.has_answered_other.notify_one();
        if let Some(timer) = asked.timer {
            timer.abort();
        }
        Some(asked.watched)
    }

    /// Cancels a request at the server after a timeout.
    pub(super) fn withdraw(&self, id: &Id) {
        self.to_server.tell(cancellation(id, "it took too long"));
    }

    /// Waits until a request that starts now times out, and returns the reason. There is a limit in total and one
    /// since the last message about the request. The second is suspended while the client must answer the server.
    pub(super) async fn overdue(&self, id: &Id) -> String {
        let settings = self.gateway.settings();
        let end = Instant::now() + settings.call_time;
        let Some(idle) = settings.idle_time else {
            tokio::time::sleep_until(end).await;
            return too_long(settings.call_time);
        };
        let mut since = Instant::now();
        loop {
            tokio::time::sleep_until(end.min(since + idle)).await;
            let now = Instant::now();
            if now >= end {
                return too_long(settings.call_time);
            }
            if !lock(&self.questions).is_empty() {
                since = now;
                continue;
            }
            let heard = self.last_heard(id).unwrap_or(since).max(since);
            if heard + idle <= now {
                return format!("nothing was heard of it for {} seconds", idle.as_secs());
            }
            since = heard;
        }
    }

    fn last_heard(&self, id: &Id) -> Option<Instant> {
        if let Some(Stage::Forwarded { heard, .. }) = lock(&self.calls).get(id) {
            return Some(heard.when);
        }
        lock(&self.asked).get(id).map(|asked| asked.heard.when)
    }

    /// Updates the time of the last message for the requests that a server's message belongs to.
    pub(super) fn heard(&self, message: &Message, about: Option<&Id>) {
        let token = match message.shape() {
            Shape::Request { id, .. } => {
                let mut questions = lock(&self.questions);
                if questions.len() < self.gateway.settings().most_calls {
                    questions.insert(id.clone());
                }
                None
            }
            Shape::Notification { method } => match method.as_str() {
                "notifications/progress" => {
                    splice::id_at(message.text(), &["params", "progressToken"])
                }
                "notifications/cancelled" => {
                    if let Some(id) = splice::id_at(message.text(), &["params", "requestId"]) {
                        lock(&self.questions).remove(&id);
                    }
                    None
                }
                _ => None,
            },
            _ => None,
        };
        if about.is_none() && token.is_none() {
            return;
        }
        let now = Instant::now();
        let is_meant =
            |id: &Id, heard: &Heard| about == Some(id) || token.is_some() && heard.token == token;
        for (id, stage) in lock(&self.calls).iter_mut() {
            if let Stage::Forwarded { heard, .. } = stage
                && is_meant(id, heard)
            {
                heard.when = now;
            }
        }
        for (id, asked) in lock(&self.asked).iter_mut() {
            if is_meant(id, &asked.heard) {
                asked.heard.when = now;
            }
        }
    }
}

/// Returns the reason for rejecting a request because too many are pending.
pub(super) fn too_many(most: usize) -> String {
    format!("{most} requests are under way already; wait until one of them was answered")
}

/// Builds the notification that cancels a request.
pub(crate) fn cancellation(id: &Id, reason: &str) -> Message {
    let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = json!({"requestId": request, "reason": reason});
    Message::notification("notifications/cancelled", &params)
}

/// Returns the reason for ending a request after its timeout.
pub(super) fn too_long(most: Duration) -> String {
    format!("the server did not answer within {} seconds", most.as_secs())
}

/// Returns how the response to a request is processed.
fn watched(method: &str, message: &Message) -> Watched {
    match method {
        "initialize" | "server/discover" => Watched::Initialize,
        "tasks/list" => Watched::Tasks,
        "tools/list" => {
            let at = |path: &[&str]| splice::at(message.text(), path);
            let cursor = at(&["params", "cursor"]).filter(|cursor| *cursor != "null");
            let is_modern = at(&["params", "_meta", meta::VERSION]).is_some();
            Watched::Tools { is_whole: cursor.is_none(), is_modern }
        }
        _ => Watched::Not,
    }
}
