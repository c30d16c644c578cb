//! The whole flow, for any call: bounded, consistent, the same each time.

use answerback::checker::{CallReply, CallRequest, CallStatus, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::{RetryTracker, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

fn catalogue() -> ToolCatalog {
    ToolCatalog::read(&json!([
        {"name": "plain", "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"enum": ["x", "y"]}},
            "required": ["a"],
            "additionalProperties": false,
        }},
        {"name": "nested", "inputSchema": {
            "properties": {"b": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
            "$defs": {"node": {"properties": {"a": {"$ref": "#/$defs/node"}, "b": {"type": "integer"}}, "type": "object"}},
        }},
        {"name": "union", "inputSchema": {
            "oneOf": [
                {"properties": {"a": {"const": "x"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
                {"properties": {"a": {"const": "y"}, "b": {"pattern": "^[a-z]+$"}}, "required": ["a", "b"]},
            ],
        }},
        {"name": "broken", "inputSchema": {"$ref": "#/none"}},
    ]))
    .expect("a list of tools")
}

/// Any value, with names that the schemas know among others.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof!["x|y", ".{0,12}", "[a-zé\u{202e}\n•]{0,300}"].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let name = prop_oneof![3 => "[ab]", 1 => ".{0,8}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

pub(crate) fn calls() -> impl Strategy<Value = Vec<CallRequest>> {
    let tool = proptest::sample::select(vec!["plain", "nested", "union", "broken", "unkown"]);
    let arguments = prop_oneof![
        3 => value(),
        // Cut off somewhere, and in the wrong quotes.
        1 => (value(), 0_usize..40, any::<bool>()).prop_map(|(value, length, quotes)| {
            let text: String = value.to_string().chars().take(length).collect();
            Value::from(if quotes { text.replace('"', "'") } else { text })
        }),
    ];
    let call = (tool, arguments, 0_u8..3, proptest::option::of(0_u64..3));
    let line = call.prop_map(|(tool, arguments, conversation, turn)| {
        let mut line =
            CallRequest::new(tool, arguments).with_conversation(conversation.to_string());
        line.turn = turn.map(Into::into);
        line
    });
    proptest::collection::vec(line, 1..12)
}

pub(crate) fn replay(calls: &[CallRequest], config: &ValidationConfig) -> Vec<CallReply> {
    let (catalogue, tracker) = (catalogue(), RetryTracker::new(config));
    let now = Timestamp::from_unix_millis(0);
    let answered = calls.iter().map(|line| {
        let judged =
            check_call(&catalogue, line.clone(), config, answerback::json::Limits::default());
        reply_to(judged, &tracker, now, [3; 10])
    });
    answered.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_call_is_answered_within_bounds(
        calls in calls(),
        limit in 500_u32..=4000,
        is_compact: bool,
        strict: bool,
        max_attempts in 1_u8..=10,
    ) {
        let style = if is_compact { "compact" } else { "detailed" };
        let config = ValidationConfig::from_value("f", &json!({"tools": {"validation": {
            "strict": strict,
            "retry": {"max_attempts": max_attempts},
            "formatting": {"max_message_length": limit, "style": style},
        }}})).unwrap();
        let answers = replay(&calls, &config);
        prop_assert_eq!(&answers, &replay(&calls, &config));
        for answer in answers {
            let errors = answer.errors.iter().filter(|finding| finding.is_error()).count();
            prop_assert_eq!(answer.valid, errors == 0);
            prop_assert!(answer.errors.iter().all(|finding| finding.schema_path.is_some()));
            prop_assert!((1..=max_attempts).contains(&answer.attempt), "{:?}", answer);
            prop_assert_eq!(answer.escalation.is_some(), answer.status == CallStatus::Blocked);
            let is_told = matches!(answer.status, CallStatus::Retry | CallStatus::Blocked);
            prop_assert_eq!(answer.result.is_some(), is_told);
            prop_assert!(answer.valid || is_told);
            if let Some(result) = answer.result {
                prop_assert!(result.is_error);
                let length = result.content.chars().count();
                prop_assert!(length < limit as usize, "{} of {}", length, limit);
            }
        }
    }
}
