//! Reports missing and unknown fields.

use std::collections::HashSet;
use std::rc::Rc;

use answerback_findings::{Severity, ValidationError, call_codes};
use answerback_json::Pointer;
use serde_json::Value;

use super::{CheckOptions, Findings, MOST_FINDINGS, pointer};
use crate::call::argument_preview::{applying, preview_argument};
use crate::call::expected::names;
use crate::call::outline::{NodeId, SchemaOutline};
use crate::call::unknown::{Branches, unknown};
use crate::call::wording;

impl Findings<'_> {
    pub(super) fn missing(&mut self, error: &jsonschema::ValidationError<'_>, name: &str) {
        let parent = pointer(error.instance_path().as_str());
        let schema_path = pointer(error.evaluation_path().as_str());
        let owner = self.owner(error);
        let name_shown = wording::text(name);
        let is_contradiction = self.forbids(&parent, owner, name);
        let reason = self.reason(error, &parent, &schema_path, name);
        let reason = reason.map(|reason| format!(", as {reason}")).unwrap_or_default();
        let message = if is_contradiction {
            format!(
                "Field '{name_shown}' is required{reason}, but the tool's schema also forbids it"
            )
        } else {
            format!("Required field '{name_shown}' is missing{reason}")
        };
        let expected = self.declared(owner, &parent, name).map(|node| self.describe_node(node));
        let mut finding =
            ValidationError::of(&call_codes::REQUIRED_FIELD_MISSING, parent.join(name))
                .with_message(message)
                .with_expected(expected.unwrap_or_else(|| "any value".to_owned()))
                .with_schema_path(schema_path);
        finding.facts.is_contradiction = is_contradiction;
        self.push(finding);
    }

    /// True if a subschema that always applies to the object forbids a member.
    pub(super) fn forbids(&self, parent: &Pointer, owner: NodeId, name: &str) -> bool {
        let outline = &self.schema.outline;
        let mut sure = outline.always_in_place(SchemaOutline::ROOT);
        for token in parent.tokens() {
            let mut below = Vec::new();
            for id in &sure {
                outline.member(*id, &token, |child| below.push(child));
                below.extend(token.parse().ok().and_then(|index| outline.element(*id, index)));
            }
            sure = below.into_iter().flat_map(|id| outline.always_in_place(id)).collect();
        }
        sure.extend(outline.always_in_place(owner));
        sure.into_iter().any(|id| {
            let rules = answerback_json::find(self.schema.source(), &outline.node(id).place);
            let rest = rules.and_then(|rules| rules.get("additionalProperties"));
            rest == Some(&Value::Bool(false)) && !outline.member(id, name, |_| {})
        })
    }

    /// Returns the reason why a member is required, if it is not always required.
    pub(super) fn reason(
        &self,
        error: &jsonschema::ValidationError<'_>,
        parent: &Pointer,
        schema_path: &Pointer,
        name: &str,
    ) -> Option<String> {
        let instance = error.instance().as_object()?;
        let present = |name: &str| format!("'{}' is present", wording::text(name));
        let tokens: Vec<_> = schema_path.tokens().collect();
        let is_keyword = |index: usize| index == 0 || tokens[index - 1] != "properties";
        let rule = (0..tokens.len()).rev().find(|index| {
            is_keyword(*index)
                && matches!(
                    tokens[*index].as_ref(),
                    "then" | "else" | "dependentSchemas" | "dependentRequired" | "dependencies"
                )
        })?;
        let moves = |token: &str| {
            matches!(
                token,
                "properties" | "patternProperties" | "items" | "prefixItems" | "contains"
            ) || token.starts_with("additional")
                || token.starts_with("unevaluated")
        };
        // A rule about an object further up does not concern this object.
        let follows: &[std::borrow::Cow<'_, str>] = &tokens[rule + 1..];
        let named = usize::from(tokens[rule].starts_with("depend"));
        if follows.iter().skip(named).any(|token| moves(token)) {
            return None;
        }
        let holder = tokens[..rule].iter().fold(Pointer::root(), |path, token| path.join(token));
        match tokens[rule].as_ref() {
            keyword @ ("dependentRequired" | "dependencies") => {
                let rules = self.schema.at(&holder.join(keyword))?.as_object()?;
                let trigger = rules.iter().find(|(trigger, names)| {
                    let lists = names.as_array().into_iter().flatten();
                    instance.contains_key(*trigger) && lists.into_iter().any(|other| other == name)
                });
                let trigger = trigger.map(|(trigger, _)| trigger.as_str());
                trigger.or(follows.first().map(AsRef::as_ref)).map(present)
            }
            "dependentSchemas" => follows.first().map(|trigger| present(trigger)),
            "else" => Some("a condition of the schema does not hold".to_owned()),
            _ => {
                let test = self.schema.at(&holder.join("if"))?;
                let tested = test.get("properties").and_then(Value::as_object);
                let equal = tested.into_iter().flatten().find_map(|(name, rules)| {
                    let value = instance.get(name)?;
                    (rules.get("const").is_some() || rules.get("enum").is_some()).then(|| {
                        let shown =
                            preview_argument(value, &parent.join(name), self.schema, &self.preview);
                        format!("'{}' is {shown}", wording::text(name))
                    })
                });
                let required = || {
                    let tested = test.get("required")?.as_array()?;
                    tested.first()?.as_str().map(present)
                };
                let unnamed = || "a condition of the schema holds".to_owned();
                Some(equal.or_else(required).unwrap_or_else(unnamed))
            }
        }
    }

    /// Finds the subschema that declares a member. It searches next to the rule that requires the member first, then
    /// in all subschemas that apply to the object.
    pub(super) fn declared(&self, owner: NodeId, parent: &Pointer, name: &str) -> Option<NodeId> {
        let outline = &self.schema.outline;
        let declares = |id: &NodeId| {
            outline.names(*id).find(|(known, _)| *known == name).map(|(_, child)| child)
        };
        declares(&owner).or_else(|| applying(outline, parent).iter().find_map(declares))
    }

    pub(super) fn unknown(&mut self, options: CheckOptions) {
        let severity = if options.strict { Severity::Error } else { Severity::Warning };
        let is_valid = !self.list.iter().any(ValidationError::is_error);
        let branches = if is_valid { Branches::Fitting } else { Branches::None };
        for field in unknown(&self.schema.outline, self.arguments, branches, MOST_FINDINGS) {
            self.unknown_field(
                &field.place,
                field.name,
                field.value,
                field.schema_path,
                &field.nodes,
                severity,
            );
        }
    }

    pub(super) fn unknown_field(
        &mut self,
        place: &Pointer,
        name: &str,
        value: &Value,
        schema_path: Pointer,
        nodes: &Rc<[NodeId]>,
        severity: Severity,
    ) {
        if self.list.len() >= MOST_FINDINGS {
            return;
        }
        let outline = &self.schema.outline;
        let mut sure = nodes.iter().flat_map(|id| outline.always_in_place(*id));
        let is_contradiction =
            sure.any(|id| outline.node(id).required.iter().any(|required| required == name));
        let expected = self.describe_field_names(nodes);
        let mut finding = ValidationError::of(&call_codes::UNKNOWN_FIELD, place.clone())
            .with_severity(severity)
            .with_message(format!("Unknown field '{}'", wording::text(name)))
            .with_expected(expected)
            .with_actual(self.preview_value(value, place))
            .with_schema_path(schema_path);
        finding.facts.is_contradiction = is_contradiction;
        self.push(finding);
    }

    /// Describes the fields that an object may have. All findings of one object share the description.
    pub(super) fn describe_field_names(&mut self, nodes: &Rc<[NodeId]>) -> String {
        if let Some(words) = self.known.get(nodes) {
            return words.clone();
        }
        let outline = &self.schema.outline;
        let all = outline.all_in_place(nodes);
        let mut seen = HashSet::new();
        let listed = all.iter().flat_map(|id| outline.declared_names(*id));
        let known: Vec<&str> = listed.filter(|name| seen.insert(*name)).collect();
        let words = match known.as_slice() {
            [] => "no such field".to_owned(),
            known => names(known),
        };
        self.known.insert(Rc::clone(nodes), words.clone());
        words
    }
}
