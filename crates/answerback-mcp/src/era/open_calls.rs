//! Holds the requests of a modern client that a legacy server is processing. A request stays open while its
//! client collects the answers to the server's questions.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::cancelled::{self, cancelled};
use super::capability;
use super::completed::completed;
use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use super::terms::{code, meta, method};
use crate::link::Incoming;
use crate::wire::{Id, Message, Object, Shape, code as wire_code, splice};

/// The largest number of pending requests.
const MOST_CALLS: usize = 1024;
/// The largest number of calls that wait for their client to return.
const MOST_AWAY: usize = 256;
/// The largest number of open questions of a server about one call.
const MOST_QUESTIONS: usize = 64;
/// The time in which a client must return.
const AWAY: Duration = Duration::from_mins(10);

/// Holds the pending requests by the server's request id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    calls: HashMap<Id, OpenCall>,
    /// Maps the `requestState` that a client must return to its call.
    away: HashMap<String, Id>,
    begun: u64,
}

#[derive(Debug)]
struct OpenCall {
    /// The client's request to answer, or the last one that was answered.
    holder: Id,
    is_awaited: bool,
    /// The time at which an absent client is given up.
    until: Option<Instant>,
    method: String,
    digest: [u8; 32],
    /// The capabilities of the client that made the call.
    capabilities: Value,
    /// The sequence number of the call. The newest call has the highest.
    order: u64,
    /// The progress token for the server, and the token for the client.
    progress: (Option<Id>, Option<Id>),
    questions: Vec<OpenQuestion>,
    asked: u64,
    /// The server's response, if it arrived while the client was away.
    finished: Option<Incoming>,
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
        if self.calls.len() >= MOST_CALLS {
            let text = format!("{MOST_CALLS} requests are under way already");
            out.tell_client(Message::error(Some(&id), wire_code::INTERNAL_ERROR, &text, None));
            return;
        }
        let text = request.text();
        let token = progress_token(text);
        self.begun += 1;
        let call = OpenCall {
            holder: id.clone(),
            is_awaited: true,
            until: None,
            method: method.to_owned(),
            digest: digest(method, text),
            capabilities: capabilities(text),
            order: self.begun,
            progress: (token.clone(), token),
            questions: Vec::new(),
            asked: 0,
            finished: None,
        };
        // A client may reuse an id after it was answered, while the server still processes the first request.
        let upstream = if self.calls.contains_key(&id) { ids.next() } else { id };
        out.tell_server(without_version(request).with_id(&upstream));
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
        let upstream = self.away.get(&state).cloned();
        let call = upstream.as_ref().and_then(|upstream| self.calls.get_mut(upstream));
        let (Some(upstream), Some(call)) = (upstream, call) else {
            let text = "the requestState is not known: it was used, has expired, or is not ours";
            out.tell_client(Message::error(Some(id), wire_code::INVALID_PARAMS, text, None));
            return;
        };
        if call.digest != digest(method, text) {
            let text = "the requestState belongs to a call with other parameters";
            out.tell_client(Message::error(Some(id), wire_code::INVALID_PARAMS, text, None));
            return;
        }
        self.away.remove(&state);
        call.holder = id.clone();
        call.is_awaited = true;
        call.until = None;
        call.capabilities = capabilities(text);
        call.progress.1 = progress_token(text);
        if let Some(finished) = call.finished.take() {
            let method = call.method.clone();
            self.calls.remove(&upstream);
            out.tell_client(completed(finished.answering(id), &method));
            return;
        }
        call.questions.retain(|question| {
            let answer = splice::at(text, &["params", "inputResponses", &question.key]);
            if let Some(answer) = answer {
                out.tell_server(Message::result(&question.id, answer));
            }
            answer.is_none()
        });
        if !call.questions.is_empty() {
            self.send_away(&upstream, now, out);
        }
    }

    /// Adds a question of the server to its call. The client answers it by repeating the call.
    pub(super) fn server_asks(&mut self, incoming: &Incoming, now: Instant, out: &mut Outbox) {
        let Shape::Request { id, method } = incoming.message.shape() else { return };
        let text = incoming.message.text();
        let params = splice::at(text, &["params"]);
        let values: Value =
            params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        let is_full = self.away.len() >= MOST_AWAY;
        let upstream = self.asked_about(incoming.about.as_ref());
        let call = upstream.as_ref().and_then(|upstream| self.calls.get_mut(upstream));
        let (Some(upstream), Some(call)) = (&upstream, call) else {
            return refuse(id, method, "no request of the client is under way", out);
        };
        if !capability::allows(&call.capabilities, method, &values) {
            return refuse(id, method, "the client did not declare that it answers this", out);
        }
        if is_full || call.questions.len() >= MOST_QUESTIONS {
            return refuse(id, method, "too many questions wait for an answer", out);
        }
        call.asked += 1;
        let name = Value::from(method.as_str());
        call.questions.push(OpenQuestion {
            key: format!("question-{}", call.asked),
            id: id.clone(),
            method: method.clone(),
            request: match params {
                Some(params) => format!(r#"{{"method":{name},"params":{params}}}"#),
                None => format!(r#"{{"method":{name}}}"#),
            },
        });
        // A client that is away receives the question when it returns.
        if call.is_awaited {
            let upstream = upstream.clone();
            self.send_away(&upstream, now, out);
        }
    }

    /// Removes a question that the server cancelled. Returns false if there was none.
    pub(super) fn server_withdraws(&mut self, question: &Id) -> bool {
        self.calls.values_mut().any(|call| {
            let before = call.questions.len();
            call.questions.retain(|one| one.id != *question);
            call.questions.len() != before
        })
    }

    /// Handles a response of the server. Returns the response if it belongs to no pending request.
    pub(super) fn server_answered(
        &mut self,
        answer: Incoming,
        out: &mut Outbox,
    ) -> Option<Incoming> {
        let Shape::Response { id } = answer.message.shape() else { return Some(answer) };
        let upstream = id.clone();
        let Some(call) = self.calls.get_mut(&upstream) else { return Some(answer) };
        if call.is_awaited {
            let answer = answer.answering(&call.holder);
            out.tell_client(completed(answer, &call.method));
            self.calls.remove(&upstream);
        } else {
            call.finished = Some(answer);
        }
        None
    }

    /// Forwards progress to the waiting request, with that request's token.
    pub(super) fn progress(&self, incoming: Incoming, out: &mut Outbox) {
        let path = ["params", "progressToken"];
        let Some(token) = splice::id_at(incoming.message.text(), &path) else { return };
        let call = self.calls.values().find(|call| call.progress.0.as_ref() == Some(&token));
        let Some(OpenCall { holder, is_awaited: true, progress: (_, Some(wanted)), .. }) = call
        else {
            return;
        };
        let mut message = incoming.message;
        if *wanted != token
            && let Ok(text) = splice::with(message.text(), &path, wanted.as_json())
        {
            message = message.with_text(text);
        }
        out.tell_client(Incoming::about(message, holder.clone()));
    }

    /// Returns the client's request that a message of the server belongs to.
    pub(super) fn holder(&self, about: Option<&Id>) -> Option<Id> {
        let call = match about {
            Some(about) => self.calls.get(about),
            None => {
                let awaited = self.calls.values().filter(|call| call.is_awaited);
                awaited.max_by_key(|call| call.order)
            }
        };
        call.filter(|call| call.is_awaited).map(|call| call.holder.clone())
    }

    /// Cancels the call that the client knows by this id. Returns false if there is no such call.
    pub(super) fn cancel(&mut self, id: &Id, notice: &Message, out: &mut Outbox) -> bool {
        let upstream = self.calls.iter().find(|(_, call)| call.holder == *id);
        let Some(upstream) = upstream.map(|(upstream, _)| upstream.clone()) else { return false };
        let notice = cancelled::renamed(notice, id, &upstream);
        self.abandon(&upstream, notice, out);
        true
    }

    /// Returns the next time at which a client is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.away.values().filter_map(|upstream| self.calls.get(upstream)?.until).min()
    }

    /// Ends the calls of clients that did not return in time.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        let is_due = |call: &OpenCall| call.until.is_some_and(|until| until <= now);
        let due = self.calls.iter().filter(|(_, call)| is_due(call));
        let due: Vec<Id> = due.map(|(upstream, _)| upstream.clone()).collect();
        for upstream in due {
            self.abandon(&upstream, cancelled(&upstream), out);
        }
    }

    /// Returns the call that a question of the server belongs to. If the transport does not name it, this is the
    /// newest call that may ask for input.
    fn asked_about(&self, about: Option<&Id>) -> Option<Id> {
        let can_ask =
            |call: &OpenCall| method::may_need_input(&call.method) && call.finished.is_none();
        let calls = self.calls.iter().filter(|(upstream, call)| {
            about.is_none_or(|about| about == *upstream) && can_ask(call)
        });
        calls.max_by_key(|(_, call)| call.order).map(|(upstream, _)| upstream.clone())
    }

    /// Answers a call with its open questions. The server keeps waiting for the answers.
    fn send_away(&mut self, upstream: &Id, now: Instant, out: &mut Outbox) {
        let Some(call) = self.calls.get_mut(upstream) else { return };
        let Some(state) = random_state() else {
            for question in call.questions.drain(..) {
                refuse(&question.id, &question.method, "there is no randomness", out);
            }
            return;
        };
        let requests: Vec<String> =
            call.questions.iter().map(|one| format!(r#""{}":{}"#, one.key, one.request)).collect();
        let requests = requests.join(",");
        let result = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{requests}}},"requestState":"{state}"}}"#
        );
        out.tell_client(Message::result(&call.holder, &result));
        call.is_awaited = false;
        call.until = Some(now + AWAY);
        self.away.insert(state, upstream.clone());
    }

    /// Ends a call that no client waits for. Its questions are rejected and the server is notified.
    fn abandon(&mut self, upstream: &Id, notice: Message, out: &mut Outbox) {
        let Some(call) = self.calls.remove(upstream) else { return };
        self.away.retain(|_, one| one != upstream);
        for question in call.questions {
            if question.method == method::ELICIT {
                out.tell_server(Message::result(&question.id, r#"{"action":"cancel"}"#));
            } else {
                refuse(&question.id, &question.method, "the client did not come back", out);
            }
        }
        if call.finished.is_none() {
            out.tell_server(notice);
        }
    }
}

/// Rejects a question of the server. A form is declined, which is a valid answer instead of an error.
pub(super) fn refuse(id: &Id, method: &str, reason: &str, out: &mut Outbox) {
    out.tell_server(if method == method::ELICIT {
        Message::result(id, r#"{"action":"decline"}"#)
    } else {
        Message::error(Some(id), code::METHOD_NOT_FOUND, reason, None)
    });
}

/// Hashes the parameters that identify a call. The JSON text is hashed as it is, because a client repeats its
/// request unchanged. So the arguments that were checked on the repeated request are those that run.
fn digest(method: &str, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: Option<&str>| {
        let part = part.unwrap_or_default();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    add(Some(method));
    match splice::at(text, &["params"]).map(Object::read) {
        Some(Ok(params)) => {
            for name in ["name", "uri", "arguments"] {
                add(params.get(name));
            }
        }
        // Unreadable parameters are compared as a whole.
        _ => add(Some(text)),
    }
    hash.finalize().into()
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

/// Returns an unguessable `requestState`.
fn random_state() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::super::{Era, EraCache};
    use super::*;

    const BOTH: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
    const ASKS: &str =
        r#"S {"id":"e1","method":"elicitation/create","params":{"message":"Who?", "n":1.0}}"#;
    const DONE: &str = r#"S@1 {"id":1,"result":{"content":[ ]}}"#;
    const UNKNOWN: &str = "the requestState is not known";

    fn opened() -> Script {
        let cache = EraCache::default();
        cache.learn(Era::Modern, false);
        let mut script = Script::new(&cache);
        script.play(&[
            r#"C {"id":0,"method":"server/discover"}"#,
            r#"S {"id":"answerback-era/1","result":{"capabilities":{}}}"#,
        ]);
        script
    }

    fn call(id: &str, capabilities: &str, more: &str) -> String {
        let meta = format!(r#""{}":{capabilities}"#, meta::CAPABILITIES);
        format!(
            r#"C {{"id":{id},"method":"tools/call","params":{{"name":"book","arguments":{{"n":1.0}},"_meta":{{{meta}}}{more}}}}}"#
        )
    }

    /// Repeats the call with answers.
    fn back(id: &str, answers: &str) -> String {
        call(id, BOTH, &format!(r#","inputResponses":{{{answers}}},"requestState":"STATE""#))
    }

    #[test]
    fn a_question_sends_the_client_away_and_its_answer_takes_the_call_up() {
        let mut script = opened();
        insta::assert_snapshot!(script.play(&[
            &call("1", BOTH, ""),
            ASKS,
            &back("2", r#""question-1":{"action":"accept","content":{"n":2.0}}"#),
            DONE,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
        C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
        S {"jsonrpc":"2.0","id":"e1","result":{"action":"accept","content":{"n":2.0}}}
        C@2 {"id":2,"result":{"content":[ ],"resultType":"complete"}}
        "#);
        // A state can be used only once.
        assert!(script.play(&[&back("3", "")]).contains(UNKNOWN));
    }

    #[test]
    fn progress_follows_the_client() {
        let token = |id: &str, token: &str, more: &str| {
            format!(
                r#"C {{"id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"{}":{BOTH},"progressToken":{token}}}{more}}}}}"#,
                meta::CAPABILITIES
            )
        };
        let progress =
            r#"S {"method":"notifications/progress","params":{"progressToken":"a", "progress":1}}"#;
        let again = r#","inputResponses":{"question-1":{}},"requestState":"STATE""#;
        insta::assert_snapshot!(opened().play(&[
            &token("1", r#""a""#, ""),
            progress,
            ASKS,
            progress,
            &token("2", "7", again),
            progress,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}},"progressToken":"a"}}}
        C@1 {"method":"notifications/progress","params":{"progressToken":"a", "progress":1}}
        C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
        S {"jsonrpc":"2.0","id":"e1","result":{}}
        C@2 {"method":"notifications/progress","params":{"progressToken":7, "progress":1}}
        "#);
    }

    #[test]
    fn more_questions_wait_until_the_client_is_back() {
        insta::assert_snapshot!(opened().play(&[
            &call("1", BOTH, ""),
            ASKS,
            r#"S {"id":9,"method":"roots/list"}"#,
            r#"S {"id":10,"method":"sampling/createMessage","params":{}}"#,
            r#"S {"method":"notifications/cancelled","params":{"requestId":10}}"#,
            &back("2", r#""question-1":{"action":"decline"}"#),
            &back("3", r#""question-2":{"roots":[ ]}"#),
            DONE,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
        C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
        S {"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}
        C {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"question-2":{"method":"roots/list"}},"requestState":"STATE"}}
        S {"jsonrpc":"2.0","id":9,"result":{"roots":[ ]}}
        C@3 {"id":3,"result":{"content":[ ],"resultType":"complete"}}
        "#);
    }

    #[test]
    fn an_answer_waits_for_a_client_that_is_away() {
        let mut script = opened();
        assert!(script.play(&[&call("1", BOTH, ""), ASKS]).contains("input_required"));
        assert_eq!(script.play(&[DONE]), "");
        insta::assert_snapshot!(script.play(&[&back("2", "")]), @r#"
        C@2 {"id":2,"result":{"content":[ ],"resultType":"complete"}}
        "#);
    }

    #[test]
    fn a_question_belongs_to_the_call_that_is_named_or_to_the_newest() {
        let calls = [call("1", BOTH, ""), call("2", BOTH, "")];
        for (asks, expected) in [(ASKS, 2), (&ASKS.replacen('S', "S@1", 1), 1)] {
            let mut script = opened();
            script.play(&[&calls[0], &calls[1]]);
            let heard = script.play(&[asks]);
            let start = format!(
                r#"C {{"jsonrpc":"2.0","id":{expected},"result":{{"resultType":"input_required""#
            );
            assert!(heard.starts_with(&start), "{heard}");
        }
    }

    #[test]
    fn what_the_client_did_not_declare_is_not_asked() {
        let mut script = opened();
        insta::assert_snapshot!(script.play(&[
            &call("1", "{}", ""),
            ASKS,
            r#"S@1 {"id":9,"method":"roots/list"}"#,
            r#"C {"id":2,"method":"tools/list"}"#,
            r#"S@2 {"id":10,"method":"roots/list"}"#,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}
        S {"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}
        S {"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"the client did not declare that it answers this"}}
        S {"id":2,"method":"tools/list"}
        S {"jsonrpc":"2.0","id":10,"error":{"code":-32601,"message":"no request of the client is under way"}}
        "#);
    }

    #[test]
    fn a_state_is_bound_to_its_call() {
        let mut script = opened();
        script.play(&[&call("1", BOTH, ""), ASKS]);
        let other = back("2", "").replace("1.0", "1.1");
        assert!(script.play(&[&other]).contains("other parameters"));
        let forged = back("2", "").replace("STATE", "0000");
        assert!(script.play(&[&forged]).contains(UNKNOWN));
        // Neither attempt changed the call.
        assert!(script.play(&[&back("2", "")]).contains("input_required"));
    }

    #[test]
    fn a_cancelled_call_is_cancelled_upstream() {
        let cancel = |id| {
            format!(r#"C {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        let mut script = opened();
        let answer = r#""question-1":{"action":"decline"}"#;
        script.play(&[&call("1", BOTH, ""), ASKS, &back("2", answer)]);
        insta::assert_snapshot!(script.play(&[&cancel(2)]), @r#"
        S {"method":"notifications/cancelled","params":{"requestId":1}}
        "#);
        script.play(&[&call("3", BOTH, ""), ASKS]);
        insta::assert_snapshot!(script.play(&[&cancel(3), &back("4", answer)]), @r#"
        S {"jsonrpc":"2.0","id":"e1","result":{"action":"cancel"}}
        S {"method":"notifications/cancelled","params":{"requestId":3}}
        C {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"the requestState is not known: it was used, has expired, or is not ours"}}
        "#);
    }

    #[test]
    fn a_client_that_stays_away_is_given_up() {
        let mut script = opened();
        script.play(&[&call("1", BOTH, ""), ASKS, r#"S {"id":9,"method":"roots/list"}"#]);
        assert_eq!(script.play(&["T 599"]), "");
        insta::assert_snapshot!(script.play(&["T 1"]), @r#"
        S {"jsonrpc":"2.0","id":"e1","result":{"action":"cancel"}}
        S {"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"the client did not come back"}}
        S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        "#);
        assert!(script.play(&[&back("2", "")]).contains(UNKNOWN));
    }

    #[test]
    fn an_id_may_come_again_while_its_call_waits() {
        insta::assert_snapshot!(opened().play(&[
            &call("1", BOTH, ""),
            ASKS,
            r#"C {"id":1,"method":"tools/list"}"#,
            r#"S {"id":"answerback-era/2","result":{"tools":[]}}"#,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}
        C {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question-1":{"method":"elicitation/create","params":{"message":"Who?", "n":1.0}}},"requestState":"STATE"}}
        S {"id":"answerback-era/2","method":"tools/list"}
        C {"id":1,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
        "#);
    }

    #[test]
    fn absent_clients_and_calls_are_bounded() {
        let mut script = opened();
        for number in 1..=MOST_AWAY {
            let heard = script.play(&[&call(&number.to_string(), BOTH, ""), ASKS]);
            assert!(heard.contains("input_required"), "{number}: {heard}");
        }
        let heard = script.play(&[&call("\"more\"", BOTH, ""), ASKS]);
        assert!(heard.contains("decline"), "{heard}");
        for number in MOST_AWAY + 2..=MOST_CALLS {
            script.play(&[&call(&number.to_string(), BOTH, "")]);
        }
        let heard = script.play(&[&call("\"last\"", BOTH, "")]);
        assert!(heard.contains("1024 requests are under way already"), "{heard}");
    }
}
