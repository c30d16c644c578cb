//! Live streams: events that an agent publishes while it works, and the reply that they build.

use answerback::finding::secrets;
use answerback::json::patch::{self, PatchOperation};
use answerback_http::{Principal, Scope};
use answerback_store::{OWN_STREAMS, Store, StoreError, StoredEvent, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The longest name of a stream, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// The longest name of an event's kind, in bytes.
const MAX_KIND_BYTES: usize = 64;
/// The largest body of an event. Larger content belongs in a reply that the event refers to.
pub const MAX_BODY_BYTES: usize = 256 << 10;
/// The largest number of events in one request.
pub const MAX_EVENTS: usize = 1000;
/// The kind of the event that reports the outcome, before the end.
const OUTCOME: &str = "outcome";
/// The largest number of warnings about one stream.
const MAX_WARNINGS: usize = 20;
/// The deepest nesting that patches may build. Walking a reply is recursive and uses the stack.
const MAX_DEPTH: usize = 64;
/// The largest reply that events may build, in bytes of text plus 16 per node. A patch can copy existing content, so a
/// small patch can add much.
const MAX_REPLY_BYTES: usize = 16 << 20;
/// The total work for the patches of one stream. Further patches are left out.
const MAX_WORK: usize = 1 << 28;

/// An event to publish.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::exhaustive_structs, reason = "an event is a kind and a body")]
pub struct NewEvent {
    /// The kind: `envelope`, `rows`, `events`, `text`, `patch`, `signal`, `note`, or a custom kind.
    pub kind: String,
    /// The event's content.
    #[serde(default)]
    pub body: Value,
}

/// The prefix of an event's reference, which names the principal that began the stream.
const OWNER: &str = "principal/";

/// A principal that publishes to streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Publisher {
    name: String,
    is_admin: bool,
}

impl Publisher {
    /// Creates a publisher with this name, who may publish to its own streams.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_admin: false }
    }

    /// Returns the reference for a new event. Returns `None` if the stream belongs to another principal. The owner is
    /// taken from the newest event, since every event names it. If all events were pruned, the next publisher becomes
    /// the owner.
    fn reference_in(
        &self,
        transaction: &mut dyn Transaction,
        stream: &str,
    ) -> Result<Option<String>, StoreError> {
        let newest = transaction.newest_events(stream, 1)?;
        let owner = newest.first().and_then(owner_of).unwrap_or(&self.name);
        let is_own = owner == self.name || self.is_admin;
        Ok(is_own.then(|| format!("{OWNER}{owner}")))
    }
}

impl From<&Principal> for Publisher {
    fn from(principal: &Principal) -> Self {
        Self { is_admin: principal.has(Scope::Admin), ..Self::named(principal.name()) }
    }
}

/// Returns the principal that began the event's stream, if it is known.
pub(crate) fn owner_of(event: &StoredEvent) -> Option<&str> {
    event.reference.as_deref()?.strip_prefix(OWNER)
}

/// Publishes events to a stream, all or none, and returns their first and last sequence numbers.
///
/// # Errors
///
/// If the stream has ended or belongs to another principal, if the name or an event is invalid, or if the store fails.
pub async fn publish(
    store: &Store,
    by: &Publisher,
    stream: &str,
    events: Vec<NewEvent>,
) -> Result<(u64, u64), StreamError> {
    check_name(stream)?;
    if events.is_empty() || events.len() > MAX_EVENTS {
        return Err(StreamError::Count(events.len()));
    }
    // Redacting large bodies takes long, so it runs on a blocking thread.
    let prepared = tokio::task::spawn_blocking(move || redacted_bodies(events)).await;
    let (bodies, weight) = prepared.map_err(|error| StoreError::unit(error.to_string()))??;
    let (stream, by) = (stream.to_owned(), by.clone());
    let ticket = store.write_weighing(weight, move |transaction: &mut dyn Transaction| {
        let Some(owner) = by.reference_in(transaction, &stream)? else { return Ok(None) };
        let (mut first, mut last) = (None, 0);
        for (kind, body) in &bodies {
            last = transaction.append_event(&stream, kind, Some(&owner), body.as_bytes())?;
            first.get_or_insert(last);
        }
        Ok(Some((first.unwrap_or(last), last)))
    })?;
    ticket.await?.value.ok_or(StreamError::WrongOwner)
}

/// Returns the kind and the redacted body of each event, and their total weight for the store.
fn redacted_bodies(events: Vec<NewEvent>) -> Result<(Vec<(String, String)>, usize), StreamError> {
    let mut bodies = Vec::with_capacity(events.len());
    let mut weight = 0;
    for event in events {
        check_kind(&event.kind)?;
        let body = secrets::redact_value(&event.body).to_string();
        if body.len() > MAX_BODY_BYTES {
            return Err(StreamError::TooLarge(body.len()));
        }
        weight += body.len() + 256;
        bodies.push((event.kind, body));
    }
    Ok((bodies, weight))
}

/// Ends a stream. Its last event has the digest over all events. Ending a stream again does nothing.
///
/// # Errors
///
/// If the stream belongs to another principal, if the name is invalid, or if the store fails.
pub async fn end(
    store: &Store,
    by: &Publisher,
    stream: &str,
    outcome: Option<&str>,
) -> Result<Option<u64>, StreamError> {
    check_name(stream)?;
    if let Some(outcome) = outcome.filter(|outcome| outcome.len() > MAX_BODY_BYTES) {
        return Err(StreamError::TooLarge(outcome.len()));
    }
    let outcome = outcome.map(|word| json!({ "outcome": secrets::redact(word) }).to_string());
    if let Some(outcome) = outcome.as_ref().filter(|outcome| outcome.len() > MAX_BODY_BYTES) {
        return Err(StreamError::TooLarge(outcome.len()));
    }
    let (stream, by) = (stream.to_owned(), by.clone());
    let ticket = store.write(move |transaction: &mut dyn Transaction| {
        let Some(owner) = by.reference_in(transaction, &stream)? else { return Ok(None) };
        if let Some(outcome) = &outcome {
            // A stream that has ended already has its outcome.
            let body = outcome.as_bytes();
            if transaction.append_event(&stream, OUTCOME, Some(&owner), body).is_err() {
                return Ok(Some(None));
            }
        }
        transaction.end_stream(&stream, Some(&owner)).map(Some)
    })?;
    ticket.await?.value.ok_or(StreamError::WrongOwner)
}

fn check_name(name: &str) -> Result<(), StreamError> {
    let is_valid = !name.trim().is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.chars().any(char::is_control)
        && !name.starts_with(OWN_STREAMS);
    if is_valid { Ok(()) } else { Err(StreamError::Name) }
}

fn check_kind(kind: &str) -> Result<(), StreamError> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let is_valid = !kind.is_empty() && kind.len() <= MAX_KIND_BYTES && kind.chars().all(is_word);
    if is_valid && kind != StoredEvent::END && kind != OUTCOME {
        Ok(())
    } else {
        Err(StreamError::Kind)
    }
}

/// The reason why an event was not published.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// The name of the stream is invalid.
    Name,
    /// The kind of an event is invalid.
    Kind,
    /// There are no events, or too many.
    Count(usize),
    /// A body is too large.
    TooLarge(usize),
    /// The stream has ended.
    Ended,
    /// Another principal began the stream.
    WrongOwner,
    /// The store failed.
    Store(StoreError),
}

impl std::fmt::Display for StreamError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name => write!(
                formatter,
                "the name of a stream has 1 to {MAX_NAME_BYTES} bytes, no control characters, and does not begin with {OWN_STREAMS}"
            ),
            Self::Kind => write!(
                formatter,
                "the kind of an event has 1 to {MAX_KIND_BYTES} letters, digits, dots, dashes or underscores, and is not \
                 \"end\" or \"outcome\", which are reserved for the end of the stream"
            ),
            Self::Count(count) => {
                write!(formatter, "a request has 1 to {MAX_EVENTS} events; this one has {count}")
            }
            Self::TooLarge(bytes) => write!(
                formatter,
                "an event has at most {MAX_BODY_BYTES} bytes; this one has {bytes}; submit the content as a reply"
            ),
            Self::Ended => formatter.write_str("the stream has ended"),
            Self::WrongOwner => formatter.write_str(
                "this stream belongs to another principal; publish under another name, or with the token that began it",
            ),
            // Agents read this text, so the details are only in the source.
            Self::Store(error) => formatter.write_str(&error.public_message()),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for StreamError {
    fn from(error: StoreError) -> Self {
        match error {
            // This is the only reason for which the store rejects an event.
            StoreError::Unit(_) => Self::Ended,
            other => Self::Store(other),
        }
    }
}

/// An event in the form that clients receive.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct EventDocument {
    /// The sequence number among all events.
    pub seq: u64,
    /// The time when the event was written.
    pub time: String,
    /// The event's stream.
    pub stream: String,
    /// The event's kind.
    pub kind: String,
    /// The content, or null if it was erased.
    pub body: Option<Value>,
}

impl From<&StoredEvent> for EventDocument {
    fn from(event: &StoredEvent) -> Self {
        let body = event.body.as_ref().map(|bytes| match event.kind.as_str() {
            StoredEvent::END => json!({ "digest": String::from_utf8_lossy(bytes) }),
            _ => serde_json::from_slice(bytes).unwrap_or_default(),
        });
        Self {
            seq: event.seq,
            time: event.time.to_offset_micros(),
            stream: event.stream.clone(),
            kind: event.kind.clone(),
            body,
        }
    }
}

/// The reply that the events of a stream build.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StreamReply {
    /// The reply so far.
    pub envelope: Option<Value>,
    /// Warnings about events that could not be applied.
    pub warnings: Vec<String>,
    /// The outcome, once an event reports it.
    pub outcome: Option<String>,
    /// An upper bound of the reply's size.
    size: usize,
    /// The work spent on patches so far.
    work: usize,
}

impl StreamReply {
    /// Applies one more event. An event that cannot be applied adds a warning and changes nothing else.
    pub fn push(&mut self, event: &EventDocument) {
        let Some(body) = &event.body else { return };
        let applied = match event.kind.as_str() {
            "envelope" => bounded_size(body).map(|size| {
                self.size = size;
                self.envelope = Some(body.clone());
            }),
            "rows" => self.append_elements(body, "rows", &["row_count"]),
            "events" => self.append_elements(body, "events", &["event_count"]),
            "text" => self.append_text(body),
            "patch" => self.apply_patch(body),
            "signal" => self.append_signal(body),
            OUTCOME => {
                self.outcome = body["outcome"].as_str().map(ToOwned::to_owned);
                Some(())
            }
            _ => Some(()),
        };
        if applied.is_none() && self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("event {} ({}) cannot be applied", event.seq, event.kind));
        }
    }

    /// Returns the reply, or creates an empty one, because text and signals may come before any envelope.
    fn envelope_or_new(&mut self) -> &mut Value {
        self.envelope.get_or_insert_with(|| {
            json!({
                "response_type": "live_execution", "summary": "", "artifacts": [], "missions_spawned": [],
                "signals_emitted": [], "live_stream_id": null, "ui_hints": null, "metadata": {},
            })
        })
    }

    fn artifact_content(&mut self, body: &Value) -> Option<&mut Value> {
        let position = usize::try_from(body.get("artifact")?.as_u64()?).ok()?;
        self.envelope.as_mut()?.get_mut("artifacts")?.get_mut(position)?.get_mut("content")
    }

    fn append_elements(&mut self, body: &Value, name: &str, counts: &[&str]) -> Option<()> {
        let added = body.get(name)?.as_array()?.clone();
        self.grow(bounded_size(body)?)?;
        let content = self.artifact_content(body)?;
        let list = content.get_mut(name)?.as_array_mut()?;
        list.extend(added);
        let length = list.len();
        for count in counts {
            if content.get(*count).is_some() {
                content[*count] = length.into();
            }
        }
        Some(())
    }

    fn append_text(&mut self, body: &Value) -> Option<()> {
        let added = body.get("text")?.as_str()?;
        self.grow(added.len())?;
        let target = match body.get("artifact") {
            None => self.envelope_or_new().get_mut("summary")?,
            Some(_) => {
                let section = body.get("section").and_then(Value::as_u64).unwrap_or_default();
                let content = self.artifact_content(body)?;
                if content.get("code").is_some() {
                    content.get_mut("code")?
                } else {
                    let section = usize::try_from(section).ok()?;
                    let section = content.get_mut("sections")?.get_mut(section)?;
                    let member = if section.get("content").is_some() { "content" } else { "text" };
                    section.get_mut(member)?
                }
            }
        };
        let Value::String(text) = target else { return None };
        text.push_str(added);
        Some(())
    }

    /// Applies a patch one operation at a time and checks the size after each. One operation can at most double the
    /// size.
    fn apply_patch(&mut self, body: &Value) -> Option<()> {
        let operations: Vec<PatchOperation> =
            serde_json::from_value(body.get("patch")?.clone()).ok()?;
        let mut envelope = self.envelope.clone()?;
        let mut size = self.size;
        for operation in operations {
            envelope = patch::apply(&envelope, std::slice::from_ref(&operation)).ok()?;
            size = bounded_size(&envelope)?;
            self.work = self.work.saturating_add(size);
            if self.work > MAX_WORK {
                return None;
            }
        }
        (self.size, self.envelope) = (size, Some(envelope));
        Some(())
    }

    fn grow(&mut self, added: usize) -> Option<()> {
        let size = self.size.saturating_add(added);
        if size > MAX_REPLY_BYTES {
            return None;
        }
        self.size = size;
        Some(())
    }

    fn append_signal(&mut self, body: &Value) -> Option<()> {
        self.grow(bounded_size(body)?)?;
        let signals = self.envelope_or_new().get_mut("signals_emitted")?.as_array_mut()?;
        signals.push(body.clone());
        Some(())
    }
}

/// Returns the size of a value, or `None` if it is too large or too deep.
fn bounded_size(value: &Value) -> Option<usize> {
    fn walk(value: &Value, deep: usize, size: &mut usize) -> Option<()> {
        if deep > MAX_DEPTH {
            return None;
        }
        *size += 16;
        match value {
            Value::String(text) => *size += text.len(),
            Value::Array(elements) => {
                for element in elements {
                    walk(element, deep + 1, size)?;
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    *size += name.len();
                    walk(member, deep + 1, size)?;
                }
            }
            _ => {}
        }
        (*size <= MAX_REPLY_BYTES).then_some(())
    }
    let mut size = 0;
    walk(value, 0, &mut size)?;
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(events: &[(&str, Value)]) -> StreamReply {
        let mut reply = StreamReply::default();
        for (number, (kind, body)) in events.iter().enumerate() {
            reply.push(&EventDocument {
                seq: number as u64 + 1,
                time: String::new(),
                stream: "s".into(),
                kind: (*kind).into(),
                body: Some(body.clone()),
            });
        }
        reply
    }

    #[test]
    fn events_make_a_reply() {
        let table = json!({"artifact_type": "table", "content": {"rows": [[1]], "row_count": 1}});
        let code = json!({"artifact_type": "code_block", "content": {"code": "a"}});
        let document =
            json!({"artifact_type": "document", "content": {"sections": [{"content": "x"}]}});
        let envelope =
            json!({"summary": "s", "artifacts": [table, code, document], "signals_emitted": []});
        let reply = fold(&[
            ("rows", json!({"artifact": 0, "rows": [[0]]})),
            ("envelope", envelope),
            ("rows", json!({"artifact": 0, "rows": [[2], [3]]})),
            ("text", json!({"text": "!"})),
            ("text", json!({"artifact": 1, "text": "b"})),
            ("text", json!({"artifact": 2, "section": 0, "text": "y"})),
            ("patch", json!({"patch": [{"op": "add", "path": "/live", "value": true}]})),
            ("patch", json!({"patch": [{"op": "remove", "path": "/nothing"}]})),
            ("signal", json!({"signal_type": "t"})),
            ("rows", json!({"artifact": 9, "rows": [[4]]})),
            ("note", json!({"text": "n"})),
            ("outcome", json!({"outcome": "completed"})),
        ]);
        assert_eq!(
            reply.warnings,
            [
                "event 1 (rows) cannot be applied",
                "event 8 (patch) cannot be applied",
                "event 10 (rows) cannot be applied"
            ]
        );
        assert_eq!(reply.outcome.as_deref(), Some("completed"));
        insta::assert_snapshot!(reply.envelope.unwrap(), @r#"{"summary":"s!","artifacts":[{"artifact_type":"table","content":{"rows":[[1],[2],[3]],"row_count":3}},{"artifact_type":"code_block","content":{"code":"ab"}},{"artifact_type":"document","content":{"sections":[{"content":"xy"}]}}],"signals_emitted":[{"signal_type":"t"}],"live":true}"#);
    }

    #[test]
    fn few_words_do_not_make_a_reply_without_end() {
        let copies = |from: &str, to: &dyn Fn(usize) -> String| -> Vec<Value> {
            let copy = |step| json!({"op": "copy", "from": from, "path": to(step)});
            (0..24).map(copy).collect()
        };
        let deep = copies("/b", &|step| "/b".repeat((1 << step) + 1));
        let wide = copies("/a", &|_| "/a/-".to_owned());
        for (envelope, patch) in [(json!({"b": {}}), deep), (json!({"a": ["x".repeat(64)]}), wide)]
        {
            let reply =
                fold(&[("envelope", envelope.clone()), ("patch", json!({ "patch": patch }))]);
            assert_eq!(reply.envelope, Some(envelope));
            assert_eq!(reply.warnings, ["event 2 (patch) cannot be applied"]);
        }
        let text = json!({"text": "x".repeat(1 << 20)});
        let reply = fold(&vec![("text", text); 20]);
        assert!(reply.envelope.unwrap()["summary"].as_str().unwrap().len() <= MAX_REPLY_BYTES);
        assert!(!reply.warnings.is_empty());
    }

    #[test]
    fn words_begin_a_reply() {
        let reply = fold(&[("text", json!({"text": "on"})), ("text", json!({"text": " it"}))]);
        assert_eq!(reply.envelope.unwrap()["summary"], "on it");
    }

    #[test]
    fn names_and_kinds() {
        for name in ["", "  ", "answerback/x", "a\nb", &"x".repeat(201)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("run 7/строка").is_ok());
        for kind in ["", "end", "outcome", "a b", "é"] {
            assert!(check_kind(kind).is_err(), "{kind:?}");
        }
    }
}
