//! Builds the results and errors that the gateway itself returns.

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

/// Names the members that we add to a result's `_meta`.
pub(crate) mod meta {
    pub(crate) const RETRY: &str = "dev.answerback/retry";
    pub(crate) const ENVELOPE: &str = "dev.answerback/envelope";
    pub(crate) const RECEIPT: &str = "dev.answerback/receipt";
    pub(crate) const NOTES: &str = "dev.answerback/notes";
    pub(crate) const CUT: &str = "dev.answerback/cut";
    pub(crate) const MARKER: &str = "dev.answerback/marker";
}

/// Classifies the caller's possible reaction to a call without a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CallClass {
    /// Fix the arguments and call again.
    Arguments,
    /// Call again later without changes.
    Wait,
    /// Stop and let a person decide.
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

/// Holds a message that replaces a result.
#[derive(Clone, Debug)]
pub(crate) struct GatewayMessage {
    class: CallClass,
    /// The code for programs that react to the message.
    code: String,
    /// The number of the attempt and the maximum, if attempts are counted.
    attempt: Option<(u8, u8)>,
    /// The text for the model.
    text: String,
    /// The error for the envelope.
    error: ErrorObject,
    /// True if it is sent as a protocol error, which the model may not see.
    is_protocol_error: bool,
}

impl GatewayMessage {
    pub(crate) fn new(class: CallClass, code: &str, text: String) -> Self {
        // An envelope holds the text on one line.
        let error = ErrorObject::new(code, shown_text(&text, 500));
        Self { class, code: code.to_owned(), attempt: None, text, error, is_protocol_error: false }
    }

    /// Returns the code for programs that react to the message.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Sets the number of the attempt and the maximum.
    pub(crate) fn on_attempt(mut self, attempt: u8, max: u8) -> Self {
        self.attempt = Some((attempt, max));
        self
    }

    /// Sets the envelope's error to these findings, with a code and a message.
    pub(crate) fn with_findings(
        mut self,
        code: &str,
        message: &str,
        findings: &[ValidationError],
    ) -> Self {
        self.error = of_findings(code, message, findings);
        self
    }

    /// Turns the message into a protocol error.
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

    /// Reports that a call did not run, because it could not be recorded.
    pub(crate) fn unavailable(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be recorded: {reason}. Nothing is wrong with the \
             arguments; try again later, or ask a person to look at the gateway.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::NOT_RECORDED, text)
    }

    /// Reports that a call could not be checked, because the server does not list its tools.
    pub(crate) fn unlisted(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not run, because it could not be checked: {reason}. Nothing is wrong with the \
             arguments; try again later.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::TOOLS_UNKNOWN, text)
    }

    /// Reports that too many calls are running.
    pub(crate) fn busy(tool: &str, most: usize) -> Self {
        let text = format!(
            "The call of {} was not run: {most} calls are under way already. Nothing is wrong with the arguments; call \
             again when one of them was answered.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::TOO_MANY_CALLS, text)
    }

    /// Reports that the arguments cannot be read within the limits.
    pub(crate) fn unread_arguments(tool: &str, reason: &str) -> Self {
        let reason = shown_text(reason, 300);
        let text = format!(
            "The call of {} was not run, because its arguments cannot be read: {reason}. Send less, or nest it less.",
            name(tool)
        );
        Self::new(CallClass::Arguments, found::ARGUMENTS_UNREADABLE, text)
    }

    /// Reports that the tool's definition changed since a person allowed it.
    pub(crate) fn changed(tool: &str) -> Self {
        let text = format!(
            "The tool {} was not run: its definition is not the one that was first seen. A person has to look at \
             the change and accept it. Do not call it again for this task.",
            name(tool)
        );
        Self::new(CallClass::Stop, found::DEFINITION_CHANGED, text)
    }

    /// Reports that the call was never sent.
    pub(crate) fn unsent(tool: &str, reason: &str) -> Self {
        let text = format!(
            "The call of {} was not sent: {reason}. It did not run; nothing is wrong with the arguments, try again \
             later.",
            name(tool)
        );
        Self::new(CallClass::Wait, found::NOT_SENT, text)
    }

    /// Reports that the server received the call and returned no result. The call may be repeated only if that is
    /// safe.
    pub(crate) fn without_result(tool: &str, reason: &str, may_run_twice: bool) -> Self {
        let text = format!(
            "The call of {} has no result: {reason}. Whether it took effect is not known; look before you repeat it.",
            name(tool)
        );
        let class = if may_run_twice { CallClass::Wait } else { CallClass::Stop };
        Self::new(class, found::NO_RESULT, text)
    }

    /// Reports that the tool ran and its result could not be recorded. The model must know both.
    pub(crate) fn withheld(tool: &str, reason: &str) -> Self {
        let why = format!("could not be recorded and is withheld: {reason}.");
        Self::ran(tool, found::NOT_RECORDED, &why, "the gateway")
    }

    /// Reports that the tool ran and its result is withheld, because an unreadable result cannot be attested.
    pub(crate) fn unread(tool: &str) -> Self {
        let why = "is withheld: it cannot be read, so nobody can vouch for it.";
        Self::ran(tool, found::RESULT_UNREADABLE, why, "the server")
    }

    /// Reports that the tool ran and its result is withheld, because the attestation was refused.
    pub(crate) fn refused(tool: &str, refusal: &Refusal) -> Self {
        let explanation = shown_text(&refusal.explanation, 500);
        let why = format!("is withheld, because it cannot be attested. {explanation}");
        let place = "the manifest and the lock of the gateway";
        Self::ran(tool, refusal.refusal_reason.as_str(), &why, place)
    }

    /// Builds the message about a tool that ran and whose result is withheld.
    fn ran(tool: &str, code: &str, why: &str, place: &str) -> Self {
        let text = format!(
            "The tool {} ran, but its result {why} Do not repeat the call: it may have taken effect. Ask a person to look \
             at {place}.",
            name(tool)
        );
        Self::new(CallClass::Stop, code, text)
    }
}

/// Builds the gateway's own responses to one call.
#[derive(Clone, Debug)]
pub(crate) struct ReplyBuilder {
    id: Id,
    is_modern: bool,
    pub(crate) about: About,
    pub(crate) correlation_id: UuidV4,
    /// The marker of our own text blocks on this connection.
    pub(crate) marker: Marker,
    started: Instant,
    version: String,
    host: Option<McpHost>,
    has_envelopes: bool,
}

impl ReplyBuilder {
    /// Creates a builder for a call. The upstream is `None` if the server's tools are not known.
    pub(crate) fn new(
        gateway: &Gateway,
        client: &Client,
        server: &str,
        upstream: Option<&Upstream>,
        call: &ToolCallRequest,
    ) -> std::io::Result<Self> {
        let correlation_id = answerback_store::system::uuid()?;
        let is_known = upstream.is_some_and(|upstream| upstream.tools.contains(&call.name));
        let id = About::id_of(&correlation_id);
        // A name that is not in the catalog is text of the model and may contain a secret.
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

    /// Creates a builder for the result of a task, which another request asks for.
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

    /// Returns the time since the call was received.
    pub(crate) fn took(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the tool's name.
    pub(crate) fn tool(&self) -> &str {
        &self.about.tool.0
    }

    /// Builds the envelope of the call. Returns `None` if the contract does not allow the tool's name. Intent and
    /// actions of the tool's own envelope are copied.
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
        enveloped.envelope(errors, warnings, answerback_store::system::now())
    }

    /// Returns the envelope text of a result without findings.
    pub(crate) fn routine(&self, upstream: &Upstream, result: &Value) -> Option<String> {
        let occasion = Occasion {
            now: answerback_store::system::now(),
            duration_ms: u64::try_from(self.took().as_millis()).unwrap_or(u64::MAX),
            correlation_id: &self.correlation_id,
        };
        let build = || self.envelope(reference(result), None, Vec::new(), Vec::new());
        upstream.routines.text(self.tool(), place(result), occasion, build)
    }

    /// Builds a result that asks the client for input.
    pub(crate) fn asks(&self, question: Value) -> Told {
        Told { id: self.id.clone(), document: question, is_error: false }
    }

    /// Builds the response for a message, with the facts for programs and an envelope.
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

/// Holds a response that the gateway makes itself.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    id: Id,
    /// The result, or the protocol error.
    document: Value,
    is_error: bool,
}

impl Told {
    /// Returns the document as the ledger stores it. It has no receipt, because the receipt refers to the entry.
    pub(crate) fn document(&self) -> String {
        self.document.to_string()
    }

    /// Returns the message for the client.
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

/// Returns a tool's name as our own texts show it.
pub(crate) fn name(tool: &str) -> String {
    answerback::finding::shown_name(tool)
}

/// Returns the error for a request that is not a valid call.
pub(crate) fn no_call(call: &ToolCallRequest, reason: &str) -> Message {
    Message::error(Some(&call.id), code::INVALID_PARAMS, reason, None)
}

/// Adds members to a result's `_meta` and keeps every other byte. Returns `None` if `_meta` is not an object,
/// because a server's invalid `_meta` must not be replaced.
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
