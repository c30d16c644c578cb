use std::sync::OnceLock;

use answerback::call::{Schema, SchemaError};
use answerback::schema;
use serde_json::{Map, Value, json};

/// The effect of a tool on its folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ToolEffect {
    /// The tool changes nothing.
    Reads,
    /// The tool adds or updates a file of the folder. Repeating the call changes nothing more.
    Writes,
}

/// The definition of a tool in a list: names, description, schemas and effect.
#[derive(Debug)]
pub(crate) struct BuiltinToolDefinition {
    /// The name for calls, such as `solution_info`.
    pub(crate) name: &'static str,
    /// The name that people see.
    pub(crate) title: &'static str,
    /// Describes what the tool does and when to use it.
    pub(crate) description: &'static str,
    /// The JSON Schema of the arguments.
    pub(crate) input_schema: Map<String, Value>,
    /// The JSON Schema of the answers, both successes and errors.
    pub(crate) output_schema: Map<String, Value>,
    /// The effect on the folder.
    pub(crate) effect: ToolEffect,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl BuiltinToolDefinition {
    /// Creates the definition of a tool that only reads.
    pub(crate) fn new(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        input_schema: Value,
        output_schema: Map<String, Value>,
    ) -> Self {
        let input_schema = members(input_schema);
        let (effect, compiled) = (ToolEffect::Reads, OnceLock::new());
        Self { name, title, description, input_schema, output_schema, effect, compiled }
    }

    pub(crate) fn writes(mut self) -> Self {
        self.effect = ToolEffect::Writes;
        self
    }

    /// Returns the schema of the arguments, which is compiled once.
    pub(crate) fn schema(&self) -> Result<&Schema, SchemaError> {
        let compile = || Schema::compile(Value::Object(self.input_schema.clone()));
        self.compiled.get_or_init(compile).as_ref().map_err(Clone::clone)
    }
}

/// Returns the schema of ATDF answers.
pub(crate) fn atdf_schema() -> Map<String, Value> {
    published("atdf")
}

/// Returns the schema of one tool's envelopes: the contract's schema with the tool's own name and data.
pub(crate) fn envelope_schema(tool: &str, data: Value) -> Map<String, Value> {
    let mut schema = published("tool");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("tool".to_owned(), json!({"const": tool}));
        properties.insert("data".to_owned(), data);
    }
    schema
}

/// Returns a published schema in a form that a list of tools may contain. MCP requires an object at the root. The `$id`
/// is removed, because some validators reject a second schema with the same one.
fn published(name: &str) -> Map<String, Value> {
    let found = schema::ALL.iter().find(|schema| schema.name == name);
    let mut members = found.map(|schema| members(schema.document())).unwrap_or_default();
    for name in ["$schema", "$id", "title", "description"] {
        members.shift_remove(name);
    }
    members.shift_insert(0, "type".to_owned(), "object".into());
    members
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
