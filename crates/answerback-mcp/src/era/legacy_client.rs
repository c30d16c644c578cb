//! Translates between a legacy client and a modern server.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cancellation;
use super::generated_ids::GeneratedIds;
use super::input_rounds::InputRounds;
use super::outbox::Outbox;
use super::subscriptions::Subscriptions;
use super::terms::{LEGACY, MODERN, NEWEST_LEGACY, meta, method, notice};
use crate::link::Incoming;
use crate::wire::{Id, Message, Object, ObjectError, Shape, code, splice};

/// Stores the client's state between messages, because a modern server stores none.
#[derive(Debug, Default)]
pub(super) struct LegacyClient {
    ids: GeneratedIds,
    /// The client's `clientInfo`, as JSON text.
    info: Option<String>,
    capabilities: Value,
    /// The lowest log level that the client wants, as JSON text.
    level: Option<String>,
    pending_initialize: Option<PendingInitialize>,
    /// The server's capabilities, or null before they are known.
    server_capabilities: Value,
    rounds: InputRounds,
    subscriptions: Subscriptions,
}

/// Holds an `initialize` request that waits for the response to `server/discover`.
#[derive(Debug)]
struct PendingInitialize {
    request: Id,
    discover: Id,
    version: &'static str,
}

impl LegacyClient {
    /// Creates the state for a client that has sent nothing yet.
    pub(super) fn new(ids: GeneratedIds) -> Self {
        Self { ids, ..Self::default() }
    }

    /// Returns the id of the pending `server/discover` request.
    pub(super) fn discover_id(&self) -> Option<&Id> {
        self.pending_initialize.as_ref().map(|pending_initialize| &pending_initialize.discover)
    }

    /// Returns true if no `server/discover` is pending and none has succeeded.
    pub(super) fn has_failed(&self) -> bool {
        self.pending_initialize.is_none() && self.server_capabilities.is_null()
    }

    /// Handles a message of the client.
    pub(super) fn handle_client_message(&mut self, message: Message, out: &mut Outbox) {
        match message.shape() {
            Shape::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                self.handle_request(&id, &method, message, out);
            }
            Shape::Notification { method } => match method.as_str() {
                notice::INITIALIZED => self.listen_for_lists(out),
                // A stateless server does not use this notification.
                notice::ROOTS_CHANGED => {}
                notice::CANCELLED => {
                    let id = cancellation::cancelled_request(&message);
                    let is_handled = id.is_some_and(|id| {
                        self.rounds.cancel(&id, &message, out)
                            || self.subscriptions.cancel(&id, out)
                    });
                    if !is_handled {
                        out.send_to_server(message);
                    }
                }
                _ => out.send_to_server(message),
            },
            Shape::Response { id } => {
                let is_handled = self.ids.generated(id);
                if !self.rounds.handle_client_response(&message, &self.ids, out) && !is_handled {
                    out.send_to_server(message);
                }
            }
            Shape::Batch => {
                let text = "batches are not taken: send each message on its own";
                out.send_to_client(Message::error(None, code::INVALID_REQUEST, text, None));
            }
        }
    }

    fn handle_request(&mut self, id: &Id, method: &str, message: Message, out: &mut Outbox) {
        match method {
            method::INITIALIZE => self.initialize(id.clone(), &message, out),
            method::PING => out.send_to_client(Message::result(id, "{}")),
            method::SET_LEVEL => {
                let level = splice::at(message.text(), &["params", "level"]);
                self.level = level.map(ToOwned::to_owned);
                out.send_to_client(Message::result(id, "{}"));
            }
            method::SUBSCRIBE | method::UNSUBSCRIBE => {
                let Some(uri) = splice::string_at(message.text(), &["params", "uri"]) else {
                    let text = "a subscription needs the uri of a resource";
                    out.send_to_client(Message::error(Some(id), code::INVALID_PARAMS, text, None));
                    return;
                };
                if method == method::UNSUBSCRIBE {
                    self.subscriptions.unsubscribe(&uri, out);
                    out.send_to_client(Message::result(id, "{}"));
                    return;
                }
                let listen = self.ids.next();
                if let Some(params) = self.subscriptions.subscribe(id, uri, listen.clone(), out) {
                    self.request(&listen, method::LISTEN, &params, out);
                }
            }
            _ => match self.with_request_meta(&message) {
                Ok(request) if method::may_need_input(method) => {
                    self.rounds.begin(id.clone(), method, request, out);
                }
                Ok(request) => out.send_to_server(request),
                Err(error) => {
                    let text = format!("the parameters or their _meta are {error}");
                    out.send_to_client(Message::error(Some(id), code::INVALID_PARAMS, &text, None));
                }
            },
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
            Shape::Response { id } if self.discover_id() == Some(id) => {
                self.handle_discover_response(&incoming.message, out);
            }
            Shape::Response { .. } => {
                let (ids, capabilities) = (&self.ids, &self.capabilities);
                let rest = self.rounds.handle_response(incoming, capabilities, ids, now, out);
                let Some(rest) = rest else { return };
                if let Shape::Response { id } = rest.message.shape()
                    && self.ids.generated(id)
                {
                    // If it ends no subscription, it answers a cancelled call and is dropped.
                    self.subscriptions.ended(id, Some(&rest.message), out);
                    return;
                }
                out.send_to_client(rest);
            }
            Shape::Notification { method } if method == notice::ACKNOWLEDGED => {
                self.subscriptions.acknowledged(&incoming.message, out);
            }
            Shape::Notification { method } if method == notice::CANCELLED => {
                let id = cancellation::cancelled_request(&incoming.message);
                if !id.is_some_and(|id| self.subscriptions.ended(&id, None, out)) {
                    out.send_to_client(incoming);
                }
            }
            _ => out.send_to_client(self.without_subscription_id(incoming)),
        }
    }

    /// Returns the next time at which [`wake`](Self::wake) must run.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.rounds.deadline()
    }

    /// Handles expired deadlines.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        self.rounds.wake(now, &self.ids, out);
    }

    /// Stores the client's description and sends `server/discover`.
    fn initialize(&mut self, request: Id, message: &Message, out: &mut Outbox) {
        let text = message.text();
        let requested = splice::string_at(text, &["params", "protocolVersion"]).unwrap_or_default();
        let version = LEGACY.into_iter().find(|version| *version == requested);
        self.info = splice::at(text, &["params", "clientInfo"]).map(ToOwned::to_owned);
        let capabilities = splice::at(text, &["params", "capabilities"]);
        let capabilities = capabilities.and_then(|text| serde_json::from_str(text).ok());
        self.capabilities = capabilities.filter(Value::is_object).unwrap_or_else(|| json!({}));
        let discover = self.ids.next();
        self.request(&discover, method::DISCOVER, &json!({}), out);
        let version = version.unwrap_or(NEWEST_LEGACY);
        self.pending_initialize = Some(PendingInitialize { request, discover, version });
    }

    /// Answers `initialize` with the result of `server/discover`.
    fn handle_discover_response(&mut self, answer: &Message, out: &mut Outbox) {
        let Some(PendingInitialize { request, version, .. }) = self.pending_initialize.take()
        else {
            return;
        };
        let Some(result) = splice::at(answer.text(), &["result"]) else {
            // The server's own error describes the problem best.
            let error = Incoming::from(answer.clone());
            out.send_to_client(error.answering(&request));
            return;
        };
        let capabilities = splice::at(result, &["capabilities"]).unwrap_or("{}");
        self.server_capabilities = serde_json::from_str(capabilities).unwrap_or_else(|_| json!({}));
        let server = splice::at(result, &["_meta", meta::SERVER]);
        let server = server.unwrap_or(r#"{"name":"unnamed","version":"0.0.0"}"#);
        let mut initialize_result = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{server}"#
        );
        if let Some(instructions) = splice::at(result, &["instructions"]) {
            initialize_result.push_str(r#","instructions":"#);
            initialize_result.push_str(instructions);
        }
        initialize_result.push('}');
        out.send_to_client(Message::result(&request, &initialize_result));
    }

    fn listen_for_lists(&mut self, out: &mut Outbox) {
        let listen = self.ids.next();
        if let Some(params) = self.subscriptions.lists(&self.server_capabilities, listen.clone()) {
            self.request(&listen, method::LISTEN, &params, out);
        }
    }

    /// Sends a request of the bridge to the server.
    fn request(&self, id: &Id, method: &str, params: &Value, out: &mut Outbox) {
        let request = Message::request(id, method, params);
        out.send_to_server(self.with_request_meta(&request).unwrap_or(request));
    }

    /// Adds the `_meta` members that a modern server requires in every request.
    fn with_request_meta(&self, request: &Message) -> Result<Message, ObjectError> {
        let text = request.text();
        let version = Value::from(MODERN).to_string();
        let capabilities = self.capabilities.to_string();
        let mut members = splice::at(text, &["params", "_meta"]).unwrap_or("{}").to_owned();
        let members_to_add = [
            (meta::VERSION, Some(&version)),
            (meta::CAPABILITIES, Some(&capabilities)),
            (meta::CLIENT, self.info.as_ref()),
            (meta::LEVEL, self.level.as_ref()),
        ];
        for (name, value) in members_to_add {
            if let Some(value) = value {
                members = Object::read(&members)?.with(name, value);
            }
        }
        let text = splice::with(text, &["params", "_meta"], &members)?;
        Ok(request.clone().with_text(text))
    }

    /// Removes the subscription id from a notification, because a legacy client does not know the subscription.
    fn without_subscription_id(&self, incoming: Incoming) -> Incoming {
        let text = incoming.message.text();
        let path = ["params", "_meta"];
        let is_marked = matches!(incoming.message.shape(), Shape::Notification { .. })
            && splice::at(text, &["params", "_meta", meta::SUBSCRIPTION]).is_some();
        if is_marked && let Ok(text) = splice::without(text, &path, meta::SUBSCRIPTION) {
            return Incoming::from(incoming.message.with_text(text));
        }
        let about = incoming.about.map(|about| self.rounds.caller(about));
        Incoming { about, ..incoming }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::super::{Era, EraCache};

    const DISCOVERED: &str = r#"S {"id":"answerback-era/1","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"instructions":"be kind","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}}"#;

    fn initialize(version: &str, capabilities: &str) -> String {
        format!(
            r#"C {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"old","version":"1"}}}}}}"#
        )
    }

    /// Creates a script with an initialized client that has these capabilities.
    fn opened(capabilities: &str) -> Script {
        let cache = EraCache::default();
        cache.learn(Era::Legacy, false);
        let mut script = Script::new(&cache);
        script.play(&[&initialize("2025-11-25", capabilities), DISCOVERED]);
        script
    }

    #[test]
    fn a_refused_initialize_is_answered_from_discovery() {
        let cache = EraCache::default();
        let output = Script::new(&cache).play(&[
            &initialize("2025-03-26", "{}"),
            r#"S {"id":0,"error":{"code":-32601,"message":"what"}}"#,
            DISCOVERED,
            r#"C {"method":"notifications/initialized"}"#,
            r#"C {"id":1,"method":"ping"}"#,
        ]);
        insta::assert_snapshot!(output, @r#"
        S {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        C {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"new","version":"2"},"instructions":"be kind"}}
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        C {"jsonrpc":"2.0","id":1,"result":{}}
        "#);
        assert_eq!(cache.speaks(Era::Legacy), Some(false));
        // A client with an unknown revision gets the newest legacy revision.
        let output = Script::new(&cache).play(&[&initialize("2099-01-01", "{}"), DISCOVERED]);
        assert!(output.contains(r#"{"protocolVersion":"2025-11-25","#), "{output}");
    }

    #[test]
    fn requests_carry_what_a_modern_server_wants() {
        let mut script = opened(r#"{"roots":{}}"#);
        insta::assert_snapshot!(script.play(&[
            r#"C {"id":1, "method":"tools/list"}"#,
            r#"S {"id":1, "result":{"tools":[ ]}}"#,
            r#"C {"id":2,"method":"logging/setLevel","params":{"level":"error"}}"#,
            r#"C {"id":3,"method":"tools/call","params":{"n":1.0, "_meta":{"progressToken":7}}}"#,
            r#"S@3 {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
            r#"S@3 {"id":3,"result":{"content":[ ],"resultType":"complete"}}"#,
            r#"C {"id":4,"method":"tools/call","params":[]}"#,
            r#"C [{"id":5,"method":"ping"}]"#,
            r#"C {"method":"notifications/roots/list_changed"}"#,
        ]), @r#"
        S {"id":1, "method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        C {"id":1, "result":{"tools":[ ]}}
        C {"jsonrpc":"2.0","id":2,"result":{}}
        S {"id":3,"method":"tools/call","params":{"n":1.0, "_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"},"io.modelcontextprotocol/logLevel":"error"}}}
        C@3 {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}
        C@3 {"id":3,"result":{"content":[ ],"resultType":"complete"}}
        C {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"the parameters or their _meta are not a JSON object: it is another value"}}
        C {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not taken: send each message on its own"}}
        "#);
    }

    #[test]
    fn subscriptions_become_listening() {
        let mut script = opened("{}");
        insta::assert_snapshot!(script.play(&[
            r#"C {"id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
            r#"S {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"answerback-era/2"},"notifications":{"resourceSubscriptions":["file:///a"]}}}"#,
            r#"S@"answerback-era/2" {"method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"answerback-era/2","x":1},"uri":"file:///a"}}"#,
            r#"C {"id":2,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}"#,
            r#"S {"id":"answerback-era/2","result":{}}"#,
            // The server ignores one subscription and rejects another. The client cancels a third, and the last
            // one has no URI.
            r#"C {"id":3,"method":"resources/subscribe","params":{"uri":"file:///b"}}"#,
            r#"S {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"answerback-era/3"},"notifications":{}}}"#,
            r#"C {"id":4,"method":"resources/subscribe","params":{"uri":"file:///c"}}"#,
            r#"S {"id":"answerback-era/4","error":{"code":-32601,"message":"no"}}"#,
            r#"C {"id":5,"method":"resources/subscribe","params":{"uri":"file:///d"}}"#,
            r#"C {"method":"notifications/cancelled","params":{"requestId":5}}"#,
            r#"C {"id":6,"method":"resources/subscribe"}"#,
        ]), @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///a"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        C {"jsonrpc":"2.0","id":1,"result":{}}
        C {"method":"notifications/resources/updated","params":{"_meta":{"x":1},"uri":"file:///a"}}
        S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"answerback-era/2"}}
        C {"jsonrpc":"2.0","id":2,"result":{}}
        S {"jsonrpc":"2.0","id":"answerback-era/3","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///b"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"answerback-era/3"}}
        C {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"the server takes no subscription of this resource"}}
        S {"jsonrpc":"2.0","id":"answerback-era/4","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///c"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        C {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no"}}
        S {"jsonrpc":"2.0","id":"answerback-era/5","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///d"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"}}}}
        S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"answerback-era/5"}}
        C {"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"a subscription needs the uri of a resource"}}
        "#);
    }

    #[test]
    fn subscriptions_are_bounded() {
        let mut script = opened("{}");
        let most = super::super::subscriptions::MAX;
        for number in 0..=most {
            let line = format!(
                r#"C {{"id":"s{number}","method":"resources/subscribe","params":{{"uri":"file:///{number}"}}}}"#
            );
            assert_eq!(script.play(&[&line]).starts_with("S "), number < most, "{number}");
        }
    }
}
