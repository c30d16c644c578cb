use answerback_findings::{Severity, ValidationError, call_codes, codes};
use answerback_json::{Limits, Pointer};
use answerback_parse::ReadError;
use serde_json::Value;

use crate::retry::Turn;

/// A call as a line of a log, or a request, states it:
/// `{"id", "tool", "arguments", "conversation"?, "turn"?, "model"?}`.
///
/// `arguments` is a value, or a string with the raw text that the model wrote. Lines without `conversation`
/// belong to one conversation. A line without `turn` is a turn of its own. Other members are ignored.
///
/// ```
/// use answerback_calls::checker::CallRequest;
///
/// let line = br#"{"id": "c1", "tool": "now", "arguments": "{}", "conversation": "7", "turn": 3}"#;
/// let line = CallRequest::read(line, Default::default())?;
/// assert_eq!((line.id.as_deref(), line.tool.as_str()), (Some("c1"), "now"));
/// # Ok::<(), answerback_calls::checker::CallRequestError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallRequest {
    /// The id of this call.
    pub id: Option<String>,
    /// The tool's name, as sent.
    pub tool: String,
    /// The arguments, as sent.
    pub arguments: Option<Value>,
    /// The conversation that the call is part of.
    pub conversation: Option<String>,
    /// The turn of the conversation; calls of one turn are parallel calls.
    pub turn: Option<Turn>,
    /// The model that made the call.
    pub model: Option<String>,
    /// The findings from parsing the arguments: repeated names, and numbers that do not fit.
    pub(super) findings: Vec<ValidationError>,
}

impl CallRequest {
    /// Creates a call of a tool.
    pub fn new(tool: impl Into<String>, arguments: impl Into<Option<Value>>) -> Self {
        Self { tool: tool.into(), arguments: arguments.into(), ..Self::default() }
    }

    /// Creates a call of a tool and parses its arguments from JSON text.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are not JSON or exceed the limits.
    pub fn from_text(
        tool: impl Into<String>,
        arguments: &str,
        limits: Limits,
    ) -> Result<Self, CallRequestError> {
        let document = answerback_parse::read(arguments.as_bytes(), limits)?;
        let mut line = Self::new(tool, document.value);
        for finding in document.findings {
            let place = finding.field_path.clone();
            if !place.is_root() {
                let is_repeated = finding.error_code == codes::DUPLICATE_NAME.code;
                line.findings.push(within(finding, place, is_repeated));
            }
        }
        Ok(line)
    }

    /// Sets the call's id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the conversation.
    #[must_use]
    pub fn with_conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Sets the turn.
    #[must_use]
    pub fn with_turn(mut self, turn: impl Into<Turn>) -> Self {
        self.turn = Some(turn.into());
        self
    }

    /// Parses a line. The limit on depth applies to the arguments, so the line itself may be one level
    /// deeper.
    ///
    /// # Errors
    ///
    /// Returns an error if the line is not a JSON object with a tool's name, or if a member has the wrong
    /// type.
    pub fn read(line: &[u8], limits: Limits) -> Result<Self, CallRequestError> {
        let around = limits.with_max_depth(limits.max_depth + 1);
        let document = answerback_parse::read(line, around)?;
        let Value::Object(members) = document.value else { return Err(CallRequestError::NoObject) };
        let mut read = Self::default();
        let mut tool = None;
        for (name, value) in members {
            match name.as_str() {
                "id" => read.id = text(value, "id")?,
                "tool" => tool = text(value, "tool")?,
                "arguments" => read.arguments = Some(value),
                "conversation" => read.conversation = text(value, "conversation")?,
                "turn" => read.turn = turn(&value)?,
                "model" => read.model = text(value, "model")?,
                _ => {}
            }
        }
        read.tool = tool.ok_or(CallRequestError::NoTool)?;
        for finding in document.findings {
            let is_repeated = finding.error_code == codes::DUPLICATE_NAME.code;
            match finding.field_path.as_str().strip_prefix("/arguments").and_then(below) {
                Some(place) => read.findings.push(within(finding, place, is_repeated)),
                None if is_repeated => {
                    return Err(CallRequestError::Twice(finding.field_path.as_str().to_owned()));
                }
                None => {}
            }
        }
        Ok(read)
    }
}

/// Returns the JSON Schema of a line. It is written by hand next to the parser, because the parser accepts
/// several spellings of one value.
#[cfg(feature = "schema")]
pub(crate) fn schema() -> Value {
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "id": {"type": ["string", "number", "null"], "description": "The id of this call."},
            "tool": {"type": "string", "description": "The tool's name, as sent."},
            "arguments": {"description": "The arguments, as sent: a value, or a string, the raw text that the model wrote."},
            "conversation": {
                "type": ["string", "number", "null"],
                "description": "The conversation that the call is part of. Lines without it belong to one conversation.",
            },
            "turn": {
                "type": ["integer", "string", "null"],
                "minimum": 0,
                "maximum": u64::MAX,
                "description": "The turn of the conversation; calls of one turn are parallel calls. A line without it is a turn of its own.",
            },
            "model": {"type": ["string", "number", "null"], "description": "The model that made the call."},
        },
        "required": ["tool"],
    })
}

/// Converts a place below the arguments to a pointer into them. Returns `None` for the arguments themselves.
fn below(rest: &str) -> Option<Pointer> {
    Pointer::try_from(rest).ok().filter(|place| !place.is_root())
}

/// Converts a finding of the JSON reader to a finding of the call. A repeated name is an error, because two
/// parsers may choose different values. A number that does not fit is only a warning.
fn within(finding: ValidationError, place: Pointer, is_repeated: bool) -> ValidationError {
    if is_repeated {
        ValidationError::of(&call_codes::INVALID_JSON, place)
            .with_message("Invalid JSON: the name stands twice in one object")
            .with_expected("each name once")
    } else {
        finding.with_path(place).with_severity(Severity::Warning)
    }
}

/// Returns a name from a string. A number also serves as a name, except for `tool`.
fn text(value: Value, member: &'static str) -> Result<Option<String>, CallRequestError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) if member != "tool" => Ok(Some(number.to_string())),
        _ => Err(CallRequestError::WrongType { member, expected: "a string" }),
    }
}

fn turn(value: &Value) -> Result<Option<Turn>, CallRequestError> {
    match value {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name.as_str().into())),
        value => match whole_number(value) {
            Some(number) => Ok(Some(number.into())),
            None => {
                let expected = "a whole number or a string";
                Err(CallRequestError::WrongType { member: "turn", expected })
            }
        },
    }
}

/// Returns a whole number. It accepts a number such as `2.0`, because JSON has only one kind of number.
fn whole_number(value: &Value) -> Option<u64> {
    /// The first number that is larger than every `u64`.
    const END: f64 = 18_446_744_073_709_551_616.0;
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and within the range"
    )]
    let whole = number as u64;
    (0.0..END).contains(&number).then_some(whole)
}

/// The error for a line that is not a call.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallRequestError {
    /// The line is not JSON.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The line is JSON, but not an object.
    #[error("a call is an object with the members id, tool and arguments")]
    NoObject,
    /// The line names no tool.
    #[error("no tool is named; a call has the member \"tool\"")]
    NoTool,
    /// A member has the wrong type.
    #[error("{member:?} is not {expected}")]
    WrongType {
        /// The name of the member.
        member: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// A name is repeated outside the arguments.
    #[error("the name at {0} stands twice in one object")]
    Twice(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &str) -> Result<CallRequest, CallRequestError> {
        CallRequest::read(line.as_bytes(), Limits::default())
    }

    #[test]
    fn reads_what_logs_hold() {
        let line =
            read(r#"{"id": 7, "tool": "a", "arguments": {"x": [1]}, "turn": "t", "extra": 1}"#);
        let expected = CallRequest::new("a", json!({"x": [1]})).with_id("7").with_turn("t");
        assert_eq!(line, Ok(expected));
        let least = read(r#"{"tool": "a", "turn": null, "conversation": null}"#);
        assert_eq!(least, Ok(CallRequest::new("a", None)));
    }

    #[test]
    fn written_arguments_are_those_of_a_line() {
        for arguments in [
            "{}",
            "null",
            "[1, 2]",
            r#"{"x": {"y": 1.50}}"#,
            r#"{"x": 1, "x": 2}"#,
            r#"{"a/b": [{"x": 1, "x": 2}]}"#,
            r#"{"n": 123456789012345678901234567890}"#,
        ] {
            let line = read(&format!(r#"{{"tool": "a", "arguments": {arguments}}}"#));
            assert_eq!(
                CallRequest::from_text("a", arguments, Limits::default()),
                line,
                "{arguments}"
            );
        }
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let limits = Limits::default().with_max_depth(4);
        for levels in [3, 4, 5] {
            let line = format!(r#"{{"tool": "a", "arguments": {}}}"#, deep(levels));
            let line = CallRequest::read(line.as_bytes(), limits).is_ok();
            assert_eq!(
                CallRequest::from_text("a", &deep(levels), limits).is_ok(),
                line,
                "{levels}"
            );
        }
    }

    #[test]
    fn says_why_a_line_is_no_call() {
        for (line, expected) in [
            ("[]", "a call is an object with the members id, tool and arguments"),
            ("{}", "no tool is named; a call has the member \"tool\""),
            (r#"{"tool": 1}"#, "\"tool\" is not a string"),
            (r#"{"tool": "a", "id": []}"#, "\"id\" is not a string"),
            (r#"{"tool": "a", "turn": -1}"#, "\"turn\" is not a whole number or a string"),
            (r#"{"tool": "a", "tool": "b"}"#, "the name at /tool stands twice in one object"),
        ] {
            assert_eq!(read(line).unwrap_err().to_string(), expected);
        }
        assert!(matches!(read("{"), Err(CallRequestError::Read(_))));
    }

    #[test]
    fn what_reading_the_arguments_found_is_kept() {
        let line =
            r#"{"tool": "a", "arguments": {"n": 123456789012345678901234567890, "m": 1, "m": 2}}"#;
        let found: Vec<_> = read(line).unwrap().findings.iter().map(ToString::to_string).collect();
        assert!(found[0].starts_with("warning DOC-002 at /n"), "{found:?}");
        assert_eq!(
            found[1],
            "error VAL-004 at /m: Invalid JSON: the name stands twice in one object"
        );
    }
}
