//! Tests that checking and answering a call costs what its arguments do.

use answerback_json::{Limits, Timestamp};
use answerback_redaction::testing::{grows_linearly, pieces};
use serde_json::json;

use super::{CallRequest, ToolCatalog, check_call};
use crate::config::ValidationConfig;
use crate::retry::RetryTracker;

/// Runs all searches for one call, from its arguments to its output line.
fn reply(arguments: &serde_json::Value) {
    let leaf = json!({"type": "object", "properties": {"leaf": {"type": "integer"}}, "additionalProperties": false});
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer"}, "mode": {"enum": ["read", "write"]}, "short": {"type": "string", "maxLength": 3},
            "list": {"type": "array", "items": {"type": "integer"}}, "either": {"anyOf": [{"type": "integer"}, leaf]},
        },
        "required": ["needed"],
        "additionalProperties": false,
    });
    let config = ValidationConfig::default();
    let catalog = ToolCatalog::read(&json!([{"name": "tool", "inputSchema": schema}])).unwrap();
    let tracker = RetryTracker::new(&config);
    for attempt in 0..3 {
        let line =
            json!({"id": attempt, "tool": "tool", "arguments": arguments, "conversation": "c"});
        let line = CallRequest::read(line.to_string().as_bytes(), Limits::default()).unwrap();
        let checked = check_call(&catalog, line, &config, Limits::default());
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let outcome = checked.track(&tracker, now, [7; 10]);
        serde_json::to_string(&checked.reply(outcome)).unwrap();
    }
}

#[test]
fn checking_a_call_takes_linear_time() {
    for piece in pieces().iter().step_by(12) {
        let places: [&dyn Fn(&str) -> serde_json::Value; 4] = [
            &|text| json!({"count": text, "mode": text, "short": text, "either": text}),
            &|text| json!({text: 1, "list": [text, text]}),
            &|text| json!(text),
            &|text| json!({"other": {"name": "DB_PASSWORD", "value": text}, "count": {"deep": [text]}}),
        ];
        for place in places {
            grows_linearly(piece, |text| reply(&place(text))).unwrap();
        }
    }
}
