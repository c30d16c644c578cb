//! The tools a log of calls refers to, read from a list in the form of MCP, Anthropic or `OpenAI`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use answerback::call::{Schema, SchemaError};
use answerback::json::Limits;
use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::input::Input;

/// A tool, its schema compiled when it is first called.
#[derive(Debug)]
pub(crate) struct Tool {
    source: Arc<Value>,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl Tool {
    pub(crate) fn schema(&self) -> Result<&Schema, SchemaError> {
        self.compiled
            .get_or_init(|| Schema::compile(Arc::clone(&self.source)))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// Tools by name.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    by_name: HashMap<String, Tool>,
    names: Vec<String>,
}

impl Tools {
    /// Reads a list of tools, or an object with such a list as `tools`.
    pub(crate) fn read(file: &Path, limits: Limits) -> anyhow::Result<Self> {
        let input = Input::new(file);
        let document = input.document(limits)?;
        let list = document.value.get("tools").unwrap_or(&document.value);
        let Some(entries) = list.as_array() else {
            bail!("{}: a list of tools is expected", input.name());
        };
        let mut tools = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            let (name, schema) = tool(entry).with_context(|| {
                format!("{}: entry {index} is no tool: it has no name", input.name())
            })?;
            if tools.by_name.contains_key(name) {
                bail!("{}: two tools are named {name:?}", input.name());
            }
            tools.names.push(name.to_owned());
            let source = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
            tools.by_name.insert(
                name.to_owned(),
                Tool { source: Arc::new(source), compiled: OnceLock::new() },
            );
        }
        Ok(tools)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name)
    }

    /// All names, in the order of the list.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Name and schema of an entry: MCP `inputSchema`, Anthropic `input_schema`, `OpenAI` `parameters`, there
/// also below `function`. A tool without a schema takes any object.
fn tool(entry: &Value) -> Option<(&str, Option<&Value>)> {
    let entry = entry.get("function").filter(|inner| inner.is_object()).unwrap_or(entry);
    let name = entry.get("name")?.as_str()?;
    let schema =
        ["inputSchema", "input_schema", "parameters"].iter().find_map(|key| entry.get(key));
    Some((name, schema.filter(|schema| !schema.is_null())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_dialects() {
        let schema = json!({"type": "object"});
        for entry in [
            json!({"name": "a", "inputSchema": schema}),
            json!({"name": "a", "input_schema": schema}),
            json!({"type": "function", "name": "a", "parameters": schema}),
            json!({"type": "function", "function": {"name": "a", "parameters": schema}}),
        ] {
            assert_eq!(tool(&entry), Some(("a", Some(&schema))), "{entry}");
        }
        assert_eq!(tool(&json!({"name": "a"})), Some(("a", None)));
        assert_eq!(tool(&json!({"title": "a"})), None);
    }
}
