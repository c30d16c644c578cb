use serde_json::Value;

/// A tool as a provider's list declares it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The tool's description of itself.
    pub description: Option<String>,
    /// The JSON Schema of its arguments: `null` where the tool declares none although its provider asks for
    /// one, and whatever else stands in its place where that is no schema.
    pub input_schema: Value,
}

/// A call as a model made it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id of this call, or `call_1`, `call_2`, … where the provider gave none.
    pub id: String,
    /// True if the provider assigned the id.
    pub has_id: bool,
    /// The tool's name, as sent.
    pub name: String,
    /// The arguments, as sent.
    pub arguments: Arguments,
}

impl ToolCall {
    /// A call with an id.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Arguments) -> Self {
        Self { id: id.into(), has_id: true, name: name.into(), arguments }
    }
}

/// The arguments of a call, as sent.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a provider sends JSON, or a text that should be JSON")]
pub enum Arguments {
    /// A text that should be JSON and may not be.
    Text(String),
    /// A value; `null` where there were none.
    Value(Value),
}
