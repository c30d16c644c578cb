//! Hearing any text: good JSON gives its value, anything else a finding that is short and quiet.
#![no_main]

use answerback::call::{Confidence, MistakeKind, parse};
use answerback::json::{Limits, is_readable_output};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    // `serde_json` rejects nesting from 128 on.
    let limits = Limits::default().with_max_depth(127);
    match parse(text, limits) {
        Ok(document) => {
            let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
            match serde_json::from_str::<Value>(plain) {
                Ok(Value::Null) | Err(_) => assert_eq!(document.value, serde_json::json!({})),
                Ok(theirs) => assert_eq!(document.value, theirs),
            }
        }
        Err(malformed) => {
            assert!(!malformed.mistakes().is_empty());
            let finding = malformed.finding();
            assert!(finding.message.chars().count() < 600, "{}", finding.message);
            let shown = finding.actual_value.unwrap_or_default();
            assert!(!shown.contains(char::is_control), "{shown:?}");
            if let Some(reading) = malformed.reading() {
                // What we propose must itself be good JSON that reads back to the same value, also in a reply.
                assert!(is_readable_output(&reading.value));
                let written = reading.value.to_string();
                let again = serde_json::from_str::<Value>(&written).expect("a value is JSON");
                assert_eq!(again, reading.value);
                let truncated = malformed
                    .mistakes()
                    .iter()
                    .any(|mistake| matches!(mistake.kind, MistakeKind::Unclosed(_)));
                assert!(!truncated || reading.confidence == Confidence::Guess);
            }
        }
    }
});
