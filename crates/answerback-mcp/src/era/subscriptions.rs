//! What a legacy client subscribed to, as `subscriptions/listen` at a modern server.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::cancelled::cancelled;
use super::outbox::Outbox;
use super::terms::{meta, notice};
use crate::wire::{Id, Message, code, splice};

/// The most resources of a subscription.
pub(super) const MOST: usize = 256;

/// The listening requests that are open.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Of the lists.
    lists: Option<Id>,
    /// Of a resource each.
    resources: HashMap<String, Subscription>,
}

#[derive(Debug)]
struct Subscription {
    id: Id,
    /// The client's request that is answered once the server acknowledged.
    waiting: Option<Id>,
}

impl Subscriptions {
    /// What to listen for on behalf of a client that was told these capabilities, unless that is nothing.
    pub(super) fn lists(&mut self, capabilities: &Value, listen: Id) -> Option<Value> {
        let wanted = notice::LISTS.iter().filter(|(_, capability, _)| {
            capabilities[capability]["listChanged"] == Value::Bool(true)
        });
        let filter: serde_json::Map<_, _> =
            wanted.map(|(_, _, member)| ((*member).to_owned(), Value::Bool(true))).collect();
        if filter.is_empty() || self.lists.is_some() {
            return None;
        }
        self.lists = Some(listen);
        Some(json!({"notifications": filter}))
    }

    /// What to listen for so that a client hears of a resource; nothing, where it is answered already.
    pub(super) fn subscribe(
        &mut self,
        request: &Id,
        uri: String,
        listen: Id,
        out: &mut Outbox,
    ) -> Option<Value> {
        if self.resources.contains_key(&uri) {
            out.tell_client(Message::result(request, "{}"));
            return None;
        }
        if self.resources.len() >= MOST {
            let text = format!("{MOST} resources are subscribed to already");
            out.tell_client(Message::error(Some(request), code::INTERNAL_ERROR, &text, None));
            return None;
        }
        let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
        self.resources.insert(uri, Subscription { id: listen, waiting: Some(request.clone()) });
        Some(params)
    }

    /// Ends listening for a resource.
    pub(super) fn unsubscribe(&mut self, uri: &str, out: &mut Outbox) {
        if let Some(listening) = self.resources.remove(uri) {
            if let Some(request) = listening.waiting {
                out.tell_client(Message::result(&request, "{}"));
            }
            out.tell_server(cancelled(&listening.id));
        }
    }

    /// Takes a subscription back that is not acknowledged yet, and says whether there is one.
    pub(super) fn cancel(&mut self, request: &Id, out: &mut Outbox) -> bool {
        let uri = self.resources.iter().find(|(_, one)| one.waiting.as_ref() == Some(request));
        let Some(uri) = uri.map(|(uri, _)| uri.clone()) else { return false };
        if let Some(listening) = self.resources.remove(&uri) {
            out.tell_server(cancelled(&listening.id));
        }
        true
    }

    /// Takes the server's word for what it listens for.
    pub(super) fn acknowledged(&mut self, notification: &Message, out: &mut Outbox) {
        let text = notification.text();
        let Some(id) = splice::id_at(text, &["params", "_meta", meta::SUBSCRIPTION]) else {
            return;
        };
        let Some((uri, listening)) = self.resources.iter_mut().find(|(_, one)| one.id == id) else {
            return;
        };
        let Some(request) = listening.waiting.take() else { return };
        let accepted = splice::at(text, &["params", "notifications", "resourceSubscriptions"]);
        let accepted: Vec<String> =
            accepted.and_then(|uris| serde_json::from_str(uris).ok()).unwrap_or_default();
        if accepted.contains(uri) {
            out.tell_client(Message::result(&request, "{}"));
        } else {
            let text = "the server takes no subscription of this resource";
            out.tell_client(Message::error(Some(&request), code::INVALID_PARAMS, text, None));
            out.tell_server(cancelled(&id));
            let uri = uri.clone();
            self.resources.remove(&uri);
        }
    }

    /// Takes the end of listening, and says whether it is one.
    pub(super) fn ended(&mut self, id: &Id, answer: Option<&Message>, out: &mut Outbox) -> bool {
        if self.lists.as_ref() == Some(id) {
            // It is not asked again: a server that declines would be asked for ever.
            return true;
        }
        let uri = self.resources.iter().find(|(_, one)| one.id == *id).map(|(uri, _)| uri.clone());
        let Some(listening) = uri.and_then(|uri| self.resources.remove(&uri)) else {
            return false;
        };
        if let Some(request) = listening.waiting {
            let reason =
                answer.and_then(|answer| splice::string_at(answer.text(), &["error", "message"]));
            let text = reason.unwrap_or_else(|| "the server ended the subscription".to_owned());
            out.tell_client(Message::error(Some(&request), code::INTERNAL_ERROR, &text, None));
        }
        true
    }
}
