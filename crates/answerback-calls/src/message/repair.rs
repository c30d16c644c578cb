//! A proposed repair of a failing call: an RFC 6902 patch, offered only when it makes the whole call
//! valid.
//!
//! Every finding suggests at most one change, and a finding that suggests none ends the search: most
//! failing calls cost a look at their findings and nothing more. What is changed is the form of what
//! the model sent, never its substance. Nothing is made up: no value for a missing field, no list
//! around a lone value, no filler, no text cut short; and no field that holds something is dropped.

mod change;
mod choice;
mod members;
mod nothing;
mod reading;
mod redacted;
mod separator;
mod similarity;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use self::change::{RepairStep, Words, lies_in};
pub(super) use self::choice::nearest_value;
use answerback_findings::{ValidationError, call_codes};
use answerback_json::Pointer;
use answerback_json::patch::{self, PatchOperation};
use answerback_parse::{Confidence, Malformed};

use crate::call::{CheckOptions, Schema, check};

/// The number of rounds. A repaired call is checked again, because a renamed field may hold a list written as
/// text, which may hold a misspelled value.
const ROUNDS: usize = 3;
/// The highest number of errors for which a repair is searched. A call with more errors gets only a message.
const MOST_ERRORS: usize = 64;

/// A change to a failing call that makes it valid. Whether it is used is for the model, or the host,
/// to decide.
///
/// It holds the arguments as they are, secrets included; [`Repair::without_secrets`] and [its words](Repair::words) are
/// safe to show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Repair {
    /// The steps from the arguments sent to those meant; `None` where the text sent was not JSON.
    pub patch: Option<Vec<PatchOperation>>,
    /// The arguments after the repair; null where a secret in them is left out.
    pub arguments: Value,
    /// The certainty that nothing else was meant.
    pub confidence: Confidence,
    words: String,
    /// True if secrets are redacted.
    is_redacted: bool,
    is_lossless: bool,
}

impl Repair {
    /// The one place where a repair is made. Returns `None` for one that an ordinary JSON reader could not read
    /// inside of a reply.
    fn offer(
        patch: Option<Vec<PatchOperation>>,
        arguments: Value,
        confidence: Confidence,
        words: String,
    ) -> Option<Self> {
        let mut values = patch.iter().flatten().filter_map(PatchOperation::value);
        let is_readable = answerback_json::is_readable_output(&arguments)
            && values.all(answerback_json::is_readable_output);
        is_readable.then_some(Self {
            patch,
            arguments,
            confidence,
            words,
            is_redacted: false,
            is_lossless: false,
        })
    }

    /// Returns the changes in one line for the model: `rename 'pth' to 'path'; write "utf-8" for "uft8" in
    /// 'encoding'`. Secrets are redacted; names and values are shortened and neutralized.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns true if the repair only changes the spelling of values, so that nothing the model sent is
    /// lost. Examples are 5 for "5", `true` for "true", a list for its JSON in a string, the spelling of an
    /// enum's value, and no field for a `null` that its schema forbids.
    pub fn is_lossless(&self) -> bool {
        self.is_lossless
    }

    /// Returns true if secrets are redacted. The caller then applies the patch to the call to get the
    /// arguments.
    pub fn is_redacted(&self) -> bool {
        self.is_redacted
    }

    /// Returns the repair as it can be printed and stored. Nothing changes where no secret is in it.
    ///
    /// With secrets, the arguments are omitted, and so is the value of each step that writes a secret. Such a
    /// step is no longer a valid step of RFC 6902, so it cannot be applied by mistake. The other steps can be
    /// applied to the call. For a text that was not JSON there is no patch, so the result is `None`.
    pub fn without_secrets(mut self, schema: Option<&Schema>) -> Option<Self> {
        let hides = |schema: &Schema| *schema.without_secrets(&self.arguments) != self.arguments;
        let is_hidden_by_schema = schema.is_some_and(hides);
        if !is_hidden_by_schema
            && !answerback_redaction::holds_secret(&self.arguments)
            && !self.names_secret()
        {
            return Some(self);
        }
        for step in self.patch.as_mut()? {
            redacted::redact(step, is_hidden_by_schema);
        }
        Some(Self { arguments: Value::Null, is_redacted: true, ..self })
    }

    /// Returns true if a secret is in a name that a step takes away.
    fn names_secret(&self) -> bool {
        self.patch.iter().flatten().any(redacted::names_secret)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}

/// The repair of a call that [`check`] found fault with, if there is one that leaves no error.
///
/// `findings` are all that `check` found in `arguments`, under the same options.
///
/// ```
/// use answerback_parse::Confidence;
/// use answerback_calls::call::{Schema, check};
/// use answerback_calls::message::repair;
/// use serde_json::json;
///
/// let schema = Schema::compile(json!({
///     "type": "object",
///     "properties": {
///         "path": {"type": "string"},
///         "encoding": {"enum": ["utf-8", "ascii"]},
///         "lines": {"type": "array", "items": {"type": "integer"}},
///     },
///     "required": ["path"],
///     "additionalProperties": false,
/// }))?;
/// let arguments = json!({"pth": "main.rs", "encoding": "UTF8", "lines": "[1, 2]"});
/// let findings = check(&schema, &arguments, ())?;
/// let repair = repair(&schema, &arguments, &findings, ()).unwrap();
/// assert_eq!(repair.arguments, json!({"encoding": "utf-8", "lines": [1, 2], "path": "main.rs"}));
/// assert_eq!(repair.confidence, Confidence::Safe);
/// assert_eq!(
///     repair.words(),
///     r#"rename 'pth' to 'path'; write "utf-8" for "UTF8" in 'encoding'; write [1,2] for "[1, 2]" in 'lines'"#,
/// );
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
pub fn repair(
    schema: &Schema,
    arguments: &Value,
    findings: &[ValidationError],
    options: impl Into<CheckOptions>,
) -> Option<Repair> {
    let options = options.into();
    let mut arguments = Cow::Borrowed(arguments);
    let mut findings = Cow::Borrowed(findings);
    let mut patch = Vec::new();
    let mut confidence = Confidence::Safe;
    let mut is_lossless = true;
    let mut words = Words::default();
    for _ in 0..ROUNDS {
        let changes = changes(schema, &arguments, &findings)?;
        let first = patch.len();
        for change in changes {
            confidence = confidence.max(change.confidence);
            is_lossless &= change.is_lossless && change.confidence == Confidence::Safe;
            words.add(&change.operation, &arguments, schema);
            patch.push(change.operation);
        }
        let mended = patch::apply(&arguments, &patch[first..]).ok()?;
        // Only in strict mode can a call that the schema takes still have an error.
        let is_valid = !options.strict && schema.is_valid_with(&mended, options).ok()?;
        let left = if is_valid { Vec::new() } else { check(schema, &mended, options).ok()? };
        if !left.iter().any(ValidationError::is_error) {
            let offer = Repair::offer(Some(patch), mended, confidence, words.into_line());
            return offer.map(|repair| Repair { is_lossless, ..repair });
        }
        arguments = Cow::Owned(mended);
        findings = Cow::Owned(left);
    }
    None
}

/// The repair of a text that is not JSON: what it was probably meant to say, if that is valid or can
/// be repaired.
///
/// ```
/// use answerback_calls::call::Schema;
/// use answerback_parse::parse;
/// use answerback_calls::message::repair_malformed;
/// use serde_json::json;
///
/// let schema = Schema::compile(json!({"properties": {"deep": {"type": "boolean"}}}))?;
/// let malformed = parse("{'deep': 'True'}", Default::default()).unwrap_err();
/// let repair = repair_malformed(&schema, &malformed, ()).unwrap();
/// assert_eq!(repair.arguments, json!({"deep": true}));
/// assert_eq!(repair.patch, None);
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
pub fn repair_malformed(
    schema: &Schema,
    malformed: &Malformed,
    options: impl Into<CheckOptions>,
) -> Option<Repair> {
    let options = options.into();
    let reading = malformed.reading()?;
    let findings = check(schema, &reading.value, options).ok()?;
    let (arguments, confidence) = if findings.iter().any(ValidationError::is_error) {
        let repaired = repair(schema, &reading.value, &findings, options)?;
        (repaired.arguments, repaired.confidence.max(reading.confidence))
    } else {
        (reading.value.clone(), reading.confidence)
    };
    let words = change::whole(&arguments, schema, &malformed.omissions());
    Repair::offer(None, arguments, confidence, words)
}

/// A change for every error, or nothing at all.
fn changes(
    schema: &Schema,
    arguments: &Value,
    findings: &[ValidationError],
) -> Option<Vec<RepairStep>> {
    let errors = || findings.iter().filter(|finding| finding.is_error());
    if !(1..=MOST_ERRORS).contains(&errors().count()) || errors().any(is_beyond_repair) {
        return None;
    }
    let mut changes = members::changes(schema, arguments, findings)?;
    let mut open: Vec<&Pointer> = Vec::new();
    for finding in errors().filter(|finding| !members::concerns(finding)) {
        if is_changed(&changes, &finding.field_path) {
            continue;
        }
        match change(schema, arguments, finding) {
            Some(change) => changes.push(change),
            // Another rule that the same value breaks may know better.
            None => open.push(&finding.field_path),
        }
    }
    open.into_iter().all(|place| is_changed(&changes, place)).then_some(changes)
}

/// Returns true for a rule that only a different value can satisfy. Only the model knows that value.
fn is_beyond_repair(finding: &ValidationError) -> bool {
    finding.schema_path.is_none()
        || [
            &call_codes::CONSTRAINT_VIOLATION,
            &call_codes::INVALID_JSON,
            &call_codes::ARRAY_LENGTH_VIOLATION,
            &call_codes::STRING_LENGTH_VIOLATION,
        ]
        .iter()
        .any(|rule| rule.code == finding.error_code)
}

/// Returns true if a change already affects this place or a parent of it.
fn is_changed(changes: &[RepairStep], place: &Pointer) -> bool {
    changes.iter().any(|change| lies_in(place, change.place()))
}

/// The change that one value's finding suggests.
fn change(schema: &Schema, arguments: &Value, finding: &ValidationError) -> Option<RepairStep> {
    let value = finding.field_path.find(arguments)?;
    let code = finding.error_code.as_ref();
    if let Some(change) = nothing::change(schema, finding, value) {
        return Some(change);
    }
    let (value, confidence) = if code == call_codes::TYPE_MISMATCH.code {
        let (value, confidence) = reading::read(schema, finding, value)?;
        return Some(RepairStep::rewrite(&finding.field_path, value, confidence));
    } else if code == call_codes::INVALID_ENUM_VALUE.code {
        let (value, confidence) = choice::intended_option(schema, finding, value)?;
        return Some(RepairStep::rewrite(&finding.field_path, value, confidence));
    } else {
        // Patterns and formats rarely allow for blanks around a text, and such blanks are accidental.
        let text = value.as_str()?;
        let trimmed = text.trim();
        (trimmed.len() < text.len()).then(|| (Value::from(trimmed), Confidence::Safe))?
    };
    Some(RepairStep::replace(&finding.field_path, value, confidence))
}

#[cfg(test)]
mod lossless;
#[cfg(test)]
mod tests;
