//! Finds the branch of a union that is nearest to a value.
//!
//! The measure is surprise: how unlikely is this value if the caller meant this branch? A value that the branch
//! expects costs little. The more exact the expectation, the less it costs: a matching `const` says more than a
//! matching `string`. An unexpected value costs the mistake plus its whole unexplained content. So a name that only
//! one branch knows counts on its own. A tag counts more than a missing member. A whole object in place of a string
//! counts more than a number there.

use std::collections::HashMap;

use answerback_json::push_token;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::outline::{NodeId, SchemaOutline};
use super::types::Types;

/// The cost of any mistake, roughly in bits of surprise.
const MISTAKE: u32 = 10;
/// The cost of a broken rule such as `pattern` or `maximum`. The type is right, so it is about half a mistake.
const RULE_BROKEN: u32 = 6;
/// The cost of a member that no subschema names, if such members are allowed.
const UNNAMED: u32 = 5;
/// The extra cost of a scalar in place of a container, or the reverse, and of any value where only null is allowed.
const OTHER_WORLD: u32 = 4;
/// The extra cost of a value outside an `enum` or `const` that has the type of a listed value. It is hardly a slip:
/// the caller chose it for another branch.
const OTHER_TAG: u32 = 8;
/// The cost of a scalar whose type the schema names.
const TYPED: u32 = 2;
/// The cost of a scalar about which the schema states nothing.
const UNTYPED: u32 = 3;

/// The cost of a declared member that is absent. It only breaks ties.
const ABSENT: u32 = 8;

/// The number of times that a subschema is tried on a value before the search stops. It bounds the work for hostile
/// schemas.
const FUEL: u32 = 50_000;

/// A measure of how well a value fits. A smaller one is better.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Fit {
    /// The surprise of the value, in bits.
    pub(super) surprise: u32,
    /// The number of rules that the value breaks.
    pub(super) broken: u32,
    /// The cost of declared members that are absent. It only breaks ties.
    absent: u32,
}

impl Fit {
    fn add(&mut self, other: Self) {
        self.surprise = self.surprise.saturating_add(other.surprise);
        self.broken = self.broken.saturating_add(other.broken);
        self.absent = self.absent.saturating_add(other.absent);
    }

    fn expect(&mut self, bits: u32) {
        self.surprise = self.surprise.saturating_add(bits);
    }

    fn fail(&mut self, bits: u32) {
        self.expect(bits);
        self.broken = self.broken.saturating_add(1);
    }
}

/// Computes how well values fit subschemas.
pub(super) struct Judge<'a> {
    outline: &'a SchemaOutline,
    /// The number of rules of a subschema that a place breaks, for rules that only the validator checks.
    broken: HashMap<(NodeId, String), u32>,
    fuel: u32,
}

/// The subschemas that apply to one value, with the unions whose branch is not chosen yet.
struct Applied {
    nodes: Vec<NodeId>,
    unions: Vec<(NodeId, usize)>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(outline: &'a SchemaOutline) -> Self {
        Self { outline, broken: HashMap::new(), fuel: FUEL }
    }

    /// Records the validator's findings about branches, at any depth of unions.
    pub(super) fn note(&mut self, findings: &[jsonschema::ValidationError<'static>]) {
        for finding in findings {
            match finding.kind() {
                ValidationErrorKind::AnyOf { context }
                | ValidationErrorKind::OneOfNotValid { context }
                | ValidationErrorKind::OneOfMultipleValid { context } => {
                    for branch in context {
                        self.note(branch);
                    }
                }
                // The branch finder detects these mistakes itself.
                ValidationErrorKind::Type { .. }
                | ValidationErrorKind::Enum { .. }
                | ValidationErrorKind::Constant { .. }
                | ValidationErrorKind::Required { .. }
                | ValidationErrorKind::AdditionalProperties { .. }
                | ValidationErrorKind::FalseSchema => {}
                _ => {
                    let owner = self.outline.owner(finding.schema_path().as_str());
                    let place = finding.instance_path().as_str().to_owned();
                    *self.broken.entry((owner, place)).or_default() += 1;
                }
            }
        }
    }

    /// Returns the index of the branch that is nearest to the value at `place` of `arguments`, in the union `keyword`
    /// of `owner`.
    pub(super) fn nearest(
        &mut self,
        owner: NodeId,
        keyword: &str,
        arguments: &Value,
        place: &str,
    ) -> Option<usize> {
        let outline = self.outline;
        let unions = &outline.node(owner).unions;
        let (which, union) =
            unions.iter().enumerate().find(|(_, union)| union.keyword == keyword)?;
        let value = arguments.pointer(place)?;
        let mut written = place.to_owned();
        let fits: Vec<Fit> = union
            .branches
            .iter()
            .map(|branch| {
                // The keywords next to the union apply to every branch, so their names are known in all branches.
                let mut applied = Applied { nodes: Vec::new(), unions: Vec::new() };
                self.apply(owner, value, &mut applied);
                applied.unions.retain(|pending| *pending != (owner, which));
                self.apply(*branch, value, &mut applied);
                self.decide(applied, value, &mut written)
            })
            .collect();
        // Among equal branches, the one wins whose tag appears in the value. Otherwise the first wins, because
        // authors list the usual form first.
        let echoes: Vec<bool> =
            union.branches.iter().map(|branch| self.echoes(*branch, value)).collect();
        // Schemas write "or nothing" as a branch that accepts only null. A caller that sends any other value does not
        // mean it.
        let is_nothing: Vec<bool> =
            union.branches.iter().map(|branch| self.is_null_alone(*branch)).collect();
        let skips = !value.is_null() && is_nothing.iter().any(|is_nothing| !is_nothing);
        // If some branch accepts the type of the value, the caller did not mean a branch for another type, however
        // many mistakes are inside.
        let takes_type: Vec<bool> =
            union.branches.iter().map(|branch| self.takes_type(*branch, value)).collect();
        let is_taken = takes_type.iter().any(|takes| *takes);
        let may_be_meant =
            |index: &usize| !(skips && is_nothing[*index]) && (!is_taken || takes_type[*index]);
        (0..fits.len()).filter(may_be_meant).min_by_key(|index| {
            let Fit { surprise, broken, absent } = fits[*index];
            (surprise, broken, !echoes[*index], absent)
        })
    }

    /// True if a branch accepts the type of a value.
    fn takes_type(&self, branch: NodeId, value: &Value) -> bool {
        self.outline.always_in_place(branch).into_iter().all(|id| {
            let types = self.outline.node(id).types;
            types.is_empty() || types.meets(Types::of(value))
        })
    }

    /// True if a branch accepts only null.
    fn is_null_alone(&self, branch: NodeId) -> bool {
        self.outline.always_in_place(branch).into_iter().any(|id| {
            let node = self.outline.node(id);
            node.types == Types::NULL || node.values.as_deref() == Some(&[Value::Null])
        })
    }

    /// True if a tag of a branch appears in some text of the value. For example, `{"kind": 7, "name": "port-1"}`
    /// looks like the branch whose `kind` is "Port".
    fn echoes(&self, branch: NodeId, value: &Value) -> bool {
        const SHORTEST: usize = 3;
        let Value::Object(members) = value else { return false };
        let texts: Vec<String> = members
            .values()
            .filter_map(Value::as_str)
            .map(letters)
            .filter(|text| text.len() >= SHORTEST)
            .collect();
        let outline = self.outline;
        let applied = outline.all_in_place(&[branch]);
        let mut tags = applied
            .iter()
            .flat_map(|id| outline.names(*id))
            .filter_map(|(_, child)| outline.node(child).values.as_deref())
            .flatten()
            .filter_map(Value::as_str)
            .map(letters)
            .filter(|tag| tag.len() >= SHORTEST);
        tags.any(|tag| texts.iter().any(|text| text.contains(&tag) || tag.contains(text)))
    }

    /// Computes how well a value fits several subschemas together.
    pub(super) fn fit(&mut self, nodes: &[NodeId], value: &Value, place: &mut String) -> Fit {
        let mut applied = Applied { nodes: Vec::new(), unions: Vec::new() };
        for id in nodes {
            self.apply(*id, value, &mut applied);
        }
        self.decide(applied, value, place)
    }

    /// Adds a subschema and all that it applies to the same value. Unions are left undecided.
    fn apply(&mut self, id: NodeId, value: &Value, applied: &mut Applied) {
        if self.fuel == 0 || applied.nodes.contains(&id) {
            return;
        }
        self.fuel -= 1;
        applied.nodes.push(id);
        let outline = self.outline;
        let node = outline.node(id);
        for inner in node.reference.iter().chain(&node.all_of) {
            self.apply(*inner, value, applied);
        }
        if let Some(condition) = &node.condition {
            let holds = self.fit(&[condition.test], value, &mut String::new()).broken == 0;
            let follows = if holds { condition.then } else { condition.otherwise };
            if let Some(follows) = follows {
                self.apply(follows, value, applied);
            }
        }
        for (name, dependent) in &node.dependents {
            if value.get(name).is_some() {
                self.apply(*dependent, value, applied);
            }
        }
        applied.unions.extend((0..node.unions.len()).map(|which| (id, which)));
    }

    /// Decides the pending unions one after the other, each for the branch that fits best together with the rest.
    fn decide(&mut self, mut applied: Applied, value: &Value, place: &mut String) -> Fit {
        let outline = self.outline;
        let unions = std::mem::take(&mut applied.unions);
        let Some((last, others)) = unions.split_last() else {
            return self.fit_all(&applied.nodes, value, place);
        };
        for (owner, which) in others {
            let branches = &outline.node(*owner).unions[*which].branches;
            let fits = branches
                .iter()
                .map(|branch| (self.with_branch(&applied.nodes, *branch, value, place), *branch));
            let best = fits.min_by_key(|(fit, _)| *fit);
            if let Some((_, branch)) = best {
                let mut chosen = Applied { nodes: applied.nodes, unions: Vec::new() };
                self.apply(branch, value, &mut chosen);
                applied.nodes = chosen.nodes;
            }
        }
        let branches = &outline.node(last.0).unions[last.1].branches;
        let fits =
            branches.iter().map(|branch| self.with_branch(&applied.nodes, *branch, value, place));
        fits.min().unwrap_or_default()
    }

    fn with_branch(
        &mut self,
        nodes: &[NodeId],
        branch: NodeId,
        value: &Value,
        place: &mut String,
    ) -> Fit {
        let mut applied = Applied { nodes: nodes.to_vec(), unions: Vec::new() };
        self.apply(branch, value, &mut applied);
        self.decide(applied, value, place)
    }

    /// Computes how well a value fits subschemas that all apply, without unions.
    fn fit_all(&mut self, nodes: &[NodeId], value: &Value, place: &mut String) -> Fit {
        let mut fit = Fit::default();
        if self.fuel == 0 {
            return fit;
        }
        let own_type = Types::of(value);
        let mut foreseen = false;
        for id in nodes {
            let node = self.outline.node(*id);
            if node.verdict == Some(false) {
                fit.fail(MISTAKE + unexplained(value));
                return fit;
            }
            if !node.types.is_empty() && !node.types.meets(own_type) {
                fit.fail(MISTAKE + distance(node.types, own_type) + unexplained(value));
                return fit;
            }
            if let Some(values) = &node.values {
                if !values.contains(value) {
                    let alike = values.iter().any(|listed| Types::of(listed) == own_type);
                    fit.fail(
                        MISTAKE + unexplained(value) - choice(values)
                            + if alike { OTHER_TAG } else { 0 },
                    );
                    return fit;
                }
                foreseen = true;
            }
            if node.constrained {
                let broken = if self.broken.is_empty() {
                    0
                } else {
                    self.broken.get(&(*id, place.clone())).copied().unwrap_or(0)
                };
                for _ in 0..broken {
                    fit.fail(RULE_BROKEN);
                }
            }
        }
        if foreseen {
            return fit;
        }
        match value {
            Value::Object(members) => fit.add(self.members(nodes, members, place)),
            Value::Array(elements) => fit.add(self.elements(nodes, elements, place)),
            _ => {
                let nodes = || nodes.iter().map(|id| self.outline.node(*id));
                let bits = if nodes().any(|node| !node.types.is_empty()) { TYPED } else { UNTYPED };
                // A rule that the value follows makes the value a little less surprising.
                fit.expect(bits - u32::from(nodes().any(|node| node.constrained)));
            }
        }
        fit
    }

    fn members(
        &mut self,
        nodes: &[NodeId],
        members: &Map<String, Value>,
        place: &mut String,
    ) -> Fit {
        let outline = self.outline;
        let mut fit = Fit::default();
        let length = place.len();
        let mut has_repeated = false;
        for (name, value) in members {
            let mut children = Vec::new();
            let mut named = false;
            for id in nodes {
                named |= outline.member(*id, name, |child| children.push(child));
            }
            let forbidden =
                children.iter().any(|child| outline.node(*child).verdict == Some(false));
            if named || (!children.is_empty() && !forbidden) {
                push_token(place, name);
                let mut member = self.fit(&children, value, place);
                place.truncate(length);
                if !named && member.broken > 0 {
                    // As in an array, the values of a map share one mistake.
                    if has_repeated {
                        member.surprise = member.surprise.min(unexplained(value));
                    }
                    has_repeated = true;
                }
                fit.add(member);
                // A required member is certainly expected; an optional one only perhaps.
                let required = nodes.iter().any(|id| outline.node(*id).required.contains(name));
                fit.expect(u32::from(!required) + u32::from(!named));
            } else if forbidden {
                fit.fail(MISTAKE + UNNAMED + unexplained(value));
            } else {
                fit.expect(UNNAMED + unexplained(value));
            }
        }
        for (index, id) in nodes.iter().enumerate() {
            for name in &outline.node(*id).required {
                let counted =
                    nodes[..index].iter().any(|id| outline.node(*id).required.contains(name));
                if !counted && !members.contains_key(name) {
                    fit.fail(MISTAKE);
                }
            }
            for (_, child) in outline.names(*id).filter(|(name, _)| !members.contains_key(*name)) {
                let choice = outline.node(child).values.as_deref().map_or(0, choice);
                fit.absent = fit.absent.saturating_add(ABSENT - choice);
            }
        }
        fit
    }

    fn elements(&mut self, nodes: &[NodeId], elements: &[Value], place: &mut String) -> Fit {
        let mut fit = Fit::default();
        let length = place.len();
        for (index, value) in elements.iter().enumerate() {
            let children: Vec<NodeId> =
                nodes.iter().filter_map(|id| self.outline.element(*id, index)).collect();
            push_token(place, &index.to_string());
            let mut element = self.fit(&children, value, place);
            place.truncate(length);
            if fit.broken > 0 && element.broken > 0 {
                // A repeated mistake is no new surprise: every further bad item does not make the value less like an
                // array.
                element.surprise = element.surprise.min(unexplained(value));
            }
            fit.add(element);
        }
        fit
    }
}

/// Returns the cost of an unexpected value, including its whole content.
fn unexplained(value: &Value) -> u32 {
    match value {
        Value::Null => 2,
        Value::Bool(_) => 3,
        Value::Number(_) => 6,
        Value::String(_) => 8,
        Value::Array(elements) => {
            elements.iter().fold(3, |sum, value| sum.saturating_add(unexplained(value)))
        }
        Value::Object(members) => {
            members.values().fold(3, |sum, value| sum.saturating_add(UNNAMED + unexplained(value)))
        }
    }
}

/// Returns the discount, in bits, for a value that is not in a list of permitted values. A branch that permits many
/// values is more likely to be the intended one.
fn choice(values: &[Value]) -> u32 {
    values.len().max(1).ilog2().min(ABSENT / 2)
}

/// Returns the letters of a text in lowercase.
fn letters(text: &str) -> String {
    text.chars()
        .filter(|character| character.is_alphabetic())
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

/// Returns the extra cost of a value whose type is not allowed.
fn distance(allowed: Types, own: Types) -> u32 {
    let null_alone = allowed == Types::NULL;
    let worlds_apart = own != Types::NULL && allowed.is_all_containers() != own.is_all_containers();
    if null_alone || worlds_apart { OTHER_WORLD } else { 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::{Schema, check};

    /// Returns the branch of the union at the root that contains the findings.
    fn branch(branches: &Value, value: &Value) -> String {
        let schema = Schema::compile(json!({"anyOf": branches})).unwrap();
        let findings = check(&schema, value, ()).unwrap();
        let path = findings[0].schema_path.clone().unwrap();
        path.tokens().nth(1).unwrap().into_owned()
    }

    #[test]
    fn the_nearest_branch_is_found() {
        let tagged = |tag: &str, name: &str| json!({"properties": {"type": {"const": tag}, name: {"type": "string"}}, "required": ["type", name]});
        let closed = |name: &str| json!({"properties": {name: {"type": "string"}, "id": {"type": "integer"}}, "additionalProperties": false});
        for (why, branches, value, nearest) in [
            (
                "a tag outweighs a member",
                json!([tagged("a", "x"), tagged("b", "y")]),
                json!({"type": "b", "x": "1"}),
                "1",
            ),
            (
                "a spoilt tag leaves the members",
                json!([tagged("a", "x"), tagged("b", "y")]),
                json!({"type": 7, "y": "1"}),
                "1",
            ),
            (
                "a missing tag too",
                json!([tagged("a", "x"), tagged("b", "y")]),
                json!({"y": "1"}),
                "1",
            ),
            (
                "a name only one knows",
                json!([closed("a"), closed("b")]),
                json!({"id": "1", "b": "x"}),
                "1",
            ),
            (
                "the type of the value",
                json!([{"type": "string"}, {"type": "array", "items": {"type": "string"}}]),
                json!(["a", 1]),
                "1",
            ),
            (
                "a scalar is nearer to a scalar",
                json!([{"type": "object"}, {"type": "string"}]),
                json!(1),
                "1",
            ),
            (
                "not null, if anything else",
                json!([{"type": "null"}, {"type": "string"}]),
                json!(1),
                "1",
            ),
            (
                "the size of what would be unexplained",
                json!([{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}, "m": {"type": "integer"}, "o": {"type": "integer"}}, "required": ["m", "o"]}]),
                json!({"list": [1, 2, 3, 4, 5, 6, 7, 8]}),
                "1",
            ),
            (
                "a rule kept",
                json!([{"type": "string", "pattern": "^a-", "maxLength": 3}, {"type": "string", "pattern": "^b-", "maxLength": 3}]),
                json!("b-1234"),
                "1",
            ),
            (
                "through references and allOf",
                json!([{"allOf": [tagged("a", "x"), {"type": "object"}]}, {"allOf": [{"type": "object"}, tagged("b", "y")]}]),
                json!({"type": "b"}),
                "1",
            ),
            (
                "a tag echoed elsewhere",
                json!([tagged("address", "name"), tagged("Port", "name")]),
                json!({"type": 7, "name": "port-1"}),
                "1",
            ),
            (
                "not null, however many items are wrong",
                json!([{"type": "null"}, {"type": "array", "items": {"type": "string"}}]),
                json!([1, 2, 3, 4, 5, 6, 7, 8, 9]),
                "1",
            ),
            (
                "not null, however much is missing",
                json!([{"type": "object", "required": ["a", "b", "c", "d"]}, {"const": null}]),
                json!({}),
                "0",
            ),
            (
                "a list of wrong items stays a list",
                json!([{"type": "string"}, {"type": "array", "items": {"type": "object", "required": ["a", "b", "c"]}}]),
                json!([{}, {}, {}, {}]),
                "1",
            ),
            (
                "so does a map of wrong values",
                json!([{"type": "array"}, {"type": "object", "additionalProperties": {"type": "string"}}]),
                json!({"a": 1, "b": 2, "c": 3, "d": 4}),
                "1",
            ),
            (
                "of equals the first",
                json!([{"required": ["a"]}, {"required": ["b"]}]),
                json!({}),
                "0",
            ),
        ] {
            assert_eq!(branch(&branches, &value), nearest, "{why}");
        }
    }

    #[test]
    fn unions_are_decided_from_the_outside_in() {
        let inner = json!({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]});
        let schema = Schema::compile(json!({"anyOf": [
            {"properties": {"kind": {"const": "a"}, "value": {"type": "string"}}, "required": ["kind", "value"]},
            {"properties": {"kind": {"const": "b"}, "value": inner}, "required": ["kind", "value"]},
        ]}))
        .unwrap();
        let findings = check(&schema, &json!({"kind": "b", "value": [1, "2"]}), ()).unwrap();
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].field_path.as_str(), "/value/1");
        let path = findings[0].schema_path.as_ref().unwrap();
        assert_eq!(path.as_str(), "/anyOf/1/properties/value/oneOf/1/items/type");
    }
}
