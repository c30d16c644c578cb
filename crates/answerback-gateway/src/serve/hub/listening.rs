//! What a client listens for, at all servers at once.

use std::sync::Arc;

use answerback_mcp::link::Incoming;
use answerback_mcp::wire::{Id, Message, meta, splice};
use serde_json::{Map, Value, json};

use super::{Hub, LATE, Route, lock, merge, result};

/// By which a server says what it will tell.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// One request to listen, which every server has under the client's own id.
pub(super) struct Listening {
    standing: Vec<Standing>,
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
enum Standing {
    Asked,
    Tells,
    Ended,
}

impl Listening {
    fn at(servers: usize) -> Self {
        let standing = vec![Standing::Asked; servers];
        Self { standing, notifications: Map::new(), is_over: false, is_told: false, refusal: None }
    }

    /// What the client is told once nobody is waited for; nothing, where that was done, or nobody tells anything.
    fn acknowledgement(&mut self, id: &Id) -> Option<Message> {
        let is_waited_for = !self.is_over && self.standing.contains(&Standing::Asked);
        if self.is_told || is_waited_for || !self.standing.contains(&Standing::Tells) {
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
        lock(&self.listening).insert(id.clone(), Listening::at(self.servers.len()));
        lock(&self.routes).insert(id.clone(), Route::All);
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
        {
            let mut listening = lock(&self.listening);
            let Some(listening) = listening.get_mut(&id) else { return false };
            listening.standing[server] = Standing::Tells;
            let accepted = splice::at(text, &["params", "notifications"]);
            let accepted = accepted.and_then(|accepted| serde_json::from_str(accepted).ok());
            merge::unite(&mut listening.notifications, &accepted.unwrap_or_default());
        }
        self.acknowledge(&id).await;
        true
    }

    /// Takes a server's last word to something that all were asked. Says whether it is that. The client hears the last
    /// word of the last server.
    pub(super) async fn heard_last(&self, server: usize, id: &Id, answer: &Message) -> bool {
        let last = {
            let mut all = lock(&self.listening);
            let Some(listening) = all.get_mut(id) else { return false };
            listening.standing[server] = Standing::Ended;
            if result(answer).is_none() {
                listening.refusal.get_or_insert_with(|| answer.clone());
            }
            let is_last = listening.standing.iter().all(|standing| *standing == Standing::Ended);
            let refusal = listening.refusal.take_if(|_| is_last && !listening.is_told);
            if is_last {
                all.remove(id);
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
}
