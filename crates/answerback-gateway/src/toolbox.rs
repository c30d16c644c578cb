use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use answerback::Digest;
use answerback::call::{Schema, SchemaError};
use answerback::checker::{ToolCatalog, ToolCatalogError};
use answerback_mcp::link::HeaderArguments;
use answerback_store::recording::MemberSchema;
use serde_json::Value;

use answerback_mcp::wire::{Object, ObjectError};

/// The tools of a server as it lists them.
#[derive(Debug, Default)]
pub struct Toolbox {
    inputs: ToolCatalog,
    tools: BTreeMap<String, ToolDefinition>,
    digest: Option<Digest>,
}

#[derive(Debug)]
struct ToolDefinition {
    digest: Digest,
    /// The tool as the server lists it.
    source: Value,
    /// The arguments that clients must repeat in headers.
    headers: HeaderArguments,
    /// True if the tool is annotated as read-only or idempotent.
    may_run_twice: bool,
    output: Option<Arc<Value>>,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl Toolbox {
    /// Reads the tools from pages of `tools/list`, each a result as text. Tools without a name are skipped,
    /// because they cannot be called. Tools that are not allowed are skipped as well.
    ///
    /// # Errors
    ///
    /// Returns an error if a page is not an object, or has no list of tools.
    pub fn read<'t>(
        pages: impl IntoIterator<Item = &'t str>,
        allows: impl Fn(&str) -> bool,
    ) -> Result<Self, ToolboxError> {
        let mut inputs = Vec::new();
        let mut tools = BTreeMap::new();
        for page in pages {
            let list = Object::read(page)?.get("tools").ok_or(ToolboxError::NoTools)?;
            let list: Vec<Value> = serde_json::from_str(list).map_err(|_| ToolboxError::NoTools)?;
            for tool in list {
                let name = tool["name"].as_str().filter(|name| allows(name)).map(str::to_owned);
                let Some(name) = name else { continue };
                let digest = Digest::of(&tool);
                let output = tool.get("outputSchema").filter(|schema| !schema.is_null());
                let output = output.cloned().map(Arc::new);
                // A tool with invalid header annotations gets no headers.
                let headers = HeaderArguments::of(&tool["inputSchema"]).unwrap_or_default();
                let (source, compiled) = (tool.clone(), OnceLock::new());
                let hints = &tool["annotations"];
                let may_run_twice =
                    hints["readOnlyHint"] == true || hints["idempotentHint"] == true;
                let definition =
                    ToolDefinition { digest, source, headers, may_run_twice, output, compiled };
                // If two tools have the same name, most servers call the first.
                if let std::collections::btree_map::Entry::Vacant(place) = tools.entry(name.clone())
                {
                    place.insert(definition);
                    let schema = tool.get("inputSchema").cloned();
                    // A tool without a schema is reported as unchecked.
                    inputs.push((name, schema.unwrap_or_default()));
                }
            }
        }
        let digests: Value = tools
            .iter()
            .map(|(name, tool)| (name.clone(), Value::from(tool.digest.to_string())))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let digest = Some(Digest::of(&digests));
        Ok(Self { inputs: ToolCatalog::new(inputs)?, tools, digest })
    }

    /// The tools' names and input schemas.
    pub fn inputs(&self) -> &ToolCatalog {
        &self.inputs
    }

    /// True if there is a tool with this name.
    pub fn contains(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }

    /// The arguments of a tool that clients must repeat in headers, or `None` if there are none.
    pub fn header_arguments(&self, tool: &str) -> Option<&HeaderArguments> {
        self.tools.get(tool).map(|tool| &tool.headers).filter(|headers| !headers.is_empty())
    }

    /// True if any tool has arguments in headers. Most servers have none.
    pub fn has_header_arguments(&self) -> bool {
        self.tools.values().any(|tool| !tool.headers.is_empty())
    }

    /// The places in a call of this tool that its schema marks as secret.
    pub(crate) fn secret_schema(&self, tool: &str) -> Option<MemberSchema<'_>> {
        let schema = self.inputs.schema(tool)?.ok()?;
        Some(MemberSchema { member: "arguments", schema })
    }

    /// True if a tool is annotated as read-only or idempotent.
    pub(crate) fn may_run_twice(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.may_run_twice)
    }

    /// The digest of a tool's whole definition.
    pub fn definition(&self, tool: &str) -> Option<Digest> {
        self.tools.get(tool).map(|tool| tool.digest)
    }

    /// Iterates over the tools as the server lists them.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), &tool.source))
    }

    /// Iterates over the digests of all definitions.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool.digest))
    }

    /// The digest over all definitions, or `None` if the tools were never read.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The compiled output schema of a tool, or its error.
    pub fn output(&self, tool: &str) -> Option<Result<&Schema, &SchemaError>> {
        let tool = self.tools.get(tool)?;
        let source = tool.output.as_ref()?;
        let compiled = tool.compiled.get_or_init(|| Schema::compile(Arc::clone(source)));
        Some(compiled.as_ref())
    }

    /// True if a tool declares an output schema.
    pub fn has_output(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.output.is_some())
    }
}

/// The reason why a list of tools cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// The page is not an object.
    #[error(transparent)]
    NoObject(#[from] ObjectError),
    /// The page has no list of tools.
    #[error("the server's answer to tools/list has no list of tools")]
    NoTools,
    /// The input schemas do not form a catalogue.
    #[error(transparent)]
    Catalogue(#[from] ToolCatalogError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_make_one_toolbox() {
        let pages = [
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"title":"nameless"}],"nextCursor":"2"}"#,
            r#"{"tools":[{"name":"b","outputSchema":{"type":"dict"}},{"name":"a"}]}"#,
        ];
        let tools = Toolbox::read(pages, |_| true).unwrap();
        assert_eq!(tools.inputs().names().collect::<Vec<_>>(), ["a", "b"]);
        assert!(tools.contains("a") && !tools.contains("c"));
        assert!(
            tools.output("a").is_none() && tools.output("b").is_some_and(|schema| schema.is_err())
        );
        assert!(Toolbox::read([r#"{"resources":[]}"#], |_| true).is_err());
        assert!(Toolbox::read(["[]"], |_| true).is_err());
        let fewer = Toolbox::read(pages, |name| name != "a").unwrap();
        assert_eq!(fewer.inputs().names().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn the_digest_follows_every_definition() {
        let read = |tools: &str| {
            Toolbox::read([format!(r#"{{"tools":[{tools}]}}"#).as_str()], |_| true).unwrap()
        };
        let (one, same) = (read(r#"{"name":"a","x":1}"#), read(r#"{"x":1,"name":"a"}"#));
        assert_eq!(one.digest(), same.digest());
        assert_ne!(one.digest(), read(r#"{"name":"a","x":2}"#).digest());
        assert_eq!(Toolbox::default().digest(), None);
    }
}
