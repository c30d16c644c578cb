//! Finds the tool arguments that must be repeated in headers.

use std::collections::HashMap;

use http::header::{HeaderMap, HeaderName};
use serde_json::Value;
use serde_json::value::RawValue;

use super::header_params::header_value;
use crate::wire::Message;

/// The keyword with which a property of an input schema asks for a header.
const ANNOTATION: &str = "x-mcp-header";
/// The largest number of tools whose headers are stored.
const MAX_TOOLS: usize = 4096;

/// Stores the header arguments of a server's tools, learned from its lists of tools.
#[derive(Debug, Default)]
pub(super) struct HeaderAnnotations {
    tools: HashMap<String, HeaderArguments>,
}

/// Holds the arguments of a tool that are repeated in headers.
#[derive(Debug, Default)]
pub struct HeaderArguments(Vec<HeaderArgument>);

impl HeaderArguments {
    /// Reads the header arguments from an input schema.
    ///
    /// # Errors
    ///
    /// Returns the rule of the protocol that the schema's annotations break.
    pub fn of(schema: &Value) -> Result<Self, &'static str> {
        read_annotations(schema).map(Self)
    }

    /// Returns true if the tool has no header arguments, as with most tools.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each header with its expected text for these arguments. The text is `None` if the argument is
    /// missing.
    pub fn expected<'a>(
        &'a self,
        arguments: &'a Value,
    ) -> impl Iterator<Item = (&'a HeaderName, Option<String>)> {
        self.0.iter().map(move |HeaderArgument { path, header }| {
            let argument = path.iter().try_fold(arguments, |value, name| value.get(name));
            let text = match argument {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Bool(truth)) => Some(truth.to_string()),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            (header, text)
        })
    }
}

/// Describes an argument that is repeated in a header.
#[derive(Debug)]
struct HeaderArgument {
    /// The path of property names to the argument.
    path: Vec<String>,
    header: HeaderName,
}

#[derive(serde::Deserialize)]
struct ToolListResult<'t> {
    #[serde(borrow)]
    result: ToolList<'t>,
}

#[derive(serde::Deserialize)]
struct ToolList<'t> {
    #[serde(borrow)]
    tools: Vec<&'t RawValue>,
}

#[derive(serde::Deserialize)]
struct AnnotatedTool {
    name: String,
    #[serde(rename = "inputSchema")]
    schema: Value,
}

impl HeaderAnnotations {
    /// Learns the header arguments from the response to `tools/list`. A tool whose annotations break the
    /// protocol's rules gets no headers, and the reason is logged.
    pub(super) fn learn(&mut self, server: &str, answer: &Message) {
        let first_annotation =
            memchr::memmem::find(answer.text().as_bytes(), ANNOTATION.as_bytes());
        // Most servers have no annotations, so a quick search avoids parsing.
        if first_annotation.is_none() && self.tools.is_empty() {
            return;
        }
        let Ok(ToolListResult { result }) =
            serde_json::from_str::<ToolListResult<'_>>(answer.text())
        else {
            return;
        };
        for tool in result.tools {
            let Ok(AnnotatedTool { name, schema }) = serde_json::from_str(tool.get()) else {
                continue;
            };
            let annotated = HeaderArguments::of(&schema).unwrap_or_else(|fault| {
                tracing::warn!(upstream = %server, tool = %name, fault, "a tool asks for headers against the rules");
                HeaderArguments::default()
            });
            if annotated.is_empty() {
                self.tools.remove(&name);
            } else if self.tools.len() < MAX_TOOLS || self.tools.contains_key(&name) {
                self.tools.insert(name, annotated);
            }
        }
    }

    /// Adds the headers for a call of a tool with these arguments.
    pub(super) fn add_headers(&self, tool: &str, arguments: Option<&str>, headers: &mut HeaderMap) {
        let Some(annotated) = self.tools.get(tool) else { return };
        let arguments = arguments.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(arguments) = arguments else { return };
        for (header, text) in annotated.expected(&arguments) {
            if let Some(text) = text {
                headers.insert(header.clone(), header_value(&text));
            }
        }
    }
}

/// Returns the annotations of a schema along chains of `properties`, or the rule that they break.
fn read_annotations(schema: &Value) -> Result<Vec<HeaderArgument>, &'static str> {
    let mut arguments: Vec<HeaderArgument> = Vec::new();
    let mut open = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = open.pop() {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let mut path = path.clone();
            path.push(name.clone());
            if let Some(annotation) = property.get(ANNOTATION) {
                let kind = property.get("type").and_then(Value::as_str);
                if !matches!(kind, Some("string" | "integer" | "boolean")) {
                    return Err("only a string, an integer or a boolean goes into a header");
                }
                let annotation = annotation.as_str().filter(|text| !text.is_empty());
                let header = annotation
                    .map(|text| format!("mcp-param-{text}"))
                    .and_then(|text| HeaderName::from_bytes(text.as_bytes()).ok())
                    .ok_or("the name of the header is none")?;
                if arguments.iter().any(|other| other.header == header) {
                    return Err("two arguments ask for one header");
                }
                arguments.push(HeaderArgument { path: path.clone(), header });
            }
            open.push((path, property));
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(tools: &Value) -> Message {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}});
        Message::read(answer.to_string()).unwrap()
    }

    fn tool(name: &str, properties: Value) -> Value {
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
    }

    fn headers_of(annotations: &HeaderAnnotations, name: &str, arguments: Value) -> String {
        let mut headers = HeaderMap::new();
        annotations.add_headers(name, Some(&arguments.to_string()), &mut headers);
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines.join("\n")
    }

    #[test]
    fn arguments_stand_in_the_headers_that_their_tool_asks_for() {
        let mut annotations = HeaderAnnotations::default();
        annotations.learn("up", &list(&json!([
            {"name": "broken"},
            tool("query", json!({
                "region": {"type": "string", "x-mcp-header": "Region"},
                "limit": {"type": "integer", "x-mcp-header": "Limit"},
                "deep": {"type": "object", "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry-Run"}}},
                "text": {"type": "string"},
            })),
        ])));
        let whole = json!({"region": "ü", "limit": 42, "deep": {"dry": true}, "text": "secret"});
        insta::assert_snapshot!(headers_of(&annotations, "query", whole), @r#"
        mcp-param-dry-run: true
        mcp-param-limit: 42
        mcp-param-region: =?base64?w7w=?=
        "#);
        // A null or missing argument has no header.
        assert_eq!(headers_of(&annotations, "query", json!({"region": null, "deep": 1})), "");
        assert_eq!(headers_of(&annotations, "other", json!({"region": "a"})), "");
        annotations.learn("up", &list(&json!([tool("query", json!({}))])));
        assert_eq!(headers_of(&annotations, "query", json!({"region": "a"})), "");
    }

    #[test]
    fn annotations_against_the_rules_are_told() {
        let property = |kind: &str, header: Value| json!({"type": kind, "x-mcp-header": header});
        for properties in [
            json!({"a": property("number", json!("A"))}),
            json!({"a": property("object", json!("A"))}),
            json!({"a": property("string", json!(""))}),
            json!({"a": property("string", json!("a b"))}),
            json!({"a": property("string", json!("a\r\nb"))}),
            json!({"a": property("string", json!(1))}),
            json!({"a": property("string", json!("A")), "b": property("string", json!("a"))}),
        ] {
            assert!(read_annotations(&json!({"properties": properties})).is_err(), "{properties}");
        }
    }
}
