use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use answerback_findings::ValidationError;
use serde_json::Value;

use crate::call::{Schema, SchemaError, Types, has_check};
use crate::message::{self, OfferedTools};
use crate::provider::{ShapeError, Tool, read_tools};

/// Holds the tools that a model may call, by name. It compiles the schema of a tool once, at the tool's first
/// call.
///
/// ```
/// use answerback_calls::checker::ToolCatalog;
/// use serde_json::json;
///
/// let catalog = ToolCatalog::read(&json!([{"name": "now", "inputSchema": {"type": "object"}}]))?;
/// assert!(catalog.schema("now").unwrap().is_ok());
/// assert!(catalog.schema("then").is_none());
/// # Ok::<(), answerback_calls::checker::ToolCatalogError>(())
/// ```
#[derive(Debug, Default)]
pub struct ToolCatalog {
    entries: Vec<ToolCatalogEntry>,
    by_name: HashMap<String, usize>,
    /// The same tools, prepared for comparison with unknown names. This is built at the first call of an
    /// unknown tool.
    offered: OnceLock<OfferedTools>,
}

#[derive(Debug)]
struct ToolCatalogEntry {
    name: String,
    source: Arc<Value>,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl ToolCatalogEntry {
    fn compile(&self) -> Result<Schema, SchemaError> {
        match &*self.source {
            Value::Null => Err(SchemaError::missing()),
            Value::Object(members) if members.is_empty() => {
                Schema::compile(Arc::clone(&self.source))
            }
            source @ Value::Object(_) if !has_check(source) => Err(SchemaError::no_check()),
            Value::Object(_) | Value::Bool(_) => Schema::compile(Arc::clone(&self.source)),
            other => Err(SchemaError::no_schema(Types::name_of(other))),
        }
    }
}

impl ToolCatalog {
    /// Parses a list of tools in any provider's format.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a list of tools, if no tool in it has a name, or if two tools
    /// share a name.
    pub fn read(list: &Value) -> Result<Self, ToolCatalogError> {
        let (_, tools) = read_tools(list)?;
        Self::new(tools.into_iter().map(|Tool { name, input_schema, .. }| (name, input_schema)))
    }

    /// Creates a catalog from names and schemas.
    ///
    /// # Errors
    ///
    /// Returns an error if two tools share a name.
    pub fn new(tools: impl IntoIterator<Item = (String, Value)>) -> Result<Self, ToolCatalogError> {
        let mut catalog = Self::default();
        for (name, schema) in tools {
            let place = catalog.entries.len();
            if catalog.by_name.insert(name.clone(), place).is_some() {
                return Err(ToolCatalogError::Twice(name));
            }
            let (source, compiled) = (Arc::new(schema), OnceLock::new());
            catalog.entries.push(ToolCatalogEntry { name, source, compiled });
        }
        Ok(catalog)
    }

    /// Returns the schema of a tool, or `None` if there is no such tool. An unusable schema is an error that
    /// the tool's author must fix.
    pub fn schema(&self, tool: &str) -> Option<Result<&Schema, &SchemaError>> {
        let entry = &self.entries[*self.by_name.get(tool)?];
        Some(entry.compiled.get_or_init(|| entry.compile()).as_ref())
    }

    /// Returns the names in the order of the list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the finding for a call of a tool that is not in the catalog: VAL-008 at the root, with the
    /// nearest tools.
    pub fn unknown_tool(&self, called: &str, arguments: &Value) -> ValidationError {
        let offered =
            self.offered.get_or_init(|| {
                let tools = self.entries.iter();
                OfferedTools::new(tools.map(|entry| message::CandidateTool {
                    name: &entry.name,
                    schema: &entry.source,
                }))
            });
        offered.unknown(called, arguments)
    }
}

/// The error for a list of tools that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolCatalogError {
    /// The list has no provider's format.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Two tools have this name.
    #[error("two tools are named {0:?}")]
    Twice(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_lists_of_any_provider() {
        let schema = json!({"type": "object"});
        for list in [
            json!([{"name": "a", "inputSchema": schema}]),
            json!({"tools": [{"name": "a", "inputSchema": schema}]}),
            json!([{"name": "a", "input_schema": schema}]),
            json!([{"type": "function", "function": {"name": "a", "parameters": schema}}]),
            json!([{"type": "function", "name": "a", "parameters": schema}]),
            json!([{"name": "a", "parameters": schema}]),
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": schema}}}]}}),
        ] {
            let catalog = ToolCatalog::read(&list).unwrap();
            assert_eq!(catalog.names().collect::<Vec<_>>(), ["a"], "{list}");
            assert!(catalog.schema("a").unwrap().is_ok(), "{list}");
        }
    }

    #[test]
    fn each_entry_is_read_by_its_own_shape() {
        let strict = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let list = json!([
            {"name": "mcp", "inputSchema": strict},
            {"name": "anthropic", "input_schema": strict},
            {"type": "function", "function": {"name": "openai", "parameters": strict}},
            {"type": "function", "name": "responses", "parameters": strict},
            {"name": "older", "parameters": strict},
            {"toolSpec": {"name": "bedrock", "inputSchema": {"json": strict}}},
            {"functionDeclarations": [{"name": "gemini", "parameters": {
                "type": "OBJECT", "properties": {"n": {"type": "INTEGER"}},
            }}]},
            {"name": "both", "inputSchema": null, "input_schema": strict},
        ]);
        let catalog = ToolCatalog::read(&list).unwrap();
        assert_eq!(catalog.names().count(), 8);
        for name in catalog.names() {
            let schema = catalog.schema(name).unwrap().unwrap();
            assert!(!schema.is_valid(&json!({"n": "x"})).unwrap(), "{name}");
        }
    }

    #[test]
    fn a_tool_without_a_usable_schema_is_unchecked_and_harms_no_other() {
        let list = json!([
            {"name": "good", "inputSchema": {"type": "object"}},
            {"name": "none"},
            {"name": "null", "inputSchema": null},
            {"name": "text", "inputSchema": "{}"},
            {"name": "list", "inputSchema": []},
            {"name": "foreign", "inputSchema": {"name": "x", "version": "1.0.0"}},
            {"name": "empty", "inputSchema": {}},
            {"title": "nameless", "inputSchema": {}},
        ]);
        let catalog = ToolCatalog::read(&list).unwrap();
        let fault = |name: &str| catalog.schema(name).unwrap().err().map(ToString::to_string);
        let unusable = "the tool's schema cannot be used: ";
        let table = [
            ("good", None),
            ("none", Some("the tool declares none")),
            ("null", Some("the tool declares none")),
            ("text", Some("it is a string, not a JSON Schema")),
            ("list", Some("it is an array, not a JSON Schema")),
            ("foreign", Some("it has no keyword of JSON Schema that checks anything")),
            ("empty", None),
        ];
        assert_eq!(catalog.names().count(), table.len());
        for (name, expected) in table {
            assert_eq!(fault(name), expected.map(|text| format!("{unusable}{text}")), "{name}");
        }
        // In OpenAI's format, a function without parameters takes no arguments.
        let list = json!([{"type": "function", "function": {"name": "now"}}]);
        assert!(ToolCatalog::read(&list).unwrap().schema("now").unwrap().is_ok());
    }

    #[test]
    fn refuses_what_is_no_list() {
        for (list, expected) in [
            (json!(1), "not mcp's shape: expected a list of tools at \"\""),
            (
                json!([{"inputSchema": {}}]),
                "not mcp's shape: expected the tool's name at \"/0/name\"",
            ),
            (json!([{"name": "a"}, {"name": "a"}]), "two tools are named \"a\""),
        ] {
            assert_eq!(ToolCatalog::read(&list).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_schema_is_compiled_once() {
        let catalog = ToolCatalog::read(&json!([{"name": "a", "inputSchema": {"type": "dict"}}]));
        let catalog = catalog.unwrap();
        let fault = catalog.schema("a").unwrap().unwrap_err();
        assert!(std::ptr::eq(fault, catalog.schema("a").unwrap().unwrap_err()));
    }
}
