use serde_json::{Value, json};

use super::gemini::Gemini;
use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, telling_text};
use super::{ToolCall, ToolResult};

/// OpenAI's Responses. Calls and results are items; arguments are a text; a result has no mark for
/// errors.
pub(super) struct OpenAiResponses;

/// A function, also one in the older form without a type.
fn is_function(tool: &Value) -> bool {
    let is_typed = tool["type"] == "function" && tool.get("function").is_none();
    is_typed || is_untyped(tool)
}

fn is_untyped(tool: &Value) -> bool {
    let is_alone = ["type", "inputSchema", "input_schema", "function"];
    tool["parameters"].is_object()
        && tool["name"].is_string()
        && is_alone.iter().all(|name| tool.get(name).is_none())
}

impl ProviderFormat for OpenAiResponses {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let entries = elements(list, &["", "/tools"])?;
        // The others are tools that the provider runs itself.
        let functions = entries.iter().filter(|(_, tool)| is_function(tool));
        Some(functions.map(|(place, _)| ToolPlace::at(place, "parameters")).collect())
    }

    fn is_list(&self, list: &Value) -> bool {
        let entries = elements(list, &["", "/tools"]);
        entries.is_some_and(|entries| entries.iter().any(|(_, tool)| is_function(tool)))
    }

    fn schemas_are_optional(&self) -> bool {
        true
    }

    /// The older form without a type is also that of a declaration for Gemini, which writes types in capitals.
    fn schema(&self, declared: &Value) -> Value {
        let kind = declared["type"].as_str().unwrap_or_default();
        if kind.chars().any(|character| character.is_ascii_uppercase()) {
            Gemini.schema(declared)
        } else {
            declared.clone()
        }
    }

    /// The output of a response: the response itself, or the list of its items.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        let items = elements(message, &["", "/output"])?;
        let calls = items.iter().filter(|(_, item)| item["type"] == "function_call");
        Some(calls.map(|(place, _)| CallPlace::at(place, "call_id", "arguments")).collect())
    }

    fn sends_text(&self) -> bool {
        true
    }

    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value {
        json!({"type": "function_call_output", "call_id": call.id, "output": telling_text(result)})
    }
}
