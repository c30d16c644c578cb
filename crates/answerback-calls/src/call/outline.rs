//! The outline of a schema, which can be walked together with a value: references resolved, names sorted, every
//! subschema numbered.
//!
//! The validator decides if a value is valid. The outline answers questions that the validator does not: the known
//! names of an object, the branch of a union nearest to a value, and the secret fields.

mod anchors;
mod builder;

use std::collections::{HashMap, HashSet};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

pub(super) use self::anchors::{anchors, percent_decoded};
use self::builder::OutlineBuilder;
use super::documents::Documents;
use super::types::Types;

/// The number of a subschema.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct NodeId(u32);

/// The content of one subschema.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a subschema has many independent boolean properties"
)]
pub(super) struct SchemaNode {
    /// The place in the schema, as a pointer without references.
    pub(super) place: String,
    /// The value of a subschema that is `true` or `false` instead of an object.
    pub(super) verdict: Option<bool>,
    /// The allowed types. An empty set allows all types.
    pub(super) types: Types,
    /// The permitted values of `enum` or `const`.
    pub(super) values: Option<Vec<Value>>,
    properties: Vec<(String, NodeId)>,
    patterns: Vec<(NamePattern, NodeId)>,
    /// True if the subschema names members. An object schema without names describes a free-form map.
    pub(super) names_members: bool,
    pub(super) additional: Option<NodeId>,
    /// True if the subschema rules on unnamed members, with `additionalProperties` or `unevaluatedProperties`.
    pub(super) rules_the_rest: bool,
    pub(super) required: Vec<String>,
    /// The names that are required if another member is present.
    pub(super) dependent_names: Vec<(String, Vec<String>)>,
    prefix: Vec<NodeId>,
    items: Option<NodeId>,
    /// The target of `$ref`.
    pub(super) reference: Option<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) unions: Vec<Union>,
    pub(super) condition: Option<ConditionalSchemas>,
    /// The subschemas that apply if a member is present.
    pub(super) dependents: Vec<(String, NodeId)>,
    /// The subschema of `not`. It can still name known members and secrets.
    pub(super) negated: Option<NodeId>,
    /// True for `writeOnly` and `format: password`. Values are never shown.
    pub(super) secret: bool,
    /// True if parts of the subschema cannot be followed statically. Then no name counts as unknown.
    pub(super) opaque: bool,
    /// True if there are rules that only the validator checks, such as `pattern` and `minimum`.
    pub(super) constrained: bool,
    /// True if the `pattern` needs the backtracking engine.
    pub(super) goes_back: bool,
    pub(super) title: Option<String>,
    pub(super) weight: NodeWeight,
}

/// The work for one value under one subschema that its inner subschemas do not account for, in steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeWeight {
    /// The steps for the value itself.
    pub(super) value: u64,
    /// The steps for each member of an object.
    pub(super) member: u64,
    /// The steps for each element of an array.
    pub(super) element: u64,
    /// The size of all findings that the value itself can have.
    pub(super) findings: u64,
}

impl NodeWeight {
    /// Weighs the keywords of a subschema. `root_size` is the size of the whole schema, which a reference can reach.
    fn of(schema: &Map<String, Value>, root_size: u64) -> Self {
        let size = |keyword: &str| schema.get(keyword).map_or(0, size);
        let applied = |keyword: &str| {
            let part = schema.get(keyword);
            part.map_or(0, |part| size(keyword) + if refers(part) { root_size } else { 0 })
        };
        let is_container = |value: &Value| value.is_array() || value.is_object();
        // The validator finds scalar options by hash and compares all others one by one.
        let is_compared = schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|options| options.iter().any(is_container));
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        Self {
            value: size("required")
                + size("dependentRequired")
                + if is_compared { size("enum") } else { 0 },
            member: applied("propertyNames") + patterns.map_or(0, |patterns| patterns.len() as u64),
            element: applied("contains"),
            // The validator copies all of `not` and `enum` into each of its errors.
            findings: size("not") + size("enum") + size("propertyNames"),
        }
    }

    /// Returns the steps for a value with one member or element.
    fn total(self) -> u64 {
        1 + self.value + self.member + self.element + self.findings
    }
}

/// True if a part of a schema refers to another part.
fn refers(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(refers),
        Value::Object(members) => members.iter().any(|(name, value)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") || refers(value)
        }),
        _ => false,
    }
}

/// Counts the values in a part of a schema.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(elements) => elements.iter().fold(1, |sum, value| sum + size(value)),
        Value::Object(members) => members.values().fold(1, |sum, value| sum + size(value)),
        _ => 1,
    }
}

/// An `anyOf` or `oneOf` keyword with its branches.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) keyword: &'static str,
    pub(super) branches: Vec<NodeId>,
}

/// An `if` keyword with its `then` and `else`.
#[derive(Debug)]
pub(super) struct ConditionalSchemas {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A pattern of `patternProperties`, which the validator's own engine matches within its limits.
#[derive(Debug)]
struct NamePattern(Option<Validator>);

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        // A pattern that did not compile on its own matches every name, so that no name is wrongly reported as
        // unknown.
        self.0.as_ref().is_none_or(|validator| validator.is_valid(&Value::from(name)))
    }
}

/// All subschemas of a schema, with properties computed once.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent boolean properties, computed once")]
pub(super) struct SchemaOutline {
    nodes: Vec<SchemaNode>,
    /// The ids of the nodes, sorted by place.
    by_place: Vec<NodeId>,
    /// The node that stands for every subschema of another document, if there are other documents.
    pub(super) elsewhere: Option<NodeId>,
    has_secrets: bool,
    multiplies: bool,
    recurses: bool,
    goes_back: bool,
    ways_in_place: u64,
    heaviest: u64,
    longest_chain: usize,
}

/// The result of counting the paths through a schema.
#[derive(Clone, Copy, Debug, Default)]
struct Ways {
    most: u64,
    /// The length of the longest path, in subschemas.
    longest: usize,
    /// True if a path forms a cycle.
    comes_back: bool,
}

/// A set of subschemas with a fast membership test. A small set is searched linearly instead of hashed.
pub(super) struct NodeSet(Option<HashSet<NodeId>>);

impl NodeSet {
    /// The largest number of subschemas that is searched linearly.
    const FEW: usize = 32;

    pub(super) fn of(nodes: &[NodeId]) -> Self {
        Self((nodes.len() > Self::FEW).then(|| nodes.iter().copied().collect()))
    }

    /// Inserts a subschema and returns true if it is new. `nodes` holds the subschemas inserted so far.
    pub(super) fn insert(&mut self, id: NodeId, nodes: &[NodeId]) -> bool {
        if self.0.is_none() && nodes.len() > Self::FEW {
            *self = Self::of(nodes);
        }
        match &mut self.0 {
            Some(known) => known.insert(id),
            None => !nodes.contains(&id),
        }
    }
}

/// The number of paths through a schema beyond which the work of listing every branch's findings is estimated first.
const MOST_WAYS: u64 = 4096;

impl SchemaOutline {
    pub(super) const ROOT: NodeId = NodeId(0);

    /// Creates the outline of a schema that the validator accepted. `documents` holds the documents that it may refer
    /// to. `compile_pattern` compiles a pattern to a validator. `goes_back` returns true for a pattern that the
    /// linear engine does not accept.
    pub(super) fn new(
        schema: &Value,
        draft: Draft,
        documents: &Documents,
        compile_pattern: &dyn Fn(&str) -> Option<Validator>,
        goes_back: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut builder = OutlineBuilder {
            schema,
            draft,
            compile_pattern,
            goes_back,
            nodes: Vec::new(),
            known: HashMap::new(),
            waiting: Vec::new(),
            anchors: None,
            root_size: size(schema),
        };
        builder.node(String::new(), schema);
        while let Some((id, value)) = builder.waiting.pop() {
            builder.fill(id, value);
        }
        let mut nodes = builder.nodes;
        if nodes.iter().any(|node| node.opaque)
            && (documents.call_secrets() || calls_secrets(schema))
        {
            // A reference that we cannot follow may lead to a part that is marked as secret.
            for node in &mut nodes {
                node.secret |= node.opaque;
            }
        }
        let elsewhere = (!documents.is_empty()).then(|| {
            nodes.push(SchemaNode { place: "#".to_owned(), opaque: true, ..SchemaNode::default() });
            NodeId(u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX))
        });
        let has_secrets = nodes.iter().any(|node| node.secret);
        let goes_back = nodes.iter().any(|node| node.goes_back);
        let mut by_place: Vec<NodeId> = (0..).map(NodeId).take(nodes.len()).collect();
        by_place.sort_unstable_by(|one, other| {
            nodes[one.0 as usize].place.cmp(&nodes[other.0 as usize].place)
        });
        let branches =
            nodes.iter().any(|node| node.unions.iter().any(|union| union.branches.len() > 1));
        let (multiplies, recurses) = (false, false);
        let mut outline = Self {
            nodes,
            by_place,
            elsewhere,
            has_secrets,
            multiplies,
            recurses,
            goes_back,
            ways_in_place: 1,
            heaviest: 1,
            longest_chain: 1,
        };
        let in_place = outline.ways(|_| 1, |id, visit| outline.in_place(id).for_each(visit));
        (outline.ways_in_place, outline.longest_chain) = (in_place.most, in_place.longest);
        let weigh = |id| outline.node(id).weight.total();
        outline.heaviest =
            outline.ways(weigh, |id, visit| outline.in_place(id).for_each(visit)).most;
        if branches {
            // When a union fails, the validator examines all its branches. With unions inside unions, by recursion or
            // by repeated references, the number of findings multiplies with every level.
            let ways = outline.ways(|_| 1, |id, visit| outline.below(id).for_each(visit));
            outline.multiplies = ways.comes_back || ways.most > MOST_WAYS;
            outline.recurses = ways.comes_back;
        }
        outline
    }

    pub(super) fn node(&self, id: NodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    /// Returns the subschema that contains the keyword at a place: the nearest one at or above that place.
    pub(super) fn owner(&self, keyword_place: &str) -> NodeId {
        let mut place = keyword_place;
        loop {
            let found =
                self.by_place.binary_search_by(|id| self.node(*id).place.as_str().cmp(place));
            if let Ok(index) = found {
                return self.by_place[index];
            }
            let Some((parent, _)) = place.rsplit_once('/') else { return Self::ROOT };
            place = parent;
        }
    }

    /// True if any `pattern` needs the backtracking engine.
    pub(super) fn goes_back(&self) -> bool {
        self.goes_back
    }

    /// Counts the `pattern`s that need the backtracking engine.
    pub(super) fn slow_patterns(&self) -> usize {
        self.nodes.iter().filter(|node| node.goes_back).count()
    }

    pub(super) fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// True if listing the findings of every branch could take disproportionate time.
    pub(super) fn multiplies(&self) -> bool {
        self.multiplies
    }

    /// True if the schema refers to itself. The validator caches results for such schemas.
    pub(super) fn recurses(&self) -> bool {
        self.recurses
    }

    /// Calls `visit` with each subschema that this one applies directly to a member. Returns true if this subschema
    /// names the member.
    pub(super) fn member(&self, id: NodeId, name: &str, mut visit: impl FnMut(NodeId)) -> bool {
        let node = self.node(id);
        let mut named = false;
        if let Ok(index) = node.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            visit(node.properties[index].1);
            named = true;
        }
        for (pattern, child) in &node.patterns {
            if pattern.matches(name) {
                visit(*child);
                named = true;
            }
        }
        if !named && let Some(rest) = node.additional {
            visit(rest);
        }
        named
    }

    /// Returns the subschema that this one applies directly to an element.
    pub(super) fn element(&self, id: NodeId, index: usize) -> Option<NodeId> {
        let node = self.node(id);
        node.prefix.get(index).copied().or(node.items)
    }

    /// True if this subschema itself can require a member. Such a member is known, even if no subschema describes it.
    pub(super) fn may_require(&self, id: NodeId, name: &str) -> bool {
        let node = self.node(id);
        node.required.iter().any(|required| required == name)
            || node.dependents.iter().any(|(trigger, _)| trigger == name)
            || node.dependent_names.iter().any(|(trigger, names)| {
                trigger == name || names.iter().any(|required| required == name)
            })
    }

    /// Iterates over the names that this subschema declares or requires.
    pub(super) fn declared_names(&self, id: NodeId) -> impl Iterator<Item = &str> {
        let node = self.node(id);
        let dependent = node.dependent_names.iter().flat_map(|(_, names)| names);
        self.names(id)
            .map(|(name, _)| name)
            .chain(node.required.iter().chain(dependent).map(String::as_str))
    }

    /// Iterates over the names under `properties`, sorted, with their subschemas.
    pub(super) fn names(&self, id: NodeId) -> impl Iterator<Item = (&str, NodeId)> {
        self.node(id).properties.iter().map(|(name, child)| (name.as_str(), *child))
    }

    /// Iterates over the subschemas that this one applies to the same value: references, `allOf`, branches,
    /// conditions and `not`.
    pub(super) fn in_place(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        let condition = node.condition.iter();
        node.reference
            .into_iter()
            .chain(node.all_of.iter().copied())
            .chain(node.unions.iter().flat_map(|union| union.branches.iter().copied()))
            .chain(condition.flat_map(|condition| {
                [Some(condition.test), condition.then, condition.otherwise].into_iter().flatten()
            }))
            .chain(node.dependents.iter().map(|(_, child)| *child))
            .chain(node.negated)
    }

    /// Follows [`SchemaOutline::in_place`] transitively. The result begins with the `start` subschemas.
    pub(super) fn all_in_place(&self, start: &[NodeId]) -> Vec<NodeId> {
        let mut reached = start.to_vec();
        let mut known = NodeSet::of(&reached);
        let mut next = 0;
        while let Some(id) = reached.get(next).copied() {
            for inner in self.in_place(id) {
                if known.insert(inner, &reached) {
                    reached.push(inner);
                }
            }
            next += 1;
        }
        reached
    }

    /// Returns the subschema and all that always apply together with it: references and `allOf`.
    pub(super) fn always_in_place(&self, id: NodeId) -> Vec<NodeId> {
        self.all_always_in_place(&[id])
    }

    /// Returns the subschemas and all that always apply together with one of them.
    pub(super) fn all_always_in_place(&self, start: &[NodeId]) -> Vec<NodeId> {
        let mut reached = Vec::new();
        let mut known = NodeSet::of(&reached);
        for id in start {
            if known.insert(*id, &reached) {
                reached.push(*id);
            }
        }
        let mut next = 0;
        while let Some(id) = reached.get(next).copied() {
            let node = self.node(id);
            for inner in node.reference.iter().chain(&node.all_of) {
                if known.insert(*inner, &reached) {
                    reached.push(*inner);
                }
            }
            next += 1;
        }
        reached
    }

    /// Returns the maximum number of paths from a subschema through others that apply to the same value. A chain of
    /// references, each used twice, doubles it with every step.
    pub(super) fn ways_in_place(&self) -> u64 {
        self.ways_in_place
    }

    /// Returns the length of the longest chain of subschemas that each refer to the next for the same value. The
    /// validator recurses along it.
    pub(super) fn longest_chain(&self) -> usize {
        self.longest_chain
    }

    /// Returns the most steps that one value may take, including those for one member and one element.
    pub(super) fn heaviest(&self) -> u64 {
        self.heaviest
    }

    /// Counts the paths from each subschema along the edges that `next` visits, each subschema as often as `weigh`
    /// says. Returns the maximum count and length, and notes cycles. A path with a cycle counts once.
    fn ways(
        &self,
        weigh: impl Fn(NodeId) -> u64,
        next: impl Fn(NodeId, &mut dyn FnMut(NodeId)),
    ) -> Ways {
        let mut counted: Vec<Option<(u64, usize)>> = vec![None; self.nodes.len()];
        let mut open = vec![false; self.nodes.len()];
        let mut ways = Ways::default();
        for start in (0..).map(NodeId).take(self.nodes.len()) {
            let mut stack = vec![(start, false)];
            while let Some((id, left)) = stack.pop() {
                let index = id.0 as usize;
                if left {
                    let (mut total, mut longest) = (weigh(id), 0);
                    next(id, &mut |child| {
                        let (ways, chain) = counted[child.0 as usize].unwrap_or((0, 0));
                        total = total.saturating_add(ways);
                        longest = longest.max(chain);
                    });
                    ways.most = ways.most.max(total);
                    ways.longest = ways.longest.max(longest + 1);
                    counted[index] = Some((total, longest + 1));
                    open[index] = false;
                } else if counted[index].is_none() && !open[index] {
                    open[index] = true;
                    stack.push((id, true));
                    next(id, &mut |child| {
                        ways.comes_back |= open[child.0 as usize];
                        if counted[child.0 as usize].is_none() {
                            stack.push((child, false));
                        }
                    });
                }
            }
        }
        ways
    }

    /// Iterates over all direct subschemas: for the same value, for members and for elements.
    fn below(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        self.in_place(id)
            .chain(node.properties.iter().map(|(_, child)| *child))
            .chain(node.patterns.iter().map(|(_, child)| *child))
            .chain(node.additional)
            .chain(node.prefix.iter().copied())
            .chain(node.items)
    }
}

/// True if a document marks anything as secret, at any place.
pub(crate) fn calls_secrets(document: &Value) -> bool {
    match document {
        Value::Object(members) => members.iter().any(|(name, value)| {
            name == "writeOnly" && value == &Value::Bool(true)
                || name == "format" && value == "password"
                || calls_secrets(value)
        }),
        Value::Array(elements) => elements.iter().any(calls_secrets),
        _ => false,
    }
}
