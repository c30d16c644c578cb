//! Merges the responses of several servers.

use answerback_mcp::wire::{LEGACY_REVISIONS, Object, meta};
use serde_json::{Map, Value, json};

use super::header_validation::VERSIONS;

/// Merges the responses of several servers to `initialize` or `server/discover`. Each response comes with its
/// server's name.
pub(crate) fn greeting(answers: &[(&str, Value)], is_modern: bool) -> Value {
    let mut capabilities = Map::new();
    let mut instructions = Vec::new();
    let mut version: Option<&str> = None;
    for (name, answer) in answers {
        if let Value::Object(theirs) = &answer["capabilities"] {
            unite(&mut capabilities, theirs);
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
    let me = json!({"name": "answerback", "version": env!("CARGO_PKG_VERSION")});
    let mut greeting = if is_modern {
        json!({
            "resultType": "complete",
            "supportedVersions": VERSIONS,
            "capabilities": capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {meta::SERVER: me},
        })
    } else {
        let version = version.unwrap_or(LEGACY_REVISIONS[LEGACY_REVISIONS.len() - 1]);
        json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": me})
    };
    if !instructions.is_empty() {
        greeting["instructions"] = instructions.join("\n\n").into();
    }
    greeting
}

/// Merges the capabilities of a server into the others.
pub(crate) fn unite(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (all.get_mut(name), value) {
            (Some(Value::Object(all)), Value::Object(more)) => unite(all, more),
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

/// Builds one page from the items of several servers.
pub(crate) fn page(member: &str, items: &[String], is_modern: bool) -> String {
    let items = items.join(",");
    let name = Value::from(member);
    let rest =
        if is_modern { r#","resultType":"complete","ttlMs":0,"cacheScope":"private""# } else { "" };
    format!("{{{name}:[{items}]{rest}}}")
}

/// Returns the items of a page as JSON text.
pub(crate) fn items(page: &str, member: &str) -> Vec<String> {
    let read = || {
        let list = Object::read(page).ok()?.get(member)?;
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(list).ok()?;
        Some(items.into_iter().map(|item| item.get().to_owned()).collect())
    };
    read().unwrap_or_default()
}

/// Returns a member that is a string.
pub(crate) fn text(object: &str, member: &str) -> Option<String> {
    serde_json::from_str(Object::read(object).ok()?.get(member)?).ok()
}

/// Returns the object with another string for a member.
pub(crate) fn with_text(object: &str, member: &str, text: &str) -> Option<String> {
    Some(Object::read(object).ok()?.with(member, &Value::from(text).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_greet_as_one() {
        let one = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}, "instructions": "a"});
        let other = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": false}, "resources": {"subscribe": true}}});
        let greeting = greeting(&[("one", one), ("other", other)], false);
        assert_eq!(greeting["protocolVersion"], "2025-06-18");
        assert_eq!(greeting["instructions"], "## one\na");
        assert_eq!(
            greeting["capabilities"],
            json!({"tools": {"listChanged": true}, "logging": {}, "resources": {"subscribe": true}})
        );
    }

    #[test]
    fn items_stay_as_they_are_written() {
        let page_text = r#"{"tools":[ {"name":"a","n":1.50} ,{"name":"b"}],"nextCursor":null}"#;
        let items = items(page_text, "tools");
        assert_eq!(
            page("tools", &items, false),
            r#"{"tools":[{"name":"a","n":1.50},{"name":"b"}]}"#
        );
        assert_eq!(with_text(&items[0], "name", "x").as_deref(), Some(r#"{"name":"x","n":1.50}"#));
    }
}
