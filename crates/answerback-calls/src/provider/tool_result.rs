use serde::{Deserialize, Serialize};

/// The result of a call, as sent to the model.
///
/// ```
/// use answerback_calls::provider::ToolResult;
///
/// let result = ToolResult::error("call_abc123", "Validation failed for tool 'read_file' (attempt 1/3): …");
/// let json = serde_json::to_value(&result)?;
/// assert_eq!(json["role"], "tool");
/// assert_eq!(json["is_error"], true);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolResult {
    /// Always `tool`.
    pub role: ToolRole,
    /// The id of the call that this answers: the current one, never the first of several tries.
    pub tool_call_id: String,
    /// The text for the model.
    pub content: String,
    /// True if the call failed or did not run.
    pub is_error: bool,
    /// `Blocked` while a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
}

/// The role of a tool result in a conversation.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the document knows one role")]
pub enum ToolRole {
    /// The tool answers.
    #[default]
    Tool,
}

/// A state of a call beyond right and wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum ToolStatus {
    /// A person has to decide first.
    Blocked,
}

impl ToolResult {
    /// The result of a call that ran well.
    pub fn success(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        let (tool_call_id, content) = (tool_call_id.into(), content.into());
        Self { role: ToolRole::Tool, tool_call_id, content, is_error: false, status: None }
    }

    /// The result of a call that failed.
    pub fn error(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::success(tool_call_id, content) }
    }

    /// The result of a call that waits for a person.
    pub fn blocked(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { status: Some(ToolStatus::Blocked), ..Self::error(tool_call_id, content) }
    }

    /// The result of a call that did not run because another call of the same turn was not valid.
    pub fn not_run(tool_call_id: impl Into<String>) -> Self {
        Self::error(
            tool_call_id,
            "Not executed: another call of the same turn was not valid. Send this call again, together \
             with the corrected one, if it is still needed.",
        )
    }
}
