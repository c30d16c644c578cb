//! Parses the raw argument text of a model's call.
//!
//! The strict parser alone handles valid text. Invalid text is parsed again by a tolerant parser, which reports the
//! *kinds* of mistake and, if possible, the probable value. This reading is only a proposal. The check decides if it
//! fits the tool, and the model or the host decides if it is used.

use answerback_findings::{Severity, codes};
use answerback_json::Limits;
use serde_json::{Map, Value};

use crate::malformed::Malformed;
use crate::read::{Document, read_if_json};

/// Parses the `arguments` of a call as hosts pass them. None and `null` become an empty object. A string is the
/// model's raw text. Any other value is already parsed.
///
/// # Errors
///
/// Returns the same errors as [`parse`], together with the text.
pub fn parse_arguments(
    arguments: Option<Value>,
    limits: Limits,
) -> Result<Document, (String, Malformed)> {
    match arguments {
        None | Some(Value::Null) => Ok(document(empty())),
        Some(Value::String(text)) => parse(&text, limits).map_err(|malformed| (text, malformed)),
        Some(value) => Ok(document(value)),
    }
}

/// Parses the arguments of a call from a model's raw text. An empty text and `null` become an empty object.
///
/// Numbers that do not fit are only warnings, because the call can still run.
///
/// # Errors
///
/// Returns an error if the text is not one JSON document, or repeats a name in an object. The error lists the kinds
/// of mistake and contains the probable reading, if there is one.
///
/// ```
/// use answerback_parse::{Confidence, MistakeKind, parse};
///
/// let malformed = parse("{'city': 'Rome', 'metric': True}", Default::default()).unwrap_err();
/// assert_eq!(malformed.mistakes()[0].kind, MistakeKind::SingleQuotes);
/// let reading = malformed.reading().unwrap();
/// assert_eq!(reading.value, serde_json::json!({"city": "Rome", "metric": true}));
/// assert_eq!(reading.confidence, Confidence::Safe);
/// ```
pub fn parse(text: &str, limits: Limits) -> Result<Document, Malformed> {
    let visible = text.strip_prefix('\u{feff}').unwrap_or(text);
    if visible.trim().is_empty() {
        return Ok(document(empty()));
    }
    match read_if_json(text, limits) {
        Some(Document { value: Value::Null, .. }) => Ok(document(empty())),
        Some(mut read) => {
            if read.findings.iter().any(|found| found.error_code == codes::DUPLICATE_NAME.code) {
                return Err(Malformed::parse(visible, limits));
            }
            for finding in &mut read.findings {
                finding.severity = Severity::Warning;
            }
            Ok(read)
        }
        None if text.len() > limits.max_bytes => Err(Malformed::unread(visible)),
        None => Err(Malformed::parse(visible, limits)),
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

fn document(value: Value) -> Document {
    Document { value, findings: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Confidence, MistakeKind, ProbableValue};

    fn malformed(text: &str) -> Malformed {
        parse(text, Limits::default()).unwrap_err()
    }

    #[test]
    fn a_reading_does_not_uncover_what_the_text_before_it_told() {
        let covered = r#""password": {"value": "let me in"}"#;
        assert_eq!(malformed(covered).reading(), None);
        let told = r#"Here it is: {"password": "let me in"}"#;
        assert_eq!(
            malformed(told).reading().map(|reading| &reading.value),
            Some(&json!({"password": "let me in"}))
        );
    }

    /// Each row has a text, its mistakes with line and column, and the confidence and value of the reading.
    #[rustfmt::skip]
    const MISTAKES: &[(&str, &str, &str)] = &[
        ("{'a': 'b'}", "SingleQuotes 1:2", r#"safe {"a":"b"}"#),
        (r#"{'a': "it's", "b": 'say "x"'}"#, "SingleQuotes 1:2", r#"safe {"a":"it's","b":"say \"x\""}"#),
        (r"{'a': 'it\'s'}", "SingleQuotes 1:2, ForeignEscape 1:10", r#"safe {"a":"it's"}"#),
        ("{'a': 'it's here', 'b': 1}", "UnescapedQuote 1:10, SingleQuotes 1:2", r#"guess {"a":"it's here","b":1}"#),
        ("{'a': 'the dogs' bowl', 'b': 1}", "UnescapedQuote 1:16, SingleQuotes 1:2", r#"guess {"a":"the dogs' bowl","b":1}"#),
        ("{“a”: “b”}", "OddQuotes 1:2", r#"safe {"a":"b"}"#),
        ("{‘a’: ‘b’}", "OddQuotes 1:2", r#"safe {"a":"b"}"#),
        ("{`a`: `b`}", "OddQuotes 1:2", r#"safe {"a":"b"}"#),
        (r#"{\"a\": \"b\\n\"}"#, "EscapedQuotes 1:2", r#"safe {"a":"b\n"}"#),
        (r#""{\"a\": 1}"#, "LeadingText 1:1, EscapedQuotes 1:3", r#"safe {"a":1}"#),
        (r#"[[\"a\",1]]"#, "EscapedQuotes 1:3", r#"safe [["a",1]]"#),
        (r#"[1, {\"a\": \"b\"}]"#, "EscapedQuotes 1:6", r#"safe [1,{"a":"b"}]"#),
        (r#"[[\\\"a\\\",1]]"#, "EscapedQuotes 1:3", r#"safe [["a",1]]"#),
        (r#"{\"a\": \"say \\\"hi\\\" \\\\ \"}"#, "EscapedQuotes 1:2", r#"safe {"a":"say \"hi\" \\ "}"#),
        (r#"{"a": [\"b\", \"c\\\"d\"]}"#, "EscapedQuotes 1:8", r#"safe {"a":["b","c\"d"]}"#),
        (r#"{\"a\": True, \"b\": \"x\\ny\",}"#, "EscapedQuotes 1:2, PythonLiteral 1:9, ExtraComma 1:31", r#"safe {"a":true,"b":"x\ny"}"#),
        ("{\\\"a\\\": \\\"x\ny\\\"}", "EscapedQuotes 1:2, ControlCharacter 1:12", r#"safe {"a":"x\ny"}"#),
        (r#"{\"a\": \"b\\\\\"}"#, "EscapedQuotes 1:2", r#"safe {"a":"b\\"}"#),
        (r#"{"a": \"b"}"#, "UnbalancedQuote 1:10, EscapedQuotes 1:7", r#"guess {"a":"b"}"#),
        (r#"{\"a\": \"b"#, r#"Truncated("a string") 1:12, EscapedQuotes 1:2"#, "none"),
        (r#"'{"a": 1}'"#, "LeadingText 1:1, TrailingText 1:10", r#"safe {"a":1}"#),
        (r#"{"a": True, "b": None, "c": False}"#, "PythonLiteral 1:7", r#"safe {"a":true,"b":null,"c":false}"#),
        (r#"{"a": TRUE}"#, "PythonLiteral 1:7", r#"safe {"a":true}"#),
        (r#"{"a": u'x', "b": b'y'}"#, "PythonLiteral 1:7, SingleQuotes 1:8", r#"safe {"a":"x","b":"y"}"#),
        (r#"{"a": r'C:\new'}"#, "Code 1:7, SingleQuotes 1:8", "none"),
        (r#"{"a": undefined}"#, "Undefined 1:7", r#"guess {"a":null}"#),
        (r#"{"a": NaN}"#, "NotANumber 1:7", "none"),
        (r#"{"a": -Infinity}"#, "NotANumber 1:7", "none"),
        (r#"{"p": 1/6}"#, "Expression 1:7", "none"),
        (r#"{"p": 10-5}"#, "Expression 1:7", "none"),
        (r#"{"h": 6*12+2}"#, "Computation 1:7", r#"guess {"h":74}"#),
        (r#"{"e": 5 * 2800 * 0.1}"#, "Computation 1:7", r#"guess {"e":1400.0}"#),
        (r#"{"d": 2024-10-15}"#, "UnquotedString 1:7", r#"guess {"d":"2024-10-15"}"#),
        (r#"{"v": 1.2.3}"#, "UnquotedString 1:7", r#"guess {"v":"1.2.3"}"#),
        (r#"{"x": data["sales"], "y": 1}"#, "Code 1:7", "none"),
        (r#"{"x": date(2024, 1, 2), "y": 1}"#, "Code 1:7", "none"),
        (r#"{"x": math.pi}"#, "UnquotedString 1:7", r#"guess {"x":"math.pi"}"#),
        (r#"{"a": "b" + "c"}"#, "JoinedStrings 1:11", r#"guess {"a":"bc"}"#),
        (r#"{"a": +1, "b": .5, "c": 1., "d": 0x1F, "e": 1_000}"#, "NumberForm 1:7", r#"safe {"a":1,"b":0.5,"c":1.0,"d":31,"e":1000}"#),
        (r#"{"a": 007}"#, "LeadingZero 1:7", r#"guess {"a":7}"#),
        (r#"{"a": 1,000, "b": 2}"#, "ThousandsSeparator 1:9", "none"),
        ("{'a': 123456789012345678901}", "RoundedNumber 1:7, SingleQuotes 1:2", r#"guess {"a":1.2345678901234568e+20}"#),
        (r#"{"a": 1e999}"#, "NumberOutOfRange 1:7", "none"),
        (r#"{"a": -}"#, "UnquotedString 1:7", r#"guess {"a":"-"}"#),
        ("{a: 1, b-c: 2}", "UnquotedName 1:2", r#"safe {"a":1,"b-c":2}"#),
        (r#"{first name: "x"}"#, "UnquotedName 1:2", r#"safe {"first name":"x"}"#),
        (r#"{a": 1}"#, "UnbalancedQuote 1:3", r#"guess {"a":1}"#),
        (r#"{"a: 1}"#, r#"Truncated("a string") 1:8"#, "none"),
        (r#"{"a": b}"#, "UnquotedString 1:7", r#"guess {"a":"b"}"#),
        (r#"{"a": two words, "b": 1}"#, "UnquotedString 1:7", r#"guess {"a":"two words","b":1}"#),
        (r#"{"a": red, green, "b": 1}"#, "UnquotedString 1:7", r#"guess {"a":"red, green","b":1}"#),
        (r#"{"a": 12"}"#, "UnbalancedQuote 1:9", r#"guess {"a":12}"#),
        (r#"{"a": text", "b": 1}"#, "UnbalancedQuote 1:11", r#"guess {"a":"text","b":1}"#),
        (r#"{"a": ""text"}"#, "UnbalancedQuote 1:7", r#"guess {"a":"text"}"#),
        (r#"{"a": "say "hi" now", "b": 1}"#, "UnescapedQuote 1:12", r#"guess {"a":"say \"hi\" now","b":1}"#),
        (r#"{"a": "x "y", z", "b": 1}"#, "UnescapedQuote 1:10", r#"guess {"a":"x \"y\", z","b":1}"#),
        (r#"{"a": "x, "b": 1}"#, "UnbalancedQuote 1:9", r#"guess {"a":"x","b":1}"#),
        (r#"["a "b" c", "d"]"#, "UnescapedQuote 1:5", r#"guess ["a \"b\" c","d"]"#),
        (r#"{"a": """one "two" three"""}"#, "TripleQuotes 1:7", r#"safe {"a":"one \"two\" three"}"#),
        (r#"{"a": "b\_c \d"}"#, "InvalidEscape 1:13", r#"guess {"a":"b_c \\d"}"#),
        (r#"{"a": "C:\Users\new"}"#, "InvalidEscape 1:10", r#"guess {"a":"C:\\Users\\new"}"#),
        (r#"{"a": 'x\x41'}"#, "SingleQuotes 1:7, ForeignEscape 1:9", r#"safe {"a":"xA"}"#),
        (r#"{"a": "\ud800"}"#, "LoneSurrogate 1:8", "none"),
        (r#"{"a": "x\udc00\d"}"#, "LoneSurrogate 1:9", "none"),
        (r#"{"a": "\ud83d\ude00\d"}"#, "InvalidEscape 1:20", r#"guess {"a":"😀\\d"}"#),
        (r#"{"a": 1,}"#, "ExtraComma 1:8", r#"safe {"a":1}"#),
        ("[1, 2, ,3,]", "ExtraComma 1:8", "safe [1,2,3]"),
        (r#"{"a": 1 "b": 2}"#, "MissingComma 1:9", r#"guess {"a":1,"b":2}"#),
        (r#"["a" "b"]"#, "MissingComma 1:6", r#"guess ["a","b"]"#),
        ("{a: 1 b: true c: 2}", "MissingComma 1:7, UnquotedName 1:2", r#"guess {"a":1,"b":true,"c":2}"#),
        ("{a: see 10: 30}", "UnquotedString 1:5, UnquotedName 1:2", r#"guess {"a":"see 10: 30"}"#),
        (r#"{"a" 1}"#, "MissingColon 1:6", r#"guess {"a":1}"#),
        (r#"{"a" = 1, "b" => 2}"#, "MissingColon 1:6", r#"guess {"a":1,"b":2}"#),
        (r#"{"a": , "b": 1}"#, "MissingValue 1:7", "none"),
        (r#"{"a": 1, "b"}"#, "MissingValue 1:13", "none"),
        (r#"{"a": 1, ["b"]}"#, "MissingName 1:10", "none"),
        (r#"{"a": [1, 2}"#, "MissingBracket 1:12", r#"guess {"a":[1,2]}"#),
        (r#"{"a": {"b": [1, {"c": 2}, "d": 3}"#, r#"MissingBracket 1:25, Unclosed("an object") 1:34"#, r#"guess {"a":{"b":[1,{"c":2}],"d":3}}"#),
        (r#"[{"a": 1]"#, "MissingBracket 1:9", r#"guess [{"a":1}]"#),
        (r#"{"a": [1, 2]], "b": 3}"#, "MisplacedBracket 1:13", r#"guess {"a":[1,2],"b":3}"#),
        (r#"{"a": {"b": 1}}, "c": 2}"#, "MisplacedBracket 1:15", r#"guess {"a":{"b":1},"c":2}"#),
        (r#"{"a": 1}}"#, "ExtraBracket 1:9", r#"safe {"a":1}"#),
        ("(1, 2)", "Tuple 1:1", "safe [1,2]"),
        (r#"{"a": (1)}"#, "Tuple 1:7", r#"safe {"a":1}"#),
        (r#"{"a": (1,)}"#, "Tuple 1:7", r#"safe {"a":[1]}"#),
        (r#"{"a", "b"}"#, "Set 1:2", r#"guess ["a","b"]"#),
        (r#"["a": 1]"#, "MembersInArray 1:2, MissingBracket 1:8", r#"guess [{"a":1}]"#),
        ("{\"a\": 1 /* x */, // y\n\"b\": 2}", "Comment 1:9", r#"safe {"a":1,"b":2}"#),
        ("{\"a\": 1, # x\n\"b\": 2}", "Comment 1:10", r#"safe {"a":1,"b":2}"#),
        ("[1, 2, ...]", "Ellipsis 1:8", "guess [1,2]"),
        (r#"{"a": 1, NOTE "b": 2}"#, "StrayText 1:10", r#"guess {"a":1,"b":2}"#),
        (r#"{"a": "b" oops}"#, "StrayText 1:11", r#"guess {"a":"b"}"#),
        (r#"{"a":"x", oops}"#, "StrayText 1:11", r#"guess {"a":"x"}"#),
        (r#"{"a": {"b": "x", oops here}, "c": 1}"#, "StrayText 1:18", r#"guess {"a":{"b":"x"},"c":1}"#),
        (r#"{"a": "{"x", oops}"}"#, "UnescapedQuote 1:9", r#"guess {"a":"{\"x\", oops}"}"#),
        ("```json\n{\"a\": 1}\n```", "CodeFence 1:1", r#"safe {"a":1}"#),
        ("```\n[1]\n```", "CodeFence 1:1", "safe [1]"),
        (r#"<tool_call>{"a": 1}</tool_call>"#, "Tag 1:1", r#"safe {"a":1}"#),
        (r#"{"a": 1}</tool_call>"#, "Tag 1:9", r#"safe {"a":1}"#),
        ("{\"a\": {\"b\": 1}\n</tool_call>", "MissingBracket 2:1, Tag 2:1", r#"guess {"a":{"b":1}}"#),
        (r#"Here you go: {"a": 1}"#, "LeadingText 1:1", r#"safe {"a":1}"#),
        (r#"[TOOL_CALLS] [{"a": 1}]"#, "LeadingText 1:1", r#"safe [{"a":1}]"#),
        (r#"{"a": 1} Hope this helps!"#, "TrailingText 1:10", r#"safe {"a":1}"#),
        (r#"{"a": 1} {"b": 2}"#, "SecondValue 1:10", r#"guess {"a":1}"#),
        ("{\"a\": 1}\n<tool_call>\n{\"a\": 1}", "SecondValue 3:1, Tag 2:1", r#"guess {"a":1}"#),
        (r#"{"a": 1};"#, "TrailingText 1:9", r#"safe {"a":1}"#),
        (r#"{"a": 1},"#, "ExtraComma 1:9", r#"safe {"a":1}"#),
        (r#"{"a": "b"#, r#"Truncated("a string") 1:9"#, "none"),
        (r#"{"a"#, r#"Truncated("a string") 1:4"#, "none"),
        (r#"{"a":"#, r#"Truncated("an object") 1:6"#, "none"),
        (r#"{"a": 1,"#, r#"Truncated("an object") 1:9"#, "none"),
        (r#"{"a": 1"#, r#"Truncated("a number") 1:8"#, "none"),
        (r#"{"a": 1 "#, r#"Unclosed("an object") 1:9"#, r#"guess {"a":1}"#),
        (r"[105,12", r#"Truncated("a number") 1:8"#, "none"),
        (r#"{"a": 3 * 4"#, r#"Truncated("a word") 1:12"#, "none"),
        (r#"{"a": hello"#, r#"Truncated("a word") 1:12"#, "none"),
        (r#"{"a": true"#, r#"Unclosed("an object") 1:11"#, r#"guess {"a":true}"#),
        (r#"{"a": tr"#, r#"Truncated("a word") 1:9"#, "none"),
        (r#"{"a": [1, {"b": "c""#, r#"Truncated("an object") 1:20"#, "none"),
        (r#"{"a": {"b": "c""#, r#"Truncated("an object") 1:16"#, "none"),
        (r#"{"a": {"b": "c"}"#, r#"Unclosed("an object") 1:17"#, r#"guess {"a":{"b":"c"}}"#),
        (r#"["a", "b""#, r#"Truncated("an array") 1:10"#, "none"),
        (r#"{"a": ["b""#, r#"Truncated("an array") 1:11"#, "none"),
        (r#"{"a": "b }"#, "UnbalancedQuote 1:9", r#"guess {"a":"b"}"#),
        (r#"{"a": "f() { return 1; }"#, r#"Truncated("a string") 1:25"#, "none"),
        ("{\"a\": \"f() {\n  g() {\n}\n}", r#"Truncated("a string") 4:2, ControlCharacter 1:13"#, "none"),
        (r#"{"a": {"b": "c }"#, r#"Truncated("a string") 1:17"#, "none"),
        (r#"{"a": ["c ]"#, r#"Truncated("a string") 1:12"#, "none"),
        (r#"{"a": ["c ]}"#, "UnbalancedQuote 1:10", r#"guess {"a":["c"]}"#),
        (r#"{"a": {"b": "c }}"#, "UnbalancedQuote 1:15", r#"guess {"a":{"b":"c"}}"#),
        ("'abc", r#"Truncated("a string") 1:5, SingleQuotes 1:1"#, "none"),
        ("{", r#"Unclosed("an object") 1:2"#, "guess {}"),
        ("[", r#"Unclosed("an array") 1:2"#, "guess []"),
        (r#"{"a": 1, "a": 1}"#, "RepeatedName 1:10", r#"safe {"a":1}"#),
        (r#"{"a": 1, "a": 2}"#, "ConflictingName 1:10", "none"),
        (r#""a": 1, "b": 2"#, r#"MissingBracket 1:1, Unclosed("an object") 1:15"#, r#"guess {"a":1,"b":2}"#),
        ("hello world", "NoValue 1:1", "none"),
        ("{placeholder}", "MissingName 1:2", "none"),
        ("use {placeholder} here", "NoValue 1:1", "none"),
        ("True", "PythonLiteral 1:1", "safe true"),
        ("1/6", "Expression 1:1", "none"),
        ("'abc'", "SingleQuotes 1:1", r#"safe "abc""#),
        ("}", "NoValue 1:1, StrayText 1:1", "none"),
        (":", "NoValue 1:1", "none"),
        ("{:}", "MissingName 1:2", "none"),
        (r#"{"a":: 1}"#, "StrayText 1:6", r#"guess {"a":1}"#),
        (r#"{"a": ]}"#, "MissingValue 1:7, MisplacedBracket 1:7", "none"),
        (r#"{"a": "b"c}"#, "UnescapedQuote 1:9, UnbalancedQuote 1:11", r#"guess {"a":"b\"c"}"#),
        ("{\"a\": \"x\ny\tz\"}", "ControlCharacter 1:9", r#"safe {"a":"x\ny\tz"}"#),
        ("\u{feff}{'a': 1}", "SingleQuotes 1:2", r#"safe {"a":1}"#),
        ("{\"a\":\u{a0}1}", "Other 1:6", r#"guess {"a":1}"#),
        ("{\n  \"a\": 'é',\n  \"b\": 1/6\n}", "Expression 3:8, SingleQuotes 2:8", "none"),
        ("{\"a\": \"b\n \"c\": 1}", "UnbalancedQuote 1:9, MissingComma 2:2", r#"guess {"a":"b","c":1}"#),
        ("{\"a\": \"\u{1}\"}", "ControlCharacter 1:8", r#"safe {"a":"\u0001"}"#),
    ];

    #[test]
    fn names_the_mistake_and_reads_what_was_meant() {
        for (text, mistakes, reading) in MISTAKES {
            let malformed = malformed(text);
            let named: Vec<String> = malformed
                .mistakes()
                .iter()
                .map(|mistake| format!("{:?} {}:{}", mistake.kind, mistake.line, mistake.column))
                .collect();
            let read = malformed.reading().map_or("none".to_owned(), |reading| {
                format!("{} {}", reading.confidence, reading.value)
            });
            assert_eq!((named.join(", ").as_str(), read.as_str()), (*mistakes, *reading), "{text}");
        }
    }

    #[test]
    fn nothing_is_an_empty_object() {
        for text in ["", " \n", "\u{feff}", "null", " null ", "{}"] {
            assert_eq!(parse(text, Limits::default()).unwrap().value, json!({}), "{text:?}");
        }
        let parsed =
            |arguments: Option<Value>| parse_arguments(arguments, Limits::default()).unwrap().value;
        assert_eq!(parsed(None), json!({}));
        assert_eq!(parsed(Some(Value::Null)), json!({}));
        assert_eq!(parsed(Some(json!("{\"a\": 1}"))), json!({"a": 1}));
        assert_eq!(parsed(Some(json!({"a": 1}))), json!({"a": 1}));
    }

    #[test]
    fn a_number_that_does_not_fit_is_a_warning() {
        let text = r#"{"id": 123456789012345678901234567890}"#;
        let document = parse(text, Limits::default()).unwrap();
        assert_eq!(document.findings[0].error_code, "DOC-002");
        assert_eq!(document.findings[0].severity, Severity::Warning);
    }

    #[test]
    fn limits_hold() {
        let limits = Limits::default().with_max_bytes(20).with_max_depth(3).with_max_key_bytes(4);
        for text in ["{'a': {'b': [[1]]}}", "{'names': 1}", "{'a': 'a long text follows'}"] {
            let malformed = parse(text, limits).unwrap_err();
            assert_eq!(malformed.mistakes()[0].kind, MistakeKind::OverLimit, "{text}");
            assert_eq!(malformed.reading(), None, "{text}");
        }
        let deepest = Limits::default().with_max_depth(usize::MAX);
        let malformed = parse(&"[".repeat(100_000), deepest).unwrap_err();
        assert_eq!(malformed.mistakes()[0].kind, MistakeKind::OverLimit);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the clock only bounds the test")]
    fn hostile_texts_cost_no_more_than_their_length() {
        let pieces = [
            "\"",
            "'",
            "\\",
            ",",
            ":",
            "{",
            "[",
            "(",
            "}",
            "]",
            "\"\"\"",
            "'''",
            "/*",
            "//",
            "{\"a\":",
            "\",\"",
            "\", \"",
            "\" ",
            "' a, ",
            "{'a': 'b', ",
            "\"a: \"b\n",
            "...",
            "\\\"",
            "\\\\\\\"",
            "{\\\"a\\\": \\\"b",
            "\", a",
            "\"x\", oops} ",
            "a ",
            "1 ",
            "```",
            "<",
            "“",
            "{a",
            "\"x\" y ",
            ",{",
            "\":\"",
            "\"a\",\"b",
            "[\"a\":",
            "-",
            "\" + ",
            "a,b",
        ];
        let frames =
            [("", ""), ("{\"a\": \"", ""), ("{\"a\": ", "\"}"), ("[\"", "]"), ("x", "{\"a\": 1}")];
        for piece in pieces {
            for (head, tail) in frames {
                let text = format!("{head}{}{tail}", piece.repeat(50_000 / piece.len()));
                let started = Instant::now();
                let _ = parse(&text, Limits::default());
                // The limit allows for a debug build on a busy machine. Quadratic work would take minutes.
                assert!(started.elapsed() < Duration::from_secs(5), "{head}{piece}…{tail}");
            }
        }
    }

    /// Checks that a reading is offered only if ordinary JSON parsers can read it inside a reply.
    #[test]
    fn a_reading_is_no_deeper_than_readers_accept() {
        let deepest = answerback_json::MAX_OUTPUT_DEPTH;
        for (opener, closer, levels) in
            [("[", "]", 1), ("{'a':", "}", 1), ("['a':", "]", 2), ("('a',", ")", 1)]
        {
            for count in [deepest / levels, deepest / levels + 1, 128, 200, 600] {
                for tail in [",", ",}", " 'x'"] {
                    let text = format!("{}1{tail}{}", opener.repeat(count), closer.repeat(count));
                    let malformed = malformed(&text);
                    let is_over = malformed.mistakes()[0].kind == MistakeKind::OverLimit;
                    assert_eq!(is_over, count * levels > deepest, "{opener} {count}");
                    let is_offered = malformed.reading().is_some();
                    assert!(!is_over || !is_offered, "{opener} {count}");
                }
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let text =
            prop_oneof!["[a-z ]{0,8}", r#"["',:{}\[\]\\n/# .+-]{0,8}"#, any::<String>()].boxed();
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Generates objects, because arguments are objects.
    fn objects() -> impl Strategy<Value = Value> {
        values().prop_map(|value| json!({"name": "tool", "value": value, "last": "x"}))
    }

    /// Formats a value as Python's `repr` does.
    fn python(value: &Value) -> String {
        match value {
            Value::Null => "None".to_owned(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => {
                let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
                let mut written = String::from(quote);
                for letter in text.chars() {
                    match letter {
                        '\\' => written.push_str("\\\\"),
                        '\n' => written.push_str("\\n"),
                        _ if letter == quote => written.extend(['\\', quote]),
                        '\0'..' ' => write!(written, "\\x{:02x}", u32::from(letter)).unwrap(),
                        '\u{10000}'.. => write!(written, "\\U{:08x}", u32::from(letter)).unwrap(),
                        _ => written.push(letter),
                    }
                }
                written.push(quote);
                written
            }
            Value::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(python).collect();
                format!("[{}]", elements.join(", "))
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    format!("{}: {}", python(&Value::from(name.as_str())), python(value))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Returns variants of an object with syntax mistakes only.
    fn spoiled(object: &Value) -> Vec<String> {
        let good = object.to_string();
        let pretty = serde_json::to_string_pretty(object).unwrap();
        let open = good.strip_suffix('}').unwrap();
        vec![
            python(object),
            format!("```json\n{pretty}\n```"),
            format!("<tool_call>\n{good}\n</tool_call>"),
            format!("{good}\n</function_call>"),
            format!("Here it is:\n{good}"),
            format!("{good}\nThis calls the \"tool\", doesn't it? (Yes.)"),
            format!("{open},}}"),
            format!("{good}}}"),
            format!("{open} /* done */ }}"),
            format!("{open},\n// the end\n}}"),
        ]
    }

    proptest! {
        #[test]
        fn spoiled_syntax_is_read_safely(object in objects()) {
            for text in spoiled(&object) {
                let reading = malformed(&text).into_reading();
                let expected = ProbableValue { value: object.clone(), confidence: Confidence::Safe };
                prop_assert_eq!(reading, Some(expected), "{}", text);
            }
        }

        #[test]
        fn what_lacks_only_brackets_is_closed(object in objects()) {
            let text = object.to_string();
            let reading = malformed(text.trim_end_matches('}')).into_reading();
            let expected = ProbableValue { value: object, confidence: Confidence::Guess };
            prop_assert_eq!(reading, Some(expected), "{}", text);
        }

        /// Checks text that was escaped as a whole, once or several times too often.
        #[test]
        fn escapes_are_undone(object in objects(), rounds in 1..4) {
            let escaped = (0..rounds).fold(object.to_string(), |text, _| {
                let quoted = Value::from(text).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            });
            let reading = malformed(&escaped).into_reading();
            let expected = ProbableValue { value: object, confidence: Confidence::Safe };
            prop_assert_eq!(reading, Some(expected), "{}", escaped);
        }

        /// Checks the same inside valid JSON: one value is escaped too often.
        #[test]
        fn escapes_within_a_member_are_undone(text in "[a-z\"\\\\/\n éü]{0,12}") {
            let object = json!({"list": [text], "last": 1});
            let quoted = object["list"][0].to_string();
            let twice = Value::from(quoted.as_str()).to_string();
            let escaped = object.to_string().replacen(&quoted, &twice[1..twice.len() - 1], 1);
            let reading = malformed(&escaped).into_reading();
            let expected = ProbableValue { value: object, confidence: Confidence::Safe };
            prop_assert_eq!(reading, Some(expected), "{}", escaped);
        }

        #[test]
        fn readings_are_never_too_deep(
            text in prop::collection::vec(
                prop::sample::select(vec![
                    "[", "{", "{'a':", "['a':", "(", "{\"a\",", "\"x\",", "1,", "]", "}", ")", ":", "'",
                ]),
                1..300,
            ),
        ) {
            if let Err(malformed) = parse(&text.concat(), Limits::default())
                && let Some(reading) = malformed.reading()
            {
                prop_assert!(answerback_json::is_readable_output(&reading.value));
                let again = serde_json::from_str::<Value>(&reading.value.to_string());
                prop_assert!(again.is_ok());
            }
        }

        /// Checks that the reading of a truncated text is never marked as safe.
        #[test]
        fn a_text_that_was_cut_off_is_never_read_safely(object in objects(), cut in any::<prop::sample::Index>()) {
            let text = object.to_string();
            let end = text.floor_char_boundary(cut.index(text.len()));
            if let Err(malformed) = parse(&text[..end], Limits::default()) {
                let is_safe = malformed.reading().is_some_and(|reading| reading.confidence == Confidence::Safe);
                prop_assert!(!is_safe, "{}", &text[..end]);
            }
        }

        #[test]
        fn agrees_with_serde_json(text in any::<String>()) {
            agrees(&text)?;
        }

        #[test]
        fn agrees_with_serde_json_near_json(
            text in r#"[\[\]{}"',:/#*.0-9a-eTrueN\\+()`< \n“-]{0,40}"#,
        ) {
            agrees(&text)?;
        }

        #[test]
        fn agrees_with_serde_json_on_mutated_json(
            value in values(),
            edits in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..3_u8, prop_oneof![any::<char>(), Just('"')]),
                1..4,
            ),
        ) {
            let mut letters: Vec<char> = value.to_string().chars().collect();
            for (index, edit, letter) in edits {
                match (edit, letters.len()) {
                    (0, 1..) => drop(letters.remove(index.index(letters.len()))),
                    (1, length @ 1..) => letters[index.index(length)] = letter,
                    (_, length) => letters.insert(index.index(length + 1), letter),
                }
            }
            agrees(&letters.into_iter().collect::<String>())?;
        }
    }

    /// Checks that we parse every text that `serde_json` accepts to the same value, except for repeated names. Any
    /// other text must be reported as malformed, with a place.
    fn agrees(text: &str) -> Result<(), TestCaseError> {
        let visible = text.strip_prefix('\u{feff}').unwrap_or(text);
        match (parse(text, Limits::default()), serde_json::from_str::<Value>(visible)) {
            (Ok(ours), Ok(theirs)) if theirs != Value::Null => prop_assert_eq!(ours.value, theirs),
            (Ok(ours), _) => {
                prop_assert_eq!(ours.value, json!({}), "{:?}", text);
                prop_assert!(matches!(visible.trim(), "" | "null"), "{:?}", text);
            }
            (Err(malformed), theirs) => {
                let first = malformed.mistakes()[0];
                prop_assert!((1..=text.lines().count() + 1).contains(&first.line), "{malformed}");
                prop_assert!(malformed.excerpt().inline().lines().count() == 1);
                if theirs.is_ok() {
                    let repeated = [MistakeKind::RepeatedName, MistakeKind::ConflictingName];
                    prop_assert!(repeated.contains(&first.kind), "{text:?}: {malformed}");
                }
            }
        }
        Ok(())
    }
}
