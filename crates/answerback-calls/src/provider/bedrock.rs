use answerback_json::Pointer;
use answerback_redaction::is_blank;
use serde_json::{Value, json};

use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, telling_text};
use super::{ToolCall, ToolResult};

/// Amazon Bedrock's Converse. Not every model behind it looks at `status`, so the text says it too.
pub(super) struct Bedrock;

const LISTS: [&str; 3] = ["", "/tools", "/toolConfig/tools"];

impl ProviderFormat for Bedrock {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let entries = elements(list, &LISTS)?;
        // The others are cache points and tools that the provider runs itself.
        let ours = entries.iter().filter(|(_, tool)| tool.get("toolSpec").is_some());
        let place = |(place, _): &(Pointer, _)| {
            let place = place.join("toolSpec");
            let schema = place.join("inputSchema").join("json");
            ToolPlace { schema, ..ToolPlace::at(&place, "inputSchema") }
        };
        Some(ours.map(place).collect())
    }

    fn is_list(&self, list: &Value) -> bool {
        let entries = elements(list, &LISTS);
        entries
            .is_some_and(|entries| entries.iter().any(|(_, tool)| tool.get("toolSpec").is_some()))
    }

    /// A message, or the response around it.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        message.as_object()?;
        let blocks = elements(message, &["/content", "/output/message/content"]);
        let blocks = blocks.unwrap_or_default();
        let calls = blocks.iter().filter(|(_, block)| block.get("toolUse").is_some());
        let place =
            |(place, _): &(Pointer, _)| CallPlace::at(&place.join("toolUse"), "toolUseId", "input");
        Some(calls.map(place).collect())
    }

    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value {
        let text = telling_text(result);
        let text = if is_blank(&text) { "(no output)".to_owned() } else { text };
        let status = if result.is_error { "error" } else { "success" };
        json!({"toolResult": {"toolUseId": call.id, "content": [{"text": text}], "status": status}})
    }

    fn turn(&self, results: Vec<Value>) -> Value {
        json!({"role": "user", "content": results})
    }
}
