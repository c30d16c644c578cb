//! How much work it would be to list every finding of every branch.
//!
//! Deciding whether a value is valid is quick for any schema: the validator remembers. Listing is not:
//! each level of nested unions multiplies the findings, and a hostile schema has as many levels as the
//! value. Such a listing is estimated first.

use std::collections::HashMap;

use serde_json::Value;

use super::outline::{NodeId, Outline};

/// The most steps a listing may take.
const MOST: u64 = 200_000;
/// The most steps a verdict may take.
const MOST_FOR_VERDICT: u64 = 20_000_000;
/// The deepest walk of the estimate itself; beyond it the listing is refused.
const DEEPEST: usize = 1_000;

/// What can be done about a value within bounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effort {
    /// Every finding can be listed.
    Listing,
    /// Only whether it is valid can be told.
    Verdict,
    /// Not even that.
    TooMuch,
}

/// What can be done about a value.
pub(super) fn of(outline: &Outline, value: &Value) -> Effort {
    if !outline.multiplies() {
        return Effort::Listing;
    }
    let mut estimate = Estimate { outline, known: HashMap::new(), depth: 0 };
    match estimate.steps(Outline::ROOT, value) {
        steps if steps <= MOST => Effort::Listing,
        steps if steps <= MOST_FOR_VERDICT => Effort::Verdict,
        // What a schema that refers to itself says of a value is remembered, not worked out again.
        _ if outline.recurses() => Effort::Verdict,
        _ => Effort::TooMuch,
    }
}

struct Estimate<'a> {
    outline: &'a Outline,
    /// The steps of a subschema on a value (by its address), or 0 while they are being counted.
    known: HashMap<(NodeId, *const Value), u64>,
    depth: usize,
}

impl Estimate<'_> {
    fn steps(&mut self, id: NodeId, value: &Value) -> u64 {
        let key = (id, std::ptr::from_ref(value));
        if let Some(steps) = self.known.get(&key) {
            return *steps;
        }
        if self.depth == DEEPEST || self.known.len() as u64 > MOST {
            return u64::MAX;
        }
        self.depth += 1;
        self.known.insert(key, 0);
        let mut steps = 1_u64;
        let outline = self.outline;
        for inner in outline.in_place(id) {
            steps = steps.saturating_add(self.steps(inner, value));
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let mut children = Vec::new();
                    outline.member(id, name, |child| children.push(child));
                    for child in children {
                        steps = steps.saturating_add(self.steps(child, value));
                    }
                }
            }
            Value::Array(elements) => {
                for (index, value) in elements.iter().enumerate() {
                    if let Some(child) = outline.element(id, index) {
                        steps = steps.saturating_add(self.steps(child, value));
                    }
                }
            }
            _ => {}
        }
        self.known.insert(key, steps);
        self.depth -= 1;
        steps
    }
}
