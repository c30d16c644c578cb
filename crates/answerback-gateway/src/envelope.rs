use std::sync::LazyLock;
use std::time::Duration;

use answerback::contract::tool::{
    Catalogue, EnvelopeBuilder, EnvelopeResponse, ErrorObject, McpHost, Policy,
};
use answerback::{Timestamp, ValidationError};
use serde_json::{Value, json};

/// What the gateway can find, as codes of a tool envelope.
pub(crate) mod found {
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
}

/// Our codes beside those of the contract, and what they say.
const OURS: &[(&str, &str)] = &[
    (found::TOOL_FAILED, "the tool ran and failed"),
    (found::OUTPUT_MISMATCH, "the result does not fit the tool's output schema"),
    (found::OUTPUT_UNCHECKED, "the tool's output schema cannot be used"),
    (found::INPUT_UNCHECKED, "the tool's input schema cannot be used"),
    (found::EMPTY_RESULT, "the tool succeeded and said nothing"),
    (found::ERROR_IN_SUCCESS, "the result is marked as a success and reads like an error"),
    (found::DEFINITION_CHANGED, "the tool's definition is not the one that was first seen"),
    (found::REPAIR_APPLIED, "the arguments were repaired before the call"),
    (found::CHECK_WAIVED, "a person waived the check of the arguments"),
    (found::NOT_RECORDED, "the call could not be recorded"),
    (found::UNKNOWN_TOOL, "there is no such tool"),
];

/// The codes of the contract and ours.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let ours = OURS.iter();
    let catalogue = ours.fold(Catalogue::default(), |catalogue, (code, meaning)| {
        catalogue.with_code(*code, *meaning)
    });
    Policy::default().with_catalogue(catalogue)
});

/// What one of our codes says.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    if code == found::INVALID_PARAMETER {
        return Some("something was found in the arguments");
    }
    OURS.iter().find(|(ours, _)| *ours == code).map(|(_, meaning)| *meaning)
}

/// What an envelope is made of beside the findings.
pub(crate) struct Enveloped<'a> {
    pub(crate) tool: &'a str,
    pub(crate) version: &'a str,
    pub(crate) upstream: &'a str,
    pub(crate) host: Option<McpHost>,
    pub(crate) correlation_id: &'a str,
    pub(crate) took: Duration,
    pub(crate) data: Value,
}

impl Enveloped<'_> {
    /// The envelope, or nothing where the tool's name is none that the contract knows.
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
            .duration_ms(u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX))
            .host(self.host)
            .correlation_id(self.correlation_id)
            .judged_by(POLICY.clone());
        if let Value::Object(members) = self.data {
            builder = builder.all_data(members);
        }
        builder = errors.into_iter().fold(builder, EnvelopeBuilder::error);
        builder = warnings.into_iter().fold(builder, EnvelopeBuilder::warning);
        match builder.build(now) {
            Ok(envelope) => Some(envelope),
            Err(invalid) => {
                tracing::debug!(reason = %invalid, "no envelope for this tool");
                None
            }
        }
    }
}

/// Findings of a call as one error or warning of an envelope.
pub(crate) fn of_findings(code: &str, message: &str, findings: &[ValidationError]) -> ErrorObject {
    let findings = serde_json::to_value(findings).unwrap_or_default();
    ErrorObject::new(code, message).with_detail("errors", findings)
}

/// Where the result is that an envelope stands beside.
pub(crate) fn reference(result: &Value) -> Value {
    let place =
        if result.get("structuredContent").is_some() { "/structuredContent" } else { "/content" };
    json!({ "ref": place })
}

/// An envelope with the result in it instead of a reference to it.
pub(crate) fn whole(envelope: &EnvelopeResponse, result: &Value) -> Value {
    let mut whole = envelope.to_document();
    whole["data"] = data(result);
    whole
}

/// A result as the data of an envelope.
pub(crate) fn data(result: &Value) -> Value {
    match result.get("structuredContent") {
        Some(content @ Value::Object(_)) => content.clone(),
        _ => json!({"content": result.get("content").cloned().unwrap_or_default()}),
    }
}
