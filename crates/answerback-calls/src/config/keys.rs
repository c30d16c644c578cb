//! Classifies unknown keys: the program that they belong to, and the key that was probably meant.

use serde_json::Value;

use super::reader::TOP_KEYS;
use crate::message::suggest;
use crate::message::suggest::Likeness;

/// The key under which servers are listed.
pub(super) const SERVERS: &str = "gateway.upstreams";
/// The keys under which MCP clients list servers.
const OF_CLIENTS: [&str; 5] =
    ["mcpServers", "mcp_servers", "servers", "mcp.servers", "context_servers"];
/// Keys of ours that users write at the root by mistake, with their right places. Keys that many other
/// programs use are left out, because the file may be shared with them.
const BELOW: [(&str, &str); 8] = [
    ("upstreams", SERVERS),
    ("listen", "gateway.listen"),
    ("tokens", "gateway.tokens"),
    ("unknown_tool", "gateway.unknown_tool"),
    ("pinning", "gateway.pinning"),
    ("most_calls", "gateway.most_calls"),
    ("call_seconds", "gateway.call_seconds"),
    ("validation", "tools.validation"),
];

/// An unknown key at the root of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RootKey {
    /// The key resembles one of ours.
    Misspelled(&'static str),
    /// The key belongs to the configuration of an MCP client.
    OfClient,
    /// The key seems to belong to another program.
    Foreign,
}

/// Classifies an unknown key at the root of a file.
pub(super) fn of_root(key: &str) -> RootKey {
    if OF_CLIENTS.contains(&key) {
        return RootKey::OfClient;
    }
    // A shared word is not close enough: `tool_versions` belongs to another program.
    if let Some(meant) = close(key, TOP_KEYS) {
        return RootKey::Misspelled(meant);
    }
    match close(key, BELOW.iter().map(|(name, _)| *name)) {
        Some(name) => {
            let place = BELOW.iter().find(|(own, _)| *own == name);
            RootKey::Misspelled(place.map_or(name, |(_, place)| place))
        }
        None if close(key, OF_CLIENTS).is_some() => RootKey::OfClient,
        None => RootKey::Foreign,
    }
}

/// Returns the name that differs from `key` only by letter case or a few letters.
fn close(key: &str, names: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let names: Vec<&'static str> = names.into_iter().collect();
    if let Some(name) = names.iter().find(|name| **name == key) {
        return Some(name);
    }
    let near = suggest::nearest(key, names);
    let near = near.first().filter(|near| near.likeness < Likeness::SharedWords);
    near.map(|near| near.candidate)
}

/// Finds the keys of a value that its JSON Schema does not define. Each comes with its path and the key that
/// was probably meant. If the schema has alternatives, the keys of all of them are known.
pub(super) fn unknown_to(
    schema: &Value,
    path: &str,
    value: &Value,
) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    find_unknown(&[schema], path, value, &mut found);
    found
}

fn find_unknown(
    schemas: &[&Value],
    path: &str,
    value: &Value,
    found: &mut Vec<(String, Option<String>)>,
) {
    let Value::Object(members) = value else { return };
    let schemas: Vec<&Value> = schemas.iter().flat_map(|schema| alternatives(schema)).collect();
    let of_keys: Vec<_> =
        schemas.iter().filter_map(|schema| schema["properties"].as_object()).collect();
    let others: Vec<&Value> = schemas
        .iter()
        .map(|schema| &schema["additionalProperties"])
        .filter(|it| it.is_object())
        .collect();
    if of_keys.is_empty() && others.is_empty() {
        // The reader of the section reports a value of the wrong type.
        return;
    }
    for (name, value) in members {
        let path = format!("{path}.{name}");
        let below: Vec<&Value> = of_keys.iter().filter_map(|keys| keys.get(name)).collect();
        match (below.is_empty(), others.is_empty()) {
            (false, _) => find_unknown(&below, &path, value, found),
            (true, false) => find_unknown(&others, &path, value, found),
            (true, true) => {
                let known = of_keys.iter().flat_map(|keys| keys.keys()).map(String::as_str);
                let near = suggest::nearest(name, known);
                found.push((path, near.first().map(|near| near.candidate.to_owned())));
            }
        }
    }
}

/// Returns a schema and its `oneOf` alternatives.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let one_of = schema["oneOf"].as_array().into_iter().flatten();
    std::iter::once(schema).chain(one_of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_at_the_root_is_ours_or_a_client_s_or_foreign() {
        for (key, expected) in [
            ("upstraems", RootKey::Misspelled(SERVERS)),
            ("upstreams", RootKey::Misspelled(SERVERS)),
            ("Upstreams", RootKey::Misspelled(SERVERS)),
            ("gatway", RootKey::Misspelled("gateway")),
            ("Gateway", RootKey::Misspelled("gateway")),
            ("legder", RootKey::Misspelled("ledger")),
            ("tool", RootKey::Misspelled("tools")),
            ("validations", RootKey::Misspelled("tools.validation")),
            ("mcpServers", RootKey::OfClient),
            ("mcpservers", RootKey::OfClient),
            ("servers", RootKey::OfClient),
            ("model", RootKey::Foreign),
            ("version", RootKey::Foreign),
            ("tool_versions", RootKey::Foreign),
            ("agents", RootKey::Foreign),
            ("name", RootKey::Foreign),
            ("x-notes", RootKey::Foreign),
        ] {
            assert_eq!(of_root(key), expected, "{key}");
        }
    }

    #[test]
    fn keys_below_ours_are_known_by_their_schema() {
        let schema = super::super::gateway::schema();
        let value = json!({
            "inputs": "warn",
            "tools": {"any.name": {"input": "off", "imput": "off"}},
            "upstreams": {
                "cat": {"command": "x", "colour": "red", "env": {"ANY": "a", "B": {"fle": "b"}}},
                "web": {"url": "http://h", "header": {}},
            },
            "tokens": {"t": {"scope": []}},
        });
        let found: Vec<String> = unknown_to(&schema, "gateway", &value)
            .into_iter()
            .map(|(path, meant)| format!("{path} {}", meant.unwrap_or_default()))
            .collect();
        assert_eq!(
            found,
            [
                "gateway.inputs input",
                "gateway.tools.any.name.imput input",
                "gateway.upstreams.cat.colour ",
                "gateway.upstreams.cat.env.B.fle file",
                "gateway.upstreams.web.header headers",
                "gateway.tokens.t.scope scopes",
            ]
        );
    }

    proptest! {
        /// A single typing error in a root key of ours never makes it another program's key.
        #[test]
        fn a_slip_is_not_foreign(name in 0..TOP_KEYS.len(), at in 0..100usize, kind in 0..3u8) {
            let mut letters: Vec<char> = TOP_KEYS[name].chars().collect();
            let at = at % (letters.len() - 1);
            match kind {
                0 => letters.swap(at, at + 1),
                1 => { letters.remove(at); }
                _ => letters.insert(at, 'x'),
            }
            let key: String = letters.into_iter().collect();
            if !TOP_KEYS.contains(&key.as_str()) {
                prop_assert_ne!(of_root(&key), RootKey::Foreign, "{}", key);
            }
        }
    }
}
