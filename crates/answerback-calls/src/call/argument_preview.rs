//! Creates previews of argument values, without the values that the schema marks as secret.

use std::borrow::Cow;

use answerback_findings::Preview;
use answerback_json::Pointer;
use serde_json::Value;

use super::outline::{NodeId, SchemaOutline};
use super::schema::Schema;

/// The text that replaces a secret value.
const HIDDEN: &str = "[redacted]";

/// Returns a short preview of the value at `place` of a call's arguments. Values that the schema marks as secret
/// (`writeOnly`, `format: password`) in any branch are redacted.
pub(crate) fn preview_argument(
    value: &Value,
    place: &Pointer,
    schema: &Schema,
    preview: &Preview,
) -> String {
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

/// Returns the arguments with the secret values redacted.
pub(super) fn redact_arguments<'v>(value: &'v Value, outline: &SchemaOutline) -> Cow<'v, Value> {
    if !outline.has_secrets() {
        return Cow::Borrowed(value);
    }
    without_secrets(outline, &outline.all_in_place(&[SchemaOutline::ROOT]), value)
}

/// Returns all subschemas that could apply at a place, in any branch.
pub(super) fn applying(outline: &SchemaOutline, place: &Pointer) -> Vec<NodeId> {
    let root = outline.all_in_place(&[SchemaOutline::ROOT]);
    place.tokens().fold(root, |nodes, token| step(outline, &nodes, &token))
}

/// Returns the subschemas that apply to a member or an element, in any branch. It follows both, because without the
/// value a token of digits could be an index or a name.
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
        // An unknown name next to a secret field may be a misspelling of that field, so its value counts as secret.
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
