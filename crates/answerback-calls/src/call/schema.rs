//! Compiles a tool's schema once, to check many calls with it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use answerback_json::Pointer;
use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::{Value, json};

use super::bounded::Bounds;
use super::documents::{Documents, Shelf};
use super::formats;
use super::outline::{self, SchemaOutline};
use super::patterns::{self, BACKTRACK_LIMIT, PATTERN_SIZE};
use super::schema_error::{SchemaError, SchemaErrorKind};
use super::usable::{self, SchemaProblem};

/// The deepest schema, counted in arrays and objects. It limits the stack that the compiler needs.
const DEEPEST: usize = 128;
/// The largest schema, counted in values.
const MOST_VALUES: usize = 2_000_000;
/// The maximum number of paths that one value may take through a schema.
const MOST_WAYS: u64 = 1_000_000;
/// The longest chain of subschemas that each refer to the next for the same value. The validator recurses along it.
const LONGEST_CHAIN: usize = 512;
/// The maximum number of times that the validator is asked for the next error in a schema.
const MOST_FAULTS: usize = 16;

/// A compiled tool schema, which checks calls.
///
/// Supports drafts 4 to 2020-12, selected by `$schema`; the default is 2020-12. An [option of the
/// check](super::CheckOptions::formats) sets how strictly formats are checked. An unusable keyword is dropped, and the
/// rest is checked; [`Schema::problems`] lists the dropped keywords. Outside the schema, references reach only the
/// given [`Documents`]. Patterns run in linear time. A pattern with look-around or a backreference runs in a
/// backtracking engine with a hard limit.
///
/// ```
/// use answerback_calls::call::{Schema, check};
/// use serde_json::json;
///
/// let schema = Schema::compile(json!({
///     "type": "object",
///     "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 100}},
///     "required": ["limit"],
/// }))?;
/// let findings = check(&schema, &json!({"limit": 500}), ())?;
/// assert_eq!(findings[0].error_code, "VAL-003");
/// assert_eq!(findings[0].field_path.as_str(), "/limit");
/// assert_eq!(findings[0].expected_value.as_deref(), Some("integer from 1 to 100"));
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent boolean properties, computed once")]
pub struct Schema {
    source: Arc<Value>,
    draft: Draft,
    documents: Documents,
    /// The validator that checks formats by their RFCs.
    validator: Validator,
    /// The validators that only some calls need. Each is built on first use.
    others: [OnceLock<Option<Validator>>; 5],
    pub(super) outline: SchemaOutline,
    problems: Vec<SchemaProblem>,
    pub(super) has_formats: bool,
    is_linear: bool,
    /// True if a pattern for names needs the backtracking engine.
    pub(super) has_slow_names: bool,
    /// True if a pattern that needs the backtracking engine is in a part of the schema that the outline does not
    /// follow.
    pub(super) has_hidden_slow_patterns: bool,
}

/// The way in which a validator checks formats.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FormatReading {
    /// Formats are checked by their RFCs.
    Rfc,
    /// Formats accept every text that common parsers accept.
    Readable,
    /// Formats are not checked.
    Ignored,
}

impl Schema {
    /// Compiles a schema. An unusable keyword is dropped and reported as a [problem](Schema::problems); the rest is
    /// checked.
    ///
    /// # Errors
    ///
    /// Returns an error if no keyword is usable, or if the schema exceeds a limit. Only the tool's author can fix
    /// these errors, not the model.
    pub fn compile(source: impl Into<Arc<Value>>) -> Result<Self, SchemaError> {
        Self::compile_with(source, &Documents::default())
    }

    /// Compiles a schema whose references may also lead to these documents.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Schema::compile`].
    pub fn compile_with(
        source: impl Into<Arc<Value>>,
        documents: &Documents,
    ) -> Result<Self, SchemaError> {
        let source = source.into();
        bound(&source)?;
        match Self::compile_all(Arc::clone(&source), documents, Vec::new()) {
            Err(error) if error.is_about_a_part() => {
                Self::compile_usable(&source, documents).ok_or(error)
            }
            compiled => compiled,
        }
    }

    /// Compiles a schema and fails if any keyword is unusable.
    fn compile_all(
        source: Arc<Value>,
        documents: &Documents,
        problems: Vec<SchemaProblem>,
    ) -> Result<Self, SchemaError> {
        if patterns::cost_of_all(&source) > patterns::BUDGET {
            return Err(SchemaErrorKind::Pattern.of(format!(
                "its patterns are larger than {} characters once their repetitions are written out",
                patterns::BUDGET
            )));
        }
        let draft = Draft::default().detect(&source);
        let linear = linear(documents);
        // The compiler follows references, too, so the paths are counted before it runs.
        let ways = SchemaOutline::new(&source, draft, documents, &|_| None, &|_| false);
        if ways.ways_in_place() > MOST_WAYS || ways.longest_chain() > LONGEST_CHAIN {
            return Err(SchemaError::too_complex());
        }
        let validator = linear.build(&source);
        let is_linear = validator.is_ok();
        let validator = validator.or_else(|_| backtracking(documents).build(&source));
        let validator = validator.map_err(|error| SchemaError::uncompiled(&error))?;
        let compile_pattern = |pattern: &str| {
            let schema = of_pattern(pattern);
            linear.build(&schema).or_else(|_| backtracking(documents).build(&schema)).ok()
        };
        let is_slow = |pattern: &str| !is_linear && linear.build(&of_pattern(pattern)).is_err();
        let outline = SchemaOutline::new(&source, draft, documents, &compile_pattern, &is_slow);
        let mut schema = Self {
            has_formats: has_formats(&source) || !documents.is_empty(),
            documents: documents.clone(),
            source,
            draft,
            validator,
            others: [const { OnceLock::new() }; 5],
            outline,
            problems,
            is_linear,
            has_slow_names: false,
            has_hidden_slow_patterns: false,
        };
        if !is_linear {
            schema.find_slow_patterns(&is_slow);
        }
        Ok(schema)
    }

    /// Compiles the usable part of a schema.
    fn compile_usable(source: &Value, documents: &Documents) -> Option<Self> {
        let linear = linear(documents);
        let cost = Cell::new(0);
        let takes_pattern = |pattern: &str| {
            let schema = of_pattern(pattern);
            let sum = patterns::cost(pattern).saturating_add(cost.get());
            if sum > patterns::BUDGET {
                return false;
            }
            // A rejected pattern costs as much to test, so it also uses up the budget.
            cost.set(sum);
            linear.build(&schema).is_ok() || backtracking(documents).build(&schema).is_ok()
        };
        let knows_dialect = |dialect: &str| is_dialect(dialect) || documents.contains(dialect);
        let dialect = source.get("$schema").and_then(Value::as_str).filter(|name| is_dialect(name));
        let draft = dialect.map_or(Draft::Draft202012, |_| Draft::default().detect(source));
        let anchors = outline::anchors(source);
        // An inner schema with its own identifier may change the target of a reference.
        for trusts_addresses in [true, false] {
            cost.set(0);
            let leads_somewhere = |reference: &str| match reference.strip_prefix('#') {
                Some("") => true,
                Some(place) if place.starts_with('/') => outline::percent_decoded(place)
                    .is_some_and(|place| source.pointer(&place).is_some()),
                Some(anchor) => anchors.contains_key(anchor),
                None => {
                    let address = reference.split('#').next().unwrap_or_default();
                    documents.contains(address)
                        || address.contains("://json-schema.org/")
                        || trusts_addresses && source.get("$id").is_some()
                }
            };
            let tests = usable::Tests {
                pattern: &takes_pattern,
                reference: &leads_somewhere,
                dialect: &knows_dialect,
                is_draft4: draft == Draft::Draft4,
                has_item_lists: draft != Draft::Draft202012,
            };
            let (mut schema, mut problems) = usable::usable(source, &tests)?;
            for _ in 0..MOST_FAULTS {
                let shared = Arc::new(schema.clone());
                let Some(place) = fault(&shared, documents) else {
                    match Self::compile_all(shared, documents, problems) {
                        Ok(compiled) => return Some(compiled),
                        Err(_) => break,
                    }
                };
                let Some(problem) = usable::without(&mut schema, &place) else { break };
                problems.push(problem);
                if !usable::has_check(&schema) {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the keywords that are not checked as written, for the tool's author.
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.problems
    }

    /// Returns the validator for a format mode. If `is_bounded`, it does not match long texts with patterns that need
    /// the backtracking engine.
    pub(super) fn validator(&self, formats: FormatReading, is_bounded: bool) -> &Validator {
        let formats = if self.has_formats { formats } else { FormatReading::Rfc };
        let index = match (formats, is_bounded && !self.is_linear) {
            (FormatReading::Rfc, false) => return &self.validator,
            (FormatReading::Readable, false) => 0,
            (FormatReading::Ignored, false) => 1,
            (FormatReading::Rfc, true) => 2,
            (FormatReading::Readable, true) => 3,
            (FormatReading::Ignored, true) => 4,
        };
        let built = self.others[index].get_or_init(|| {
            let options = if self.is_linear {
                linear(&self.documents)
            } else {
                backtracking(&self.documents)
            };
            let options = match formats {
                FormatReading::Rfc => options,
                FormatReading::Readable => formats::with_readable_formats(options, self.draft),
                FormatReading::Ignored => options.should_validate_formats(false),
            };
            let source = if index >= 2 { &self.bounded_source() } else { &*self.source };
            options.build(source).ok()
        });
        // The build is not expected to fail, because all parts of the schema compiled before.
        built.as_ref().unwrap_or(&self.validator)
    }

    /// True if the draft has `if`, which can restrict a pattern to short texts. Drafts 4 and 6 have none.
    pub(super) fn can_bound_patterns(&self) -> bool {
        !matches!(self.draft, Draft::Draft4 | Draft::Draft6)
    }

    /// Returns the schema with each backtracking pattern restricted to texts that are not too long. In drafts without
    /// `if`, those patterns are removed.
    fn bounded_source(&self) -> Value {
        let linear = linear(&self.documents);
        let known = RefCell::new(HashMap::new());
        let is_slow = |pattern: &str| {
            *known
                .borrow_mut()
                .entry(pattern.to_owned())
                .or_insert_with(|| linear.build(&of_pattern(pattern)).is_err())
        };
        let bounds = Bounds { is_slow: &is_slow, has_conditions: self.can_bound_patterns() };
        bounds.bounded(&self.source)
    }

    /// Finds the patterns that need the backtracking engine and that the outline does not contain.
    fn find_slow_patterns(&mut self, is_slow: &dyn Fn(&str) -> bool) {
        let mut slow = 0;
        let mut has_slow_names = false;
        let mut source = (*self.source).clone();
        usable::each_schema(&mut source, &mut String::new(), &mut |members, _| {
            let pattern = members.get("pattern").and_then(Value::as_str);
            slow += usize::from(pattern.is_some_and(is_slow));
            let names = members.get("patternProperties").and_then(Value::as_object);
            has_slow_names |= names.is_some_and(|names| names.keys().any(|name| is_slow(name)));
        });
        self.has_slow_names = has_slow_names;
        self.has_hidden_slow_patterns = slow > self.outline.slow_patterns();
    }

    /// Returns the schema as it is checked: the given schema with the changes listed in [`Schema::problems`].
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Returns the schema as it is checked, as a shared pointer.
    pub fn shared_source(&self) -> Arc<Value> {
        Arc::clone(&self.source)
    }

    /// True if the arguments break no rule of the schema. This is faster than [`super::check`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`super::check`].
    pub fn is_valid(&self, arguments: &Value) -> Result<bool, SchemaError> {
        self.is_valid_with(arguments, ())
    }

    /// True if the arguments break no rule of the schema under these options. This is faster than [`super::check`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`super::check`].
    pub fn is_valid_with(
        &self,
        arguments: &Value,
        options: impl Into<super::CheckOptions>,
    ) -> Result<bool, SchemaError> {
        super::check::is_valid(self, arguments, options.into())
    }

    /// True if the schema marks anything as secret, with `writeOnly` or `format: password`.
    pub fn has_secrets(&self) -> bool {
        self.outline.has_secrets()
    }

    /// Returns the arguments without the values that the schema marks as secret in any branch. It does not look for
    /// secrets by name or shape; see [`answerback_redaction`].
    pub fn without_secrets<'v>(&self, arguments: &'v Value) -> Cow<'v, Value> {
        super::argument_preview::redact_arguments(arguments, &self.outline)
    }

    /// Returns the value at an evaluation path, such as a finding's `schema_path`. References on the path are
    /// followed.
    pub fn at(&self, schema_path: &Pointer) -> Option<&Value> {
        let mut place = String::new();
        let mut value: &Value = &self.source;
        for token in schema_path.tokens() {
            if token == "$ref" && value.get("$ref").is_some_and(Value::is_string) {
                let target = self.outline.node(self.outline.owner(&place)).reference?;
                place.clone_from(&self.outline.node(target).place);
                value = answerback_json::find(&self.source, &place)?;
            } else {
                answerback_json::push_token(&mut place, &token);
                value = answerback_json::below(value, &token)?;
            }
        }
        Some(value)
    }
}

fn options<'a>(documents: &Documents) -> ValidationOptions<'a> {
    jsonschema::options().with_retriever(Shelf(documents.clone())).should_validate_formats(true)
}

fn linear<'a>(documents: &Documents) -> ValidationOptions<'a> {
    options(documents).with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE))
}

fn backtracking<'a>(documents: &Documents) -> ValidationOptions<'a> {
    let patterns =
        PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_SIZE);
    options(documents).with_pattern_options(patterns)
}

fn of_pattern(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

/// Returns the place of the first error that the validator finds in a schema.
fn fault(source: &Value, documents: &Documents) -> Option<String> {
    let error = backtracking(documents).build(source).err()?;
    Some(error.instance_path().as_str().to_owned())
}

/// True if a `$schema` names a draft that the validator knows.
fn is_dialect(name: &str) -> bool {
    let name = name.trim_end_matches('#');
    let name = name.strip_prefix("http://").or_else(|| name.strip_prefix("https://"));
    matches!(
        name,
        Some(
            "json-schema.org/draft-04/schema"
                | "json-schema.org/draft-06/schema"
                | "json-schema.org/draft-07/schema"
                | "json-schema.org/draft/2019-09/schema"
                | "json-schema.org/draft/2020-12/schema"
        )
    )
}

/// True if a schema may check a format anywhere.
fn has_formats(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.contains_key("format") || members.values().any(has_formats)
        }
        Value::Array(elements) => elements.iter().any(has_formats),
        _ => false,
    }
}

/// Rejects a schema that is too deep or too large to compile safely.
pub(super) fn bound(source: &Value) -> Result<(), SchemaError> {
    let mut count = 0;
    let mut waiting = vec![(source, 1)];
    while let Some((value, depth)) = waiting.pop() {
        count += 1;
        if depth > DEEPEST {
            return Err(
                SchemaErrorKind::TooDeep.of(format!("it nests deeper than {DEEPEST} levels"))
            );
        }
        if count > MOST_VALUES {
            return Err(
                SchemaErrorKind::TooLarge.of(format!("it has more than {MOST_VALUES} values"))
            );
        }
        match value {
            Value::Array(elements) => {
                waiting.extend(elements.iter().map(|value| (value, depth + 1)));
            }
            Value::Object(members) => {
                waiting.extend(members.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Schemas;
    use super::*;

    #[test]
    fn faults_are_told_by_kind() {
        let deep = (0..200).fold(json!(true), |inner, _| json!({"not": inner}));
        for (schema, kind) in [
            (json!({"type": "dict"}), SchemaErrorKind::Invalid),
            (json!({"minimum": "1"}), SchemaErrorKind::Invalid),
            (json!({"$ref": "#/$defs/none"}), SchemaErrorKind::Reference),
            (json!({"$ref": "https://example.com/schema.json"}), SchemaErrorKind::Reference),
            (json!({"$ref": "file:///etc/passwd"}), SchemaErrorKind::Reference),
            (json!({"pattern": "("}), SchemaErrorKind::Pattern),
            (deep, SchemaErrorKind::TooDeep),
        ] {
            let error = Schema::compile(schema.clone()).unwrap_err();
            assert_eq!(error.kind(), kind, "{schema}: {error}");
            assert!(error.to_string().chars().count() < 400, "{error}");
        }
    }

    #[test]
    fn look_around_compiles() {
        let schema = Schema::compile(json!({"pattern": "^(?!tmp).*$"})).unwrap();
        assert!(schema.is_valid(&json!("src")).unwrap());
        assert!(!schema.is_valid(&json!("tmp/x")).unwrap());
    }

    #[test]
    fn drafts_are_told_by_their_name() {
        let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true});
        assert!(!Schema::compile(draft4).unwrap().is_valid(&json!(1)).unwrap());
        let draft7 = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
        assert!(!Schema::compile(draft7).unwrap().is_valid(&json!([1])).unwrap());
        let newest = json!({"prefixItems": [{"type": "string"}]});
        assert!(!Schema::compile(newest).unwrap().is_valid(&json!([1])).unwrap());
    }

    #[test]
    fn an_evaluation_path_leads_through_references() {
        let schema = Schema::compile(json!({
            "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/c"}}}, "c": {"maximum": 3}},
            "items": {"$ref": "#/$defs/a"},
        }))
        .unwrap();
        let path = Pointer::try_from("/items/$ref/properties/b/$ref/maximum").unwrap();
        assert_eq!(schema.at(&path), Some(&json!(3)));
        assert_eq!(schema.at(&Pointer::try_from("/items/none").unwrap()), None);
    }

    #[test]
    fn the_store_is_bounded_and_ignores_the_order_of_names() {
        let schemas = Schemas::new(2);
        let one = schemas.compile(&json!({"type": "object", "title": "x"})).unwrap();
        let same = schemas.compile(&json!({"title": "x", "type": "object"})).unwrap();
        assert!(Arc::ptr_eq(&one, &same));
        schemas.compile(&json!({"type": "dict"})).unwrap_err();
        schemas.compile(&json!(true)).unwrap();
        assert_eq!(schemas.len(), 2);
        let again = schemas.compile(&json!({"type": "object", "title": "x"})).unwrap();
        assert!(!Arc::ptr_eq(&one, &again));
    }

    #[test]
    fn hostile_schemas_end() {
        // A chain of references, each used twice, has 2^40 paths.
        let mut defs = serde_json::Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/{}", level + 1);
            defs.insert(level.to_string(), json!({"anyOf": [{"$ref": next}, {"$ref": next}]}));
        }
        defs.insert("40".to_owned(), json!({"type": "string"}));
        let ladder = Schema::compile(json!({"$defs": defs, "$ref": "#/$defs/0"})).unwrap_err();
        assert_eq!(ladder.kind(), SchemaErrorKind::TooComplex);
        let endless = Schema::compile(json!({"$ref": "#"})).unwrap();
        assert!(endless.is_valid(&json!(1)).unwrap());
        let many: Vec<Value> = (0..50_000).map(Value::from).collect();
        let huge = Schema::compile(json!({"enum": many})).unwrap();
        let findings = super::super::check(&huge, &json!("x"), ()).unwrap();
        assert!(findings[0].expected_value.as_ref().unwrap().chars().count() <= 300);
    }
}
