//! Finds everything that is wrong with one call.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use answerback_findings::{Preview, Severity, ValidationError, call_codes, kind_at};
use answerback_json::Pointer;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::effort::{self, Effort};
use super::expected::{described, names, options as listed};
use super::formats::{self, FormatMode};
use super::outline::{NodeId, SchemaOutline};
use super::schema::{FormatReading, Schema, SchemaError};
use super::shown::shown;
use super::types::Types;
use super::union::Judge;
use super::unknown::{Branches, unknown};
use super::{omission, pattern_guard, wording};

/// The deepest arguments, counted in arrays and objects.
const DEEPEST: usize = 128;
/// The maximum number of findings of one call.
const MOST_FINDINGS: usize = 1_000;

/// The maximum number of values from all branches of a union in one finding.
const MOST_JOINED: usize = 1_000;
/// The maximum number of tags of one branch that are compared with those of others.
const MOST_TAGS: usize = 16;

/// The options for checking a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Makes an unknown field an error, even if the schema allows additional fields.
    pub strict: bool,
    /// The mode in which the `format` keyword is checked.
    pub formats: FormatMode,
    /// The longest preview of an actual value, in characters.
    pub max_value_preview: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, formats: FormatMode::default(), max_value_preview: 100 }
    }
}

impl Options {
    /// Sets if an unknown field is always an error.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets the mode in which the `format` keyword is checked.
    #[must_use]
    pub fn with_formats(mut self, mode: FormatMode) -> Self {
        self.formats = mode;
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

/// Lists everything that is wrong with a call's arguments, in the order of the schema. The call is valid if no
/// finding [is an error](ValidationError::is_error).
///
/// ```
/// use answerback_calls::call::{Options, Schema, check};
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
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the schema is at fault and not the call: a pattern exceeds the backtrack limit, a reference
/// has no target, or the schema is too complex. Such a call is forwarded unchecked.
pub fn check(
    schema: &Schema,
    arguments: &Value,
    options: impl Into<Options>,
) -> Result<Vec<ValidationError>, SchemaError> {
    let options = options.into();
    let preview = Preview::new().with_max_characters(options.max_value_preview);
    let mut findings = Findings {
        schema,
        arguments,
        preview,
        list: Vec::new(),
        known: HashMap::new(),
        is_bounded: false,
    };
    if answerback_json::is_deeper_than(arguments, DEEPEST) {
        findings.too_deep();
        return Ok(findings.list);
    }
    let long = pattern_guard::find(schema, arguments);
    if long.has_name {
        return Err(SchemaError::long_name());
    }
    findings.is_bounded = !long.is_empty();
    match effort::of(&schema.outline, arguments) {
        Effort::Listing => findings.list(options.formats)?,
        Effort::Verdict if has_verdict(schema, arguments, options.formats, !long.is_empty()) => {}
        Effort::Verdict => findings.unlisted(),
        Effort::TooMuch => return Err(SchemaError::too_complex()),
    }
    findings.unknown(options);
    for place in long.texts {
        findings.not_matched(place);
    }
    omission::mark(&mut findings.list, schema, arguments);
    Ok(findings.list)
}

/// True if the arguments are valid. It builds no findings for most schemas, so it is faster than [`check`].
pub(super) fn is_valid(
    schema: &Schema,
    arguments: &Value,
    options: Options,
) -> Result<bool, SchemaError> {
    let long = pattern_guard::find(schema, arguments);
    if long.has_name {
        return Err(SchemaError::long_name());
    }
    if answerback_json::is_deeper_than(arguments, DEEPEST) {
        return Ok(false);
    }
    let effort = effort::of(&schema.outline, arguments);
    if effort == Effort::TooMuch {
        return Err(SchemaError::too_complex());
    }
    if has_verdict(schema, arguments, options.formats, !long.is_empty()) {
        return Ok(true);
    }
    let reads_more = matches!(options.formats, FormatMode::Lenient | FormatMode::Warn);
    if schema.has_formats && reads_more && effort == Effort::Listing {
        // Neither format mode accepts the arguments, but they may object to different places. Only the findings
        // answer that.
        let findings = check(schema, arguments, options.with_strict(false))?;
        return Ok(!findings.iter().any(ValidationError::is_error));
    }
    // A pattern that exceeded the backtrack limit also looks invalid.
    let formats = if options.formats == FormatMode::Off {
        FormatReading::Ignored
    } else {
        FormatReading::Rfc
    };
    match schema.validator(formats, !long.is_empty()).validate(arguments) {
        Err(error) => SchemaError::while_checking(&error).map_or(Ok(false), Err),
        Ok(()) => Ok(true),
    }
}

/// Returns the format check that a mode applies to values that do not follow the RFCs.
fn reading(mode: FormatMode) -> FormatReading {
    match mode {
        FormatMode::Assert => FormatReading::Rfc,
        FormatMode::Lenient => FormatReading::Readable,
        FormatMode::Warn | FormatMode::Off => FormatReading::Ignored,
    }
}

/// True if the validator accepts the arguments.
///
/// A lenient format check can reject arguments that the RFCs accept: a value may then fit both formats of a `oneOf`.
/// So a value that follows the RFCs is always valid, except in the mode that ignores formats.
fn has_verdict(schema: &Schema, arguments: &Value, mode: FormatMode, is_bounded: bool) -> bool {
    let follows = || schema.validator(FormatReading::Rfc, is_bounded).is_valid(arguments);
    let is_read = || schema.validator(reading(mode), is_bounded).is_valid(arguments);
    match mode {
        FormatMode::Assert => follows(),
        FormatMode::Off => is_read(),
        FormatMode::Lenient | FormatMode::Warn => follows() || schema.has_formats && is_read(),
    }
}

/// Returns the path of the broken rule and the place of the value.
fn key(error: &jsonschema::ValidationError<'_>) -> (String, String) {
    (error.evaluation_path().as_str().to_owned(), error.instance_path().as_str().to_owned())
}

/// True if the only mistake is a format that some parser accepts.
fn is_about_formats(error: &jsonschema::ValidationError<'_>, mode: FormatMode) -> bool {
    use ValidationErrorKind as Kind;
    match error.kind() {
        Kind::Format { format } => {
            let text = error.instance().as_str().unwrap_or_default();
            mode == FormatMode::Warn || formats::is_readable(format, text)
        }
        Kind::PropertyNames { error } => is_about_formats(error, mode),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            context.iter().any(|branch| are_about_formats(branch, mode))
        }
        _ => false,
    }
}

fn are_about_formats(branch: &[jsonschema::ValidationError<'static>], mode: FormatMode) -> bool {
    !branch.is_empty() && branch.iter().all(|error| is_about_formats(error, mode))
}

struct Findings<'s> {
    schema: &'s Schema,
    arguments: &'s Value,
    preview: Preview,
    list: Vec<ValidationError>,
    /// The descriptions of the fields that an object may have, by the subschemas that apply to it.
    known: HashMap<Rc<[NodeId]>, String>,
    /// True if long texts are not matched with some patterns.
    is_bounded: bool,
}

impl Findings<'_> {
    /// Adds the validator's findings, with formats checked by this mode.
    fn list(&mut self, mode: FormatMode) -> Result<(), SchemaError> {
        let schema = self.schema;
        let list = |reading| {
            let errors = schema.validator(reading, self.is_bounded).iter_errors(self.arguments);
            errors.collect::<Vec<_>>()
        };
        let first =
            if mode == FormatMode::Off { FormatReading::Ignored } else { FormatReading::Rfc };
        let errors = list(first);
        let reads_more = matches!(mode, FormatMode::Lenient | FormatMode::Warn);
        if errors.is_empty() || !schema.has_formats || !reads_more {
            return errors.iter().try_for_each(|error| self.add(error));
        }
        // A mistake in both format checks is an error; a mistake by the RFCs alone is a warning.
        let left = list(reading(mode));
        let by_rfc: HashSet<_> = errors.iter().map(key).collect();
        for error in left.iter().filter(|error| by_rfc.contains(&key(error))) {
            self.add(error)?;
        }
        let left: HashSet<_> = left.iter().map(key).collect();
        for error in errors.iter().filter(|error| !left.contains(&key(error))) {
            self.add_warning(error, mode)?;
        }
        Ok(())
    }

    /// Adds a warning for a value that only breaks the RFC of its format.
    fn add_warning(
        &mut self,
        error: &jsonschema::ValidationError<'_>,
        mode: FormatMode,
    ) -> Result<(), SchemaError> {
        use ValidationErrorKind as Kind;
        let fitting = match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                context.iter().find(|branch| are_about_formats(branch, mode))
            }
            _ => None,
        };
        if let Some(branch) = fitting {
            return branch.iter().try_for_each(|error| self.add_warning(error, mode));
        }
        let first = self.list.len();
        self.add(error)?;
        for finding in &mut self.list[first..] {
            finding.severity = finding.severity.max(Severity::Warning);
        }
        Ok(())
    }

    fn push(&mut self, mut finding: ValidationError) {
        // A broken rule in another document has no description.
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
                let owner: Rc<[NodeId]> = Rc::new([self.owner(error)]);
                for name in unexpected {
                    let value = error.instance().get(name).unwrap_or(&Value::Null);
                    let place = pointer(error.instance_path().as_str()).join(name);
                    let schema_path = pointer(error.evaluation_path().as_str());
                    self.unknown_field(&place, name, value, schema_path, &owner, Severity::Error);
                }
            }
            kind => {
                let mut place = pointer(error.instance_path().as_str());
                if let Kind::PropertyNames { error } = kind {
                    place = place.join(error.instance().as_str().unwrap_or_default());
                }
                let value = error.instance();
                let shown = self.shown(value, &place);
                let message = match kind {
                    Kind::Contains => {
                        let rule = error.schema_path().as_str().rsplit('/').next();
                        wording::contained(rule.unwrap_or_default()).to_owned()
                    }
                    _ => wording::message(kind, value, &shown),
                };
                let finding = ValidationError::of(wording::rule(kind), place)
                    .with_message(message)
                    .with_expected(self.expected(error))
                    .with_actual(shown)
                    .with_schema_path(self.schema_path(error));
                self.push(finding);
            }
        }
        Ok(())
    }

    /// Returns the place of a broken rule in the schema as its author wrote it.
    fn schema_path(&self, error: &jsonschema::ValidationError<'_>) -> Pointer {
        let path = error.evaluation_path().as_str();
        // `bounded_source` moved the pattern into a condition that the author did not write.
        if self.is_bounded
            && let Some(condition) = path.strip_suffix("/then/pattern")
            && let Some((all, _)) = condition.rsplit_once('/')
            && let Some(holder) = all.strip_suffix("/allOf")
        {
            let written = pointer(&format!("{holder}/pattern"));
            if self.schema.at(&pointer(condition)).is_none() && self.schema.at(&written).is_some() {
                return written;
            }
        }
        pointer(path)
    }

    /// Returns the subschema that contains the failed keyword. A keyword such as `not` has its own subschema, which
    /// states the forbidden values and not the expected ones.
    fn owner(&self, error: &jsonschema::ValidationError<'_>) -> NodeId {
        let outline = &self.schema.outline;
        let keyword = error.schema_path().as_str();
        let keyword_place = match error.kind() {
            ValidationErrorKind::FalseSchema => keyword,
            _ => keyword.rsplit_once('/').map_or(keyword, |(holder, _)| holder),
        };
        match outline.elsewhere {
            // A place in another document can look like a place in this one.
            Some(elsewhere)
                if self.schema.at(&pointer(error.evaluation_path().as_str())).is_none() =>
            {
                elsewhere
            }
            _ => outline.owner(keyword_place),
        }
    }

    /// Describes the values that the subschema with the broken rule accepts.
    fn expected(&self, error: &jsonschema::ValidationError<'_>) -> String {
        self.asked(self.owner(error))
    }

    fn asked(&self, node: NodeId) -> String {
        let source = self.schema.source();
        let place = &self.schema.outline.node(node).place;
        answerback_json::find(source, place)
            .map(|asked| described(asked, source))
            .unwrap_or_default()
    }

    fn missing(&mut self, error: &jsonschema::ValidationError<'_>, name: &str) {
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
        let expected = self.declared(owner, &parent, name).map(|node| self.asked(node));
        let mut finding =
            ValidationError::of(&call_codes::REQUIRED_FIELD_MISSING, parent.join(name))
                .with_message(message)
                .with_expected(expected.unwrap_or_else(|| "any value".to_owned()))
                .with_schema_path(schema_path);
        finding.facts.is_contradiction = is_contradiction;
        self.push(finding);
    }

    /// True if a subschema that always applies to the object forbids a member.
    fn forbids(&self, parent: &Pointer, owner: NodeId, name: &str) -> bool {
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
    fn reason(
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
                        let shown = shown(value, &parent.join(name), self.schema, &self.preview);
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

    fn unknown_field(
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
        let expected = self.known_names(nodes);
        let mut finding = ValidationError::of(&call_codes::UNKNOWN_FIELD, place.clone())
            .with_severity(severity)
            .with_message(format!("Unknown field '{}'", wording::text(name)))
            .with_expected(expected)
            .with_actual(self.shown(value, place))
            .with_schema_path(schema_path);
        finding.facts.is_contradiction = is_contradiction;
        self.push(finding);
    }

    /// Describes the fields that an object may have. All findings of one object share the description.
    fn known_names(&mut self, nodes: &Rc<[NodeId]>) -> String {
        if let Some(words) = self.known.get(nodes) {
            return words.clone();
        }
        let outline = &self.schema.outline;
        let all = outline.all_in_place(nodes);
        let mut seen = HashSet::new();
        let listed = all.iter().flat_map(|id| outline.known_names(*id));
        let known: Vec<&str> = listed.filter(|name| seen.insert(*name)).collect();
        let words = match known.as_slice() {
            [] => "no such field".to_owned(),
            known => names(known),
        };
        self.known.insert(Rc::clone(nodes), words.clone());
        words
    }

    /// Adds the findings of the nearest branch if no branch fits, with a note about the other branches.
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
    fn join_tags(
        &mut self,
        first: usize,
        context: &[Vec<jsonschema::ValidationError<'static>>],
        index: usize,
    ) {
        let tags =
            |branch: &'_ [jsonschema::ValidationError<'static>]| -> Vec<(String, Vec<Value>)> {
                let tag = |error: &jsonschema::ValidationError<'static>| {
                    let place = error.instance_path().as_str().to_owned();
                    listed_by(error.kind()).map(|values| (place, values))
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
    fn join_missing_tags(
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
        finding.facts.values = Some(values.into());
        true
    }

    /// Returns the note about the choice of a branch, such as "read as 'circle'; alternatives: 'square', 'line'".
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

    /// Returns a name for a branch: its title, its tag, its name as a definition, or its description.
    fn branch_name(&self, branch: NodeId) -> String {
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
        let mut words = self.asked(branch);
        if let Some((end, _)) = words.char_indices().nth(60) {
            words.truncate(end);
            words.push_str("...");
        }
        words
    }

    /// Adds the finding for a value that fits more than one branch of a `oneOf`.
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
        let shown = self.shown(error.instance(), &place);
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

    /// Adds a warning for a text that is too long for one of its patterns. The call is still valid, because the
    /// schema does not limit the text's length.
    fn not_matched(&mut self, place: Pointer) {
        let value = place.find(self.arguments).unwrap_or(&Value::Null);
        let shown = self.shown(value, &place);
        let finding = ValidationError::of(&call_codes::PATTERN_MISMATCH, place)
            .with_severity(Severity::Warning)
            .with_message(wording::not_matched(self.schema.can_bound_patterns()))
            .with_actual(shown)
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    /// Returns a preview of the value at a place. If a neighboring value marks it as a secret, the value is redacted.
    fn shown(&self, value: &Value, place: &Pointer) -> String {
        match kind_at(self.arguments, place) {
            Some(kind) => self.preview.show_secret(kind),
            None => shown(value, place, self.schema, &self.preview),
        }
    }

    fn too_deep(&mut self) {
        let finding = ValidationError::of(&call_codes::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(format!("Arguments nest deeper than {DEEPEST} levels"))
            .with_expected(format!("at most {DEEPEST} levels of arrays and objects"))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }

    /// Adds one finding for invalid arguments whose branches are too many to compare.
    fn unlisted(&mut self) {
        let finding = ValidationError::of(&call_codes::CONSTRAINT_VIOLATION, Pointer::root())
            .with_message(
                "Value fits none of the forms that its schema allows; they are too many to compare",
            )
            .with_expected(self.asked(SchemaOutline::ROOT))
            .with_schema_path(Pointer::root());
        self.push(finding);
    }
}

/// Returns the values that a failed `enum` or `const` permits.
fn listed_by(kind: &ValidationErrorKind) -> Option<Vec<Value>> {
    match kind {
        ValidationErrorKind::Enum { options } => options.as_array().cloned(),
        ValidationErrorKind::Constant { expected_value } => Some(vec![(**expected_value).clone()]),
        _ => None,
    }
}

fn is_about_values(finding: &ValidationError) -> bool {
    finding.error_code == call_codes::INVALID_ENUM_VALUE.code
}

/// Converts a place from the validator, which is already escaped.
fn pointer(place: &str) -> Pointer {
    Pointer::try_from(place).unwrap_or_default()
}

/// Describes in one line, for a person, how a value breaks a schema. Returns `None` if it fits.
pub fn misfit(schema: &Schema, value: &Value) -> Option<String> {
    let findings = match check(schema, value, ()) {
        Ok(findings) => findings,
        // A value that cannot be checked does not fit.
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
