//! The failing calls that are measured, with everything that production has ready before a call comes.

use std::fs;
use std::path::Path;

use answerback::call::Schema;
use answerback::checker::{CallRequest, ToolCatalog};
use answerback::config::ValidationConfig;
use answerback::json::Limits;
use anyhow::Context;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

/// Calls and the tools that they call.
pub(crate) struct Workload {
    /// What it is called in the output.
    pub(crate) name: String,
    pub(crate) catalogue: ToolCatalog,
    pub(crate) config: ValidationConfig,
    pub(crate) calls: Vec<CallRequest>,
    /// For each call the validator alone, where the tool exists and the arguments are a value.
    pub(crate) validators: Vec<Option<Validator>>,
}

impl Workload {
    /// The recorded calls in this folder, or where there is none our own few.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("bfcl-failing");
        let (name, tools, calls) = if folder.is_dir() {
            let read = |file: &str| {
                let path = folder.join(file);
                fs::read_to_string(&path).with_context(|| path.display().to_string())
            };
            let name = "the recorded failing calls of bfcl-failing".to_owned();
            (name, serde_json::from_str(&read("tools.json")?)?, read("calls.ndjson")?)
        } else {
            let name = format!("no recorded calls in {}: a few of our own", folder.display());
            let calls: String = own_calls().map(|call| format!("{call}\n")).into_iter().collect();
            (name, own_tools(), calls)
        };
        let catalogue = ToolCatalog::read(&tools)?;
        let calls = calls
            .lines()
            .map(|line| CallRequest::read(line.as_bytes(), Limits::default()))
            .collect::<Result<Vec<_>, _>>()?;
        let validators =
            calls.iter().map(|call| validator(&catalogue, call)).collect::<anyhow::Result<_>>()?;
        Ok(Self { name, catalogue, config: ValidationConfig::default(), calls, validators })
    }

    /// The schema of a call, where it can be checked against one.
    pub(crate) fn schema(&self, call: &CallRequest) -> Option<&Schema> {
        self.catalogue.schema(&call.tool)?.ok()
    }
}

/// The arguments of a call, where they are a value and not a text.
pub(crate) fn value(call: &CallRequest) -> Option<&Value> {
    call.arguments.as_ref().filter(|arguments| !arguments.is_string())
}

/// The validator as it comes, set up as [`Schema`] sets it up.
fn validator(catalogue: &ToolCatalog, call: &CallRequest) -> anyhow::Result<Option<Validator>> {
    let (Some(Ok(schema)), Some(_)) = (catalogue.schema(&call.tool), value(call)) else {
        return Ok(None);
    };
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex());
    let validator = options.build(schema.source()).map_err(jsonschema::ValidationError::to_owned);
    Ok(Some(validator.with_context(|| call.tool.clone())?))
}

fn own_tools() -> Value {
    json!([
        {"name": "read_file", "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096},
                "encoding": {"enum": ["utf-8", "ascii", "utf-16"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            },
            "required": ["path"],
            "additionalProperties": false,
        }},
        {"name": "place_order", "inputSchema": {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer"}},
                    "required": ["sku", "quantity"],
                }},
                "express": {"type": "boolean"},
                "pay": {"oneOf": [
                    {"properties": {"by": {"const": "card"}, "number": {"type": "string"}}, "required": ["by", "number"]},
                    {"properties": {"by": {"const": "bill"}, "days": {"type": "integer"}}, "required": ["by", "days"]},
                ]},
            },
            "required": ["items"],
        }},
    ])
}

fn own_calls() -> [Value; 8] {
    let calls = [
        ("read_file", json!({"pth": "src/main.rs", "encoding": "uft8", "limit": "ten"})),
        ("read_file", json!({"encoding": "ASCII"})),
        ("read_file", json!({"path": "x", "limit": "10"})),
        ("read_file", json!("{'path': 'x'}")),
        ("raed_file", json!({"path": "x"})),
        ("place_order", json!({"items": "[{\"sku\": \"a\", \"quantity\": 1}]"})),
        ("place_order", json!({"items": [{"sku": 1}, {"sku": 2}, {"sku": 3}], "express": "yes"})),
        ("place_order", json!({"items": [], "pay": {"by": "bill", "days": "30"}})),
    ];
    calls.map(|(tool, arguments)| json!({"id": "c", "tool": tool, "arguments": arguments}))
}
