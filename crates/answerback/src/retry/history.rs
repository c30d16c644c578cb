use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint::{Fingerprint, Prints};
use super::redactor::bounded;
use super::{Call, HideSecrets, Redactor, Sent, Turn};
use crate::ValidationError;
use crate::json::{Pointer, push_token};

/// Room for one attempt's line of the summary, in bytes of JSON.
const SUMMARY_BYTES: usize = 160;
/// Room for a place, in bytes of JSON.
const PATH_BYTES: usize = 64;
/// Room for a code, in bytes of JSON.
const CODE_BYTES: usize = 16;
/// Room for what was expected, in bytes of JSON.
const EXPECTED_BYTES: usize = 60;
/// The most groups of findings that one attempt keeps.
const GROUPS_OF_ATTEMPT: usize = 10;
/// The groups of findings that all attempts of a key share.
const GROUPS_OF_KEY: usize = 20;
/// The parallel calls of one attempt that are kept for comparison.
const CALLS_KEPT: usize = 2;

/// Errors of one kind at one place; elements of an array count as one place.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Noted {
    /// The code, such as `VAL-001`.
    pub code: String,
    /// The place, with `*` for array indices: `/items/*/qty`.
    pub path: String,
    /// How many errors stand for this.
    pub count: u32,
}

impl Noted {
    /// One error of this kind at this place, as [`noted_place`] writes it.
    pub fn new(code: impl Into<String>, path: impl Into<String>) -> Self {
        Self { code: code.into(), path: path.into(), count: 1 }
    }
}

/// One attempt of a model: a turn in which its calls failed.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The first error in one line, and how many more there were.
    pub summary: String,
    /// What was wrong, grouped, as far as there was room.
    pub errors: Vec<Noted>,
    /// How many errors found no room in `errors`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u32,
    /// When its first call failed, in milliseconds since 1970.
    #[serde(rename = "at")]
    pub at_millis: i64,
    /// How many failing calls share it.
    #[serde(rename = "n")]
    pub calls: u16,
    #[serde(rename = "fp")]
    prints: Vec<(Fingerprint, Fingerprint)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<Turn>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if hands a reference"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Whether a model is going round in circles.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contract names exactly these")]
pub enum Repetition {
    /// It is not.
    #[default]
    None,
    /// The very same call as in the attempt before.
    SameCall {
        /// That attempt's number.
        attempt: u8,
    },
    /// Another call with the very same errors as in the attempt before.
    SameErrors {
        /// That attempt's number.
        attempt: u8,
    },
    /// Back to the call, or the errors, of an earlier attempt, with another one between: A-B-A.
    Oscillation {
        /// The earlier attempt's number.
        attempt: u8,
    },
}

impl Attempt {
    /// The attempt that a failing call opens. `remaining` is how many more the key may still hold,
    /// this one included; they share what room is left.
    pub(super) fn open(
        call: &Call<'_>,
        prints: &Prints,
        earlier: &[Self],
        remaining: usize,
        at_millis: i64,
        redactor: &dyn Redactor,
    ) -> Self {
        let used: usize = earlier.iter().map(|attempt| attempt.errors.len()).sum();
        let room = GROUPS_OF_KEY.saturating_sub(used) / remaining.max(1);
        let mut attempt = Self {
            summary: summary(call, redactor),
            errors: Vec::new(),
            omitted: 0,
            at_millis,
            calls: 0,
            prints: Vec::new(),
            turn: call.turn,
        };
        attempt.add(call, prints, room.clamp(1, GROUPS_OF_ATTEMPT), redactor);
        attempt
    }

    /// An attempt of which nothing is known but that it failed.
    pub(super) fn unknown(at_millis: i64) -> Self {
        Self {
            summary: "(not recorded here)".to_owned(),
            errors: Vec::new(),
            omitted: 0,
            at_millis,
            calls: 1,
            prints: Vec::new(),
            turn: None,
        }
    }

    /// Adds a parallel call to the attempt; its errors join the groups that are already there.
    pub(super) fn join(&mut self, call: &Call<'_>, prints: &Prints, redactor: &dyn Redactor) {
        self.add(call, prints, self.errors.len(), redactor);
    }

    fn add(&mut self, call: &Call<'_>, prints: &Prints, room: usize, redactor: &dyn Redactor) {
        self.calls = self.calls.saturating_add(1);
        // What is kept for long is kept without spare room.
        let errors = call.findings.iter().filter(|finding| finding.is_error()).count();
        self.errors.reserve_exact(errors.min(room.saturating_sub(self.errors.len())));
        if self.prints.len() < CALLS_KEPT {
            self.prints.reserve_exact(1);
            self.prints.push((prints.call, prints.errors));
        }
        for finding in call.findings.iter().filter(|finding| finding.is_error()) {
            let code = bounded(finding.error_code.as_ref(), CODE_BYTES);
            let path = shown_place(&finding.field_path, redactor);
            let known = self.errors.iter_mut().find(|one| one.code == code && one.path == path);
            if let Some(noted) = known {
                noted.count = noted.count.saturating_add(1);
            } else if self.errors.len() < room {
                self.errors.push(Noted::new(code, path));
            } else {
                self.omitted = self.omitted.saturating_add(1);
            }
        }
    }

    fn has_call(&self, call: Fingerprint) -> bool {
        self.prints.iter().any(|(known, _)| *known == call)
    }

    fn has_errors(&self, errors: Fingerprint) -> bool {
        self.prints.iter().any(|(_, known)| *known == errors)
    }
}

/// How a failing call relates to the attempts before its own.
pub(super) fn repetition(prints: &Prints, earlier: &[Attempt]) -> Repetition {
    let Some((previous, older)) = earlier.split_last() else { return Repetition::None };
    let Prints { call, errors, .. } = *prints;
    let number = |index: usize| u8::try_from(index + 1).unwrap_or(u8::MAX);
    let attempt = number(older.len());
    if previous.has_call(call) {
        return Repetition::SameCall { attempt };
    }
    if let Some(index) = older.iter().rposition(|attempt| attempt.has_call(call)) {
        return Repetition::Oscillation { attempt: number(index) };
    }
    if previous.has_errors(errors) {
        return Repetition::SameErrors { attempt };
    }
    match older.iter().rposition(|attempt| attempt.has_errors(errors)) {
        Some(index) => Repetition::Oscillation { attempt: number(index) },
        None => Repetition::None,
    }
}

/// A place for operators, exactly: secrets masked, short.
#[cfg(feature = "tracing")]
pub(super) fn shown_pointer(path: &Pointer, redactor: &dyn Redactor) -> String {
    bounded(redacted(path, redactor, |token| token), PATH_BYTES)
}

/// A place for people and labels: indices as `*`, secrets masked, short.
pub(super) fn shown_place(path: &Pointer, redactor: &dyn Redactor) -> String {
    bounded(redacted(path, redactor, starred), PATH_BYTES)
}

/// A place as attempts note it: `*` for indices, secrets masked, short.
pub fn noted_place(path: &Pointer) -> String {
    shown_place(path, &HideSecrets)
}

/// A token, or `*` for an array index.
fn starred(token: &str) -> &str {
    let is_index = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if is_index { "*" } else { token }
}

/// A place with its names redacted, one by one: escaped, a secret might not look like one.
fn redacted(path: &Pointer, redactor: &dyn Redactor, shown: fn(&str) -> &str) -> String {
    let mut text = String::with_capacity(path.as_str().len());
    for token in path.tokens() {
        push_token(&mut text, &redactor.text(shown(&token)));
    }
    text
}

/// One line for people: what the first error was, and how many more there were.
fn summary(call: &Call<'_>, redactor: &dyn Redactor) -> String {
    let mut errors = call.findings.iter().filter(|finding| finding.is_error());
    let Some(first) = errors.next() else { return String::new() };
    let more = match errors.count() {
        0 => String::new(),
        1 => "; 1 more error".to_owned(),
        count => format!("; {count} more errors"),
    };
    // The count survives, however long the first error's line is.
    let first = bounded(phrase(first, call.arguments, redactor), SUMMARY_BYTES - more.len());
    [first, more].concat()
}

/// What is wrong, in the document's words: "Missing required field 'path'".
fn phrase(finding: &ValidationError, sent: Sent<'_>, redactor: &dyn Redactor) -> String {
    let place = shown_place(&finding.field_path, redactor);
    let field = match place.strip_prefix('/') {
        None => "the arguments".to_owned(),
        Some(name) if !name.contains('/') => format!("'{name}'"),
        Some(_) => format!("'{place}'"),
    };
    let keyword = finding.schema_path.as_ref().and_then(Pointer::last).unwrap_or_default();
    let is_upper = keyword.starts_with("max") || keyword == "exclusiveMaximum";
    let is_lower = keyword.starts_with("min") || keyword == "exclusiveMinimum";
    let by_bound = |upper: &'static str, lower: &'static str, neither: &'static str| match () {
        () if is_upper => upper,
        () if is_lower => lower,
        () => neither,
    };
    let what = match finding.error_code.as_ref() {
        "VAL-001" => return format!("Missing required field {field}"),
        "VAL-002" => "Type mismatch on",
        "VAL-003" => {
            by_bound("Value too large for", "Value too small for", "Constraint violated by")
        }
        "VAL-004" => return "Arguments are not valid JSON".to_owned(),
        "VAL-005" => return format!("Unknown field {field}"),
        "VAL-006" => by_bound("Too many items in", "Too few items in", "Wrong items in"),
        "VAL-007" => "Pattern mismatch on",
        // The name of the tool is the value that is not in the list.
        "VAL-008" if finding.field_path.is_root() => return "Unknown tool".to_owned(),
        "VAL-008" => "Invalid enum value for",
        "VAL-009" => by_bound("String too long for", "String too short for", "Wrong length of"),
        "VAL-010" => "Invalid format of",
        other => return format!("{} at {field}", bounded(other, CODE_BYTES)),
    };
    let expected = finding.expected_value.as_deref().unwrap_or_default();
    let detail = match (finding.error_code.as_ref(), only_number(expected)) {
        ("VAL-002", _) => got(finding, sent).map(|kind| format!("got: {kind}")),
        (_, Some(number)) if is_upper => Some(format!("max: {number}")),
        (_, Some(number)) if is_lower => Some(format!("min: {number}")),
        _ if expected.is_empty() => None,
        _ => Some(format!("expected: {}", bounded(redactor.text(expected), EXPECTED_BYTES))),
    };
    detail.map_or_else(|| format!("{what} {field}"), |detail| format!("{what} {field} ({detail})"))
}

/// The JSON type of what stands at the finding's place.
fn got(finding: &ValidationError, sent: Sent<'_>) -> Option<&'static str> {
    let Sent::Value(arguments) = sent else { return None };
    Some(match finding.field_path.find(arguments)? {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    })
}

/// The one number in a text, when there is exactly one.
fn only_number(text: &str) -> Option<&str> {
    let is_part = |character: char| character.is_ascii_digit() || matches!(character, '.' | '-');
    let mut numbers = text
        .split(|character: char| !is_part(character))
        .map(|part| part.trim_end_matches(['.', '-']))
        .filter(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
    numbers.next().filter(|_| numbers.next().is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::HideSecrets;
    use super::*;
    use crate::Severity;

    fn finding(code: &'static str, path: &str, keyword: &str, expected: &str) -> ValidationError {
        let mut finding = ValidationError::new(code, Severity::Error)
            .with_path(path.try_into().unwrap())
            .with_schema_path(Pointer::root().join(keyword));
        finding.expected_value = (!expected.is_empty()).then(|| expected.to_owned());
        finding
    }

    #[test]
    fn an_attempt_in_one_line() {
        let arguments = json!({"path": 7, "items": [{"qty": 1.5}]});
        let table = [
            (finding("VAL-001", "/path", "required", "string"), "Missing required field 'path'"),
            (
                finding("VAL-002", "/path", "type", "string"),
                "Type mismatch on 'path' (got: integer)",
            ),
            (
                finding("VAL-009", "/path", "maxLength", "string with max length 4096"),
                "String too long for 'path' (max: 4096)",
            ),
            (
                finding("VAL-003", "/items/0/qty", "minimum", "at least -2.5."),
                "Value too small for '/items/*/qty' (min: -2.5)",
            ),
            (
                finding("VAL-008", "/encoding", "enum", "utf-8, ascii, utf-16"),
                "Invalid enum value for 'encoding' (expected: utf-8, ascii, utf-16)",
            ),
            (finding("VAL-008", "", "enum", ""), "Unknown tool"),
            (finding("VAL-004", "", "", ""), "Arguments are not valid JSON"),
            (
                finding("VAL-002", "", "type", "object"),
                "Type mismatch on the arguments (got: object)",
            ),
            (finding("X-1", "/a", "", ""), "X-1 at 'a'"),
        ];
        for (finding, line) in table {
            let findings = [finding];
            let call = Call::new("t", "1", &arguments, &findings, [0; 10]);
            assert_eq!(summary(&call, &HideSecrets), line);
        }
    }

    #[test]
    fn array_indices_are_one_place() {
        let arguments = json!({});
        let findings: Vec<_> = (0..37)
            .map(|index| finding("VAL-002", &format!("/items/{index}/qty"), "type", ""))
            .chain((0..12).map(|index| finding("VAL-001", &format!("/f{index}"), "required", "")))
            .collect();
        let call = Call::new("t", "1", &arguments, &findings, [0; 10]);
        let attempt = Attempt::open(&call, &Prints::of(&call), &[], 1, 0, &HideSecrets);
        let path = "/items/*/qty".to_owned();
        assert_eq!(attempt.errors[0], Noted { code: "VAL-002".into(), path, count: 37 });
        assert_eq!((attempt.errors.len(), attempt.omitted), (GROUPS_OF_ATTEMPT, 3));
        assert!(attempt.summary.ends_with("; 48 more errors"), "{}", attempt.summary);
    }

    #[test]
    fn circles_are_recognised() {
        let errors = [
            [finding("VAL-001", "/a", "required", "")],
            [finding("VAL-001", "/b", "required", "")],
            [finding("VAL-001", "/c", "required", "")],
        ];
        let repeated = |steps: &[(u8, usize)]| {
            let mut earlier: Vec<Attempt> = Vec::new();
            let mut last = Repetition::None;
            for (call, errors_index) in steps {
                let arguments = json!({ "call": call });
                let call = Call::new("t", "1", &arguments, &errors[*errors_index], [0; 10]);
                let prints = Prints::of(&call);
                last = repetition(&prints, &earlier);
                earlier.push(Attempt::open(&call, &prints, &earlier, 1, 0, &HideSecrets));
            }
            last
        };
        assert_eq!(repeated(&[(1, 0)]), Repetition::None);
        assert_eq!(repeated(&[(1, 0), (2, 1)]), Repetition::None);
        assert_eq!(repeated(&[(1, 0), (1, 0)]), Repetition::SameCall { attempt: 1 });
        assert_eq!(repeated(&[(1, 0), (2, 0)]), Repetition::SameErrors { attempt: 1 });
        assert_eq!(repeated(&[(1, 0), (2, 1), (1, 0)]), Repetition::Oscillation { attempt: 1 });
        assert_eq!(repeated(&[(1, 0), (2, 1), (3, 0)]), Repetition::Oscillation { attempt: 1 });
        assert_eq!(repeated(&[(1, 0), (2, 1), (3, 2)]), Repetition::None);
    }
}
