//! Resolves the anchors and the percent-encoded fragments of references.

use std::collections::HashMap;

use answerback_json::push_token;
use serde_json::Value;

/// Collects every anchor of a schema with its place.
pub(in crate::call) fn anchors(schema: &Value) -> HashMap<&str, String> {
    let mut anchors = HashMap::new();
    collect_anchors(schema, &mut String::new(), &mut anchors);
    anchors
}

/// Collects every `$anchor` (before 2019-09: `id` as a fragment) with its place.
fn collect_anchors<'s>(
    value: &'s Value,
    place: &mut String,
    anchors: &mut HashMap<&'s str, String>,
) {
    let length = place.len();
    match value {
        Value::Object(members) => {
            for keyword in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                let Some(name) = members.get(keyword).and_then(Value::as_str) else { continue };
                let name =
                    if keyword.ends_with("nchor") { Some(name) } else { name.strip_prefix('#') };
                if let Some(name) = name {
                    anchors.entry(name).or_insert_with(|| place.clone());
                }
            }
            for (name, value) in members {
                push_token(place, name);
                collect_anchors(value, place, anchors);
                place.truncate(length);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                push_token(place, &index.to_string());
                collect_anchors(value, place, anchors);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// Decodes the percent-encoding of a URI fragment. Returns `None` if the result is not valid UTF-8.
pub(in crate::call) fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
