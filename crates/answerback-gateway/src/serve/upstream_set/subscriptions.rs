//! Handles `subscriptions/listen` at all servers at once.

use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::link::{Incoming, link_error_reason};
use answerback_mcp::wire::{Id, Message, meta, splice};
use serde_json::{Map, Value, json};

use super::merge::merge_objects;
use super::message_parts::result_of;
use super::request_route::RequestRoute;
use super::requests::SLOW_SERVER_TIMEOUT;
use super::set::{UpstreamSet, lock};
use crate::relay::cancellation;

/// The notification with which a server acknowledges a subscription.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The delay before a server that went down receives the subscription again. It doubles with each attempt.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(250);
/// The largest number of times that the delay doubles.
const MAX_DOUBLINGS: u32 = 4;
/// Maps each filter of a subscription to the notification that a server may have missed while it was down.
const CHANGES: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];

/// A client's subscription. Every server receives it with the client's own id.
pub(super) struct ClientSubscription {
    request: Message,
    /// The state of the subscription at each server.
    states: Vec<SubscriptionState>,
    /// The number of failed attempts for each server since it went down.
    attempts: Vec<u32>,
    /// The merged filters that the servers acknowledged.
    notifications: Map<String, Value>,
    /// True if the servers' time to acknowledge has ended.
    is_timed_out: bool,
    /// True if the client received the acknowledgment.
    is_acknowledged: bool,
    /// The error of the first server that rejected the subscription.
    rejection: Option<Message>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum SubscriptionState {
    /// The server has not acknowledged the subscription yet.
    Pending,
    Active,
    /// The server is down and receives the subscription again later.
    Down,
    Ended,
}

impl ClientSubscription {
    fn new(servers: usize, request: Message) -> Self {
        Self {
            request,
            states: vec![SubscriptionState::Pending; servers],
            attempts: vec![0; servers],
            notifications: Map::new(),
            is_timed_out: false,
            is_acknowledged: false,
            rejection: None,
        }
    }

    /// True if no more notifications can arrive: every server has ended the subscription. Before the
    /// first acknowledgment, it is enough that the remaining servers are down.
    fn is_ended(&self) -> bool {
        let mut remaining = self.states.iter().filter(|state| **state != SubscriptionState::Ended);
        if self.is_acknowledged {
            remaining.next().is_none()
        } else {
            remaining.all(|state| *state == SubscriptionState::Down)
        }
    }

    /// Marks a server as down. The result is the delay before it receives the subscription again.
    fn mark_down(&mut self, server: usize) -> Duration {
        self.states[server] = SubscriptionState::Down;
        let delay = FIRST_RETRY_DELAY * 2_u32.pow(self.attempts[server].min(MAX_DOUBLINGS));
        self.attempts[server] += 1;
        delay
    }

    /// Builds the acknowledgment for the client once all servers have responded. The result is `None` before that,
    /// after it was sent, or if no server accepted.
    fn take_acknowledgment(&mut self, id: &Id) -> Option<Message> {
        let is_pending = !self.is_timed_out && self.states.contains(&SubscriptionState::Pending);
        let is_active = self.states.contains(&SubscriptionState::Active);
        if self.is_acknowledged || is_pending || !is_active {
            return None;
        }
        self.is_acknowledged = true;
        let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        let params =
            json!({"_meta": {meta::SUBSCRIPTION: request}, "notifications": self.notifications});
        Some(Message::notification(ACKNOWLEDGED, &params))
    }
}

impl UpstreamSet {
    /// Subscribes at all servers. Their notifications contain the client's id and are forwarded unchanged.
    pub(super) async fn subscribe(self: &Arc<Self>, id: &Id, message: Message) {
        let subscription = ClientSubscription::new(self.servers.len(), message.clone());
        lock(&self.subscriptions).insert(id.clone(), subscription);
        if !self.set_route(id, RequestRoute::All) {
            lock(&self.subscriptions).remove(id);
            return;
        }
        for server in &self.servers {
            server.relay.receive_from_client(message.clone()).await;
        }
        // A silent server is not waited for any longer, but may still send notifications.
        tokio::time::sleep(SLOW_SERVER_TIMEOUT).await;
        if let Some(subscription) = lock(&self.subscriptions).get_mut(id) {
            subscription.is_timed_out = true;
        }
        self.send_acknowledgment(id).await;
    }

    /// Sends the acknowledgment to the client as soon as it can be built.
    async fn send_acknowledgment(&self, id: &Id) {
        let acknowledgment = lock(&self.subscriptions)
            .get_mut(id)
            .and_then(|subscription| subscription.take_acknowledgment(id));
        if let Some(acknowledgment) = acknowledgment {
            self.client_sink.send(Incoming::about(acknowledgment, id.clone())).await;
        }
    }

    /// Handles a server's acknowledgment. Returns false if it belongs to no subscription at all servers.
    pub(super) async fn handle_acknowledgment(
        &self,
        server: usize,
        notification: &Message,
    ) -> bool {
        let text = notification.text();
        let Some(id) = splice::id_at(text, &["params", "_meta", meta::SUBSCRIPTION]) else {
            return false;
        };
        let missed = {
            let mut subscriptions = lock(&self.subscriptions);
            let Some(subscription) = subscriptions.get_mut(&id) else { return false };
            subscription.states[server] = SubscriptionState::Active;
            let was_down = std::mem::take(&mut subscription.attempts[server]) > 0;
            let accepted = splice::at(text, &["params", "notifications"]);
            let accepted = accepted.and_then(|accepted| serde_json::from_str(accepted).ok());
            let accepted: Map<String, Value> = accepted.unwrap_or_default();
            merge_objects(&mut subscription.notifications, &accepted);
            if was_down && subscription.is_acknowledged {
                missed_notifications(&id, &accepted)
            } else {
                Vec::new()
            }
        };
        for notification in missed {
            lock(&self.tool_cache).mark_changed();
            self.client_sink.send(Incoming::about(notification, id.clone())).await;
        }
        self.send_acknowledgment(&id).await;
        true
    }

    /// Handles the end of a subscription at a server. Returns false if the response belongs to no such
    /// subscription. The client receives the last server's response. A server that only went down receives the
    /// subscription again.
    pub(super) async fn handle_subscription_end(
        self: &Arc<Self>,
        server: usize,
        id: &Id,
        answer: &Message,
    ) -> bool {
        let last = {
            let mut all = lock(&self.subscriptions);
            let Some(subscription) = all.get_mut(id) else { return false };
            let retry_delay = link_error_reason(answer).map(|_| subscription.mark_down(server));
            if retry_delay.is_none() {
                subscription.states[server] = SubscriptionState::Ended;
            }
            if result_of(answer).is_none() {
                subscription.rejection.get_or_insert_with(|| answer.clone());
            }
            let is_last = subscription.is_ended();
            let is_acknowledged = subscription.is_acknowledged;
            let rejection = subscription.rejection.take_if(|_| is_last && !is_acknowledged);
            if is_last {
                all.remove(id);
            } else if let Some(delay) = retry_delay {
                let resubscribing = Arc::clone(self).resubscribe(server, id.clone(), delay);
                lock(&self.tasks).spawn(resubscribing);
            }
            is_last.then(|| rejection.unwrap_or_else(|| answer.clone()))
        };
        match last {
            Some(last) => {
                lock(&self.routes).remove(id);
                self.client_sink.send(last.into()).await;
            }
            // The acknowledgment may have waited only for this server.
            None => self.send_acknowledgment(id).await,
        }
        true
    }

    /// Subscribes again at a server that went down. If the server is still down, its error causes a longer delay.
    async fn resubscribe(self: Arc<Self>, server: usize, id: Id, delay: Duration) {
        tokio::time::sleep(delay).await;
        let request = {
            let mut all = lock(&self.subscriptions);
            let Some(subscription) = all.get_mut(&id) else { return };
            subscription.states[server] = SubscriptionState::Pending;
            subscription.request.clone()
        };
        let relay = &self.servers[server].relay;
        relay.receive_from_client(request).await;
        // The client may have cancelled the subscription in the meantime.
        if !lock(&self.subscriptions).contains_key(&id) {
            relay.receive_from_client(cancellation(&id, "the client ended the subscription")).await;
        }
    }
}

/// Builds the notifications for changes that a subscribed client may have missed.
fn missed_notifications(id: &Id, accepted: &Map<String, Value>) -> Vec<Message> {
    let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = json!({"_meta": {meta::SUBSCRIPTION: request}});
    let accepted_changes =
        CHANGES.iter().filter(|(member, _)| accepted.get(*member) == Some(&json!(true)));
    accepted_changes.map(|(_, method)| Message::notification(method, &params)).collect()
}
