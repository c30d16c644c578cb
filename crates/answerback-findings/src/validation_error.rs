use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use answerback_json::Pointer;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::Rule;
use answerback_redaction::redact_pointer;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the retry contract defines exactly these three")]
pub enum Severity {
    /// The document is not valid, or the call does not run, until it is fixed.
    Error,
    /// It should be fixed, but does not stop the call.
    Warning,
    /// Information only.
    Info,
}

impl Severity {
    /// Returns the lowercase word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A problem in a document or a call: its place, its description and the expected value.
///
/// ```
/// use answerback_findings::{Severity, ValidationError};
///
/// let finding = ValidationError::new("VAL-001", Severity::Error)
///     .with_path("/path".try_into()?)
///     .with_message("Required field 'path' is missing")
///     .with_expected("string");
/// assert_eq!(finding.to_string(), "error VAL-001 at /path: Required field 'path' is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ValidationError {
    /// The stable code, such as `VAL-001`; `super::codes::find` explains it.
    pub error_code: Cow<'static, str>,
    /// The place in the document or the arguments. A missing member is reported at its own place. Serializing it
    /// redacts names that are secrets.
    #[serde(serialize_with = "without_secrets")]
    pub field_path: Pointer,
    /// The description of the problem, in one line.
    pub message: String,
    /// The severity.
    pub severity: Severity,
    /// A description of the values that are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_value: Option<String>,
    /// A short, redacted preview of the actual value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_value: Option<String>,
    /// For calls: the schema keyword that failed, as an evaluation path through `$ref`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_path: Option<Pointer>,
    /// Facts that hints and repairs need. They are never serialized.
    #[serde(skip)]
    pub facts: FindingFacts,
}

/// The facts about a finding, shared by hints, repairs and examples so that they all agree.
///
/// They follow from the schema and the arguments, so comparisons of findings ignore them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FindingFacts {
    /// All values that are permitted at the place, if several branches of a union list some.
    pub values: Option<Arc<[Value]>>,
    /// All types that are permitted at the place, if several branches of a union name some.
    pub types: Vec<&'static str>,
    /// True if the value means "nothing" and the schema permits the field to be omitted.
    pub is_omittable: bool,
    /// True if the schema requires a field that it also forbids, so that no call can be valid.
    pub is_contradiction: bool,
}

impl PartialEq for FindingFacts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for FindingFacts {}

impl ValidationError {
    /// Creates a finding at the root, with an empty message.
    pub fn new(error_code: impl Into<Cow<'static, str>>, severity: Severity) -> Self {
        Self {
            error_code: error_code.into(),
            field_path: Pointer::root(),
            message: String::new(),
            severity,
            expected_value: None,
            actual_value: None,
            schema_path: None,
            facts: FindingFacts::default(),
        }
    }

    /// Creates a finding for a documented rule. The rule's title is the message until another is set.
    pub fn of(rule: &'static Rule, field_path: Pointer) -> Self {
        Self::new(rule.code, rule.severity).with_path(field_path).with_message(rule.title)
    }

    /// Sets the place.
    #[must_use]
    pub fn with_path(mut self, field_path: Pointer) -> Self {
        self.field_path = field_path;
        self
    }

    /// Sets the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Sets the severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the description of the expected value.
    #[must_use]
    pub fn with_expected(mut self, expected: impl Into<String>) -> Self {
        self.expected_value = Some(expected.into());
        self
    }

    /// Sets the preview of the actual value. The caller must have redacted it.
    #[must_use]
    pub fn with_actual(mut self, actual: impl Into<String>) -> Self {
        self.actual_value = Some(actual.into());
        self
    }

    /// Sets the path of the failed schema keyword.
    #[must_use]
    pub fn with_schema_path(mut self, schema_path: Pointer) -> Self {
        self.schema_path = Some(schema_path);
        self
    }

    /// True if this finding alone makes a document invalid or stops a call.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

fn without_secrets<S: Serializer>(path: &Pointer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redact_pointer(path.as_str()))
}

impl fmt::Display for ValidationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match redact_pointer(self.field_path.as_str()) {
            place if place.is_empty() => Cow::Borrowed("(root)"),
            place => place,
        };
        write!(formatter, "{} {} at {place}: {}", self.severity, self.error_code, self.message)
    }
}
