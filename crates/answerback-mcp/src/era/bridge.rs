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

/// How long a server has to show its era before it is asked in another way.
const PROBE: Duration = Duration::from_secs(10);

/// Why a server is gone that did not take what it was asked first.
const OVER_ERA: &str = "the server ended over what it was asked first";

/// The most answers that are waited for to be ignored.
const STRAYS: usize = 16;

/// What lies between a client and a server: it finds out which eras they speak, and then what has to be done.
#[derive(Debug)]
pub(super) struct Bridge {
    cache: EraCache,
    ids: GeneratedIds,
    state: BridgeState,
    strays: Strays,
    /// Whether a client that asks which era a server speaks may be told that it is the legacy one.
    discovery: Discovery,
}

/// How `server/discover` is answered for a legacy server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Discovery {
    /// As a modern server would: the client speaks the newer era, and the bridge translates.
    Bridged,
    /// As the server does the first time, so that a client that speaks both eras goes on in the server's own. A client
    /// that asks again, or goes on in the newer era, needs the bridge.
    Refused { was_refused: bool },
}

#[derive(Debug)]
enum BridgeState {
    /// Nothing that the client said shows its era. It crosses.
    Undecided,
    /// The server has a legacy client's `initialize`.
    AskingLegacy(Box<AskingLegacy>),
    /// The server has `server/discover`, on behalf of a modern client.
    AskingModern {
        probe: Id,
        until: Instant,
        held: Vec<Message>,
    },
    /// Both speak the same: everything crosses as it is.
    Same,
    LegacyClient(Box<LegacyClient>),
    ModernClient {
        client: Box<ModernClient>,
        /// The question that was not answered in time. A server that was slow to start may yet do so.
        probe: Option<Id>,
    },
}

/// Requests that the server may still answer, though nobody waits any more.
#[derive(Debug, Default)]
struct Strays(VecDeque<Id>);

#[derive(Debug)]
struct AskingLegacy {
    initialize: Message,
    id: Id,
    /// When the next step is due.
    until: Option<Instant>,
    /// The server's answer to `initialize`, an error.
    refusal: Option<Incoming>,
    /// What there is to be, if the server is modern.
    client: LegacyClient,
}

impl Bridge {
    /// A bridge to a server of which this is known.
    pub(super) fn new(cache: EraCache) -> Self {
        let (ids, strays) = (GeneratedIds::default(), Strays::default());
        Self { cache, ids, state: BridgeState::Undecided, strays, discovery: Discovery::Bridged }
    }

    /// The bridge for a client that goes on in a legacy server's own era if it can.
    pub(super) fn keeping_era(mut self) -> Self {
        self.discovery = Discovery::Refused { was_refused: false };
        self
    }

    /// The bridge with other ids for its own requests.
    pub(super) fn with_ids(mut self, ids: GeneratedIds) -> Self {
        self.ids = ids;
        self
    }

    /// Takes a message of the client.
    pub(super) fn hear_client(&mut self, message: Message, now: Instant, out: &mut Outbox) {
        match &mut self.state {
            BridgeState::Undecided => match era_of(&message) {
                Some(Era::Legacy) => self.begin_legacy(message, now, out),
                Some(Era::Modern) => self.begin_modern(message, now, out),
                None => out.tell_server(message),
            },
            // The client did not wait for the answer: it goes on in the legacy era.
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

    /// Takes a message of the server.
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

    /// Whether everything crosses as it is.
    pub(super) const fn is_same(&self) -> bool {
        matches!(self.state, BridgeState::Same)
    }

    /// Takes the server's leaving. Where that shows its era, what it was asked is worth another start: it has not come to
    /// it, and the next one is asked in other words.
    pub(super) fn server_left(&mut self, out: &mut Outbox) {
        match &mut self.state {
            // Its last word was not passed on, since it could have been taken another way.
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
            // There are legacy servers that end when the first thing they hear is not `initialize`.
            BridgeState::AskingModern { held, .. } => {
                self.cache.learn(Era::Modern, false);
                for message in held.drain(..) {
                    if let Shape::Request { id, .. } = message.shape() {
                        out.tell_client(again(id, OVER_ERA));
                    }
                }
            }
            // Nor did the other way help: the next link finds out anew.
            BridgeState::LegacyClient(client) if client.discovering().is_some() => {
                self.cache.learn(Era::Legacy, None);
            }
            BridgeState::ModernClient { client, .. } if !client.is_open() => {
                self.cache.learn(Era::Modern, None);
            }
            _ => {}
        }
    }

    /// When something is to be done without a message.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            BridgeState::Undecided | BridgeState::Same => None,
            BridgeState::AskingLegacy(asking) => asking.until,
            BridgeState::AskingModern { until, .. } => Some(*until),
            BridgeState::LegacyClient(client) => client.deadline(),
            BridgeState::ModernClient { client, .. } => client.deadline(),
        }
    }

    /// Does it.
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

    /// Forgets what turned out to be wrong: a server that is not what it was taken for is asked anew.
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

    /// Everything crosses, and two answers are looked at.
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
                // A server that says this in these words may end with it. The next link knows better.
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

    /// The server does not say that it is modern. Where it refused `initialize` the client is told so and may try again;
    /// else it may still answer.
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
            // A server may see whether somebody is there before it does anything.
            Shape::Request { id, method } if method == method::PING => {
                out.tell_server(Message::result(id, "{}"));
            }
            // Nothing else is said before anything was asked.
            _ => {}
        }
    }

    /// Whether a client may be told that its server does not know discovery.
    fn may_refuse(&self) -> bool {
        self.discovery == Discovery::Refused { was_refused: false }
    }

    /// The id of the discovery that is all that the client has asked, where it may be refused.
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

    /// Answers discovery with the server's own error, or in its place. What the client says next decides.
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

    /// The server is modern, as its client is: what was held crosses.
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

    /// The server is not modern, or does not say so: it gets the session that a legacy server needs.
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
    /// Asks a server that does not take `initialize` whether it is modern.
    fn probe(&mut self, now: Instant, out: &mut Outbox) {
        self.client.hear_client(self.initialize.clone(), out);
        self.until = Some(now + PROBE);
    }
}

impl Strays {
    /// Adds one, where there is one. Of those that are never answered the oldest are forgotten.
    fn add(&mut self, id: Option<Id>) {
        self.0.extend(id);
        if self.0.len() > STRAYS {
            self.0.pop_front();
        }
    }

    /// Whether this is one. It is answered once.
    fn take(&mut self, id: &Id) -> bool {
        let place = self.0.iter().position(|stray| stray == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}

/// The era of a client that says this, where it shows.
fn era_of(message: &Message) -> Option<Era> {
    let Shape::Request { method, .. } = message.shape() else { return None };
    match method.as_str() {
        method::INITIALIZE => Some(Era::Legacy),
        method::DISCOVER => Some(Era::Modern),
        _ => splice::at(message.text(), &["params", "_meta", meta::VERSION]).map(|_| Era::Modern),
    }
}

/// Whether this answer to `server/discover`, or this refusal of `initialize`, is a modern server's.
fn is_modern(answer: &str) -> bool {
    let error = splice::at(answer, &["error", "code"]);
    let path = match error.map(serde_json::from_str) {
        None => &["result", "supportedVersions"][..],
        Some(Ok(code::UNSUPPORTED_VERSION)) => &["error", "data", "supported"],
        Some(error) => return error.is_ok_and(|error| code::MODERN.contains(&error)),
    };
    let versions = splice::at(answer, path).and_then(|text| serde_json::from_str(text).ok());
    let versions: Vec<String> = versions.unwrap_or_default();
    // A library may know the words of the era in which a server does not want to speak.
    versions.iter().any(|version| is_modern_version(version))
}

/// Whether the answer to `initialize` opens a session. One of a revision that has none does not, unless the client asked
/// for it.
fn takes_session(answer: &str, initialize: &Message) -> bool {
    let asked = splice::string_at(initialize.text(), &["params", "protocolVersion"]);
    let told = splice::string_at(answer, &["result", "protocolVersion"]);
    splice::at(answer, &["result"]).is_some()
        && (told == asked || !told.is_some_and(|told| is_modern_version(&told)))
}

/// Revisions are dates, which are in the order of their text.
fn is_modern_version(version: &str) -> bool {
    version >= MODERN
}

/// The question whether a server is modern, in the name of the client that said this.
fn probe_of(id: &Id, message: &Message) -> Message {
    // The two that every request must have, and one that it should.
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

    /// What crosses between two of one era, with what only a text that is not read again keeps.
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
            // The second link asks nothing, and nothing is lost before the first that shows an era.
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

    /// A client that speaks both eras hears from a legacy server what that says by itself, such as changed lists.
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
        // The next link knows without asking.
        let mut script = Script::keeping_era(&cache);
        let heard = script.play(&[DISCOVER]);
        assert!(heard.starts_with("C ") && heard.contains("-32601"), "{heard}");
        for line in [INITIALIZE, result, changed] {
            assert_eq!(script.play(&[line]), swapped(line));
        }
        // A server that says nothing is asked no longer than a client waits.
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
        // A modern server is left alone.
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
            // It may try again.
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
        // The session of a revision that has none is no session.
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
        // The answer to our question, when it comes, is nobody's.
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
            // It does not know the session that we tried meanwhile.
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
