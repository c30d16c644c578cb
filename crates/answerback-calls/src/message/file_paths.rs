use answerback_findings::ValidationError;
use answerback_redaction::redact;

use super::{CallFailure, ErrorFormatter, hint};

/// The formatter for tools that work on files: it explains what a path has to look like where the
/// schema only has a pattern or a length, and says how to find one that is missing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to configure")]
pub struct FilePathFormatter;

impl ErrorFormatter for FilePathFormatter {
    fn hint(&self, failure: &CallFailure<'_>, finding: &ValidationError) -> Option<String> {
        if !is_path_field(finding) {
            return hint::standard(failure, finding);
        }
        let hint = match finding.error_code.as_ref() {
            "VAL-001" => {
                "Give the path of a file that you have seen; list the directory first if you have not."
            }
            "VAL-007" | "VAL-010" => path_fault(finding),
            "VAL-009" => "Give the path only, not the content of the file.",
            _ => return hint::standard(failure, finding),
        };
        Some(hint.to_owned())
    }

    fn advice(&self, failure: &CallFailure<'_>) -> Option<String> {
        failure
            .findings
            .iter()
            .any(|finding| is_path_field(finding) && finding.error_code != "VAL-005")
            .then(|| "Paths are relative to the workspace, with forward slashes.".to_owned())
    }
}

/// Names the mistake in a path, as far as the beginning of the path shows it.
fn path_fault(finding: &ValidationError) -> &'static str {
    let actual = finding.actual_value.as_deref().map(redact).unwrap_or_default();
    let path = actual.trim_matches('"');
    if path.contains("\\\\") || path.as_bytes().get(1) == Some(&b':') {
        "Write the path with forward slashes and without a drive letter."
    } else if path.starts_with('/') || path.starts_with('…') {
        "Write the path relative to the workspace, without the directories above it."
    } else if path.starts_with('~') {
        "Write the path relative to the workspace; '~' is not expanded."
    } else if path.split('/').any(|part| part == "..") {
        "Write the path without '..'."
    } else if path.contains("://") {
        "Write a path, not a URL."
    } else {
        "Write one path relative to the workspace, such as one from a directory listing."
    }
}

fn is_path_field(finding: &ValidationError) -> bool {
    finding.field_path.tokens().last().is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        ["path", "file", "filename", "directory", "dir", "folder"]
            .iter()
            .any(|word| name.ends_with(word))
            || name == "paths"
            || name == "source"
            || name == "destination"
    })
}
