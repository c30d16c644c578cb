use std::collections::BTreeSet;

use answerback_findings::{ValidationError, preview};
use answerback_json::Pointer;
use serde_json::{Map, Value, json};

use super::condition::{Condition, ConditionResult, conditions};
use super::display;
use super::sample::Sampler;
use super::schema::{Located, SchemaParts};
use super::suggestion::{Only, is_near_name, suggestion};

/// The largest number of conditions reported for one field.
const MOST_CONDITIONS: usize = 12;
/// The largest number of valid examples shown for one field.
const MOST_EXAMPLES: usize = 2;

/// One invalid place in the arguments, with everything that the schema says about it.
pub(super) struct Field<'f, 's> {
    pub(super) place: Pointer,
    /// The place as people write it, such as `options.tags[2]`.
    pub(super) name: String,
    /// The first finding at this place.
    pub(super) finding: &'f ValidationError,
    /// The value that was sent, or `None` if it is missing.
    pub(super) value: Option<&'f Value>,
    /// True if the value must not be shown.
    pub(super) is_secret: bool,
    mistake: FieldProblem<'s>,
    /// The parts of the schema that apply to the value.
    parts: Vec<&'s Value>,
    /// A schema with the allowed values of all branches of a union. It replaces `parts` if the check compared
    /// several branches.
    joined: Option<Value>,
}

/// The kind of problem that a field has.
enum FieldProblem<'s> {
    /// The value is present but invalid.
    Wrong,
    /// The value is missing.
    Missing,
    /// The member is present, but the schema of its object, `owner`, does not define it.
    Unknown { owner: &'s Value },
}

/// A condition on a field with the result of its check.
pub(super) struct CheckedCondition {
    pub(super) name: &'static str,
    pub(super) sentence: String,
    pub(super) constraint: Option<Value>,
    pub(super) verdict: Option<ConditionResult>,
}

impl CheckedCondition {
    fn fails(&self) -> bool {
        matches!(self.verdict, Some(ConditionResult::Holds(false)))
    }
}

/// Groups findings by field. Returns at most `most` fields, and the number of fields that were left out.
pub(super) fn fields<'f, 's>(
    findings: &[&'f ValidationError],
    schema: &SchemaParts<'s>,
    arguments: &'f Value,
    most: usize,
) -> (Vec<Field<'f, 's>>, usize) {
    let mut fields: Vec<Field<'f, 's>> = Vec::new();
    let mut more: BTreeSet<&Pointer> = BTreeSet::new();
    for finding in findings {
        let is_full = fields.len() == most;
        match fields.iter_mut().find(|field| field.place == finding.field_path) {
            None if is_full => {
                more.insert(&finding.field_path);
            }
            None => fields.push(Field::new(finding, schema, arguments)),
            Some(field) => {
                for part in Field::new(finding, schema, arguments).parts {
                    if !field.parts.iter().any(|seen| std::ptr::eq(*seen, part)) {
                        field.parts.push(part);
                    }
                }
            }
        }
    }
    (fields, more.len())
}

impl<'f, 's> Field<'f, 's> {
    pub(super) fn new(
        finding: &'f ValidationError,
        schema: &SchemaParts<'s>,
        arguments: &'f Value,
    ) -> Self {
        let place = finding.field_path.clone();
        let value = place.find(arguments);
        let located = finding.schema_path.as_ref().and_then(|path| schema.locate(path));
        let (mistake, parts) = match located {
            None if value.is_none() => (FieldProblem::Missing, Vec::new()),
            None => (FieldProblem::Wrong, Vec::new()),
            Some(located) => mistake(&place, value, &located, schema, arguments),
        };
        let mut is_secret = display::is_secret_place(&place);
        for facet in parts.iter().flat_map(|part| schema.facets(part)) {
            is_secret |= facet.get("writeOnly") == Some(&json!(true))
                || facet.get("format") == Some(&json!("password"));
        }
        let mut parts = parts;
        if !finding.facts.types.is_empty() {
            // Every branch asks for another type, so no branch is more useful than the whole.
            parts.truncate(1);
        }
        let joined = finding.facts.values.as_deref().map(|values| json!({"enum": values}));
        let name = display::name(&place, "arguments");
        Self { place, name, finding, value, is_secret, mistake, parts, joined }
    }

    /// Returns the schema objects that apply to the value: those of `joined` if it is set, otherwise those of
    /// `parts`.
    fn facets<'p>(&'p self, schema: &SchemaParts<'s>) -> Vec<&'p Map<String, Value>>
    where
        's: 'p,
    {
        match &self.joined {
            Some(joined) => joined.as_object().into_iter().collect(),
            None => self.parts.iter().flat_map(|part| schema.facets(part)).collect(),
        }
    }

    /// True if the place lies in a branch of a union. Its conditions are then only one of several
    /// alternatives.
    fn is_in_branch(&self) -> bool {
        let path = self.finding.schema_path.as_ref();
        path.is_some_and(|path| path.tokens().any(|token| token == "anyOf" || token == "oneOf"))
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.mistake, FieldProblem::Missing)
    }

    /// Returns the invalid value if it may be shown. Returns `None` for an unknown member, because its name
    /// is wrong, not its value.
    pub(super) fn wrong_value(&self) -> Option<&'f Value> {
        self.value.filter(|_| matches!(self.mistake, FieldProblem::Wrong) && !self.is_secret)
    }

    /// Returns the conditions on this field. Each has a result if there is a value to check.
    pub(super) fn checked(&self, schema: &SchemaParts<'s>) -> Vec<CheckedCondition> {
        let mut checked: Vec<CheckedCondition> = Vec::new();
        if let FieldProblem::Unknown { owner } = self.mistake {
            checked.extend(self.unknown(owner, schema));
        }
        if self.is_missing() && !self.place.is_root() {
            checked.push(CheckedCondition {
                name: "present",
                sentence: display::sentence(&format!("{} must be given", self.name)),
                constraint: None,
                verdict: Some(ConditionResult::Holds(false)),
            });
        }
        for facet in self.facets(schema) {
            for condition in conditions(&self.name, facet) {
                let is_told = checked.iter().any(|told| told.sentence == condition.sentence);
                if !is_told && checked.len() < MOST_CONDITIONS {
                    checked.push(self.evaluate(condition, schema));
                }
            }
        }
        if checked.is_empty() {
            checked.push(self.condition_of_finding());
        }
        checked
    }

    fn evaluate(&self, condition: Condition, schema: &SchemaParts<'s>) -> CheckedCondition {
        let verdict = self.value.and_then(|value| condition.evaluate(schema, value));
        let Condition { name, sentence, constraint, .. } = condition;
        CheckedCondition { name, sentence, constraint, verdict }
    }

    /// Returns the condition that an unknown member breaks: its object must have no other members than the
    /// known ones.
    fn unknown(&self, owner: &'s Value, schema: &SchemaParts<'s>) -> Option<CheckedCondition> {
        let names = declared_names(owner, schema);
        let (parent, _) = self.place.split_last()?;
        let parent = display::name(&parent, "arguments");
        let sentence = if names.is_empty() {
            format!("{parent} must not have {}", self.name)
        } else {
            format!("{parent} must have no members other than {}", display::names(names))
        };
        let verdict = Some(ConditionResult::Holds(false));
        let sentence = display::sentence(&sentence);
        Some(CheckedCondition { name: "known_members", sentence, constraint: None, verdict })
    }

    /// Builds a condition from the finding itself, for a field without conditions from the schema.
    fn condition_of_finding(&self) -> CheckedCondition {
        let sentence = match &self.finding.expected_value {
            Some(expected) => format!("{} must be: {expected}", self.name),
            None => self.finding.message.clone(),
        };
        let verdict = Some(ConditionResult::Holds(false));
        CheckedCondition {
            name: "valid",
            sentence: display::sentence(&sentence),
            constraint: None,
            verdict,
        }
    }

    /// Returns the `format` that the schema names.
    pub(super) fn format(&self, schema: &SchemaParts<'s>) -> Option<&'s str> {
        let facets = self.parts.iter().flat_map(|part| schema.facets(part));
        facets.into_iter().find_map(|facet| facet.get("format")?.as_str())
    }

    /// True if the schema describes a string by more than its length.
    fn describes_texts(&self, schema: &SchemaParts<'s>) -> bool {
        const TELLING: [&str; 7] =
            ["enum", "const", "examples", "default", "format", "pattern", "not"];
        let facets = self.facets(schema);
        facets.iter().any(|facet| TELLING.iter().any(|keyword| facet.contains_key(*keyword)))
    }

    /// Returns values that the schema accepts here, each validated. If only the length of a string is known,
    /// there are no examples, because they would be made up.
    pub(super) fn examples(&self, schema: &SchemaParts<'s>) -> Vec<Value> {
        if self.finding.facts.is_contradiction {
            return Vec::new();
        }
        let Some(whole) = self.joined.as_ref().or_else(|| self.parts.first().copied()) else {
            return Vec::new();
        };
        let sampler = Sampler::new(schema);
        let describes_texts = self.describes_texts(schema);
        // A value that the schema's author wrote for a secret field may be a real secret.
        let find = |part: &Value| {
            let found = sampler.valid(part, MOST_EXAMPLES, !self.is_secret);
            let is_known = |value: &Value| describes_texts || !value.is_string();
            found
                .into_iter()
                .filter(|value| display::is_showable(value) && is_known(value))
                .collect::<Vec<_>>()
        };
        let several = self.joined.is_none() && self.parts.len() > 1;
        let near = if several { find(&self.all_parts()) } else { Vec::new() };
        if near.is_empty() { find(whole) } else { near }
    }

    /// Returns the value that the caller certainly meant, if there is one and it may be shown.
    pub(super) fn suggestion(&self, schema: &SchemaParts<'s>) -> Option<Value> {
        if self.is_secret
            || self.parts.is_empty()
            || self.finding.facts.is_omittable
            || self.finding.facts.is_contradiction
        {
            return None;
        }
        let facets = self.facets(schema);
        let validator = schema.validator(&self.all_parts())?;
        let only = if self.is_in_branch() { Only::OneOfSeveral } else { Only::Certain };
        suggestion(self.value, &facets, only, &validator).filter(display::is_showable)
    }

    /// Combines all parts into one schema.
    fn all_parts(&self) -> Value {
        if let Some(joined) = &self.joined {
            return joined.clone();
        }
        match self.parts.as_slice() {
            [only] => (*only).clone(),
            parts => json!({"allOf": parts}),
        }
    }

    /// Returns the known name that the unknown one resembles, if exactly one does.
    fn intended_name(&self, schema: &SchemaParts<'s>) -> Option<&'s str> {
        let FieldProblem::Unknown { owner } = self.mistake else { return None };
        let (_, last) = self.place.split_last()?;
        let mut meant =
            declared_names(owner, schema).into_iter().filter(|known| is_near_name(known, &last));
        let first = meant.next()?;
        meant.next().is_none().then_some(first)
    }

    /// Returns the place that an unknown member should be renamed to.
    pub(super) fn renamed(&self, schema: &SchemaParts<'s>) -> Option<Pointer> {
        let (parent, _) = self.place.split_last()?;
        Some(parent.join(self.intended_name(schema)?))
    }

    /// Describes how to fix the field, as one step of the solution.
    pub(super) fn step(
        &self,
        checked: &[CheckedCondition],
        example: Option<&Value>,
        suggested: Option<&Value>,
        schema: &SchemaParts<'s>,
    ) -> String {
        let name = &self.name;
        let example = example.map(|example| format!(" (for example {})", preview(example)));
        let example = example.unwrap_or_default();
        let told = |checked: Vec<&CheckedCondition>| {
            checked.iter().map(|one| one.sentence.as_str()).collect::<Vec<_>>().join("; ")
        };
        if self.finding.facts.is_contradiction {
            return display::sentence(&format!(
                "Report that the tool's schema both requires and forbids {name}"
            ));
        }
        if self.finding.facts.is_omittable {
            return display::sentence(&format!("Leave out {name} unless you have a value for it"));
        }
        let step = match (&self.mistake, suggested) {
            (FieldProblem::Missing, Some(value)) => {
                format!("Add {name} with the value {}", preview(value))
            }
            (FieldProblem::Missing, None) => {
                let rest = told(checked.iter().filter(|one| one.name != "present").collect());
                let rest = if rest.is_empty() { rest } else { format!(": {rest}") };
                format!("Add {name}{rest}{example}")
            }
            (FieldProblem::Unknown { .. }, _) => match self.intended_name(schema) {
                Some(meant) => {
                    format!("Rename {name}: {} is meant, perhaps", display::names([meant]))
                }
                None => format!("Remove {name}"),
            },
            (FieldProblem::Wrong, Some(value)) => format!("Change {name} to {}", preview(value)),
            (FieldProblem::Wrong, None) => {
                let failed: Vec<&CheckedCondition> =
                    checked.iter().filter(|one| one.fails()).collect();
                let failed = if failed.is_empty() { checked.iter().collect() } else { failed };
                format!("Change {name}: {}{example}", told(failed))
            }
        };
        display::sentence(&step)
    }
}

fn mistake<'s>(
    place: &Pointer,
    value: Option<&Value>,
    located: &Located<'s>,
    schema: &SchemaParts<'s>,
    arguments: &Value,
) -> (FieldProblem<'s>, Vec<&'s Value>) {
    let last = place.split_last();
    match (located.keyword.as_str(), &last) {
        ("required" | "dependentRequired" | "dependencies", Some((_, name))) if value.is_none() => {
            let part = schema
                .property(located.failing, name)
                .or_else(|| schema.property(located.field, name));
            (FieldProblem::Missing, part.into_iter().collect())
        }
        ("additionalProperties" | "unevaluatedProperties", Some((parent, name)))
            if parent.find(arguments).is_some_and(Value::is_object)
                && schema.property(located.field, name).is_none() =>
        {
            (FieldProblem::Unknown { owner: located.field }, Vec::new())
        }
        _ => {
            let mistake = if value.is_some() { FieldProblem::Wrong } else { FieldProblem::Missing };
            let mut parts = vec![located.field];
            let is_covered = schema.facets(located.field).iter().any(|facet| {
                located.failing.as_object().is_some_and(|failing| std::ptr::eq(*facet, failing))
            });
            // The branch with the failing keyword is more specific than the whole, which also allows other
            // branches.
            if !is_covered && located.failing.is_object() {
                parts.push(located.failing);
            }
            (mistake, parts)
        }
    }
}

fn declared_names<'s>(owner: &'s Value, schema: &SchemaParts<'s>) -> Vec<&'s str> {
    let mut names: Vec<&str> = Vec::new();
    for facet in schema.facets(owner) {
        let properties = facet.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}
