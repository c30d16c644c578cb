use answerback_json::Pointer;
use serde_json::{Value, json};

use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, telling_text};
use super::{ToolCall, ToolResult};

/// OpenAI's Chat Completions. Arguments are a text; a result is a message of its own and has no mark
/// for errors.
pub(super) struct OpenAiChat;

impl ProviderFormat for OpenAiChat {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let entries = elements(list, &["", "/tools"])?;
        // A custom tool takes free text and has no schema to check against.
        let functions = entries.iter().filter(|(_, tool)| tool.get("custom").is_none());
        Some(
            functions
                .map(|(place, _)| ToolPlace::at(&place.join("function"), "parameters"))
                .collect(),
        )
    }

    fn is_list(&self, list: &Value) -> bool {
        let entries = elements(list, &["", "/tools"]);
        entries.is_some_and(|entries| entries.iter().any(|(_, tool)| tool["function"].is_object()))
    }

    fn schemas_are_optional(&self) -> bool {
        true
    }

    /// An assistant message, or the response around it.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        message.as_object()?;
        let calls = elements(message, &["/tool_calls", "/choices/0/message/tool_calls"]);
        let calls = calls.unwrap_or_default();
        let functions = calls.iter().filter(|(_, call)| call.get("custom").is_none());
        let place = |(place, _): &(Pointer, _)| CallPlace {
            id: place.join("id"),
            ..CallPlace::at(&place.join("function"), "id", "arguments")
        };
        Some(functions.map(place).collect())
    }

    fn sends_text(&self) -> bool {
        true
    }

    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value {
        json!({"role": "tool", "tool_call_id": call.id, "content": telling_text(result)})
    }
}
