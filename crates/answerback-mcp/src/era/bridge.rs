use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::generated_ids::GeneratedIds;
use super::legacy_client::LegacyClient;
use super::modern_client::{ModernClient, hold};
use super::outbox::Outbox;
use super::terms::{MODERN, code, meta, method};
use super::{Era, EraCache};
use crate::link::{Incoming, again};
use crate::wire::{Id, Message, Shape, code as wire_code, splice};

/// The time that a server has to show its era before the bridge tries something else.
const PROBE: Duration = Duration::from_secs(10);

/// The reason that is reported when a server ended on the first message of the wrong era.
const OVER_ERA: &str = "the server ended over what it was asked first";

/// The largest number of requests whose late responses are ignored.
const STRAYS: usize = 16;

/// Connects a client and a server. It detects which eras they speak, and translates if these differ.
#[derive(Debug)]
pub(super) struct Bridge {
    cache: EraCache,
    ids: GeneratedIds,
    state: BridgeState,
    strays: Strays,
    /// Selects the answer to `server/discover` if the server is a legacy one.
    discovery: Discovery,
}

/// Tells how `server/discover` is answered for a legacy server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Discovery {
    /// The bridge answers like a modern server and translates.
    Bridged,
    /// The bridge returns an error the first time, so that a client that speaks both eras continues in the
    /// server's era. A client that asks again, or continues in the modern era, gets the translation.
    Refused { was_refused: bool },
}

#[derive(Debug)]
enum BridgeState {
    /// No message has shown the client's era yet. Messages are forwarded unchanged.
    Undecided,
    /// The server is processing a legacy client's `initialize`.
    AskingLegacy(Box<AskingLegacy>),
    /// The server is processing `server/discover` for a modern client.
    AskingModern {
        probe: Id,
        until: Instant,
        held: Vec<Message>,
    },
    /// Both sides speak the same era, so messages are forwarded unchanged.
    Same,
    LegacyClient(Box<LegacyClient>),
    ModernClient {
        client: Box<ModernClient>,
        /// The probe that was not answered in time. A server that is slow to start may still answer it.
        probe: Option<Id>,
    },
}

/// Holds requests whose responses, if they still arrive, must be ignored.
#[derive(Debug, Default)]
struct Strays(VecDeque<Id>);

#[derive(Debug)]
struct AskingLegacy {
    initialize: Message,
    id: Id,
    /// The time of the next step.
    until: Option<Instant>,
    /// The server's error response to `initialize`.
    refusal: Option<Incoming>,
    /// The client's state, which is used if the server turns out to be modern.
    client: LegacyClient,
}

impl Bridge {
    /// Creates a bridge to a server with these known eras.
    pub(super) fn new(cache: EraCache) -> Self {
        let (ids, strays) = (GeneratedIds::default(), Strays::default());
        Self { cache, ids, state: BridgeState::Undecided, strays, discovery: Discovery::Bridged }
    }

    /// Makes the bridge return a legacy server's error to `server/discover`. The client can then continue in the
    /// server's era.
    pub(super) fn keeping_era(mut self) -> Self {
        self.discovery = Discovery::Refused { was_refused: false };
        self
    }

    /// Sets the generator for the ids of the bridge's own requests.
    pub(super) fn with_ids(mut self, ids: GeneratedIds) -> Self {
        self.ids = ids;
        self
    }

    /// Handles a message of the client.
    pub(super) fn hear_client(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        match &mut self.state {
            BridgeState::Undecided => match era_of(&message) {
                Some(Era::Legacy) => self.begin_legacy(message, now, out),
                Some(Era::Modern) => self.begin_modern(message, now, out),
                None => out.tell_server(message),
            },
            // The client did not wait for the response and continues in the legacy era.
            BridgeState::AskingModern { probe, .. }
                if self.discovery != Discovery::Bridged
                    && era_of(&message) == Some(Era::Legacy) =>
            {
                let probe = probe.clone();
                self.strays.add(Some(probe));
                self.state = BridgeState::Undecided;
                self.begin_legacy(message, now, out);
            }
            BridgeState::AskingModern { held, .. } => hold(held, message, out),
            BridgeState::AskingLegacy(_) | BridgeState::Same => out.tell_server(message),
            BridgeState::LegacyClient(client) => client.hear_client(message, out),
            BridgeState::ModernClient { client, .. } => client.hear_client(message, now, out),
        }
    }

    /// Handles a message of the server.
    pub(super) fn hear_server(&mut self, incoming: Incoming, now: Instant, out: &mut Outbox) {
        if let Shape::Response { id } = incoming.message.shape()
            && self.strays.take(id)
        {
            return;
        }
        match &mut self.state {
            BridgeState::Undecided | BridgeState::Same => out.tell_client(incoming),
            BridgeState::AskingLegacy(_) => self.hear_asked_legacy(incoming, now, out),
            BridgeState::AskingModern { .. } => self.hear_asked_modern(incoming, now, out),
            BridgeState::LegacyClient(client) => {
                client.hear_server(incoming, now, out);
                self.start_over();
            }
            BridgeState::ModernClient { client, probe } => {
                if let Shape::Response { id } = incoming.message.shape()
                    && probe.as_ref() == Some(id)
                {
                    if is_modern(incoming.message.text()) {
                        self.turn_modern(incoming, out);
                    } else {
                        *probe = None;
                        self.cache.learn(Era::Modern, false);
                    }
                    return;
                }
                client.hear_server(incoming, now, out);
                if client.is_open()
                    && let Some(probe) = probe.take()
                {
                    self.strays.add(Some(probe));
                    self.cache.learn(Era::Modern, false);
                }
                self.start_over();
            }
        }
    }

    /// Returns true if messages are forwarded unchanged.
    pub(super) const fn is_same(&self) -> bool {
        matches!(self.state, BridgeState::Same)
    }

    /// Handles the end of the server. If the server ended because of its era, the pending requests ask for a
    /// restart. The restarted server receives them in the other era.
    pub(super) fn server_left(&mut self, out: &mut Outbox) {
        match &mut self.state {
            // The error response was held back until the server's era was known.
            BridgeState::AskingLegacy(asking) => {
                let Some(refusal) = asking.refusal.take() else { return };
                if self.cache.speaks(Era::Legacy) == Some(false) {
                    let said = splice::string_at(refusal.message.text(), &["error", "message"]);
                    let reason = said.unwrap_or_else(|| OVER_ERA.to_owned());
                    out.tell_client(again(&asking.id, &reason));
                } else {
                    out.tell_client(refusal);
                }
            }
            // Some legacy servers exit if their first message is not `initialize`.
            BridgeState::AskingModern { held, .. } => {
                self.cache.learn(Era::Modern, false);
                for message in held.drain(..) {
                    if let Shape::Request { id, .. } = message.shape() {
                        out.tell_client(again(id, OVER_ERA));
                    }
                }
            }
            // The other era failed as well, so the next link detects the era again.
            BridgeState::LegacyClient(client) if client.discovering().is_some() => {
                self.cache.learn(Era::Legacy, None);
            }
            BridgeState::ModernClient { client, .. } if !client.is_open() => {
                self.cache.learn(Era::Modern, None);
            }
            _ => {}
        }
    }

    /// Returns the next time at which [`wake`](Self::wake) must run.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            BridgeState::Undecided | BridgeState::Same => None,
            BridgeState::AskingLegacy(asking) => asking.until,
            BridgeState::AskingModern { until, .. } => Some(*until),
            BridgeState::LegacyClient(client) => client.deadline(),
            BridgeState::ModernClient { client, .. } => client.deadline(),
        }
    }

    /// Handles expired deadlines.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Outbox) {
        match &mut self.state {
            BridgeState::Undecided | BridgeState::Same => {}
            BridgeState::AskingLegacy(asking) if asking.until.is_none_or(|until| until > now) => {}
            BridgeState::AskingLegacy(asking) => match asking.client.discovering().cloned() {
                None => asking.probe(now, out),
                Some(probe) => {
                    self.strays.add(Some(probe));
                    self.give_up_probe(out);
                }
            },
            BridgeState::AskingModern { until, .. } if *until > now => {}
            BridgeState::AskingModern { probe, .. } => {
                let probe = probe.clone();
                match self.only_discovery() {
                    Some(id) => {
                        self.strays.add(Some(probe));
                        self.refuse_discovery(&id, None, out);
                    }
                    None => self.turn_legacy(Some(probe), now, out),
                }
            }
            BridgeState::LegacyClient(client) => client.wake(now, out),
            BridgeState::ModernClient { client, .. } => {
                client.wake(now, out);
                self.start_over();
            }
        }
    }

    /// Resets the state if the server does not speak the assumed era. The next request detects the era again.
    fn start_over(&mut self) {
        let era = match &self.state {
            BridgeState::LegacyClient(client) if client.has_failed() => Era::Legacy,
            BridgeState::ModernClient { client, .. } if client.has_failed() => Era::Modern,
            _ => return,
        };
        self.cache.learn(era, None);
        if let BridgeState::ModernClient { probe, .. } =
            std::mem::replace(&mut self.state, BridgeState::Undecided)
        {
            self.strays.add(probe);
        }
    }

    fn begin_legacy(&mut self, initialize: Message, now: Instant, out: &mut Outbox) {
        let Shape::Request { id, .. } = initialize.shape() else { return };
        match self.cache.speaks(Era::Legacy) {
            Some(true) => {
                self.state = BridgeState::Same;
                out.tell_server(initialize);
            }
            Some(false) => {
                let mut client = LegacyClient::new(self.ids.clone());
                client.hear_client(initialize, out);
                self.state = BridgeState::LegacyClient(Box::new(client));
            }
            None => {
                out.tell_server(initialize.clone());
                self.state = BridgeState::AskingLegacy(Box::new(AskingLegacy {
                    id: id.clone(),
                    initialize,
                    until: Some(now + PROBE),
                    refusal: None,
                    client: LegacyClient::new(self.ids.clone()),
                }));
            }
        }
    }

    fn begin_modern(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        let Shape::Request { id, method } = message.shape() else { return };
        match self.cache.speaks(Era::Modern) {
            Some(true) => {
                self.state = BridgeState::Same;
                out.tell_server(message);
            }
            Some(false) if method == method::DISCOVER && self.may_refuse() => {
                self.refuse_discovery(id, None, out);
            }
            Some(false) => {
                let mut client = Box::new(ModernClient::new(self.ids.clone()));
                client.hear_client(message, now, out);
                self.state = BridgeState::ModernClient { client, probe: None };
            }
            None => {
                let probe = if method == method::DISCOVER {
                    out.tell_server(message.clone());
                    id.clone()
                } else {
                    let probe = self.ids.next();
                    out.tell_server(probe_of(&probe, &message));
                    probe
                };
                self.state =
                    BridgeState::AskingModern { probe, until: now + PROBE, held: vec![message] };
            }
        }
    }

    /// Forwards all messages, but evaluates the responses to `initialize` and to the probe.
    fn hear_asked_legacy(&mut self, incoming: Incoming, now: Instant, out: &mut Outbox) {
        let BridgeState::AskingLegacy(asking) = &mut self.state else { return };
        let Shape::Response { id } = incoming.message.shape() else {
            out.tell_client(incoming);
            return;
        };
        let text = incoming.message.text();
        let probe = asking.client.discovering();
        if *id == asking.id && asking.refusal.is_none() {
            if takes_session(text, &asking.initialize) {
                self.cache.learn(Era::Legacy, true);
                self.strays.add(probe.cloned());
                self.state = BridgeState::Same;
                out.tell_client(incoming);
            } else {
                // A server that names modern revisions may end after this error. The cache makes the next link
                // start in the right era.
                if is_modern(text) {
                    self.cache.learn(Era::Legacy, false);
                }
                asking.refusal = Some(incoming);
                if asking.client.discovering().is_none() {
                    asking.probe(now, out);
                }
            }
        } else if probe == Some(id) {
            if !is_modern(text) {
                return self.give_up_probe(out);
            }
            self.cache.learn(Era::Modern, true);
            if asking.refusal.is_some() {
                self.cache.learn(Era::Legacy, false);
            } else {
                self.strays.add(Some(asking.id.clone()));
            }
            let unused = LegacyClient::new(self.ids.clone());
            let mut client = std::mem::replace(&mut asking.client, unused);
            client.hear_server(incoming, now, out);
            self.state = BridgeState::LegacyClient(Box::new(client));
        } else {
            out.tell_client(incoming);
        }
    }

    /// Stops probing, because the server did not identify itself as modern. If it rejected `initialize`, the
    /// client receives that error and may try again. Otherwise the server may still answer.
    fn give_up_probe(&mut self, out: &mut Outbox) {
        let BridgeState::AskingLegacy(asking) = &mut self.state else { return };
        asking.until = None;
        asking.client = LegacyClient::new(self.ids.clone());
        if let Some(refusal) = asking.refusal.take() {
            out.tell_client(refusal);
            self.state = BridgeState::Undecided;
        }
    }

    fn hear_asked_modern(&mut self, incoming: Incoming, now: Instant, out: &mut Outbox) {
        let BridgeState::AskingModern { probe, .. } = &self.state else { return };
        match incoming.message.shape() {
            Shape::Response { id } if id == probe => {
                if is_modern(incoming.message.text()) {
                    self.turn_modern(incoming, out);
                } else {
                    self.cache.learn(Era::Modern, false);
                    match self.only_discovery() {
                        Some(id) => self.refuse_discovery(&id, Some(incoming), out),
                        None => self.turn_legacy(None, now, out),
                    }
                }
            }
            // A server may check the connection before it does anything else.
            Shape::Request { id, method } if method == method::PING => {
                out.tell_server(Message::result(id, "{}"));
            }
            // Other messages are not allowed before the first response.
            _ => {}
        }
    }

    /// Returns true if a client may receive an error for `server/discover`.
    fn may_refuse(&self) -> bool {
        self.discovery == Discovery::Refused { was_refused: false }
    }

    /// Returns the id of `server/discover`, if it is the client's only request and may be rejected.
    fn only_discovery(&self) -> Option<Id> {
        let BridgeState::AskingModern { held, .. } = &self.state else { return None };
        let [only] = held.as_slice() else { return None };
        match only.shape() {
            Shape::Request { id, method } if method == method::DISCOVER && self.may_refuse() => {
                Some(id.clone())
            }
            _ => None,
        }
    }

    /// Answers `server/discover` with the server's error, or with one of the bridge. The client's next message
    /// decides the era.
    fn refuse_discovery(&mut self, id: &Id, answer: Option<Incoming>, out: &mut Outbox) {
        self.discovery = Discovery::Refused { was_refused: true };
        self.state = BridgeState::Undecided;
        let is_error = |answer: &Incoming| splice::at(answer.message.text(), &["error"]).is_some();
        match answer.filter(is_error) {
            Some(answer) => out.tell_client(answer),
            None => {
                let text = "the server does not know server/discover; begin with initialize";
                let code = wire_code::METHOD_NOT_FOUND;
                out.tell_client(Message::error(Some(id), code, text, None));
            }
        }
    }

    /// Continues without translation, because both sides are modern. The held messages are forwarded.
    fn turn_modern(&mut self, answer: Incoming, out: &mut Outbox) {
        self.cache.learn(Era::Modern, true);
        let held = match std::mem::replace(&mut self.state, BridgeState::Same) {
            BridgeState::AskingModern { held, .. } => held,
            BridgeState::ModernClient { client, .. } => {
                let (held, initialize) = client.release();
                self.strays.add(initialize);
                held
            }
            _ => return,
        };
        let Shape::Response { id: answered } = answer.message.shape() else { return };
        let is_answered = |message: &Message| matches!(message.shape(), Shape::Request { id, .. } if id == answered);
        let (asked, rest): (Vec<_>, Vec<_>) = held.into_iter().partition(is_answered);
        for message in rest {
            out.tell_server(message);
        }
        if !asked.is_empty() {
            out.tell_client(answer);
        }
    }

    /// Opens a legacy session, because the server is not modern or did not answer the probe.
    fn turn_legacy(&mut self, probe: Option<Id>, now: Instant, out: &mut Outbox) {
        let mut client = Box::new(ModernClient::new(self.ids.clone()));
        if let BridgeState::AskingModern { held, .. } =
            std::mem::replace(&mut self.state, BridgeState::Same)
        {
            for message in held {
                client.hear_client(message, now, out);
            }
        }
        self.state = BridgeState::ModernClient { client, probe };
    }
}

impl AskingLegacy {
    /// Asks a server that did not accept `initialize` if it is modern.
    fn probe(&mut self, now: Instant, out: &mut Outbox) {
        self.client.hear_client(self.initialize.clone(), out);
        self.until = Some(now + PROBE);
    }
}

impl Strays {
    /// Adds a request, if there is one. The oldest is removed when the list is full.
    fn add(&mut self, id: Option<Id>) {
        self.0.extend(id);
        if self.0.len() > STRAYS {
            self.0.pop_front();
        }
    }

    /// Removes a request when its response arrives. Returns false if it is not in the list.
    fn take(&mut self, id: &Id) -> bool {
        let place = self.0.iter().position(|stray| stray == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}

/// Returns the era that a client's message shows, if it shows one.
fn era_of(message: &Message) -> Option<Era> {
    let Shape::Request { method, .. } = message.shape() else { return None };
    match method.as_str() {
        method::INITIALIZE => Some(Era::Legacy),
        method::DISCOVER => Some(Era::Modern),
        _ => splice::at(message.text(), &["params", "_meta", meta::VERSION]).map(|_| Era::Modern),
    }
}

/// Returns true if this response to `server/discover` or `initialize` comes from a modern server.
fn is_modern(answer: &str) -> bool {
    let error = splice::at(answer, &["error", "code"]);
    let path = match error.map(serde_json::from_str) {
        None => &["result", "supportedVersions"][..],
        Some(Ok(code::UNSUPPORTED_VERSION)) => &["error", "data", "supported"],
        Some(error) => return error.is_ok_and(|error| code::MODERN.contains(&error)),
    };
    let versions = splice::at(answer, path).and_then(|text| serde_json::from_str(text).ok());
    let versions: Vec<String> = versions.unwrap_or_default();
    // A library may know the modern format although its server supports only legacy revisions.
    versions.iter().any(|version| is_modern_version(version))
}

/// Returns true if the response to `initialize` opens a session. A modern revision in the response does not,
/// unless the client requested that revision.
fn takes_session(answer: &str, initialize: &Message) -> bool {
    let asked = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
    let told = splice::string_at(answer, &["result", "protocolVersion"]);
    splice::at(answer, &["result"]).is_some()
        && (told == asked || !told.is_some_and(|told| is_modern_version(&told)))
}

/// Revisions are dates, so comparing their text compares their age.
fn is_modern_version(version: &str) -> bool {
    version >= MODERN
}

/// Builds the request that asks if the server is modern, with the description of the client that sent this
/// message.
fn probe_of(id: &Id, message: &Message) -> Message {
    // The first two members are required in every request, and the third is recommended.
    let mut members = json!({meta::VERSION: MODERN, meta::CAPABILITIES: {}});
    for name in [meta::VERSION, meta::CAPABILITIES, meta::CLIENT] {
        let value = splice::at(message.text(), &["params", "_meta", name]);
        if let Some(value) = value.and_then(|value| serde_json::from_str(value).ok()) {
            members[name] = value;
        }
    }
    Message::request(id, method::DISCOVER, &json!({"_meta": members}))
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    const INITIALIZE: &str = r#"C {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"old","version":"1"}}}"#;
    const DISCOVER: &str = r#"C {"id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    const CALL: &str = r#"C {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1}}}"#;

    fn swapped(line: &str) -> String {
        match line.split_at(1) {
            ("C", rest) => format!("S{rest}\n"),
            (_, rest) => format!("C{rest}\n"),
        }
    }

    /// Messages between peers of one era. Each contains a detail that is lost if the text is parsed and
    /// rewritten.
    const TRAFFIC: [&str; 10] = [
        r#"C { "id" : 1.0, "method":"tools/call", "params":{"n":12345678901234567890123, "a":[ ]} }"#,
        r#"S@1.0 {"method":"notifications/progress","params":{"progressToken":1e2}}"#,
        r#"S@1.0 {"id":"e","method":"elicitation/create","params":{"message":"\u0041"}}"#,
        r#"C {"id":"\u0065","result":{"action":"accept"},"z":0.10}"#,
        r#"S {"id":1,"result":{"resultType":"input_required","content":[],"content":[]}}"#,
        r#"C {"id":2,"method":"ping"}"#,
        r#"S {"id":2,"error":{"code":-32002,"message":"x"}}"#,
        r#"C {"method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"C {"id":3,"method":"subscriptions/listen"}"#,
        r#"S [{"id":3,"result":{}}]"#,
    ];

    #[test]
    fn one_era_crosses_byte_for_byte() {
        let result = r#"S {"id":0,"result":{"protocolVersion":"2025-06-18"} }"#;
        let found = r#"S {"id":"d" ,"result":{"supportedVersions":["2026-07-28"]}}"#;
        let refused = r#"S {"id":"d","error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}}"#;
        for (era, opening) in [
            (Era::Legacy, &[INITIALIZE, result][..]),
            (Era::Modern, &[DISCOVER, found]),
            (Era::Modern, &[DISCOVER, refused]),
        ] {
            let cache = EraCache::default();
            // The second link probes nothing. Messages before the first one that shows an era are not lost.
            for _ in 0..2 {
                let mut script = Script::new(&cache);
                for line in opening.iter().chain(&TRAFFIC) {
                    let expected = swapped(line).replace("@1.0", "@1");
                    assert_eq!(script.play(&[line]), expected);
                }
            }
            assert_eq!(cache.speaks(era), Some(true));
        }
    }

    #[test]
    fn what_shows_no_era_crosses() {
        let cache = EraCache::default();
        let mut script = Script::new(&cache);
        for line in &TRAFFIC {
            assert_eq!(script.play(&[line]), swapped(line).replace("@1.0", "@1"));
        }
        assert_eq!((cache.speaks(Era::Legacy), cache.speaks(Era::Modern)), (None, None));
    }

    #[test]
    fn a_server_may_speak_both() {
        let cache = EraCache::default();
        let result = r#"S {"id":0,"result":{}}"#;
        Script::new(&cache).play(&[INITIALIZE, result]);
        let heard = Script::new(&cache).play(&[
            CALL,
            r#"S {"id":"answerback-era/1","result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
        ]);
        insta::assert_snapshot!(heard, @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1}}}
        "#);
        assert_eq!(
            (cache.speaks(Era::Legacy), cache.speaks(Era::Modern)),
            (Some(true), Some(true))
        );
    }

    /// A client that speaks both eras receives a legacy server's own notifications, such as changed lists.
    #[test]
    fn a_client_that_speaks_both_eras_goes_on_in_its_server_s() {
        let refused = r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#;
        let result = r#"S {"id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
        let changed = r#"S {"method":"notifications/tools/list_changed"}"#;
        let cache = EraCache::default();
        let mut script = Script::keeping_era(&cache);
        for line in [DISCOVER, refused, INITIALIZE, result, changed] {
            assert_eq!(script.play(&[line]), swapped(line));
        }
        // The next link uses the cached era.
        let mut script = Script::keeping_era(&cache);
        let heard = script.play(&[DISCOVER]);
        assert!(heard.starts_with("C ") && heard.contains("-32601"), "{heard}");
        for line in [INITIALIZE, result, changed] {
            assert_eq!(script.play(&[line]), swapped(line));
        }
        // A silent server delays the client only until the probe expires.
        let mut script = Script::keeping_era(&EraCache::default());
        assert_eq!(script.play(&[DISCOVER]), swapped(DISCOVER));
        assert!(script.play(&["T 10"]).contains("-32601"));
        assert_eq!(script.play(&[refused]), "");
        let mut script = Script::keeping_era(&EraCache::default());
        script.play(&[DISCOVER]);
        assert_eq!(script.play(&[INITIALIZE, refused]), swapped(INITIALIZE));
        assert_eq!(script.play(&[result]), swapped(result));
    }

    #[test]
    fn a_client_that_needs_the_bridge_has_it() {
        let refused = r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#;
        for next in [CALL, DISCOVER] {
            let mut script = Script::keeping_era(&EraCache::default());
            assert_eq!(script.play(&[DISCOVER, refused]).matches("C {").count(), 1);
            let heard = script.play(&[next]);
            assert!(heard.starts_with("S ") && heard.contains("initialize"), "{next}: {heard}");
        }
        // A modern server is used without translation.
        let found = r#"S {"id":"d" ,"result":{"supportedVersions":["2026-07-28"]}}"#;
        let mut script = Script::keeping_era(&EraCache::default());
        for line in [DISCOVER, found] {
            assert_eq!(script.play(&[line]), swapped(line));
        }
    }

    #[test]
    fn a_refused_initialize_is_told_where_the_server_is_not_modern() {
        let refused = r#"S {"id":0,"error":{"code":-32602,"message":"no"}}"#;
        let unknown = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
        for answer in [unknown, "T 10", r#"S {"id":"answerback-era/1","result":{}}"#] {
            let cache = EraCache::default();
            let mut script = Script::new(&cache);
            script.play(&[INITIALIZE, refused]);
            assert_eq!(script.play(&[answer]), swapped(refused));
            // The client may try again.
            assert_eq!(script.play(&[INITIALIZE]), swapped(INITIALIZE));
            assert_eq!(cache.speaks(Era::Legacy), None);
        }
    }

    #[test]
    fn a_library_may_know_an_era_that_its_server_does_not_speak() {
        let cache = EraCache::default();
        let heard = Script::new(&cache).play(&[
            DISCOVER,
            r#"S {"id":"d","error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}}"#,
        ]);
        assert!(heard.contains(r#""method":"initialize""#), "{heard}");
        assert_eq!(cache.speaks(Era::Modern), Some(false));
        // A modern revision in the response does not open a session.
        let heard = Script::new(&EraCache::default())
            .play(&[INITIALIZE, r#"S {"id":0,"result":{"protocolVersion":"2026-07-28"}}"#]);
        assert!(heard.contains(r#""method":"server/discover""#), "{heard}");
    }

    #[test]
    fn what_turns_out_to_be_wrong_is_forgotten() {
        let cache = EraCache::default();
        cache.learn(Era::Legacy, false);
        cache.learn(Era::Modern, false);
        let refused = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
        for (first, era) in [(INITIALIZE, Era::Legacy), (DISCOVER, Era::Modern)] {
            let mut script = Script::new(&cache);
            let heard = script.play(&[first, refused]);
            assert!(heard.contains("C {"), "{heard}");
            assert_eq!(cache.speaks(era), None);
            assert_eq!(script.play(&[first]), swapped(first));
        }
    }

    #[test]
    fn a_slow_initialize_is_waited_for() {
        let result = r#"S {"id":0,"result":{}}"#;
        let mut script = Script::new(&EraCache::default());
        script.play(&[INITIALIZE]);
        assert!(script.play(&["T 10"]).contains("server/discover"));
        assert_eq!(script.play(&["T 10", "T 100"]), "");
        assert_eq!(script.play(&[result]), swapped(result));
        // The late response to the probe is dropped.
        let late = r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what"}}"#;
        assert_eq!(script.play(&[late]), "");
        assert_eq!(script.play(&[TRAFFIC[0]]), swapped(TRAFFIC[0]));
    }

    #[test]
    fn a_server_that_never_answers_the_probe_is_initialised() {
        let cache = EraCache::default();
        let mut script = Script::new(&cache);
        insta::assert_snapshot!(script.play(&[CALL, "T 9", "T 1"]), @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
        "#);
        insta::assert_snapshot!(script.play(&[
            r#"S {"id":"answerback-era/2","result":{"capabilities":{}}}"#,
            r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"late"}}"#,
            r#"S {"id":1,"result":{"tools":[]}}"#,
        ]), @r#"
        S {"jsonrpc":"2.0","method":"notifications/initialized","params":{}}
        S {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"x":1}}}
        C {"id":1,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
        "#);
        assert_eq!(cache.speaks(Era::Modern), Some(false));
        // The next link does not wait.
        insta::assert_snapshot!(Script::new(&cache).play(&[DISCOVER]), @r#"
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
        "#);
    }

    #[test]
    fn a_modern_server_may_be_slow_to_start() {
        for first in [DISCOVER, CALL] {
            let mut script = Script::new(&EraCache::default());
            script.play(&[first, "T 10"]);
            let id = if first == CALL { r#""answerback-era/1""# } else { r#""d""# };
            let found =
                format!(r#"S {{"id":{id},"result":{{"supportedVersions":["2026-07-28"]}}}}"#);
            let expected = if first == CALL { swapped(CALL) } else { swapped(&found) };
            assert_eq!(script.play(&[&found]), expected);
            // The server rejects the session that the bridge tried in the meantime.
            let number = if first == CALL { 2 } else { 1 };
            let refused = format!(
                r#"S {{"id":"answerback-era/{number}","error":{{"code":-32601,"message":"what"}}}}"#
            );
            assert_eq!(script.play(&[&refused]), "");
            assert_eq!(script.play(&[TRAFFIC[0]]), swapped(TRAFFIC[0]));
        }
    }

    #[test]
    fn a_server_that_speaks_neither_is_said_to() {
        let mut script = Script::new(&EraCache::default());
        insta::assert_snapshot!(script.play(&[
            DISCOVER,
            CALL,
            r#"C {"method":"notifications/cancelled","params":{"requestId":"d"}}"#,
            r#"S {"id":"d","error":{"code":-32601,"message":"what"}}"#,
            r#"S {"id":"answerback-era/1","error":{"code":-32601,"message":"what?"}}"#,
            CALL,
            "T 10",
            "T 60",
        ]), @r#"
        S {"id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
        S {"jsonrpc":"2.0","id":"answerback-era/1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
        C {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server speaks neither era of the protocol: what?"}}
        S {"jsonrpc":"2.0","id":"answerback-era/2","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        S {"jsonrpc":"2.0","id":"answerback-era/3","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"answerback","version":"0.1.0"}}}
        C {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server speaks neither era of the protocol: it did not answer initialize in time"}}
        "#);
    }
}
