use serde_json::Value;

use crate::finding::{ValidationError, codes};
use crate::json::{self, Pointer};

/// A document that does not meet its contract, with everything that is wrong with it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", told(.findings))]
#[non_exhaustive]
pub struct Invalid {
    /// What is wrong; at least one finding is an error.
    pub findings: Vec<ValidationError>,
}

impl Invalid {
    /// Passes on what meets its contract: findings without an error are no reason to refuse.
    ///
    /// # Errors
    ///
    /// When one of the findings is an error.
    pub fn unless_valid(findings: Vec<ValidationError>) -> Result<(), Self> {
        if findings.iter().any(ValidationError::is_error) { Err(Self { findings }) } else { Ok(()) }
    }

    /// Passes on a document of ours that meets its contract and that ordinary JSON readers can read.
    pub(crate) fn unless_emittable(
        document: &Value,
        mut findings: Vec<ValidationError>,
    ) -> Result<(), Self> {
        if !json::is_readable_output(document) {
            let finding = ValidationError::of(&codes::TOO_DEEP, Pointer::root())
                .with_message("the document is nested deeper than JSON readers accept")
                .with_expected(format!(
                    "at most {} levels of arrays and objects",
                    json::MAX_OUTPUT_DEPTH
                ));
            findings.push(finding);
        }
        Self::unless_valid(findings)
    }
}

impl Invalid {
    /// A document that passed its check and could still not be read into its type. The two are tested
    /// against each other, so this is our mistake; it is told rather than hidden.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        let finding = ValidationError::of(&codes::UNREADABLE, Pointer::root())
            .with_message(format!("the document could not be read: {error}"));
        Self { findings: vec![finding] }
    }
}

fn told(findings: &[ValidationError]) -> String {
    let mut errors = findings.iter().filter(|finding| finding.is_error());
    match (errors.next(), errors.count()) {
        (None, _) => "the document does not meet its contract".to_owned(),
        (Some(first), 0) => first.to_string(),
        (Some(first), more) => format!("{first} (and {more} more)"),
    }
}
