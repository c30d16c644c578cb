//! Limits on the nesting of values that we read or write.

use serde_json::Value;

/// The deepest nesting that common JSON readers accept. They reject the 128th level.
const MAX_READABLE_DEPTH: usize = 127;

/// The number of levels that lines, messages and envelopes add around a value.
const ENCLOSING_LEVELS: usize = 16;

/// The deepest nesting of a value that we return, such as repaired arguments or a reply.
pub const MAX_OUTPUT_DEPTH: usize = MAX_READABLE_DEPTH - ENCLOSING_LEVELS;

/// Returns true if arrays and objects are nested in more than `levels` levels.
///
/// It stops at that level, so that a hostile value cannot exhaust the stack.
pub fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => {
            levels == 0 || elements.iter().any(|value| is_deeper_than(value, levels - 1))
        }
        Value::Object(members) => {
            levels == 0 || members.values().any(|value| is_deeper_than(value, levels - 1))
        }
        _ => false,
    }
}

/// Returns true if ordinary JSON parsers can read the value, even inside the messages that we put around it.
///
/// Every parsed call, repair and reply that we return must pass this check.
pub fn is_readable_output(value: &Value) -> bool {
    !is_deeper_than(value, MAX_OUTPUT_DEPTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, level| {
            if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) }
        })
    }

    fn is_read(value: &Value) -> bool {
        serde_json::from_str::<Value>(&value.to_string()).is_ok()
    }

    #[test]
    fn readers_stop_after_the_deepest_readable_level() {
        assert!(is_read(&nested(MAX_READABLE_DEPTH)));
        assert!(!is_read(&nested(MAX_READABLE_DEPTH + 1)));
    }

    #[test]
    fn output_leaves_room_for_what_carries_it() {
        assert!(is_readable_output(&nested(MAX_OUTPUT_DEPTH)));
        assert!(!is_readable_output(&nested(MAX_OUTPUT_DEPTH + 1)));
        let carried =
            (0..ENCLOSING_LEVELS).fold(nested(MAX_OUTPUT_DEPTH), |inner, _| json!([inner]));
        assert!(is_read(&carried));
    }
}
