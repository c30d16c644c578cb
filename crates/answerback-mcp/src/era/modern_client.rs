//! Translates between a modern client and a legacy server.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cancellation;
use super::capability;
use super::generated_ids::GeneratedIds;
use super::listen_subscriptions::ListenSubscriptions;
use super::open_calls::{self, OpenCalls};
use super::outbox::Outbox;
use super::terms::{MODERN, NEWEST_LEGACY, meta, method, notice};
use crate::link::{Incoming, WAITING};
use crate::wire::{Id, Message, Shape, code as wire_code, splice};

/// The time that a server has to answer `initialize`. Some servers must be downloaded first.
const INITIALIZE_TIMEOUT: Duration = Duration::from_mins(1);

/// Holds the session that a legacy server needs, for a client without sessions.
#[derive(Debug, Default)]
pub(super) struct ModernClient {
    ids: GeneratedIds,
    session: BridgeSession,
    /// The log level that was last requested from the server, as JSON text.
    level: Option<String>,
    calls: OpenCalls,
    listens: ListenSubscriptions,
}

#[derive(Debug, Default)]
enum BridgeSession {
    #[default]
    None,
    Opening {
        initialize: Id,
        until: Instant,
        /// The client's messages that wait for the session.
        held: Vec<Message>,
    },
    Open {
        /// The server's capabilities.
        server_capabilities: Value,
        /// The result of `server/discover`.
        discover_result: String,
    },
}

impl ModernClient {
    /// Creates the state for a client that has sent nothing yet.
    pub(super) fn new(ids: GeneratedIds) -> Self {
        Self { ids, ..Self::default() }
    }

    /// Returns true if the session is open.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.session, BridgeSession::Open { .. })
    }

    /// Returns true if there is no session, because initialization failed or has not started.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.session, BridgeSession::None)
    }

    /// Stops opening a session. Returns the waiting messages and the id of the `initialize` request whose
    /// response is no longer needed.
    pub(super) fn release(self) -> (Vec<Message>, Option<Id>) {
        match self.session {
            BridgeSession::Opening { initialize, held, .. } => (held, Some(initialize)),
            BridgeSession::None | BridgeSession::Open { .. } => (Vec::new(), None),
        }
    }

    /// Handles a message of the client.
    pub(super) fn handle_client_message(
        &mut self,
        message: Message,
        now: Instant,
        out: &mut Outbox,
    ) {
        match &mut self.session {
            BridgeSession::None => self.send_initialize(message, now, out),
            BridgeSession::Opening { held, .. } => hold_message(held, message, out),
            BridgeSession::Open { .. } => self.forward(message, now, out),
        }
    }

    /// Handles a message of the server.
    pub(super) fn handle_server_message(
        &mut self,
        incoming: Incoming,
        now: Instant,
        out: &mut Outbox,
    ) {
        match incoming.message.shape() {
            Shape::Response { id } => {
                if matches!(&self.session, BridgeSession::Opening { initialize, .. } if initialize == id)
                {
                    self.handle_initialize_response(&incoming.message, now, out);
                } else if let Some(rest) = self.calls.handle_response(incoming, out)
                    && let Shape::Response { id } = rest.message.shape()
                    && !self.ids.generated(id)
                {
                    // This answers a cancelled request, and the client can ignore it.
                    out.send_to_client(rest);
                }
            }
            Shape::Request { id, method } => match method.as_str() {
                method::PING => out.send_to_server(Message::result(id, "{}")),
                method if capability::is_question(method) => {
                    self.calls.add_question(&incoming, now, out);
                }
                method => {
                    open_calls::reject_question(
                        id,
                        method,
                        "a modern client takes no requests",
                        out,
                    );
                }
            },
            Shape::Notification { method } => {
                let method = method.clone();
                self.handle_notification(&method, incoming, out);
            }
            Shape::Batch => out.send_to_client(incoming),
        }
    }

    fn handle_notification(&mut self, method: &str, incoming: Incoming, out: &mut Outbox) {
        let is_change =
            method == notice::UPDATED || notice::LISTS.iter().any(|(name, _, _)| *name == method);
        match method {
            _ if is_change => self.listens.notify(method, &incoming.message, out),
            notice::PROGRESS => self.calls.progress(incoming, out),
            // A client that did not request logs must not receive them.
            notice::LOG if self.level.is_none() => {}
            notice::ELICITED => {}
            notice::CANCELLED => {
                let id = cancellation::cancelled_request(&incoming.message);
                if !id.is_some_and(|id| self.calls.remove_question(&id)) {
                    out.send_to_client(incoming);
                }
            }
            _ => {
                let about = self.calls.client_request(incoming.about.as_ref());
                out.send_to_client(Incoming { about, ..incoming });
            }
        }
    }

    /// Returns the next time at which [`wake`](Self::wake) must run.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.session {
            BridgeSession::Opening { until, .. } => Some(*until),
            BridgeSession::None | BridgeSession::Open { .. } => self.calls.deadline(),
        }
    }

    /// Handles expired deadlines.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        if matches!(self.session, BridgeSession::Opening { until, .. } if until <= now) {
            self.fail("it did not answer initialize in time", out);
        }
        self.calls.wake(now, out);
    }

    /// Sends `initialize` with the client's own description.
    fn send_initialize(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        let Shape::Request { .. } = message.shape() else {
            // A notification before the first request has no session that it could belong to.
            return;
        };
        let member = |name| splice::at(message.text(), &["params", "_meta", name]);
        let capabilities = member(meta::CAPABILITIES).unwrap_or("{}");
        let own_info =
            json!({"name": "answerback", "version": env!("CARGO_PKG_VERSION")}).to_string();
        let client = member(meta::CLIENT).unwrap_or(&own_info);
        let initialize = self.ids.next();
        let id = initialize.as_json();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{NEWEST_LEGACY}","capabilities":{capabilities},"clientInfo":{client}}}}}"#
        );
        if let Ok(request) = Message::read(text) {
            out.send_to_server(request);
        }
        let until = now + INITIALIZE_TIMEOUT;
        self.session = BridgeSession::Opening { initialize, until, held: vec![message] };
    }

    /// Handles the response to `initialize`.
    fn handle_initialize_response(&mut self, answer: &Message, now: Instant, out: &mut Outbox) {
        let Some(result) = splice::at(answer.text(), &["result"]) else {
            let reason = splice::string_at(answer.text(), &["error", "message"]);
            self.fail(reason.as_deref().unwrap_or("it does not say why"), out);
            return;
        };
        let capabilities = splice::at(result, &["capabilities"]).unwrap_or("{}");
        let server_capabilities = serde_json::from_str(capabilities).unwrap_or_default();
        let mut discover_result = format!(
            r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{capabilities},"#
        );
        if let Some(instructions) = splice::at(result, &["instructions"]) {
            discover_result.push_str(r#""instructions":"#);
            discover_result.push_str(instructions);
            discover_result.push(',');
        }
        discover_result.push_str(r#""ttlMs":0,"cacheScope":"private""#);
        if let Some(server) = splice::at(result, &["serverInfo"]) {
            for piece in [r#","_meta":{""#, meta::SERVER, r#"":"#, server, "}"] {
                discover_result.push_str(piece);
            }
        }
        discover_result.push('}');
        out.send_to_server(Message::notification(notice::INITIALIZED, &json!({})));
        let session = BridgeSession::Open { server_capabilities, discover_result };
        if let BridgeSession::Opening { held, .. } = std::mem::replace(&mut self.session, session) {
            for message in held {
                self.forward(message, now, out);
            }
        }
    }

    /// Answers the waiting requests with an error, because no session could be opened.
    fn fail(&mut self, reason: &str, out: &mut Outbox) {
        let BridgeSession::Opening { held, .. } = std::mem::take(&mut self.session) else { return };
        let text = format!("the server speaks neither era of the protocol: {reason}");
        for message in held {
            if let Shape::Request { id, .. } = message.shape() {
                out.send_to_client(Message::error(
                    Some(id),
                    wire_code::INTERNAL_ERROR,
                    &text,
                    None,
                ));
            }
        }
    }

    /// Translates a message of the client for an initialized server.
    fn forward(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        let BridgeSession::Open { server_capabilities, discover_result } = &self.session else {
            return;
        };
        match message.shape() {
            Shape::Request { id, method } => match method.as_str() {
                method::DISCOVER => out.send_to_client(Message::result(id, discover_result)),
                method::LISTEN => {
                    self.listens.listen(id, &message, server_capabilities, &self.ids, out);
                }
                _ => {
                    let level = splice::at(message.text(), &["params", "_meta", meta::LEVEL]);
                    if let Some(level) = level.filter(|level| self.level.as_deref() != Some(level))
                    {
                        self.level = Some(level.to_owned());
                        if server_capabilities.get("logging").is_some() {
                            let level: Value = serde_json::from_str(level).unwrap_or_default();
                            let params = json!({"level": level});
                            let id = self.ids.next();
                            out.send_to_server(Message::request(&id, method::SET_LEVEL, &params));
                        }
                    }
                    let (id, method) = (id.clone(), method.clone());
                    let is_resumed = method::may_need_input(&method)
                        && splice::at(message.text(), &["params", "requestState"]).is_some();
                    if is_resumed {
                        self.calls.resume(&id, &method, &message, now, out);
                    } else {
                        self.calls.begin(id, &method, message, &self.ids, out);
                    }
                }
            },
            Shape::Notification { method } if method == notice::CANCELLED => {
                let id = cancellation::cancelled_request(&message);
                let is_cancelled = id.is_some_and(|id| {
                    self.listens.cancel(&id, &self.ids, out)
                        || self.calls.cancel(&id, &message, out)
                });
                if !is_cancelled {
                    out.send_to_server(message);
                }
            }
            Shape::Notification { .. } => out.send_to_server(message),
            // A modern client receives no requests, so it has none to answer.
            Shape::Response { .. } => {}
            Shape::Batch => {
                let text = "batches are not taken: send each message on its own";
                out.send_to_client(Message::error(None, wire_code::INVALID_REQUEST, text, None));
            }
        }
    }
}

/// Stores a client's message until it can be forwarded. A cancelled request is removed.
pub(super) fn hold_message(held: &mut Vec<Message>, message: Message, out: &mut Outbox) {
    match message.shape() {
        Shape::Notification { method } if method == notice::CANCELLED => {
            let id = cancellation::cancelled_request(&message);
            held.retain(|one| !matches!(one.shape(), Shape::Request { id: own, .. } if Some(own) == id.as_ref()));
        }
        Shape::Request { id, .. } if held.len() >= WAITING => {
            let text = "the server is not ready and too much waits for it";
            out.send_to_client(Message::error(Some(id), wire_code::INTERNAL_ERROR, text, None));
        }
        _ if held.len() >= WAITING => {}
        _ => held.push(message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::super::{Era, EraCache};

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"2"}}"#;
    const INITIALIZED: &str = r#"S {"id":"answerback-era/1","result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}},"serverInfo":{"name":"old","version":"1"},"instructions":"be kind"}}"#;

    fn request(id: u32, method: &str, params: &str) -> String {
        format!(r#"C {{"id":{id},"method":"{method}","params":{{{params}{META}}}}}"#)
    }

    fn opened() -> Script {
        let cache = EraCache::default();
        cache.learn(Era::Modern, false);
        let mut script = Script::new(&cache);
        script.play(&[&request(0, "server/discover", ""), INITIALIZED]);
        script
    }

    #[test]
    fn discovery_is_answered_from_initialize() {
        insta::assert_snapshot!(Script::new(&EraCache::default()).play(&[
            &request(0, "server/discover", ""),
            r#"S {"id":"early","method":"ping"}"#,
            r#"S {"id":0,"error":{"code":-32600,"message":"not initialised"}}"#,
            &request(1, "tools/list", ""),
            INITIALIZED,
            r#"S@1 {"id":1,"result":{"tools":[ ]}}"#,
        ]), @r#"
        S {"id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"2"}}}}
        S {"jsonrpc":"2.0","id":"early","result":{}}
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"new","version":"2"}}}
        S {"jsonrpc":"2.0","method":"notifications/initialized","params":{}}
        S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"2"}}}}
        C {"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}},"instructions":"be kind","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}}
        C@1 {"id":1,"result":{"tools":[ ],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
        "#);
    }

    #[test]
    fn a_client_that_does_not_describe_itself_is_us() {
        let output = Script::new(&EraCache::default()).play(&[
            r#"C {"id":0,"method":"server/discover"}"#,
            r#"S {"id":0,"error":{"code":-32601,"message":"what"}}"#,
        ]);
        assert!(
            output.contains(r#""capabilities":{},"clientInfo":{"name":"answerback","#),
            "{output}"
        );
    }

    #[test]
    fn the_log_is_told_to_whoever_asked_for_it() {
        let level = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info"}"#;
        let log = r#"S {"method":"notifications/message","params":{"level":"info"}}"#;
        insta::assert_snapshot!(opened().play(&[
            log,
            &format!(r#"C {{"id":1,"method":"tools/list","params":{{{level}}}}}"#),
            &format!(r#"C {{"id":2,"method":"tools/list","params":{{{level}}}}}"#),
            r#"S {"id":"answerback-era/2","result":{}}"#,
            log,
        ]), @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"logging/setLevel","params":{"level":"info"}}
        S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}
        S {"id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}
        C@2 {"method":"notifications/message","params":{"level":"info"}}
        "#);
    }

    #[test]
    fn listening_becomes_subscriptions() {
        let filter = r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///a"]},"#;
        let changed = r#"S {"method":"notifications/tools/list_changed"}"#;
        let updated =
            r#"S {"method":"notifications/resources/updated","params":{"uri":"file:///a" }}"#;
        insta::assert_snapshot!(opened().play(&[
            changed,
            &request(1, "subscriptions/listen", filter),
            r#"S {"id":"answerback-era/2","result":{}}"#,
            &request(2, "subscriptions/listen", r#""notifications":{"resourceSubscriptions":["file:///a"]},"#),
            changed,
            updated,
            r#"S {"method":"notifications/resources/updated","params":{"uri":"file:///b"}}"#,
            r#"S {"method":"notifications/prompts/list_changed"}"#,
            r#"C {"method":"notifications/cancelled","params":{"requestId":1}}"#,
            updated,
            r#"C {"method":"notifications/cancelled","params":{"requestId":2}}"#,
            updated,
        ]), @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"resources/subscribe","params":{"uri":"file:///a"}}
        C@1 {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}}
        C@2 {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"resourceSubscriptions":["file:///a"]}}}
        C@1 {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        C@1 {"method":"notifications/resources/updated","params":{"uri":"file:///a" ,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        C@2 {"method":"notifications/resources/updated","params":{"uri":"file:///a" ,"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        C@2 {"method":"notifications/resources/updated","params":{"uri":"file:///a" ,"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        S {"jsonrpc":"2.0","id":"answerback-era/3","method":"resources/unsubscribe","params":{"uri":"file:///a"}}
        "#);
    }

    #[test]
    fn what_has_no_counterpart_crosses_or_is_answered() {
        insta::assert_snapshot!(opened().play(&[
            &request(1, "ping", ""),
            r#"S {"id":"a","method":"ping"}"#,
            r#"S {"id":"b","method":"tasks/list"}"#,
            r#"S {"id":"c","method":"roots/list"}"#,
            r#"S {"method":"notifications/elicitation/complete","params":{}}"#,
            r#"S {"method":"notifications/vendor","params":{}}"#,
            r#"S {"id":"unknown","result":{}}"#,
            r#"C {"id":"unasked","result":{}}"#,
            r#"C [{"id":1}]"#,
            r#"C {"method":"notifications/vendor"}"#,
        ]), @r#"
        S {"id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"2"}}}}
        S {"jsonrpc":"2.0","id":"a","result":{}}
        S {"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"a modern client takes no requests"}}
        S {"jsonrpc":"2.0","id":"c","error":{"code":-32601,"message":"no request of the client is under way"}}
        C@1 {"method":"notifications/vendor","params":{}}
        C {"id":"unknown","result":{}}
        C {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not taken: send each message on its own"}}
        S {"method":"notifications/vendor"}
        "#);
    }
}
