//! How a value of a call is shown: the one door through which argument values leave.

use std::borrow::Cow;

use serde_json::Value;

use super::outline::{NodeId, SchemaOutline};
use super::schema::Schema;
use crate::finding::Preview;
use crate::json::Pointer;

/// What stands in the place of a value that is never shown.
const HIDDEN: &str = "[redacted]";

/// A short preview of the value at `place` of a call's arguments. Whatever the schema calls secret
/// (`writeOnly`, `format: password`), in whichever branch, is not in it.
pub(crate) fn shown(value: &Value, place: &Pointer, schema: &Schema, preview: &Preview) -> String {
    let outline = &schema.outline;
    if !outline.has_secrets() {
        return preview.show_at(place, value);
    }
    let mut nodes = outline.all_in_place(&[SchemaOutline::ROOT]);
    for token in place.tokens() {
        if is_secret(outline, &nodes) {
            return HIDDEN.to_owned();
        }
        nodes = step(outline, &nodes, &token);
    }
    match without_secrets(outline, &nodes, value) {
        Cow::Owned(Value::String(hidden)) if hidden == HIDDEN => hidden,
        redacted => preview.show_at(place, &redacted),
    }
}

/// The arguments without what the schema calls secret.
pub(super) fn hidden<'v>(value: &'v Value, outline: &SchemaOutline) -> Cow<'v, Value> {
    if !outline.has_secrets() {
        return Cow::Borrowed(value);
    }
    without_secrets(outline, &outline.all_in_place(&[SchemaOutline::ROOT]), value)
}

/// Everything that could apply at a place, whichever branch is meant.
pub(super) fn applying(outline: &SchemaOutline, place: &Pointer) -> Vec<NodeId> {
    let root = outline.all_in_place(&[SchemaOutline::ROOT]);
    place.tokens().fold(root, |nodes, token| step(outline, &nodes, &token))
}

/// What applies to a member or an element, whichever branch is meant. Both are followed, as only the
/// value could tell an index from a name of digits.
fn step(outline: &SchemaOutline, nodes: &[NodeId], token: &str) -> Vec<NodeId> {
    let mut below = Vec::new();
    let mut named = false;
    for id in nodes {
        named |= outline.member(*id, token, |child| below.push(child));
        if let Some(child) = token.parse().ok().and_then(|index| outline.element(*id, index)) {
            below.push(child);
        }
    }
    if !named && outline.has_secrets() {
        // A name that nothing knows, beside one that is secret, may be a slip of the pen for it.
        let beside = nodes.iter().flat_map(|id| outline.names(*id)).map(|(_, child)| child);
        below.extend(beside.filter(|child| is_secret(outline, &outline.all_in_place(&[*child]))));
    }
    outline.all_in_place(&below)
}

fn is_secret(outline: &SchemaOutline, nodes: &[NodeId]) -> bool {
    nodes.iter().any(|id| outline.node(*id).secret)
}

fn without_secrets<'v>(
    outline: &SchemaOutline,
    nodes: &[NodeId],
    value: &'v Value,
) -> Cow<'v, Value> {
    if is_secret(outline, nodes) {
        return Cow::Owned(Value::from(HIDDEN));
    }
    if nodes.is_empty() {
        return Cow::Borrowed(value);
    }
    match value {
        Value::Object(members) => {
            let clean = members.iter().map(|(name, value)| {
                let below = step(outline, nodes, name);
                (name.clone(), without_secrets(outline, &below, value).into_owned())
            });
            Cow::Owned(Value::Object(clean.collect()))
        }
        Value::Array(elements) => {
            let clean = elements.iter().enumerate().map(|(index, value)| {
                let below = step(outline, nodes, &index.to_string());
                without_secrets(outline, &below, value).into_owned()
            });
            Cow::Owned(Value::Array(clean.collect()))
        }
        scalar => Cow::Borrowed(scalar),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check;
    use super::*;

    #[test]
    fn a_misspelt_secret_is_hidden_too() {
        let schema = Schema::compile(json!({
            "properties": {
                "user": {"type": "string", "maxLength": 2},
                "login": {"$ref": "#/$defs/word"},
                "open": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
            "additionalProperties": false,
            "$defs": {"word": {"type": "string", "writeOnly": true}},
        }))
        .unwrap();
        let arguments = json!({"user": "ada", "logn": ["velvet"], "open": {"b": "seen"}});
        let findings = check(&schema, &arguments, ()).unwrap();
        let told = format!("{findings:?}");
        assert!(
            !told.contains("velvet") && told.contains("ada") && told.contains("seen"),
            "{told}"
        );
        assert_eq!(
            *schema.without_secrets(&arguments),
            json!({"user": "ada", "logn": "[redacted]", "open": {"b": "seen"}})
        );
    }
}
