use std::cmp::Reverse;
use std::fmt;

use answerback_findings::{Severity, ValidationError};
use answerback_json::Limits;
use serde::Serialize;
use serde_json::Value;

use super::excerpt::{Excerpt, ExcerptWindow};
use super::mistake::{Mistake, MistakeEffect, MistakeKind};
use super::reader::{self, TolerantDocument};

/// The number of kinds of mistake that a message names.
const NAMED: usize = 3;

/// The confidence in a tolerant reading or in a repair.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the command line promises exactly these two")]
pub enum Confidence {
    /// Only the syntax was foreign; there is no other reading.
    Safe,
    /// The likeliest reading of several.
    Guess,
}

impl Confidence {
    /// Returns the lowercase word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Guess => "guess",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The probable value of a malformed text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProbableValue {
    /// The value.
    pub value: Value,
    /// The confidence that the value is the intended one.
    pub confidence: Confidence,
}

/// The error for a text that is not valid JSON: its mistakes, their places, and the probable reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Malformed(Box<MalformedInner>);

#[derive(Clone, Debug, PartialEq)]
struct MalformedInner {
    mistakes: Vec<Mistake>,
    /// The text around the first mistake. The excerpt is created on demand, because its search for secrets is slow
    /// and many callers need only the reading.
    window: ExcerptWindow,
    reading: Option<ProbableValue>,
}

impl Malformed {
    /// Parses a text that the strict parser rejected.
    pub(super) fn parse(text: &str, limits: Limits) -> Self {
        let TolerantDocument { value, mut notes } = reader::read_tolerantly(text, limits);
        if notes.is_empty() {
            // The strict parser rejected something that the tolerant one accepts, such as a no-break space.
            notes.push((MistakeKind::Other, strange(text, limits)));
        }
        // Mistakes that prevent a reading come first, then those that leave doubt, then the rest, each in text order.
        notes.sort_by_key(|&(kind, offset)| (Reverse(kind.effect()), offset));
        let confidence = match notes[0].0.effect() {
            MistakeEffect::Safe => Some(Confidence::Safe),
            MistakeEffect::Guess => Some(Confidence::Guess),
            MistakeEffect::Unreadable => None,
        };
        // The skipped text may contain the name that marks a value as secret.
        let is_covered = |value: &Value| {
            notes.iter().all(|&(kind, _)| kind != MistakeKind::LeadingText)
                || !uncovers(value, text)
        };
        let reading = value
            .filter(is_covered)
            .filter(answerback_json::is_readable_output)
            .zip(confidence)
            .map(|(value, confidence)| ProbableValue { value, confidence });
        Self::new(text, &notes, reading)
    }

    /// Creates the error for a text over the size limit, which is not searched for mistakes.
    pub(super) fn unread(text: &str) -> Self {
        Self::new(text, &[(MistakeKind::OverLimit, 0)], None)
    }

    fn new(text: &str, notes: &[(MistakeKind, usize)], reading: Option<ProbableValue>) -> Self {
        let mistakes = notes.iter().map(|&(kind, offset)| {
            let (line, column) = super::read::line_and_column(text, offset);
            Mistake { kind, line, column }
        });
        let window = ExcerptWindow::of(text, notes.first().map_or(0, |&(_, offset)| offset));
        Self(Box::new(MalformedInner { mistakes: mistakes.collect(), window, reading }))
    }

    /// Returns every kind of mistake once, at its first place, the most serious first. There is at least one.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.0.mistakes
    }

    /// Returns the text around the first of [`Malformed::mistakes`]. It is the model's own text, without text that
    /// has the shape of a secret or is near the name of one.
    pub fn excerpt(&self) -> Excerpt {
        self.0.window.excerpt()
    }

    /// Returns the probable reading, if there is one.
    pub fn reading(&self) -> Option<&ProbableValue> {
        self.0.reading.as_ref()
    }

    /// Converts the error into the probable reading, if there is one.
    pub fn into_reading(self) -> Option<ProbableValue> {
        self.0.reading
    }

    /// True if the text ends before the value does, so that more than brackets may be missing.
    pub fn is_cut_off(&self) -> bool {
        let is_end = |mistake: &Mistake| {
            matches!(mistake.kind, MistakeKind::Truncated(_) | MistakeKind::Unclosed(_))
        };
        self.mistakes().iter().any(is_end)
    }

    /// Describes the text that the reading omits or may lack, for the model.
    pub fn omissions(&self) -> Vec<&'static str> {
        let words = |mistake: &Mistake| match mistake.kind {
            MistakeKind::Unclosed(_) => Some("the text ended early; add what is missing"),
            MistakeKind::SecondValue => {
                Some("only the first of several values; send the others one by one")
            }
            MistakeKind::StrayText => Some("without the text that belongs to no member"),
            MistakeKind::Ellipsis => Some("without what the ellipsis stands for"),
            _ => None,
        };
        self.mistakes().iter().filter_map(words).collect()
    }

    /// Creates the finding for the model: `VAL-004` at the root, with the excerpt as the actual value.
    pub fn finding(&self) -> ValidationError {
        ValidationError::new("VAL-004", Severity::Error)
            .with_message(format!("Invalid JSON: {self}"))
            .with_expected("one JSON object (RFC 8259) and nothing else")
            .with_actual(self.excerpt().inline())
    }
}

/// True if a value contains text that is secret in its original text, although the value alone does not look secret.
fn uncovers(value: &Value, text: &str) -> bool {
    let hidden: Vec<&str> = answerback_redaction::find_cut(text)
        .into_iter()
        .map(|secret| &text[secret.range])
        .collect();
    !hidden.is_empty() && shows_any(&answerback_redaction::redact_value(value), &hidden)
}

fn shows_any(value: &Value, hidden: &[&str]) -> bool {
    /// The minimum length of a compared text. Shorter ones reveal nothing and would match anywhere.
    const LEAST: usize = 4;
    match value {
        Value::String(text) => {
            // The value may appear in the text as it is, or in escaped form.
            let quoted = value.to_string();
            let written = &quoted[1..quoted.len() - 1];
            text.len() >= LEAST
                && hidden.iter().any(|hidden| hidden.contains(text) || hidden.contains(written))
        }
        Value::Array(elements) => elements.iter().any(|element| shows_any(element, hidden)),
        Value::Object(members) => members.values().any(|member| shows_any(member, hidden)),
        _ => false,
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.mistakes.iter().take(NAMED).enumerate() {
            let joint = if index == 0 { "" } else { ". Also: " };
            write!(formatter, "{joint}{mistake}")?;
        }
        match self.0.mistakes.len().saturating_sub(NAMED) {
            0 => Ok(()),
            1 => formatter.write_str(". And 1 more kind of mistake"),
            more => write!(formatter, ". And {more} more kinds of mistake"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Returns the offset at which the strict parser stopped.
fn strange(text: &str, limits: Limits) -> usize {
    let Err(error) = crate::read(text.as_bytes(), limits) else { return 0 };
    let start: usize = text.split_inclusive('\n').take(error.line - 1).map(str::len).sum();
    text[start..].char_indices().nth(error.column - 1).map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn tells_the_model_what_to_do() {
        let texts = [
            "{'city': 'Rome', 'metric': True,}",
            r#"{"height": 6*30.48, "unit": "imperial"}"#,
            r#"{"p": 1/6}"#,
            r#"{"path": "a.txt", "content": "once upon a ti"#,
            "```json\n{\"a\": 1}\n```\nDone.",
            "{a: b, c: 1 d: 2, e: [1, 2}",
        ];
        let mut told = String::new();
        for text in texts {
            let finding = Malformed::parse(text, Limits::default()).finding();
            let actual = finding.actual_value.unwrap();
            writeln!(told, "{} {}\n  {actual}", finding.error_code, finding.message).unwrap();
        }
        insta::assert_snapshot!(told, @r#"
        VAL-004 Invalid JSON: names and strings stand in single quotes; use double quotes (line 1, column 2). Also: a Python literal; write true, false or null, and plain strings (line 1, column 28). Also: a comma with nothing after it; remove it (line 1, column 32)
          {→'city': 'Rome', 'metric': True…
        VAL-004 Invalid JSON: arithmetic instead of a number; compute it and send the number (line 1, column 12)
          {"height": →6*30.48, "unit": "imperial"}
        VAL-004 Invalid JSON: an expression instead of a value; compute it and send the number, or quote it if it is a text (line 1, column 7)
          {"p": →1/6}
        VAL-004 Invalid JSON: the text ends within a string; finish it, or send less (line 1, column 45)
          …t", "content": "once upon a ti→
        VAL-004 Invalid JSON: a code fence around the JSON; send the JSON alone (line 1, column 1)
          →```json
        VAL-004 Invalid JSON: a string without quotes; put it in double quotes (line 1, column 5). Also: a comma is missing between two members or elements (line 1, column 13). Also: a closing bracket is missing; every { needs its } and every [ its ] (line 1, column 27). And 1 more kind of mistake
          {a: →b, c: 1 d: 2, e: [1, 2}
        "#);
    }
}
