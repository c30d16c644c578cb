use std::sync::LazyLock;
use std::time::Duration;

use answerback::contract::tool::{
    EnvelopeBuilder, EnvelopeCheckOptions, EnvelopeResponse, ErrorCatalog, ErrorObject, McpHost,
};
use answerback::contract::{Contract, recognise};
use answerback::{Timestamp, ValidationError};
use serde_json::{Value, json};

/// Lists the codes of the gateway's findings in a tool envelope.
pub(crate) mod finding_code {
    pub(crate) const TOOL_FAILED: &str = "TOOL_FAILED";
    pub(crate) const OUTPUT_MISMATCH: &str = "OUTPUT_MISMATCH";
    pub(crate) const OUTPUT_UNCHECKED: &str = "OUTPUT_UNCHECKED";
    pub(crate) const INPUT_UNCHECKED: &str = "INPUT_UNCHECKED";
    pub(crate) const EMPTY_RESULT: &str = "EMPTY_RESULT";
    pub(crate) const ERROR_IN_SUCCESS: &str = "ERROR_IN_SUCCESS";
    pub(crate) const DEFINITION_CHANGED: &str = "DEFINITION_CHANGED";
    pub(crate) const REPAIR_APPLIED: &str = "REPAIR_APPLIED";
    pub(crate) const CHECK_WAIVED: &str = "CHECK_WAIVED";
    pub(crate) const NOT_RECORDED: &str = "NOT_RECORDED";
    pub(crate) const INVALID_PARAMETER: &str = "INVALID_PARAMETER";
    pub(crate) const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
    pub(crate) const DUPLICATE_NAME: &str = "DUPLICATE_NAME";
    pub(crate) const GATEWAY_IMITATED: &str = "GATEWAY_IMITATED";
    pub(crate) const RESULT_UNREADABLE: &str = "RESULT_UNREADABLE";
    pub(crate) const NO_RESULT: &str = "NO_RESULT";
    pub(crate) const NOT_SENT: &str = "NOT_SENT";
    pub(crate) const CALLS_BLOCKED: &str = "CALLS_BLOCKED";
    pub(crate) const CALLS_STOPPED: &str = "CALLS_STOPPED";
    pub(crate) const TOOLS_UNKNOWN: &str = "TOOLS_UNKNOWN";
    pub(crate) const TOO_MANY_CALLS: &str = "TOO_MANY_CALLS";
    pub(crate) const ARGUMENTS_UNREADABLE: &str = "ARGUMENTS_UNREADABLE";
}

/// Lists the codes that the gateway adds to the contract's, with their meanings.
const GATEWAY_CODES: &[(&str, &str)] = &[
    (finding_code::TOOL_FAILED, "the tool ran and failed"),
    (finding_code::OUTPUT_MISMATCH, "the result does not fit the tool's output schema"),
    (finding_code::OUTPUT_UNCHECKED, "the tool's output schema cannot be used"),
    (finding_code::INPUT_UNCHECKED, "the tool's input schema cannot be used"),
    (finding_code::EMPTY_RESULT, "the tool succeeded and said nothing"),
    (finding_code::ERROR_IN_SUCCESS, "the result is marked as a success and reads like an error"),
    (finding_code::DEFINITION_CHANGED, "the tool's definition is not the one that was first seen"),
    (finding_code::REPAIR_APPLIED, "the arguments were repaired before the call"),
    (finding_code::CHECK_WAIVED, "a person waived the check of the arguments"),
    (finding_code::NOT_RECORDED, "the call could not be recorded"),
    (finding_code::UNKNOWN_TOOL, "there is no such tool"),
    (finding_code::DUPLICATE_NAME, "a name stands twice in one object of the result"),
    (finding_code::GATEWAY_IMITATED, "the server wrote text that begins like the gateway's own"),
    (finding_code::RESULT_UNREADABLE, "the result cannot be read"),
    (finding_code::NO_RESULT, "the server has the call and gave no result"),
    (finding_code::NOT_SENT, "the call did not reach the server"),
    (finding_code::CALLS_BLOCKED, "a person is asked about earlier calls of the tool"),
    (finding_code::CALLS_STOPPED, "a person stopped the calls of the tool"),
    (finding_code::TOOLS_UNKNOWN, "the server does not say which tools it has"),
    (finding_code::TOO_MANY_CALLS, "as many calls are under way as there may be"),
    (finding_code::ARGUMENTS_UNREADABLE, "the arguments cannot be read within the limits"),
];

/// Holds the contract's policy, extended with our codes.
static POLICY: LazyLock<EnvelopeCheckOptions> = LazyLock::new(|| {
    let codes = GATEWAY_CODES.iter();
    let catalogue = codes.fold(ErrorCatalog::default(), |catalogue, (code, meaning)| {
        catalogue.with_code(*code, *meaning)
    });
    EnvelopeCheckOptions::default().with_error_catalog(catalogue)
});

/// Returns the codes that the gateway adds to those of the tool envelope, with their meanings.
pub fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    GATEWAY_CODES.iter().copied()
}

/// Returns the meaning of one of our codes.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    if code == finding_code::INVALID_PARAMETER {
        return Some("something was found in the arguments");
    }
    GATEWAY_CODES.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}

/// Holds the content of an envelope, without the findings.
pub(crate) struct EnvelopeInput<'a> {
    pub(crate) tool: &'a str,
    pub(crate) version: &'a str,
    pub(crate) upstream: &'a str,
    pub(crate) host: Option<McpHost>,
    pub(crate) correlation_id: &'a str,
    pub(crate) duration: Duration,
    pub(crate) data: Value,
    /// The envelope that the tool itself returned.
    pub(crate) tool_envelope: Option<EnvelopeResponse>,
}

impl EnvelopeInput<'_> {
    /// Builds the envelope. Returns `None` if the contract does not allow the tool's name.
    pub(crate) fn envelope(
        self,
        errors: Vec<ErrorObject>,
        warnings: Vec<ErrorObject>,
        now: Timestamp,
    ) -> Option<EnvelopeResponse> {
        let summary = match (errors.len(), warnings.len()) {
            (0, 0) => format!("{} ran.", self.tool),
            (0, 1) => format!("{} ran, with a warning.", self.tool),
            (0, many) => format!("{} ran, with {many} warnings.", self.tool),
            _ => format!("{} failed.", self.tool),
        };
        let mut builder = EnvelopeBuilder::new(self.tool, self.version)
            .summary(summary)
            .source(format!("upstreams/{}", self.upstream))
            .duration_ms(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX))
            .host(self.host)
            .correlation_id(self.correlation_id)
            .with_check_options(POLICY.clone());
        if let Value::Object(members) = self.data {
            builder = builder.all_data(members);
        }
        builder = errors.into_iter().fold(builder, EnvelopeBuilder::error);
        builder = warnings.into_iter().fold(builder, EnvelopeBuilder::warning);
        let plain = self.tool_envelope.is_some().then(|| builder.clone());
        if let Some(tool_envelope) = self.tool_envelope {
            builder = tool_envelope.intent.into_iter().fold(builder, EnvelopeBuilder::intent);
            builder = tool_envelope.actions.into_iter().fold(builder, EnvelopeBuilder::action);
        }
        let built = builder.build(now).or_else(|invalid| match plain {
            // The tool's own intent and actions may be invalid, so the envelope is built without them.
            Some(plain) => plain.build(now),
            None => Err(invalid),
        });
        match built {
            Ok(envelope) => Some(envelope),
            Err(invalid) => {
                tracing::debug!(reason = %invalid, "no envelope for this tool");
                None
            }
        }
    }
}

/// Converts the findings of a call into one error or warning of an envelope.
pub(crate) fn error_of_findings(
    code: &str,
    message: &str,
    findings: &[ValidationError],
) -> ErrorObject {
    let findings = serde_json::to_value(findings).unwrap_or_default();
    ErrorObject::new(code, message).with_detail("errors", findings)
}

/// Returns the valid tool envelope that a tool itself returned, if there is one.
pub(crate) fn tool_envelope(result: &Value) -> Option<EnvelopeResponse> {
    // Most structured content is not an envelope, so a quick check comes first.
    let content = result.get("structuredContent").filter(|it| it.get("schema_id").is_some())?;
    let is_envelope = recognise(content)?.contract == Contract::Tool;
    is_envelope.then(|| EnvelopeResponse::from_document(content).ok()).flatten()
}

/// Returns the pointer to the result's content, which the envelope refers to.
pub(crate) fn content_pointer(result: &Value) -> &'static str {
    if result.get("structuredContent").is_some() { "/structuredContent" } else { "/content" }
}

/// Returns envelope data that refers to the result.
pub(crate) fn reference(result: &Value) -> Value {
    json!({ "ref": content_pointer(result) })
}

/// Returns an envelope that contains the result instead of a reference to it.
pub(crate) fn with_data(envelope: &EnvelopeResponse, result: &Value) -> Value {
    let mut with_data = envelope.to_document();
    with_data["data"] = data(result);
    with_data
}

/// Returns a result as the data of an envelope.
pub(crate) fn data(result: &Value) -> Value {
    match result.get("structuredContent") {
        Some(content @ Value::Object(_)) => content.clone(),
        _ => json!({"content": result.get("content").cloned().unwrap_or_default()}),
    }
}
