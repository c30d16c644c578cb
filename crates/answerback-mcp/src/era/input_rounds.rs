//! Handles calls of a legacy client that a modern server answers with `input_required`. The client is asked for
//! the input, and the call is repeated with its answers.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cancellation;
use super::capability;
use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use super::terms::method;
use crate::link::Incoming;
use crate::wire::{Id, Message, Object, ObjectError, Shape, code, splice};

/// The largest number of pending calls.
const MAX_CALLS: usize = 1024;
/// The largest number of times that a server may ask for input for one call.
const MAX_ROUNDS: u32 = 10;
/// The base delay before a call is repeated without new input. It doubles with each round.
const BASE_DELAY: Duration = Duration::from_millis(50);

/// Holds the pending calls by the client's request id.
#[derive(Debug, Default)]
pub(super) struct InputRounds {
    calls: HashMap<Id, RoundCall>,
    /// Maps the server's request id to the client's.
    running: HashMap<Id, Id>,
    /// Maps the id of a request to the client to the call that it belongs to.
    questions: HashMap<Id, Id>,
}

#[derive(Debug)]
struct RoundCall {
    /// The request without the members that later rounds add. The id is replaced when it is repeated.
    request: Message,
    method: String,
    rounds: u32,
    stage: RoundStage,
}

#[derive(Debug)]
enum RoundStage {
    /// The server is processing the call, under this id.
    Running(Id),
    /// The client has to answer these requests.
    Asking { open: Vec<RoundQuestion>, answers: String, state: Option<String> },
    /// The call is repeated at this time.
    Delayed { until: Instant, state: Option<String> },
}

#[derive(Debug)]
struct RoundQuestion {
    id: Id,
    key: String,
    method: String,
}

/// Holds the input that a server asks for.
struct InputRequired {
    requests: Vec<(String, String)>,
    /// The `requestState` as JSON text, because it must be returned exactly as it was sent.
    state: Option<String>,
}

impl InputRequired {
    /// Parses a response. Returns `None` if the response does not ask for input.
    fn read(answer: &str) -> Option<Self> {
        let result = Object::read(splice::at(answer, &["result"])?).ok()?;
        let kind: String = serde_json::from_str(result.get("resultType")?).ok()?;
        if kind != "input_required" {
            return None;
        }
        let requests = result.get("inputRequests").and_then(|text| Object::read(text).ok());
        let requests = requests.map(|requests| {
            let members = requests.members();
            members.map(|(key, request)| (key.to_owned(), request.to_owned())).collect()
        });
        let state = result.get("requestState").map(ToOwned::to_owned);
        Some(Self { requests: requests.unwrap_or_default(), state })
    }
}

impl InputRounds {
    /// Sends a call for the first time.
    pub(super) fn begin(&mut self, id: Id, method: &str, request: Message, out: &mut Outbox) {
        let refusal = if self.calls.contains_key(&id) {
            Some((code::INVALID_REQUEST, "a request with this id is under way".to_owned()))
        } else if self.calls.len() >= MAX_CALLS {
            Some((code::INTERNAL_ERROR, format!("{MAX_CALLS} requests are under way already")))
        } else {
            None
        };
        if let Some((code, text)) = refusal {
            out.send_to_client(Message::error(Some(&id), code, &text, None));
            return;
        }
        out.send_to_server(request.clone());
        self.running.insert(id.clone(), id.clone());
        let (method, stage) = (method.to_owned(), RoundStage::Running(id.clone()));
        self.calls.insert(id, RoundCall { request, method, rounds: 0, stage });
    }

    /// Handles a response of the server. Returns the response if it belongs to no pending call.
    pub(super) fn handle_response(
        &mut self,
        answer: Incoming,
        capabilities: &Value,
        ids: &GeneratedIds,
        now: Instant,
        out: &mut Outbox,
    ) -> Option<Incoming> {
        let Shape::Response { id } = answer.message.shape() else { return Some(answer) };
        let Some(call) = self.running.remove(id) else { return Some(answer) };
        match InputRequired::read(answer.message.text()) {
            Some(needs) => {
                if let Err(text) = self.ask(&call, needs, capabilities, ids, now, out) {
                    self.fail(&call, &text, out);
                }
            }
            None => {
                self.calls.remove(&call);
                out.send_to_client(answer.answering(&call));
            }
        }
        None
    }

    /// Handles a response of the client. Returns false if it does not answer a request of the bridge.
    pub(super) fn handle_client_response(
        &mut self,
        answer: &Message,
        ids: &GeneratedIds,
        out: &mut Outbox,
    ) -> bool {
        let Shape::Response { id } = answer.shape() else { return false };
        let Some(call) = self.questions.remove(id) else { return false };
        let Some(RoundCall { stage: RoundStage::Asking { open, answers, state }, .. }) =
            self.calls.get_mut(&call)
        else {
            return true;
        };
        let Some(place) = open.iter().position(|question| question.id == *id) else { return true };
        let question = open.swap_remove(place);
        let text = answer.text();
        match (splice::at(text, &["result"]), question.method.as_str()) {
            (Some(result), _) => {
                *answers = splice::with(answers, &[&question.key], result)
                    .unwrap_or_else(|_| std::mem::take(answers));
            }
            // A form that could not be shown counts as cancelled.
            (None, method::ELICIT) => {
                *answers = splice::with(answers, &[&question.key], r#"{"action":"cancel"}"#)
                    .unwrap_or_else(|_| std::mem::take(answers));
            }
            (None, method) => {
                let reason = splice::string_at(text, &["error", "message"]).unwrap_or_default();
                let text = format!("the client did not answer {method}: {reason}");
                self.fail(&call, &text, out);
                return true;
            }
        }
        if open.is_empty() {
            let (answers, state) = (std::mem::take(answers), state.take());
            self.resume(&call, Some(&answers), state.as_deref(), ids, out);
        }
        true
    }

    /// Cancels a call of the client in any stage. Returns false if there is no such call.
    pub(super) fn cancel(&mut self, id: &Id, notice: &Message, out: &mut Outbox) -> bool {
        let Some(call) = self.calls.remove(id) else { return false };
        match call.stage {
            RoundStage::Running(upstream) => {
                self.running.remove(&upstream);
                out.send_to_server(cancellation::with_request(notice, id, &upstream));
            }
            RoundStage::Asking { open, .. } => self.withdraw(id, open, out),
            RoundStage::Delayed { .. } => {}
        }
        true
    }

    /// Returns the client's id for a call that has this id at the server.
    pub(super) fn caller(&self, upstream: Id) -> Id {
        self.running.get(&upstream).cloned().unwrap_or(upstream)
    }

    /// Returns the next time at which a call is repeated.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let moments = self.calls.values().filter_map(|call| match call.stage {
            RoundStage::Delayed { until, .. } => Some(until),
            _ => None,
        });
        moments.min()
    }

    /// Repeats the calls whose delay has ended.
    pub(super) fn wake(&mut self, now: Instant, ids: &GeneratedIds, out: &mut Outbox) {
        let due = |call: &RoundCall| matches!(call.stage, RoundStage::Delayed { until, .. } if until <= now);
        let due: Vec<Id> =
            self.calls.iter().filter(|(_, call)| due(call)).map(|(id, _)| id.clone()).collect();
        for id in due {
            if let Some(RoundCall { stage: RoundStage::Delayed { state, .. }, .. }) =
                self.calls.get_mut(&id)
            {
                let state = state.take();
                self.resume(&id, None, state.as_deref(), ids, out);
            }
        }
    }

    /// Asks the client for the input of a call, or returns the reason why that is impossible.
    fn ask(
        &mut self,
        id: &Id,
        needs: InputRequired,
        capabilities: &Value,
        ids: &GeneratedIds,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<(), String> {
        let Some(call) = self.calls.get_mut(id) else { return Ok(()) };
        call.rounds += 1;
        if call.rounds > MAX_ROUNDS {
            return Err(format!("the server needed something more than {MAX_ROUNDS} times"));
        }
        if needs.requests.is_empty() {
            if needs.state.is_none() {
                return Err("the server needs something and does not say what".to_owned());
            }
            let until = now + BASE_DELAY * (1 << call.rounds.min(5));
            call.stage = RoundStage::Delayed { until, state: needs.state };
            return Ok(());
        }
        let mut open = Vec::new();
        let mut messages = Vec::new();
        for (key, request) in needs.requests {
            let method = splice::string_at(&request, &["method"]).unwrap_or_default();
            let params = splice::at(&request, &["params"]).unwrap_or("{}");
            let params: Value = serde_json::from_str(params).unwrap_or_default();
            if !capability::allows(capabilities, &method, &params) {
                let mode = params.get("mode").and_then(Value::as_str);
                let mode = mode.map(|mode| format!(" (mode {mode})")).unwrap_or_default();
                return Err(format!(
                    "the server needs an answer to {method}{mode}, which this client does not declare"
                ));
            }
            let id = ids.next();
            messages.push(question(&id, &request, &method, &params).map_err(|e| e.to_string())?);
            open.push(RoundQuestion { id, key, method });
        }
        for (question, message) in open.iter().zip(messages) {
            self.questions.insert(question.id.clone(), id.clone());
            out.send_to_client(Incoming::about(message, id.clone()));
        }
        call.stage = RoundStage::Asking { open, answers: "{}".to_owned(), state: needs.state };
        Ok(())
    }

    /// Repeats a call with a new id, the client's answers, and the unchanged state of the server.
    fn resume(
        &mut self,
        id: &Id,
        answers: Option<&str>,
        state: Option<&str>,
        ids: &GeneratedIds,
        out: &mut Outbox,
    ) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let upstream = ids.next();
        let repeated = || -> Result<String, ObjectError> {
            let mut text = splice::with(call.request.text(), &["id"], upstream.as_json())?;
            if let Some(answers) = answers {
                text = splice::with(&text, &["params", "inputResponses"], answers)?;
            }
            if let Some(state) = state {
                text = splice::with(&text, &["params", "requestState"], state)?;
            }
            Ok(text)
        };
        // The text was already parsed once, so neither step can fail.
        let repeated = repeated().ok().and_then(|text| Message::read(text).ok());
        let Some(repeated) = repeated else {
            return self.fail(id, "the call cannot be repeated", out);
        };
        call.stage = RoundStage::Running(upstream.clone());
        self.running.insert(upstream, id.clone());
        out.send_to_server(repeated);
    }

    /// Answers a call that cannot continue. A tool call gets a result instead of an error, because the model
    /// reads results.
    fn fail(&mut self, id: &Id, text: &str, out: &mut Outbox) {
        let Some(call) = self.calls.remove(id) else { return };
        if let RoundStage::Asking { open, .. } = call.stage {
            self.withdraw(id, open, out);
        }
        out.send_to_client(if call.method == method::CALL {
            let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
            Message::result(id, &result.to_string())
        } else {
            Message::error(Some(id), code::INVALID_REQUEST, text, None)
        });
    }

    /// Cancels the open requests to the client.
    fn withdraw(&mut self, call: &Id, open: Vec<RoundQuestion>, out: &mut Outbox) {
        for question in open {
            self.questions.remove(&question.id);
            let message = cancellation::cancel(&question.id);
            out.send_to_client(Incoming::about(message, call.clone()));
        }
    }
}

/// Builds the request to the client from the server's text.
fn question(id: &Id, request: &str, method: &str, params: &Value) -> Result<Message, ObjectError> {
    let mut text = splice::with(request, &["jsonrpc"], r#""2.0""#)?;
    text = splice::with(&text, &["id"], id.as_json())?;
    let is_url = params.get("mode").and_then(Value::as_str) == Some("url");
    if method == method::ELICIT && is_url && params.get("elicitationId").is_none() {
        // The legacy era requires this member, and the modern era does not have it.
        text = splice::with(&text, &["params", "elicitationId"], id.as_json())?;
    }
    Ok(Message::read(text).unwrap_or_else(|_| Message::request(id, method, params)))
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::super::{Era, EraCache};
    use super::*;

    const CALL: &str =
        r#"C {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0}}}"#;
    const NEEDS: &str = r#""resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"n":1.0}}}},"requestState":"a\u0062\/c""#;

    fn opened(capabilities: &str) -> Script {
        let cache = EraCache::default();
        cache.learn(Era::Legacy, false);
        let mut script = Script::new(&cache);
        script.play(&[
            &format!(
                r#"C {{"id":0,"method":"initialize","params":{{"capabilities":{capabilities}}}}}"#
            ),
            r#"S {"id":"answerback-era/1","result":{"supportedVersions":["2026-07-28"]}}"#,
        ]);
        script
    }

    fn needs(id: &str) -> String {
        format!(r#"S@{id} {{"id":{id},"result":{{{NEEDS}}}}}"#)
    }

    #[test]
    fn the_client_is_asked_and_the_call_repeated() {
        let mut script = opened(r#"{"elicitation":{}}"#);
        insta::assert_snapshot!(script.play(&[
            CALL,
            &needs("1"),
            r#"C {"id":"answerback-era/2","result":{"action":"accept","content":{"n":2.0}}}"#,
            r#"S@"answerback-era/3" {"method":"notifications/message","params":{}}"#,
            r#"S@"answerback-era/3" {"id":"answerback-era/3","result":{"content":[ ],"resultType":"complete"}}"#,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
        C@1 {"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"n":1.0}},"jsonrpc":"2.0","id":"answerback-era/2"}
        S {"id":"answerback-era/3","method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"inputResponses":{"who":{"action":"accept","content":{"n":2.0}}},"requestState":"a\u0062\/c"}}
        C@1 {"method":"notifications/message","params":{}}
        C@1 {"id":1,"result":{"content":[ ],"resultType":"complete"}}
        "#);
    }

    #[test]
    fn several_questions_are_asked_at_once() {
        let mut script = opened(r#"{"elicitation":{"url":{}},"sampling":{},"roots":{}}"#);
        insta::assert_snapshot!(script.play(&[
            r#"C {"id":1,"method":"resources/read","params":{"uri":"a"}}"#,
            r#"S {"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test"}},"b":{"method":"roots/list"},"c":{"method":"sampling/createMessage","params":{}}}}}"#,
            r#"C {"id":"answerback-era/3","result":{"roots":[]}}"#,
            // A form that could not be shown counts as cancelled.
            r#"C {"id":"answerback-era/2","error":{"code":-32603,"message":"no browser"}}"#,
            r#"C {"id":"answerback-era/4","result":{"role":"assistant"}}"#,
            r#"S {"id":"answerback-era/5","error":{"code":-32602,"message":"gone"}}"#,
        ]), @r#"
        S {"id":1,"method":"resources/read","params":{"uri":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"sampling":{},"roots":{}}}}}
        C@1 {"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test","elicitationId":"answerback-era/2"},"jsonrpc":"2.0","id":"answerback-era/2"}
        C@1 {"method":"roots/list","jsonrpc":"2.0","id":"answerback-era/3"}
        C@1 {"method":"sampling/createMessage","params":{},"jsonrpc":"2.0","id":"answerback-era/4"}
        S {"id":"answerback-era/5","method":"resources/read","params":{"uri":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"sampling":{},"roots":{}}},"inputResponses":{"b":{"roots":[]},"a":{"action":"cancel"},"c":{"role":"assistant"}}}}
        C {"id":1,"error":{"code":-32602,"message":"gone"}}
        "#);
    }

    #[test]
    fn what_the_client_cannot_answer_ends_the_call() {
        let mut script = opened(r#"{"sampling":{}}"#);
        let sample = r#""resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"},"b":{"method":"sampling/createMessage"}}"#;
        insta::assert_snapshot!(script.play(&[
            CALL,
            &needs("1"),
            r#"C {"id":2,"method":"prompts/get","params":{"name":"p"}}"#,
            &needs("2"),
            r#"C {"id":3,"method":"tools/call","params":{"name":"t"}}"#,
            &format!(r#"S {{"id":3,"result":{{{sample}}}}}"#),
            r#"C {"id":"answerback-era/2","error":{"code":-1,"message":"the user said no"}}"#,
            r#"C {"id":"answerback-era/3","result":{}}"#,
            r#"C {"id":4,"method":"tools/call","params":{"name":"t"}}"#,
            r#"S {"id":4,"result":{"resultType":"input_required"}}"#,
        ]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}
        C {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the server needs an answer to elicitation/create, which this client does not declare"}],"isError":true}}
        S {"id":2,"method":"prompts/get","params":{"name":"p","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}
        C {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"the server needs an answer to elicitation/create, which this client does not declare"}}
        S {"id":3,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}
        C@3 {"method":"sampling/createMessage","jsonrpc":"2.0","id":"answerback-era/2"}
        C@3 {"method":"sampling/createMessage","jsonrpc":"2.0","id":"answerback-era/3"}
        C@3 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"answerback-era/3"}}
        C {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"the client did not answer sampling/createMessage: the user said no"}],"isError":true}}
        S {"id":4,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}
        C {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"the server needs something and does not say what"}],"isError":true}}
        "#);
    }

    #[test]
    fn a_cancelled_call_is_cancelled_wherever_it_is() {
        let cancel =
            r#"C {"method":"notifications/cancelled","params":{"requestId":1, "reason":"r"}}"#;
        let mut script = opened(r#"{"elicitation":{}}"#);
        insta::assert_snapshot!(script.play(&[CALL, cancel]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
        S {"method":"notifications/cancelled","params":{"requestId":1, "reason":"r"}}
        "#);
        insta::assert_snapshot!(script.play(&[CALL, &needs("1"), cancel]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
        C@1 {"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"n":1.0}},"jsonrpc":"2.0","id":"answerback-era/2"}
        C@1 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"answerback-era/2"}}
        "#);
        let answer = r#"C {"id":"answerback-era/3","result":{}}"#;
        insta::assert_snapshot!(script.play(&[CALL, &needs("1"), answer, cancel]), @r#"
        S {"id":1,"method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
        C@1 {"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"n":1.0}},"jsonrpc":"2.0","id":"answerback-era/3"}
        S {"id":"answerback-era/4","method":"tools/call","params":{"name":"book","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"inputResponses":{"who":{}},"requestState":"a\u0062\/c"}}
        S {"method":"notifications/cancelled","params":{"requestId":"answerback-era/4", "reason":"r"}}
        "#);
        // A late response to a cancelled call is dropped.
        assert_eq!(script.play(&[r#"S {"id":"answerback-era/4","result":{}}"#]), "");
    }

    #[test]
    fn rounds_are_bounded() {
        let mut script = opened(r#"{"elicitation":{}}"#);
        let mut output = script.play(&[CALL]);
        for round in 0.. {
            let Some((_, rest)) = output.split_once(r#""id":"#) else { break };
            let id = rest.split([',', '}']).next().unwrap();
            // The response has only state, so the server wants the call to be repeated later.
            output = script.play(&[
                &format!(r#"S {{"id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#),
                "T 2",
            ]);
            if round == MAX_ROUNDS {
                insta::assert_snapshot!(output, @r#"
                C {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the server needed something more than 10 times"}],"isError":true}}
                "#);
                return;
            }
        }
        panic!("the call ended early");
    }

    #[test]
    fn calls_are_bounded() {
        let mut script = opened("{}");
        for number in 0..=MAX_CALLS {
            let line = format!(r#"C {{"id":{number},"method":"tools/call","params":{{}}}}"#);
            let output = script.play(&[&line, &line]);
            let second =
                r#""error":{"code":-32600,"message":"a request with this id is under way"}"#;
            assert_eq!(output.contains(second), number < MAX_CALLS, "{output}");
        }
    }
}
