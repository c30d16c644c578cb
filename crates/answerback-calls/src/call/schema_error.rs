use jsonschema::error::ValidationErrorKind;

use super::patterns::{BACKTRACK_LIMIT, LONG_TEXT};

/// The error for a schema that cannot check calls. The tool's author must fix it. A call against it is forwarded
/// unchecked and does not count as an attempt of the model.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tool's schema cannot be used: {message}")]
pub struct SchemaError {
    kind: SchemaErrorKind,
    message: String,
}

/// The kinds of schema errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// The schema is not a valid JSON Schema.
    Invalid,
    /// A reference has no target, or one outside the schema.
    Reference,
    /// A pattern does not compile in any engine.
    Pattern,
    /// A pattern backtracked too often on this value.
    Backtracking,
    /// The schema is nested too deep.
    TooDeep,
    /// The schema has too many values.
    TooLarge,
    /// The schema branches in too many ways.
    TooComplex,
}

impl SchemaErrorKind {
    pub(super) fn of(self, message: String) -> SchemaError {
        SchemaError { kind: self, message }
    }
}

impl SchemaError {
    /// Returns the kind of error.
    pub fn kind(&self) -> SchemaErrorKind {
        self.kind
    }

    /// True if only a part of the schema is wrong, so that the rest may be usable.
    pub(super) fn is_about_a_part(&self) -> bool {
        matches!(
            self.kind,
            SchemaErrorKind::Invalid | SchemaErrorKind::Reference | SchemaErrorKind::Pattern
        )
    }

    /// Returns the error for a schema without any keyword that checks something.
    pub(crate) fn no_check() -> Self {
        SchemaErrorKind::Invalid
            .of("it has no keyword of JSON Schema that checks anything".to_owned())
    }

    /// Returns the error for a tool without a schema.
    pub(crate) fn missing() -> Self {
        SchemaErrorKind::Invalid.of("the tool declares none".to_owned())
    }

    /// Returns the error for a value that is not a schema.
    pub(crate) fn no_schema(found: &str) -> Self {
        let article = if found.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
        SchemaErrorKind::Invalid.of(format!("it is {article} {found}, not a JSON Schema"))
    }

    pub(super) fn long_name() -> Self {
        SchemaErrorKind::Backtracking.of(format!(
            "its patterns for field names are matched with names of at most {LONG_TEXT} characters"
        ))
    }

    pub(super) fn too_complex() -> Self {
        SchemaErrorKind::TooComplex.of("it branches in too many ways to be followed".to_owned())
    }

    pub(super) fn uncompiled(error: &jsonschema::ValidationError<'_>) -> Self {
        let place = match error.instance_path().as_str() {
            "" => "(root)",
            place => place,
        };
        match error.kind() {
            ValidationErrorKind::Referencing(cause) => {
                let cause = bounded(&cause.to_string());
                SchemaErrorKind::Reference.of(format!("a reference leads nowhere: {cause}; only references within the schema are followed"))
            }
            ValidationErrorKind::Format { format } if format == "regex" => {
                let pattern = bounded(&error.instance().to_string());
                SchemaErrorKind::Pattern.of(format!(
                    "the pattern {pattern} at {place} is not a regular expression we can run"
                ))
            }
            _ => {
                SchemaErrorKind::Invalid.of(format!("at {place}: {}", bounded(&error.to_string())))
            }
        }
    }

    /// Converts a validation error that the schema causes, not the value. Returns `None` for all others.
    pub(super) fn while_checking(error: &jsonschema::ValidationError<'_>) -> Option<Self> {
        let place = error.schema_path().as_str();
        match error.kind() {
            ValidationErrorKind::BacktrackLimitExceeded { .. }
            | ValidationErrorKind::RegexEngineFailure { .. } => Some(SchemaErrorKind::Backtracking.of(
                format!("the pattern at {place} could not be matched within {BACKTRACK_LIMIT} steps back"),
            )),
            ValidationErrorKind::Referencing(cause) => Some(SchemaErrorKind::Reference.of(format!(
                "the reference at {place} leads nowhere: {}",
                bounded(&cause.to_string())
            ))),
            _ => None,
        }
    }
}

/// Shortens a foreign text and removes its control characters.
fn bounded(text: &str) -> String {
    const LONGEST: usize = 200;
    let plain: String =
        text.chars().filter(|character| !character.is_control()).take(LONGEST + 1).collect();
    match plain.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &plain[..end]),
        None => plain,
    }
}
