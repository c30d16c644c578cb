use std::borrow::Cow;

use answerback_contracts::atdf::{EnrichedResponse, ErrorBuilder};
use answerback_findings::ValidationError;
use answerback_json::Pointer;
use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::condition::format_words;
use super::field::{CheckedCondition, Field, fields};
use super::schema::SchemaParts;
use super::{display, document};
use crate::call::{self, calls_secrets};

/// The source of the findings. It decides where the expectations are looked up.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EnrichSource<'a> {
    /// A tool call, checked against the JSON Schema of the tool's arguments.
    Call {
        /// The JSON Schema of the tool's arguments.
        schema: &'a Value,
        /// The arguments, or `null` if they could not be parsed.
        arguments: &'a Value,
    },
    /// A document, checked against the rules of its contract.
    Document {
        /// The document, or `null` if it could not be parsed.
        document: &'a Value,
    },
}

/// The largest number of fields that are described in full.
const MOST_FIELDS: usize = 5;
/// The largest number of findings in `details.errors`.
const MOST_FINDINGS: usize = 20;

/// Turns findings into an enriched error. It has the expectations in plain words, constraints, validated
/// examples, a result for every condition, and a solution step by step.
///
/// Returns `None` if no finding is an error. The response passes the strict check.
///
/// ```
/// use answerback_calls::enrich::{EnrichSource, enrich};
/// use answerback_findings::{Severity, ValidationError};
/// use answerback_json::Timestamp;
///
/// let schema = serde_json::json!({"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}});
/// let arguments = serde_json::json!({"unit": "Celsius"});
/// let finding = ValidationError::new("VAL-008", Severity::Error)
///     .with_path("/unit".try_into()?)
///     .with_message("Value is not one of the allowed values")
///     .with_schema_path("/properties/unit/enum".try_into()?);
/// let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
/// let error = enrich(&[finding], &source, Timestamp::from_unix_millis(0)).unwrap().to_document();
/// assert_eq!(error["data"]["code"], "INVALID_ENUM_VALUE");
/// assert_eq!(error["data"]["details"]["suggested_value"], "celsius");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn enrich(
    findings: &[ValidationError],
    source: &EnrichSource<'_>,
    now: Timestamp,
) -> Option<EnrichedResponse> {
    let has_errors = findings.iter().any(ValidationError::is_error);
    has_errors.then(|| match source {
        EnrichSource::Call { schema, arguments } => {
            let visible = visible(schema, arguments);
            let schema = SchemaParts::new(schema);
            let shown = |finding: &ValidationError| redact_finding(finding, &schema, arguments);
            let errors = only_errors(findings);
            let field = field_name(&errors, "arguments");
            let error = ErrorBuilder::new(call_code(&errors), message(&errors, shown), field);
            let error = enriched_call(error, &errors, &schema, arguments, &visible);
            with_findings(error, findings, shown).finish(now)
        }
        EnrichSource::Document { document } => {
            let errors = only_errors(findings);
            let field = field_name(&errors, "document");
            let error = ErrorBuilder::new(SEVERAL, message(&errors, bounded), field);
            let error = document::enriched(error, &errors, document);
            with_findings(error, findings, bounded).finish(now)
        }
    })
}

/// Returns the arguments without the values that the schema marks as secret, at any depth. If the schema does
/// not compile, everything is hidden.
fn visible<'v>(schema: &Value, arguments: &'v Value) -> Cow<'v, Value> {
    if !calls_secrets(schema) {
        return Cow::Borrowed(arguments);
    }
    match call::Schema::compile(schema.clone()) {
        Ok(schema) => Cow::Owned(schema.without_secrets(arguments).into_owned()),
        Err(_) => Cow::Owned(Value::Null),
    }
}

fn only_errors(findings: &[ValidationError]) -> Vec<&ValidationError> {
    findings.iter().filter(|finding| finding.is_error()).collect()
}

fn with_findings(
    error: ErrorBuilder,
    findings: &[ValidationError],
    shown: impl Fn(&ValidationError) -> ValidationError,
) -> ErrorBuilder {
    let left_out = findings.len().saturating_sub(MOST_FINDINGS);
    let kept: Vec<ValidationError> = findings.iter().take(MOST_FINDINGS).map(shown).collect();
    let error = error.findings(&kept);
    if left_out == 0 { error } else { error.detail("errors_left_out", left_out) }
}

/// The code for documents and for findings of several kinds.
const SEVERAL: &str = "VALIDATION_FAILED";

/// Returns the code of the findings' kind, or [`SEVERAL`] if they have different kinds.
fn call_code(errors: &[&ValidationError]) -> &'static str {
    let mut codes = errors.iter().map(|finding| match &*finding.error_code {
        "VAL-001" => "REQUIRED_FIELD_MISSING",
        "VAL-002" => "TYPE_MISMATCH",
        "VAL-003" => "CONSTRAINT_VIOLATION",
        "VAL-004" => "INVALID_JSON",
        "VAL-005" => "UNKNOWN_FIELD",
        "VAL-006" => "ARRAY_LENGTH_VIOLATION",
        "VAL-007" => "PATTERN_MISMATCH",
        "VAL-008" => "INVALID_ENUM_VALUE",
        "VAL-009" => "STRING_LENGTH_VIOLATION",
        "VAL-010" => "FORMAT_VIOLATION",
        _ => SEVERAL,
    });
    let first = codes.next().unwrap_or(SEVERAL);
    if codes.all(|code| code == first) { first } else { SEVERAL }
}

/// Returns the pointer that all findings share. Returns `whole` if they differ or are at the root.
fn field_name(errors: &[&ValidationError], whole: &str) -> String {
    match one_place(errors) {
        Some(place) if !place.is_root() => display::pointer(place),
        _ => whole.to_owned(),
    }
}

fn one_place<'e>(errors: &[&'e ValidationError]) -> Option<&'e Pointer> {
    let place = &errors.first()?.field_path;
    errors.iter().all(|finding| finding.field_path == *place).then_some(place)
}

fn message(
    errors: &[&ValidationError],
    shown: impl Fn(&ValidationError) -> ValidationError,
) -> String {
    match errors {
        [] => String::new(),
        [only] => shown(only).message,
        [first, ..] => {
            let told = format!("{} problems, the first: {}", errors.len(), shown(first).message);
            display::sentence(&told)
        }
    }
}

fn enriched_call(
    mut error: ErrorBuilder,
    errors: &[&ValidationError],
    schema: &SchemaParts<'_>,
    arguments: &Value,
    visible: &Value,
) -> ErrorBuilder {
    if let Some(unread) = errors.iter().find(|finding| finding.error_code == "VAL-004") {
        return not_json(error, unread);
    }
    let (mut all, left_out) = fields(errors, schema, arguments, MOST_FIELDS);
    for field in &mut all {
        field.is_secret |= field.place.find(visible) != field.value;
    }
    let is_single = all.len() == 1;
    // A missing field does not have to be added if another member is renamed to it.
    let renamed: Vec<Pointer> = all.iter().filter_map(|field| field.renamed(schema)).collect();
    let mut steps = Vec::new();
    let mut valid: Vec<(String, Vec<Value>)> = Vec::new();
    for field in &all {
        let checked = field.checked(schema);
        let examples = field.examples(schema);
        let suggested = field.suggestion(schema);
        if !field.is_missing() || !renamed.contains(&field.place) {
            steps.push(field.step(&checked, examples.first(), suggested.as_ref(), schema));
        }
        error = with_received(error, field, arguments, is_single);
        let format = field.format(schema).map(|format| display::sentence(&format_words(format)));
        error = with_conditions(error, field, &checked, format, is_single);
        if let (true, Some(suggested)) = (is_single, suggested) {
            error = error.suggested_value(suggested);
        }
        if !examples.is_empty() {
            valid.push((field.key(is_single), examples));
        }
    }
    if left_out > 0 {
        steps.push(format!("Put the other {left_out} fields right that details.errors names"));
    }
    steps.push("Call the tool again with everything else unchanged".to_owned());
    with_examples(error, valid, &all).solution(numbered(&steps))
}

/// Joins steps into one line: `1) … 2) …`.
pub(super) fn numbered(steps: &[String]) -> String {
    let numbered = steps.iter().enumerate().map(|(index, step)| format!("{}) {step}", index + 1));
    numbered.collect::<Vec<_>>().join(" ")
}

/// Completes the error for arguments that are not valid JSON. No part of the schema applies to them.
fn not_json(error: ErrorBuilder, finding: &ValidationError) -> ErrorBuilder {
    let error = match &finding.actual_value {
        Some(actual) => error.received("arguments", display::sentence(actual)),
        None => error,
    };
    let condition = "The arguments must be one JSON object";
    let steps = [
        display::sentence(&format!("Write the arguments as one JSON object: {}", finding.message)),
        "Check quotes, commas and brackets, and that no name stands twice".to_owned(),
        "Call the tool again".to_owned(),
    ];
    error
        .condition(condition)
        .condition("Names and texts must be in double quotes")
        .condition("No name may stand twice in one object")
        .format("JSON (RFC 8259)")
        .valid_example("{}")
        .valid_example(r#"{"name": "value"}"#)
        .validation_result("json", false)
        .solution(numbered(&steps))
}

impl Field<'_, '_> {
    /// Returns the name of this field in the response: its own name if it is the only field, otherwise its
    /// pointer.
    fn key(&self, is_single: bool) -> String {
        if is_single { self.name.clone() } else { display::pointer(&self.place) }
    }
}

fn with_received(
    error: ErrorBuilder,
    field: &Field<'_, '_>,
    arguments: &Value,
    is_single: bool,
) -> ErrorBuilder {
    if field.is_secret && field.value.is_some() {
        return error.received(field.key(is_single), display::NOT_SHOWN);
    }
    if let Some(value) = field.value {
        return error.received(field.key(is_single), display::value(value));
    }
    // For a missing member, show the names of its siblings. One of them may be a misspelling.
    let Some((parent, _)) = field.place.split_last() else { return error };
    let Some(Value::Object(members)) = parent.find(arguments) else { return error };
    let names: Vec<Value> = members
        .keys()
        .take(10)
        .map(|name| display::name(&Pointer::root().join(name), "").into())
        .collect();
    error.received(format!("members of {}", display::name(&parent, "arguments")), names)
}

fn with_conditions(
    mut error: ErrorBuilder,
    field: &Field<'_, '_>,
    checked: &[CheckedCondition],
    format: Option<String>,
    is_single: bool,
) -> ErrorBuilder {
    let mut constraints = Map::new();
    let mut results: Map<String, Value> = Map::new();
    for one in checked {
        error = error.condition(&one.sentence);
        if let Some(constraint) = &one.constraint {
            constraints.entry(one.name).or_insert_with(|| constraint.clone());
        }
        let Some(verdict) = &one.verdict else { continue };
        let name = if is_single {
            one.name.to_owned()
        } else {
            format!("{} {}", field.key(false), one.name)
        };
        let result = Value::from(verdict.clone());
        // Several parts may set the same condition. It holds only if all of them hold.
        if results.get(&name).is_none_or(|held| held == &Value::Bool(true)) {
            results.insert(name, result);
        }
    }
    for (name, result) in results {
        error = error.validation_result(name, result);
    }
    if is_single {
        for (name, constraint) in constraints {
            error = error.constraint(name, constraint);
        }
        return match format {
            Some(format) => error.format(format),
            None => error,
        };
    }
    constraints.extend(format.map(|format| ("format".to_owned(), format.into())));
    if !constraints.is_empty() {
        error = error.constraint(field.key(false), constraints);
    }
    error
}

/// Adds the examples. Strings for a single field are shown as they are. Other values are shown by field name,
/// so that 5 cannot be mistaken for "5".
fn with_examples(
    mut error: ErrorBuilder,
    valid: Vec<(String, Vec<Value>)>,
    fields: &[Field<'_, '_>],
) -> ErrorBuilder {
    if valid.is_empty() {
        return error;
    }
    match valid.as_slice() {
        [(_, texts)] if fields.len() == 1 && texts.iter().all(Value::is_string) => {
            for text in texts.iter().filter_map(Value::as_str) {
                error = error.valid_example(text);
            }
        }
        _ => {
            let firsts = valid.into_iter().filter_map(|(key, examples)| {
                examples.into_iter().next().map(|example| (key, example))
            });
            error = error.valid_examples_by_name(firsts.collect());
        }
    }
    for field in fields {
        if let Some(value) = field.wrong_value() {
            let reason = display::sentence(&field.finding.message);
            error = error.invalid_example(display::value(value), reason);
        }
    }
    error
}

/// Returns a copy of a finding that may be shown: bounded in length and without the value of a secret field.
fn redact_finding(
    finding: &ValidationError,
    schema: &SchemaParts<'_>,
    arguments: &Value,
) -> ValidationError {
    let mut shown = finding.clone();
    let field = Field::new(finding, schema, arguments);
    if field.is_secret {
        shown.actual_value = shown.actual_value.map(|_| display::NOT_SHOWN.to_owned());
        let secret = field.value.map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        // A shorter secret would match inside ordinary words.
        if let Some(secret) = secret.filter(|secret| secret.chars().count() > 2) {
            shown.message = shown.message.replace(&secret, display::NOT_SHOWN);
        }
    }
    bounded(&shown)
}

/// Returns a copy of a finding whose texts are single lines of bounded length.
fn bounded(finding: &ValidationError) -> ValidationError {
    let mut shown = finding.clone();
    shown.message = display::sentence(&shown.message);
    shown.expected_value = shown.expected_value.map(|text| display::sentence(&text));
    shown.actual_value = shown.actual_value.map(|text| display::sentence(&text));
    shown
}

#[cfg(test)]
mod tests;
