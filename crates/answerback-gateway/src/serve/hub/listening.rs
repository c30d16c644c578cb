//! What a client listens for, at all servers at once.

use std::sync::Arc;
use std::time::Duration;

use answerback_mcp::link::{Incoming, broken_because};
use answerback_mcp::wire::{Id, Message, meta, splice};
use serde_json::{Map, Value, json};

use super::{Hub, LATE, Route, lock, merge, result};
use crate::relay::cancellation;

/// By which a server says what it will tell.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// How soon a server that went away is asked again; the time doubles with each try.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How often it doubles at most.
const DOUBLINGS: u32 = 4;
/// What may have changed at a server that was away, by the member of a request that asks for it.
const CHANGES: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];

/// One request to listen, which every server has under the client's own id.
pub(super) struct ListenRequest {
    request: Message,
    standing: Vec<ListenState>,
    /// How often each server was asked in vain since it went away.
    tries: Vec<u32>,
    /// What the servers will tell, together.
    notifications: Map<String, Value>,
    /// Whether nobody is waited for any more.
    is_over: bool,
    /// Whether the client was told what they will tell.
    is_told: bool,
    /// What the first said that does not tell anything.
    refusal: Option<Message>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum ListenState {
    Asked,
    Tells,
    /// It is down, and asked again when it may be back.
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

    /// Whether nothing will be told any more: every server has ended it, or nobody has told anything, and those who could
    /// still do it are away.
    fn is_ended(&self) -> bool {
        let mut left = self.standing.iter().filter(|standing| **standing != ListenState::Ended);
        if self.is_told { left.next().is_none() } else { left.all(|it| *it == ListenState::Away) }
    }

    /// Takes note that a server is away. Says how long it is left alone.
    fn goes_away(&mut self, server: usize) -> Duration {
        self.standing[server] = ListenState::Away;
        let wait = FIRST_WAIT * 2_u32.pow(self.tries[server].min(DOUBLINGS));
        self.tries[server] += 1;
        wait
    }

    /// What the client is told once nobody is waited for; nothing, where that was done, or nobody tells anything.
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
    /// Listens at all servers. What they tell has the client's id, and comes to the client as it is.
    pub(super) async fn listen(self: &Arc<Self>, id: &Id, message: Message) {
        let listening = ListenRequest::at(self.servers.len(), message.clone());
        lock(&self.listening).insert(id.clone(), listening);
        if !self.goes(id, Route::All) {
            lock(&self.listening).remove(id);
            return;
        }
        for server in &self.servers {
            server.relay.hear(message.clone()).await;
        }
        // Who does not say anything is not waited for, and may tell something nevertheless.
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

    /// Takes a server's word for what it will tell. Says whether it is about something that all were asked.
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

    /// Takes a server's last word to something that all were asked. Says whether it is that. The client hears the last
    /// word of the last server; a server that only went away is asked again.
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
            // The others may have been waiting for it alone.
            None => self.acknowledge(id).await,
        }
        true
    }

    /// Listens at a server again that went away. Where it is not back, its answer says so, and it is left alone for longer.
    async fn listen_again(self: Arc<Self>, server: usize, id: Id, wait: Duration) {
        tokio::time::sleep(wait).await;
        let request = {
            let mut all = lock(&self.listening);
            let Some(listening) = all.get_mut(&id) else { return };
            listening.standing[server] = ListenState::Asked;
            listening.request.clone()
        };
        let relay = &self.servers[server].relay;
        relay.hear(request).await;
        // The client may have given it up meanwhile.
        if !lock(&self.listening).contains_key(&id) {
            relay.hear(cancellation(&id, "nobody listens any more")).await;
        }
    }
}

/// What a client is told that listens for changes, of which it may have missed some.
fn changes(id: &Id, accepted: &Map<String, Value>) -> Vec<Message> {
    let request: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = json!({"_meta": {meta::SUBSCRIPTION: request}});
    let wanted = CHANGES.iter().filter(|(member, _)| accepted.get(*member) == Some(&json!(true)));
    wanted.map(|(_, method)| Message::notification(method, &params)).collect()
}
