//! Tracks the requests of a supervised server.

use std::collections::HashMap;

use super::{is_restart_error, link_error_reason};
use crate::wire::{Id, Message, Shape};

/// Tracks the requests that the server has received.
#[derive(Debug, Default)]
pub(super) struct ServerRequests {
    /// The pending requests. A copy is stored until the server answers for the first time, because the server may
    /// end on any of them.
    requests: HashMap<Id, Option<Message>>,
    /// The requests to send to the restarted server.
    to_resend: Vec<Message>,
    /// True if the server has answered a request since its start.
    has_answered: bool,
    /// True if the server has answered a request since any start.
    has_ever_answered: bool,
}

impl ServerRequests {
    pub(super) fn add(&mut self, id: &Id, request: &Message) {
        let copy = (!self.has_answered).then(|| request.clone());
        self.requests.insert(id.clone(), copy);
    }

    /// Records a response. Returns false if the client must not receive it, because the request is sent again.
    pub(super) fn record_response(&mut self, id: &Id, response: &Message) -> bool {
        let request = self.requests.remove(id);
        match link_error_reason(response) {
            None if !self.has_answered => {
                (self.has_answered, self.has_ever_answered) = (true, true);
                for request in self.requests.values_mut() {
                    *request = None;
                }
            }
            Some(_) if is_restart_error(response) => {
                if let Some(Some(request)) = request {
                    self.to_resend.push(request);
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// Removes a cancelled request, which needs no response.
    pub(super) fn forget(&mut self, id: &Id) {
        let is_match = |request: &Message| matches!(request.shape(), Shape::Request { id: other, .. } if other == id);
        self.requests.remove(id);
        self.to_resend.retain(|request| !is_match(request));
    }

    /// Returns the requests to send to the restarted server. They are stored without a copy, so they are not sent
    /// a third time.
    pub(super) fn take_requests_to_resend(&mut self) -> Vec<Message> {
        self.has_answered = false;
        let to_resend = std::mem::take(&mut self.to_resend);
        for request in &to_resend {
            if let Shape::Request { id, .. } = request.shape() {
                self.requests.insert(id.clone(), None);
            }
        }
        to_resend
    }

    /// Returns true if there are requests to send to the restarted server.
    pub(super) fn has_requests_to_resend(&self) -> bool {
        !self.to_resend.is_empty()
    }

    /// Returns true if the server has answered a request since any start.
    pub(super) const fn has_ever_answered(&self) -> bool {
        self.has_ever_answered
    }

    /// Removes all pending requests, and returns their ids.
    pub(super) fn take_pending(&mut self) -> impl Iterator<Item = Id> + use<> {
        std::mem::take(&mut self.requests).into_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_requests_are_not_sent_again() {
        let mut requests = ServerRequests::default();
        let request = Message::read(r#"{"id":1,"method":"m"}"#.to_owned()).unwrap();
        let Shape::Request { id, .. } = request.shape().clone() else { panic!("a request") };
        requests.add(&id, &request);
        requests.forget(&id);
        assert!(requests.requests.is_empty());
        requests.add(&id, &request);
        assert!(!requests.record_response(&id, &super::super::restart_error(&id, "why")));
        requests.forget(&id);
        assert!(requests.take_requests_to_resend().is_empty());
    }
}
