//! Collects the errors and warnings of an answer, within limits, and formats foreign text safely.

use std::fmt::Write;

use answerback::contract::tool::{EnvelopeBuilder, ErrorObject};
use answerback::finding::secrets::redact;

/// The codes of the catalogue that our tools use.
pub(crate) mod code {
    pub(crate) const DOTBOT_NOT_FOUND: &str = "DOTBOT_NOT_FOUND";
    pub(crate) const STATE_FILE_INVALID: &str = "STATE_FILE_INVALID";
    pub(crate) const PROJECT_NOT_FOUND: &str = "PROJECT_NOT_FOUND";
    pub(crate) const ALIAS_CONFLICT: &str = "ALIAS_CONFLICT";
    pub(crate) const REGISTRY_PARSE_ERROR: &str = "REGISTRY_PARSE_ERROR";
    pub(crate) const TECH_STACK_MISSING: &str = "TECH_STACK_MISSING";
    pub(crate) const STANDARDS_NOT_FOUND: &str = "STANDARDS_NOT_FOUND";
    pub(crate) const BROKEN_FILE_REFERENCE: &str = "BROKEN_FILE_REFERENCE";
    pub(crate) const FRONTMATTER_MISSING: &str = "FRONTMATTER_MISSING";
    pub(crate) const FRONTMATTER_INVALID: &str = "FRONTMATTER_INVALID";
    pub(crate) const CIRCULAR_DEPENDENCY: &str = "CIRCULAR_DEPENDENCY";
    pub(crate) const INVALID_PARAMETER: &str = "INVALID_PARAMETER";
    pub(crate) const IO_ERROR: &str = "IO_ERROR";
    pub(crate) const UNAUTHORIZED_OPERATION: &str = "UNAUTHORIZED_OPERATION";
    pub(crate) const PARTIAL_RESULT: &str = "PARTIAL_RESULT";
}

/// The largest number of errors, and of warnings, in one answer.
const MAX_COUNT: usize = 50;
/// The longest displayed name, in characters.
const MAX_NAME_LENGTH: usize = 80;

/// The errors and warnings of one answer.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    errors: Vec<ErrorObject>,
    warnings: Vec<ErrorObject>,
    left_out: usize,
}

impl Issues {
    pub(crate) fn error(&mut self, issue: ErrorObject) {
        push(&mut self.errors, issue, &mut self.left_out);
    }

    pub(crate) fn warning(&mut self, issue: ErrorObject) {
        push(&mut self.warnings, issue, &mut self.left_out);
    }

    /// True if an error has this code.
    pub(crate) fn has_error(&self, code: &str) -> bool {
        self.errors.iter().any(|issue| issue.code == code)
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(crate) fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Counts all issues, including those left out.
    pub(crate) fn count(&self) -> usize {
        self.errors.len() + self.warnings.len() + self.left_out
    }

    /// Adds the issues to an envelope. A warning reports the number of those left out.
    pub(crate) fn into_envelope(self, mut envelope: EnvelopeBuilder) -> EnvelopeBuilder {
        for error in self.errors {
            envelope = envelope.error(error);
        }
        for warning in self.warnings {
            envelope = envelope.warning(warning);
        }
        if self.left_out > 0 {
            let message = format!("{} not listed", count_noun(self.left_out, "more issue"));
            let issue = ErrorObject::new(code::PARTIAL_RESULT, message);
            envelope = envelope.warning(issue.with_detail("left_out", self.left_out));
        }
        envelope
    }
}

fn push(issues: &mut Vec<ErrorObject>, issue: ErrorObject, left_out: &mut usize) {
    if issues.len() < MAX_COUNT { issues.push(issue) } else { *left_out += 1 }
}

/// Formats a count with its noun: `1 project`, `2 projects`.
pub(crate) fn count_noun(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Quotes a foreign name for use inside one of our sentences: on one line, short, and without anything that would end
/// the sentence.
pub(crate) fn quoted(name: &str) -> String {
    let mut shown = String::from("'");
    shown.push_str(&plain(name, MAX_NAME_LENGTH));
    shown.push('\'');
    shown
}

/// Makes foreign text safe for a message: on one line, redacted, without ends of sentences, and cut to `longest`
/// characters.
pub(crate) fn plain(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    let mut characters = 0;
    let mut gap = false;
    for character in redact(text).chars() {
        if character.is_whitespace() {
            gap = !shown.ends_with(['.', '!', '?', '。']) && !shown.is_empty();
            continue;
        }
        if characters >= longest {
            shown.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            shown.push(' ');
            characters += 1;
        }
        if character.is_control() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
        characters += 1;
    }
    shown
}

#[cfg(test)]
mod tests {
    use answerback::Timestamp;

    use super::*;

    #[test]
    fn names_stay_part_of_one_sentence() {
        for (name, shown) in [
            ("plain", "'plain'"),
            ("My. Project", "'My.Project'"),
            ("two\nlines  and\tmore", "'two lines and more'"),
            ("bell\u{7}", "'bell\\u0007'"),
            ("  ", "''"),
        ] {
            assert_eq!(quoted(name), shown, "{name:?}");
        }
        assert_eq!(quoted(&"x".repeat(200)).chars().count(), MAX_NAME_LENGTH + 3);
    }

    #[test]
    fn more_than_an_answer_holds_is_told_as_a_number() {
        let mut issues = Issues::default();
        for index in 0..MAX_COUNT + 3 {
            issues.error(ErrorObject::new(code::IO_ERROR, format!("number {index}")));
        }
        assert_eq!(issues.count(), MAX_COUNT + 3);
        let envelope =
            EnvelopeBuilder::new("solution.info", "1.0.0").summary("Failed.").source("a");
        let envelope =
            issues.into_envelope(envelope).build(Timestamp::from_unix_millis(0)).unwrap();
        assert_eq!(envelope.errors().len(), MAX_COUNT);
        assert_eq!(envelope.warnings()[0].message, "3 more issues not listed");
    }
}
