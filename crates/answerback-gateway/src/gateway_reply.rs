//! What the gateway itself says: results and errors that the server did not make.

use std::time::{Duration, Instant};

use answerback::UuidV4;
use answerback::contract::governed::Refusal;
use answerback::contract::tool::{EnvelopeResponse, ErrorObject, McpHost};
use answerback::finding::{secrets, shown_text};
use answerback::provider::{Arguments, Provider};
use answerback::{ToolResult, ValidationError};
use answerback_mcp::wire::{Id, Message, Object, code};
use serde_json::{Map, Value, json};

use crate::call::ToolCallRequest;
use crate::envelope::{Enveloped, found, of_findings, place, reference};
use crate::envelope_cache::Occasion;
use crate::marker::Marker;
use crate::record::About;
use crate::settings::EnvelopeMode;
use crate::{Client, Gateway, Upstream};

/// The members that we add to a result's `_meta`.
pub(crate) mod meta {
    pub(crate) const RETRY: &str = "dev.answerback/retry";
    pub(crate) const ENVELOPE: &str = "dev.answerback/envelope";
    pub(crate) const RECEIPT: &str = "dev.answerback/receipt";
    pub(crate) const NOTES: &str = "dev.answerback/notes";
    pub(crate) const CUT: &str = "dev.answerback/cut";
    pub(crate) const MARKER: &str = "dev.answerback/marker";
}

/// What a caller can do about a call that has no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CallClass {
    /// Mend the arguments and call again.
    Arguments,
    /// Call again later, as it is.
    Wait,
    /// Stop, and let a person decide.
    Stop,
}

impl CallClass {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// Something that we say instead of a result.
#[derive(Clone, Debug)]
pub(crate) struct GatewayMessage {
    class: CallClass,
    /// What it is called by programs that act on it.
    code: String,
    /// Which attempt it was, of how many; where attempts are counted.
    attempt: Option<(u8, u8)>,
    /// What the model reads.
    text: String,
    /// What the envelope says of it.
    error: ErrorObject,
    /// Whether it is an error of the protocol, which the model may not see.
    is_protocol_error: bool,
}

impl GatewayMessage {
    pub(crate) fn new(class: CallClass, code: &str, text: String) -> Self {
        // One line, as an envelope has it.
        let error = ErrorObject::new(code, shown_text(&text, 500));
        Self { class, code: code.to_owned(), attempt: None, text, error, is_protocol_error: false }
    }

    /// What it is called by programs that act on it.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// As the answer to a counted attempt.
    pub(crate) fn on_attempt(mut self, attempt: u8, max: u8) -> Self {
        self.attempt = Some((attempt, max));
        self
    }

    /// With what was found, under a code and a sentence for the envelope.
    pub(crate) fn with_findings(
        mut self,
        code: &str,
        message: &str,
        findings: &[ValidationError],
    ) -> Self {
        self.error = of_findings(code, message, findings);
        self
    }

    /// As an error of the protocol.
    pub(crate) fn into_protocol_error(mut self) -> Self {
        self.is_protocol_error = true;
        self
    }

    fn facts(&self, correlation_id: &UuidV4) -> Value {
        let mut facts = Map::new();
        if let Some((attempt, max)) = self.attempt {
            facts.insert("attempt".into(), attempt.into());
            facts.insert("max".into(), max.into());
        }
        facts.insert("retryable".into(), (self.class != CallClass::Stop).into());
        facts.insert("class".into(), self.class.as_str().into());
        facts.insert("code".into(), self.code.as_str().into());
        facts.insert("correlationId".into(), correlation_id.to_string().into());
        facts.into()
    }

    /// A call could not be recorded, so it did not run.
    pub(crate) fn unavailable(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be recorded: {reason}. Nothing is wrong with the \
             arguments; try again later, or ask a person to look at the gateway.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::NOT_RECORDED, text)
    }

    /// A call cannot be checked, because the server does not say which tools it has.
    pub(crate) fn unlisted(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be checked: {reason}. Nothing is wrong with the \
             arguments; try again later.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::TOOLS_UNKNOWN, text)
    }

    /// There are as many calls under way as there may be.
    pub(crate) fn busy(tool: &str, most: usize) -> Self {
        let text = format!(
            "The call of {} was not run: {most} calls are under way already. Nothing is wrong with the arguments; call \
             again when one of them was answered.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::TOO_MANY_CALLS, text)
    }

    /// The arguments cannot be read within the limits.
    pub(crate) fn unread_arguments(tool: &str, reason: &str) -> Self {
        let reason = shown_text(reason, 300);
        let text = format!(
            "The call of {} was not run, because its arguments cannot be read: {reason}. Send less, or nest it less.",
            name(tool)
        );
        Self::new(CallClass::Arguments, found::ARGUMENTS_UNREADABLE, text)
    }

    /// The tool is not the one that somebody allowed.
    pub(crate) fn changed(tool: &str) -> Self {
        let text = format!(
            "The tool {} was not run: its definition is not the one that was first seen. A person has to look at \
             the change and accept it. Do not call it again for this task.",
            name(tool)
        );
        Self::new(CallClass::Stop, found::DEFINITION_CHANGED, text)
    }

    /// The call never left us.
    pub(crate) fn unsent(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not sent: {reason}. It did not run; nothing is wrong with the arguments, try again \
             later.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::NOT_SENT, text)
    }

    /// The server has the call and gave no result. What may run twice may be called again.
    pub(crate) fn without_result(tool: &str, reason: &str, may_run_twice: bool) -> Self {
        let text = format!(
            "The call of {} has no result: {reason}. Whether it took effect is not known; look before you repeat it.",
            name(tool)
        );
        let class = if may_run_twice { CallClass::Wait } else { CallClass::Stop };
        Self::new(class, found::NO_RESULT, text)
    }

    /// The tool ran and its result could not be recorded: the model must know both.
    pub(crate) fn withheld(tool: &str, reason: &str) -> Self {
        let why = format!("could not be recorded and is withheld: {reason}.");
        Self::ran(tool, found::NOT_RECORDED, &why, "the gateway")
    }

    /// The tool ran and nobody can vouch for what it said, because it cannot be read.
    pub(crate) fn unread(tool: &str) -> Self {
        let why = "is withheld: it cannot be read, so nobody can vouch for it.";
        Self::ran(tool, found::RESULT_UNREADABLE, why, "the server")
    }

    /// The tool ran and nobody vouches for what it said.
    pub(crate) fn refused(tool: &str, refusal: &Refusal) -> Self {
        let explanation = shown_text(&refusal.explanation, 500);
        let why = format!("is withheld, because it cannot be attested. {explanation}");
        let place = "the manifest and the lock of the gateway";
        Self::ran(tool, refusal.refusal_reason.as_str(), &why, place)
    }

    /// What a model is told of a tool that ran and whose result it does not get.
    fn ran(tool: &str, code: &str, why: &str, place: &str) -> Self {
        let text = format!(
            "The tool {} ran, but its result {why} Do not repeat the call: it may have taken effect. Ask a person to look \
             at {place}.",
            name(tool)
        );
        Self::new(CallClass::Stop, code, text)
    }
}

/// Speaks to a client about one of its calls, in our own name.
#[derive(Clone, Debug)]
pub(crate) struct ReplyBuilder {
    id: Id,
    is_modern: bool,
    pub(crate) about: About,
    pub(crate) correlation_id: UuidV4,
    /// What our own blocks of text carry on this connection.
    pub(crate) marker: Marker,
    started: Instant,
    version: String,
    host: Option<McpHost>,
    has_envelopes: bool,
}

impl ReplyBuilder {
    /// Who speaks about a call to a server, as far as the server is known.
    pub(crate) fn new(
        gateway: &Gateway,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        call: &ToolCallRequest,
    ) -> std::io::Result<Self> {
        let correlation_id = answerback_record::system::uuid()?;
        let is_known = upstream.is_some_and(|upstream| upstream.tools.contains(&call.name));
        let id = About::id_of(&correlation_id);
        // A name that no tool has is a model's own words.
        let tool =
            if is_known { call.name.clone() } else { secrets::redact(&call.name).into_owned() };
        let about = About {
            id,
            correlation: id,
            upstream: server.to_owned(),
            principal: client.principal().to_owned(),
            tool: (tool, is_known),
        };
        Ok(Self {
            id: call.id.clone(),
            is_modern: call.is_modern,
            about,
            correlation_id,
            marker: client.marker()?,
            started: Instant::now(),
            version: upstream.map_or_else(|| "0.0.0".to_owned(), |it| it.version.clone()),
            host: gateway.host,
            has_envelopes: gateway.settings.envelope != EnvelopeMode::Off,
        })
    }

    /// Who speaks about the result of a task, which is asked for with another request than the call was.
    pub(crate) fn of_task(
        gateway: &Gateway,
        upstream: &Upstream,
        request: &ToolCallRequest,
        about: About,
        correlation_id: UuidV4,
        marker: Marker,
        started: Instant,
    ) -> Self {
        Self {
            id: request.id.clone(),
            is_modern: request.is_modern,
            about,
            correlation_id,
            marker,
            started,
            version: upstream.version.clone(),
            host: gateway.host,
            has_envelopes: gateway.settings.envelope != EnvelopeMode::Off,
        }
    }

    /// How long ago the call came.
    pub(crate) fn took(&self) -> Duration {
        self.started.elapsed()
    }

    /// The tool's name, as it was sent.
    pub(crate) fn tool(&self) -> &str {
        &self.about.tool.0
    }

    /// The envelope of the call, or nothing where the tool's name is none that the contract knows. What a tool says in
    /// an envelope of its own about what to do next is taken over.
    pub(crate) fn envelope(
        &self,
        data: Value,
        own: Option<EnvelopeResponse>,
        errors: Vec<ErrorObject>,
        warnings: Vec<ErrorObject>,
    ) -> Option<EnvelopeResponse> {
        let enveloped = Enveloped {
            tool: self.tool(),
            version: &self.version,
            upstream: &self.about.upstream,
            host: self.host,
            correlation_id: &self.correlation_id.to_string(),
            took: self.took(),
            data,
            own,
        };
        enveloped.envelope(errors, warnings, answerback_record::system::now())
    }

    /// The text of the envelope of a result about which there is nothing to say.
    pub(crate) fn routine(&self, upstream: &Upstream, result: &Value) -> Option<String> {
        let occasion = Occasion {
            now: answerback_record::system::now(),
            duration_ms: u64::try_from(self.took().as_millis()).unwrap_or(u64::MAX),
            correlation_id: &self.correlation_id,
        };
        let build = || self.envelope(reference(result), None, Vec::new(), Vec::new());
        upstream.routines.text(self.tool(), place(result), occasion, build)
    }

    /// A result that is a question to the client.
    pub(crate) fn asks(&self, question: Value) -> Told {
        Told { id: self.id.clone(), document: question, is_error: false }
    }

    /// What we say, with the facts for programs and an envelope.
    pub(crate) fn says(&self, said: &GatewayMessage) -> Told {
        let mut added = Map::new();
        added.insert(meta::RETRY.to_owned(), said.facts(&self.correlation_id));
        let envelope = || self.envelope(json!({}), None, vec![said.error.clone()], Vec::new());
        if let Some(envelope) = self.has_envelopes.then(envelope).flatten() {
            added.insert(meta::ENVELOPE.to_owned(), envelope.to_document());
        }
        let (id, is_error) = (self.id.clone(), said.is_protocol_error);
        let document = if is_error {
            json!({"code": code::INVALID_PARAMS, "message": said.text, "data": added})
        } else {
            let told = ToolResult::error(self.id.as_json(), said.text.clone());
            let echo = answerback::provider::ToolCall::new(
                self.id.as_json(),
                self.tool(),
                Arguments::Value(Value::Null),
            );
            let mut result = Provider::Mcp.result(&echo, &told);
            if self.is_modern {
                result["resultType"] = "complete".into();
            }
            result["_meta"] = added.into();
            result
        };
        Told { id, document, is_error }
    }
}

/// An answer of our own.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    id: Id,
    /// The result, or the error of the protocol.
    document: Value,
    is_error: bool,
}

impl Told {
    /// The answer as the record has it: all of it but the receipt, which names the record.
    pub(crate) fn document(&self) -> String {
        self.document.to_string()
    }

    /// The answer as the client gets it.
    pub(crate) fn message(mut self, receipt: Option<Value>) -> Message {
        let place = if self.is_error { "data" } else { "_meta" };
        if let Some(receipt) = receipt {
            self.document[place][meta::RECEIPT] = receipt;
        }
        if self.is_error {
            let text = self.document["message"].as_str().unwrap_or_default();
            return Message::error(
                Some(&self.id),
                code::INVALID_PARAMS,
                text,
                Some(&self.document[place]),
            );
        }
        Message::result(&self.id, &self.document.to_string())
    }
}

/// A tool's name as our own sentences carry it.
pub(crate) fn name(tool: &str) -> String {
    answerback::finding::shown_name(tool)
}

/// The answer to a request that is no call.
pub(crate) fn no_call(call: &ToolCallRequest, reason: &str) -> Message {
    Message::error(Some(&call.id), code::INVALID_PARAMS, reason, None)
}

/// The `_meta` of a result with more in it, every other byte as it was; nothing, where it is no object: that is the
/// server's fault, and not ours to take away.
pub(crate) fn meta_with(meta: &str, added: &[(&str, String)]) -> Option<String> {
    let mut meta = meta.to_owned();
    for (name, value) in added {
        meta = Object::read_repeating(&meta).ok()?.with(name, value);
    }
    Some(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_keeps_every_byte_but_for_what_is_added() {
        let added = [("dev.answerback/x", "1".to_owned())];
        for (meta, expected) in [
            ("{}", r#"{"dev.answerback/x":1}"#),
            (r#"{ "a":1.50 }"#, r#"{ "a":1.50 ,"dev.answerback/x":1}"#),
            (r#"{"dev.answerback/x":7}"#, r#"{"dev.answerback/x":1}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2,"dev.answerback/x":1}"#),
        ] {
            assert_eq!(meta_with(meta, &added).as_deref(), Some(expected));
        }
        assert_eq!(meta_with("3", &added), None);
    }
}
