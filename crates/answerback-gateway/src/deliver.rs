//! Checks results before they are returned.

use std::borrow::Cow;

use answerback::UuidV4;
use answerback::call::check;
use answerback::contract::tool::{EnvelopeResponse, ErrorObject};
use answerback::finding::{secrets, shown_text};
use answerback::json::canonical;
use answerback_ledger::{Draft, LeafId, Part};
use answerback_mcp::wire::{Message, Object, splice, word};
use answerback_store::recording::redacted;
use answerback_store::{AppendedEntry, StoreError};
use serde_json::{Value, json};

use crate::admit::{Running, parts as request_parts};
use crate::attest::{Answer, Attested, Doubt};
use crate::blocking;
use crate::cut::{TruncatedResult, cut};
use crate::envelope::{data, found, of_findings, own, reference, whole};
use crate::figures::UNSEEN;
use crate::gateway_reply::{self, GatewayMessage, Told, meta, name};
use crate::marker::{self, Marker};
use crate::record::{About, outcome as with_outcome, same_but};
use crate::result_tree::ResultTree;
use crate::settings::{CheckMode, EnvelopeMode};
use crate::silent_failure::{self, SilentFailure};
use crate::tasks::{TaskRole, task_in};
use crate::unrecorded::Unrecorded;
use crate::{Gateway, Recorder, Upstream};

/// The outcome of a call that the server received and did not answer.
const NO_RESULT: &str = "no_result";
/// The outcome of a call that was never sent.
const NOT_SENT: &str = "not_sent";
/// The outcome of a call whose result comes later.
const TASK: &str = "task";
/// The name of the entry part that holds the server's response.
const RECEIVED: &str = "received";
/// The warning about a result in which a text begins like one of ours.
const IMITATION_NOTE: &str = "A text in this result begins like a note of Answerback, but the server wrote it. Only a \
    text block with the marker named in _meta is from Answerback.";
/// The number of recorded results of one task that are searched for an equal one. Results beyond that are
/// recorded each time.
const MOST_RESULTS: u32 = 16;

impl Gateway {
    /// Checks a call's response before it is returned, adds our findings to its `_meta`, and records it. The
    /// content is unchanged unless notes are added or the configuration truncates it. The entry is durable when
    /// this returns.
    pub async fn deliver(&self, upstream: &Upstream, running: Running, reply: Message) -> Message {
        // If servers are combined, their task ids may collide, so a task must be inspected.
        let may_be_task = || running.door.is_shared && word::TASK.is_in(&reply);
        if self.says_nothing(&running) && !may_be_task() && !reply.may_name_us() {
            running.figures.result(UNSEEN, running.teller.took());
            return reply;
        }
        // Boxing keeps the future small for results that need no further work.
        Box::pin(self.add_to(upstream, running, reply)).await
    }

    async fn add_to(&self, upstream: &Upstream, mut running: Running, reply: Message) -> Message {
        let object = match Object::read_repeating(reply.text()) {
            Ok(object) if object.get("result").is_some() => object,
            read => {
                let error = read.ok().and_then(|object| object.get("error")).unwrap_or("null");
                let error = error.to_owned();
                return self.deliver_error(running, reply, &error).await;
            }
        };
        let result = object.get("result").unwrap_or("null");
        let ResultTree { value, repeats } = match ResultTree::read(result) {
            Ok(tree) => tree,
            Err(error) if self.attestor.is_some() => {
                return self.withhold_unread(running, result, &error.to_string()).await;
            }
            // An unreadable result is forwarded unchanged.
            Err(_) => return self.deliver_unread(running, &object, result, &reply).await,
        };
        let mut checked = blocking::work(result.len(), || self.look_at(upstream, &running, &value));
        if (repeats || object.repeats()) && !checked.is_interim {
            let text = "A name stands twice in one object of the result: not every reader takes the same value for it.";
            checked.warn(found::DUPLICATE_NAME, text);
        }
        if !checked.is_interim && marker::is_in_result(&value) {
            warn_of_imitation(&mut running, &mut checked);
        }
        if checked.outcome == TASK
            && let Some(made) = self.made(&running, &value).await
        {
            running.task = Some(Box::new(made));
        }
        let mut added = noted(&running);
        let cut = self.cut(upstream, &running, result);
        let shown = cut.as_ref().map_or(result, |cut| &cut.result);
        if let Some(cut) = &cut {
            added.push((meta::CUT, cut.facts.to_string()));
            if running.notes.is_empty() {
                added.push((meta::MARKER, running.teller.marker.to_json()));
            }
        }
        let with_notes = with_notes(shown, &running.notes, &running.teller.marker);
        let mut changed = with_notes.map_or(Cow::Borrowed(shown), Cow::Owned);
        let task = running.task.as_deref().and_then(TaskRole::shown);
        if let Some(named) = task.and_then(|task| task.to_client(&changed, &[])) {
            changed = Cow::Owned(named);
        }
        let is_routine = self.is_routine(&checked, &value);
        let envelope = if is_routine { None } else { self.envelope(&running, &checked, &value) };
        if is_routine {
            let text = running.teller.routine(upstream, &value);
            added.extend(text.map(|text| (meta::ENVELOPE, text)));
        } else if let Some(envelope) =
            envelope.as_ref().filter(|_| self.settings.envelope != EnvelopeMode::Off)
        {
            // Structured content must not return the part that was truncated.
            if cut.is_none() && self.wants_structured(upstream, &running, &value) {
                let structured = structured(&changed, &whole(envelope, &value));
                changed = structured.map_or(changed, Cow::Owned);
            }
            added.push((meta::ENVELOPE, envelope.to_text()));
        }
        let given = DeliveredResult::new(result, &changed, &added);
        let seen = InspectedResult {
            checked: &checked,
            envelope: envelope.as_ref(),
            value: &value,
            result,
        };
        let text = match self.answer_for(upstream, &mut running, &seen, &given).await {
            Ok((Some(refused), receipt)) => return refused.message(receipt),
            Ok((None, receipt)) => given.answer(&object, receipt),
            Err(reason) => return withheld(&running, reason),
        };
        match text {
            Some(text) => reply.with_text(text),
            None => reply,
        }
    }

    /// Attests and records a result. Returns the response that replaces it, if the attestation is refused, and
    /// the receipt.
    async fn answer_for(
        &self,
        upstream: &Upstream,
        running: &mut Running,
        seen: &InspectedResult<'_>,
        given: &DeliveredResult<'_>,
    ) -> Result<(Option<Told>, Option<Value>), Unrecorded> {
        let mut others = 0;
        loop {
            if self.attestor.is_some() {
                self.find_place(running, seen.result).await;
            }
            let attested = self.attest(upstream, running, seen).await;
            let attested = attested?;
            let refusal = attested.as_ref().and_then(|attested| attested.refusal.as_ref());
            let refused = refusal.map(|refusal| {
                let (tool, reason) = (name(&running.call.name), refusal.refusal_reason);
                tracing::error!(tool_name = %tool, %reason, "a result is withheld, because nobody vouches for it");
                running.teller.says(&GatewayMessage::refused(&running.call.name, refusal))
            });
            let (outcome, delivered) = match &refused {
                Some(refused) => ("refused", refused.document()),
                None => (seen.checked.outcome, given.delivered()),
            };
            let attested = attested.as_ref();
            let written =
                self.write(running, outcome, Some(seen.result), &delivered, attested).await;
            match written {
                // Another result of the same task has meanwhile used the id that this attestation contains.
                Err(StoreError::Unit(_)) if others < MOST_RESULTS => others += 1,
                written => {
                    running.figures.result(outcome, running.teller.took());
                    return Ok((refused, written?));
                }
            }
        }
    }

    /// Returns true if a result is neither checked, recorded nor extended. It is then not parsed.
    fn says_nothing(&self, running: &Running) -> bool {
        let is_unchecked = self.settings.of(&running.call.name).output == CheckMode::Off;
        is_unchecked
            && self.settings.envelope == EnvelopeMode::Off
            && self.recorder.is_none()
            && running.notes.is_empty()
    }

    /// Returns true if the envelope is wanted as text and says only that the tool ran.
    fn is_routine(&self, checked: &Looked, result: &Value) -> bool {
        self.settings.envelope == EnvelopeMode::Meta
            && self.attestor.is_none()
            && !checked.is_interim
            && checked.errors.is_empty()
            && checked.warnings.is_empty()
            && own(result).is_none()
    }

    /// Builds the envelope of a result. Returns `None` if it is not needed, or if the contract does not allow the
    /// tool's name.
    fn envelope(
        &self,
        running: &Running,
        checked: &Looked,
        result: &Value,
    ) -> Option<EnvelopeResponse> {
        let is_wanted = self.settings.envelope != EnvelopeMode::Off || self.attestor.is_some();
        if !is_wanted || checked.is_interim {
            return None;
        }
        let (errors, warnings) = (checked.errors.clone(), checked.warnings.clone());
        running.teller.envelope(reference(result), own(result), errors, warnings)
    }

    /// Builds the governed response of a result, if an agent attests results.
    async fn attest(
        &self,
        upstream: &Upstream,
        running: &Running,
        &InspectedResult { checked, envelope, value, .. }: &InspectedResult<'_>,
    ) -> std::io::Result<Option<Attested>> {
        let (Some(attestor), Some(recorder)) = (&self.attestor, &self.recorder) else {
            return Ok(None);
        };
        // A request for input is not a result.
        if checked.is_interim {
            return Ok(None);
        }
        let content = envelope.map_or_else(|| data(value), |envelope| whole(envelope, value));
        let failed = checked.errors.first();
        let answer = Answer {
            tool: &running.call.name,
            correlation_id: &running.teller.correlation_id,
            response_id: match running.task.as_deref() {
                Some(TaskRole::Late { .. }) => {
                    UuidV4::try_from(running.teller.about.id.to_string()).ok()
                }
                _ => None,
            },
            // Everything that is recorded is redacted.
            content: blocking::work(blocking::text_in(&content), || {
                secrets::redact_value(&content)
            }),
            failure: failed
                .map(|error| (error.code.clone(), secrets::redact(&error.message).into_owned())),
            doubts: self.doubts(upstream, running, checked),
        };
        attestor.attest(recorder, answer).await.map(Some)
    }

    /// Finds the position of this result among the results of its task: that of an equal recorded result, or the
    /// next free one. The response's id is derived from it, so it must be known before the result is attested.
    async fn find_place(&self, running: &mut Running, result: &str) {
        let (Some(recorder), Some(TaskRole::Late { place, .. })) =
            (&self.recorder, running.task.as_deref_mut())
        else {
            return;
        };
        let (store, call) = (recorder.store().clone(), running.teller.correlation_id.clone());
        let received = blocking::work(result.len(), || redacted(result, None).into_owned());
        let found = tokio::task::spawn_blocking(move || {
            (0..MOST_RESULTS).find(|place| {
                let index = store.reply_index(About::late_id(&call, *place));
                let kept = index.map(|index| index.map(|index| store.entry(index)));
                match kept {
                    Ok(Some(Ok(Some(kept)))) => has_received(&kept, received.as_bytes()),
                    // A read error is reported when the entry is written.
                    _ => true,
                }
            })
        });
        *place = found.await.ok().flatten().unwrap_or_else(beyond);
        running.teller.about.id = About::late_id(&running.teller.correlation_id, *place);
    }

    /// Returns the reasons that prevent flags of a result from being attested.
    fn doubts(&self, upstream: &Upstream, running: &Running, checked: &Looked) -> Vec<Doubt> {
        let modes = self.settings.of(&running.call.name);
        let is_unpinned = self.settings.pinning == CheckMode::Off || upstream.pins.is_none();
        // For a task of unknown origin, the called tool and its arguments are not known.
        let is_unknown = !running.teller.about.tool.1;
        let unseen = [
            (is_unknown || is_unpinned, Doubt::DEFINITION),
            (is_unknown || modes.input == CheckMode::Off, Doubt::INPUT),
            (is_unknown || modes.output == CheckMode::Off, Doubt::OUTPUT),
        ];
        let unseen = unseen.into_iter().filter(|(applies, _)| *applies).map(|(_, doubt)| doubt);
        let found = checked.errors.iter().chain(&checked.warnings);
        unseen.chain(found.filter_map(|error| Doubt::of(&error.code))).collect()
    }

    /// Returns the response to a call without a result, because the server ended or took too long.
    pub async fn fail(&self, running: Running, reason: &str) -> Message {
        let said =
            GatewayMessage::without_result(&running.call.name, reason, running.may_run_twice);
        Box::pin(self.fail_with(running, NO_RESULT, said)).await
    }

    /// Returns the response to a call that was admitted but never sent.
    pub async fn fail_unsent(&self, running: Running, reason: &str) -> Message {
        let said = GatewayMessage::unsent(&running.call.name, reason);
        Box::pin(self.fail_with(running, NOT_SENT, said)).await
    }

    /// Records that a client cancelled a call. Such a call is not answered.
    pub async fn give_up(&self, running: Running, was_sent: bool) {
        let outcome = if was_sent { NO_RESULT } else { NOT_SENT };
        if let Err(error) = self.record(&running, outcome, None, "null").await {
            let tool = name(&running.call.name);
            tracing::warn!(tool_name = %tool, %error, "it could not be recorded that a call was given up");
        }
    }

    async fn fail_with(&self, running: Running, outcome: &str, said: GatewayMessage) -> Message {
        let told = running.teller.says(&said);
        match self.record(&running, outcome, None, &told.document()).await {
            Ok(receipt) => told.message(receipt),
            // A call that did not run has no result to withhold.
            Err(error) if outcome == NOT_SENT => {
                tracing::warn!(reason = %error, "that a call was not sent could not be recorded");
                told.message(None)
            }
            Err(error) => withheld(&running, error),
        }
    }

    /// Forwards a protocol error unchanged. A note in its data warns if it imitates us.
    async fn deliver_error(&self, running: Running, reply: Message, error: &str) -> Message {
        let message = splice::string_at(error, &["message"]).unwrap_or_default();
        let noted = marker::is_in_text(&message).then(|| {
            log_imitation(&running);
            let notes = json!([IMITATION_NOTE]).to_string();
            let data = splice::with(error, &["data", meta::NOTES], &notes).ok()?;
            let data = splice::at(&data, &["data"])?;
            let text = splice::with(reply.text(), &["error", "data"], data).ok()?;
            Some((data.to_owned(), text))
        });
        let noted = noted.flatten();
        let delivered = match &noted {
            Some((data, _)) => same_but(&[("data", data)]),
            None => same_but(&[]),
        };
        match self.record(&running, "protocol_error", Some(error), &delivered).await {
            Ok(_) => match noted {
                Some((_, text)) => reply.with_text(text),
                None => reply,
            },
            Err(error) => withheld(&running, error),
        }
    }

    /// Withholds a result that cannot be parsed, for example because a number is out of range. Such a result
    /// cannot be attested.
    async fn withhold_unread(&self, running: Running, result: &str, reason: &str) -> Message {
        let tool = name(&running.call.name);
        tracing::error!(tool_name = %tool, reason, "a result is withheld, because it cannot be read");
        let told = running.teller.says(&GatewayMessage::unread(&running.call.name));
        match self.record(&running, "unreadable", Some(result), &told.document()).await {
            Ok(receipt) => told.message(receipt),
            Err(error) => withheld(&running, error),
        }
    }

    /// Forwards a result that cannot be parsed unchanged, with a warning.
    async fn deliver_unread(
        &self,
        running: Running,
        object: &Object<'_>,
        result: &str,
        reply: &Message,
    ) -> Message {
        let mut running = running;
        if marker::may_be_in_json(result) {
            log_imitation(&running);
            running.notes.push(IMITATION_NOTE.to_owned());
        }
        let running = &running;
        let mut added = noted(running);
        if self.settings.envelope != EnvelopeMode::Off {
            let text =
                "The result cannot be read as JSON that every reader takes, so it was not checked.";
            let mut warnings = running.warnings.clone();
            warnings.push(ErrorObject::new(found::RESULT_UNREADABLE, text));
            let place = reference(&Value::Null);
            let envelope = running.teller.envelope(place, None, Vec::new(), warnings);
            added.extend(envelope.map(|envelope| (meta::ENVELOPE, envelope.to_text())));
        }
        let changed = with_notes(result, &running.notes, &running.teller.marker);
        let changed = changed.map_or(Cow::Borrowed(result), Cow::Owned);
        let given = DeliveredResult::new(result, &changed, &added);
        match self.record(running, "unreadable", Some(result), &given.delivered()).await {
            Ok(receipt) => {
                let text = given.answer(object, receipt);
                text.map_or_else(|| reply.clone(), |text| reply.clone().with_text(text))
            }
            Err(error) => withheld(running, error),
        }
    }

    /// Counts and records a response without an attestation.
    async fn record(
        &self,
        running: &Running,
        outcome: &str,
        received: Option<&str>,
        delivered: &str,
    ) -> Result<Option<Value>, StoreError> {
        running.figures.result(outcome, running.teller.took());
        self.write(running, outcome, received, delivered, None).await
    }

    /// Records a response and returns its receipt. Returns `None` if it is not recorded.
    async fn write(
        &self,
        running: &Running,
        outcome: &str,
        received: Option<&str>,
        delivered: &str,
        attested: Option<&Attested>,
    ) -> Result<Option<Value>, StoreError> {
        let Some(recorder) = &self.recorder else { return Ok(None) };
        match append(recorder, running, outcome, received, delivered, attested).await {
            Ok((appended, id)) => Ok(Some(recorder.receipt(&appended, &id.to_string()))),
            Err(error) => recorder.store().apply_failure_policy(error).map(|()| None),
        }
    }

    /// Truncates a result that is too long for the model, if the whole is recorded. Results of a tool with an
    /// output schema are never truncated.
    fn cut(&self, upstream: &Upstream, running: &Running, result: &str) -> Option<TruncatedResult> {
        let most = self.settings.shown_bytes.filter(|most| result.len() > *most)?;
        if self.recorder.is_none() || upstream.tools.has_output(&running.call.name) {
            return None;
        }
        let id = running.teller.correlation_id.to_string();
        let words = (&running.teller.marker, &self.commands);
        cut(result, most, &id, words, self.console.as_deref())
    }

    fn wants_structured(&self, upstream: &Upstream, running: &Running, result: &Value) -> bool {
        self.settings.envelope == EnvelopeMode::Structured
            && !upstream.tools.has_output(&running.call.name)
            && result.get("structuredContent").is_none()
    }

    /// Returns the findings about a result.
    fn look_at(&self, upstream: &Upstream, running: &Running, result: &Value) -> Looked {
        let mut looked = Looked {
            errors: Vec::new(),
            warnings: running.warnings.clone(),
            outcome: "ok",
            is_interim: false,
        };
        // The tool created a task, whose result comes later.
        if task_in(result).is_some() {
            return Looked { outcome: TASK, is_interim: true, ..looked };
        }
        if result["resultType"].as_str().is_some_and(|kind| kind != "complete") {
            return Looked { outcome: "interim", is_interim: true, ..looked };
        }
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let text =
                if text.trim().is_empty() { "The tool failed and did not say why." } else { text };
            looked.errors.push(ErrorObject::new(found::TOOL_FAILED, shown_text(text, 300)));
            looked.outcome = "tool_error";
            return looked;
        }
        match silent_failure::of(result) {
            Some(SilentFailure::Empty) => looked.warn(
                found::EMPTY_RESULT,
                "The tool succeeded and said nothing: look whether it did what it should.",
            ),
            Some(SilentFailure::Error) => looked.warn(
                found::ERROR_IN_SUCCESS,
                "The result is marked as a success and reads like an error.",
            ),
            None => {}
        }
        if self.settings.of(&running.call.name).output != CheckMode::Off {
            looked.check_output(upstream, &running.call.name, result);
        }
        looked
    }
}

/// Returns the error for a tool that ran and whose result could not be recorded.
fn withheld(running: &Running, reason: impl Into<Unrecorded>) -> Message {
    let (tool, Unrecorded { public, detail }) = (name(&running.call.name), reason.into());
    tracing::error!(tool_name = %tool, reason = %detail, "a result is withheld, because it could not be recorded");
    running.teller.says(&GatewayMessage::withheld(&running.call.name, &public)).message(None)
}

/// Returns the members to add to a result's `_meta`. At this point these are the notes for the model.
fn noted(running: &Running) -> Vec<(&'static str, String)> {
    if running.notes.is_empty() {
        return Vec::new();
    }
    let notes = json!(running.notes).to_string();
    vec![(meta::NOTES, notes), (meta::MARKER, running.teller.marker.to_json())]
}

/// Adds the warning that a text in the result begins like one of ours.
fn warn_of_imitation(running: &mut Running, checked: &mut Looked) {
    log_imitation(running);
    checked.warn(found::GATEWAY_IMITATED, IMITATION_NOTE);
    running.notes.push(IMITATION_NOTE.to_owned());
}

fn log_imitation(running: &Running) {
    let (tool, upstream) = (name(&running.call.name), &running.teller.about.upstream);
    tracing::warn!(tool_name = %tool, %upstream, "the server wrote text that begins like ours");
}

/// Holds a result as it is returned: its text, and its `_meta` with our members.
struct DeliveredResult<'t> {
    received: &'t str,
    text: &'t str,
    /// The parsed result, or `None` if nothing can be added to it.
    object: Option<Object<'t>>,
    meta: Option<String>,
    /// True if something is added even without a receipt.
    has_more: bool,
}

impl<'t> DeliveredResult<'t> {
    fn new(received: &'t str, text: &'t str, added: &[(&str, String)]) -> Self {
        let object = Object::read_repeating(text).ok();
        let meta = object.as_ref().map(|object| object.get("_meta").unwrap_or("{}"));
        let meta = meta.and_then(|meta| gateway_reply::meta_with(meta, added));
        Self { received, text, object, meta, has_more: !added.is_empty() }
    }

    /// Returns the part of the entry that describes the returned result. In most results only `_meta` differs
    /// from the received one.
    fn delivered(&self) -> String {
        let mut changed: Vec<(&str, &str)> = Vec::new();
        changed.extend(self.meta.as_deref().map(|meta| ("_meta", meta)));
        let is_same = std::ptr::eq(self.received, self.text);
        let before = (!is_same).then(|| Object::read_repeating(self.received).ok()).flatten();
        if let (Some(before), Some(after)) = (&before, &self.object) {
            for name in ["content", "structuredContent", "task", "taskId"] {
                if before.get(name) != after.get(name) {
                    changed.push((name, after.get(name).unwrap_or("null")));
                }
            }
        }
        same_but(&changed)
    }

    /// Returns the response with this result, or `None` if it is unchanged.
    fn answer(self, message: &Object<'_>, receipt: Option<Value>) -> Option<String> {
        // A result without additions stays unchanged and gets no empty `_meta`.
        let is_added_to = self.has_more || receipt.is_some();
        let meta = match (self.meta, receipt) {
            (Some(meta), Some(receipt)) => {
                gateway_reply::meta_with(&meta, &[(meta::RECEIPT, receipt.to_string())])
            }
            (meta, _) => meta,
        };
        match self.object.zip(meta).filter(|_| is_added_to) {
            Some((object, meta)) => Some(message.with("result", &object.with("_meta", &meta))),
            None if std::ptr::eq(self.received, self.text) => None,
            None => Some(message.with("result", self.text)),
        }
    }
}

/// Holds a checked result.
struct InspectedResult<'a> {
    checked: &'a Looked,
    envelope: Option<&'a EnvelopeResponse>,
    value: &'a Value,
    /// The result as it was received.
    result: &'a str,
}

/// Holds the findings about a result.
struct Looked {
    errors: Vec<ErrorObject>,
    warnings: Vec<ErrorObject>,
    outcome: &'static str,
    /// True if the server needs something else before it sends the result.
    is_interim: bool,
}

impl Looked {
    fn warn(&mut self, code: &str, text: &str) {
        self.warnings.push(ErrorObject::new(code, text));
        // The outcome of a failed tool takes precedence.
        if self.outcome == "ok" {
            self.outcome = "warned";
        }
    }

    fn check_output(&mut self, upstream: &Upstream, tool: &str, result: &Value) {
        let schema = match upstream.tools.output(tool) {
            None => return,
            Some(Ok(schema)) => schema,
            Some(Err(fault)) => {
                let text = format!("The tool's output schema cannot be used: {fault}");
                return self.warn(found::OUTPUT_UNCHECKED, &shown_text(&text, 500));
            }
        };
        let Some(content) = result.get("structuredContent") else {
            let text =
                "The tool declares an output schema and answered without structured content.";
            return self.warn(found::OUTPUT_MISMATCH, text);
        };
        match check(schema, content, ()) {
            Ok(findings) if findings.iter().any(answerback::ValidationError::is_error) => {
                let text = "The result does not fit the tool's output schema.";
                self.warnings.push(of_findings(found::OUTPUT_MISMATCH, text, &findings));
                self.outcome = "warned";
            }
            Ok(_) => {}
            Err(fault) => {
                let text = format!("The tool's output schema cannot be used: {fault}");
                self.warn(found::OUTPUT_UNCHECKED, &shown_text(&text, 500));
            }
        }
    }
}

/// Records a response. Returns the place of the entry and the id of its response.
async fn append(
    recorder: &Recorder,
    running: &Running,
    outcome: &str,
    received: Option<&str>,
    delivered: &str,
    attested: Option<&Attested>,
) -> Result<(AppendedEntry, LeafId), StoreError> {
    let about = &running.teller.about;
    let mut parts = match attested {
        Some(attested) => attested.parts(recorder.store())?,
        None => Vec::new(),
    };
    if let Some(received) = received {
        parts.extend(recorder.parts(RECEIVED, received, None)?);
    }
    parts.extend(recorder.parts("delivered", delivered, None)?);
    let answer = ResponseEntry {
        outcome: outcome.to_owned(),
        attested: attested.map(Attested::draft),
        parts,
    };
    match running.task.as_deref() {
        None => {
            let (draft, id) = answer.draft(about);
            Ok((recorder.store().append(draft)?.await?.value, id))
        }
        Some(TaskRole::Made { notes, expires, .. }) => {
            let (draft, id) = answer.draft(about);
            let (notes, expires) = (notes.clone(), *expires);
            let ticket = recorder.store().write_weighing(answer.weight(), move |transaction| {
                let appended = transaction.append(&draft)?;
                // The notes contain nothing that the entry's leaf does not.
                for (name, text) in &notes {
                    transaction.store_note(name, text, expires, None)?;
                }
                Ok(appended)
            })?;
            Ok((ticket.await?.value, id))
        }
        Some(TaskRole::Late { was_asked_for, place, .. }) => {
            let seen = was_asked_for.then(|| request_parts(recorder, &running.call, None, None));
            let call = running.teller.correlation_id.clone();
            let seen = seen.transpose()?;
            answer.append_once(recorder, about.clone(), (call, *place), seen).await
        }
    }
}

/// Holds a response that is being recorded.
struct ResponseEntry {
    outcome: String,
    /// The entry of the governed response, if there is one.
    attested: Option<Draft>,
    parts: Vec<Part>,
}

impl ResponseEntry {
    /// Returns the entry and the id of its response.
    fn draft(&self, about: &About) -> (Draft, LeafId) {
        let draft = match &self.attested {
            Some(attested) => attested.clone(),
            None => {
                let draft = Draft::response().with_response_id(about.id);
                match answerback_ledger::LeafToken::new("tool") {
                    Ok(contract) => draft.with_contract(&contract),
                    Err(_) => draft,
                }
            }
        };
        let draft = with_outcome(about.on(draft).with_reply_id(about.id), &self.outcome);
        let id = draft.response_id().unwrap_or(about.id);
        (self.parts.iter().cloned().fold(draft, Draft::with_part), id)
    }

    fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 8192
    }

    /// Returns true if an existing entry contains the same received result.
    fn is_in(&self, kept: &answerback_store::LedgerEntry) -> bool {
        let own = self.parts.iter().find(|part| part.name().as_str() == RECEIVED);
        own.is_some_and(|own| has_received(kept, own.bytes()))
    }

    /// Records the result of a task, with the request for it if there was one. A result that was already recorded
    /// for an earlier request is not recorded again.
    async fn append_once(
        self,
        recorder: &Recorder,
        mut about: About,
        (call, first): (UuidV4, u32),
        seen: Option<Vec<Part>>,
    ) -> Result<(AppendedEntry, LeafId), StoreError> {
        let last = beyond();
        let ticket = recorder.store().write_weighing(self.weight(), move |transaction| {
            // An attestation contains its own id, so only that position can be used.
            let (searched, last) =
                if self.attested.is_some() { (0..0, first) } else { (0..MOST_RESULTS, last) };
            for place in searched.chain([last]) {
                about.id = About::late_id(&call, place);
                let known = Draft::response().with_response_id(about.id);
                match transaction.recorded(&known)? {
                    Some(kept) if self.is_in(&kept) => {
                        // Appending an entry that exists returns the existing one.
                        return Ok((transaction.append(&known)?, about.id));
                    }
                    Some(_) => {}
                    None => {
                        if let Some(seen) = &seen {
                            let request = with_outcome(about.on(Draft::request()), "forwarded");
                            let request = seen.iter().cloned().fold(request, Draft::with_part);
                            transaction.append(&request)?;
                        }
                        let (draft, id) = self.draft(&about);
                        return Ok((transaction.append(&draft)?, id));
                    }
                }
            }
            Err(StoreError::unit("there are other results of the same task"))
        })?;
        Ok(ticket.await?.value)
    }
}

/// Returns true if an entry contains this received result. A server may change `_meta` each time, so it is
/// ignored.
fn has_received(kept: &answerback_store::LedgerEntry, received: &[u8]) -> bool {
    let part = kept.parts.iter().find(|part| part.name().as_str() == RECEIVED);
    part.is_some_and(|part| without_meta(part.bytes()) == without_meta(received))
}

/// Returns a result without its `_meta`.
fn without_meta(result: &[u8]) -> Cow<'_, [u8]> {
    let read = std::str::from_utf8(result).ok().and_then(|text| Object::read(text).ok());
    match read.filter(|result| result.get("_meta").is_some()) {
        Some(result) => Cow::Owned(result.without("_meta").into_bytes()),
        None => Cow::Borrowed(result),
    }
}

/// Returns a random position after those that are searched, which no other result of a task uses.
fn beyond() -> u32 {
    let random: [u8; 4] = answerback_store::system::random().unwrap_or_default();
    u32::from_be_bytes(random).max(MOST_RESULTS)
}

/// Adds the notes for the model to a result, as a text block at its end.
fn with_notes(result: &str, notes: &[String], marker: &Marker) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let object = Object::read_repeating(result).ok()?;
    let content = object.get("content")?;
    let blocks: Vec<&serde_json::value::RawValue> = serde_json::from_str(content).ok()?;
    let end = content.rfind(']')?;
    let block = marker.block(&notes.join("\n"));
    let comma = if blocks.is_empty() { "" } else { "," };
    Some(object.with("content", &format!("{}{comma}{block}]", &content[..end])))
}

/// Sets the envelope as the structured content of a result. The text stays the tool's own, for clients that show
/// only text. Repeating the envelope as text would duplicate everything.
fn structured(result: &str, envelope: &Value) -> Option<String> {
    Some(Object::read_repeating(result).ok()?.with("structuredContent", &canonical(envelope)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_the_same_whatever_is_said_about_them() {
        let same =
            |one: &str, other: &str| without_meta(one.as_bytes()) == without_meta(other.as_bytes());
        let result = r#"{"content":[1.0],"_meta":{"at":1}}"#;
        assert!(same(result, r#"{"content":[1.0],"_meta":{"at":2}}"#));
        assert!(same(result, r#"{"content":[1.0]}"#));
        assert!(!same(result, r#"{"content":[1],"_meta":{"at":1}}"#));
        assert!(!same("null", "1"));
    }

    #[test]
    fn notes_come_last_and_change_nothing_before_them() {
        let (notes, marker) = (["n".to_owned()], Marker::of_text("m"));
        let with_notes = |result, notes: &[String]| with_notes(result, notes, &marker);
        for (result, expected) in [
            (r#"{"content":[]}"#, r#"{"content":[{"type":"text","text":"[answerback m] n"}]}"#),
            (
                r#"{"content":[ {"x":1.0} ],"y":2}"#,
                r#"{"content":[ {"x":1.0} ,{"type":"text","text":"[answerback m] n"}],"y":2}"#,
            ),
        ] {
            assert_eq!(with_notes(result, &notes).as_deref(), Some(expected));
        }
        assert_eq!(with_notes(r#"{"content":[]}"#, &[]), None);
        assert_eq!(with_notes(r#"{"content":3}"#, &notes), None);
    }
}
