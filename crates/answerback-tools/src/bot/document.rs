//! The JSON documents of a solution, each held against its schema.

use answerback::ValidationError;
use answerback::call::{Schema, SchemaError, check};
use answerback::contract::tool::ErrorObject;
use answerback::json::{self, Limits};
use serde_json::Value;

use super::folder::Folder;
use super::trouble::Trouble;
use crate::issue::{counted, plain};

/// The longest reason told, in characters.
const LONGEST_REASON: usize = 200;

/// Why a document cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// Its file cannot be read.
    Trouble(Trouble),
    /// It is not JSON, or breaks its schema: why, and the findings where there are any.
    Invalid(String, Vec<ValidationError>),
}

impl Unusable {
    /// A document that met its schema and still was not what a type needs.
    pub(crate) fn unread(error: serde_json::Error) -> Self {
        Self::Invalid(plain(&error.to_string(), LONGEST_REASON), Vec::new())
    }

    /// The issue, under the code that the document has for itself. A file that the system keeps from us is told
    /// as that.
    pub(crate) fn issue(self, code: &str, what: &str, path: &str) -> ErrorObject {
        match self {
            Self::Trouble(trouble) if trouble.is_missing() => {
                ErrorObject::new(code, format!("{what} is missing")).with_path(path)
            }
            Self::Trouble(trouble) => trouble.issue(),
            Self::Invalid(reason, findings) => {
                let issue = ErrorObject::new(code, format!("{what} is not valid: {reason}"))
                    .with_path(path);
                if findings.is_empty() {
                    return issue;
                }
                // Findings are plain data, which always serialises.
                issue.with_detail("errors", serde_json::to_value(findings).unwrap_or_default())
            }
        }
    }
}

/// Reads a JSON document and holds it against its schema.
pub(crate) fn read_document(
    folder: &Folder,
    path: &str,
    schema: &Schema,
) -> Result<Result<Value, Unusable>, SchemaError> {
    let text = match folder.read(path) {
        Ok(text) => text,
        Err(trouble) => return Ok(Err(Unusable::Trouble(trouble))),
    };
    let document = match json::read(text.as_bytes(), Limits::default()) {
        Ok(document) => document,
        Err(error) => {
            let reason = plain(&format!("it is not JSON ({error})"), LONGEST_REASON);
            return Ok(Err(Unusable::Invalid(reason, Vec::new())));
        }
    };
    // Names that stand twice are how two readers come to disagree; members that we do not know are others' own.
    let mut findings = document.findings;
    findings.extend(check(schema, &document.value, ())?);
    findings.retain(ValidationError::is_error);
    Ok(match findings.first() {
        None => Ok(document.value),
        Some(first) => {
            let told =
                format!("{}, the first: {}", counted(findings.len(), "problem"), first.message);
            Err(Unusable::Invalid(plain(&told, LONGEST_REASON), findings))
        }
    })
}
