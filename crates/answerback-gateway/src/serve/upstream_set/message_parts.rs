//! Reads and replaces parts of messages.

use answerback_mcp::wire::{Message, splice};
use serde_json::Value;

/// Builds parameters that contain only the client's `_meta`.
pub(super) fn meta_params(params: &str) -> String {
    let meta = splice::at(params, &["_meta"]);
    meta.map_or_else(|| "{}".to_owned(), |meta| format!(r#"{{"_meta":{meta}}}"#))
}

/// True if a response says that the method does not exist.
pub(super) fn is_method_not_found(answer: &Message) -> bool {
    splice::at(answer.text(), &["error", "code"]) == Some("-32601")
}

/// Reads the result of a response as JSON text.
pub(super) fn result_of(answer: &Message) -> Option<String> {
    splice::at(answer.text(), &["result"]).map(str::to_owned)
}

/// Replaces the name in a request with the server's own name.
pub(super) fn with_tool_name(message: &Message, name: &str) -> Option<Message> {
    with_value(message, &["params", "name"], &Value::from(name).to_string())
}

/// Replaces the value at this place of a request.
pub(super) fn with_value(message: &Message, place: &[&str], value: &str) -> Option<Message> {
    let text = splice::with(message.text(), place, value).ok()?;
    Some(message.clone().with_text(text))
}
