use answerback_json::Pointer;
use serde_json::{Value, json};

use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, object};
use super::{ToolCall, ToolResult};

/// The member of a result's `_meta` that has the status of a call beyond right and wrong.
const STATUS: &str = "dev.answerback/status";

/// `tools/list` and `tools/call` of the Model Context Protocol. What is wrong with a call's arguments
/// is a result with `isError`, not a protocol error (SEP-1303), so that the model sees it.
pub(super) struct Mcp;

impl ProviderFormat for Mcp {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let entries = elements(list, &["", "/tools", "/result/tools"])?;
        Some(entries.iter().map(|(place, _)| ToolPlace::at(place, "inputSchema")).collect())
    }

    fn is_list(&self, list: &Value) -> bool {
        let entries = elements(list, &["", "/tools", "/result/tools"]);
        entries.is_some_and(|entries| {
            entries.iter().any(|(_, tool)| tool.get("inputSchema").is_some())
        })
    }

    /// A `tools/call` request, or only its `params`.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        let root = Pointer::root();
        let holder =
            if message.get("params").is_some() { root.join("params") } else { root.clone() };
        holder.find(message)?.as_object()?;
        Some(vec![CallPlace { id: root.join("id"), ..CallPlace::at(&holder, "id", "arguments") }])
    }

    fn ids_are_optional(&self) -> bool {
        true
    }

    /// The protocol leaves names to the server.
    fn legal_name(&self, name: &str) -> String {
        name.to_owned()
    }

    fn result(&self, _: &ToolCall, result: &ToolResult) -> Value {
        let text = json!({"type": "text", "text": result.content});
        let mut written = object([("content", json!([text])), ("isError", result.is_error.into())]);
        if let Some(status) = result.status {
            written["_meta"] = json!({ STATUS: status });
        }
        written
    }
}
