//! Reads the JSON documents of a solution and checks each against its schema.

use answerback::ValidationError;
use answerback::call::{Schema, SchemaError, check};
use answerback::contract::tool::ErrorObject;
use answerback::json::{self, Limits};
use serde_json::Value;

use super::file_error::BotFileError;
use super::folder::BotFolder;
use crate::tools::issue::{count_noun, plain};

/// The longest reason in a message, in characters.
const LONGEST_REASON: usize = 200;

/// The reason why a document cannot be used.
#[derive(Debug)]
pub(crate) enum UnusableFile {
    /// The file cannot be read.
    Access(BotFileError),
    /// The file is not JSON or breaks its schema. Holds the reason, and the findings if there are any.
    Invalid(String, Vec<ValidationError>),
}

impl UnusableFile {
    /// Reports a document that matches its schema but cannot be deserialized.
    pub(crate) fn unread(error: serde_json::Error) -> Self {
        Self::Invalid(plain(&error.to_string(), LONGEST_REASON), Vec::new())
    }

    /// Builds the error, with the document's own code if the file is missing or not valid. A file that cannot be read
    /// is reported with the code of that failure.
    pub(crate) fn issue(self, code: &str, what: &str, path: &str) -> ErrorObject {
        match self {
            Self::Access(trouble) if trouble.is_missing() => {
                ErrorObject::new(code, format!("{what} is missing")).with_path(path)
            }
            Self::Access(trouble) => trouble.issue(),
            Self::Invalid(reason, findings) => {
                let issue = ErrorObject::new(code, format!("{what} is not valid: {reason}"))
                    .with_path(path);
                if findings.is_empty() {
                    return issue;
                }
                // Findings are plain data, so serializing them cannot fail.
                issue.with_detail("errors", serde_json::to_value(findings).unwrap_or_default())
            }
        }
    }
}

/// Reads a JSON document and checks it against its schema.
pub(crate) fn read_document(
    folder: &BotFolder,
    path: &str,
    schema: &Schema,
) -> Result<Result<Value, UnusableFile>, SchemaError> {
    let text = match folder.read(path) {
        Ok(text) => text,
        Err(trouble) => return Ok(Err(UnusableFile::Access(trouble))),
    };
    let document = match json::read(text.as_bytes(), Limits::default()) {
        Ok(document) => document,
        Err(error) => {
            let reason = plain(&format!("it is not JSON ({error})"), LONGEST_REASON);
            return Ok(Err(UnusableFile::Invalid(reason, Vec::new())));
        }
    };
    // Duplicate names are errors, because two parsers can read them differently. Unknown members are only warnings, so
    // they are dropped.
    let mut findings = document.findings;
    findings.extend(check(schema, &document.value, ())?);
    findings.retain(ValidationError::is_error);
    Ok(match findings.first() {
        None => Ok(document.value),
        Some(first) => {
            let told =
                format!("{}, the first: {}", count_noun(findings.len(), "problem"), first.message);
            Err(UnusableFile::Invalid(plain(&told, LONGEST_REASON), findings))
        }
    })
}
