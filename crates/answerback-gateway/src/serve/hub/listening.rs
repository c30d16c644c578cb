//! Handles `subscriptions/listen` at all servers at once.

use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::link::{Incoming, broken_because};
use answerback_mcp::wire::{Id, Message, meta, splice};
use serde_json::{Map, Value, json};

use super::{Hub, LATE, Route, lock, merge, result};
use crate::relay::cancellation;

/// The notification with which a server acknowledges a subscription.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The delay before a server that went away is asked again. It doubles with each attempt.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The largest number of times that the delay doubles.
const DOUBLINGS: u32 = 4;
/// Maps each filter of a subscription to the notification that a server may have missed while it was away.
const CHANGES: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];

/// Holds one subscription, which every server receives with the client's own id.
pub(super) struct ListenRequest {
    request: Message,
    standing: Vec<ListenState>,
    /// The number of failed attempts for each server since it went away.
    tries: Vec<u32>,
    /// The merged filters that the servers acknowledged.
    notifications: Map<String, Value>,
    /// True if the servers' time to acknowledge has ended.
    is_over: bool,
    /// True if the client received the acknowledgment.
    is_told: bool,
    /// The error of the first server that rejected the subscription.
    refusal: Option<Message>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum ListenState {
    Asked,
    Tells,
    /// The server is down and will be asked again.
    Away,
    Ended,
}

impl ListenRequest {
    fn at(servers: usize, request: Message) -> Self {
        Self {
            request,
            standing: vec![ListenState::Asked; servers],
            tries: vec![0; servers],
            notifications: Map::new(),
            is_over: false,
            is_told: false,
            refusal: None,
        }
    }

    /// Returns true if no more notifications can arrive: every server has ended the subscription. Before the
    /// first acknowledgment, it is enough that the remaining servers are down.
    fn is_ended(&self) -> bool {
        let mut left = self.standing.iter().filter(|standing| **standing != ListenState::Ended);
        if self.is_told { left.next().is_none() } else { left.all(|it| *it == ListenState::Away) }
    }

    /// Marks a server as down. Returns the delay before it is asked again.
    fn goes_away(&mut self, server: usize) -> Duration {
        self.standing[server] = ListenState::Away;
        let wait = FIRST_WAIT * 2_u32.pow(self.tries[server].min(DOUBLINGS));
        self.tries[server] += 1;
        wait
    }

    /// Returns the acknowledgment for the client once all answers are known. Returns `None` before that, after it
    /// was sent, or if no server accepted.
    fn acknowledgement(&mut self, id: &Id) -> Option<Message> {
        let is_waited_for = !self.is_over && self.standing.contains(&ListenState::Asked);
        if self.is_told || is_waited_for || !self.standing.contains(&ListenState::Tells) {
            return None;
        }
        self.is_told = true;
        let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        let params =
            json!({"_meta": {meta::SUBSCRIPTION: request}, "notifications": self.notifications});
        Some(Message::notification(ACKNOWLEDGED, &params))
    }
}

impl Hub {
    /// Subscribes at all servers. Their notifications contain the client's id and are forwarded unchanged.
    pub(super) async fn listen(self: &Arc<Self>, id: &Id, message: Message) {
        let listening = ListenRequest::at(self.servers.len(), message.clone());
        lock(&self.listening).insert(id.clone(), listening);
        if !self.goes(id, Route::All) {
            lock(&self.listening).remove(id);
            return;
        }
        for server in &self.servers {
            server.relay.receive_from_client(message.clone()).await;
        }
        // A silent server is not waited for any longer, but may still send notifications.
        tokio::time::sleep(LATE).await;
        if let Some(listening) = lock(&self.listening).get_mut(id) {
            listening.is_over = true;
        }
        self.acknowledge(id).await;
    }

    async fn acknowledge(&self, id: &Id) {
        let told =
            lock(&self.listening).get_mut(id).and_then(|listening| listening.acknowledgement(id));
        if let Some(told) = told {
            self.outlet.send(Incoming::about(told, id.clone())).await;
        }
    }

    /// Handles a server's acknowledgment. Returns false if it belongs to no subscription at all servers.
    pub(super) async fn acknowledged(&self, server: usize, notification: &Message) -> bool {
        let text = notification.text();
        let Some(id) = splice::id_at(text, &["params", "_meta", meta::SUBSCRIPTION]) else {
            return false;
        };
        let missed = {
            let mut listening = lock(&self.listening);
            let Some(listening) = listening.get_mut(&id) else { return false };
            listening.standing[server] = ListenState::Tells;
            let was_away = std::mem::take(&mut listening.tries[server]) > 0;
            let accepted = splice::at(text, &["params", "notifications"]);
            let accepted = accepted.and_then(|accepted| serde_json::from_str(accepted).ok());
            let accepted: Map<String, Value> = accepted.unwrap_or_default();
            merge::unite(&mut listening.notifications, &accepted);
            if was_away && listening.is_told { changes(&id, &accepted) } else { Vec::new() }
        };
        for notification in missed {
            lock(&self.tools).change();
            self.outlet.send(Incoming::about(notification, id.clone())).await;
        }
        self.acknowledge(&id).await;
        true
    }

    /// Handles the end of a subscription at a server. Returns false if the response belongs to no such
    /// subscription. The client receives the last server's response. A server that only went away is asked again.
    pub(super) async fn heard_last(
        self: &Arc<Self>,
        server: usize,
        id: &Id,
        answer: &Message,
    ) -> bool {
        let last = {
            let mut all = lock(&self.listening);
            let Some(listening) = all.get_mut(id) else { return false };
            let away = broken_because(answer).map(|_| listening.goes_away(server));
            if away.is_none() {
                listening.standing[server] = ListenState::Ended;
            }
            if result(answer).is_none() {
                listening.refusal.get_or_insert_with(|| answer.clone());
            }
            let is_last = listening.is_ended();
            let refusal = listening.refusal.take_if(|_| is_last && !listening.is_told);
            if is_last {
                all.remove(id);
            } else if let Some(wait) = away {
                let renewing = Arc::clone(self).listen_again(server, id.clone(), wait);
                lock(&self.tasks).spawn(renewing);
            }
            is_last.then(|| refusal.unwrap_or_else(|| answer.clone()))
        };
        match last {
            Some(last) => {
                lock(&self.routes).remove(id);
                self.outlet.send(last.into()).await;
            }
            // The acknowledgment may have waited only for this server.
            None => self.acknowledge(id).await,
        }
        true
    }

    /// Subscribes again at a server that went away. If the server is still down, its error causes a longer delay.
    async fn listen_again(self: Arc<Self>, server: usize, id: Id, wait: Duration) {
        tokio::time::sleep(wait).await;
        let request = {
            let mut all = lock(&self.listening);
            let Some(listening) = all.get_mut(&id) else { return };
            listening.standing[server] = ListenState::Asked;
            listening.request.clone()
        };
        let relay = &self.servers[server].relay;
        relay.receive_from_client(request).await;
        // The client may have cancelled the subscription in the meantime.
        if !lock(&self.listening).contains_key(&id) {
            relay.receive_from_client(cancellation(&id, "nobody listens any more")).await;
        }
    }
}

/// Returns the notifications for changes that a listening client may have missed.
fn changes(id: &Id, accepted: &Map<String, Value>) -> Vec<Message> {
    let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = json!({"_meta": {meta::SUBSCRIPTION: request}});
    let wanted = CHANGES.iter().filter(|(member, _)| accepted.get(*member) == Some(&json!(true)));
    wanted.map(|(_, method)| Message::notification(method, &params)).collect()
}
