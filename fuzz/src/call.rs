//! A call for the targets that judge calls: the schema on the first line, the arguments on the others.

use answerback::call::Schema;
use serde_json::Value;

/// The schema of a tool and what a model sent to it, if the input holds both.
pub fn read(input: &str) -> Option<(Value, &str)> {
    let (schema, arguments) = input.split_once('\n')?;
    Some((serde_json::from_str(schema).ok()?, arguments))
}

/// The same with the schema compiled; what does not compile is refused, and that is all.
pub fn compiled(input: &str) -> Option<(Schema, &str)> {
    let (schema, arguments) = read(input)?;
    Some((Schema::compile(schema).ok()?, arguments))
}
