//! The JSON Schemas of ATDF responses and descriptors accept what is good and reject what a schema can see.
#![cfg(feature = "schema")]

use std::fs;
use std::path::Path;

use answerback::Timestamp;
use answerback::contract::atdf::EnrichedResponse;
use answerback::contract::atdf::descriptor::Descriptor;
use answerback::contract::atdf::validators::{
    DateLimits, validate_date_range, validate_email, validate_password_strength,
};
use answerback::json::patch::{PatchOperation, apply};
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

fn validator<T: JsonSchema>() -> jsonschema::Validator {
    let schema = serde_json::to_value(schema_for!(T)).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

fn document(name: &str) -> Value {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents"));
    serde_json::from_slice(&fs::read(folder.join(name).with_extension("json")).unwrap()).unwrap()
}

fn assert_accepts(validator: &jsonschema::Validator, document: &Value, name: &str) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
}

fn assert_rejects(validator: &jsonschema::Validator, name: &str, patch: &Value) {
    let patch: Vec<PatchOperation> = serde_json::from_value(patch.clone()).unwrap();
    let broken = apply(&document(name), &patch).unwrap();
    assert!(!validator.is_valid(&broken), "{name}: {patch:?}");
}

#[test]
fn responses() {
    let validator = validator::<EnrichedResponse>();
    for name in ["success", "least", "error", "error-least", "error-named"] {
        let name = format!("atdf-{name}");
        assert_accepts(&validator, &document(&name), &name);
    }
    let now = Timestamp::from_unix_millis(1_700_000_000_000);
    for made in [
        validate_email("", now),
        validate_email("nobody", now),
        validate_email("user@example.com", now),
        validate_password_strength("", now),
        validate_password_strength("weak", now),
        validate_date_range("x", "y", DateLimits::Advised, now),
        validate_date_range(
            "2020-01-01T00:00:00Z",
            "2019-01-01T00:00:00Z",
            DateLimits::Enforced,
            now,
        ),
    ] {
        assert_accepts(&validator, &made.to_document(), made.message());
    }
    for patch in [
        json!([{"op": "remove", "path": "/status"}]),
        json!([{"op": "replace", "path": "/status", "value": "ok"}]),
        json!([{"op": "remove", "path": "/meta/timestamp"}]),
        json!([{"op": "replace", "path": "/meta/timestamp", "value": "yesterday"}]),
        json!([{"op": "replace", "path": "/data/code", "value": "E404"}]),
        json!([{"op": "remove", "path": "/data/details/solution"}]),
        json!([{"op": "remove", "path": "/data/details/expected/conditions"}]),
        json!([{"op": "replace", "path": "/data/details/expected/examples", "value": ["2"]}]),
        json!([{"op": "replace", "path": "/data/details/expected/examples/invalid/0", "value": "40"}]),
        json!([{"op": "remove", "path": "/data/details/expected/examples/valid"}]),
        json!([{"op": "replace", "path": "/data/details/received", "value": "40"}]),
        json!([{"op": "replace", "path": "/data/details/validation_results", "value": {"a": 1}}]),
    ] {
        assert_rejects(&validator, "atdf-error", &patch);
    }
}

#[test]
fn descriptors() {
    let validator = validator::<Descriptor>();
    for name in ["descriptor-basic", "descriptor-least", "descriptor-full"] {
        assert_accepts(&validator, &document(name), name);
    }
    for patch in [
        json!([{"op": "remove", "path": "/tool_id"}]),
        json!([{"op": "add", "path": "/id", "value": "x"}]),
        json!([{"op": "replace", "path": "/tool_id", "value": ""}]),
        json!([{"op": "remove", "path": "/how_to_use/outputs/success"}]),
        json!([{"op": "remove", "path": "/how_to_use/inputs/0/type"}]),
        json!([{"op": "replace", "path": "/how_to_use/outputs/failure", "value": {}}]),
    ] {
        assert_rejects(&validator, "descriptor-basic", &patch);
    }
}
