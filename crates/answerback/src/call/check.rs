//! Everything that is wrong with one call.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::effort::{self, Effort};
use super::expected::{described, names, options as listed};
use super::lengthy;
use super::outline::{NodeId, Outline};
use super::schema::{LONG_TEXT, Schema, SchemaError};
use super::shown::shown;
use super::types::Types;
use super::union::Judge;
use super::unknown::{Branches, unknown};
use super::wording;
use crate::finding::{Preview, Severity, ValidationError, val};
use crate::json::{self, Pointer};

/// The deepest arguments, counted in arrays and objects.
const DEEPEST: usize = 128;
/// The most findings of one call; whoever breaks more rules reads these first.
const MOST_FINDINGS: usize = 1_000;

/// How a call is judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Whether a field that the schema does not name is an error even where the schema allows it.
    pub strict: bool,
    /// The longest preview of an actual value, in characters.
    pub max_value_preview: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, max_value_preview: 100 }
    }
}

impl Options {
    /// Sets whether an unknown field is an error everywhere.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets the longest preview of an actual value, in characters.
    #[must_use]
    pub fn with_max_value_preview(mut self, characters: usize) -> Self {
        self.max_value_preview = characters;
        self
    }
}

impl From<()> for Options {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// Everything that is wrong with a call's arguments, in the order of the schema. The call is valid if no
/// finding [is an error](ValidationError::is_error).
///
/// ```
/// use answerback::call::{Options, Schema, check};
/// use serde_json::json;
///
/// let schema = Schema::compile(json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}},
///     "required": ["path"],
/// }))?;
/// let arguments = json!({"pth": "src/main.rs"});
/// let findings = check(&schema, &arguments, Options::default().with_strict(true))?;
/// let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [
///     "error VAL-001 at /path: Required field 'path' is missing",
///     "error VAL-005 at /pth: Unknown field 'pth'",
/// ]);
/// # Ok::<(), answerback::call::SchemaError>(())
/// ```
///
/// # Errors
///
/// When the schema, not the call, is at fault: a pattern that backtracks beyond its bound, a reference
/// that leads nowhere. Such a call is passed on unchecked.
pub fn check(
    schema: &Schema,
    arguments: &Value,
    options: impl Into<Options>,
) -> Result<Vec<ValidationError>, SchemaError> {
    let options = options.into();
    let preview = Preview::new().with_max_characters(options.max_value_preview);
    let mut findings = Findings { schema, arguments, preview, list: Vec::new() };
    if is_too_deep(arguments, DEEPEST) {
        findings.too_deep();
        return Ok(findings.list);
    }
    for place in lengthy::find(&schema.outline, arguments) {
        findings.too_long(place);
    }
    if !findings.list.is_empty() {
        return Ok(findings.list);
    }
    match effort::of(&schema.outline, arguments) {
        Effort::Listing => {
            for error in schema.validator.iter_errors(arguments) {
                findings.add(&error)?;
            }
        }
        Effort::Verdict if schema.validator.is_valid(arguments) => {}
        Effort::Verdict => findings.unlisted(),
        Effort::TooMuch => return Err(SchemaError::too_complex()),
    }
    findings.unknown(options);
    Ok(findings.list)
}

/// Whether nothing is wrong, without saying what.
pub(super) fn is_valid(schema: &Schema, arguments: &Value) -> Result<bool, SchemaError> {
    if is_too_deep(arguments, DEEPEST) || !lengthy::find(&schema.outline, arguments).is_empty() {
        return Ok(false);
    }
    if effort::of(&schema.outline, arguments) == Effort::TooMuch {
        return Err(SchemaError::too_complex());
    }
    if schema.validator.is_valid(arguments) {
        return Ok(true);
    }
    // A pattern that did not come to an end also looks invalid.
    match schema.validator.validate(arguments) {
        Err(error) => SchemaError::while_checking(&error).map_or(Ok(false), Err),
        Ok(()) => Ok(true),
    }
}

fn is_too_deep(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(elements) => {
            left == 0 || elements.iter().any(|value| is_too_deep(value, left - 1))
        }
        Value::Object(members) => {
            left == 0 || members.values().any(|value| is_too_deep(value, left - 1))
        }
        _ => false,
    }
}

struct Findings<'s> {
    schema: &'s Schema,
    arguments: &'s Value,
    preview: Preview,
    list: Vec<ValidationError>,
}

impl Findings<'_> {
    fn push(&mut self, mut finding: ValidationError) {
        // Of a rule in another document nothing is known but that it was broken.
        finding.expected_value = finding.expected_value.filter(|expected| !expected.is_empty());
        let told = |earlier: &ValidationError| {
            earlier.field_path == finding.field_path
                && earlier.error_code == finding.error_code
                && earlier.message == finding.message
                && earlier.expected_value == finding.expected_value
        };
        if self.list.len() < MOST_FINDINGS && !self.list.iter().any(told) {
            self.list.push(finding);
        }
    }

    fn add(&mut self, error: &jsonschema::ValidationError<'_>) -> Result<(), SchemaError> {
        use ValidationErrorKind as Kind;
        if let Some(fault) = SchemaError::while_checking(error) {
            return Err(fault);
        }
        match error.kind() {
            Kind::AnyOf { context } => self.union(error, "anyOf", context)?,
            Kind::OneOfNotValid { context } => self.union(error, "oneOf", context)?,
            Kind::OneOfMultipleValid { context } => self.too_many(error, context),
            Kind::Required { property } => {
                self.missing(error, property.as_str().unwrap_or_default());
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let owner = self.owner(error);
                for name in unexpected {
                    let value = error.instance().get(name).unwrap_or(&Value::Null);
                    let place = pointer(error.instance_path().as_str()).join(name);
                    let schema_path = pointer(error.evaluation_path().as_str());
                    self.unknown_field(&place, name, value, schema_path, &[owner], Severity::Error);
                }
            }
            kind => {
                let mut place = pointer(error.instance_path().as_str());
                if let Kind::PropertyNames { error } = kind {
                    place = place.join(error.instance().as_str().unwrap_or_default());
                }
                let value = error.instance();
                let shown = shown(value, &place, self.schema, &self.preview);
                let finding = ValidationError::of(wording::rule(kind), place)
                    .with_message(wording::message(kind, value, &shown))
                    .with_expected(self.expected(error))
                    .with_actual(shown)
                    .with_schema_path(pointer(error.evaluation_path().as_str()));
                self.push(finding);
            }
        }
        Ok(())
    }

    fn owner(&self, error: &jsonschema::ValidationError<'_>) -> NodeId {
        let outline = &self.schema.outline;
        match outline.elsewhere {
            // A place in another document looks like one in this.
            Some(elsewhere)
                if self.schema.at(&pointer(error.evaluation_path().as_str())).is_none() =>
            {
                elsewhere
            }
            _ => outline.owner(error.schema_path().as_str()),
        }
    }

    /// What the subschema asks for whose rule was broken.
    fn expected(&self, error: &jsonschema::ValidationError<'_>) -> String {
        self.asked(self.owner(error))
    }

    fn asked(&self, node: NodeId) -> String {
        let source = self.schema.source();
        let place = &self.schema.outline.node(node).place;
        json::find(source, place).map(|asked| described(asked, source)).unwrap_or_default()
    }

    fn missing(&mut self, error: &jsonschema::ValidationError<'_>, name: &str) {
        let parent = pointer(error.instance_path().as_str());
        let schema_path = pointer(error.evaluation_path().as_str());
        let because = schema_path.split_last().filter(|(above, _)| {
            ["/dependentRequired", "/dependencies"].iter().any(|end| above.as_str().ends_with(end))
        });
        let name_shown = wording::text(name);
        let message = match because {
            Some((_, other)) => {
                format!(
                    "Required field '{name_shown}' is missing, as '{}' is present",
                    wording::text(&other)
                )
            }
            None => format!("Required field '{name_shown}' is missing"),
        };
        let mut finding = ValidationError::of(&val::REQUIRED_FIELD_MISSING, parent.join(name))
            .with_message(message)
            .with_schema_path(schema_path);
        if let Some(expected) = self.declared(self.owner(error), &parent, name) {
            finding = finding.with_expected(self.asked(expected));
        }
        self.push(finding);
    }

    /// The subschema that declares a member: beside the rule that asks for it, or anywhere that applies
    /// to the object.
    fn declared(&self, owner: NodeId, parent: &Pointer, name: &str) -> Option<NodeId> {
        let outline = &self.schema.outline;
        let declares = |id: &NodeId| {
            outline.names(*id).find(|(known, _)| *known == name).map(|(_, child)| child)
        };
        declares(&owner)
            .or_else(|| super::shown::applying(outline, parent).iter().find_map(declares))
    }

    fn unknown(&mut self, options: Options) {
        let severity = if options.strict { Severity::Error } else { Severity::Warning };
        let branches = if self.list.is_empty() { Branches::Fitting } else { Branches::None };
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

    fn unknown_field(
        &mut self,
        place: &Pointer,
        name: &str,
        value: &Value,
        schema_path: Pointer,
        nodes: &[NodeId],
        severity: Severity,
    ) {
        if self.list.len() >= MOST_FINDINGS {
            return;
        }
        let outline = &self.schema.outline;
        let all = outline.all_in_place(nodes);
        let mut known: Vec<&str> = Vec::new();
        for (name, _) in all.iter().flat_map(|id| outline.names(*id)) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let expected = match known.as_slice() {
            [] => "no such field".to_owned(),
            known => names(known),
        };
        let finding = ValidationError::of(&val::UNKNOWN_FIELD, place.clone())
            .with_severity(severity)
            .with_message(format!("Unknown field '{}'", wording::text(name)))
            .with_expected(expected)
            .with_actual(shown(value, place, self.schema, &self.preview))
            .with_schema_path(schema_path);
        self.push(finding);
    }

    /// No branch fits: the findings of the nearest, with a word on the others.
    fn union(
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
        // Unions within unions: the two innermost choices are told, the rest would only be long.
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

    /// Where every branch asks for another type, one finding names all the types.
    fn all_types_wrong(
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
            .find(|finding| finding.error_code == val::TYPE_MISMATCH.code)
        else {
            return false;
        };
        finding.message =
            format!("Type mismatch: expected {types}, got {}", Types::name_of(error.instance()));
        finding.expected_value = Some(expected);
        true
    }

    /// Where every branch lists other values, one finding lists them all.
    fn all_values_wrong(
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
        true
    }

    /// "read as 'circle'; alternatives: 'square', 'line'"
    fn alternatives(&self, owner: NodeId, keyword: &str, index: usize) -> Option<String> {
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

    /// What tells a branch from its neighbours: its title, its tag, its name as a definition, or its kind.
    fn branch_name(&self, branch: NodeId) -> String {
        let outline = &self.schema.outline;
        let applied = outline.all_in_place(&[branch]);
        if let Some(title) = applied.iter().find_map(|id| outline.node(*id).title.as_deref()) {
            return format!("'{}'", wording::text(title));
        }
        let tag =
            applied.iter().flat_map(|id| outline.names(*id)).find_map(
                |(name, child)| match outline.node(child).values.as_deref() {
                    Some([value]) => {
                        Some(format!("{} {}", wording::text(name), crate::finding::preview(value)))
                    }
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
        let mut words = self.asked(branch);
        if let Some((end, _)) = words.char_indices().nth(60) {
            words.truncate(end);
            words.push_str("...");
        }
        words
    }

    /// More than one branch of a `oneOf` fits.
    fn too_many(
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
        let shown = shown(error.instance(), &place, self.schema, &self.preview);
        let message = format!(
            "Value matches {} options; must match exactly one: {}",
            fitting.len(),
            names.join(", ")
        );
        let finding = ValidationError::of(&val::CONSTRAINT_VIOLATION, place)
            .with_message(message)
            .with_expected(format!("exactly one of {} options", context.len()))
            .with_actual(shown)
            .with_schema_path(schema_path);
        self.push(finding);
    }

    fn too_long(&mut self, place: Pointer) {
        let value = place.find(self.arguments).unwrap_or(&Value::Null);
        let shown = shown(value, &place, self.schema, &self.preview);
        let finding = ValidationError::of(&val::PATTERN_MISMATCH, place)
            .with_message(wording::TOO_LONG_TO_MATCH)
            .with_expected(format!("at most {LONG_TEXT} bytes of text"))
            .with_actual(shown)
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    fn too_deep(&mut self) {
        let finding = ValidationError::of(&val::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(format!("Arguments nest deeper than {DEEPEST} levels"))
            .with_expected(format!("at most {DEEPEST} levels of arrays and objects"))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    /// Invalid, but the ways in which it is are too many to go through.
    fn unlisted(&mut self) {
        let finding = ValidationError::of(&val::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(
                "Value fits none of the forms that its schema allows; they are too many to compare",
            )
            .with_expected(self.asked(Outline::ROOT))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }
}

/// A place as the validator writes it, which is escaped already.
fn pointer(place: &str) -> Pointer {
    Pointer::try_from(place).unwrap_or_default()
}

/// What of a value does not fit a schema, in one line for a person; nothing, where all does.
pub fn misfit(schema: &Schema, value: &Value) -> Option<String> {
    let findings = match check(schema, value, ()) {
        Ok(findings) => findings,
        // What cannot be judged does not fit.
        Err(error) => return Some(error.to_string()),
    };
    let wrong: Vec<String> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .map(|finding| format!("{}: {}", finding.field_path, finding.message))
        .collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

#[cfg(test)]
mod tests;
