//! A schema in a form that can be walked beside a value: references resolved, names sorted, every
//! subschema numbered.
//!
//! The validator decides what is valid. The outline answers what the validator keeps to itself: which
//! names an object knows, which branch of a union a value is nearest to, what is secret.

use std::collections::{HashMap, HashSet};

use answerback_json::push_token;
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

use super::documents::Documents;
use super::types::Types;

/// A subschema's number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct NodeId(u32);

/// What one subschema says.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a subschema says many independent yes-or-no things"
)]
pub(super) struct SchemaNode {
    /// Where it stands in the schema, as a pointer without references.
    pub(super) place: String,
    /// `true` or `false` in place of an object.
    pub(super) verdict: Option<bool>,
    /// The types allowed; none named means all.
    pub(super) types: Types,
    /// The values of `enum` or `const`.
    pub(super) values: Option<Vec<Value>>,
    properties: Vec<(String, NodeId)>,
    patterns: Vec<(NamePattern, NodeId)>,
    /// Whether it names members at all; an object that names none is a free-form map.
    pub(super) names_members: bool,
    pub(super) additional: Option<NodeId>,
    /// Whether it says itself what becomes of members that nothing names.
    pub(super) rules_the_rest: bool,
    pub(super) required: Vec<String>,
    /// Names that are required when another member is present.
    pub(super) dependent_names: Vec<(String, Vec<String>)>,
    prefix: Vec<NodeId>,
    items: Option<NodeId>,
    /// The target of `$ref`.
    pub(super) reference: Option<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) unions: Vec<Union>,
    pub(super) condition: Option<Condition>,
    /// Subschemas that apply when a member is present.
    pub(super) dependents: Vec<(String, NodeId)>,
    /// What a value must not be; it still may know names and secrets.
    pub(super) negated: Option<NodeId>,
    /// `writeOnly` or `format: password`: the value is never shown.
    pub(super) secret: bool,
    /// Parts that cannot be followed statically: nothing is claimed about names.
    pub(super) opaque: bool,
    /// Rules on scalars, such as `pattern` and `minimum`, which only the validator judges.
    pub(super) constrained: bool,
    /// A `pattern` that only the backtracking engine takes.
    pub(super) goes_back: bool,
    pub(super) title: Option<String>,
}

/// An `anyOf` or `oneOf`.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) keyword: &'static str,
    pub(super) branches: Vec<NodeId>,
}

/// `if` with what follows from it.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A pattern of `patternProperties`, run by the validator's own engine and under its bounds.
#[derive(Debug)]
struct NamePattern(Option<Validator>);

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        // A pattern that could not be compiled alone claims nothing: it knows every name.
        self.0.as_ref().is_none_or(|validator| validator.is_valid(&Value::from(name)))
    }
}

/// All subschemas of a schema.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is so of any subschema, looked up once")]
pub(super) struct SchemaOutline {
    nodes: Vec<SchemaNode>,
    /// The nodes, sorted by their place.
    by_place: Vec<NodeId>,
    /// Stands for every subschema of another document, where there are other documents.
    pub(super) elsewhere: Option<NodeId>,
    has_secrets: bool,
    multiplies: bool,
    recurses: bool,
    goes_back: bool,
    ways_in_place: u64,
    longest_chain: usize,
}

/// The ways through a schema.
#[derive(Clone, Copy, Debug, Default)]
struct Ways {
    most: u64,
    /// The longest of them, in subschemas.
    longest: usize,
    /// Whether one comes back to where it was.
    comes_back: bool,
}

/// Some subschemas, to find out quickly whether another one is among them. Few are compared one by one.
pub(super) struct NodeSet(Option<HashSet<NodeId>>);

impl NodeSet {
    /// So many are compared one by one.
    const FEW: usize = 32;

    pub(super) fn of(nodes: &[NodeId]) -> Self {
        Self((nodes.len() > Self::FEW).then(|| nodes.iter().copied().collect()))
    }

    /// Whether a subschema is new. `nodes` are those inserted so far.
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

/// Beyond so many ways through a schema, listing every branch's findings is weighed first.
const MOST_WAYS: u64 = 4096;

impl SchemaOutline {
    pub(super) const ROOT: NodeId = NodeId(0);

    /// Outlines a schema the validator has accepted. `documents` are those it may refer to;
    /// `compile_pattern` makes a validator of a pattern, `goes_back` tells one that the linear engine does not take.
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
        };
        builder.node(String::new(), schema);
        while let Some((id, value)) = builder.waiting.pop() {
            builder.fill(id, value);
        }
        let mut nodes = builder.nodes;
        if nodes.iter().any(|node| node.opaque)
            && (documents.call_secrets() || calls_secrets(schema))
        {
            // What we cannot follow may lead to what is called secret.
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
            longest_chain: 1,
        };
        let in_place = outline.ways(|id, visit| outline.in_place(id).for_each(visit));
        (outline.ways_in_place, outline.longest_chain) = (in_place.most, in_place.longest);
        if branches {
            // A union's branches are all looked at when it fails. Where unions lie within unions, by
            // recursion or by a ladder of references, the findings multiply with every level.
            let ways = outline.ways(|id, visit| outline.below(id).for_each(visit));
            outline.multiplies = ways.comes_back || ways.most > MOST_WAYS;
            outline.recurses = ways.comes_back;
        }
        outline
    }

    pub(super) fn node(&self, id: NodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    /// The subschema a keyword's place belongs to: the longest place of a subschema that leads to it.
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

    /// Whether a `pattern` anywhere is one that only the backtracking engine takes.
    pub(super) fn goes_back(&self) -> bool {
        self.goes_back
    }

    /// How many `pattern`s only the backtracking engine takes.
    pub(super) fn slow_patterns(&self) -> usize {
        self.nodes.iter().filter(|node| node.goes_back).count()
    }

    pub(super) fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// Whether listing every finding of every branch could take time out of all proportion.
    pub(super) fn multiplies(&self) -> bool {
        self.multiplies
    }

    /// Whether it refers to itself; then the validator remembers what it has seen.
    pub(super) fn recurses(&self) -> bool {
        self.recurses
    }

    /// The subschemas that this one, by itself, applies to a member, through `visit`; whether it names
    /// the member.
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

    /// The subschema that this one, by itself, applies to an element.
    pub(super) fn element(&self, id: NodeId, index: usize) -> Option<NodeId> {
        let node = self.node(id);
        node.prefix.get(index).copied().or(node.items)
    }

    /// Whether this subschema, by itself, asks for a member in some case: the member is known then, even
    /// if nothing describes it.
    pub(super) fn may_require(&self, id: NodeId, name: &str) -> bool {
        let node = self.node(id);
        node.required.iter().any(|required| required == name)
            || node.dependents.iter().any(|(trigger, _)| trigger == name)
            || node.dependent_names.iter().any(|(trigger, names)| {
                trigger == name || names.iter().any(|required| required == name)
            })
    }

    /// The names this subschema lists or asks for.
    pub(super) fn known_names(&self, id: NodeId) -> impl Iterator<Item = &str> {
        let node = self.node(id);
        let dependent = node.dependent_names.iter().flat_map(|(_, names)| names);
        self.names(id)
            .map(|(name, _)| name)
            .chain(node.required.iter().chain(dependent).map(String::as_str))
    }

    /// The names this subschema lists under `properties`, sorted.
    pub(super) fn names(&self, id: NodeId) -> impl Iterator<Item = (&str, NodeId)> {
        self.node(id).properties.iter().map(|(name, child)| (name.as_str(), *child))
    }

    /// Every subschema reached without leaving the value: references, `allOf`, branches, conditions.
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

    /// [`SchemaOutline::in_place`] to the end, with the subschemas given first.
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

    /// The subschema and all that apply whenever it does: references and `allOf`.
    pub(super) fn always_in_place(&self, id: NodeId) -> Vec<NodeId> {
        let mut reached = vec![id];
        let mut next = 0;
        while let Some(id) = reached.get(next).copied() {
            let node = self.node(id);
            for inner in node.reference.iter().chain(&node.all_of) {
                if !reached.contains(inner) {
                    reached.push(*inner);
                }
            }
            next += 1;
        }
        reached
    }

    /// In how many ways one value can be led through subschemas without leaving it: a ladder of
    /// references, each used twice, doubles them with every rung.
    pub(super) fn ways_in_place(&self) -> u64 {
        self.ways_in_place
    }

    /// The longest chain of subschemas that each apply in place of the one before. The validator
    /// recurses along it.
    pub(super) fn longest_chain(&self) -> usize {
        self.longest_chain
    }

    /// The most ways from any subschema to those that `next` names, step by step, and whether some way
    /// comes back to where it was. A way that comes back counts once.
    fn ways(&self, next: impl Fn(NodeId, &mut dyn FnMut(NodeId))) -> Ways {
        let mut counted: Vec<Option<(u64, usize)>> = vec![None; self.nodes.len()];
        let mut open = vec![false; self.nodes.len()];
        let mut ways = Ways::default();
        for start in (0..).map(NodeId).take(self.nodes.len()) {
            let mut stack = vec![(start, false)];
            while let Some((id, left)) = stack.pop() {
                let index = id.0 as usize;
                if left {
                    let (mut total, mut longest) = (1_u64, 0);
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

    /// Every subschema directly below, in place or for members and elements.
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
    /// The subschemas met so far, by where they lie in memory.
    known: HashMap<*const Value, NodeId>,
    waiting: Vec<(NodeId, &'s Value)>,
    anchors: Option<HashMap<&'s str, String>>,
}

impl<'s> Builder<'s> {
    /// The number of the subschema at a place; a new one waits to be filled.
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
        let mut node = SchemaNode::default();
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            // Below an identifier of its own a reference has another base; the validator follows it,
            // we do not.
            let target = if self.is_rebased(place) { None } else { self.resolved(reference) };
            match target {
                Some((target, value)) => node.reference = Some(self.node(target, value)),
                None => node.opaque = true,
            }
            if matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7) {
                // Up to draft 7 a reference replaces whatever stands beside it.
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
                // It reaches only what nothing else names, as `additional` does for one subschema.
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
                // The other form of `dependencies` lists names; those are the validator's matter.
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

    /// Whether something between the root and a place, or at it, has an identifier of its own.
    fn is_rebased(&self, place: &str) -> bool {
        let keyword = if self.draft == Draft::Draft4 { "id" } else { "$id" };
        let ends = place.match_indices('/').map(|(end, _)| end).skip(1).chain([place.len()]);
        ends.filter(|end| *end > 0).any(|end| {
            let own = self.schema.pointer(&place[..end]).and_then(|value| value.get(keyword));
            own.and_then(Value::as_str).is_some_and(|own| !own.starts_with('#'))
        })
    }

    /// The place and value a reference names, if it lies in this schema.
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

/// Whether a document calls anything secret, wherever it says so.
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

/// The lists of names below the names of an object.
fn named_lists(value: &Value) -> Vec<(String, Vec<String>)> {
    let members = value.as_object().into_iter().flatten();
    let lists = members.filter(|(_, names)| names.is_array());
    lists.map(|(name, names)| (name.clone(), strings(names))).collect()
}

/// Every anchor of a schema with its place.
pub(super) fn anchors(schema: &Value) -> HashMap<&str, String> {
    let mut anchors = HashMap::new();
    collect_anchors(schema, &mut String::new(), &mut anchors);
    anchors
}

/// Every `$anchor` (before 2019: `id` as a fragment) with its place.
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

/// A fragment as it stands in a URI, decoded; `None` if that is no text.
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
