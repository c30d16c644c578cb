//! Holds the requests of a modern client that a legacy server is processing. A request stays open while its
//! client collects the answers to the server's questions.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::cancellation;
use super::capability;
use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use super::request_state::{call_digest, random_request_state};
use super::response_completion::complete_response;
use super::terms::{code, meta, method};
use crate::link::Incoming;
use crate::wire::{Id, Message, Shape, code as wire_code, splice};

/// The largest number of pending requests.
const MAX_CALLS: usize = 1024;
/// The largest number of calls that wait for their client to return.
const MAX_SUSPENDED: usize = 256;
/// The largest number of open questions of a server about one call.
const MAX_QUESTIONS: usize = 64;
/// The time in which a client must return.
const RETURN_TIMEOUT: Duration = Duration::from_mins(10);

/// Holds the pending requests by the server's request id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    calls: HashMap<Id, OpenCall>,
    /// Maps the `requestState` that a client must return to its call.
    suspended: HashMap<String, Id>,
    started: u64,
}

#[derive(Debug)]
struct OpenCall {
    /// The client's request to answer, or the last one that was answered.
    client_request: Id,
    client_waits: bool,
    /// The time at which an absent client is given up.
    until: Option<Instant>,
    method: String,
    digest: [u8; 32],
    /// The capabilities of the client that made the call.
    capabilities: Value,
    /// The sequence number of the call. The newest call has the highest.
    order: u64,
    /// The progress token that the server received.
    server_token: Option<Id>,
    /// The progress token of the request that waits now.
    client_token: Option<Id>,
    questions: Vec<OpenQuestion>,
    question_count: u64,
    /// The server's response, if it arrived while the client was away.
    stored_response: Option<Incoming>,
}

#[derive(Debug)]
struct OpenQuestion {
    key: String,
    id: Id,
    method: String,
    /// The question as JSON text for the client.
    request: String,
}

impl OpenCalls {
    /// Sends a request to the server.
    pub(super) fn begin(
        &mut self,
        id: Id,
        method: &str,
        request: Message,
        ids: &GeneratedIds,
        out: &mut Outbox,
    ) {
        if self.calls.len() >= MAX_CALLS {
            let text = format!("{MAX_CALLS} requests are under way already");
            out.send_to_client(Message::error(Some(&id), wire_code::INTERNAL_ERROR, &text, None));
            return;
        }
        let text = request.text();
        let token = progress_token(text);
        self.started += 1;
        let call = OpenCall {
            client_request: id.clone(),
            client_waits: true,
            until: None,
            method: method.to_owned(),
            digest: call_digest(method, text),
            capabilities: capabilities(text),
            order: self.started,
            server_token: token.clone(),
            client_token: token,
            questions: Vec::new(),
            question_count: 0,
            stored_response: None,
        };
        // A client may reuse an id after it was answered, while the server still processes the first request.
        let upstream = if self.calls.contains_key(&id) { ids.next() } else { id };
        out.send_to_server(without_version(request).with_id(&upstream));
        self.calls.insert(upstream, call);
    }

    /// Resumes a call whose client has returned with answers.
    pub(super) fn resume(
        &mut self,
        id: &Id,
        method: &str,
        request: &Message,
        now: Instant,
        out: &mut Outbox,
    ) {
        let text = request.text();
        let state = splice::string_at(text, &["params", "requestState"]).unwrap_or_default();
        let upstream = self.suspended.get(&state).cloned();
        let call = upstream.as_ref().and_then(|upstream| self.calls.get_mut(upstream));
        let (Some(upstream), Some(call)) = (upstream, call) else {
            let text = "the requestState is not known: it was used, has expired, or is not ours";
            out.send_to_client(Message::error(Some(id), wire_code::INVALID_PARAMS, text, None));
            return;
        };
        if call.digest != call_digest(method, text) {
            let text = "the requestState belongs to a call with other parameters";
            out.send_to_client(Message::error(Some(id), wire_code::INVALID_PARAMS, text, None));
            return;
        }
        self.suspended.remove(&state);
        call.client_request = id.clone();
        call.client_waits = true;
        call.until = None;
        call.capabilities = capabilities(text);
        call.client_token = progress_token(text);
        if let Some(stored_response) = call.stored_response.take() {
            let method = call.method.clone();
            self.calls.remove(&upstream);
            out.send_to_client(complete_response(stored_response.answering(id), &method));
            return;
        }
        call.questions.retain(|question| {
            let answer = splice::at(text, &["params", "inputResponses", &question.key]);
            if let Some(answer) = answer {
                out.send_to_server(Message::result(&question.id, answer));
            }
            answer.is_none()
        });
        if !call.questions.is_empty() {
            self.send_questions(&upstream, now, out);
        }
    }

    /// Adds a question of the server to its call. The client answers it by repeating the call.
    pub(super) fn add_question(&mut self, incoming: &Incoming, now: Instant, out: &mut Outbox) {
        let Shape::Request { id, method } = incoming.message.shape() else { return };
        let text = incoming.message.text();
        let params = splice::at(text, &["params"]);
        let values: Value =
            params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        let is_full = self.suspended.len() >= MAX_SUSPENDED;
        let upstream = self.call_of_question(incoming.about.as_ref());
        let call = upstream.as_ref().and_then(|upstream| self.calls.get_mut(upstream));
        let (Some(upstream), Some(call)) = (&upstream, call) else {
            return reject_question(id, method, "no request of the client is under way", out);
        };
        if !capability::allows(&call.capabilities, method, &values) {
            return reject_question(
                id,
                method,
                "the client did not declare that it answers this",
                out,
            );
        }
        if is_full || call.questions.len() >= MAX_QUESTIONS {
            return reject_question(id, method, "too many questions wait for an answer", out);
        }
        call.question_count += 1;
        let name = Value::from(method.as_str());
        call.questions.push(OpenQuestion {
            key: format!("question-{}", call.question_count),
            id: id.clone(),
            method: method.clone(),
            request: match params {
                Some(params) => format!(r#"{{"method":{name},"params":{params}}}"#),
                None => format!(r#"{{"method":{name}}}"#),
            },
        });
        // A client that is away receives the question when it returns.
        if call.client_waits {
            let upstream = upstream.clone();
            self.send_questions(&upstream, now, out);
        }
    }

    /// Removes a question that the server cancelled. Returns false if there was none.
    pub(super) fn remove_question(&mut self, question: &Id) -> bool {
        self.calls.values_mut().any(|call| {
            let before = call.questions.len();
            call.questions.retain(|one| one.id != *question);
            call.questions.len() != before
        })
    }

    /// Handles a response of the server. Returns the response if it belongs to no pending request.
    pub(super) fn handle_response(
        &mut self,
        answer: Incoming,
        out: &mut Outbox,
    ) -> Option<Incoming> {
        let Shape::Response { id } = answer.message.shape() else { return Some(answer) };
        let upstream = id.clone();
        let Some(call) = self.calls.get_mut(&upstream) else { return Some(answer) };
        if call.client_waits {
            let answer = answer.answering(&call.client_request);
            out.send_to_client(complete_response(answer, &call.method));
            self.calls.remove(&upstream);
        } else {
            call.stored_response = Some(answer);
        }
        None
    }

    /// Forwards progress to the waiting request, with that request's token.
    pub(super) fn progress(&self, incoming: Incoming, out: &mut Outbox) {
        let path = ["params", "progressToken"];
        let Some(token) = splice::id_at(incoming.message.text(), &path) else { return };
        let call = self.calls.values().find(|call| call.server_token.as_ref() == Some(&token));
        let Some(OpenCall {
            client_request, client_waits: true, client_token: Some(wanted), ..
        }) = call
        else {
            return;
        };
        let mut message = incoming.message;
        if *wanted != token
            && let Ok(text) = splice::with(message.text(), &path, wanted.as_json())
        {
            message = message.with_text(text);
        }
        out.send_to_client(Incoming::about(message, client_request.clone()));
    }

    /// Returns the client's request that a message of the server belongs to.
    pub(super) fn client_request(&self, about: Option<&Id>) -> Option<Id> {
        let call = match about {
            Some(about) => self.calls.get(about),
            None => {
                let awaited = self.calls.values().filter(|call| call.client_waits);
                awaited.max_by_key(|call| call.order)
            }
        };
        call.filter(|call| call.client_waits).map(|call| call.client_request.clone())
    }

    /// Cancels the call that the client knows by this id. Returns false if there is no such call.
    pub(super) fn cancel(&mut self, id: &Id, notice: &Message, out: &mut Outbox) -> bool {
        let upstream = self.calls.iter().find(|(_, call)| call.client_request == *id);
        let Some(upstream) = upstream.map(|(upstream, _)| upstream.clone()) else { return false };
        let notice = cancellation::with_request(notice, id, &upstream);
        self.abandon(&upstream, notice, out);
        true
    }

    /// Returns the next time at which a client is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.suspended.values().filter_map(|upstream| self.calls.get(upstream)?.until).min()
    }

    /// Ends the calls of clients that did not return in time.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        let is_due = |call: &OpenCall| call.until.is_some_and(|until| until <= now);
        let due = self.calls.iter().filter(|(_, call)| is_due(call));
        let due: Vec<Id> = due.map(|(upstream, _)| upstream.clone()).collect();
        for upstream in due {
            self.abandon(&upstream, cancellation::cancel(&upstream), out);
        }
    }

    /// Returns the call that a question of the server belongs to. If the transport does not name it, this is the
    /// newest call that may ask for input.
    fn call_of_question(&self, about: Option<&Id>) -> Option<Id> {
        let may_ask = |call: &OpenCall| {
            method::may_need_input(&call.method) && call.stored_response.is_none()
        };
        let calls = self.calls.iter().filter(|(upstream, call)| {
            about.is_none_or(|about| about == *upstream) && may_ask(call)
        });
        calls.max_by_key(|(_, call)| call.order).map(|(upstream, _)| upstream.clone())
    }

    /// Answers a call with its open questions. The server keeps waiting for the answers.
    fn send_questions(&mut self, upstream: &Id, now: Instant, out: &mut Outbox) {
        let Some(call) = self.calls.get_mut(upstream) else { return };
        let Some(state) = random_request_state() else {
            for question in call.questions.drain(..) {
                reject_question(&question.id, &question.method, "there is no randomness", out);
            }
            return;
        };
        let requests: Vec<String> =
            call.questions.iter().map(|one| format!(r#""{}":{}"#, one.key, one.request)).collect();
        let requests = requests.join(",");
        let result = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{requests}}},"requestState":"{state}"}}"#
        );
        out.send_to_client(Message::result(&call.client_request, &result));
        call.client_waits = false;
        call.until = Some(now + RETURN_TIMEOUT);
        self.suspended.insert(state, upstream.clone());
    }

    /// Ends a call that no client waits for. Its questions are rejected and the server is notified.
    fn abandon(&mut self, upstream: &Id, notice: Message, out: &mut Outbox) {
        let Some(call) = self.calls.remove(upstream) else { return };
        self.suspended.retain(|_, one| one != upstream);
        for question in call.questions {
            if question.method == method::ELICIT {
                out.send_to_server(Message::result(&question.id, r#"{"action":"cancel"}"#));
            } else {
                reject_question(
                    &question.id,
                    &question.method,
                    "the client did not come back",
                    out,
                );
            }
        }
        if call.stored_response.is_none() {
            out.send_to_server(notice);
        }
    }
}

/// Rejects a question of the server. A form is declined, which is a valid answer instead of an error.
pub(super) fn reject_question(id: &Id, method: &str, reason: &str, out: &mut Outbox) {
    out.send_to_server(if method == method::ELICIT {
        Message::result(id, r#"{"action":"decline"}"#)
    } else {
        Message::error(Some(id), code::METHOD_NOT_FOUND, reason, None)
    });
}

/// Removes the modern revision from a request. A legacy server that knows this member would reject the request.
fn without_version(request: Message) -> Message {
    let text = request.text();
    if splice::at(text, &["params", "_meta", meta::VERSION]).is_none() {
        return request;
    }
    let text = splice::without(text, &["params", "_meta"], meta::VERSION);
    text.map_or_else(|_| request.clone(), |text| request.clone().with_text(text))
}

/// Returns the client capabilities that a request declares.
fn capabilities(text: &str) -> Value {
    let capabilities = splice::at(text, &["params", "_meta", meta::CAPABILITIES]);
    capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn progress_token(text: &str) -> Option<Id> {
    splice::id_at(text, &["params", "_meta", "progressToken"])
}
