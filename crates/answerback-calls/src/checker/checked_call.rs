use std::borrow::Cow;
use std::sync::OnceLock;

use answerback_findings::{Severity, ValidationError};
use answerback_json::{Limits, Pointer, Timestamp};
use answerback_parse::{Confidence, Malformed, parse_arguments};
use serde_json::Value;

use super::{CallRequest, ToolCatalog};
use crate::call::{CheckOptions, Schema, SchemaError, check};
use crate::config::{RepairMode, ToolSettings, ValidationConfig};
use crate::message::{Repair, SharedFormatter, repair, repair_malformed};
use crate::retry::{
    AttemptOutcome, Context, HideSecrets, RetryEvent, RetryKey, RetryState, RetryTracker, Sent,
    TrackedCall, Turn, step,
};

/// The arguments of a call after parsing.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a text is JSON or it is not")]
pub enum ParsedArguments {
    /// A JSON value.
    Value(Value),
    /// A text that is not JSON.
    Text(String),
}

impl ParsedArguments {
    /// Returns the value, or `None` for a text that is not JSON.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Text(_) => None,
        }
    }

    fn sent(&self) -> Sent<'_> {
        match self {
            Self::Value(value) => Sent::Value(value),
            Self::Text(text) => Sent::Text(text),
        }
    }
}

/// A call that was checked by itself. It lists everything that is wrong with the call, but does not count
/// attempts yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedCall<'c> {
    /// The id of this call, with secrets redacted; empty if the line had none.
    pub tool_call_id: String,
    /// The tool's name as sent, with secrets redacted.
    pub tool: String,
    /// The arguments as sent, or as an applied repair changed them.
    pub arguments: ParsedArguments,
    /// The model that made the call, if it is known.
    pub model: Option<String>,
    /// All findings, errors first, then ordered by place. A call without an error is valid.
    pub findings: Vec<ValidationError>,
    /// The reason why the call could not be checked. The tool's schema is at fault, never the model.
    pub unchecked: Option<SchemaError>,
    /// The repair that would make the call valid, or that made it valid if the settings apply repairs. Its
    /// arguments are not redacted.
    pub repair: Option<Repair>,
    pub(super) schema: Option<&'c Schema>,
    pub(super) settings: &'c ToolSettings,
    pub(super) formatter: &'c SharedFormatter,
    conversation: String,
    /// The retry key, computed on first use. A valid call without a record never needs it.
    key: OnceLock<RetryKey>,
    is_unknown_tool: bool,
    turn: Option<Turn>,
    /// The arguments for display, with the parts redacted that the schema hides; `None` if it hides none.
    displayed_arguments: Option<Value>,
}

/// Checks one call by itself: parses its arguments and checks them against the tool's schema. The same call
/// gives the same result on any thread.
///
/// - A tool that is not in the catalog gives VAL-008 at the root, with the nearest tools.
/// - Arguments that are not JSON, or that repeat a name, give VAL-004 and are not checked further.
/// - A schema that cannot be used leaves the call unchecked.
/// - A repair that makes the call valid is proposed. It is applied if it is safe and the settings allow it.
///   The errors are then reported as warnings.
pub fn check_call<'c>(
    catalog: &'c ToolCatalog,
    line: CallRequest,
    config: &'c ValidationConfig,
    limits: Limits,
) -> CheckedCall<'c> {
    let settings = config.of(&line.tool);
    let formatter = config.formatter(&line.tool);
    let mut checked = CheckedCall {
        conversation: line.conversation.unwrap_or_default(),
        key: OnceLock::new(),
        tool_call_id: line.id.unwrap_or_default(),
        tool: line.tool,
        arguments: ParsedArguments::Value(Value::Null),
        model: line.model,
        findings: line.findings,
        unchecked: None,
        repair: None,
        schema: None,
        settings,
        formatter,
        is_unknown_tool: false,
        turn: line.turn,
        displayed_arguments: None,
    };
    let mut malformed = None;
    match parse_arguments(line.arguments, limits) {
        Ok(document) => {
            checked.arguments = ParsedArguments::Value(document.value);
            checked.findings.extend(document.findings);
        }
        Err((text, error)) => {
            checked.arguments = ParsedArguments::Text(text);
            checked.findings = vec![error.finding()];
            malformed = Some(error);
        }
    }
    match catalog.schema(&checked.tool) {
        None => {
            let reading = malformed.as_ref().and_then(Malformed::reading);
            let meant = reading.map(|reading| &reading.value);
            let arguments = checked.arguments.value().or(meant).unwrap_or(&Value::Null);
            checked.is_unknown_tool = true;
            checked.findings = vec![catalog.unknown_tool(&checked.tool, arguments)];
        }
        Some(Ok(schema)) => checked.check(schema, malformed.as_ref()),
        // Arguments that are not JSON are an error even if the schema cannot be used.
        Some(Err(fault)) if checked.is_valid() => checked.pass_unchecked(fault.clone()),
        Some(Err(_)) => {}
    }
    checked.tidy();
    checked.hide_secrets_in_names();
    checked
}

/// Redacts secrets in a text that models or callers choose, such as the name of an unknown tool.
fn hide_secrets(text: &mut String) {
    if let Cow::Owned(redacted) = answerback_redaction::redact(text) {
        *text = redacted;
    }
}

impl<'c> CheckedCall<'c> {
    /// Returns true if no error was found. A call that could not be checked counts as valid.
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(ValidationError::is_error)
    }

    /// Returns the key under which the attempts of this call are counted. It consists of the conversation and
    /// the tool.
    pub fn key(&self) -> &RetryKey {
        self.key.get_or_init(|| RetryKey::of_conversation(&self.conversation, &self.tool))
    }

    /// Returns true if the catalog has no such tool.
    pub fn is_unknown_tool(&self) -> bool {
        self.is_unknown_tool
    }

    /// Returns the tool's schema, or `None` if it cannot be used.
    pub fn schema(&self) -> Option<&'c Schema> {
        self.schema
    }

    /// Returns the settings for the tool.
    pub fn settings(&self) -> &'c ToolSettings {
        self.settings
    }

    /// Returns the call in the form in which attempts are counted. `random` is used for the id of an
    /// escalation.
    pub fn call(&self, random: [u8; 10]) -> TrackedCall<'_> {
        let arguments = self.arguments.sent();
        let mut call =
            TrackedCall::new(&self.tool, &self.tool_call_id, arguments, &self.findings, random)
                .with_unchecked(self.unchecked.is_some())
                .with_unknown_tool(self.is_unknown_tool);
        call.turn = self.turn;
        call.displayed_arguments = self.displayed_arguments.as_ref();
        call
    }

    /// Counts the call and returns the outcome. A call without a turn is a turn of its own, so all earlier
    /// attempts count as answered.
    pub fn track(
        &self,
        tracker: &RetryTracker,
        now: Timestamp,
        random: [u8; 10],
    ) -> AttemptOutcome {
        let call = self.call(random);
        if call.turn.is_none() && call.is_failing() {
            tracker.delivered(self.key(), now);
        }
        tracker.call(self.key(), &call, now)
    }

    /// Returns the outcome of the call as attempt number `attempt`, if nothing is known about the attempts
    /// before it.
    pub fn as_attempt(&self, attempt: u8, now: Timestamp, random: [u8; 10]) -> AttemptOutcome {
        let call = self.call(random);
        let context = Context::new(&self.settings.retry, &HideSecrets, now);
        let state = RetryState::after(attempt.saturating_sub(1), &call, &context);
        step(state, RetryEvent::Call(call), &context).outcome
    }

    fn check(&mut self, schema: &'c Schema, malformed: Option<&Malformed>) {
        self.schema = Some(schema);
        let options = CheckOptions::default()
            .with_strict(self.settings.strict)
            .with_formats(self.settings.formats)
            .with_max_value_preview(self.settings.formatting.max_value_preview);
        match &self.arguments {
            ParsedArguments::Value(value) if self.is_valid() => match check(schema, value, options)
            {
                Ok(findings) => self.findings.extend(findings),
                Err(fault) => self.pass_unchecked(fault),
            },
            // A secret of the schema could be anywhere in a text that is not JSON, so no value is shown.
            ParsedArguments::Text(_) if schema.has_secrets() => {
                for finding in &mut self.findings {
                    finding.actual_value = None;
                }
            }
            ParsedArguments::Value(_) | ParsedArguments::Text(_) => {}
        }
        if self.is_valid() {
            return;
        }
        if self.settings.repair.unwrap_or_default() != RepairMode::Off {
            self.repair = match (&self.arguments, malformed) {
                (_, Some(malformed)) => repair_malformed(schema, malformed, options),
                (ParsedArguments::Value(value), None) => {
                    repair(schema, value, &self.findings, options)
                }
                (ParsedArguments::Text(_), None) => None,
            };
            self.apply_repair();
        }
        if schema.has_secrets() {
            self.displayed_arguments = Some(match &self.arguments {
                ParsedArguments::Value(value) => schema.without_secrets(value).into_owned(),
                ParsedArguments::Text(_) => Value::from("[redacted]"),
            });
        }
    }

    /// Applies the repair if the settings say so. The errors are still reported, as warnings.
    fn apply_repair(&mut self) {
        let Some(repair) = &self.repair else { return };
        let is_applied = match self.settings.repair.unwrap_or_default() {
            RepairMode::Off | RepairMode::Offer => false,
            RepairMode::ApplyLossless => repair.is_lossless(),
            RepairMode::ApplySafe => repair.confidence == Confidence::Safe,
        };
        if is_applied {
            self.arguments = ParsedArguments::Value(repair.arguments.clone());
            for finding in &mut self.findings {
                finding.severity = finding.severity.max(Severity::Warning);
            }
        }
    }

    /// Redacts secrets in the names by which the call is printed, stored and counted.
    fn hide_secrets_in_names(&mut self) {
        hide_secrets(&mut self.tool);
        hide_secrets(&mut self.tool_call_id);
        self.model.iter_mut().for_each(hide_secrets);
    }

    fn pass_unchecked(&mut self, fault: SchemaError) {
        self.schema = None;
        self.findings.clear();
        self.unchecked = Some(fault);
    }

    /// Prepares the findings for output. It gives each a schema path, redacts secrets in names, and sorts
    /// them.
    fn tidy(&mut self) {
        for finding in &mut self.findings {
            finding.schema_path.get_or_insert_with(Pointer::root);
            if let Cow::Owned(redacted) =
                answerback_redaction::redact_pointer(finding.field_path.as_str())
            {
                // The redaction mark has no character that a JSON Pointer must escape.
                finding.field_path = Pointer::try_from(redacted).unwrap_or_default();
            }
        }
        let order = |finding: &ValidationError| finding.severity;
        self.findings.sort_by(|one, other| {
            order(one)
                .cmp(&order(other))
                .then_with(|| one.field_path.as_str().cmp(other.field_path.as_str()))
        });
    }
}
