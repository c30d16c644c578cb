//! Estimates the work of checking a value, and of listing every finding of every branch.
//!
//! For most schemas, the validator quickly decides if a value is valid, because it caches results. Listing the
//! findings is slower: each level of nested unions multiplies them, and a hostile schema can have as many levels as
//! the value. A schema that applies thousands of subschemas to one value also multiplies the work. In both cases the
//! steps are counted first. A value that needs more steps than the budget is not checked.

use std::collections::HashMap;

use serde_json::Value;

use super::outline::{NodeId, SchemaOutline};

/// The maximum number of steps for a list of findings, if branches multiply.
const MOST: u64 = 200_000;
/// The maximum number of steps for a valid-or-invalid result.
const MOST_FOR_VERDICT: u64 = 20_000_000;
/// The number of steps that any check may take. A step is one subschema on one value.
const BUDGET: u64 = 4_000_000;
/// The number of additional steps for each value in the input, so that large inputs are checked.
const BUDGET_FOR_EACH_VALUE: u64 = 64;
/// The maximum depth of the estimate. A deeper value gets no list of findings.
const DEEPEST: usize = 1_000;

/// The kind of check that is possible within the limits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effort {
    /// Every finding can be listed.
    Listing,
    /// Only a valid-or-invalid result is possible.
    Verdict,
    /// No check is possible.
    TooMuch,
}

/// Returns the kind of check that is possible for a value.
pub(super) fn of(outline: &SchemaOutline, value: &Value) -> Effort {
    let heaviest = outline.heaviest();
    let mut is_listed = true;
    if heaviest > BUDGET_FOR_EACH_VALUE {
        let values = count(value);
        let budget = BUDGET.saturating_add(values.saturating_mul(BUDGET_FOR_EACH_VALUE));
        if heaviest.saturating_mul(values) > budget {
            let mut steps = StepCounter { outline, left: budget, findings: 0 };
            if !steps.take(SchemaOutline::ROOT, value, 0) {
                return Effort::TooMuch;
            }
            is_listed = steps.findings <= budget;
        }
    }
    if !outline.multiplies() {
        return if is_listed { Effort::Listing } else { Effort::Verdict };
    }
    let mut estimate = Estimate { outline, known: HashMap::new(), depth: 0 };
    match estimate.steps(SchemaOutline::ROOT, value) {
        steps if steps <= MOST && is_listed => Effort::Listing,
        steps if steps <= MOST_FOR_VERDICT => Effort::Verdict,
        // The validator caches the results of a recursive schema instead of computing them again.
        _ if outline.recurses() => Effort::Verdict,
        _ => Effort::TooMuch,
    }
}

/// Counts the values inside a value, including itself.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(elements) => elements.iter().fold(1, |sum, value| sum + count(value)),
        Value::Object(members) => members.values().fold(1, |sum, value| sum + count(value)),
        _ => 1,
    }
}

/// Counts the steps of a check by simulating them, up to a budget.
struct StepCounter<'a> {
    outline: &'a SchemaOutline,
    left: u64,
    /// The size of all findings if every value is invalid.
    findings: u64,
}

impl StepCounter<'_> {
    /// Counts the steps of a subschema on a value. Returns false if they exceed the budget.
    fn take(&mut self, id: NodeId, value: &Value, depth: usize) -> bool {
        let weight = self.outline.node(id).weight;
        if depth > DEEPEST || !self.spend(1 + weight.value) {
            return false;
        }
        self.findings = self.findings.saturating_add(weight.findings);
        let outline = self.outline;
        if !outline.in_place(id).all(|inner| self.take(inner, value, depth + 1)) {
            return false;
        }
        match value {
            Value::Object(members) => members.iter().all(|(name, value)| {
                // The weight is spent first, because finding the patterns that match a name is itself this work.
                if !self.spend(1 + weight.member) {
                    return false;
                }
                let mut children = Vec::new();
                outline.member(id, name, |child| children.push(child));
                children.into_iter().all(|child| self.take(child, value, depth + 1))
            }),
            Value::Array(elements) => elements.iter().enumerate().all(|(index, value)| {
                let contains = if weight.element == 0 {
                    0
                } else {
                    weight.element.saturating_mul(count(value))
                };
                if !self.spend(1 + contains) {
                    return false;
                }
                let child = outline.element(id, index);
                child.is_none_or(|child| self.take(child, value, depth + 1))
            }),
            _ => true,
        }
    }

    /// Subtracts steps from the budget. Returns false if none are left.
    fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }
}

struct Estimate<'a> {
    outline: &'a SchemaOutline,
    /// The number of steps for a subschema on a value (by its address), or 0 while it is being counted.
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
            // An input with few fields takes few steps.
            assert!(check(&schema, &json!({"q0": 1, "p0": 1, "p1": 1}), ()).is_ok());
            let error = check(&schema, &all, ()).unwrap_err();
            assert_eq!(error.kind(), SchemaErrorKind::TooComplex);
            assert_eq!(schema.is_valid(&all).unwrap_err().kind(), SchemaErrorKind::TooComplex);
        }
    }

    /// Checks a call, and returns true if it is within the budget. The verdict keeps the same budget.
    fn is_checked(schema: &Value, arguments: &Value) -> bool {
        let schema = Schema::compile(schema.clone()).unwrap();
        let listed = check(&schema, arguments, ());
        assert_eq!(listed.is_ok(), schema.is_valid(arguments).is_ok());
        if let Err(error) = &listed {
            assert_eq!(error.kind(), SchemaErrorKind::TooComplex);
        }
        listed.is_ok()
    }

    #[test]
    fn keywords_without_subschemas_count_for_each_value() {
        let names: Vec<String> = (0..5000).map(|index| format!("p{index}")).collect();
        let object = numbered(200, |_| json!({"a": [1, 2, 3]}));
        let objects: Vec<Value> = (0..100).map(|index| json!([object, index])).collect();
        let patterns: Map<String, Value> =
            (0..5000).map(|index| (format!("^x{index}$"), json!(true))).collect();
        let rules: Vec<Value> = (0..2000).map(|index| json!({"minimum": index})).collect();
        let dependent = numbered(5000, |_| json!(["q"]));
        let many_objects = json!(vec![json!({}); 20_000]);
        let big_elements = json!(vec![json!([object, -1]); 2000]);
        let many_integers = json!((0..20_000).collect::<Vec<i32>>());
        let many_members = numbered(5000, |_| json!(1));
        for (schema, hostile, small) in [
            (json!({"items": {"required": names}}), &many_objects, json!([{}, {}])),
            (json!({"items": {"dependentRequired": dependent}}), &many_objects, json!([{}])),
            (json!({"items": {"enum": objects}}), &big_elements, json!([[object, -1]])),
            (json!({"patternProperties": patterns}), &many_members, json!({"p1": 1})),
            (json!({"propertyNames": {"anyOf": rules}}), &many_members, json!({"p1": 1})),
            (json!({"contains": {"allOf": rules}}), &many_integers, json!([1, 2])),
            (
                json!({"contains": {"$ref": "#/$defs/rules"}, "$defs": {"rules": {"allOf": rules}}}),
                &many_integers,
                json!([1, 2]),
            ),
        ] {
            assert!(!is_checked(&schema, hostile), "{}", &schema.to_string()[..60]);
            assert!(is_checked(&schema, &small), "{}", &schema.to_string()[..60]);
        }
    }

    /// Copies of a large `not` or `enum` in every finding would take more memory than the call.
    #[test]
    fn large_findings_of_many_values_are_not_listed() {
        let options: Vec<i32> = (0..5000).collect();
        for rule in [json!({"not": {"not": {"enum": options}}}), json!({"enum": options})] {
            let schema = Schema::compile(json!({"items": rule})).unwrap();
            let valid = json!(vec![1; 20_000]);
            assert_eq!(check(&schema, &valid, ()).unwrap(), []);
            let invalid = json!(vec![-1; 20_000]);
            let findings = check(&schema, &invalid, ()).unwrap();
            assert_eq!(findings.len(), 1, "{rule}");
            assert!(findings[0].is_error());
            assert_eq!(check(&schema, &json!([-1, -2]), ()).unwrap().len(), 2);
        }
    }

    #[test]
    fn many_unique_items_are_checked() {
        let schema = json!({"uniqueItems": true});
        let items: Vec<Value> = (0..20_000).map(|index| json!({"a": [0, 0], "b": index})).collect();
        assert!(is_checked(&schema, &json!(items)));
    }

    #[test]
    fn ordinary_large_inputs_are_checked() {
        let names: Vec<String> = (0..40).map(|index| format!("p{index}")).collect();
        let row = json!({
            "type": "object",
            "required": names,
            "properties": numbered(40, |_| json!({"enum": ["a", "b", "c", null]})),
            "additionalProperties": false,
        });
        let rows = json!(vec![numbered(40, |_| json!("b")); 5000]);
        assert!(is_checked(&json!({"items": row}), &rows));
        let union = json!({"items": {"anyOf": [row, {"type": "null"}]}});
        assert!(is_checked(&union, &rows));
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
