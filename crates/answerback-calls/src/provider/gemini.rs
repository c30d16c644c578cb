use answerback_json::Pointer;
use serde_json::{Map, Value, json};

use super::wire::{CallPlace, ProviderFormat, ToolPlace, elements, plain_name, spoken_text};
use super::{ToolCall, ToolResult};

/// Google's Gemini. Calls often have no id and are answered in order; a turn needs exactly as many
/// responses as there were calls; schemas are OpenAPI's subset unless they say otherwise.
pub(super) struct Gemini;

/// The declarations of a list, in either spelling: REST has one, the SDKs the other.
fn declarations(list: &Value) -> Option<Vec<(Pointer, &Value)>> {
    const NAMES: [&str; 2] = ["functionDeclarations", "function_declarations"];
    let below = |place: &Pointer, tool| {
        NAMES.iter().find_map(|name| {
            let found = elements(tool, &[&format!("/{name}")])?;
            let (place, count) = (place.join(name), found.len());
            let places = (0..count).map(move |index| place.join(&index.to_string()));
            Some(places.zip(found.into_iter().map(|(_, one)| one)).collect::<Vec<_>>())
        })
    };
    if let Some(found) = below(&Pointer::root(), list) {
        return Some(found);
    }
    let tools = elements(list, &["", "/tools"])?;
    Some(tools.iter().filter_map(|(place, tool)| below(place, tool)).flatten().collect())
}

impl ProviderFormat for Gemini {
    fn tools(&self, list: &Value) -> Option<Vec<ToolPlace>> {
        let place = |(place, tool): &(Pointer, &Value)| {
            let whole = ["parametersJsonSchema", "parameters_json_schema"];
            let schema = whole.into_iter().find(|name| tool.get(name).is_some());
            ToolPlace::at(place, schema.unwrap_or("parameters"))
        };
        Some(declarations(list)?.iter().map(place).collect())
    }

    fn is_list(&self, list: &Value) -> bool {
        declarations(list).is_some_and(|found| !found.is_empty())
    }

    fn schemas_are_optional(&self) -> bool {
        true
    }

    /// OpenAPI's subset as JSON Schema: type names in lower case, `nullable` as a type.
    fn schema(&self, declared: &Value) -> Value {
        match declared {
            Value::Object(members) => json_schema(members),
            other => other.clone(),
        }
    }

    /// A content, or the response around it.
    fn calls(&self, message: &Value) -> Option<Vec<CallPlace>> {
        message.as_object()?;
        let parts = elements(message, &["/parts", "/candidates/0/content/parts"]);
        let parts = parts.unwrap_or_default();
        let place = |(place, part): &(Pointer, &Value)| {
            let names = ["functionCall", "function_call"];
            let name = names.into_iter().find(|name| part.get(name).is_some())?;
            Some(CallPlace::at(&place.join(name), "id", "args"))
        };
        Some(parts.iter().filter_map(place).collect())
    }

    fn ids_are_optional(&self) -> bool {
        true
    }

    fn legal_name(&self, name: &str) -> String {
        plain_name(name, 64, &['_', '-', '.', ':'])
    }

    fn result(&self, call: &ToolCall, result: &ToolResult) -> Value {
        let mut response = Map::new();
        if call.has_id {
            response.insert("id".to_owned(), call.id.as_str().into());
        }
        response.insert("name".to_owned(), self.legal_name(&call.name).into());
        let told = if result.is_error { "error" } else { "output" };
        let mut output = Map::new();
        output.insert(told.to_owned(), spoken_text(result).into());
        if let Some(status) = result.status {
            output.insert("status".to_owned(), json!(status));
        }
        response.insert("response".to_owned(), output.into());
        json!({ "functionResponse": response })
    }

    fn turn(&self, results: Vec<Value>) -> Value {
        json!({"role": "user", "parts": results})
    }
}

fn json_schema(declared: &Map<String, Value>) -> Value {
    let mut schema = Map::new();
    for (keyword, value) in declared {
        let meant = match (keyword.as_str(), value) {
            ("nullable", _) => continue,
            ("type", Value::String(name)) => name.to_lowercase().into(),
            ("properties" | "$defs" | "defs", Value::Object(members)) => {
                let members = members.iter().map(|(name, one)| (name.clone(), Gemini.schema(one)));
                Value::Object(members.collect())
            }
            ("items" | "additionalProperties", one) => Gemini.schema(one),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                all.iter().map(|one| Gemini.schema(one)).collect()
            }
            // The API writes 64-bit numbers as texts.
            (
                "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
                | "maxProperties",
                Value::String(digits),
            ) => digits.parse::<u64>().map_or_else(|_| value.clone(), Value::from),
            _ => value.clone(),
        };
        schema.insert(keyword.clone(), meant);
    }
    if declared.get("nullable") == Some(&Value::Bool(true)) {
        if let Some(kind) = schema.get("type").cloned() {
            schema.insert("type".to_owned(), json!([kind, "null"]));
        }
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openapi_becomes_json_schema() {
        let declared = json!({
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "nullable": true, "enum": ["a"]},
                "list": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "1"},
            },
            "required": ["type"],
        });
        assert_eq!(
            Gemini.schema(&declared),
            json!({
                "type": "object",
                "properties": {
                    "type": {"type": ["string", "null"], "enum": ["a", null]},
                    "list": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
                },
                "required": ["type"],
            })
        );
    }
}
