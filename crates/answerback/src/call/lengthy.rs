//! Texts that are too long for the patterns they are held against.
//!
//! A pattern with look-around goes back, and what it takes may grow with the square of a text, without ever meeting a
//! bound on how often it goes back. How long a text is, the caller decides: so it is looked at before anything is matched.

use std::collections::HashSet;

use serde_json::Value;

use super::outline::{NodeId, Outline};
use super::schema::LONG_TEXT;
use crate::json::Pointer;

/// The most steps of the search. Beyond them whatever is long counts as too long.
const MOST: usize = 100_000;

/// The places of texts that are longer than a pattern of theirs is matched with.
pub(super) fn find(outline: &Outline, arguments: &Value) -> Vec<Pointer> {
    if !outline.goes_back() || !has_long(arguments) {
        return Vec::new();
    }
    let mut search = Search { outline, seen: HashSet::new(), found: Vec::new() };
    search.walk(&[Outline::ROOT], arguments, &Pointer::root());
    search.found
}

fn has_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONG_TEXT,
        Value::Array(elements) => elements.iter().any(has_long),
        Value::Object(members) => members.values().any(has_long),
        _ => false,
    }
}

struct Search<'o> {
    outline: &'o Outline,
    seen: HashSet<(NodeId, *const Value)>,
    found: Vec<Pointer>,
}

impl Search<'_> {
    /// Looks at a value, and at what is in it, as all these subschemas see it.
    fn walk(&mut self, nodes: &[NodeId], value: &Value, place: &Pointer) {
        let outline = self.outline;
        let nodes = outline.all_in_place(nodes);
        let key = std::ptr::from_ref(value);
        let news: Vec<NodeId> =
            nodes.into_iter().filter(|node| self.seen.insert((*node, key))).collect();
        if news.is_empty() {
            return;
        }
        let is_lost = self.seen.len() > MOST;
        match value {
            Value::String(text)
                if text.len() > LONG_TEXT
                    && (is_lost || news.iter().any(|node| outline.node(*node).goes_back)) =>
            {
                self.found.push(place.clone());
            }
            Value::Object(members) => {
                for (name, value) in members.iter().filter(|(_, value)| has_long(value)) {
                    let mut children = Vec::new();
                    for node in &news {
                        outline.member(*node, name, |child| children.push(child));
                    }
                    self.walk(&children, value, &place.join(name));
                }
            }
            Value::Array(elements) => {
                for (index, value) in
                    elements.iter().enumerate().filter(|(_, value)| has_long(value))
                {
                    let children: Vec<NodeId> =
                        news.iter().filter_map(|node| outline.element(*node, index)).collect();
                    self.walk(&children, value, &place.join(&index.to_string()));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::call::{Schema, check};

    #[test]
    fn who_sends_more_does_not_get_past_a_pattern() {
        let careful = json!({"type": "string", "pattern": "^((?!;|--).)*$"});
        let schema = json!({
            "properties": {
                "query": careful, "list": {"items": {"anyOf": [{"$ref": "#/$defs/careful"}, {"type": "integer"}]}},
                "content": {"type": "string"},
            },
            "$defs": {"careful": careful},
        });
        let schema = Schema::compile(schema).unwrap();
        let told = |arguments| {
            let findings = check(&schema, &arguments, ()).unwrap();
            assert_eq!(schema.is_valid(&arguments).unwrap(), findings.is_empty());
            let told = |it: &crate::ValidationError| format!("{} {}", it.error_code, it.field_path);
            findings.iter().map(told).collect::<Vec<_>>().join(", ")
        };
        let padded = format!("SELECT 1;{}DROP TABLE x", " ".repeat(60_000));
        assert_eq!(told(json!({"query": padded})), "VAL-007 /query");
        assert_eq!(told(json!({"list": [1, padded]})), "VAL-007 /list/1");
        assert_eq!(told(json!({"query": "SELECT 1; DROP TABLE x"})), "VAL-007 /query");
        assert_eq!(told(json!({"query": "SELECT 1", "content": padded})), "");
        assert_eq!(told(json!({"query": " ".repeat(4096)})), "");
    }
}
