//! Before a result is answered.

use std::borrow::Cow;

use answerback::call::check;
use answerback::contract::tool::{EnvelopeResponse, ErrorObject};
use answerback::finding::{secrets, shown_text};
use answerback::json::canonical;
use answerback_ledger::Draft;
use answerback_store::{Appended, StoreError};
use serde_json::{Value, json};

use crate::admit::Running;
use crate::attest::{Answer, Attested, Doubt};
use crate::cut::{Cut, cut};
use crate::envelope::{Enveloped, data, found, of_findings, reference, whole};
use crate::figures::UNSEEN;
use crate::record::{delivered, outcome as with_outcome};
use crate::settings::{CheckMode, EnvelopeMode};
use crate::silence::{self, Silence};
use crate::told::{self, Class, Retry, meta, name};
use crate::{Gateway, Recorder, Upstream};
use answerback_mcp::wire::{Message, Object};

/// What became of a call that never left us.
const NOT_SENT: &str = "not_sent";

impl Gateway {
    /// Looks at the answer to a call before it is given: checks the result, adds what we say about it to its `_meta`,
    /// and writes it down. The result itself is never changed, but cut where the configuration says so. The answer is durable when this returns it.
    pub async fn deliver(&self, upstream: &Upstream, running: Running, reply: Message) -> Message {
        if self.says_nothing(&running) {
            running.figures.result(UNSEEN, running.started.elapsed());
            return reply;
        }
        // A result that only passes does not pay for what others need.
        Box::pin(self.add_to(upstream, running, reply)).await
    }

    async fn add_to(&self, upstream: &Upstream, running: Running, reply: Message) -> Message {
        let Ok(object) = Object::read(reply.text()) else {
            return self.deliver_unread(running, reply).await;
        };
        let Some(result) = object.get("result") else {
            let error = object.get("error").unwrap_or("null").to_owned();
            return self.deliver_error(running, reply, &error).await;
        };
        let Ok(value) = serde_json::from_str::<Value>(result) else {
            return self.deliver_unread(running, reply).await;
        };
        let checked = self.look_at(upstream, &running, &value);
        // As they will be written.
        let mut added: Vec<(&str, String)> = Vec::new();
        if !running.notes.is_empty() {
            added.push((meta::NOTES, json!(running.notes).to_string()));
        }
        let cut = self.cut(upstream, &running, result);
        let shown = cut.as_ref().map_or(result, |cut| &cut.result);
        if let Some(cut) = &cut {
            added.push((meta::CUT, cut.facts.to_string()));
        }
        let noted = with_notes(shown, &running.notes);
        let mut changed = noted.map_or(Cow::Borrowed(shown), Cow::Owned);
        let envelope = self.envelope(upstream, &running, &checked, &value);
        if let Some(envelope) =
            envelope.as_ref().filter(|_| self.settings.envelope != EnvelopeMode::Off)
        {
            if self.wants_structured(upstream, &running, &value) {
                let structured = structured(&changed, &whole(envelope, &value));
                changed = structured.map_or(changed, Cow::Owned);
            }
            added.push((meta::ENVELOPE, envelope.to_text()));
        }
        let attested = self.attest(upstream, &running, &checked, envelope.as_ref(), &value).await;
        let attested = match attested {
            Ok(attested) => attested,
            Err(error) => return withheld(&running, &error.to_string()),
        };
        let told = Object::read(&changed).ok();
        let meta = told.as_ref().and_then(|told| told.get("_meta"));
        let with_meta = told.as_ref().and_then(|_| told::meta_with(meta.unwrap_or("{}"), &added));
        let delivered = with_meta.as_deref().or(meta);
        let recorded =
            self.record(&running, checked.outcome, result, delivered, attested.as_ref()).await;
        let receipt = match recorded {
            Ok(receipt) => receipt,
            Err(error) => return withheld(&running, &error.to_string()),
        };
        if let Some(refusal) = attested.and_then(|attested| attested.refusal) {
            let tool = name(&running.call.name);
            let reason = refusal.refusal_reason;
            tracing::error!(tool_name = %tool, %reason, "a result is withheld, because nobody vouches for it");
            let correlation_id = running.correlation_id.to_string();
            return told::refused(&running.call, &correlation_id, &refusal, receipt);
        }
        // A result to which nothing is added stays as it is, also where it has no `_meta`.
        let is_changed = !added.is_empty() || receipt.is_some();
        let with_receipt = match (with_meta, receipt) {
            (Some(meta), Some(receipt)) => {
                told::meta_with(&meta, &[(meta::RECEIPT, receipt.to_string())])
            }
            (meta, _) => meta,
        };
        let told = match told.zip(with_receipt).filter(|_| is_changed) {
            Some((told, meta)) => Cow::Owned(told.with("_meta", &meta)),
            None => changed,
        };
        let text = object.with("result", &told);
        reply.with_text(text)
    }

    /// Whether a result is neither looked at, nor recorded, nor added to: then it is not read, either.
    fn says_nothing(&self, running: &Running) -> bool {
        let is_unchecked = self.settings.of(&running.call.name).output == CheckMode::Off;
        is_unchecked
            && self.settings.envelope == EnvelopeMode::Off
            && self.recorder.is_none()
            && running.notes.is_empty()
    }

    /// The envelope of a result, where somebody wants it and the contract knows the tool's name.
    fn envelope(
        &self,
        upstream: &Upstream,
        running: &Running,
        checked: &Looked,
        result: &Value,
    ) -> Option<EnvelopeResponse> {
        let is_wanted = self.settings.envelope != EnvelopeMode::Off || self.attestor.is_some();
        if !is_wanted || checked.is_interim {
            return None;
        }
        let enveloped = Enveloped {
            tool: &running.call.name,
            version: &upstream.version,
            upstream: &upstream.name,
            host: self.host,
            correlation_id: &running.correlation_id.to_string(),
            took: running.started.elapsed(),
            data: reference(result),
        };
        let now = answerback_record::surroundings::now();
        enveloped.envelope(checked.errors.clone(), checked.warnings.clone(), now)
    }

    /// The result as a governed response, where somebody answers for results.
    async fn attest(
        &self,
        upstream: &Upstream,
        running: &Running,
        checked: &Looked,
        envelope: Option<&EnvelopeResponse>,
        result: &Value,
    ) -> std::io::Result<Option<Attested>> {
        let (Some(attestor), Some(recorder)) = (&self.attestor, &self.recorder) else {
            return Ok(None);
        };
        // A question of the server's is no result.
        if checked.is_interim {
            return Ok(None);
        }
        let content = envelope.map_or_else(|| data(result), |envelope| whole(envelope, result));
        let failed = checked.errors.first();
        let answer = Answer {
            tool: &running.call.name,
            correlation_id: &running.correlation_id,
            // It is recorded, so it is redacted like all that is.
            content: secrets::redact_value(&content),
            failure: failed
                .map(|error| (error.code.clone(), secrets::redact(&error.message).into_owned())),
            doubts: self.doubts(upstream, running, checked),
        };
        attestor.attest(recorder, answer).await.map(Some)
    }

    /// What speaks against attesting a result.
    fn doubts(&self, upstream: &Upstream, running: &Running, checked: &Looked) -> Vec<Doubt> {
        let modes = self.settings.of(&running.call.name);
        let is_unpinned = self.settings.pinning == CheckMode::Off || upstream.pins.is_none();
        let unseen = [
            (is_unpinned, Doubt::DEFINITION),
            (modes.input == CheckMode::Off, Doubt::INPUT),
            (modes.output == CheckMode::Off, Doubt::OUTPUT),
        ];
        let unseen = unseen.into_iter().filter(|(applies, _)| *applies).map(|(_, doubt)| doubt);
        let found = checked.errors.iter().chain(&checked.warnings);
        unseen.chain(found.filter_map(|error| Doubt::of(&error.code))).collect()
    }

    /// The answer to a call that has no result: the server ended or took too long, or the client gave it up.
    pub async fn fail(&self, running: Running, reason: &str) -> Message {
        let text = format!(
            "The call of {} has no result: {reason}. Whether it took effect is not known; look before you repeat it.",
            name(&running.call.name)
        );
        Box::pin(self.fail_with(running, "no_result", text)).await
    }

    /// The answer to a call that was let through and never left us.
    pub async fn fail_unsent(&self, running: Running, reason: &str) -> Message {
        let text = format!(
            "The call of {} was not sent: {reason}. It did not run; nothing is wrong with the arguments, try again \
             later.",
            name(&running.call.name)
        );
        Box::pin(self.fail_with(running, NOT_SENT, text)).await
    }

    async fn fail_with(&self, running: Running, outcome: &str, text: String) -> Message {
        let correlation_id = running.correlation_id.to_string();
        let (class, code) = (Class::Wait, found::TOOL_FAILED);
        let retry = Retry { class, code, attempt: None, correlation_id: &correlation_id };
        let message = told::result(&running.call, text.clone(), told::facts(&retry));
        let failure = json!({ "error": text }).to_string();
        match self.record(&running, outcome, &failure, None, None).await {
            Ok(_) => message,
            // What did not run has nothing to be withheld.
            Err(error) if outcome == NOT_SENT => {
                tracing::warn!(reason = %error, "that a call was not sent could not be recorded");
                message
            }
            Err(error) => withheld(&running, &error.to_string()),
        }
    }

    /// An error of the protocol crosses as it is.
    async fn deliver_error(&self, running: Running, reply: Message, error: &str) -> Message {
        match self.record(&running, "protocol_error", error, None, None).await {
            Ok(_) => reply,
            Err(error) => withheld(&running, &error.to_string()),
        }
    }

    /// An answer that cannot be read whole, because a name stands twice in it or a number is beyond all numbers. It is in
    /// the record as it came, and crosses as it is, unless somebody answers for results: for this one nobody can.
    async fn deliver_unread(&self, running: Running, reply: Message) -> Message {
        match self.record(&running, "unreadable", reply.text(), None, None).await {
            Err(error) => withheld(&running, &error.to_string()),
            Ok(receipt) if self.attestor.is_some() => {
                told::unread(&running.call, &running.correlation_id.to_string(), receipt)
            }
            Ok(_) => reply,
        }
    }

    /// Writes the answer down, and says where it is; nothing, where nothing is recorded.
    async fn record(
        &self,
        running: &Running,
        outcome: &str,
        received: &str,
        meta: Option<&str>,
        attested: Option<&Attested>,
    ) -> Result<Option<Value>, StoreError> {
        running.figures.result(outcome, running.started.elapsed());
        let Some(recorder) = &self.recorder else { return Ok(None) };
        let response_id =
            attested.map_or(&running.correlation_id, |attested| &attested.response_id);
        match append(recorder, running, outcome, received, meta, attested).await {
            Ok(appended) => Ok(Some(json!({
                "log": recorder.origin(),
                "index": appended.index,
                "leafHash": appended.leaf_hash.to_string(),
                "responseId": response_id.to_string(),
            }))),
            Err(error) => recorder.store().excuse(error).map(|()| None),
        }
    }

    /// The result as the model sees it, where it is too long and all of it is in the record. A tool that declares what
    /// its results look like is left alone.
    fn cut(&self, upstream: &Upstream, running: &Running, result: &str) -> Option<Cut> {
        let most = self.settings.shown_bytes.filter(|most| result.len() > *most)?;
        if self.recorder.is_none() || upstream.tools.has_output(&running.call.name) {
            return None;
        }
        cut(result, most, &running.correlation_id.to_string())
    }

    fn wants_structured(&self, upstream: &Upstream, running: &Running, result: &Value) -> bool {
        self.settings.envelope == EnvelopeMode::Structured
            && !upstream.tools.has_output(&running.call.name)
            && result.get("structuredContent").is_none()
    }

    /// What is to be said about a result.
    fn look_at(&self, upstream: &Upstream, running: &Running, result: &Value) -> Looked {
        let mut looked = Looked {
            errors: Vec::new(),
            warnings: running.warnings.clone(),
            outcome: "ok",
            is_interim: false,
        };
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
        match silence::of(result) {
            Some(Silence::Empty) => looked.warn(
                found::EMPTY_RESULT,
                "The tool succeeded and said nothing: look whether it did what it should.",
            ),
            Some(Silence::Error) => looked.warn(
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

/// The answer where the tool ran and there is no record of what it said.
fn withheld(running: &Running, reason: &str) -> Message {
    let tool = name(&running.call.name);
    tracing::error!(tool_name = %tool, reason, "a result is withheld, because it could not be recorded");
    told::withheld(&running.call, &running.correlation_id.to_string(), reason)
}

/// What was found in a result.
struct Looked {
    errors: Vec<ErrorObject>,
    warnings: Vec<ErrorObject>,
    outcome: &'static str,
    /// Whether the server asks for more before it answers.
    is_interim: bool,
}

impl Looked {
    fn warn(&mut self, code: &str, text: &str) {
        self.warnings.push(ErrorObject::new(code, text));
        self.outcome = "warned";
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

async fn append(
    recorder: &Recorder,
    running: &Running,
    outcome: &str,
    received: &str,
    meta: Option<&str>,
    attested: Option<&Attested>,
) -> Result<Appended, StoreError> {
    let mut draft = match attested {
        Some(attested) => attested.draft(),
        None => {
            let draft = Draft::response().with_response_id(running.about.id);
            match answerback_ledger::Token::new("tool") {
                Ok(contract) => draft.with_contract(&contract),
                Err(_) => draft,
            }
        }
    };
    let is_refused = attested.is_some_and(|attested| attested.refusal.is_some());
    draft = running.about.on(draft).with_reply_id(running.about.id);
    draft = with_outcome(draft, if is_refused { "refused" } else { outcome });
    for part in
        attested.map(|attested| attested.parts(recorder.store())).transpose()?.into_iter().flatten()
    {
        draft = draft.with_part(part);
    }
    for part in recorder.parts("received", received, None)? {
        draft = draft.with_part(part);
    }
    // Of what is withheld nothing was delivered.
    let delivered = if is_refused { "null".to_owned() } else { delivered(meta) };
    for part in recorder.parts("delivered", &delivered, None)? {
        draft = draft.with_part(part);
    }
    Ok(recorder.store().append(draft)?.await?.value)
}

/// A result with what the model has to know as one more block of text at its end.
fn with_notes(result: &str, notes: &[String]) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let object = Object::read(result).ok()?;
    let content = object.get("content")?;
    let blocks: Vec<&serde_json::value::RawValue> = serde_json::from_str(content).ok()?;
    let end = content.rfind(']')?;
    let block = json!({"type": "text", "text": format!("[answerback] {}", notes.join("\n"))});
    let comma = if blocks.is_empty() { "" } else { "," };
    Some(object.with("content", &format!("{}{comma}{block}]", &content[..end])))
}

/// A result with the envelope as its structured content, and as text for clients that show only that.
fn structured(result: &str, envelope: &Value) -> Option<String> {
    Some(Object::read(result).ok()?.with("structuredContent", &canonical(envelope)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_last_and_change_nothing_before_them() {
        let notes = ["n".to_owned()];
        for (result, expected) in [
            (r#"{"content":[]}"#, r#"{"content":[{"type":"text","text":"[answerback] n"}]}"#),
            (
                r#"{"content":[ {"x":1.0} ],"y":2}"#,
                r#"{"content":[ {"x":1.0} ,{"type":"text","text":"[answerback] n"}],"y":2}"#,
            ),
        ] {
            assert_eq!(with_notes(result, &notes).as_deref(), Some(expected));
        }
        assert_eq!(with_notes(r#"{"content":[]}"#, &[]), None);
        assert_eq!(with_notes(r#"{"content":3}"#, &notes), None);
    }
}
