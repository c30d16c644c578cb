//! Finds fields that the schema does not name but does not forbid either.
//!
//! Most tools allow additional fields, so validators silently accept a misspelled optional field.

use std::collections::HashSet;
use std::rc::Rc;

use answerback_json::{Pointer, ValuePath};
use serde_json::{Map, Value};

use super::outline::{NodeId, SchemaOutline};
use super::union::Judge;

/// An unknown field.
pub(super) struct Unknown<'v> {
    /// The place of the field.
    pub(super) place: Pointer,
    pub(super) name: &'v str,
    pub(super) value: &'v Value,
    /// The evaluation path of the `properties` keyword that does not name the field.
    pub(super) schema_path: Pointer,
    /// The subschemas that apply to the object and list the names it may use.
    pub(super) nodes: Rc<[NodeId]>,
}

/// The branches of a union whose names count as known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Branches {
    /// The branches that the value fits, or else the one that it fits best.
    Fitting,
    /// No branch. Unknown fields of an object with branches are not reported: the call is invalid, and other findings
    /// name the intended branch.
    None,
}

/// Finds the unknown fields of a call, up to `most`. An object has none if its schema rules on other fields
/// (`additionalProperties`, `unevaluatedProperties`), or names no fields at all.
pub(super) fn unknown<'v>(
    outline: &SchemaOutline,
    arguments: &'v Value,
    branches: Branches,
    most: usize,
) -> Vec<Unknown<'v>> {
    let judge = Judge::new(outline);
    let mut search =
        UnknownSearch { outline, judge, branches, steps: Vec::new(), found: Vec::new(), most };
    let root = search.step(None, SchemaOutline::ROOT, false);
    search.walk(vec![root], arguments, &ValuePath::Root);
    search.found
}

/// A subschema, with the step that led to it.
struct SchemaStep {
    from: Option<usize>,
    node: NodeId,
    by_reference: bool,
}

struct UnknownSearch<'o, 'v> {
    outline: &'o SchemaOutline,
    judge: Judge<'o>,
    branches: Branches,
    steps: Vec<SchemaStep>,
    found: Vec<Unknown<'v>>,
    most: usize,
}

impl<'v> UnknownSearch<'_, 'v> {
    fn step(&mut self, from: Option<usize>, node: NodeId, by_reference: bool) -> usize {
        self.steps.push(SchemaStep { from, node, by_reference });
        self.steps.len() - 1
    }

    fn walk(&mut self, start: Vec<usize>, value: &'v Value, place: &ValuePath<'_>) {
        // The steps below this value are dropped at the end. No caller needs them, because a finding contains its
        // path as text.
        let mark = self.steps.len();
        match value {
            Value::Object(members) => {
                let applied = self.applied(start, value);
                self.members(&applied, members, place);
            }
            Value::Array(elements) if elements.iter().any(is_container) => {
                let applied = self.applied(start, value);
                for (index, element) in
                    elements.iter().enumerate().filter(|(_, value)| is_container(value))
                {
                    let mut below = Vec::new();
                    for from in &applied {
                        if let Some(child) = self.outline.element(self.steps[*from].node, index) {
                            below.push(self.step(Some(*from), child, false));
                        }
                    }
                    self.walk(below, element, &place.index(index));
                }
            }
            _ => {}
        }
        self.steps.truncate(mark);
    }

    fn members(
        &mut self,
        applied: &[usize],
        members: &'v Map<String, Value>,
        place: &ValuePath<'_>,
    ) {
        let outline = self.outline;
        let nodes = || applied.iter().map(|step| outline.node(self.steps[*step].node));
        let undecided = self.branches == Branches::None;
        let minds = nodes().any(|node| node.names_members)
            && !nodes().any(|node| {
                node.rules_the_rest || node.opaque || (undecided && !node.unions.is_empty())
            });
        let mut owner = None;
        for (name, value) in members {
            let mut below = Vec::new();
            let mut named = false;
            for from in applied {
                let mut children = Vec::new();
                let node = self.steps[*from].node;
                named |= outline.member(node, name, |child| children.push(child));
                // A name that a subschema requires is not unknown.
                named |= outline.may_require(node, name);
                if is_container(value) {
                    for child in children {
                        below.push(self.step(Some(*from), child, false));
                    }
                }
            }
            if minds && !named && self.found.len() < self.most {
                // All unknown fields of one object share the list of subschemas that apply to it.
                let owner = owner.get_or_insert_with(|| self.owner(applied));
                let (schema_path, nodes) = (owner.0.clone(), Rc::clone(&owner.1));
                let place = place.key(name).pointer();
                self.found.push(Unknown { place, name, value, schema_path, nodes });
            }
            if !below.is_empty() {
                self.walk(below, value, &place.key(name));
            }
        }
    }

    /// Returns the evaluation path of the `properties` keyword that applies to an object, and all subschemas that
    /// apply to it.
    fn owner(&self, applied: &[usize]) -> (Pointer, Rc<[NodeId]>) {
        let names = |step: &&usize| self.outline.node(self.steps[**step].node).names_members;
        let schema_path = match applied.iter().find(names) {
            Some(step) => {
                Pointer::try_from(self.path(*step)).unwrap_or_default().join("properties")
            }
            None => Pointer::root(),
        };
        (schema_path, applied.iter().map(|step| self.steps[*step].node).collect())
    }

    /// Returns the evaluation path of a step.
    fn path(&self, step: usize) -> String {
        let mut chain = vec![step];
        while let Some(from) = self.steps[chain[chain.len() - 1]].from {
            chain.push(from);
        }
        let mut path = String::new();
        let mut above = "";
        for step in chain.into_iter().rev() {
            let step = &self.steps[step];
            let place = self.outline.node(step.node).place.as_str();
            path.push_str(if step.by_reference {
                "/$ref"
            } else {
                place.strip_prefix(above).unwrap_or(place)
            });
            above = place;
        }
        path
    }

    /// Collects the subschemas that apply to a value itself. Of a union, it takes the branches that the value fits,
    /// or else the one that it fits best.
    fn applied(&mut self, start: Vec<usize>, value: &Value) -> Vec<usize> {
        let outline = self.outline;
        let mut known: HashSet<NodeId> = start.iter().map(|step| self.steps[*step].node).collect();
        let mut reached = start;
        let mut next = 0;
        while let Some(from) = reached.get(next).copied() {
            next += 1;
            let node = outline.node(self.steps[from].node);
            let condition = node.condition.iter();
            let mut inner: Vec<NodeId> = node.all_of.clone();
            inner.extend(condition.flat_map(|condition| {
                [Some(condition.test), condition.then, condition.otherwise].into_iter().flatten()
            }));
            let present = node.dependents.iter().filter(|(name, _)| value.get(name).is_some());
            inner.extend(present.map(|(_, child)| *child));
            if self.branches == Branches::Fitting {
                for union in &node.unions {
                    inner.extend(self.fitting(&union.branches, value));
                }
            }
            for (child, by_reference) in inner
                .into_iter()
                .map(|child| (child, false))
                .chain(node.reference.map(|child| (child, true)))
            {
                if known.insert(child) {
                    let step = self.step(Some(from), child, by_reference);
                    reached.push(step);
                }
            }
        }
        reached
    }

    fn fitting(&mut self, branches: &[NodeId], value: &Value) -> Vec<NodeId> {
        let fits: Vec<_> = branches
            .iter()
            .map(|branch| (self.judge.fit(&[*branch], value, &mut String::new()), *branch))
            .collect();
        let mut fitting: Vec<NodeId> =
            fits.iter().filter(|(fit, _)| fit.broken == 0).map(|(_, branch)| *branch).collect();
        if fitting.is_empty() {
            fitting.extend(fits.iter().min_by_key(|(fit, _)| *fit).map(|(_, branch)| *branch));
        }
        fitting
    }
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
