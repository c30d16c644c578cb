//! The outline of a schema, which can be walked together with a value: references resolved, names sorted, every
//! subschema numbered.
//!
//! The validator decides if a value is valid. The outline answers questions that the validator does not: the known
//! names of an object, the branch of a union nearest to a value, and the secret fields.

use std::collections::{HashMap, HashSet};

use answerback_json::push_token;
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

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
    pub(super) condition: Option<Condition>,
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
    pub(super) weight: Weight,
}

/// The work for one value under one subschema that its inner subschemas do not account for, in steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// The steps for the value itself.
    pub(super) value: u64,
    /// The steps for each member of an object.
    pub(super) member: u64,
    /// The steps for each element of an array.
    pub(super) element: u64,
    /// The size of all findings that the value itself can have.
    pub(super) findings: u64,
}

impl Weight {
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
pub(super) struct Condition {
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
        let mut builder = Builder {
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
    pub(super) fn known_names(&self, id: NodeId) -> impl Iterator<Item = &str> {
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

struct Builder<'s> {
    schema: &'s Value,
    draft: Draft,
    compile_pattern: &'s dyn Fn(&str) -> Option<Validator>,
    goes_back: &'s dyn Fn(&str) -> bool,
    nodes: Vec<SchemaNode>,
    /// The numbers of the known subschemas, by their address in memory.
    known: HashMap<*const Value, NodeId>,
    waiting: Vec<(NodeId, &'s Value)>,
    anchors: Option<HashMap<&'s str, String>>,
    /// The number of values in the whole schema.
    root_size: u64,
}

impl<'s> Builder<'s> {
    /// Returns the number of the subschema at a place. A new subschema is queued to be filled later.
    fn node(&mut self, place: String, value: &'s Value) -> NodeId {
        let next = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let id = *self.known.entry(std::ptr::from_ref(value)).or_insert(next);
        if id != next {
            return id;
        }
        self.nodes.push(SchemaNode { place, ..SchemaNode::default() });
        self.waiting.push((id, value));
        id
    }

    fn fill(&mut self, id: NodeId, value: &'s Value) {
        let place = std::mem::take(&mut self.nodes[id.0 as usize].place);
        let mut node = match value {
            Value::Bool(verdict) => SchemaNode { verdict: Some(*verdict), ..SchemaNode::default() },
            Value::Object(schema) => self.outlined(&place, schema),
            _ => SchemaNode { opaque: true, ..SchemaNode::default() },
        };
        node.place = place;
        self.nodes[id.0 as usize] = node;
    }

    fn outlined(&mut self, place: &str, schema: &'s Map<String, Value>) -> SchemaNode {
        let mut node =
            SchemaNode { weight: Weight::of(schema, self.root_size), ..SchemaNode::default() };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            // Below a subschema with its own identifier, a reference has another base. The validator follows it; the
            // outline does not.
            let target = if self.is_rebased(place) { None } else { self.resolved(reference) };
            match target {
                Some((target, value)) => node.reference = Some(self.node(target, value)),
                None => node.opaque = true,
            }
            if matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7) {
                // Up to draft 7, a reference overrides all keywords next to it.
                return node;
            }
        }
        for (keyword, value) in schema {
            self.keyword(&mut node, place, keyword, value);
        }
        if let Some(test) = schema.get("if") {
            node.condition = Some(Condition {
                test: self.below(place, "if", test),
                then: schema.get("then").map(|value| self.below(place, "then", value)),
                otherwise: schema.get("else").map(|value| self.below(place, "else", value)),
            });
        }
        node.properties.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        node
    }

    fn keyword(&mut self, node: &mut SchemaNode, place: &str, keyword: &str, value: &'s Value) {
        match keyword {
            "type" => node.types = Types::of_keyword(value),
            "const" => node.values = Some(vec![value.clone()]),
            "enum" => node.values = value.as_array().cloned(),
            "required" => node.required = strings(value),
            "title" => node.title = value.as_str().map(str::to_owned),
            "writeOnly" => node.secret |= value == &Value::Bool(true),
            "format" => {
                node.secret |= value == "password";
                node.constrained = true;
            }
            "properties" => {
                node.names_members = true;
                node.properties = self.all_below(place, keyword, value, |_| true);
            }
            "patternProperties" => {
                node.names_members = true;
                for (pattern, child) in self.all_below(place, keyword, value, |_| true) {
                    node.patterns.push((NamePattern((self.compile_pattern)(&pattern)), child));
                }
            }
            "additionalProperties" => {
                node.rules_the_rest = true;
                node.additional = Some(self.below(place, keyword, value));
            }
            "unevaluatedProperties" => {
                node.rules_the_rest = true;
                // It applies only to unnamed members, as `additional` does for a single subschema.
                let rest = self.below(place, keyword, value);
                node.additional.get_or_insert(rest);
            }
            "items" if value.is_array() => node.prefix = self.list_below(place, keyword, value),
            "prefixItems" => node.prefix = self.list_below(place, keyword, value),
            "items" | "additionalItems" | "unevaluatedItems" => {
                let rest = self.below(place, keyword, value);
                node.items.get_or_insert(rest);
            }
            "allOf" => node.all_of = self.list_below(place, keyword, value),
            "anyOf" | "oneOf" => {
                let keyword = if keyword == "anyOf" { "anyOf" } else { "oneOf" };
                let branches = self.list_below(place, keyword, value);
                node.unions.push(Union { keyword, branches });
            }
            "dependentRequired" => {
                node.dependent_names.extend(named_lists(value));
                node.constrained = true;
            }
            "dependentSchemas" | "dependencies" => {
                if keyword == "dependencies" {
                    node.dependent_names.extend(named_lists(value));
                }
                // The other form of `dependencies` lists names, which `dependent_names` already holds.
                let dependents = self.all_below(place, keyword, value, |value| !value.is_array());
                node.dependents.extend(dependents);
                node.constrained = true;
            }
            "not" => {
                node.negated = Some(self.below(place, keyword, value));
                node.constrained = true;
            }
            "pattern" => {
                node.goes_back = value.as_str().is_some_and(self.goes_back);
                node.constrained = true;
            }
            "$dynamicRef" | "$recursiveRef" => node.opaque = true,
            "$ref" | "$defs" | "definitions" | "description" | "default" | "examples" | "then"
            | "else" | "if" => {}
            _ => node.constrained = true,
        }
    }

    fn below(&mut self, place: &str, keyword: &str, value: &'s Value) -> NodeId {
        self.node(joined(place, keyword), value)
    }

    fn all_below(
        &mut self,
        place: &str,
        keyword: &str,
        value: &'s Value,
        is_schema: impl Fn(&Value) -> bool,
    ) -> Vec<(String, NodeId)> {
        let Some(members) = value.as_object() else { return Vec::new() };
        let place = joined(place, keyword);
        members
            .iter()
            .filter(|(_, value)| is_schema(value))
            .map(|(name, value)| (name.clone(), self.below(&place, name, value)))
            .collect()
    }

    fn list_below(&mut self, place: &str, keyword: &str, value: &'s Value) -> Vec<NodeId> {
        let Some(elements) = value.as_array() else { return Vec::new() };
        let place = joined(place, keyword);
        let numbered = elements.iter().enumerate();
        numbered.map(|(index, value)| self.below(&place, &index.to_string(), value)).collect()
    }

    /// True if a subschema between the root and a place, or at it, has its own identifier.
    fn is_rebased(&self, place: &str) -> bool {
        let keyword = if self.draft == Draft::Draft4 { "id" } else { "$id" };
        let ends = place.match_indices('/').map(|(end, _)| end).skip(1).chain([place.len()]);
        ends.filter(|end| *end > 0).any(|end| {
            let own = self.schema.pointer(&place[..end]).and_then(|value| value.get(keyword));
            own.and_then(Value::as_str).is_some_and(|own| !own.starts_with('#'))
        })
    }

    /// Returns the place and value that a reference names, if they are in this schema.
    fn resolved(&mut self, reference: &str) -> Option<(String, &'s Value)> {
        let own = self.schema.get("$id").or_else(|| self.schema.get("id")).and_then(Value::as_str);
        let own = own.map(|own| own.trim_end_matches('#')).filter(|own| !own.is_empty());
        let fragment = own.and_then(|own| reference.strip_prefix(own)).unwrap_or(reference);
        if fragment.is_empty() {
            return Some((String::new(), self.schema));
        }
        let fragment = fragment.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let place = percent_decoded(fragment)?;
            let value = self.schema.pointer(&place)?;
            return Some((place, value));
        }
        let schema = self.schema;
        let anchors = self.anchors.get_or_insert_with(|| anchors(schema));
        let place = anchors.get(fragment)?.clone();
        let value = schema.pointer(&place)?;
        Some((place, value))
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

fn joined(place: &str, token: &str) -> String {
    let mut text = String::with_capacity(place.len() + 1 + token.len());
    text.push_str(place);
    push_token(&mut text, token);
    text
}

fn strings(value: &Value) -> Vec<String> {
    let names = value.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the members of an object that are lists of names.
fn named_lists(value: &Value) -> Vec<(String, Vec<String>)> {
    let members = value.as_object().into_iter().flatten();
    let lists = members.filter(|(_, names)| names.is_array());
    lists.map(|(name, names)| (name.clone(), strings(names))).collect()
}

/// Collects every anchor of a schema with its place.
pub(super) fn anchors(schema: &Value) -> HashMap<&str, String> {
    let mut anchors = HashMap::new();
    collect_anchors(schema, &mut String::new(), &mut anchors);
    anchors
}

/// Collects every `$anchor` (before 2019-09: `id` as a fragment) with its place.
fn collect_anchors<'s>(
    value: &'s Value,
    place: &mut String,
    anchors: &mut HashMap<&'s str, String>,
) {
    let length = place.len();
    match value {
        Value::Object(members) => {
            for keyword in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                let Some(name) = members.get(keyword).and_then(Value::as_str) else { continue };
                let name =
                    if keyword.ends_with("nchor") { Some(name) } else { name.strip_prefix('#') };
                if let Some(name) = name {
                    anchors.entry(name).or_insert_with(|| place.clone());
                }
            }
            for (name, value) in members {
                push_token(place, name);
                collect_anchors(value, place, anchors);
                place.truncate(length);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                push_token(place, &index.to_string());
                collect_anchors(value, place, anchors);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// Decodes the percent-encoding of a URI fragment. Returns `None` if the result is not valid UTF-8.
pub(super) fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
