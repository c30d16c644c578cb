use std::sync::OnceLock;

use answerback::call::{Schema, SchemaError};
use answerback::schema;
use serde_json::{Map, Value, json};

/// What a tool does to its surroundings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a tool reads, or it also writes")]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It adds to or updates a file of the folder; the same call again changes nothing more.
    Writes,
}

/// A tool as it is listed: name, words for people and models, schemas, effect.
#[derive(Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The name by which it is called, such as `solution_info`.
    pub name: &'static str,
    /// The name that people see.
    pub title: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its answers, good and bad.
    pub output_schema: Map<String, Value>,
    /// What it does to its surroundings.
    pub effect: Effect,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl Definition {
    /// A tool that only reads.
    pub(crate) fn new(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        input_schema: Value,
        output_schema: Map<String, Value>,
    ) -> Self {
        let input_schema = members(input_schema);
        let (effect, compiled) = (Effect::Reads, OnceLock::new());
        Self { name, title, description, input_schema, output_schema, effect, compiled }
    }

    pub(crate) fn writes(mut self) -> Self {
        self.effect = Effect::Writes;
        self
    }

    /// The schema of its arguments, compiled once.
    pub(crate) fn schema(&self) -> Result<&Schema, SchemaError> {
        let compile = || Schema::compile(Value::Object(self.input_schema.clone()));
        self.compiled.get_or_init(compile).as_ref().map_err(Clone::clone)
    }
}

/// The schema of ATDF answers.
pub(crate) fn atdf_schema() -> Map<String, Value> {
    published("atdf")
}

/// The schema of one tool's envelopes: the contract's, with the tool's own name and data.
pub(crate) fn envelope_schema(tool: &str, data: Value) -> Map<String, Value> {
    let mut schema = published("tool");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("tool".to_owned(), json!({"const": tool}));
        properties.insert("data".to_owned(), data);
    }
    schema
}

/// A published schema, as it can stand in a list of tools: MCP asks for an object at the root, and validators that
/// know schemas by `$id` refuse the second tool with the same one.
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
