use std::collections::BTreeMap;

use answerback::ValidationError;
use answerback::checker::CallReply;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operations::{ApiOperation, BodySchema, OPERATIONS};
use super::parameters::path_parameter;
use crate::artifact::ArtifactDocument;
use crate::case::{CaseDocument, Proposal, Question};
use crate::host::AgentsView;
use crate::reply::ReplyRow;
use crate::stream::EventDocument;
use crate::{Commands, ServerView, ToolView};

/// The schemas of requests and responses that have no Rust type.
const COMPONENTS: &str = include_str!("components.json");

/// The path of the schemas in references.
const SCHEMAS: &str = "/components/schemas";

/// Returns the OpenAPI description of the API.
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.to_json();
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Answerback",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            "description": "Replies of agents and their tools: record, list, prove, follow live, and decide. Every request needs a bearer token or the cookie of a session. Every problem is an ATDF enriched error. A body is parsed as JSON, whatever its Content-Type. An object with a duplicate member name is an error.",
        },
        "servers": [{"url": "http://127.0.0.1:7311"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token with the scope that the operation names as x-scope"},
                "session": {"type": "apiKey", "in": "cookie", "name": "answerback_7311", "description": "Set by POST /api/session; the number is the port"},
            },
            "schemas": schemas(),
        },
    })
}

impl ApiOperation {
    fn to_json(&self) -> Value {
        let names =
            self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path = names.map(|name| {
            let schema = path_parameter(self.method, self.path, name).schema();
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        });
        let in_query = self.query.iter().map(super::parameters::QueryParameter::to_json);
        let parameters: Vec<Value> = in_path.chain(in_query).collect();
        let mut responses = Map::new();
        for status in self.statuses {
            let mut response = json!({"description": "Success"});
            if let Some(content) = content(self.answer) {
                response["content"] = content;
            }
            responses.insert(status.to_string(), response);
        }
        let problem = |about: &str| json!({"description": about, "content": content(BodySchema::Json("Problem"))});
        for (status, about) in self.all_problems() {
            responses.insert(status.to_owned(), problem(&about.join("; ")));
        }
        responses.insert("default".to_owned(), problem("A problem, as an ATDF enriched error"));
        let mut operation =
            json!({"summary": self.about, "parameters": parameters, "responses": responses});
        if let Some(content) = content(self.body) {
            let is_required = !matches!(self.body, BodySchema::OptionalJson(_));
            operation["requestBody"] = json!({"required": is_required, "content": content});
        }
        match self.scope {
            Some(scope) => operation["x-scope"] = scope.as_str().into(),
            None => operation["security"] = json!([]),
        }
        operation
    }
}

impl ApiOperation {
    /// Returns the problems by status: the common ones for this form of operation, and its own.
    fn all_problems(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let has_body = !matches!(self.body, BodySchema::None);
        let has_path_parameter = self.path.contains('{');
        let common = [
            (
                "400",
                has_body || has_path_parameter || !self.query.is_empty(),
                "INVALID_PARAMETER or BAD_REQUEST: a parameter or the body does not match this description",
            ),
            ("401", self.scope.is_some(), "UNAUTHENTICATED: the token is missing or unknown"),
            ("403", self.scope.is_some(), "SCOPE_MISSING or FORBIDDEN: the token may not do this"),
            ("404", has_path_parameter, "NOT_FOUND: the path names nothing that exists"),
            ("408", has_body, "BODY_TOO_SLOW: the body did not arrive in time"),
            ("413", has_body, "BODY_TOO_LARGE: the body exceeds the operation's limit"),
        ];
        let mut problems: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (status, applies, about) in common {
            if applies {
                problems.entry(status).or_default().push(about);
            }
        }
        for (status, about) in self.problems {
            problems.entry(status).or_default().push(about);
        }
        problems
    }
}

fn content(content: BodySchema) -> Option<Value> {
    match content {
        BodySchema::None => None,
        BodySchema::Other(media_type) => Some(json!({ media_type: {} })),
        BodySchema::Json(name) | BodySchema::OptionalJson(name) => {
            Some(json!({"application/json": {"schema": {"$ref": format!("#{SCHEMAS}/{name}")}}}))
        }
    }
}

fn schemas() -> Value {
    let mut schemas: Map<String, Value> = serde_json::from_str(COMPONENTS).unwrap_or_default();
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS.into())
    };
    // In responses, members that are always written are required, even if they may be null.
    let mut answers = settings().for_serialize().into_generator();
    add::<ReplyRow>(&mut answers);
    add::<CaseDocument>(&mut answers);
    add::<EventDocument>(&mut answers);
    add::<ArtifactDocument>(&mut answers);
    add::<AgentsView>(&mut answers);
    add::<ServerView>(&mut answers);
    add::<ToolView>(&mut answers);
    add::<Commands>(&mut answers);
    add::<ValidationError>(&mut answers);
    add::<CallReply>(&mut answers);
    schemas.extend(answers.take_definitions(true));
    let mut requests = settings().into_generator();
    add::<Proposal>(&mut requests);
    add::<Question>(&mut requests);
    schemas.extend(requests.take_definitions(true));
    if let Some(document) = schemas.get_mut("CaseDocument") {
        document["properties"]["case"] = json!({"$ref": format!("#{SCHEMAS}/Case")});
    }
    add_new_case(&mut schemas);
    schemas.insert("CallToCheck".to_owned(), call_to_check());
    schemas.insert("CheckedCall".to_owned(), checked_call());
    schemas.into()
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Adds the schema of a new case: a proposal or a question, selected by `kind`. Both are closed objects, so each needs
/// `kind` as a member.
fn add_new_case(schemas: &mut Map<String, Value>) {
    let (mut references, mut mapping) = (Vec::new(), Map::new());
    for (kind, name) in [("proposal", "Proposal"), ("question", "Question")] {
        let Some(schema) = schemas.get_mut(name) else { continue };
        schema["properties"]["kind"] = json!({"type": "string", "const": kind});
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, "kind".into());
        }
        let reference = format!("#{SCHEMAS}/{name}");
        references.push(json!({"$ref": reference}));
        mapping.insert(kind.to_owned(), reference.into());
    }
    let discriminator = json!({"propertyName": "kind", "mapping": mapping});
    let new_case = json!({"oneOf": references, "discriminator": discriminator});
    schemas.insert("NewCase".to_owned(), new_case);
}

/// Returns the schema of a call to check: a line of `answerback replay`, with the schema of its tool.
fn call_to_check() -> Value {
    let published = answerback::schema::ALL.iter().find(|published| published.name == "call");
    let mut schema = published.map(answerback::schema::Published::document).unwrap_or_default();
    if let Some(members) = schema.as_object_mut() {
        for name in ["$schema", "$id", "title"] {
            members.shift_remove(name);
        }
    }
    schema["properties"]["schema"] = json!({
        "description": "The tool's inputSchema, an object or a boolean. With an unusable schema the call stays unchecked. Without a schema, the tool is looked up by its name in the gateway.",
    });
    schema
}

/// Returns the schema of a checked call: an output line of `answerback replay`, with the person's decision.
fn checked_call() -> Value {
    json!({"allOf": [
        {"$ref": format!("#{SCHEMAS}/Answer")},
        {
            "type": "object",
            "properties": {
                "waived": {"type": "boolean", "description": "True if a person allowed the call to run once although the check failed"},
                "arguments": {"description": "The arguments as corrected by a person, to run instead"},
                "guidance": {"type": "string", "description": "A person's guidance for the model"},
            },
        },
    ]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_names_a_schema() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        assert!(document["paths"].as_object().unwrap().len() > 25);
    }

    #[test]
    fn every_schema_is_used() {
        let document = document();
        let text = document.to_string();
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(text.contains(&format!("\"#{SCHEMAS}/{name}\"")), "{name}");
        }
    }
}
