//! Finds everything that is wrong with one call.

mod fields;
#[cfg(test)]
mod tests;
mod unions;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use answerback_findings::{Preview, Severity, ValidationError, call_codes, kind_at};
use answerback_json::Pointer;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::argument_preview::preview_argument;
use super::effort::{self, Effort};
use super::expected::described;
use super::formats::{self, FormatMode};
use super::outline::{NodeId, SchemaOutline};
use super::schema::{FormatReading, Schema};
use super::schema_error::SchemaError;
use super::{omission, pattern_guard, wording};

/// The deepest arguments, counted in arrays and objects.
const DEEPEST: usize = 128;
/// The maximum number of findings of one call.
const MOST_FINDINGS: usize = 1_000;

/// The options for checking a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Makes an unknown field an error, even if the schema allows additional fields.
    pub strict: bool,
    /// The mode in which the `format` keyword is checked.
    pub formats: FormatMode,
    /// The longest preview of an actual value, in characters.
    pub max_value_preview: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { strict: false, formats: FormatMode::default(), max_value_preview: 100 }
    }
}

impl CheckOptions {
    /// Sets if an unknown field is always an error.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets the mode in which the `format` keyword is checked.
    #[must_use]
    pub fn with_formats(mut self, mode: FormatMode) -> Self {
        self.formats = mode;
        self
    }

    /// Sets the longest preview of an actual value, in characters.
    #[must_use]
    pub fn with_max_value_preview(mut self, characters: usize) -> Self {
        self.max_value_preview = characters;
        self
    }
}

impl From<()> for CheckOptions {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// Lists everything that is wrong with a call's arguments, in the order of the schema. The call is valid if no
/// finding [is an error](ValidationError::is_error).
///
/// ```
/// use answerback_calls::call::{CheckOptions, Schema, check};
/// use serde_json::json;
///
/// let schema = Schema::compile(json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}},
///     "required": ["path"],
/// }))?;
/// let arguments = json!({"pth": "src/main.rs"});
/// let findings = check(&schema, &arguments, CheckOptions::default().with_strict(true))?;
/// let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [
///     "error VAL-001 at /path: Required field 'path' is missing",
///     "error VAL-005 at /pth: Unknown field 'pth'",
/// ]);
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the schema is at fault and not the call: a pattern exceeds the backtrack limit, a reference
/// has no target, or the schema is too complex. Such a call is forwarded unchecked.
pub fn check(
    schema: &Schema,
    arguments: &Value,
    options: impl Into<CheckOptions>,
) -> Result<Vec<ValidationError>, SchemaError> {
    let options = options.into();
    let preview = Preview::new().with_max_characters(options.max_value_preview);
    let mut findings = Findings {
        schema,
        arguments,
        preview,
        list: Vec::new(),
        known: HashMap::new(),
        is_bounded: false,
    };
    if answerback_json::is_deeper_than(arguments, DEEPEST) {
        findings.too_deep();
        return Ok(findings.list);
    }
    let long = pattern_guard::find(schema, arguments);
    if long.has_name {
        return Err(SchemaError::long_name());
    }
    findings.is_bounded = !long.is_empty();
    match effort::of(&schema.outline, arguments) {
        Effort::Listing => findings.list(options.formats)?,
        Effort::Verdict if has_verdict(schema, arguments, options.formats, !long.is_empty()) => {}
        Effort::Verdict => findings.unlisted(),
        Effort::TooMuch => return Err(SchemaError::too_complex()),
    }
    findings.unknown(options);
    for place in long.texts {
        findings.not_matched(place);
    }
    omission::mark(&mut findings.list, schema, arguments);
    Ok(findings.list)
}

/// True if the arguments are valid. It builds no findings for most schemas, so it is faster than [`check`].
pub(super) fn is_valid(
    schema: &Schema,
    arguments: &Value,
    options: CheckOptions,
) -> Result<bool, SchemaError> {
    let long = pattern_guard::find(schema, arguments);
    if long.has_name {
        return Err(SchemaError::long_name());
    }
    if answerback_json::is_deeper_than(arguments, DEEPEST) {
        return Ok(false);
    }
    let effort = effort::of(&schema.outline, arguments);
    if effort == Effort::TooMuch {
        return Err(SchemaError::too_complex());
    }
    if has_verdict(schema, arguments, options.formats, !long.is_empty()) {
        return Ok(true);
    }
    let reads_more = matches!(options.formats, FormatMode::Lenient | FormatMode::Warn);
    if schema.has_formats && reads_more && effort == Effort::Listing {
        // Neither format mode accepts the arguments, but they may object to different places. Only the findings
        // answer that.
        let findings = check(schema, arguments, options.with_strict(false))?;
        return Ok(!findings.iter().any(ValidationError::is_error));
    }
    // A pattern that exceeded the backtrack limit also looks invalid.
    let formats = if options.formats == FormatMode::Off {
        FormatReading::Ignored
    } else {
        FormatReading::Rfc
    };
    match schema.validator(formats, !long.is_empty()).validate(arguments) {
        Err(error) => SchemaError::while_checking(&error).map_or(Ok(false), Err),
        Ok(()) => Ok(true),
    }
}

/// Returns the format check that a mode applies to values that do not follow the RFCs.
fn reading(mode: FormatMode) -> FormatReading {
    match mode {
        FormatMode::Assert => FormatReading::Rfc,
        FormatMode::Lenient => FormatReading::Readable,
        FormatMode::Warn | FormatMode::Off => FormatReading::Ignored,
    }
}

/// True if the validator accepts the arguments.
///
/// A lenient format check can reject arguments that the RFCs accept: a value may then fit both formats of a `oneOf`.
/// So a value that follows the RFCs is always valid, except in the mode that ignores formats.
fn has_verdict(schema: &Schema, arguments: &Value, mode: FormatMode, is_bounded: bool) -> bool {
    let follows = || schema.validator(FormatReading::Rfc, is_bounded).is_valid(arguments);
    let is_read = || schema.validator(reading(mode), is_bounded).is_valid(arguments);
    match mode {
        FormatMode::Assert => follows(),
        FormatMode::Off => is_read(),
        FormatMode::Lenient | FormatMode::Warn => follows() || schema.has_formats && is_read(),
    }
}

/// Returns the path of the broken rule and the place of the value.
fn key(error: &jsonschema::ValidationError<'_>) -> (String, String) {
    (error.evaluation_path().as_str().to_owned(), error.instance_path().as_str().to_owned())
}

/// True if the only mistake is a format that some parser accepts.
fn is_about_formats(error: &jsonschema::ValidationError<'_>, mode: FormatMode) -> bool {
    use ValidationErrorKind as Kind;
    match error.kind() {
        Kind::Format { format } => {
            let text = error.instance().as_str().unwrap_or_default();
            mode == FormatMode::Warn || formats::is_readable(format, text)
        }
        Kind::PropertyNames { error } => is_about_formats(error, mode),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            context.iter().any(|branch| are_about_formats(branch, mode))
        }
        _ => false,
    }
}

fn are_about_formats(branch: &[jsonschema::ValidationError<'static>], mode: FormatMode) -> bool {
    !branch.is_empty() && branch.iter().all(|error| is_about_formats(error, mode))
}

struct Findings<'s> {
    schema: &'s Schema,
    arguments: &'s Value,
    preview: Preview,
    list: Vec<ValidationError>,
    /// The descriptions of the fields that an object may have, by the subschemas that apply to it.
    known: HashMap<Rc<[NodeId]>, String>,
    /// True if long texts are not matched with some patterns.
    is_bounded: bool,
}

impl Findings<'_> {
    /// Adds the validator's findings, with formats checked by this mode.
    fn list(&mut self, mode: FormatMode) -> Result<(), SchemaError> {
        let schema = self.schema;
        let list = |reading| {
            let errors = schema.validator(reading, self.is_bounded).iter_errors(self.arguments);
            errors.collect::<Vec<_>>()
        };
        let first =
            if mode == FormatMode::Off { FormatReading::Ignored } else { FormatReading::Rfc };
        let errors = list(first);
        let reads_more = matches!(mode, FormatMode::Lenient | FormatMode::Warn);
        if errors.is_empty() || !schema.has_formats || !reads_more {
            return errors.iter().try_for_each(|error| self.add(error));
        }
        // A mistake in both format checks is an error; a mistake by the RFCs alone is a warning.
        let left = list(reading(mode));
        let by_rfc: HashSet<_> = errors.iter().map(key).collect();
        for error in left.iter().filter(|error| by_rfc.contains(&key(error))) {
            self.add(error)?;
        }
        let left: HashSet<_> = left.iter().map(key).collect();
        for error in errors.iter().filter(|error| !left.contains(&key(error))) {
            self.add_warning(error, mode)?;
        }
        Ok(())
    }

    /// Adds a warning for a value that only breaks the RFC of its format.
    fn add_warning(
        &mut self,
        error: &jsonschema::ValidationError<'_>,
        mode: FormatMode,
    ) -> Result<(), SchemaError> {
        use ValidationErrorKind as Kind;
        let fitting = match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                context.iter().find(|branch| are_about_formats(branch, mode))
            }
            _ => None,
        };
        if let Some(branch) = fitting {
            return branch.iter().try_for_each(|error| self.add_warning(error, mode));
        }
        let first = self.list.len();
        self.add(error)?;
        for finding in &mut self.list[first..] {
            finding.severity = finding.severity.max(Severity::Warning);
        }
        Ok(())
    }

    fn push(&mut self, mut finding: ValidationError) {
        // A broken rule in another document has no description.
        finding.expected_value = finding.expected_value.filter(|expected| !expected.is_empty());
        let told = |earlier: &ValidationError| {
            earlier.field_path == finding.field_path
                && earlier.error_code == finding.error_code
                && earlier.message == finding.message
                && earlier.expected_value == finding.expected_value
        };
        if self.list.len() < MOST_FINDINGS && !self.list.iter().any(told) {
            self.list.push(finding);
        }
    }

    fn add(&mut self, error: &jsonschema::ValidationError<'_>) -> Result<(), SchemaError> {
        use ValidationErrorKind as Kind;
        if let Some(fault) = SchemaError::while_checking(error) {
            return Err(fault);
        }
        match error.kind() {
            Kind::AnyOf { context } => self.union(error, "anyOf", context)?,
            Kind::OneOfNotValid { context } => self.union(error, "oneOf", context)?,
            Kind::OneOfMultipleValid { context } => self.too_many(error, context),
            Kind::Required { property } => {
                self.missing(error, property.as_str().unwrap_or_default());
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let owner: Rc<[NodeId]> = Rc::new([self.owner(error)]);
                for name in unexpected {
                    let value = error.instance().get(name).unwrap_or(&Value::Null);
                    let place = pointer(error.instance_path().as_str()).join(name);
                    let schema_path = pointer(error.evaluation_path().as_str());
                    self.unknown_field(&place, name, value, schema_path, &owner, Severity::Error);
                }
            }
            kind => {
                let mut place = pointer(error.instance_path().as_str());
                if let Kind::PropertyNames { error } = kind {
                    place = place.join(error.instance().as_str().unwrap_or_default());
                }
                let value = error.instance();
                let shown = self.preview_value(value, &place);
                let message = match kind {
                    Kind::Contains => {
                        let rule = error.schema_path().as_str().rsplit('/').next();
                        wording::contained(rule.unwrap_or_default()).to_owned()
                    }
                    _ => wording::message(kind, value, &shown),
                };
                let finding = ValidationError::of(wording::rule(kind), place)
                    .with_message(message)
                    .with_expected(self.expected(error))
                    .with_actual(shown)
                    .with_schema_path(self.schema_path(error));
                self.push(finding);
            }
        }
        Ok(())
    }

    /// Returns the place of a broken rule in the schema as its author wrote it.
    fn schema_path(&self, error: &jsonschema::ValidationError<'_>) -> Pointer {
        let path = error.evaluation_path().as_str();
        // `bounded_source` moved the pattern into a condition that the author did not write.
        if self.is_bounded
            && let Some(condition) = path.strip_suffix("/then/pattern")
            && let Some((all, _)) = condition.rsplit_once('/')
            && let Some(holder) = all.strip_suffix("/allOf")
        {
            let written = pointer(&format!("{holder}/pattern"));
            if self.schema.at(&pointer(condition)).is_none() && self.schema.at(&written).is_some() {
                return written;
            }
        }
        pointer(path)
    }

    /// Returns the subschema that contains the failed keyword. A keyword such as `not` has its own subschema, which
    /// states the forbidden values and not the expected ones.
    fn owner(&self, error: &jsonschema::ValidationError<'_>) -> NodeId {
        let outline = &self.schema.outline;
        let keyword = error.schema_path().as_str();
        let keyword_place = match error.kind() {
            ValidationErrorKind::FalseSchema => keyword,
            _ => keyword.rsplit_once('/').map_or(keyword, |(holder, _)| holder),
        };
        match outline.elsewhere {
            // A place in another document can look like a place in this one.
            Some(elsewhere)
                if self.schema.at(&pointer(error.evaluation_path().as_str())).is_none() =>
            {
                elsewhere
            }
            _ => outline.owner(keyword_place),
        }
    }

    /// Describes the values that the subschema with the broken rule accepts.
    fn expected(&self, error: &jsonschema::ValidationError<'_>) -> String {
        self.describe_node(self.owner(error))
    }

    fn describe_node(&self, node: NodeId) -> String {
        let source = self.schema.source();
        let place = &self.schema.outline.node(node).place;
        answerback_json::find(source, place).map(|part| described(part, source)).unwrap_or_default()
    }

    /// Adds a warning for a text that is too long for one of its patterns. The call is still valid, because the
    /// schema does not limit the text's length.
    fn not_matched(&mut self, place: Pointer) {
        let value = place.find(self.arguments).unwrap_or(&Value::Null);
        let shown = self.preview_value(value, &place);
        let finding = ValidationError::of(&call_codes::PATTERN_MISMATCH, place)
            .with_severity(Severity::Warning)
            .with_message(wording::not_matched(self.schema.can_bound_patterns()))
            .with_actual(shown)
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    /// Returns a preview of the value at a place. If a neighboring value marks it as a secret, the value is redacted.
    fn preview_value(&self, value: &Value, place: &Pointer) -> String {
        match kind_at(self.arguments, place) {
            Some(kind) => self.preview.show_secret(kind),
            None => preview_argument(value, place, self.schema, &self.preview),
        }
    }

    fn too_deep(&mut self) {
        let finding = ValidationError::of(&call_codes::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(format!("Arguments nest deeper than {DEEPEST} levels"))
            .with_expected(format!("at most {DEEPEST} levels of arrays and objects"))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    /// Adds one finding for invalid arguments whose branches are too many to compare.
    fn unlisted(&mut self) {
        let finding = ValidationError::of(&call_codes::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(
                "Value fits none of the forms that its schema allows; they are too many to compare",
            )
            .with_expected(self.describe_node(SchemaOutline::ROOT))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }
}

/// Converts a place from the validator, which is already escaped.
fn pointer(place: &str) -> Pointer {
    Pointer::try_from(place).unwrap_or_default()
}

/// Describes in one line, for a person, how a value breaks a schema. Returns `None` if it fits.
pub fn misfit(schema: &Schema, value: &Value) -> Option<String> {
    let findings = match check(schema, value, ()) {
        Ok(findings) => findings,
        // A value that cannot be checked does not fit.
        Err(error) => return Some(error.to_string()),
    };
    let wrong: Vec<String> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .map(|finding| format!("{}: {}", finding.field_path, finding.message))
        .collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}
