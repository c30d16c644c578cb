//! Tests that reading and editing a message costs CPU time in proportion to its length.
//!
//! Four times the message may take eight times as long, which leaves room for noise: a quadratic step takes sixteen
//! times as long. A slow result counts only if it is confirmed several times.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test names its line")]

use std::hint::black_box;
use std::time::Duration;

use answerback_mcp::wire::{LineReader, Message, Messages, Object, splice, word};
use serde_json::json;

/// The size of the smaller text, in bytes. The larger one has four times as many.
const BYTES: usize = 16 << 10;
/// The largest accepted ratio of the CPU times.
const MOST_GROWTH: u32 = 8;
/// The number of measurements that must all be slow.
const TRIES: usize = 6;
/// Shorter times are not compared, because the clock and the caches dominate them.
const SHORT: Duration = Duration::from_millis(2);

/// Pieces of text that the scanner handles specially.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "{\"a\":",
    "{\"a\":1,",
    "{\"a\":{",
    "\"a\":1,",
    "\"a\":[",
    "\"a\",",
    "\"_meta\":{",
    "\"_meta\":{},",
    "\"_meta\":{\"dev.answerback/a\":1},",
    "\"dev.answerback/a\":1,",
    "\"dev.answerback\\/a\":1,",
    "dev.answerback/",
    "answerback",
    "\\u0064ev.answerback/",
    "\\u0061",
    "\\u00",
    "\\u",
    "\\",
    "\\\\",
    "\\\"",
    "\"",
    "\"\"",
    ",",
    ":",
    "1,",
    "-1,",
    "0.",
    "1e",
    "1e+",
    "-",
    "true,",
    "null,",
    "tru",
    " ",
    "\t",
    "\r",
    "é",
    "\u{0}",
    "\u{200b}",
    "[1],",
    "{},",
    "{\"id\":1,\"result\":1},",
    "\"id\":1,",
    "\"method\":\"a\",",
    "\"params\":{},",
    "\"result\":{},",
    "\"jsonrpc\":\"2.0\",",
    "progressToken",
    "task",
    "taskId",
    "a",
    "aab",
];

/// Returns every known piece, and all pairs with some of them.
fn units() -> Vec<String> {
    let mut units: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    for (at, first) in PIECES.iter().enumerate() {
        // A fixed choice that differs for each piece.
        for step in [7, 19, 31] {
            units.push(format!("{first}{}", PIECES[(at * 13 + step) % PIECES.len()]));
        }
    }
    units
}

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap(), u32::try_from(now.tv_nsec).unwrap())
}

fn assert_linear(step: impl Fn(&str)) {
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
    let slow: Vec<String> = units().iter().filter_map(growth).collect();
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Returns messages with a text as their content, well-formed where the text allows it.
fn messages(text: &str) -> [String; 7] {
    let members = text.trim_end_matches(',');
    [
        text.to_owned(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}})
            .to_string(),
        json!({"jsonrpc": "2.0", "id": text, "method": text, "params": {"_meta": {text: text}}})
            .to_string(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{members}}}}}"#),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"_meta":{{{members}}},"content":[{members}]}}}}"#
        ),
        format!(
            r#"{{{members},"id":1,"error":{{"code":1,"message":"{members}","data":{{{members}}}}}}}"#
        ),
        format!("[{members}]"),
    ]
}

#[test]
fn reading_messages() {
    assert_linear(|text| {
        for text in messages(text) {
            let Ok(message) = Message::read(text) else { continue };
            black_box(word::TASK.is_in(&message));
            black_box(message.may_contain_reserved());
            for message in Messages::from(message).flatten() {
                black_box(message.without_reserved());
            }
        }
    });
}

#[test]
fn editing_messages() {
    assert_linear(|text| {
        for text in messages(text) {
            if let Ok(object) = Object::read(&text) {
                black_box(object.get("params"));
                black_box(object.with("params", "{}"));
                black_box(object.without("id"));
            }
            if let Ok(object) = Object::read_repeating(&text) {
                black_box(object.members().count());
            }
            let path = ["result", "_meta"];
            black_box(splice::at(&text, &path));
            black_box(splice::string_at(&text, &["error", "message"]));
            black_box(splice::id_at(&text, &["id"]));
            drop(black_box(splice::with(&text, &path, "{}")));
            drop(black_box(splice::without(&text, &path, "dev.answerback/a")));
        }
    });
}

#[test]
fn reading_lines() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_linear(|text| {
        let lines = [text.to_owned(), text.replace('"', "\n"), format!("{text}\n")];
        for lines in lines {
            for most in [usize::MAX, 100] {
                runtime.block_on(async {
                    let mut reader = LineReader::new(lines.as_bytes(), most);
                    while let Some(line) = reader.next().await.unwrap() {
                        black_box(line);
                    }
                });
            }
        }
    });
}
