use answerback_findings::{ValidationError, codes};
use answerback_json::Pointer;
use serde_json::Value;

/// Reports a document that does not meet its contract, with every finding.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", summary(.findings))]
#[non_exhaustive]
pub struct Invalid {
    /// The findings. At least one of them is an error.
    pub findings: Vec<ValidationError>,
}

impl Invalid {
    /// Succeeds if no finding is an error. Warnings do not make a document invalid.
    ///
    /// # Errors
    ///
    /// Returns all findings if one of them is an error.
    pub fn unless_valid(findings: Vec<ValidationError>) -> Result<(), Self> {
        if findings.iter().any(ValidationError::is_error) { Err(Self { findings }) } else { Ok(()) }
    }

    /// Succeeds if a document that we wrote meets its contract and is not nested too deep for ordinary JSON
    /// readers.
    pub(crate) fn unless_emittable(
        document: &Value,
        mut findings: Vec<ValidationError>,
    ) -> Result<(), Self> {
        if !answerback_json::is_readable_output(document) {
            let finding = ValidationError::of(&codes::TOO_DEEP, Pointer::root())
                .with_message("the document is nested deeper than JSON readers accept")
                .with_expected(format!(
                    "at most {} levels of arrays and objects",
                    answerback_json::MAX_OUTPUT_DEPTH
                ));
            findings.push(finding);
        }
        Self::unless_valid(findings)
    }
}

impl Invalid {
    /// Reports a document that passed its check but could not be parsed into its type. Tests compare the two,
    /// so this is a bug in this library.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        let finding = ValidationError::of(&codes::UNREADABLE, Pointer::root())
            .with_message(format!("the document could not be read: {error}"));
        Self { findings: vec![finding] }
    }
}

fn summary(findings: &[ValidationError]) -> String {
    let mut errors = findings.iter().filter(|finding| finding.is_error());
    match (errors.next(), errors.count()) {
        (None, _) => "the document does not meet its contract".to_owned(),
        (Some(first), 0) => first.to_string(),
        (Some(first), more) => format!("{first} (and {more} more)"),
    }
}
