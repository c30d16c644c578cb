//! Translates the `subscriptions/listen` requests of a modern client for a legacy server.

use serde_json::{Value, json};

use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use super::terms::{meta, method, notice};
use crate::link::Incoming;
use crate::wire::{Id, Message, code, splice};

/// The largest number of listening requests, and of resources in each.
const MAX: usize = 64;

/// Holds the open listening requests of a client.
#[derive(Debug, Default)]
pub(super) struct ListenSubscriptions(Vec<ListenSubscription>);

#[derive(Debug)]
struct ListenSubscription {
    id: Id,
    /// The methods of the list notifications that the client wants.
    lists: Vec<&'static str>,
    uris: Vec<String>,
}

impl ListenSubscriptions {
    /// Adds a listening request, acknowledges it to the client, and subscribes to its resources at the server.
    pub(super) fn listen(
        &mut self,
        id: &Id,
        request: &Message,
        capabilities: &Value,
        ids: &GeneratedIds,
        out: &mut Outbox,
    ) {
        let filter = splice::at(request.text(), &["params", "notifications"]);
        let filter: Value =
            filter.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let uris = filter["resourceSubscriptions"].as_array().map_or(&[][..], Vec::as_slice);
        if self.0.len() >= MAX || uris.len() > MAX {
            let text = format!("at most {MAX} listening requests of {MAX} resources are taken");
            out.send_to_client(Message::error(Some(id), code::INVALID_PARAMS, &text, None));
            return;
        }
        let mut accepted = serde_json::Map::new();
        let mut lists = Vec::new();
        for (name, capability, member) in notice::LISTS {
            let is_served = capabilities[capability]["listChanged"] == Value::Bool(true);
            if is_served && filter[member] == Value::Bool(true) {
                lists.push(name);
                accepted.insert(member.to_owned(), Value::Bool(true));
            }
        }
        let mut subscribed = Vec::new();
        if capabilities["resources"]["subscribe"] == Value::Bool(true) {
            subscribed.extend(uris.iter().filter_map(Value::as_str).map(ToOwned::to_owned));
            if !subscribed.is_empty() {
                accepted.insert("resourceSubscriptions".to_owned(), json!(subscribed));
            }
        }
        let params = json!({"_meta": {meta::SUBSCRIPTION: json_of(id)}, "notifications": accepted});
        let acknowledged = Message::notification(notice::ACKNOWLEDGED, &params);
        out.send_to_client(Incoming::about(acknowledged, id.clone()));
        for uri in &subscribed {
            if !self.has(uri) {
                let params = json!({"uri": uri});
                out.send_to_server(Message::request(&ids.next(), method::SUBSCRIBE, &params));
            }
        }
        self.0.push(ListenSubscription { id: id.clone(), lists, uris: subscribed });
    }

    /// Removes a listening request and its subscriptions. Returns false if there is no such request.
    pub(super) fn cancel(&mut self, id: &Id, ids: &GeneratedIds, out: &mut Outbox) -> bool {
        let Some(place) = self.0.iter().position(|listen| listen.id == *id) else {
            return false;
        };
        for uri in self.0.remove(place).uris {
            if !self.has(&uri) {
                let params = json!({"uri": uri});
                out.send_to_server(Message::request(&ids.next(), method::UNSUBSCRIBE, &params));
            }
        }
        true
    }

    /// Sends a notification to every listening request that includes it.
    pub(super) fn notify(&self, name: &str, notification: &Message, out: &mut Outbox) {
        let text = notification.text();
        let uri = splice::string_at(text, &["params", "uri"]);
        for listen in &self.0 {
            let is_wanted = listen.lists.contains(&name)
                || name == notice::UPDATED
                    && uri.as_ref().is_some_and(|uri| listen.uris.contains(uri));
            let path = ["params", "_meta", meta::SUBSCRIPTION];
            if is_wanted && let Ok(text) = splice::with(text, &path, listen.id.as_json()) {
                let message = notification.clone().with_text(text);
                out.send_to_client(Incoming::about(message, listen.id.clone()));
            }
        }
    }

    fn has(&self, uri: &String) -> bool {
        self.0.iter().any(|listen| listen.uris.contains(uri))
    }
}

fn json_of(id: &Id) -> Value {
    serde_json::from_str(id.as_json()).unwrap_or_default()
}
