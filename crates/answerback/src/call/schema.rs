//! A tool's schema, compiled once.

use std::borrow::{Borrow, Cow};
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::{Value, json};

use super::documents::{Documents, Shelf};
use super::outline::Outline;
use crate::json::{self, Pointer};

/// The deepest schema, counted in arrays and objects. It keeps the compiler within a thread's stack.
const DEEPEST: usize = 128;
/// The largest schema, counted in values.
const MOST_VALUES: usize = 2_000_000;
/// The most ways in which one value may be led through a schema.
const MOST_WAYS: u64 = 1_000_000;
/// How often the backtracking engine may go back in one match.
const BACKTRACK_LIMIT: usize = 100_000;
/// The longest text that is matched by the backtracking engine, in bytes: what it does may grow with the square of that.
pub(super) const LONG_TEXT: usize = 4096;
/// The largest compiled pattern, in bytes.
const PATTERN_SIZE: usize = 4 << 20;

/// A tool's schema, ready to judge calls.
///
/// Drafts 4 to 2020-12, told by `$schema`, 2020-12 without it; formats are asserted. References reach
/// nothing outside the schema but the [`Documents`] handed in. Patterns run in linear time; one that needs look-around or a
/// backreference runs in a backtracking engine with a hard bound.
///
/// ```
/// use answerback::call::{Schema, check};
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
/// # Ok::<(), answerback::call::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schema {
    source: Arc<Value>,
    pub(super) validator: Validator,
    pub(super) outline: Outline,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// When it is no schema, reaches outside itself, has a pattern that no engine takes, or is over a
    /// bound. All of these are the tool author's to mend, never the model's.
    pub fn compile(source: impl Into<Arc<Value>>) -> Result<Self, SchemaError> {
        Self::compile_with(source, &Documents::default())
    }

    /// Compiles a schema whose references may also lead to these documents.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile`].
    pub fn compile_with(
        source: impl Into<Arc<Value>>,
        documents: &Documents,
    ) -> Result<Self, SchemaError> {
        let source = source.into();
        bound(&source)?;
        let linear = options(documents)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE));
        let backtracking = || backtracking(documents);
        let validator = linear.build(&source);
        let is_linear = validator.is_ok();
        let validator = validator.or_else(|_| backtracking().build(&source));
        let validator = validator.map_err(|error| SchemaError::uncompiled(&error))?;
        let draft = Draft::default().detect(&source);
        let of_pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
        let compile_pattern = |pattern: &str| {
            let schema = of_pattern(pattern);
            linear.build(&schema).or_else(|_| backtracking().build(&schema)).ok()
        };
        let goes_back = |pattern: &str| !is_linear && linear.build(&of_pattern(pattern)).is_err();
        let outline = Outline::new(&source, draft, documents, &compile_pattern, &goes_back);
        if outline.ways_in_place() > MOST_WAYS {
            return Err(SchemaError::too_complex());
        }
        Ok(Self { source, validator, outline })
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The schema as it was given, for whoever keeps it.
    pub fn shared_source(&self) -> Arc<Value> {
        Arc::clone(&self.source)
    }

    /// Whether the arguments break no rule of the schema; quicker than [`super::check`].
    ///
    /// # Errors
    ///
    /// As [`super::check`].
    pub fn is_valid(&self, arguments: &Value) -> Result<bool, SchemaError> {
        super::check::is_valid(self, arguments)
    }

    /// Whether it calls anything secret: `writeOnly`, or `format: password`.
    pub fn has_secrets(&self) -> bool {
        self.outline.has_secrets()
    }

    /// The arguments without what the schema calls secret, in whichever branch. Names and shapes of
    /// secrets are not looked at; see [`crate::finding::secrets`].
    pub fn without_secrets<'v>(&self, arguments: &'v Value) -> Cow<'v, Value> {
        super::shown::hidden(arguments, &self.outline)
    }

    /// What stands at an evaluation path, such as a finding's `schema_path`: references on the way are
    /// followed.
    pub fn at(&self, schema_path: &Pointer) -> Option<&Value> {
        let mut place = String::new();
        let mut value: &Value = &self.source;
        for token in schema_path.tokens() {
            if token == "$ref" && value.get("$ref").is_some_and(Value::is_string) {
                let target = self.outline.node(self.outline.owner(&place)).reference?;
                place.clone_from(&self.outline.node(target).place);
                value = json::find(&self.source, &place)?;
            } else {
                json::push_token(&mut place, &token);
                value = json::below(value, &token)?;
            }
        }
        Some(value)
    }
}

fn options<'a>(documents: &Documents) -> ValidationOptions<'a> {
    jsonschema::options().with_retriever(Shelf(documents.clone())).should_validate_formats(true)
}

fn backtracking<'a>(documents: &Documents) -> ValidationOptions<'a> {
    let patterns =
        PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_SIZE);
    options(documents).with_pattern_options(patterns)
}

/// Refuses a schema that is too deep or too large to compile safely.
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

/// A schema that cannot judge calls. It is the tool author's to mend: a call against it is passed on
/// unchecked and costs the model no attempt.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tool's schema cannot be used: {message}")]
pub struct SchemaError {
    kind: SchemaErrorKind,
    message: String,
}

/// What is the matter with a schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// It breaks the rules for schemas.
    Invalid,
    /// A reference leads nowhere, or outside the schema.
    Reference,
    /// A pattern no engine takes.
    Pattern,
    /// A pattern went back too often on this value.
    Backtracking,
    /// It nests too deep.
    TooDeep,
    /// It has too many values.
    TooLarge,
    /// It branches in too many ways.
    TooComplex,
}

impl SchemaErrorKind {
    pub(super) fn of(self, message: String) -> SchemaError {
        SchemaError { kind: self, message }
    }
}

impl SchemaError {
    /// What is the matter.
    pub fn kind(&self) -> SchemaErrorKind {
        self.kind
    }

    pub(super) fn too_complex() -> Self {
        SchemaErrorKind::TooComplex.of("it branches in too many ways to be followed".to_owned())
    }

    fn uncompiled(error: &jsonschema::ValidationError<'_>) -> Self {
        let place = match error.instance_path().as_str() {
            "" => "(root)",
            place => place,
        };
        match error.kind() {
            ValidationErrorKind::Referencing(cause) => {
                let cause = bounded(&cause.to_string());
                SchemaErrorKind::Reference.of(format!("a reference leads nowhere: {cause}; only references within the schema are followed"))
            }
            ValidationErrorKind::Format { format } if format == "regex" => {
                let pattern = bounded(&error.instance().to_string());
                SchemaErrorKind::Pattern.of(format!(
                    "the pattern {pattern} at {place} is not a regular expression we can run"
                ))
            }
            _ => {
                SchemaErrorKind::Invalid.of(format!("at {place}: {}", bounded(&error.to_string())))
            }
        }
    }

    /// A finding that is the schema's fault, not the value's.
    pub(super) fn while_checking(error: &jsonschema::ValidationError<'_>) -> Option<Self> {
        let place = error.schema_path().as_str();
        match error.kind() {
            // A pattern that goes back too often on a short text is its author's fault. How long a text is is the caller's:
            // who could switch a check off by sending more of it would.
            ValidationErrorKind::BacktrackLimitExceeded { .. } if is_long(error.instance()) => None,
            ValidationErrorKind::BacktrackLimitExceeded { .. }
            | ValidationErrorKind::RegexEngineFailure { .. } => Some(SchemaErrorKind::Backtracking.of(
                format!("the pattern at {place} could not be matched within {BACKTRACK_LIMIT} steps back"),
            )),
            ValidationErrorKind::Referencing(cause) => Some(SchemaErrorKind::Reference.of(format!(
                "the reference at {place} leads nowhere: {}",
                bounded(&cause.to_string())
            ))),
            _ => None,
        }
    }
}

/// Whether a text is so long that matching it may take more steps than there are, whatever the pattern.
fn is_long(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() > LONG_TEXT)
}

/// A foreign text, short and without characters that act.
fn bounded(text: &str) -> String {
    const LONGEST: usize = 200;
    let plain: String =
        text.chars().filter(|character| !character.is_control()).take(LONGEST + 1).collect();
    match plain.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &plain[..end]),
        None => plain,
    }
}

/// Schemas by their content, each compiled once. Of more than the bound, the oldest go first.
///
/// ```
/// use answerback::call::Schemas;
/// use serde_json::json;
///
/// let schemas = Schemas::new(64);
/// let one = schemas.compile(&json!({"type": "object"}))?;
/// let other = schemas.compile(&json!({"type": "object"}))?;
/// assert!(std::sync::Arc::ptr_eq(&one, &other));
/// # Ok::<(), answerback::call::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schemas {
    most: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_content: HashMap<Content, Result<Arc<Schema>, SchemaError>>,
    oldest_first: VecDeque<Content>,
}

/// A schema as a key: its content, hashed without regard to the order of names.
#[derive(Clone, Debug)]
struct Content(Arc<Value>);

impl Borrow<Value> for Content {
    fn borrow(&self) -> &Value {
        &self.0
    }
}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Content {}

impl Schemas {
    /// A store for at most `most` schemas.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), known: Mutex::default() }
    }

    /// The compiled schema, from the store if its content is known. A schema that does not compile is
    /// remembered too.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile`].
    pub fn compile(&self, source: &Value) -> Result<Arc<Schema>, SchemaError> {
        // Hashing recurses; a schema too deep to compile is too deep to hash.
        bound(source)?;
        if let Some(known) = self.lock().by_content.get(source) {
            return known.clone();
        }
        // Compiled outside the lock: a large schema must not hold up the others.
        let content = Content(Arc::new(source.clone()));
        let compiled = Schema::compile(Arc::clone(&content.0)).map(Arc::new);
        let mut known = self.lock();
        if let Some(earlier) = known.by_content.get(source) {
            return earlier.clone();
        }
        while known.by_content.len() >= self.most
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.by_content.remove(&oldest);
        }
        known.oldest_first.push_back(content.clone());
        known.by_content.insert(content, compiled.clone());
        compiled
    }

    /// How many schemas are kept.
    pub fn len(&self) -> usize {
        self.lock().by_content.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // Nothing panics while it is held, and a half-made entry would still be whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Schemas {
    /// A store for 1,024 schemas.
    fn default() -> Self {
        Self::new(1024)
    }
}

#[cfg(test)]
mod tests {
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
        // A ladder of references, each used twice: 2^40 ways through it.
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
