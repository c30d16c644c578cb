//! The strict JSON parser.
//!
//! `serde_json` parses the same language, but it does not report repeated names, silently rounds integers beyond 64
//! bits, and has one fixed depth limit. At these points two parsers of a signed document can disagree. So this crate
//! has its own parser, and tests compare it with `serde_json`.

use answerback_findings::{ValidationError, codes};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use answerback_json::{Limits, Pointer, ValuePath};

/// A parsed document, with the findings of the parser.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// The value. For a repeated name it holds the last value, as in most parsers.
    pub value: Value,
    /// The findings about repeated names and inexact numbers, with `DOC-…` codes.
    pub findings: Vec<ValidationError>,
}

impl Document {
    /// Returns the place of the first repeated member name, if any. Its value is ambiguous.
    pub fn repeated(&self) -> Option<&Pointer> {
        let mut found = self.findings.iter();
        let found = found.find(|finding| finding.error_code == codes::DUPLICATE_NAME.code)?;
        Some(&found.field_path)
    }
}

/// Parses one JSON document. A leading byte order mark is accepted.
///
/// # Errors
///
/// Returns an error with line and column if the bytes are not one JSON document within the limits.
///
/// ```
/// let document = answerback_parse::read(br#"{"a": 1, "a": 2}"#, Default::default())?;
/// assert_eq!(document.value["a"], 2);
/// assert_eq!(document.findings[0].error_code, "DOC-001");
/// assert_eq!(document.repeated().map(ToString::to_string).as_deref(), Some("/a"));
/// # Ok::<(), answerback_parse::ReadError>(())
/// ```
pub fn read(bytes: &[u8], limits: Limits) -> Result<Document, ReadError> {
    if bytes.len() > limits.max_bytes {
        let kind = ReadErrorKind::TooLarge { bytes: bytes.len(), limit: limits.max_bytes };
        return Err(ReadError { kind, line: 1, column: 1 });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = &bytes[..error.valid_up_to()];
            let good = std::str::from_utf8(good).unwrap_or_default();
            return Err(ReadError::at(ReadErrorKind::NotUtf8, good, good.len()));
        }
    };
    let mut reader = StrictReader { text, at: 0, limits, findings: Vec::new(), tells: true };
    match reader.document() {
        Ok(value) => Ok(Document { value, findings: reader.findings }),
        Err(kind) => Err(ReadError::at(kind, text, reader.at)),
    }
}

/// Works like [`read`], but returns no error details. It serves callers that search for the mistake themselves:
/// building the message and position would cost more than the failed parse.
pub(crate) fn read_if_json(text: &str, limits: Limits) -> Option<Document> {
    let text = Some(text).filter(|text| text.len() <= limits.max_bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = StrictReader { text, at: 0, limits, findings: Vec::new(), tells: false };
    let value = reader.document().ok()?;
    Some(Document { value, findings: reader.findings })
}

/// The error for a document that cannot be parsed, with its position.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
#[non_exhaustive]
pub struct ReadError {
    /// The kind of the error.
    pub kind: ReadErrorKind,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl ReadError {
    fn at(kind: ReadErrorKind, text: &str, offset: usize) -> Self {
        let (line, column) = line_and_column(text, offset);
        Self { kind, line, column }
    }
}

/// Returns the line and the column (in characters) of a byte offset, both counted from 1.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    // An offset inside a character only occurs where the text ends there.
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The kinds of parse errors.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The text ends within a value.
    #[error("not JSON: the text ends within {0}")]
    Truncated(&'static str),
    /// The bytes are not UTF-8.
    #[error("not UTF-8 from here on; JSON is UTF-8")]
    NotUtf8,
    /// A number is out of the range of a double, such as 1e400.
    #[error("the number is out of range (a double ends at about 1.8e308)")]
    NumberOutOfRange,
    /// The document is larger than [`Limits::max_bytes`].
    #[error("the document has {bytes} bytes, over the limit max_bytes = {limit}")]
    TooLarge {
        /// The size of the document.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The document is nested deeper than [`Limits::max_depth`].
    #[error("nested deeper than the limit max_depth = {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A member name is longer than [`Limits::max_key_bytes`].
    #[error("a member name of {bytes} bytes, over the limit max_key_bytes = {limit}")]
    KeyTooLong {
        /// The length of the name.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

type ReadResult<T> = Result<T, ReadErrorKind>;

/// The initial capacity of an object, enough for most objects without another allocation.
pub(crate) const FEW_MEMBERS: usize = 4;

struct StrictReader<'t> {
    text: &'t str,
    at: usize,
    limits: Limits,
    findings: Vec<ValidationError>,
    /// True if syntax errors describe the expected and the found character.
    tells: bool,
}

impl StrictReader<'_> {
    fn document(&mut self) -> ReadResult<Value> {
        self.skip_space();
        if self.peek().is_none() {
            return Err(ReadErrorKind::Syntax("the document is empty".into()));
        }
        let value = self.value(&ValuePath::Root, 0)?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(syntax("text after the end of the document")),
        }
    }

    fn value(&mut self, place: &ValuePath<'_>, depth: usize) -> ReadResult<Value> {
        match self.peek() {
            Some(b'{') => self.object(place, depth),
            Some(b'[') => self.array(place, depth),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(place),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.unexpected("a value")),
            None => Err(ReadErrorKind::Truncated("a value")),
        }
    }

    fn object(&mut self, place: &ValuePath<'_>, depth: usize) -> ReadResult<Value> {
        self.deeper(depth)?;
        self.skip_space();
        if self.take(b'}') {
            return Ok(Value::Object(Map::new()));
        }
        let mut members = Map::with_capacity(FEW_MEMBERS);
        loop {
            match self.peek() {
                Some(b'"') => {}
                None => return Err(ReadErrorKind::Truncated("an object")),
                Some(_) => return Err(self.unexpected("a member name in double quotes")),
            }
            let start = self.at;
            let name = self.string()?;
            if name.len() > self.limits.max_key_bytes {
                self.at = start;
                let limit = self.limits.max_key_bytes;
                return Err(ReadErrorKind::KeyTooLong { bytes: name.len(), limit });
            }
            self.skip_space();
            if !self.take(b':') {
                return Err(self.expected("':' after a member name", "an object"));
            }
            self.skip_space();
            let value = self.value(&place.key(&name), depth + 1)?;
            match members.entry(name) {
                Entry::Vacant(free) => drop(free.insert(value)),
                Entry::Occupied(mut taken) => {
                    let here = place.key(taken.key()).pointer();
                    let finding = ValidationError::of(&codes::DUPLICATE_NAME, here)
                        .with_message("the name stands twice in one object");
                    self.findings.push(finding);
                    taken.insert(value);
                }
            }
            self.skip_space();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.expected("',' or '}' after a member", "an object"));
            }
            self.skip_space();
        }
    }

    fn array(&mut self, place: &ValuePath<'_>, depth: usize) -> ReadResult<Value> {
        self.deeper(depth)?;
        let mut elements = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            let value = self.value(&place.index(elements.len()), depth + 1)?;
            elements.push(value);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.expected("',' or ']' after an element", "an array"));
            }
            self.skip_space();
        }
    }

    fn string(&mut self) -> ReadResult<String> {
        self.at += 1;
        let mut start = self.at;
        let mut built = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(ReadErrorKind::Truncated("a string"));
            };
            self.at += plain;
            match rest[plain] {
                b'"' => {
                    let last = &self.text[start..self.at];
                    self.at += 1;
                    if built.is_empty() {
                        return Ok(last.to_owned());
                    }
                    built.push_str(last);
                    return Ok(built);
                }
                b'\\' => {
                    built.push_str(&self.text[start..self.at]);
                    built.push(self.escape()?);
                    start = self.at;
                }
                control => {
                    return Err(syntax(format!(
                        "the control character U+{control:04X} in a string; write it as \\u{control:04x}"
                    )));
                }
            }
        }
    }

    fn escape(&mut self) -> ReadResult<char> {
        let short = match self.byte_at(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            None => return Err(ReadErrorKind::Truncated("a string")),
            Some(_) => return Err(syntax("an unknown escape in a string")),
        };
        self.at += 2;
        Ok(short)
    }

    fn unicode_escape(&mut self) -> ReadResult<char> {
        let start = self.at;
        let first = self.hex4(start + 2)?;
        let (code, length) = match first {
            0xd800..=0xdbff if self.text[start + 6..].starts_with("\\u") => {
                match self.hex4(start + 8)? {
                    second @ 0xdc00..=0xdfff => {
                        (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
                    }
                    _ => (first, 6),
                }
            }
            _ => (first, 6),
        };
        let character = char::from_u32(code).ok_or_else(|| {
            syntax(format!("the lone surrogate \\u{code:04x} in a string is not a character"))
        })?;
        self.at = start + length;
        Ok(character)
    }

    fn hex4(&self, start: usize) -> ReadResult<u32> {
        match self.text.as_bytes().get(start..start + 4) {
            None => Err(ReadErrorKind::Truncated("a string")),
            Some(digits) => digits
                .iter()
                .try_fold(0, |code, &digit| Some(code * 16 + char::from(digit).to_digit(16)?))
                .ok_or_else(|| syntax("\\u without four hexadecimal digits")),
        }
    }

    fn number(&mut self, place: &ValuePath<'_>) -> ReadResult<Value> {
        let start = self.at;
        let negative = self.take(b'-');
        match self.peek() {
            Some(b'0') => {
                self.at += 1;
                if matches!(self.peek(), Some(b'0'..=b'9')) {
                    return Err(syntax("a number does not start with 0 and another digit"));
                }
            }
            Some(b'1'..=b'9') => self.skip_digits(),
            None => return Err(ReadErrorKind::Truncated("a number")),
            Some(_) => return Err(self.unexpected("a digit after '-'")),
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits("a digit after '.'")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("a digit in the exponent")?;
        }
        let text = &self.text[start..self.at];
        if integer && text != "-0" {
            let exact = if negative {
                text.parse::<i64>().ok().map(Number::from)
            } else {
                text.parse::<u64>().ok().map(Number::from)
            };
            if let Some(number) = exact {
                return Ok(Value::Number(number));
            }
        }
        let number = text.parse::<f64>().ok().and_then(Number::from_f64);
        let Some(number) = number else {
            self.at = start;
            return Err(ReadErrorKind::NumberOutOfRange);
        };
        self.note_imprecise_number(text, integer, place);
        Ok(Value::Number(number))
    }

    /// Reports a finding if the number lost precision. A double holds 17 significant digits, and the parser stores
    /// the nearest one.
    fn note_imprecise_number(&mut self, text: &str, integer: bool, place: &ValuePath<'_>) {
        if integer && text != "-0" {
            let finding = ValidationError::of(&codes::INTEGER_TOO_LARGE, place.pointer())
                .with_message("the integer needs more than 64 bits, and readers will round it")
                .with_expected("an integer from -2^63 to 2^64-1, or a string")
                .with_actual(shortened(text));
            self.findings.push(finding);
            return;
        }
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|&digit| digit == b'0');
        if digits.count() > 17 {
            let finding = ValidationError::of(&codes::DIGITS_LOST, place.pointer())
                .with_message(
                    "the number has more digits than a double keeps; readers will round it",
                )
                .with_expected("at most 17 significant digits, or a string")
                .with_actual(shortened(text));
            self.findings.push(finding);
        }
    }

    fn digits(&mut self, wanted: &'static str) -> ReadResult<()> {
        match self.peek() {
            Some(b'0'..=b'9') => {
                self.skip_digits();
                Ok(())
            }
            None => Err(ReadErrorKind::Truncated("a number")),
            Some(_) => Err(self.unexpected(wanted)),
        }
    }

    fn skip_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> ReadResult<Value> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else if !rest.is_empty() && word.starts_with(rest) {
            self.at = self.text.len();
            Err(ReadErrorKind::Truncated("a word"))
        } else {
            Err(self.unexpected("a value"))
        }
    }

    fn deeper(&mut self, depth: usize) -> ReadResult<()> {
        if depth >= self.limits.max_depth {
            return Err(ReadErrorKind::TooDeep { limit: self.limits.max_depth });
        }
        self.at += 1;
        Ok(())
    }

    fn expected(&self, wanted: &str, inside: &'static str) -> ReadErrorKind {
        match self.peek() {
            None => ReadErrorKind::Truncated(inside),
            Some(_) => self.unexpected(wanted),
        }
    }

    /// Returns a syntax error that names a common mistake, such as a comment, if it recognizes one.
    fn unexpected(&self, wanted: &str) -> ReadErrorKind {
        if !self.tells {
            return ReadErrorKind::Syntax(String::new());
        }
        let rest = &self.text[self.at..];
        let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
        let known = if starts(&["NaN", "Infinity", "-Infinity"]) {
            Some("NaN and Infinity are not JSON numbers")
        } else if starts(&["True", "False", "None"]) {
            Some("True, False and None are Python; JSON writes true, false and null")
        } else if starts(&["//", "/*", "#"]) {
            Some("JSON has no comments")
        } else if starts(&["'"]) {
            Some("JSON strings stand in double quotes")
        } else if starts(&["}", "]"]) {
            Some("a comma before the closing bracket, or a missing value")
        } else {
            None
        };
        let found = rest.chars().next().unwrap_or_default();
        match known {
            Some(known) => syntax(format!("expected {wanted}: {known}")),
            None if found.is_control() => {
                syntax(format!("expected {wanted}, found U+{:04X}", u32::from(found)))
            }
            None => syntax(format!("expected {wanted}, found {found:?}")),
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.byte_at(self.at)
    }

    fn byte_at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }
}

fn syntax(message: impl Into<String>) -> ReadErrorKind {
    ReadErrorKind::Syntax(message.into())
}

fn shortened(number: &str) -> String {
    match number.get(..40) {
        Some(start) if number.len() > 40 => format!("{start}... ({} characters)", number.len()),
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> String {
        match read(text.as_bytes(), Limits::default()) {
            Ok(document) => {
                let findings: Vec<String> = document
                    .findings
                    .iter()
                    .map(|finding| format!("{} at {}", finding.error_code, finding.field_path))
                    .collect();
                format!("{} {}", document.value, findings.join(", ")).trim_end().to_owned()
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn good_bad_and_doubtful() {
        let table = [
            ("\u{feff}{}", "{}"),
            (
                r#" {"a":[1,-2,0.5,1e3,"x\n\u00e9\ud83d\ude00\/"],"b":null} "#,
                "{\"a\":[1,-2,0.5,1000.0,\"x\\né😀/\"],\"b\":null}",
            ),
            (r#"{"a":1,"b":{"c":1,"c":2}}"#, r#"{"a":1,"b":{"c":2}} DOC-001 at /b/c"#),
            (
                "[18446744073709551615,-9223372036854775808]",
                "[18446744073709551615,-9223372036854775808]",
            ),
            ("[18446744073709551616]", "[1.8446744073709552e+19] DOC-002 at /0"),
            ("0.1234567890123456789", "0.12345678901234568 DOC-003 at"),
            ("-0", "-0.0"),
            (
                "1e400",
                "line 1, column 1: the number is out of range (a double ends at about 1.8e308)",
            ),
            ("", "line 1, column 1: not JSON: the document is empty"),
            (
                "{\n  \"a\": NaN}",
                "line 2, column 8: not JSON: expected a value: NaN and Infinity are not JSON numbers",
            ),
            (
                "{'a': 1}",
                "line 1, column 2: not JSON: expected a member name in double quotes: JSON strings stand in double quotes",
            ),
            (
                "[1,]",
                "line 1, column 4: not JSON: expected a value: a comma before the closing bracket, or a missing value",
            ),
            ("[true, Tru]", "line 1, column 8: not JSON: expected a value, found 'T'"),
            ("{\"a\": tr", "line 1, column 9: not JSON: the text ends within a word"),
            ("{\"a\": 1", "line 1, column 8: not JSON: the text ends within an object"),
            ("\"abc", "line 1, column 5: not JSON: the text ends within a string"),
            (
                "\"\\ud800\"",
                "line 1, column 2: not JSON: the lone surrogate \\ud800 in a string is not a character",
            ),
            (
                "\"\\ud800\\u0041\"",
                "line 1, column 2: not JSON: the lone surrogate \\ud800 in a string is not a character",
            ),
            (
                "\"é\u{0}\"",
                "line 1, column 3: not JSON: the control character U+0000 in a string; write it as \\u0000",
            ),
            ("\"\\u0000\"", r#""\u0000""#),
            ("01", "line 1, column 2: not JSON: a number does not start with 0 and another digit"),
            ("{} {}", "line 1, column 4: not JSON: text after the end of the document"),
            (
                "[1 2]",
                "line 1, column 4: not JSON: expected ',' or ']' after an element, found '2'",
            ),
            ("// x", "line 1, column 1: not JSON: expected a value: JSON has no comments"),
        ];
        for (text, expected) in table {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn limits_hold_and_are_named() {
        let deep = "[".repeat(100_000_000);
        let limits = Limits::default().with_max_bytes(deep.len());
        let error = read(deep.as_bytes(), limits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 129: nested deeper than the limit max_depth = 128"
        );

        let error = read(deep.as_bytes(), Limits::default()).unwrap_err();
        assert!(error.to_string().contains("over the limit max_bytes = 67108864"), "{error}");

        let long_key = format!("{{\"{}\":1}}", "k".repeat(1_000_000));
        let error = read(long_key.as_bytes(), Limits::default()).unwrap_err();
        assert!(error.to_string().contains("over the limit max_key_bytes = 65536"), "{error}");

        let error = read(b"{\"a\": \"\xff\"}", Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 8: not UTF-8 from here on; JSON is UTF-8");
    }

    #[test]
    fn the_deepest_allowed_tree_is_read() {
        let depth = Limits::DEEPEST;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        let limits = Limits::default().with_max_depth(usize::MAX);
        assert!(read(text.as_bytes(), limits).is_ok());
    }

    proptest! {
        /// Checks on any text that we accept what `serde_json` accepts, and return the same value.
        #[test]
        fn agrees_with_serde_json(text in r#"([\[\]{},:0-9eE.+\- "\\/ubfnrt]|true|false|null|"[a-z]{0,3}":?|\\u[0-9a-fA-F]{4}|[^\x00]){0,40}"#) {
            let ours = read(text.as_bytes(), Limits::default());
            // `serde_json` rejects a byte order mark.
            let theirs = serde_json::from_str::<Value>(text.strip_prefix('\u{feff}').unwrap_or(&text));
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.value, theirs),
                (Err(_), Err(_)) => {}
                (ours, theirs) => prop_assert!(false, "{text:?}: {ours:?} {theirs:?}"),
            }
        }

        #[test]
        fn reads_what_serde_json_writes(number in any::<f64>(), integer in any::<i64>(), words in any::<Vec<String>>()) {
            let value = serde_json::json!({"number": number, "integer": integer, "words": words});
            let text = value.to_string();
            let document = read(text.as_bytes(), Limits::default()).unwrap();
            prop_assert_eq!(document.value, value);
            prop_assert_eq!(document.findings, vec![]);
        }
    }
}
