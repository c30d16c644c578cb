//! Merges the servers' responses to `initialize`, and their capabilities.

use answerback_mcp::wire::{LEGACY_REVISIONS, meta};
use serde_json::{Map, Value, json};

use crate::serve::header_validation::VERSIONS;

/// Merges the responses of several servers to `initialize` or `server/discover`. Each response comes with its
/// server's name.
pub(super) fn initialize_result(answers: &[(&str, Value)], is_modern: bool) -> Value {
    let mut capabilities = Map::new();
    let mut instructions = Vec::new();
    let mut version: Option<&str> = None;
    for (name, answer) in answers {
        if let Value::Object(theirs) = &answer["capabilities"] {
            merge_objects(&mut capabilities, theirs);
        }
        if let Some(text) = answer["instructions"].as_str().filter(|text| !text.is_empty()) {
            instructions.push(format!("## {name}\n{text}"));
        }
        // Revisions are dates, and every server supports the oldest of them.
        if let Some(theirs) = answer["protocolVersion"].as_str() {
            version = Some(version.map_or(theirs, |version| version.min(theirs)));
        }
    }
    // The list changes when a server starts or ends, so the capability is always declared.
    capabilities.entry("tools").or_insert_with(|| json!({}))["listChanged"] = true.into();
    let gateway = json!({"name": "answerback", "version": env!("CARGO_PKG_VERSION")});
    let mut result = if is_modern {
        json!({
            "resultType": "complete",
            "supportedVersions": VERSIONS,
            "capabilities": capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {meta::SERVER: gateway},
        })
    } else {
        let version = version.unwrap_or(LEGACY_REVISIONS[LEGACY_REVISIONS.len() - 1]);
        json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": gateway})
    };
    if !instructions.is_empty() {
        result["instructions"] = instructions.join("\n\n").into();
    }
    result
}

/// Merges the capabilities of a server into the others.
pub(super) fn merge_objects(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (all.get_mut(name), value) {
            (Some(Value::Object(all)), Value::Object(more)) => merge_objects(all, more),
            (Some(Value::Array(all)), Value::Array(more)) => {
                for item in more {
                    if !all.contains(item) {
                        all.push(item.clone());
                    }
                }
            }
            (Some(Value::Bool(all)), Value::Bool(more)) => *all |= more,
            (Some(_), _) => {}
            (None, _) => {
                all.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_initialize_as_one() {
        let one = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}, "instructions": "a"});
        let other = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": false}, "resources": {"subscribe": true}}});
        let merged = initialize_result(&[("one", one), ("other", other)], false);
        assert_eq!(merged["protocolVersion"], "2025-06-18");
        assert_eq!(merged["instructions"], "## one\na");
        assert_eq!(
            merged["capabilities"],
            json!({"tools": {"listChanged": true}, "logging": {}, "resources": {"subscribe": true}})
        );
    }
}
