//! Tests the definitions of the tools.

use crate::tools::definition::ToolEffect;
use answerback::call::{Schema, check};
use serde_json::{Map, Value};

use super::scene::Scene;

#[test]
fn schemas_compile_and_describe_everything() {
    let scene = Scene::harbour();
    for definition in scene.tools.definitions() {
        let name = definition.name;
        assert!(!definition.title.is_empty() && definition.description.ends_with('.'), "{name}");
        assert_eq!(definition.effect == ToolEffect::Writes, name == "solution_project_register");
        let input = &definition.input_schema;
        assert_eq!(input["additionalProperties"], false, "{name}");
        for schema in [input, &definition.output_schema] {
            assert_eq!(schema["type"], "object", "{name}");
            assert!(!schema.contains_key("$id") && !schema.contains_key("$schema"), "{name}");
            Schema::compile(Value::Object(schema.clone())).unwrap();
        }
        for (member, schema) in input["properties"].as_object().unwrap() {
            assert!(
                schema["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{name} {member}"
            );
            // Defaults and examples must match their own schema.
            let compiled = Schema::compile(schema.clone()).unwrap();
            let examples = schema["examples"].as_array().cloned().unwrap_or_default();
            for example in schema.get("default").into_iter().chain(&examples) {
                assert!(
                    check(&compiled, example, ()).unwrap().is_empty(),
                    "{name} {member} {example}"
                );
            }
        }
    }
}

#[test]
fn the_list_is_a_promise() {
    let scene = Scene::harbour();
    let mut listed = Map::new();
    for definition in scene.tools.definitions() {
        let mut told = Map::new();
        told.insert("title".to_owned(), definition.title.into());
        told.insert("description".to_owned(), definition.description.into());
        told.insert("input".to_owned(), Value::Object(definition.input_schema.clone()));
        let data = definition
            .output_schema
            .get("properties")
            .and_then(|properties| properties.get("data"));
        told.extend(data.map(|data| ("data".to_owned(), data.clone())));
        listed.insert(definition.name.to_owned(), told.into());
    }
    insta::assert_snapshot!("listed", serde_json::to_string_pretty(&listed).unwrap());
}
