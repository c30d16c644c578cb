//! What a model is told of any call, three times: bounded, and nothing in it acts.
#![no_main]

use answerback::checker::ToolCatalog;
use answerback_fuzz::{call, promises};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &str| {
    let Some((schema, arguments)) = call::read(input) else { return };
    let limit = 500 + arguments.len() % 3501;
    let arguments = Value::from(arguments);
    // A tool that is there, and one that is not; both names come from the schema's author or the model.
    let name = schema.get("title").and_then(Value::as_str).unwrap_or("tool").to_owned();
    let Ok(catalogue) = ToolCatalog::new([(name.clone(), schema)]) else { return };
    promises::of_answers(&catalogue, &name, &arguments, limit);
    promises::of_answers(&catalogue, &format!("{name}s"), &arguments, limit);
});
