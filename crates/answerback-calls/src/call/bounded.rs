//! Loosens a schema for calls with a text that is too long for some patterns.
//!
//! It is not known if such a text matches, and a call that may be valid is not rejected. Where a match is required, a
//! long text counts as matched. Where a match counts against the value, as under `not`, it counts as not matched.
//! Keywords for which neither is enough are loosened or removed.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::patterns::LONG_TEXT;
use super::usable;

/// The maximum number of steps of the search for slow patterns. After them, every part counts as slow.
const MOST_STEPS: usize = 4_000_000;

/// The facts about patterns and the draft that decide how a schema is loosened.
pub(super) struct Bounds<'b> {
    /// True if a pattern needs the backtracking engine.
    pub(super) is_slow: &'b dyn Fn(&str) -> bool,
    /// True if the draft has conditions. Without them, slow patterns are left out.
    pub(super) has_conditions: bool,
}

/// The result of a slow pattern for a text that is too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LongText {
    Matched,
    NotMatched,
}

impl Bounds<'_> {
    /// Returns the schema with every slow pattern restricted to texts that are not too long.
    pub(super) fn bounded(&self, root: &Value) -> Value {
        let mut bounded = root.clone();
        let mut has_lost_a_condition = false;
        let mut steps = MOST_STEPS;
        usable::each_schema(&mut bounded, &mut String::new(), &mut |members, place| {
            self.guard(members, LongText::Matched);
            let Some(Value::Object(written)) = root.pointer(place) else { return };
            let mut is_slow = |keyword: &str| {
                let part = written.get(keyword);
                part.is_some_and(|part| {
                    self.holds_slow(part, root, &mut HashSet::new(), &mut steps)
                })
            };
            if is_slow("not") {
                members.remove("not");
                if let Some(certain) = self.negative(&written["not"]) {
                    members.insert("not".to_owned(), certain);
                }
            }
            if is_slow("if") {
                has_lost_a_condition = true;
                self.separate_condition(members, &written["if"]);
            }
            if is_slow("contains") {
                members.remove("maxContains");
            }
            if is_slow("oneOf")
                && let Some(branches) = members.remove("oneOf")
            {
                push_all_of(members, json!({"anyOf": branches}));
            }
        });
        if has_lost_a_condition {
            usable::each_schema(&mut bounded, &mut String::new(), &mut |members, _| {
                members.remove("unevaluatedProperties");
                members.remove("unevaluatedItems");
            });
        }
        bounded
    }

    /// Puts the pattern of a schema, if it is slow, under a condition about the length of the text.
    fn guard(&self, members: &mut Map<String, Value>, long: LongText) {
        let pattern = members.get("pattern").and_then(Value::as_str);
        if !pattern.is_some_and(|pattern| (self.is_slow)(pattern)) {
            return;
        }
        let pattern = members.remove("pattern");
        if self.has_conditions {
            let is_matched = long == LongText::Matched;
            let short = json!({"maxLength": LONG_TEXT});
            push_all_of(
                members,
                json!({"if": short, "then": {"pattern": pattern}, "else": is_matched}),
            );
        }
    }

    /// Splits a condition in two: `then` applies if the condition surely holds, `else` if it surely does not.
    fn separate_condition(&self, members: &mut Map<String, Value>, written: &Value) {
        let possible = members.remove("if");
        let [then, otherwise] = ["then", "else"].map(|keyword| members.remove(keyword));
        if let Some(otherwise) = otherwise {
            push_all_of(members, json!({"if": possible, "else": otherwise}));
        }
        if let (Some(then), Some(certain)) = (then, self.negative(written)) {
            push_all_of(members, json!({"if": certain, "then": then}));
        }
    }

    /// Returns a schema that accepts only what is sure to fit this one. `None` if its keywords do not allow that.
    fn negative(&self, schema: &Value) -> Option<Value> {
        if !self.has_conditions || !is_monotone(schema) {
            return None;
        }
        let mut schema = schema.clone();
        usable::each_schema(&mut schema, &mut String::new(), &mut |members, _| {
            self.guard(members, LongText::NotMatched);
        });
        Some(schema)
    }

    /// True if a slow pattern is in this part of the schema, or may be where its references lead.
    fn holds_slow<'v>(
        &self,
        part: &'v Value,
        root: &'v Value,
        seen: &mut HashSet<&'v str>,
        steps: &mut usize,
    ) -> bool {
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        match part {
            Value::Object(members) => members.iter().any(|(name, value)| {
                match (name.as_str(), value.as_str()) {
                    ("pattern", Some(pattern)) => (self.is_slow)(pattern),
                    ("$ref", Some(reference)) => {
                        let place = reference.strip_prefix('#');
                        match place.and_then(|place| root.pointer(place)) {
                            Some(target) => {
                                seen.insert(reference) && self.holds_slow(target, root, seen, steps)
                            }
                            // An anchor, or another document.
                            None => true,
                        }
                    }
                    ("$dynamicRef" | "$recursiveRef", Some(_)) => true,
                    _ => self.holds_slow(value, root, seen, steps),
                }
            }),
            Value::Array(elements) => {
                elements.iter().any(|value| self.holds_slow(value, root, seen, steps))
            }
            _ => false,
        }
    }
}

/// True if a schema that accepts less anywhere inside also accepts less as a whole. A property with the name of one
/// of the keywords makes this false, which only loosens more than is needed.
fn is_monotone(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(name, value)| {
            let is_fine = !matches!(
                name.as_str(),
                "not"
                    | "if"
                    | "oneOf"
                    | "contains"
                    | "unevaluatedProperties"
                    | "unevaluatedItems"
                    | "$ref"
                    | "$dynamicRef"
                    | "$recursiveRef"
            );
            is_fine && is_monotone(value)
        }),
        Value::Array(elements) => elements.iter().all(is_monotone),
        _ => true,
    }
}

fn push_all_of(members: &mut Map<String, Value>, schema: Value) {
    let all = members.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(all) = all {
        all.push(schema);
    }
}
