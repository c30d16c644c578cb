//! Tests that the cost of every step of a call grows linearly with its input, for every piece of text that a scanner
//! handles specially.
//!
//! The cost is the CPU time of the thread. Four times the input may take eight times as long, which leaves room for
//! noise: a quadratic step takes sixteen times as long. A slow result counts only if it is confirmed several times.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;

use answerback::call::{CheckOptions, Schema, check, parse};
use answerback::checker::{CallRequest, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::contract::recognise;
use answerback::finding::secrets::{redact, redact_member, redact_value};
use answerback::finding::{aggregate, display_name, display_text, preview, relative_paths};
use answerback::json::{Limits, Pointer, canonical, locate, read};
use answerback::message::{CandidateTool, nearest_tools, repair, repair_malformed, unknown_tool};
use answerback::{RetryTracker, Timestamp};
use serde_json::{Value, json};

use crate::dice::Dice;

/// The size of the smaller input, in bytes. The larger one has four times as many.
const BYTES: usize = 3 << 10;
/// The largest accepted ratio of the CPU times.
const MOST_GROWTH: u32 = 8;
/// The number of measurements that must all be slow.
const TRIES: usize = 6;
/// Shorter times are not compared, because the clock and the caches dominate them.
const SHORT: Duration = Duration::from_millis(2);

/// Pieces of text that a reader, a scanner or a formatter handles specially.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "{[",
    "[[1],",
    "{\"a\":",
    "{\"a\":1,",
    "{\"a\":[",
    "\"a\":",
    "\"a\",",
    "{'a':",
    "'a',",
    "{a:",
    "a:",
    "a=",
    "a b ",
    "[1,",
    "1,",
    ",",
    ",,",
    ":",
    ";",
    "\"",
    "\"\"",
    "\"\"\"",
    "\\\"",
    "\\",
    "\\\\",
    "\\\\\\\"",
    "'",
    "''",
    "\\'",
    "`",
    "```",
    "```json\n",
    "```\n",
    "\n```\n",
    "//",
    "// a\n",
    "/*",
    "*/",
    "/* a */",
    "#",
    "# a\n",
    "\\u",
    "\\u0",
    "\\u0041",
    "\\ud800",
    "\\ud83d\\ude00",
    "\\n",
    "\\x41",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\u{0}",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "é",
    "😀",
    "“",
    "”",
    "true",
    "True ",
    "None,",
    "NaN,",
    "null,",
    "undefined,",
    "Infinity",
    "0x",
    "1e",
    "1e9,",
    "1_000",
    "-",
    "--",
    "-1,",
    "+",
    "+1,",
    "1+",
    "1*",
    "(1",
    "0.",
    ".",
    "...",
    "…",
    "</",
    "<a>",
    "<tool_call>",
    "</tool_call>",
    "<|",
    "|>",
    "<!--",
    "-->",
    "&",
    "&amp;",
    "%",
    "%41",
    "$",
    "@",
    "!",
    "?",
    "|",
    "*",
    "~",
    "~0",
    "~1",
    "/",
    "a/",
    "/a",
    "/home/a/",
    "C:\\",
    "\\\\a\\",
    "file://",
    "a://",
    "a://b:c@",
    "://",
    "key=",
    "pwd=$",
    "sk-",
    "password: ",
    "Bearer ",
    "Authorization: ",
    "-----BEGIN PRIVATE KEY-----",
    "\"name\":\"pwd\",\"value\":",
    "2024-01-01",
    "10:00",
    "2024-01-01T00:00:00Z,",
    "P1D",
    "a@",
    "a.b@",
    "::1",
    "1.",
    "xn--",
    "a_",
    "aB",
    "A",
    "ab-cd_",
    "_",
    "0",
    "9",
    "a",
    "word ",
    "Assistant: ",
    "[answerback]",
    "[redacted",
    "(truncated)",
    "{}",
    "[]",
    "{}{}",
    "}{",
    "]{",
    "\",\"",
    "\":\"",
    "\"}",
    "\"]",
    "{\"a\":\"",
    "{\"\\\"",
    "{\"a\\\":",
];

/// Returns every known piece, and combinations that are the same in each run.
fn units() -> Vec<String> {
    let mut dice = Dice::new(20);
    let mut units: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    for _ in 0..100 {
        let length = 2 + dice.below(3);
        units.push((0..length).map(|_| dice.one_of(PIECES)).collect());
    }
    units
}

#[cfg(unix)]
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap(), u32::try_from(now.tv_nsec).unwrap())
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Asserts that four times as much of any unit takes at most [`MOST_GROWTH`] times as long.
fn assert_linear(step: impl Fn(&str)) {
    assert_linear_for_every(1, step);
}

/// Works like [`assert_linear`] with every `nth` unit only, for steps that take long.
fn assert_linear_for_every(nth: usize, step: impl Fn(&str)) {
    let time = |text: &str| {
        let start = cpu_time();
        step(text);
        cpu_time().saturating_sub(start)
    };
    let growth = |unit: &String| {
        let times = BYTES / unit.len() + 1;
        let (once, often) = (unit.repeat(times), unit.repeat(4 * times));
        let (mut small, mut large) = (Duration::MAX, Duration::MAX);
        for _ in 0..TRIES {
            large = large.min(time(&often));
            if large < SHORT {
                return None;
            }
            small = small.min(time(&once));
            if large <= small * MOST_GROWTH {
                return None;
            }
        }
        Some(format!("{unit:?}: {small:?}, then {large:?}"))
    };
    let slow: Vec<String> = units().iter().step_by(nth).filter_map(growth).collect();
    assert!(slow.is_empty(), "{slow:#?}");
}

fn schema() -> Value {
    let leaf = json!({
        "type": "object",
        "properties": {"leaf": {"type": "integer"}, "kind": {"const": "leaf"}},
        "required": ["leaf"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["read", "write", "append"]},
            "short": {"type": "string", "maxLength": 3},
            "code": {"type": "string", "pattern": "^([a-z]+[0-9]*)+$"},
            "careful": {"type": "string", "pattern": "^(?!x)[a-z]*$"},
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"},
            "link": {"type": "string", "format": "uri"},
            "list": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true},
            "either": {"anyOf": [{"type": "integer"}, leaf, {"type": "array", "items": leaf}]},
            "one": {"oneOf": [leaf, {"type": "object", "properties": {"kind": {"const": "tree"}}, "required": ["kind"]}]},
            "open": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
            "never": {"not": {"type": "string"}},
        },
        "required": ["count", "needed"],
        "additionalProperties": false,
    })
}

/// Returns arguments with a text in every place that a check or a message looks at.
fn arguments(text: &str) -> Vec<Value> {
    let lines: Vec<&str> = text.split_inclusive([',', ' ', '\n', ':', '/']).collect();
    let fields: serde_json::Map<String, Value> =
        lines.iter().enumerate().map(|(at, line)| (format!("{line}{at}"), json!(line))).collect();
    vec![
        json!({"count": text, "mode": text, "short": text, "code": text, "when": text}),
        json!({"mail": text, "link": text, "either": text, "one": text, "never": text}),
        json!({"list": lines, "either": [text], "one": {"kind": text}, text: 1}),
        json!({"open": fields, "either": {"leaf": text}, "list": text}),
        json!(text),
    ]
}

/// Returns texts of arguments: the text alone, within a string, within an object, and cut short.
fn texts(text: &str) -> [String; 4] {
    [
        text.to_owned(),
        format!("{{\"count\": \"{text}\"}}"),
        format!("{{\"count\": 1, {text}}}"),
        format!("Here it is: {{\"count\": {text}"),
    ]
}

#[test]
fn reading_documents() {
    assert_linear(|text| {
        for text in texts(text) {
            drop(black_box(read(text.as_bytes(), Limits::default())));
        }
        let value = json!({"a": text, text: [text, {"b": text}]});
        let written = canonical(&value);
        let place = Pointer::root().join(text).join("1").join("b");
        black_box(locate(&written, &place));
        black_box(recognise(&value));
        black_box(recognise(&json!({"schema_id": text, "status": text, "ui": text})));
    });
}

#[test]
fn reading_arguments() {
    assert_linear(|text| {
        for text in texts(text) {
            if let Err(malformed) = parse(&text, Limits::default()) {
                black_box(malformed.finding());
                black_box(malformed.reading());
            }
        }
    });
}

#[test]
fn repairing_arguments_that_are_not_json() {
    let schema = Schema::compile(schema()).unwrap();
    assert_linear(|text| {
        for text in texts(text) {
            if let Err(malformed) = parse(&text, Limits::default()) {
                drop(black_box(repair_malformed(&schema, &malformed, ())));
            }
        }
    });
}

#[test]
fn checking_and_repairing() {
    let schema = Schema::compile(schema()).unwrap();
    let strict = CheckOptions::default().with_strict(true);
    assert_linear_for_every(5, |text| {
        for arguments in arguments(text) {
            let findings = check(&schema, &arguments, strict).unwrap();
            black_box(aggregate(&findings, 10));
            drop(black_box(repair(&schema, &arguments, &findings, ())));
            drop(black_box(schema.is_valid(&arguments)));
        }
    });
}

#[test]
fn compiling_schemas() {
    assert_linear(|text| {
        let lines: Vec<&str> = text.split_inclusive([',', ' ', '\n', ':', '/']).collect();
        let schema = json!({
            "title": text,
            "description": text,
            "$comment": text,
            "properties": {text: {"description": text, "enum": lines, "default": text, "examples": [text]}},
            "required": [text],
        });
        if let Ok(schema) = Schema::compile(schema) {
            drop(black_box(check(&schema, &json!({"a": text}), ())));
        }
    });
}

#[test]
fn answering_calls() {
    let configs = ["detailed", "compact"].map(|style| {
        let formatting = json!({"style": style, "root": "/home/a"});
        let config = json!({"tools": {"validation": {"formatting": formatting}}});
        ValidationConfig::from_value("f", &config).unwrap()
    });
    let tool = json!([{"name": "tool", "inputSchema": schema()}]);
    let catalogue = ToolCatalog::read(&tool).unwrap();
    let attempt = RefCell::new(0);
    assert_linear_for_every(5, |text| {
        for config in &configs {
            let tracker = RetryTracker::new(config);
            for arguments in arguments(text) {
                *attempt.borrow_mut() += 1;
                let call = CallRequest::new("tool", arguments);
                let judged = check_call(&catalogue, call, config, Limits::default());
                let now = Timestamp::from_unix_millis(1_800_000_000_000);
                let answer = reply_to(judged, &tracker, now, [7; 10]);
                black_box(serde_json::to_string(&answer).unwrap());
            }
        }
    });
}

#[test]
fn answering_calls_of_unknown_tools() {
    let config = ValidationConfig::default();
    let listed = json!([
        {"name": "read_file", "inputSchema": schema()},
        {"name": "write_file", "inputSchema": {"properties": {"path": {}}}},
    ]);
    let catalogue = ToolCatalog::read(&listed).unwrap();
    let schema = schema();
    assert_linear(|text| {
        let tools = [
            CandidateTool { name: "read_file", schema: &schema },
            CandidateTool { name: text, schema: &schema },
        ];
        black_box(nearest_tools(text, &json!({text: 1}), &tools));
        black_box(unknown_tool(text, &json!({text: text}), &tools));
        let tracker = RetryTracker::new(&config);
        let call = CallRequest::new(text, json!({text: text}));
        let judged = check_call(&catalogue, call, &config, Limits::default());
        let answer = reply_to(judged, &tracker, Timestamp::from_unix_millis(0), [7; 10]);
        black_box(serde_json::to_string(&answer).unwrap());
    });
}

#[test]
fn showing_and_redacting() {
    assert_linear(|text| {
        black_box(preview(&json!(text)));
        black_box(preview(&json!({"a": [text, text], text: text})));
        black_box(display_name(text));
        black_box(display_text(text, 200));
        black_box(relative_paths(text, Some("/home/a")));
        black_box(redact(text));
        black_box(redact_value(&json!({"a": [text], text: {"b": text}})));
        black_box(redact_member("name", &json!([text])));
    });
}
