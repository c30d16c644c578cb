use serde_json::{Value, json};

use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, plain_name, spoken_text};
use super::{ToolCall, ToolResult};

/// Anthropic's Messages. The turn after a message with tool uses begins with exactly one result for
/// each of them; `input` has to be an object, in the history too.
pub(super) struct Anthropic;

impl ProviderFormat for Anthropic {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let entries = elements(list, &["", "/tools"])?;
        // A tool with a type of its own is run by the provider and has no schema.
        let is_ours = |tool: &Value| tool["type"].as_str().is_none_or(|kind| kind == "custom");
        let ours = entries.iter().filter(|(_, tool)| is_ours(tool));
        Some(ours.map(|(place, _)| ToolPlace::at(place, "input_schema")).collect())
    }

    fn is_list(&self, list: &Value) -> bool {
        let entries = elements(list, &["", "/tools"]);
        entries.is_some_and(|entries| {
            entries.iter().any(|(_, tool)| tool.get("input_schema").is_some())
        })
    }

    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        message.as_object()?;
        let blocks = elements(message, &["/content"]).unwrap_or_default();
        let calls = blocks.iter().filter(|(_, block)| block["type"] == "tool_use");
        Some(calls.map(|(place, _)| CallPlace::at(place, "id", "input")).collect())
    }

    fn legal_name(&self, name: &str) -> String {
        plain_name(name, 128, &['_', '-'])
    }

    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value {
        json!({
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": spoken_text(result),
            "is_error": result.is_error,
        })
    }

    fn turn(&self, results: Vec<Value>) -> Value {
        json!({"role": "user", "content": results})
    }
}
