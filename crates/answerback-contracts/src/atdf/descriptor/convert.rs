use answerback_findings::Profile;
use answerback_json::patch::{PatchOperation, apply_where_it_fits, between};
use answerback_redaction::is_blank;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::check;
use crate::Invalid;

/// The key in a descriptor's `_meta` that stores the parts of an MCP tool that a descriptor cannot express.
const MCP_SLOT: &str = "dev.answerback/mcp";
/// The key in an MCP tool's `_meta` that stores the parts of a descriptor that an MCP tool cannot express.
const ATDF_SLOT: &str = "dev.answerback/atdf";

/// The `type` of an input whose schema does not name exactly one type.
const ANY: &str = "any";

/// Reports that a value is not an MCP tool, with the reason.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not an MCP tool: {0}")]
pub struct McpToolError(&'static str);

/// Converts an MCP tool to a descriptor. Its name becomes `tool_id`, hints among its annotations become
/// `when_to_use`, and the properties of its `inputSchema` become inputs. Everything that a descriptor cannot
/// express is stored as a patch in `_meta`, so that [`descriptor_to_mcp`] restores the same tool.
///
/// # Errors
///
/// Returns [`McpToolError`] if the value is not an MCP tool: `name` or `inputSchema` is missing, or a member
/// has the wrong type.
///
/// ```
/// use answerback_contracts::atdf::descriptor::mcp_to_descriptor;
///
/// let tool = serde_json::json!({
///     "name": "fetch", "description": "Fetches a page",
///     "annotations": {"usage": "Use to read the web"},
///     "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
/// });
/// let descriptor = mcp_to_descriptor(&tool)?;
/// assert_eq!(descriptor["when_to_use"], "Use to read the web");
/// assert_eq!(descriptor["how_to_use"]["inputs"][0]["required"], true);
/// # Ok::<(), answerback_contracts::atdf::descriptor::McpToolError>(())
/// ```
pub fn mcp_to_descriptor(tool: &Value) -> Result<Value, McpToolError> {
    check_tool(tool)?;
    let (tool, said) = without_slot(tool, ATDF_SLOT);
    let mut descriptor = described(&tool);
    apply_where_it_fits(&mut descriptor, &said);
    let (mut descriptor, _) = without_slot(&descriptor, MCP_SLOT);
    let unsaid = between(&offered(&descriptor), &tool);
    put_into_slot(&mut descriptor, MCP_SLOT, &unsaid);
    Ok(descriptor)
}

/// Converts a descriptor to an MCP tool, the inverse of [`mcp_to_descriptor`]. Everything that an MCP tool
/// cannot express is stored as a patch in `_meta`, so that converting back restores the same descriptor.
///
/// # Errors
///
/// Returns [`Invalid`] if the descriptor does not meet its contract under the lenient profile.
pub fn descriptor_to_mcp(descriptor: &Value) -> Result<Value, Invalid> {
    Invalid::unless_valid(check(descriptor, Profile::Lenient))?;
    let (descriptor, said) = without_slot(descriptor, MCP_SLOT);
    let mut tool = offered(&descriptor);
    apply_where_it_fits(&mut tool, &said);
    let (mut tool, _) = without_slot(&tool, ATDF_SLOT);
    let unsaid = between(&described(&tool), &descriptor);
    put_into_slot(&mut tool, ATDF_SLOT, &unsaid);
    Ok(tool)
}

fn check_tool(tool: &Value) -> Result<(), McpToolError> {
    let Some(members) = tool.as_object() else { return Err(McpToolError("it is not an object")) };
    if members.get("name").and_then(Value::as_str).is_none_or(is_blank) {
        return Err(McpToolError("name must be a string that is not blank"));
    }
    let is = |name: &str, test: fn(&Value) -> bool| members.get(name).is_none_or(test);
    if !is("description", Value::is_string) {
        return Err(McpToolError("description must be a string"));
    }
    if !members.get("inputSchema").is_some_and(Value::is_object) {
        return Err(McpToolError("inputSchema must be an object"));
    }
    if !is("_meta", Value::is_object) {
        return Err(McpToolError("_meta must be an object"));
    }
    Ok(())
}

/// Builds a descriptor from the parts of an MCP tool that a descriptor can express.
fn described(tool: &Value) -> Value {
    let text = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !is_blank(text)).map(str::to_owned)
    };
    let name = text(tool.get("name")).unwrap_or_default();
    let title = || text(tool.get("title")).or_else(|| text(tool.pointer("/annotations/title")));
    let description = text(tool.get("description")).or_else(title).unwrap_or_else(|| name.clone());
    let hints: Vec<String> = HINTS
        .iter()
        .filter_map(|hint| text(tool.get("annotations").and_then(|hints| hints.get(hint))))
        .collect();
    let when_to_use = if hints.is_empty() { use_of(&description) } else { hints.join(" ") };
    let inputs = inputs(tool.get("inputSchema"));
    let is_enhanced = inputs.iter().any(|input| input.get("schema").is_some());
    json!({
        "schema_version": if is_enhanced { "2.0.0" } else { "1.0.0" },
        "tool_id": name,
        "description": description,
        "when_to_use": when_to_use,
        "how_to_use": {
            "inputs": inputs,
            "outputs": {"success": "The tool returned its result.", "failure": []},
        },
    })
}

/// The names of the annotations that say when to use a tool.
const HINTS: [&str; 3] = ["usage", "context", "purpose"];

/// Returns the `when_to_use` text for a tool without a hint. It repeats the description.
fn use_of(description: &str) -> String {
    format!("Use when this is needed: {description}")
}

fn inputs(schema: Option<&Value>) -> Vec<Value> {
    let member = |name: &str| schema.and_then(|schema| schema.get(name));
    let required = member("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|listed| listed.as_str() == Some(name)))
    };
    let properties = member("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    // An input must have a name that is not blank, but a property may have a blank one.
    let named = properties.filter(|(name, _)| !is_blank(name));
    named.map(|(name, property)| input(name, property, is_required(name))).collect()
}

fn input(name: &str, property: &Value, is_required: bool) -> Value {
    let kind = property.get("type").and_then(Value::as_str).filter(|kind| !is_blank(kind));
    let description = property.get("description").and_then(Value::as_str);
    let mut input = Map::new();
    input.insert("name".into(), name.into());
    input.insert("type".into(), kind.unwrap_or(ANY).into());
    if let Some(description) = description {
        input.insert("description".into(), description.into());
    }
    if is_required {
        input.insert("required".into(), true.into());
    }
    let said = usize::from(kind.is_some()) + usize::from(description.is_some());
    if let Some(schema) = property.as_object()
        && schema.len() > said
        && is_input_schema(schema)
    {
        input.insert("schema".into(), property.clone());
    }
    Value::Object(input)
}

/// True if the schema is allowed as an input's `schema`. If present, `properties` must be an object and
/// `required` an array of strings.
fn is_input_schema(schema: &Map<String, Value>) -> bool {
    let names =
        |list: &Value| list.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    schema.get("properties").is_none_or(Value::is_object)
        && schema.get("required").is_none_or(names)
}

/// Builds an MCP tool from the parts of a descriptor that an MCP tool can express.
fn offered(descriptor: &Value) -> Value {
    let member = |name: &str| descriptor.get(name);
    let description = member("description").and_then(Value::as_str).unwrap_or_default();
    let when_to_use = member("when_to_use").and_then(Value::as_str).unwrap_or_default();
    let mut tool = Map::new();
    let name = member("tool_id").or_else(|| member("id")).cloned();
    tool.insert("name".into(), name.unwrap_or_default());
    tool.insert("description".into(), description.into());
    let mut properties = Map::new();
    let mut required = Vec::new();
    let inputs = descriptor.pointer("/how_to_use/inputs").and_then(Value::as_array);
    for input in inputs.into_iter().flatten() {
        let Some(name) = input.get("name").and_then(Value::as_str) else { continue };
        properties.insert(name.to_owned(), property(input));
        let is_listed = required.iter().any(|listed: &Value| listed.as_str() == Some(name));
        if input.get("required") == Some(&Value::Bool(true)) && !is_listed {
            required.push(Value::from(name));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), Value::Array(required));
    }
    tool.insert("inputSchema".into(), Value::Object(schema));
    if when_to_use != use_of(description) {
        tool.insert("annotations".into(), json!({HINTS[0]: when_to_use}));
    }
    Value::Object(tool)
}

fn property(input: &Value) -> Value {
    if let Some(schema @ Value::Object(_)) = input.get("schema") {
        return schema.clone();
    }
    let mut property = Map::new();
    if let Some(kind) = input.get("type").filter(|kind| kind.as_str() != Some(ANY)) {
        property.insert("type".into(), kind.clone());
    }
    if let Some(description) = input.get("description") {
        property.insert("description".into(), description.clone());
    }
    Value::Object(property)
}

/// Removes one of our slots from `_meta`. Returns the document and the patch that the slot held. A slot that
/// holds no valid patch is removed and ignored.
fn without_slot(document: &Value, slot: &str) -> (Value, Vec<PatchOperation>) {
    let mut document = document.clone();
    let meta = document.get_mut("_meta").and_then(Value::as_object_mut);
    let Some(held) = meta.and_then(|meta| meta.shift_remove(slot)) else {
        return (document, Vec::new());
    };
    if let Some(members) = document.as_object_mut()
        && members.get("_meta") == Some(&json!({}))
    {
        members.shift_remove("_meta");
    }
    (document, Vec::deserialize(held).unwrap_or_default())
}

fn put_into_slot(document: &mut Value, slot: &str, patch: &[PatchOperation]) {
    let (Some(members), false) = (document.as_object_mut(), patch.is_empty()) else { return };
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        // Serializing plain data into a tree cannot fail.
        meta.insert(slot.to_owned(), serde_json::to_value(patch).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fetch() -> Value {
        json!({
            "name": "fetch", "title": "Fetch", "description": "Fetches a page",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "url": {"type": "string", "format": "uri", "description": "What to fetch"},
                    "raw": {"type": "boolean", "description": "As it came"},
                    "retries": {"type": "integer"},
                    "body": true,
                    "either": {"type": ["string", "null"]},
                },
                "required": ["url", "elsewhere"],
                "additionalProperties": false,
            },
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "context": "Use to read the web"},
            "_meta": {"vendor/x": 1},
        })
    }

    #[test]
    fn an_mcp_tool_is_described() {
        let descriptor = mcp_to_descriptor(&fetch()).unwrap();
        assert_eq!(check(&descriptor, Profile::Strict), []);
        let mut visible = descriptor.clone();
        visible.as_object_mut().unwrap().shift_remove("_meta");
        insta::assert_snapshot!(serde_json::to_string_pretty(&visible).unwrap(), @r#"
        {
          "schema_version": "2.0.0",
          "tool_id": "fetch",
          "description": "Fetches a page",
          "when_to_use": "Use to read the web",
          "how_to_use": {
            "inputs": [
              {
                "name": "url",
                "type": "string",
                "description": "What to fetch",
                "required": true,
                "schema": {
                  "type": "string",
                  "format": "uri",
                  "description": "What to fetch"
                }
              },
              {
                "name": "raw",
                "type": "boolean",
                "description": "As it came"
              },
              {
                "name": "retries",
                "type": "integer"
              },
              {
                "name": "body",
                "type": "any"
              },
              {
                "name": "either",
                "type": "any",
                "schema": {
                  "type": [
                    "string",
                    "null"
                  ]
                }
              }
            ],
            "outputs": {
              "success": "The tool returned its result.",
              "failure": []
            }
          }
        }
        "#);
        assert_eq!(descriptor_to_mcp(&descriptor).unwrap(), fetch());
    }

    #[test]
    fn what_was_changed_since_wins_over_the_slot() {
        let mut descriptor = mcp_to_descriptor(&fetch()).unwrap();
        descriptor["description"] = "Fetches any page".into();
        descriptor["how_to_use"]["inputs"][2]["type"] = "number".into();
        let tool = descriptor_to_mcp(&descriptor).unwrap();
        assert_eq!(tool["description"], "Fetches any page");
        assert_eq!(tool["inputSchema"]["properties"]["retries"], json!({"type": "number"}));
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
    }

    #[test]
    fn what_is_no_tool_is_refused() {
        for (tool, reason) in [
            (json!([]), "it is not an object"),
            (json!({"name": " "}), "name must be a string that is not blank"),
            (json!({"name": "x"}), "inputSchema must be an object"),
            (
                json!({"name": "x", "description": 1, "inputSchema": {}}),
                "description must be a string",
            ),
            (json!({"name": "x", "inputSchema": {}, "_meta": 1}), "_meta must be an object"),
        ] {
            let error = mcp_to_descriptor(&tool).unwrap_err();
            assert_eq!(error.to_string(), format!("not an MCP tool: {reason}"));
        }
        assert!(descriptor_to_mcp(&json!({"tool_id": "x"})).is_err());
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-c]{1,2}|[~/ é]x"
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            Just(json!(1)),
            Just(json!(1.0)),
            word().prop_map(Value::from),
            Just(json!([])),
            Just(json!({}))
        ]
    }

    fn property_schema() -> impl Strategy<Value = Value> {
        let kind = prop_oneof![
            Just(json!("string")),
            Just(json!("any")),
            Just(json!(["a"])),
            Just(json!(""))
        ];
        let members = (
            prop::option::of(kind),
            prop::option::of(word()),
            prop::option::of(scalar()),
            prop::option::of(scalar()),
        );
        let object = members.prop_map(|(kind, description, format, required)| {
            let mut schema = Map::new();
            schema.extend(kind.map(|kind| ("type".to_owned(), kind)));
            schema.extend(description.map(|text| ("description".to_owned(), text.into())));
            schema.extend(format.map(|format| ("format".to_owned(), format)));
            schema.extend(required.map(|required| ("required".to_owned(), required)));
            Value::Object(schema)
        });
        prop_oneof![4 => object, 1 => scalar()]
    }

    fn optional(members: &mut Map<String, Value>, name: &str, value: Option<Value>) {
        members.extend(value.map(|value| (name.to_owned(), value)));
    }

    fn tool() -> impl Strategy<Value = Value> {
        let schema = (
            prop::option::of(prop::collection::vec((word(), property_schema()), 0..4)),
            prop::option::of(prop::collection::vec(word(), 0..3)),
            prop::option::of(scalar()),
        );
        let rest = (
            prop::option::of("[ a]{0,2}"),
            prop::option::of(prop_oneof![
                scalar(),
                word().prop_map(|usage| json!({"usage": usage, "readOnlyHint": true})),
                (word(), word())
                    .prop_map(|(context, purpose)| json!({"context": context, "purpose": purpose})),
            ]),
            prop::option::of(scalar()),
            prop::option::of(word().prop_map(|value| json!({"v/x": value}))),
        );
        (word(), schema, rest).prop_map(|(name, schema, rest)| {
            let mut input = Map::new();
            let (properties, required, more) = schema;
            optional(&mut input, "properties", properties.map(|list| list.into_iter().collect()));
            optional(&mut input, "required", required.map(Value::from));
            optional(&mut input, "additionalProperties", more);
            let mut tool = Map::new();
            tool.insert("name".into(), name.into());
            tool.insert("inputSchema".into(), input.into());
            let (description, annotations, title, meta) = rest;
            optional(&mut tool, "description", description.map(Value::from));
            optional(&mut tool, "annotations", annotations);
            optional(&mut tool, "title", title);
            optional(&mut tool, "_meta", meta);
            Value::Object(tool)
        })
    }

    fn descriptor() -> impl Strategy<Value = Value> {
        let input = (
            word(),
            word(),
            prop::option::of(word()),
            prop::option::of(any::<bool>()),
            prop::option::of(scalar()),
        )
            .prop_map(|(name, kind, description, required, format)| {
                let mut input = Map::new();
                input.insert("name".into(), name.into());
                input.insert("type".into(), kind.into());
                optional(&mut input, "description", description.map(Value::from));
                optional(&mut input, "required", required.map(Value::from));
                optional(
                    &mut input,
                    "schema",
                    format.map(|format| json!({"type": "string", "format": format})),
                );
                Value::Object(input)
            });
        let failure = (word(), word())
            .prop_map(|(code, description)| json!({"code": code, "description": description}));
        (
            any::<bool>(),
            prop::collection::vec(word(), 4),
            prop::collection::vec(input, 0..4),
            prop::collection::vec(failure, 0..3),
            prop::option::of(Just(json!({"tags": ["x"], "version": "1"}))),
            prop::option::of(scalar()),
            prop::option::of(word().prop_map(|value| json!({"v/x": value}))),
        )
            .prop_map(|(by_id, texts, inputs, failures, metadata, extra, meta)| {
                let mut members = Map::new();
                members.insert(if by_id { "id" } else { "tool_id" }.into(), texts[0].clone().into());
                members.insert("description".into(), texts[1].clone().into());
                members.insert("when_to_use".into(), texts[2].clone().into());
                members.insert(
                    "how_to_use".into(),
                    json!({"inputs": inputs, "outputs": {"success": texts[3], "failure": failures}}),
                );
                optional(&mut members, "metadata", metadata);
                optional(&mut members, "later", extra);
                optional(&mut members, "_meta", meta);
                Value::Object(members)
            })
    }

    proptest! {
        #[test]
        fn tools_come_back(tool in tool()) {
            let descriptor = mcp_to_descriptor(&tool).unwrap();
            let errors: Vec<_> = check(&descriptor, Profile::Strict).into_iter().filter(answerback_findings::ValidationError::is_error).collect();
            prop_assert_eq!(errors, []);
            let back = descriptor_to_mcp(&descriptor).unwrap();
            prop_assert_eq!(&back, &tool);
            prop_assert_eq!(mcp_to_descriptor(&back).unwrap(), descriptor);
        }

        #[test]
        fn descriptors_come_back(descriptor in descriptor()) {
            let tool = descriptor_to_mcp(&descriptor).unwrap();
            prop_assert!(check_tool(&tool).is_ok());
            prop_assert_eq!(mcp_to_descriptor(&tool).unwrap(), descriptor);
        }
    }
}
