//! Exports traces of calls, one span per call, with the names of OpenTelemetry's conventions.
//!
//! The exporter is our own and small: it sends OTLP as JSON over the HTTP client for servers. It never delays a
//! call: spans that do not fit into the queue are dropped and counted.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use answerback::finding::display_text;
use answerback_mcp::link::Remote;
use answerback_mcp::wire::{Message, splice};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::reply_meta;
use crate::tool_call_request::ToolCallRequest;

/// The number of spans in the queue.
const QUEUE_LENGTH: usize = 1024;
/// The largest number of spans in one message.
const MAX_BATCH: usize = 256;
/// The time that the collector has to accept a message.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest `tracestate` that is forwarded.
const MAX_STATE_LENGTH: usize = 512;

/// Sends spans to a collector.
#[derive(Debug)]
pub struct Tracer {
    collector: Remote,
    service: String,
    queue: mpsc::Sender<Value>,
    /// The receiving end of the queue. The exporter takes it when the first span ends.
    receiver: Mutex<Option<mpsc::Receiver<Value>>>,
}

impl Tracer {
    /// Creates the tracer that OpenTelemetry's environment variables describe. Returns `None` if they name no
    /// endpoint.
    ///
    /// # Errors
    ///
    /// Returns the reason if a variable is invalid.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let value_of = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let is = |name: &str, expected: &str| {
            value_of(name).is_some_and(|it| it.eq_ignore_ascii_case(expected))
        };
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let url = match value_of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            Some(url) => url,
            None => match value_of("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(base) => format!("{}/v1/traces", base.trim_end_matches('/')),
                None => return Ok(None),
            },
        };
        let mut collector = Remote::new(&url).map_err(|error| format!("OTLP endpoint: {error}"))?;
        let headers = value_of("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| value_of("OTEL_EXPORTER_OTLP_HEADERS"))
            .unwrap_or_default();
        for header in headers.split(',').filter(|header| !header.trim().is_empty()) {
            let (name, value) = header.split_once('=').ok_or("OTLP headers are NAME=VALUE,…")?;
            let value = unescaped(value.trim());
            let added = collector.with_header(name.trim(), &value);
            collector = added.map_err(|error| format!("OTLP headers: {error}"))?;
        }
        let service = value_of("OTEL_SERVICE_NAME").unwrap_or_else(|| "answerback".to_owned());
        let (queue, receiver) = mpsc::channel(QUEUE_LENGTH);
        let receiver = Mutex::new(Some(receiver));
        Ok(Some(Self { collector, service, queue, receiver }))
    }

    /// Ends a span with the response to its call, or with `None` if the client cancelled the call.
    pub(crate) fn end(&self, span: CallSpan, answer: Option<&Message>) {
        if !span.is_sampled {
            return;
        }
        self.start();
        if self.queue.try_send(span.document(answer)).is_err() {
            metrics::counter!("answerback_spans_dropped_total", "reason" => "full").increment(1);
        }
    }

    /// Starts the exporter once. It runs until the tracer is dropped.
    fn start(&self) {
        let Ok(mut receiver) = self.receiver.lock() else { return };
        let Some(mut receiver) = receiver.take() else { return };
        let (collector, service) = (self.collector.clone(), self.service.clone());
        tokio::spawn(async move {
            let mut has_failed = false;
            let mut spans = Vec::new();
            // Spans that arrive during an export are sent together in the next one.
            while receiver.recv_many(&mut spans, MAX_BATCH).await > 0 {
                let count = spans.len() as u64;
                let body = otlp_message(&service, std::mem::take(&mut spans)).to_string();
                let sent = tokio::time::timeout(EXPORT_TIMEOUT, collector.post(body)).await;
                let failed = match sent {
                    Ok(Ok(status)) if status.is_success() => None,
                    Ok(Ok(status)) => Some(format!("it answered {status}")),
                    Ok(Err(reason)) => Some(reason),
                    Err(_) => Some(format!("it did not answer within {EXPORT_TIMEOUT:?}")),
                };
                let Some(reason) = failed else {
                    has_failed = false;
                    continue;
                };
                metrics::counter!("answerback_spans_dropped_total", "reason" => "not_taken")
                    .increment(count);
                if !has_failed {
                    tracing::warn!(
                        collector = collector.url(),
                        reason,
                        "the collector does not accept spans"
                    );
                }
                has_failed = true;
            }
        });
    }
}

/// The span of a call in progress.
#[derive(Debug)]
pub(crate) struct CallSpan {
    trace: String,
    id: String,
    parent: Option<String>,
    state: Option<String>,
    is_sampled: bool,
    tool: String,
    request: String,
    upstream: String,
    start: u128,
}

impl CallSpan {
    /// Begins the span of a call. Returns `None` if there is no randomness for its id.
    pub(crate) fn begin(call: &ToolCallRequest, upstream: &str) -> Option<Self> {
        let member = |name: &str| splice::string_at(call.meta.as_deref()?, &[name]);
        let parent = member("traceparent").as_deref().and_then(TraceParent::parse);
        let state = member("tracestate").filter(|state| {
            parent.is_some() && state.len() <= MAX_STATE_LENGTH && state.is_ascii()
        });
        let trace = match &parent {
            Some(parent) => parent.trace.clone(),
            None => HEXLOWER.encode(&answerback_store::system::random::<16>().ok()?),
        };
        let id = HEXLOWER.encode(&answerback_store::system::random::<8>().ok()?);
        Some(Self {
            trace,
            id,
            is_sampled: parent.as_ref().is_none_or(|parent| parent.is_sampled),
            parent: parent.map(|parent| parent.span),
            state,
            tool: display_text(&call.name, 128),
            request: call.id.as_json().trim_matches('"').to_owned(),
            upstream: upstream.to_owned(),
            start: nanos(),
        })
    }

    /// Sets the `traceparent` in the message for the server, so that its spans become children of this one.
    pub(crate) fn propagate(&self, message: Message) -> Message {
        let parent = format!("00-{}-{}-0{}", self.trace, self.id, u8::from(self.is_sampled));
        let parent = Value::from(parent).to_string();
        let text = splice::at(message.text(), &["params", "_meta"])
            .map_or_else(
                || splice::with(message.text(), &["params", "_meta"], "{}"),
                |_| Ok(message.text().to_owned()),
            )
            .and_then(|text| splice::with(&text, &["params", "_meta", "traceparent"], &parent));
        match text {
            Ok(text) => message.with_text(text),
            Err(_) => message,
        }
    }

    fn document(self, answer: Option<&Message>) -> Value {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &self.tool),
            text("gen_ai.tool.call.id", &self.request),
            text("mcp.method.name", ToolCallRequest::METHOD),
            text("jsonrpc.request.id", &self.request),
            text("answerback.upstream", &self.upstream),
        ];
        let error = error_of(answer);
        attributes.extend(error.as_deref().map(|error| text("error.type", error)));
        let facts = answer.map(facts).unwrap_or_default();
        attributes.extend(facts.iter().map(|(key, value)| text(key, value)));
        let mut span = json!({
            "traceId": self.trace,
            "spanId": self.id,
            "name": format!("execute_tool {}", self.tool),
            // The span has the kind SERVER, because the caller sent its context to us.
            "kind": 2,
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": nanos().max(self.start).to_string(),
            "attributes": attributes,
            "status": if error.is_some() { json!({"code": 2}) } else { json!({}) },
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.into();
        }
        if let Some(state) = self.state {
            span["traceState"] = state.into();
        }
        span
    }
}

/// The error type of a call, which has few possible values.
fn error_of(answer: Option<&Message>) -> Option<String> {
    let Some(answer) = answer else { return Some("cancelled".to_owned()) };
    if let Some(code) = splice::at(answer.text(), &["error", "code"]) {
        return Some(code.to_owned());
    }
    let is_error = splice::at(answer.text(), &["result", "isError"]) == Some("true");
    is_error.then(|| "tool_error".to_owned())
}

/// The facts that the gateway added to the response: the correlation id and the retry advice.
fn facts(answer: &Message) -> Vec<(&'static str, String)> {
    let metadata = [["result", "_meta"], ["error", "data"]]
        .iter()
        .find_map(|path| splice::at(answer.text(), path))
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .unwrap_or_default();
    let retry = &metadata[reply_meta::RETRY];
    let envelope = &metadata[reply_meta::ENVELOPE]["audit"]["correlation_id"];
    let correlation = retry["correlationId"].as_str().or(envelope.as_str());
    [
        ("answerback.correlation_id", correlation),
        ("answerback.retry.class", retry["class"].as_str()),
        ("answerback.retry.code", retry["code"].as_str()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?.to_owned())))
    .collect()
}

/// Builds an OTLP message.
fn otlp_message(service: &str, spans: Vec<Value>) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": service}},
            {"key": "service.version", "value": {"stringValue": version}},
        ]},
        "scopeSpans": [{"scope": {"name": "answerback", "version": version}, "spans": spans}],
    }]})
}

/// A parsed `traceparent`.
#[derive(Debug, Eq, PartialEq)]
struct TraceParent {
    trace: String,
    span: String,
    is_sampled: bool,
}

impl TraceParent {
    /// Parses a W3C `traceparent`. Later versions may have more parts at the end.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let is_id = |text: &str, length: usize| {
            is_hex(text, length) && text.bytes().any(|byte| byte != b'0')
        };
        let is_whole = version != "00" || parts.next().is_none();
        let fits = is_hex(version, 2) && version != "ff" && is_hex(flags, 2) && is_whole;
        if !fits || !is_id(trace, 32) || !is_id(span, 16) {
            return None;
        }
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace: trace.to_owned(), span: span.to_owned(), is_sampled })
    }
}

/// Decodes percent escapes. Invalid escapes stay unchanged.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail
            .first_chunk::<2>()
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn invalid_parents_are_ignored() {
        let read = TraceParent::parse(PARENT).unwrap();
        assert_eq!((read.span.as_str(), read.is_sampled), ("b7ad6b7169203331", true));
        assert!(!TraceParent::parse(&PARENT.replace("-01", "-00")).unwrap().is_sampled);
        assert!(TraceParent::parse(&format!("01{}-more", &PARENT[2..])).is_some());
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            &PARENT.to_uppercase(),
            &PARENT.replace("b7ad6b7169203331", "0000000000000000"),
            &format!("ff{}", &PARENT[2..]),
            &format!("{PARENT}-more"),
        ] {
            assert_eq!(TraceParent::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tracing_is_off_without_an_endpoint() {
        let tracer = |variables: &'static [(&str, &str)]| {
            Tracer::from_variables(|name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(tracer(&[]).unwrap().is_none());
        assert!(tracer(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
        let configured = tracer(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/")]);
        assert_eq!(configured.unwrap().unwrap().collector.url(), "http://127.0.0.1:4318/v1/traces");
        let disabled = Tracer::from_variables(|name| match name {
            "OTEL_SDK_DISABLED" => Some("true".to_owned()),
            name => (name == endpoint.0).then(|| endpoint.1.to_owned()),
        });
        assert!(disabled.unwrap().is_none());
        assert!(tracer(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x")]).is_err());
        assert_eq!(unescaped("Bearer%20a%b%2"), "Bearer a%b%2");
    }

    #[test]
    fn only_the_traceparent_changes_in_the_message() {
        let span = CallSpan {
            trace: "0af7651916cd43dd8448eb211c80319c".to_owned(),
            id: "00f067aa0ba902b7".to_owned(),
            parent: None,
            state: None,
            is_sampled: true,
            tool: "t".to_owned(),
            request: "1".to_owned(),
            upstream: "u".to_owned(),
            start: 0,
        };
        let ours = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        for (params, expected) in [
            (r#"{"name":"t" }"#, format!(r#"{{"name":"t" ,"_meta":{{"traceparent":"{ours}"}}}}"#)),
            (
                r#"{"_meta":{ "traceparent":"x","a":1.0}}"#,
                format!(r#"{{"_meta":{{ "traceparent":"{ours}","a":1.0}}}}"#),
            ),
        ] {
            let message =
                |params: &str| format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#);
            let passed = span.propagate(Message::read(message(params)).unwrap());
            assert_eq!(passed.text(), message(&expected));
        }
    }
}
