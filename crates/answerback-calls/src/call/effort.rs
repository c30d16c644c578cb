//! How much work it would be to check a value, and to list every finding of every branch.
//!
//! Deciding whether a value is valid is quick for most schemas: the validator remembers. Listing is not:
//! each level of nested unions multiplies the findings, and a hostile schema has as many levels as the
//! value. A schema that applies thousands of subschemas to one value multiplies the work, too. Where
//! either may happen, the steps are counted first, and a value that takes more steps than the budget is
//! not checked.

use std::collections::HashMap;

use serde_json::Value;

use super::outline::{NodeId, SchemaOutline};

/// The most steps a listing may take where branches multiply.
const MOST: u64 = 200_000;
/// The most steps a verdict may take.
const MOST_FOR_VERDICT: u64 = 20_000_000;
/// The steps that every check may take, whatever its size. A step is one subschema on one value.
const BUDGET: u64 = 4_000_000;
/// The steps that a check may take for each value in its input, so that large inputs are checked.
const BUDGET_FOR_EACH_VALUE: u64 = 64;
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
pub(super) fn of(outline: &SchemaOutline, value: &Value) -> Effort {
    let ways = outline.ways_in_place();
    if ways > BUDGET_FOR_EACH_VALUE {
        let values = count(value);
        let budget = BUDGET.saturating_add(values.saturating_mul(BUDGET_FOR_EACH_VALUE));
        if ways.saturating_mul(values) > budget {
            let mut steps = Steps { outline, left: budget };
            if !steps.take(SchemaOutline::ROOT, value, 0) {
                return Effort::TooMuch;
            }
        }
    }
    if !outline.multiplies() {
        return Effort::Listing;
    }
    let mut estimate = Estimate { outline, known: HashMap::new(), depth: 0 };
    match estimate.steps(SchemaOutline::ROOT, value) {
        steps if steps <= MOST => Effort::Listing,
        steps if steps <= MOST_FOR_VERDICT => Effort::Verdict,
        // What a schema that refers to itself says of a value is remembered, not worked out again.
        _ if outline.recurses() => Effort::Verdict,
        _ => Effort::TooMuch,
    }
}

/// How many values a value consists of.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(elements) => elements.iter().fold(1, |sum, value| sum + count(value)),
        Value::Object(members) => members.values().fold(1, |sum, value| sum + count(value)),
        _ => 1,
    }
}

/// Counts the steps of a check by taking them, up to a budget.
struct Steps<'a> {
    outline: &'a SchemaOutline,
    left: u64,
}

impl Steps<'_> {
    /// Whether the steps of a subschema on a value are within the budget.
    fn take(&mut self, id: NodeId, value: &Value, depth: usize) -> bool {
        if self.left == 0 || depth > DEEPEST {
            return false;
        }
        self.left -= 1;
        let outline = self.outline;
        if !outline.in_place(id).all(|inner| self.take(inner, value, depth + 1)) {
            return false;
        }
        match value {
            Value::Object(members) => members.iter().all(|(name, value)| {
                self.left = self.left.saturating_sub(1);
                let mut children = Vec::new();
                outline.member(id, name, |child| children.push(child));
                children.into_iter().all(|child| self.take(child, value, depth + 1))
            }),
            Value::Array(elements) => elements.iter().enumerate().all(|(index, value)| {
                self.left = self.left.saturating_sub(1);
                let child = outline.element(id, index);
                child.is_none_or(|child| self.take(child, value, depth + 1))
            }),
            _ => self.left > 0,
        }
    }
}

struct Estimate<'a> {
    outline: &'a SchemaOutline,
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

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use crate::call::{Schema, SchemaErrorKind, check};

    fn numbered(count: usize, value: impl Fn(usize) -> Value) -> Value {
        (0..count).map(|index| (format!("p{index}"), value(index))).collect::<Map<_, _>>().into()
    }

    #[test]
    fn thousands_of_dependent_schemas_are_checked_or_over_the_budget() {
        let all = numbered(6000, |_| json!(1));
        for dependents in [
            numbered(6000, |index| json!({"required": [format!("p{}", index + 1)]})),
            numbered(
                6000,
                |index| json!({"properties": {format!("q{index}"): {"type": "string"}}}),
            ),
        ] {
            let schema = json!({"type": "object", "dependentSchemas": dependents});
            let schema = Schema::compile(schema).unwrap();
            // Few fields make few steps.
            assert!(check(&schema, &json!({"q0": 1, "p0": 1, "p1": 1}), ()).is_ok());
            let error = check(&schema, &all, ()).unwrap_err();
            assert_eq!(error.kind(), SchemaErrorKind::TooComplex);
            assert_eq!(schema.is_valid(&all).unwrap_err().kind(), SchemaErrorKind::TooComplex);
        }
    }

    #[test]
    fn long_chains_are_over_the_budget_before_they_are_compiled() {
        for links in [6000, 100_000] {
            let chain = numbered(
                links,
                |index| json!({"$ref": format!("#/$defs/p{}", (index + 1) % links)}),
            );
            let schema = json!({"$ref": "#/$defs/p0", "$defs": chain});
            assert_eq!(Schema::compile(schema).unwrap_err().kind(), SchemaErrorKind::TooComplex);
        }
    }

    #[test]
    fn large_arguments_of_plain_schemas_are_checked() {
        let schema = json!({"items": {"allOf": [{"type": "integer"}, {"minimum": 0}]}});
        let schema = Schema::compile(schema).unwrap();
        let many: Vec<i32> = (0..200_000).collect();
        assert_eq!(check(&schema, &json!(many), ()).unwrap(), []);
    }

    #[test]
    fn a_wide_schema_is_over_the_budget_with_many_values_only() {
        let wide: Vec<Value> = (0..1000).map(|index| json!({"minimum": -index})).collect();
        let schema = Schema::compile(json!({"items": {"allOf": wide}})).unwrap();
        assert!(check(&schema, &json!(vec![1; 1000]), ()).is_ok());
        assert!(check(&schema, &json!(vec![1; 100_000]), ()).is_err());
    }
}
