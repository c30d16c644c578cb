//! Builds the outline of a schema, one subschema after the other.

use std::collections::HashMap;

use answerback_json::push_token;
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

use super::anchors::{anchors, percent_decoded};
use super::{ConditionalSchemas, NamePattern, NodeId, NodeWeight, SchemaNode, Union};
use crate::call::types::Types;

pub(super) struct OutlineBuilder<'s> {
    pub(super) schema: &'s Value,
    pub(super) draft: Draft,
    pub(super) compile_pattern: &'s dyn Fn(&str) -> Option<Validator>,
    pub(super) goes_back: &'s dyn Fn(&str) -> bool,
    pub(super) nodes: Vec<SchemaNode>,
    /// The numbers of the known subschemas, by their address in memory.
    pub(super) known: HashMap<*const Value, NodeId>,
    pub(super) waiting: Vec<(NodeId, &'s Value)>,
    pub(super) anchors: Option<HashMap<&'s str, String>>,
    /// The number of values in the whole schema.
    pub(super) root_size: u64,
}

impl<'s> OutlineBuilder<'s> {
    /// Returns the number of the subschema at a place. A new subschema is queued to be filled later.
    pub(super) fn node(&mut self, place: String, value: &'s Value) -> NodeId {
        let next = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let id = *self.known.entry(std::ptr::from_ref(value)).or_insert(next);
        if id != next {
            return id;
        }
        self.nodes.push(SchemaNode { place, ..SchemaNode::default() });
        self.waiting.push((id, value));
        id
    }

    pub(super) fn fill(&mut self, id: NodeId, value: &'s Value) {
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
            SchemaNode { weight: NodeWeight::of(schema, self.root_size), ..SchemaNode::default() };
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
            node.condition = Some(ConditionalSchemas {
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
                node.dependent_names.extend(lists_by_name(value));
                node.constrained = true;
            }
            "dependentSchemas" | "dependencies" => {
                if keyword == "dependencies" {
                    node.dependent_names.extend(lists_by_name(value));
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
fn lists_by_name(value: &Value) -> Vec<(String, Vec<String>)> {
    let members = value.as_object().into_iter().flatten();
    let lists = members.filter(|(_, names)| names.is_array());
    lists.map(|(name, names)| (name.clone(), strings(names))).collect()
}
