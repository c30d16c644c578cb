//! Translates the subscriptions of a legacy client into `subscriptions/listen` requests to a modern server.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::cancellation::cancel;
use super::outbox::Outbox;
use super::terms::{meta, notice};
use crate::wire::{Id, Message, code, splice};

/// The largest number of subscribed resources.
pub(super) const MAX: usize = 256;

/// Holds the open listening requests.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// The id of the request that listens for changed lists.
    lists: Option<Id>,
    /// The requests that listen for one resource each, by its URI.
    resources: HashMap<String, Subscription>,
}

#[derive(Debug)]
struct Subscription {
    id: Id,
    /// The client's `resources/subscribe` request, which is answered once the server acknowledges.
    waiting: Option<Id>,
}

impl Subscriptions {
    /// Returns the parameters of the request that listens for changed lists. Returns `None` if the server's
    /// capabilities promise no such notifications, or if the request was already sent.
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

    /// Returns the parameters of the request that listens for a resource. Returns `None` if the client was
    /// already answered instead.
    pub(super) fn subscribe(
        &mut self,
        request: &Id,
        uri: String,
        listen: Id,
        out: &mut Outbox,
    ) -> Option<Value> {
        if self.resources.contains_key(&uri) {
            out.send_to_client(Message::result(request, "{}"));
            return None;
        }
        if self.resources.len() >= MAX {
            let text = format!("{MAX} resources are subscribed to already");
            out.send_to_client(Message::error(Some(request), code::INTERNAL_ERROR, &text, None));
            return None;
        }
        let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
        self.resources.insert(uri, Subscription { id: listen, waiting: Some(request.clone()) });
        Some(params)
    }

    /// Stops listening for a resource.
    pub(super) fn unsubscribe(&mut self, uri: &str, out: &mut Outbox) {
        if let Some(listening) = self.resources.remove(uri) {
            if let Some(request) = listening.waiting {
                out.send_to_client(Message::result(&request, "{}"));
            }
            out.send_to_server(cancel(&listening.id));
        }
    }

    /// Cancels a subscription that is not acknowledged yet. Returns false if there is no such subscription.
    pub(super) fn cancel(&mut self, request: &Id, out: &mut Outbox) -> bool {
        let uri = self.resources.iter().find(|(_, one)| one.waiting.as_ref() == Some(request));
        let Some(uri) = uri.map(|(uri, _)| uri.clone()) else { return false };
        if let Some(listening) = self.resources.remove(&uri) {
            out.send_to_server(cancel(&listening.id));
        }
        true
    }

    /// Answers the client's subscription with the server's acknowledgment.
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
            out.send_to_client(Message::result(&request, "{}"));
        } else {
            let text = "the server takes no subscription of this resource";
            out.send_to_client(Message::error(Some(&request), code::INVALID_PARAMS, text, None));
            out.send_to_server(cancel(&id));
            let uri = uri.clone();
            self.resources.remove(&uri);
        }
    }

    /// Removes a listening request that the server ended. Returns false if the id belongs to none.
    pub(super) fn ended(&mut self, id: &Id, answer: Option<&Message>, out: &mut Outbox) -> bool {
        if self.lists.as_ref() == Some(id) {
            // It is not sent again: a server that rejects it would be asked forever.
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
            out.send_to_client(Message::error(Some(&request), code::INTERNAL_ERROR, &text, None));
        }
        true
    }
}
