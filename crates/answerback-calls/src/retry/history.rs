use answerback_findings::ValidationError;
use answerback_json::{Pointer, push_token};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint::{Fingerprint, Prints};
use super::redactor::bounded;
use super::{HideSecrets, Redactor, Sent, TrackedCall, Turn};

/// Room for one attempt's line of the summary, in bytes of JSON.
const SUMMARY_BYTES: usize = 140;
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
/// Room for what one group of findings says, in bytes of JSON.
const MESSAGE_BYTES: usize = 120;
/// Room for what the groups of all attempts of a key say, in bytes of JSON. The first group of an attempt has its message
/// in the summary, and one that says no more than code and place needs none.
const MESSAGES_OF_KEY: usize = 560;
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
    /// The number of errors in this group.
    pub count: u32,
    /// The redacted message of the first error: `Type mismatch on 'path' (got: integer)`. A state without
    /// room for it omits it. An escalation always has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Noted {
    /// One error of this kind at this place, as [`noted_place`] writes it.
    pub fn new(code: impl Into<String>, path: impl Into<String>) -> Self {
        Self { code: code.into(), path: path.into(), count: 1, message: None }
    }

    /// Returns the message that follows from code and place alone, without details.
    fn plain_message(&self) -> String {
        let (what, is_whole) = wording(&self.code, &self.path, None);
        if is_whole { what } else { format!("{what} {}", field_of(&self.path)) }
    }

    /// The bytes of JSON that its message takes.
    fn message_bytes(&self) -> usize {
        self.message.as_deref().map_or(0, json_bytes)
    }
}

/// The bytes that a bounded text takes in JSON, with the name of its member.
fn json_bytes(text: &str) -> usize {
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    text.len() + escaped + r#","message":"""#.len()
}

/// The remaining space for one attempt, out of the space that all attempts of a key share.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptSpace {
    /// Groups of findings, with those that the attempt has.
    groups: usize,
    /// Bytes of messages, with those that the attempt has.
    messages: usize,
}

impl AttemptSpace {
    /// The share of one attempt next to the others of its key. `remaining` is how many more the key may still hold, this
    /// one included.
    pub(super) fn remaining<'a>(
        others: impl Iterator<Item = &'a Attempt> + Clone,
        remaining: usize,
    ) -> Self {
        let errors = others.flat_map(|attempt| &attempt.errors);
        let messages: usize = errors.clone().map(Noted::message_bytes).sum();
        let share = |all: usize, used: usize| all.saturating_sub(used) / remaining.max(1);
        Self {
            groups: share(GROUPS_OF_KEY, errors.count()).clamp(1, GROUPS_OF_ATTEMPT),
            messages: share(MESSAGES_OF_KEY, messages),
        }
    }
}

/// One attempt of a model: a turn in which its calls failed.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The first error in one line, and how many more there were.
    pub summary: String,
    /// The errors, grouped, as far as they fit.
    pub errors: Vec<Noted>,
    /// The number of errors that did not fit into `errors`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u32,
    /// When its first call failed, in milliseconds since 1970.
    #[serde(rename = "at")]
    pub at_millis: i64,
    /// The number of failing calls in this attempt.
    #[serde(rename = "n")]
    pub calls: u16,
    #[serde(rename = "fp")]
    prints: Vec<(Fingerprint, Fingerprint)>,
    /// Hashes of the values at the places of the errors, in the order of `prints`; 0 for an unknown value.
    /// States written by older versions have none.
    #[serde(default, rename = "v", skip_serializing_if = "Vec::is_empty")]
    values: Vec<u64>,
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

/// The way in which a model repeats failed calls.
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
    /// Another call with the very same errors as in the attempt before, and the same values at their
    /// places: what changed is not what was wrong.
    SameErrors {
        /// That attempt's number.
        attempt: u8,
    },
    /// Another call with the same errors as in the attempt before, and with other values at their places,
    /// or with values that are not known.
    SameRules {
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
    /// The attempt that a failing call opens.
    pub(super) fn open(
        call: &TrackedCall<'_>,
        prints: &Prints,
        room: AttemptSpace,
        at_millis: i64,
        redactor: &dyn Redactor,
    ) -> Self {
        let mut attempt = Self {
            summary: summary(call, redactor),
            errors: Vec::new(),
            omitted: 0,
            at_millis,
            calls: 0,
            prints: Vec::new(),
            values: Vec::new(),
            turn: call.turn,
        };
        attempt.add(call, prints, room, redactor);
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
            values: Vec::new(),
            turn: None,
        }
    }

    /// Adds a parallel call to the attempt. Its errors join the groups that are already there, or become new ones.
    pub(super) fn join(
        &mut self,
        call: &TrackedCall<'_>,
        prints: &Prints,
        room: AttemptSpace,
        redactor: &dyn Redactor,
    ) {
        let before = more_errors(self.error_count());
        self.add(call, prints, room, redactor);
        let more = more_errors(self.error_count());
        if let Some(first) = self.summary.strip_suffix(&before) {
            self.summary = [bounded(first, SUMMARY_BYTES - more.len()), more].concat();
        }
    }

    /// Its groups of errors, each with a message.
    pub(super) fn described_errors(&self) -> Vec<Noted> {
        let more = more_errors(self.error_count());
        let first = self.summary.strip_suffix(&more).unwrap_or(&self.summary);
        let described = |(index, noted): (usize, &Noted)| {
            let message = match &noted.message {
                Some(message) => message.clone(),
                None if index == 0 && !first.is_empty() => first.to_owned(),
                None => noted.plain_message(),
            };
            Noted { message: Some(message), ..noted.clone() }
        };
        self.errors.iter().enumerate().map(described).collect()
    }

    /// Returns the number of errors of its calls.
    fn error_count(&self) -> u32 {
        let listed = self.errors.iter().fold(0_u32, |sum, noted| sum.saturating_add(noted.count));
        listed.saturating_add(self.omitted)
    }

    fn add(
        &mut self,
        call: &TrackedCall<'_>,
        prints: &Prints,
        room: AttemptSpace,
        redactor: &dyn Redactor,
    ) {
        self.calls = self.calls.saturating_add(1);
        // What is kept for long is kept without spare room.
        let errors = call.findings.iter().filter(|finding| finding.is_error()).count();
        self.errors.reserve_exact(errors.min(room.groups.saturating_sub(self.errors.len())));
        if self.prints.len() < CALLS_KEPT {
            self.prints.reserve_exact(1);
            self.prints.push((prints.call, prints.errors));
            self.values.reserve_exact(1);
            self.values.push(prints.values.unwrap_or_default());
        }
        let mut messages: usize = self.errors.iter().map(Noted::message_bytes).sum();
        for finding in call.findings.iter().filter(|finding| finding.is_error()) {
            let code = bounded(finding.error_code.as_ref(), CODE_BYTES);
            let path = redacted_place(&finding.field_path, redactor);
            let known = self.errors.iter_mut().find(|one| one.code == code && one.path == path);
            if let Some(noted) = known {
                noted.count = noted.count.saturating_add(1);
            } else if self.errors.len() < room.groups {
                let mut noted = Noted::new(code, path);
                if !self.errors.is_empty() {
                    let message = bounded(phrase(finding, call.arguments, redactor), MESSAGE_BYTES);
                    let bytes = json_bytes(&message);
                    if messages + bytes <= room.messages && message != noted.plain_message() {
                        messages += bytes;
                        noted.message = Some(message);
                    }
                }
                self.errors.push(noted);
            } else {
                self.omitted = self.omitted.saturating_add(1);
            }
        }
    }

    fn has_call(&self, call: Fingerprint) -> bool {
        self.prints.iter().any(|(known, _)| *known == call)
    }

    /// Returns true if a call of this attempt had the same errors and the same values at their places.
    fn has_values(&self, prints: &Prints) -> bool {
        let Some(values) = prints.values else { return false };
        let known = self.prints.iter().zip(&self.values);
        known.into_iter().any(|((_, errors), known)| *errors == prints.errors && *known == values)
    }

    fn has_errors(&self, errors: Fingerprint) -> bool {
        self.prints.iter().any(|(_, known)| *known == errors)
    }
}

/// Compares a failing call with the attempts before its own.
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
    if previous.has_values(prints) {
        return Repetition::SameErrors { attempt };
    }
    if previous.has_errors(errors) {
        return Repetition::SameRules { attempt };
    }
    match older.iter().rposition(|attempt| attempt.has_errors(errors)) {
        Some(index) => Repetition::Oscillation { attempt: number(index) },
        None => Repetition::None,
    }
}

/// A place for operators, exactly: secrets masked, short.
#[cfg(feature = "tracing")]
pub(super) fn redacted_pointer(path: &Pointer, redactor: &dyn Redactor) -> String {
    bounded(redacted(path, redactor, |token| token), PATH_BYTES)
}

/// A place for people and labels: indices as `*`, secrets masked, short.
pub(super) fn redacted_place(path: &Pointer, redactor: &dyn Redactor) -> String {
    bounded(redacted(path, redactor, starred), PATH_BYTES)
}

/// A place as attempts note it: `*` for indices, secrets masked, short.
pub fn noted_place(path: &Pointer) -> String {
    redacted_place(path, &HideSecrets)
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
fn summary(call: &TrackedCall<'_>, redactor: &dyn Redactor) -> String {
    let mut errors = call.findings.iter().filter(|finding| finding.is_error());
    let Some(first) = errors.next() else { return String::new() };
    let count = u32::try_from(errors.count()).unwrap_or(u32::MAX);
    let more = more_errors(count.saturating_add(1));
    // The count survives, however long the first error's line is.
    let first = bounded(phrase(first, call.arguments, redactor), SUMMARY_BYTES - more.len());
    [first, more].concat()
}

/// The end of a line about the first of so many errors.
fn more_errors(count: u32) -> String {
    match count {
        0 | 1 => String::new(),
        2 => "; 1 more error".to_owned(),
        count => format!("; {} more errors", count - 1),
    }
}

/// A place as a sentence names it.
fn field_of(place: &str) -> String {
    match place.strip_prefix('/') {
        None => "the arguments".to_owned(),
        Some(name) if !name.contains('/') => format!("'{name}'"),
        Some(_) => format!("'{place}'"),
    }
}

/// Returns the words for a code, as the specification writes them. The flag is true for a whole sentence;
/// otherwise the field's name follows.
fn wording(code: &str, place: &str, keyword: Option<&str>) -> (String, bool) {
    let keyword = keyword.unwrap_or_default();
    let by_bound = |upper: &str, lower: &str, neither: &str| {
        let text = match () {
            () if is_upper(keyword) => upper,
            () if is_lower(keyword) => lower,
            () => neither,
        };
        (text.to_owned(), false)
    };
    let prefix = |text: &str| (text.to_owned(), false);
    let field = || field_of(place);
    match code {
        "VAL-001" => (format!("Missing required field {}", field()), true),
        "VAL-002" => prefix("Type mismatch on"),
        "VAL-003" => {
            by_bound("Value too large for", "Value too small for", "Constraint violated by")
        }
        "VAL-004" => ("Arguments are not valid JSON".to_owned(), true),
        "VAL-005" => (format!("Unknown field {}", field()), true),
        "VAL-006" => by_bound("Too many items in", "Too few items in", "Wrong items in"),
        "VAL-007" => prefix("Pattern mismatch on"),
        // The name of the tool is the value that is not in the list.
        "VAL-008" if place.is_empty() => ("Unknown tool".to_owned(), true),
        "VAL-008" => prefix("Invalid enum value for"),
        "VAL-009" => by_bound("String too long for", "String too short for", "Wrong length of"),
        "VAL-010" => prefix("Invalid format of"),
        other => (format!("{} at {}", bounded(other, CODE_BYTES), field()), true),
    }
}

fn is_upper(keyword: &str) -> bool {
    keyword.starts_with("max") || keyword == "exclusiveMaximum"
}

fn is_lower(keyword: &str) -> bool {
    keyword.starts_with("min") || keyword == "exclusiveMinimum"
}

/// Returns the sentence for a finding, as the specification writes it: "Missing required field 'path'".
fn phrase(finding: &ValidationError, sent: Sent<'_>, redactor: &dyn Redactor) -> String {
    let place = redacted_place(&finding.field_path, redactor);
    let keyword = finding.schema_path.as_ref().and_then(Pointer::last).unwrap_or_default();
    let code = finding.error_code.as_ref();
    let (what, is_whole) = wording(code, &place, Some(&keyword));
    if is_whole {
        return what;
    }
    let field = field_of(&place);
    let expected = finding.expected_value.as_deref().unwrap_or_default();
    let detail = match (code, only_number(expected)) {
        ("VAL-002", _) => got(finding, sent).map(|kind| format!("got: {kind}")),
        (_, Some(number)) if is_upper(&keyword) => Some(format!("max: {number}")),
        (_, Some(number)) if is_lower(&keyword) => Some(format!("min: {number}")),
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
    use answerback_findings::Severity;
    use serde_json::json;

    use super::super::HideSecrets;
    use super::*;

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
            let call = TrackedCall::new("t", "1", &arguments, &findings, [0; 10]);
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
        let call = TrackedCall::new("t", "1", &arguments, &findings, [0; 10]);
        let room = AttemptSpace::remaining([].iter(), 1);
        let attempt = Attempt::open(&call, &Prints::of(&call), room, 0, &HideSecrets);
        let noted = Noted { count: 37, ..Noted::new("VAL-002", "/items/*/qty") };
        assert_eq!(attempt.errors[0], noted);
        let messages = attempt.described_errors().into_iter().map(|noted| noted.message.unwrap());
        let messages: Vec<String> = messages.take(2).collect();
        assert_eq!(messages, ["Type mismatch on '/items/*/qty'", "Missing required field 'f0'"]);
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
                let call = TrackedCall::new("t", "1", &arguments, &errors[*errors_index], [0; 10]);
                let prints = Prints::of(&call);
                last = repetition(&prints, &earlier);
                let room = AttemptSpace::remaining(earlier.iter(), 1);
                earlier.push(Attempt::open(&call, &prints, room, 0, &HideSecrets));
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

    #[test]
    fn changed_values_are_told_from_changes_elsewhere() {
        let errors = [finding("VAL-007", "/path", "pattern", "")];
        let repeated = |before: &Value, now: &Value| {
            let call = |arguments| TrackedCall::new("t", "1", arguments, &errors, [0; 10]);
            let earlier = call(before);
            let attempt = Attempt::open(
                &earlier,
                &Prints::of(&earlier),
                AttemptSpace::remaining([].iter(), 1),
                0,
                &HideSecrets,
            );
            // As a store keeps it.
            let kept: Attempt =
                serde_json::from_value(serde_json::to_value(&attempt).unwrap()).unwrap();
            repetition(&Prints::of(&call(now)), &[kept])
        };
        let first = json!({"path": "x0", "n": 1});
        assert_eq!(
            repeated(&first, &json!({"path": "x1", "n": 1})),
            Repetition::SameRules { attempt: 1 }
        );
        assert_eq!(
            repeated(&first, &json!({"path": "x0", "n": 2})),
            Repetition::SameErrors { attempt: 1 }
        );
        assert_eq!(repeated(&first, &json!({"n": 1})), Repetition::SameRules { attempt: 1 });
        // An attempt that an older version wrote has no values.
        let call = TrackedCall::new("t", "1", &first, &errors, [0; 10]);
        let attempt = Attempt::open(
            &call,
            &Prints::of(&call),
            AttemptSpace::remaining([].iter(), 1),
            0,
            &HideSecrets,
        );
        let mut written = serde_json::to_value(&attempt).unwrap();
        written.as_object_mut().unwrap().remove("v");
        let old: Attempt = serde_json::from_value(written).unwrap();
        let other = json!({"path": "x0", "n": 2});
        let now = Prints::of(&TrackedCall::new("t", "1", &other, &errors, [0; 10]));
        assert_eq!(repetition(&now, &[old]), Repetition::SameRules { attempt: 1 });
    }
}
