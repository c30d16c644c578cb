//! Ten thousand secrets, planted at random into calls and documents: no piece of one comes out anywhere.
//!
//! The payload itself is not ours to change: what a tool answers passes through as it is. Everything that we
//! say or keep is looked at here.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use answerback::call::Schema;
use answerback::checker::{CallRequest, CallSummary, ToolCatalog, check_call};
use answerback::config::ValidationConfig;
use answerback::contract::atdf::{EnrichSource, enrich};
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::provider::{self, Provider, ToolCall};
use answerback::{RetryTracker, Timestamp};
use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::rules::good_documents;
use crate::secrets::{Planted, TELLING_NAMES, Told};

const IN_ONE_CALL: usize = 10;

/// How many secrets are planted: in calls so many, in documents a fifth of it.
fn secrets() -> usize {
    number("ANSWERBACK_SECRETS").unwrap_or(10_000)
}

/// Chance for one test. `PROPTEST_RNG_SEED` leads it another way, as it does the property tests.
fn dice(test: usize) -> Dice {
    let seed = number("PROPTEST_RNG_SEED").unwrap_or(1);
    Dice::new((seed * 1000 + test) as u64)
}

fn number(variable: &str) -> Option<usize> {
    std::env::var_os(variable)?.to_str()?.parse().ok()
}

#[test]
fn no_piece_of_a_secret_comes_out_of_detailed_messages() {
    plant("detailed", false, "offer");
}

#[test]
fn no_piece_of_a_secret_comes_out_of_compact_messages() {
    plant("compact", true, "offer");
}

#[test]
fn no_piece_of_a_secret_comes_out_where_repairs_are_applied() {
    plant("detailed", true, "apply_safe");
}

#[test]
fn no_piece_of_a_secret_comes_out_where_repairs_are_off() {
    plant("compact", false, "off");
}

/// A quarter of the secrets, under a configuration of their own.
fn plant(style: &str, strict: bool, repair: &str) {
    let formatting = json!({"style": style, "max_message_length": 4000, "max_value_preview": 400});
    let validation = json!({"strict": strict, "repair": repair, "formatting": formatting});
    let config = json!({"tools": {"validation": validation}});
    let config = ValidationConfig::from_value("f", &config).unwrap();
    let (catalogue, tracker) = (ToolCatalog::read(&tools()).unwrap(), RetryTracker::new(&config));
    let seen = Seen::default();
    let mut summary = CallSummary::default();
    let mut dice = dice(style.len() * 31 + repair.len());
    let calls = secrets() / 4 / IN_ONE_CALL;
    let (mut all, mut names) = (Vec::new(), Vec::new());
    let mut leaks = Leaks::default();
    seen.while_watched(|| {
        for number in 0..calls {
            let (tool, arguments, planted) = call(&mut dice);
            let in_name = Planted::by_shape(&mut dice);
            // Without its schema nobody knows what a tool calls secret.
            let is_known = tool != "unknown_tool";
            let place = match dice.below(5) {
                1 if is_known => 0,
                place => place,
            };
            let first = dice.below(3);
            for attempt in 0..3 {
                let sent = match (first + attempt) % 3 {
                    0 => arguments.clone(),
                    1 => Value::from(arguments.to_string()),
                    _ => Value::from(broken(&arguments.to_string(), &mut dice)),
                };
                let mut line = json!({"id": format!("c{attempt}"), "tool": tool, "arguments": sent, "conversation": number.to_string(), "model": "m"});
                // What names the call is chosen by models and callers, too.
                if let Some(name) = ["id", "tool", "conversation", "model"].get(place) {
                    line[name] = json!(format!("{} {}", in_name.text, line[name].as_str().unwrap()));
                }
                let told = answered(&catalogue, &line, &config, &tracker, &mut summary);
                let told = format!("{told}\n{}", seen.take());
                leaks.look(&planted, &told, &line);
                leaks.look(std::slice::from_ref(&in_name), &told, &line);
            }
            all.extend(planted);
            names.push(in_name);
        }
    });
    let counted = tracker.tally();
    let report = serde_json::to_string(&summary.finish(&counted)).unwrap();
    let report = format!("{report}{counted:?}");
    leaks.look(&all, &report, &json!("the summary of all calls"));
    leaks.look(&names, &report, &json!("the summary of all calls, for names"));
    assert_eq!(all.len(), calls * IN_ONE_CALL);
    leaks.none();
}

#[test]
fn no_piece_of_a_secret_in_a_document_comes_out() {
    let mut dice = dice(0);
    let documents: Vec<(Contract, Value)> = Contract::ALL
        .into_iter()
        .flat_map(|contract| {
            good_documents(contract).into_iter().map(move |(_, document)| (contract, document))
        })
        .collect();
    let mut leaks = Leaks::default();
    for _ in 0..secrets() / 5 {
        let (contract, document) = dice.one_of(&documents);
        let (document, planted) = spoiled(document, &mut dice);
        let mut told = String::new();
        for profile in [Profile::Strict, Profile::Lenient] {
            let findings = contract.check(&document, profile);
            let source = EnrichSource::Document { document: &document };
            let enriched = enrich(&findings, &source, now()).map(|error| error.to_document());
            writeln!(told, "{} {enriched:?}", serde_json::to_string(&findings).unwrap()).unwrap();
        }
        leaks.look(&[planted], &told, &document);
    }
    leaks.none();
}

/// Everything that is said and kept about one line of a log.
fn answered(
    catalogue: &ToolCatalog,
    line: &Value,
    config: &ValidationConfig,
    tracker: &RetryTracker,
    summary: &mut CallSummary,
) -> String {
    let call = CallRequest::read(line.to_string().as_bytes(), Limits::default()).unwrap();
    let judged = check_call(catalogue, call, config, Limits::default());
    let outcome = judged.track(tracker, now(), [7; 10]);
    summary.add(&judged, &outcome);
    let mut told = String::new();
    let mut tell = |text: String| told.extend([text.as_str(), "\n"]);
    tell(format!("{} {:?}", judged.key(), judged.model));
    // The most expensive of all, and of a value written as text the same as of the value.
    if line["arguments"].is_object() || judged.arguments.value().is_none() {
        let empty = Value::Null;
        let source = EnrichSource::Call {
            schema: judged.schema().map_or(&empty, Schema::source),
            arguments: judged.arguments.value().unwrap_or(&empty),
        };
        let enriched = enrich(&judged.findings, &source, now());
        tell(enriched.map(|error| error.to_document().to_string()).unwrap_or_default());
    }
    judged.findings.iter().for_each(|finding| tell(finding.to_string()));
    tell(judged.notes().unwrap_or_default());
    tell(judged.repair.as_ref().map(|repair| repair.words().to_owned()).unwrap_or_default());
    tell(judged.unchecked.as_ref().map(ToString::to_string).unwrap_or_default());
    let state = tracker.state(judged.key(), now());
    tell(serde_json::to_string(&state).unwrap());
    let sent = provider::Arguments::Value(line["arguments"].clone());
    let call = ToolCall::new(&judged.tool_call_id, &judged.tool, sent);
    let answer = judged.reply(outcome);
    if let Some(result) = &answer.result {
        tell(result.content.clone());
        for provider in Provider::ALL {
            tell(provider.result(&call, result).to_string());
        }
    }
    if let Some(escalation) = &answer.escalation {
        tell(serde_json::to_string(&escalation.case(now().plus_days(1))).unwrap());
        tell(escalation.summary.clone());
    }
    tell(serde_json::to_string(&answer).unwrap());
    told
}

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

/// Tools whose schemas can be broken in every way; the last calls nothing secret, so that its malformed calls
/// are shown.
fn tools() -> Value {
    let leaf = json!({"type": "object", "properties": {"leaf": {"type": "integer"}}, "additionalProperties": false});
    let closed = json!({
        "type": "object",
        "properties": {
            "mode": {"enum": ["read", "write"]}, "kind": {"const": "fixed"},
            "code": {"type": "string", "pattern": "^[a-z]{2,4}$"},
            "user": {"type": "string", "maxLength": 8}, "motto": {"type": "string", "minLength": 2000},
            "count": {"type": "integer", "maximum": 9}, "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"}, "none": {"not": {"type": "string"}}, "never": false,
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1, "uniqueItems": true, "contains": {"const": "a"}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1},
            "named": {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,5}$"}},
            "nested": {"type": "object", "properties": {"inner": leaf}},
            "either": {"anyOf": [{"type": "integer"}, {"enum": ["one", "two"]}, leaf]},
            "login": {"type": "string", "format": "password", "maxLength": 3},
            "hidden": {"type": "object", "writeOnly": true, "required": ["x"]},
            "vault": {"type": "array", "items": {"type": "string", "writeOnly": true, "pattern": "^x$"}},
            "choice": {"oneOf": [
                {"properties": {"kind": {"const": "a"}, "value": {"type": "integer"}}, "required": ["kind", "value"]},
                {"properties": {"kind": {"const": "b"}, "value": {"type": "string", "maxLength": 2, "writeOnly": true}}, "required": ["kind", "value"]},
            ]},
        },
        "required": ["needed"],
        "dependentRequired": {"mode": ["also"]},
        "additionalProperties": false,
    });
    let mut plain = closed.clone();
    let properties = plain["properties"].as_object_mut().unwrap();
    properties.retain(|name, _| !["login", "hidden", "vault", "choice"].contains(&name.as_str()));
    // A call that a repair can mend, with room for anything beside what is wrong.
    let mendable = json!({
        "type": "object",
        "properties": {
            "encoding": {"enum": ["utf-8", "ascii"]}, "limit": {"type": "integer"}, "path": {"type": "string"},
            "code": {"type": "string", "pattern": "^[!-~]+$"}, "list": {"type": "array"},
        },
        "required": ["path"],
    });
    json!([
        {"name": "closed", "inputSchema": closed},
        {"name": "plain", "inputSchema": plain},
        {"name": "mendable", "inputSchema": mendable},
        {"name": "open", "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]}},
    ])
}

/// A call with secrets in it.
fn call(dice: &mut Dice) -> (&'static str, Value, Vec<Planted>) {
    let tool =
        dice.one_of(&["closed", "closed", "plain", "plain", "mendable", "open", "unknown_tool"]);
    let mut arguments = Map::new();
    if tool == "mendable" {
        arguments
            .extend([("encoding".to_owned(), json!("UTF8")), ("limit".to_owned(), json!("10"))]);
    }
    let planted = (0..IN_ONE_CALL)
        .map(|_| {
            if dice.below(2) == 0 {
                let planted = Planted::by_shape(dice);
                by_shape(tool, &mut arguments, &planted, dice);
                planted
            } else {
                let planted = Planted::by_place(dice);
                by_place(tool, &mut arguments, &planted, dice);
                planted
            }
        })
        .collect();
    (tool, Value::Object(arguments), planted)
}

/// Fields of the tools, and some that are none.
const FIELDS: [&str; 14] = [
    "mode", "kind", "code", "user", "motto", "count", "when", "mail", "none", "never", "either",
    "path", "list", "pth",
];

/// Plants what its shape gives away: anywhere, alone or in a sentence, as a value or as a name.
fn by_shape(tool: &str, arguments: &mut Map<String, Value>, planted: &Planted, dice: &mut Dice) {
    let text = match dice.below(4) {
        0 => format!("please use {} for it", planted.text),
        1 => format!("  {}\n", planted.text),
        2 if tool == "mendable" => json!([planted.text]).to_string(),
        _ => planted.text.clone(),
    };
    match dice.below(9) {
        0..=3 => insert(arguments, dice.one_of(&FIELDS), json!(text)),
        4 => insert(arguments, "tags", json!([text, "a", text])),
        5 => insert(
            arguments,
            dice.one_of(&["map", "named", "nested", "hidden"]),
            json!({&text: 1, "b": [text]}),
        ),
        6 => insert(arguments, "nested", json!({"inner": {"leaf": text, "x": {"y": [[text]]}}})),
        7 => insert(
            arguments,
            dice.one_of(&["either", "choice"]),
            json!({"kind": text, "value": text, "leaf": text}),
        ),
        _ => insert(arguments, &text, json!(1)),
    }
}

/// Plants what only its place gives away: below a telling name, or where the schema says so.
fn by_place(tool: &str, arguments: &mut Map<String, Value>, planted: &Planted, dice: &mut Dice) {
    let text = &planted.text;
    let name = dice.one_of(&TELLING_NAMES);
    let below = match dice.below(4) {
        0 => json!([text]),
        1 => json!({"value": text}),
        _ => json!(text),
    };
    match dice.below(if tool == "closed" { 10 } else { 6 }) {
        0 | 1 => insert(arguments, name, below),
        2 => insert(arguments, "map", json!({name: below, "b": "x"})),
        3 => insert(arguments, "nested", json!({"inner": {"leaf": "x", name: below}})),
        4 => insert(arguments, "tags", json!([{name: below}])),
        5 => insert(
            arguments,
            dice.one_of(&["count", "options"]),
            json!(json!({name: text}).to_string()),
        ),
        6 => insert(arguments, "login", json!(text)),
        7 => insert(arguments, "hidden", json!({"a": text})),
        8 => insert(arguments, "vault", json!(["x", text])),
        _ => insert(arguments, "choice", json!({"kind": "b", "value": text})),
    }
}

/// Adds a member; what stands there already is kept beside it.
fn insert(arguments: &mut Map<String, Value>, name: &str, value: Value) {
    let mut name = name.to_owned();
    while arguments.contains_key(&name) {
        name.insert(0, '_');
    }
    arguments.insert(name, value);
}

/// The text of a call as a model gets it wrong.
fn broken(text: &str, dice: &mut Dice) -> String {
    match dice.below(9) {
        0 => text[..text.floor_char_boundary(dice.below(text.len()))].to_owned(),
        1 => text.replace('"', "'"),
        2 => format!("{text} {text}"),
        3 => format!("```json\n{text}\n"),
        4 => text[1..].to_owned(),
        5 => text.replacen('{', "{\"deep\": True, ", 1),
        6 => text.replace("\\n", "\n"),
        7 => text.replace('"', ""),
        _ => format!("<call>{}", text.replace(',', ",,")),
    }
}

/// A good document with a secret in it, and the secret.
fn spoiled(mut document: Value, dice: &mut Dice) -> (Value, Planted) {
    let by_shape = dice.below(2) == 0;
    let planted = if by_shape { Planted::by_shape(dice) } else { Planted::by_place(dice) };
    let places = containers(&document);
    let place = dice.one_of(&places);
    let members = document.pointer_mut(&place).and_then(Value::as_object_mut).unwrap();
    let text = json!(planted.text);
    if planted.told == Told::ByPlace {
        members.insert(dice.one_of(&TELLING_NAMES).to_owned(), text);
    } else if members.is_empty() || dice.below(4) == 0 {
        members.insert(planted.text.clone(), text);
    } else {
        let index = dice.below(members.len());
        *members.values_mut().nth(index).unwrap() = text;
    }
    (document, planted)
}

/// The places of all objects.
fn containers(document: &Value) -> Vec<String> {
    let mut places = Vec::new();
    let mut waiting = vec![(String::new(), document)];
    while let Some((place, value)) = waiting.pop() {
        match value {
            Value::Object(members) => {
                let below =
                    |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                waiting.extend(members.iter().map(|(name, value)| (below(name), value)));
                places.push(place);
            }
            Value::Array(elements) => {
                waiting.extend(
                    elements
                        .iter()
                        .enumerate()
                        .map(|(index, value)| (format!("{place}/{index}"), value)),
                );
            }
            _ => {}
        }
    }
    places
}

/// What was found where it must not be.
#[derive(Default)]
struct Leaks(Vec<String>);

impl Leaks {
    fn look(&mut self, planted: &[Planted], told: &str, from: &Value) {
        for secret in planted {
            if let Some(piece) = secret.piece_in(told) {
                let at = told.find(piece).unwrap();
                let start = told.floor_char_boundary(at.saturating_sub(160));
                let end = told.ceil_char_boundary((at + 60).min(told.len()));
                self.0.push(format!(
                    "{piece:?} of {:?}\n  in …{}…\n  from {from}",
                    secret.text,
                    &told[start..end]
                ));
            }
        }
    }

    fn none(&self) {
        let shown: Vec<&str> = self.0.iter().take(12).map(String::as_str).collect();
        assert!(self.0.is_empty(), "{} secrets came out:\n{}", self.0.len(), shown.join("\n"));
    }
}

/// What operators see: every event and every counter with its labels.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<String>>);

impl Seen {
    fn while_watched(&self, work: impl FnOnce()) {
        metrics::with_local_recorder(self, || {
            tracing::subscriber::with_default(self.clone(), work);
        });
        // Somebody has to have been watching.
        assert!(std::mem::take(&mut *self.0.lock().unwrap()).is_empty());
    }

    /// What was seen since the last time; there is something of every call.
    fn take(&self) -> String {
        let seen = std::mem::take(&mut *self.0.lock().unwrap());
        assert!(seen.contains("answerback_calls_total"), "no counter");
        seen
    }

    fn note(&self, text: std::fmt::Arguments<'_>) {
        let mut seen = self.0.lock().unwrap();
        writeln!(seen, "{text}").unwrap();
    }
}

impl tracing::Subscriber for Seen {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.note(format_args!("{attributes:?}"));
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        self.note(format_args!("{values:?}"));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            self.note(format_args!("{}={value:?}", field.name()));
        });
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

impl metrics::Recorder for Seen {
    fn describe_counter(
        &self,
        _: metrics::KeyName,
        _: Option<metrics::Unit>,
        _: metrics::SharedString,
    ) {
    }

    fn describe_gauge(
        &self,
        _: metrics::KeyName,
        _: Option<metrics::Unit>,
        _: metrics::SharedString,
    ) {
    }

    fn describe_histogram(
        &self,
        _: metrics::KeyName,
        _: Option<metrics::Unit>,
        _: metrics::SharedString,
    ) {
    }

    fn register_counter(&self, key: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Counter {
        self.note(format_args!("{key}"));
        metrics::Counter::noop()
    }

    fn register_gauge(&self, key: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Gauge {
        self.note(format_args!("{key}"));
        metrics::Gauge::noop()
    }

    fn register_histogram(
        &self,
        key: &metrics::Key,
        _: &metrics::Metadata<'_>,
    ) -> metrics::Histogram {
        self.note(format_args!("{key}"));
        metrics::Histogram::noop()
    }
}
