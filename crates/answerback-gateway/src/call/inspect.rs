//! Checks the result of a call: its state, its content and its fit to the tool's output schema.

use answerback::call::check;
use answerback::contract::tool::ErrorObject;
use answerback::finding::display_text;
use serde_json::Value;

use super::CallContext;
use crate::envelope::{error_of_findings, finding_code};
use crate::gateway_settings::CheckMode;
use crate::silent_failure::{self, SilentFailure};
use crate::task::created_task;
use crate::{Gateway, Upstream};

/// The outcome of a call whose result comes later.
pub(super) const TASK: &str = "task";

/// Holds the findings about a result.
pub(super) struct ResultInspection {
    pub(super) errors: Vec<ErrorObject>,
    pub(super) warnings: Vec<ErrorObject>,
    /// The outcome as the ledger records it.
    pub(super) outcome: &'static str,
    /// True if the server needs something else before it sends the result.
    pub(super) is_interim: bool,
}

impl ResultInspection {
    pub(super) fn add_warning(&mut self, code: &str, text: &str) {
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
                return self.add_warning(finding_code::OUTPUT_UNCHECKED, &display_text(&text, 500));
            }
        };
        let Some(content) = result.get("structuredContent") else {
            let text =
                "The tool declares an output schema and answered without structured content.";
            return self.add_warning(finding_code::OUTPUT_MISMATCH, text);
        };
        match check(schema, content, ()) {
            Ok(findings) if findings.iter().any(answerback::ValidationError::is_error) => {
                let text = "The result does not fit the tool's output schema.";
                self.warnings.push(error_of_findings(
                    finding_code::OUTPUT_MISMATCH,
                    text,
                    &findings,
                ));
                self.outcome = "warned";
            }
            Ok(_) => {}
            Err(fault) => {
                let text = format!("The tool's output schema cannot be used: {fault}");
                self.add_warning(finding_code::OUTPUT_UNCHECKED, &display_text(&text, 500));
            }
        }
    }
}

impl Gateway {
    /// Returns the findings about a result.
    pub(super) fn inspect(
        &self,
        upstream: &Upstream,
        context: &CallContext,
        result: &Value,
    ) -> ResultInspection {
        let mut inspection = ResultInspection {
            errors: Vec::new(),
            warnings: context.warnings.clone(),
            outcome: "ok",
            is_interim: false,
        };
        // The tool created a task, whose result comes later.
        if created_task(result).is_some() {
            return ResultInspection { outcome: TASK, is_interim: true, ..inspection };
        }
        if result["resultType"].as_str().is_some_and(|result_type| result_type != "complete") {
            return ResultInspection { outcome: "interim", is_interim: true, ..inspection };
        }
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let text =
                if text.trim().is_empty() { "The tool failed and did not say why." } else { text };
            inspection
                .errors
                .push(ErrorObject::new(finding_code::TOOL_FAILED, display_text(text, 300)));
            inspection.outcome = "tool_error";
            return inspection;
        }
        match silent_failure::detect(result) {
            Some(SilentFailure::Empty) => inspection.add_warning(
                finding_code::EMPTY_RESULT,
                "The tool succeeded and said nothing: look whether it did what it should.",
            ),
            Some(SilentFailure::Error) => inspection.add_warning(
                finding_code::ERROR_IN_SUCCESS,
                "The result is marked as a success and reads like an error.",
            ),
            None => {}
        }
        if self.settings.of(context.tool()).output != CheckMode::Off {
            inspection.check_output(upstream, context.tool(), result);
        }
        inspection
    }
}
