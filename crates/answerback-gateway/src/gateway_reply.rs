//! Builds the results and errors that the gateway itself returns.

use std::time::{Duration, Instant};

use answerback::contract::tool::{EnvelopeResponse, ErrorObject, McpHost};
use answerback::finding::secrets;
use answerback::provider::{Arguments, Provider};
use answerback::{ToolResult, UuidV4};
use answerback_mcp::wire::{Id, Message, code, splice};
use serde_json::{Map, Value, json};

use crate::call_facts::CallFacts;
use crate::envelope::{EnvelopeInput, content_pointer, reference};
use crate::envelope_cache::EnvelopeValues;
use crate::gateway_message::GatewayMessage;
use crate::gateway_settings::EnvelopeMode;
use crate::marker::Marker;
use crate::reply_meta;
use crate::tool_call_request::ToolCallRequest;
use crate::{Client, Gateway, Upstream};

/// Builds the gateway's own responses to one call.
#[derive(Clone, Debug)]
pub(crate) struct ReplyBuilder {
    request_id: Id,
    is_modern: bool,
    pub(crate) facts: CallFacts,
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
        let id = CallFacts::id_of(&correlation_id);
        // A name that is not in the catalog is text of the model and may contain a secret.
        let tool =
            if is_known { call.name.clone() } else { secrets::redact(&call.name).into_owned() };
        let facts = CallFacts {
            id,
            correlation: id,
            upstream: server.to_owned(),
            principal: client.principal().to_owned(),
            tool,
            is_known_tool: is_known,
        };
        Ok(Self {
            request_id: call.id.clone(),
            is_modern: call.is_modern,
            facts,
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
        facts: CallFacts,
        correlation_id: UuidV4,
        marker: Marker,
        started: Instant,
    ) -> Self {
        Self {
            request_id: request.id.clone(),
            is_modern: request.is_modern,
            facts,
            correlation_id,
            marker,
            started,
            version: upstream.version.clone(),
            host: gateway.host,
            has_envelopes: gateway.settings.envelope != EnvelopeMode::Off,
        }
    }

    /// Returns the time since the call was received.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the tool's name.
    pub(crate) fn tool(&self) -> &str {
        &self.facts.tool
    }

    /// Builds the envelope of the call. Returns `None` if the contract does not allow the tool's name. Intent and
    /// actions of the tool's own envelope are copied.
    pub(crate) fn envelope(
        &self,
        data: Value,
        tool_envelope: Option<EnvelopeResponse>,
        errors: Vec<ErrorObject>,
        warnings: Vec<ErrorObject>,
    ) -> Option<EnvelopeResponse> {
        let input = EnvelopeInput {
            tool: self.tool(),
            version: &self.version,
            upstream: &self.facts.upstream,
            host: self.host,
            correlation_id: &self.correlation_id.to_string(),
            duration: self.elapsed(),
            data,
            tool_envelope,
        };
        input.envelope(errors, warnings, answerback_store::system::now())
    }

    /// Returns the envelope text of a result without findings.
    pub(crate) fn envelope_text(&self, upstream: &Upstream, result: &Value) -> Option<String> {
        let values = EnvelopeValues {
            now: answerback_store::system::now(),
            duration_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            correlation_id: &self.correlation_id,
        };
        let build = || self.envelope(reference(result), None, Vec::new(), Vec::new());
        upstream.envelope_cache.text(self.tool(), content_pointer(result), values, build)
    }

    /// Builds a result that asks the client for input.
    pub(crate) fn input_request(&self, question: &Value) -> GatewayReply {
        GatewayReply {
            request_id: self.request_id.clone(),
            document: question.to_string(),
            is_protocol_error: false,
        }
    }

    /// Builds the response for a message, with the facts for programs and an envelope.
    pub(crate) fn reply(&self, message: &GatewayMessage) -> GatewayReply {
        let mut members = Map::new();
        members.insert(reply_meta::RETRY.to_owned(), message.facts(&self.correlation_id));
        let envelope = || self.envelope(json!({}), None, vec![message.error.clone()], Vec::new());
        if let Some(envelope) = self.has_envelopes.then(envelope).flatten() {
            members.insert(reply_meta::ENVELOPE.to_owned(), envelope.to_document());
        }
        let document = if message.is_protocol_error {
            json!({"code": code::INVALID_PARAMS, "message": message.text, "data": members})
        } else {
            let result = ToolResult::error(self.request_id.as_json(), message.text.clone());
            let call = answerback::provider::ToolCall::new(
                self.request_id.as_json(),
                self.tool(),
                Arguments::Value(Value::Null),
            );
            let mut result = Provider::Mcp.result(&call, &result);
            if self.is_modern {
                result["resultType"] = "complete".into();
            }
            result["_meta"] = members.into();
            result
        };
        GatewayReply {
            request_id: self.request_id.clone(),
            document: document.to_string(),
            is_protocol_error: message.is_protocol_error,
        }
    }
}

/// Holds a response that the gateway makes itself. It is serialized once, for the ledger and for the client.
#[derive(Clone, Debug)]
pub(crate) struct GatewayReply {
    request_id: Id,
    /// The result or the protocol error as JSON text. It has no receipt, because the receipt refers to its entry.
    document: String,
    is_protocol_error: bool,
}

impl GatewayReply {
    /// Returns the document as the ledger stores it.
    pub(crate) fn document(&self) -> &str {
        &self.document
    }

    /// Returns the message for the client.
    pub(crate) fn into_message(self, receipt: Option<&Value>) -> Message {
        let parent = if self.is_protocol_error { "data" } else { "_meta" };
        let document = match receipt {
            Some(receipt) => {
                let path = [parent, reply_meta::RECEIPT];
                splice::with(&self.document, &path, &receipt.to_string()).unwrap_or(self.document)
            }
            None => self.document,
        };
        if self.is_protocol_error {
            let id = self.request_id.as_json();
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{document}}}"#);
            return Message::read(text).unwrap_or_else(|error| {
                let text = error.to_string();
                Message::error(Some(&self.request_id), code::INTERNAL_ERROR, &text, None)
            });
        }
        Message::result(&self.request_id, &document)
    }
}

/// Returns the error for a request that is not a valid call.
pub(crate) fn invalid_call(call: &ToolCallRequest, reason: &str) -> Message {
    Message::error(Some(&call.id), code::INVALID_PARAMS, reason, None)
}
