//! Reports values that fit no branch of a union, or too many.

use answerback_findings::{ValidationError, call_codes};
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::{Findings, pointer};
use crate::call::expected::options as listed;
use crate::call::outline::NodeId;
use crate::call::schema_error::SchemaError;
use crate::call::types::Types;
use crate::call::union::Judge;
use crate::call::wording;

/// The maximum number of values from all branches of a union in one finding.
const MOST_JOINED: usize = 1_000;
/// The maximum number of tags of one branch that are compared with those of others.
const MOST_TAGS: usize = 16;

impl Findings<'_> {
    /// Adds the findings of the nearest branch if no branch fits, with a note about the other branches.
    pub(super) fn union(
        &mut self,
        error: &jsonschema::ValidationError<'_>,
        keyword: &'static str,
        context: &[Vec<jsonschema::ValidationError<'static>>],
    ) -> Result<(), SchemaError> {
        let owner = self.owner(error);
        let mut judge = Judge::new(&self.schema.outline);
        for branch in context {
            judge.note(branch);
        }
        let place = error.instance_path().as_str();
        let nearest = judge.nearest(owner, keyword, self.arguments, place);
        let fewest = || (0..context.len()).min_by_key(|index| context[*index].len());
        let Some(index) = nearest.filter(|index| *index < context.len()).or_else(fewest) else {
            return Ok(());
        };
        let first = self.list.len();
        for inner in &context[index] {
            self.add(inner)?;
        }
        if self.all_types_wrong(first, error, context)
            || self.all_values_wrong(first, error, context)
        {
            return Ok(());
        }
        self.join_tags(first, context, index);
        self.join_missing_tags(first, error, owner, keyword, context);
        // For nested unions, a message names only the two innermost choices, to stay short.
        if let Some(finding) = self.list.get(first)
            && context.len() > 1
            && finding.message.matches(" (read as ").count() < 2
            && let Some(note) = self.alternatives(owner, keyword, index)
        {
            let message = format!("{} ({note})", finding.message);
            self.list[first].message = message;
        }
        Ok(())
    }

    /// Merges the findings into one that names all types, if every branch requires another type.
    pub(super) fn all_types_wrong(
        &mut self,
        first: usize,
        error: &jsonschema::ValidationError<'_>,
        context: &[Vec<jsonschema::ValidationError<'static>>],
    ) -> bool {
        let at_union = |inner: &&jsonschema::ValidationError<'static>| {
            inner.instance_path() == error.instance_path()
        };
        let mut types = Types::NONE;
        for branch in context {
            let asked = branch.iter().filter(at_union).find_map(|inner| match inner.kind() {
                ValidationErrorKind::Type { kind } => Some(wording::types(kind)),
                _ => None,
            });
            let Some(asked) = asked else { return false };
            types = types.with(asked);
        }
        let expected = self.expected(error);
        let Some(finding) = self.list[first..]
            .iter_mut()
            .find(|finding| finding.error_code == call_codes::TYPE_MISMATCH.code)
        else {
            return false;
        };
        finding.message =
            format!("Type mismatch: expected {types}, got {}", Types::name_of(error.instance()));
        finding.expected_value = Some(expected);
        finding.facts.types = types.names();
        true
    }

    /// Lists the tags of all branches in the finding, if the value of a tag fits no branch. It leaves out branches
    /// that also reject other tags, because changing this tag alone would not help.
    pub(super) fn join_tags(
        &mut self,
        first: usize,
        context: &[Vec<jsonschema::ValidationError<'static>>],
        index: usize,
    ) {
        let tags =
            |branch: &'_ [jsonschema::ValidationError<'static>]| -> Vec<(String, Vec<Value>)> {
                let tag = |error: &jsonschema::ValidationError<'static>| {
                    let place = error.instance_path().as_str().to_owned();
                    permitted_values(error.kind()).map(|values| (place, values))
                };
                // It takes one tag more than the limit, to detect a branch with too many.
                branch.iter().filter_map(tag).take(MOST_TAGS + 1).collect()
            };
        if context.len() < 2 || self.list[first..].iter().all(|finding| !is_about_values(finding)) {
            return;
        }
        let mine = tags(&context[index]);
        if mine.len() > MOST_TAGS {
            return;
        }
        let all: Vec<_> = context.iter().map(|branch| tags(branch)).collect();
        for (place, own) in &mine {
            let mut values = own.clone();
            for branch in &all {
                let is_alone =
                    branch.iter().all(|(other, _)| mine.iter().any(|(known, _)| known == other));
                let listed = branch.iter().filter(|(other, _)| is_alone && other == place);
                for value in listed.flat_map(|(_, listed)| listed) {
                    if values.len() < MOST_JOINED && !values.contains(value) {
                        values.push(value.clone());
                    }
                }
            }
            let finding = self.list[first..]
                .iter_mut()
                .find(|finding| is_about_values(finding) && finding.field_path.as_str() == place);
            if let Some(finding) = finding.filter(|_| values.len() > own.len()) {
                finding.expected_value = Some(listed(&values));
                finding.facts.values = Some(values.into());
            }
        }
    }

    /// Lists the tags of the branches that miss a tag in the finding about the missing field.
    pub(super) fn join_missing_tags(
        &mut self,
        first: usize,
        error: &jsonschema::ValidationError<'_>,
        owner: NodeId,
        keyword: &str,
        context: &[Vec<jsonschema::ValidationError<'static>>],
    ) {
        let outline = &self.schema.outline;
        let parent = pointer(error.instance_path().as_str());
        let Some(union) = outline.node(owner).unions.iter().find(|union| union.keyword == keyword)
        else {
            return;
        };
        let findings = self.list[first..].iter_mut();
        for finding in
            findings.filter(|finding| finding.error_code == call_codes::REQUIRED_FIELD_MISSING.code)
        {
            let Some((place, name)) = finding.field_path.split_last() else { continue };
            if place != parent {
                continue;
            }
            let mut values: Vec<Value> = Vec::new();
            for (branch, errors) in union.branches.iter().zip(context) {
                let misses = errors.iter().any(|error| {
                    let is_here = error.instance_path().as_str() == parent.as_str();
                    is_here && matches!(error.kind(), ValidationErrorKind::Required { property } if *property == *name)
                });
                let listed = outline
                    .all_in_place(&[*branch])
                    .into_iter()
                    .flat_map(|id| outline.names(id))
                    .filter(|(known, _)| misses && *known == name)
                    .flat_map(|(_, child)| outline.always_in_place(child))
                    .filter_map(|id| outline.node(id).values.as_deref());
                for value in listed.flatten() {
                    if values.len() < MOST_JOINED && !values.contains(value) {
                        values.push(value.clone());
                    }
                }
            }
            if values.len() > 1 {
                finding.expected_value = Some(listed(&values));
                finding.facts.values = Some(values.into());
            }
        }
    }

    /// Merges the findings into one that lists all values, if every branch permits other values.
    pub(super) fn all_values_wrong(
        &mut self,
        first: usize,
        error: &jsonschema::ValidationError<'_>,
        context: &[Vec<jsonschema::ValidationError<'static>>],
    ) -> bool {
        let mut values = Vec::new();
        for branch in context {
            let [only] = branch.as_slice() else { return false };
            match only.kind() {
                _ if only.instance_path() != error.instance_path() => return false,
                ValidationErrorKind::Enum { options } => {
                    values.extend(options.as_array().into_iter().flatten().cloned());
                }
                ValidationErrorKind::Constant { expected_value } => {
                    values.push((**expected_value).clone());
                }
                _ => return false,
            }
        }
        let Some(finding) = self.list.get_mut(first) else { return false };
        finding.expected_value = Some(listed(&values));
        finding.facts.values = Some(values.into());
        true
    }

    /// Returns the note about the choice of a branch, such as "read as 'circle'; alternatives: 'square', 'line'".
    pub(super) fn alternatives(
        &self,
        owner: NodeId,
        keyword: &str,
        index: usize,
    ) -> Option<String> {
        const MOST_NAMED: usize = 4;
        let outline = &self.schema.outline;
        let union = outline.node(owner).unions.iter().find(|union| union.keyword == keyword)?;
        let names: Vec<String> =
            union.branches.iter().map(|branch| self.branch_name(*branch)).collect();
        let chosen = names.get(index)?;
        let others: Vec<&str> =
            names.iter().filter(|name| *name != chosen).map(String::as_str).collect();
        if others.is_empty() {
            return Some(format!("read as option {} of {}", index + 1, names.len()));
        }
        let listed = others[..others.len().min(MOST_NAMED)].join(", ");
        let more = match others.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("read as {chosen}; alternatives: {listed}{more}"))
    }

    /// Returns a name for a branch: its title, its tag, its name as a definition, or its description.
    pub(super) fn branch_name(&self, branch: NodeId) -> String {
        let outline = &self.schema.outline;
        let applied = outline.all_in_place(&[branch]);
        if let Some(title) = applied.iter().find_map(|id| outline.node(*id).title.as_deref()) {
            return format!("'{}'", wording::text(title));
        }
        let tag =
            applied.iter().flat_map(|id| outline.names(*id)).find_map(
                |(name, child)| match outline.node(child).values.as_deref() {
                    Some([value]) => Some(format!(
                        "{} {}",
                        wording::text(name),
                        answerback_findings::preview(value)
                    )),
                    _ => None,
                },
            );
        if let Some(tag) = tag {
            return tag;
        }
        if let Some(target) = outline.node(branch).reference
            && let Some((_, name)) = outline.node(target).place.rsplit_once('/')
        {
            return format!("'{}'", wording::text(&name.replace("~1", "/").replace("~0", "~")));
        }
        let mut words = self.describe_node(branch);
        if let Some((end, _)) = words.char_indices().nth(60) {
            words.truncate(end);
            words.push_str("...");
        }
        words
    }

    /// Adds the finding for a value that fits more than one branch of a `oneOf`.
    pub(super) fn too_many(
        &mut self,
        error: &jsonschema::ValidationError<'_>,
        context: &[Vec<jsonschema::ValidationError<'static>>],
    ) {
        let owner = self.owner(error);
        let union =
            self.schema.outline.node(owner).unions.iter().find(|union| union.keyword == "oneOf");
        let branches = union.map_or(&[][..], |union| union.branches.as_slice());
        let fitting: Vec<usize> =
            (0..context.len()).filter(|index| context[*index].is_empty()).collect();
        let mut judge = Judge::new(&self.schema.outline);
        let nearest = judge.nearest(owner, "oneOf", self.arguments, error.instance_path().as_str());
        let mut schema_path = pointer(error.evaluation_path().as_str());
        if let Some(nearest) = nearest {
            schema_path = schema_path.join(&nearest.to_string());
        }
        let names: Vec<String> = fitting
            .iter()
            .take(5)
            .map(|index| match branches.get(*index) {
                Some(branch) => format!("{} ({})", index + 1, self.branch_name(*branch)),
                None => (index + 1).to_string(),
            })
            .collect();
        let place = pointer(error.instance_path().as_str());
        let shown = self.preview_value(error.instance(), &place);
        let message = format!(
            "Value matches {} options; must match exactly one: {}",
            fitting.len(),
            names.join(", ")
        );
        let finding = ValidationError::of(&call_codes::CONSTRAINT_VIOLATION, place)
            .with_message(message)
            .with_expected(format!("exactly one of {} options", context.len()))
            .with_actual(shown)
            .with_schema_path(schema_path);
        self.push(finding);
    }
}

/// Returns the values that a failed `enum` or `const` permits.
fn permitted_values(kind: &ValidationErrorKind) -> Option<Vec<Value>> {
    match kind {
        ValidationErrorKind::Enum { options } => options.as_array().cloned(),
        ValidationErrorKind::Constant { expected_value } => Some(vec![(**expected_value).clone()]),
        _ => None,
    }
}

fn is_about_values(finding: &ValidationError) -> bool {
    finding.error_code == call_codes::INVALID_ENUM_VALUE.code
}
