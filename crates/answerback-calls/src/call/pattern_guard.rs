//! Finds texts that are too long for the patterns that apply to them.
//!
//! A pattern with look-around backtracks. Its work can grow with the square of the text's length, without reaching
//! the backtrack limit. The caller controls that length. So such a pattern is not matched with a long text, and a
//! warning reports it. The model did not cause this, so the call is not rejected.

use std::collections::HashSet;

use answerback_json::Pointer;
use serde_json::Value;

use super::outline::{NodeId, SchemaOutline};
use super::patterns::is_long;
use super::schema::Schema;

/// The maximum number of search steps. After them, every long text counts as not matched.
const MOST: usize = 100_000;
/// The maximum number of reported places.
const MOST_PLACES: usize = 100;

/// The parts of a call that are too long to be matched.
#[derive(Debug, Default)]
pub(super) struct OverlongParts {
    /// The places of texts that are not matched with one of their patterns.
    pub(super) texts: Vec<Pointer>,
    /// True if a field name is too long for a pattern for names.
    pub(super) has_name: bool,
}

impl OverlongParts {
    /// True if everything can be matched.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && !self.has_name
    }
}

/// Finds the parts of a call that are too long for the patterns of its schema.
pub(super) fn find(schema: &Schema, arguments: &Value) -> OverlongParts {
    let outline = &schema.outline;
    let is_hidden = schema.has_hidden_slow_patterns;
    if !outline.goes_back() && !is_hidden && !schema.has_slow_names {
        return OverlongParts::default();
    }
    let has_name = (is_hidden || schema.has_slow_names) && has_long_name(arguments);
    if !has_long(arguments) {
        return OverlongParts { texts: Vec::new(), has_name };
    }
    let search = |least| {
        let is_lost = is_hidden;
        let mut search =
            PatternSearch { outline, seen: HashSet::new(), found: Vec::new(), least, is_lost };
        search.walk(&[SchemaOutline::ROOT], arguments, &Pointer::root());
        search.found
    };
    let mut texts = search(Least::Long);
    if !texts.is_empty() && !schema.can_bound_patterns() {
        // Drafts without `if` cannot restrict a pattern to short texts. They are checked without these patterns, for
        // texts of any length.
        texts = search(Least::Any);
    }
    OverlongParts { texts, has_name }
}

fn has_long(value: &Value) -> bool {
    match value {
        Value::String(text) => is_long(text),
        Value::Array(elements) => elements.iter().any(has_long),
        Value::Object(members) => members.values().any(has_long),
        _ => false,
    }
}

fn has_long_name(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(has_long_name),
        Value::Object(members) => {
            members.iter().any(|(name, value)| is_long(name) || has_long_name(value))
        }
        _ => false,
    }
}

/// The length of the texts that a search looks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Least {
    Long,
    Any,
}

impl Least {
    fn concerns(self, value: &Value) -> bool {
        self == Self::Any || has_long(value)
    }

    fn is_met(self, text: &str) -> bool {
        self == Self::Any || is_long(text)
    }
}

struct PatternSearch<'o> {
    outline: &'o SchemaOutline,
    seen: HashSet<(NodeId, *const Value)>,
    found: Vec<Pointer>,
    least: Least,
    /// True if every long text counts, because the patterns that apply to it are not known.
    is_lost: bool,
}

impl PatternSearch<'_> {
    /// Searches a value and everything inside it, under all these subschemas.
    fn walk(&mut self, nodes: &[NodeId], value: &Value, place: &Pointer) {
        let outline = self.outline;
        let nodes = outline.all_in_place(nodes);
        let key = std::ptr::from_ref(value);
        let mut news: Vec<NodeId> = Vec::new();
        for node in nodes {
            if self.seen.insert((node, key)) {
                news.push(node);
            }
        }
        self.is_lost |= self.seen.len() > MOST;
        if self.found.len() >= MOST_PLACES || news.is_empty() && !self.is_lost {
            return;
        }
        match value {
            Value::String(text)
                if self.least.is_met(text)
                    && (self.is_lost || news.iter().any(|node| outline.node(*node).goes_back)) =>
            {
                self.found.push(place.clone());
            }
            Value::Object(members) => {
                let least = self.least;
                for (name, value) in members.iter().filter(|(_, value)| least.concerns(value)) {
                    let mut children = Vec::new();
                    for node in &news {
                        outline.member(*node, name, |child| children.push(child));
                    }
                    self.walk(&children, value, &place.join(name));
                }
            }
            Value::Array(elements) => {
                let least = self.least;
                let elements = elements.iter().enumerate();
                for (index, value) in elements.filter(|(_, value)| least.concerns(value)) {
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
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::call::{Schema, SchemaErrorKind, check};

    fn found(schema: &Schema, arguments: &Value) -> String {
        let findings = check(schema, arguments, ()).unwrap();
        let is_valid = !findings.iter().any(answerback_findings::ValidationError::is_error);
        assert_eq!(schema.is_valid(arguments).unwrap(), is_valid, "{arguments}");
        let line = |it: &answerback_findings::ValidationError| {
            format!("{} {} {}", it.severity.as_str(), it.error_code, it.field_path)
        };
        findings.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_text_too_long_for_look_around_is_a_warning_and_hides_nothing() {
        let careful = json!({"type": "string", "pattern": "^((?!;|--).)*$"});
        for dialect in [
            "https://json-schema.org/draft/2020-12/schema",
            "http://json-schema.org/draft-04/schema#",
        ] {
            let schema = json!({
                "$schema": dialect,
                "properties": {
                    "query": careful,
                    "list": {"items": {"anyOf": [{"$ref": "#/definitions/careful"}, {"type": "integer"}]}},
                    "content": {"type": "string"},
                    "limit": {"type": "integer", "minimum": 1},
                },
                "definitions": {"careful": careful},
                "required": ["query"],
            });
            let schema = Schema::compile(schema).unwrap();
            let padded = format!("SELECT 1;{}DROP TABLE x", " ".repeat(60_000));
            let is_short = "SELECT 1; DROP TABLE x";
            assert_eq!(found(&schema, &json!({"query": padded})), "warning VAL-007 /query");
            assert_eq!(found(&schema, &json!({"query": is_short})), "error VAL-007 /query");
            assert_eq!(found(&schema, &json!({"query": "SELECT 1", "content": padded})), "");
            assert_eq!(found(&schema, &json!({"query": "é".repeat(4096)})), "");
            // Other mistakes are still found.
            let others = found(&schema, &json!({"query": padded, "limit": 0}));
            assert_eq!(others, "error VAL-003 /limit, warning VAL-007 /query");
        }
    }

    #[test]
    fn a_short_text_is_matched_beside_a_long_one() {
        let careful = json!({"type": "string", "pattern": "^((?!;|--).)*$"});
        let schema = Schema::compile(json!({"properties": {"a": careful, "b": careful}})).unwrap();
        let long = " ".repeat(5000);
        let arguments = json!({"a": long, "b": "1; 2"});
        assert_eq!(found(&schema, &arguments), "error VAL-007 /b, warning VAL-007 /a");
        let finding = &check(&schema, &arguments, ()).unwrap()[0];
        assert_eq!(finding.schema_path.as_ref().unwrap().as_str(), "/properties/b/pattern");
        let message = &check(&schema, &arguments, ()).unwrap()[1].message;
        assert!(message.contains("4096 characters"), "{message}");
    }

    #[test]
    fn patterns_out_of_sight_are_bounded_too() {
        let careful = json!({"pattern": "^((?!;|--).)*$"});
        let schema = Schema::compile(json!({"properties": {"a": {"contains": careful}}})).unwrap();
        let long = " ".repeat(5000);
        assert_eq!(found(&schema, &json!({"a": [long]})), "warning VAL-007 /a/0");
        let schema = Schema::compile(json!({"patternProperties": {"^(?!x)a": false}})).unwrap();
        let error = check(&schema, &json!({long: 1}), ()).unwrap_err();
        assert_eq!(error.kind(), SchemaErrorKind::Backtracking);
    }

    /// A long text that may or may not match never rejects a call, wherever the pattern is in the schema.
    #[test]
    fn a_text_that_may_match_refuses_no_call() {
        let slow = json!({"pattern": "^(?!y)"});
        let holder = json!({"properties": {"a": slow}, "required": ["a"]});
        let long = "y".repeat(5000);
        for rules in [
            json!({"properties": {"a": {"not": slow}}}),
            json!({"properties": {"a": {"not": {"anyOf": [slow, {"type": "integer"}]}}}}),
            json!({"properties": {"a": {"not": {"$ref": "#/$defs/slow"}}}}),
            json!({"properties": {"a": {"not": {"not": {"not": slow}}}}}),
            json!({"properties": {"a": {"oneOf": [{"type": "string"}, slow]}}}),
            json!({"properties": {"a": {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}, slow]}}}),
            json!({"if": holder, "then": {"required": ["b"]}}),
            json!({"if": holder, "then": {"required": ["b"]}, "else": {"required": ["a"]}}),
            json!({"if": {"not": holder}, "else": {"required": ["b"]}}),
            json!({"properties": {"a": {"if": {"$ref": "#/$defs/slow"}, "then": {"minLength": 6000}}}}),
            json!({"properties": {"l": {"contains": slow, "minContains": 0, "maxContains": 0}}}),
        ] {
            for dialect in [
                "https://json-schema.org/draft/2020-12/schema",
                "http://json-schema.org/draft-07/schema#",
                "http://json-schema.org/draft-04/schema#",
            ] {
                let mut schema = rules.clone();
                schema["$schema"] = json!(dialect);
                schema["$defs"] = json!({"slow": slow});
                let schema = Schema::compile(schema).unwrap();
                let arguments = json!({"a": long, "l": [long]});
                let found = found(&schema, &arguments);
                assert!(!found.contains("error"), "{rules} {dialect}: {found}");
            }
        }
    }

    /// A long text elsewhere in the call does not switch off what a `not` or an `if` says of a short one.
    #[test]
    fn a_long_text_does_not_free_a_short_one() {
        let slow = json!({"pattern": "^(?=y)"});
        let long = "x".repeat(5000);
        for (rules, expected) in [
            (json!({"properties": {"a": {"not": slow}}}), "error VAL-003 /a"),
            (
                json!({
                    "if": {"properties": {"a": slow}, "required": ["a"]}, "then": {"required": ["b"]},
                }),
                "error VAL-001 /b",
            ),
        ] {
            let mut schema = rules.clone();
            schema["allOf"] = json!([{"properties": {"z": slow}}]);
            let schema = Schema::compile(schema).unwrap();
            let found = found(&schema, &json!({"a": "yes", "z": long}));
            assert_eq!(found, format!("{expected}, warning VAL-007 /z"), "{rules}");
        }
    }

    proptest! {
        /// Checks that the length of a text decides only if its pattern is matched.
        #[test]
        fn other_findings_do_not_depend_on_the_length(length in 4000_usize..4200, limit in -2_i64..3) {
            let schema = Schema::compile(json!({"properties": {
                "text": {"type": "string", "pattern": "^(?!x)"},
                "limit": {"minimum": 1},
            }})).unwrap();
            let findings = check(&schema, &json!({"text": "x".repeat(length), "limit": limit}), ()).unwrap();
            let of = |place: &str| findings.iter().filter(|it| it.field_path.as_str() == place).collect::<Vec<_>>();
            prop_assert_eq!(of("/limit").len(), usize::from(limit < 1));
            prop_assert_eq!(of("/text").len(), 1);
            prop_assert_eq!(of("/text")[0].is_error(), length <= 4096);
        }
    }
}
