use answerback_findings::preview;
use serde_json::{Map, Value, json};

use super::display;
use super::schema::SchemaParts;
use crate::call;

/// One condition on a value: as a sentence, as a constraint, and as a schema that checks only this condition.
pub(super) struct Condition {
    /// The name of its validation result and of its constraint, such as `min_length`.
    pub(super) name: &'static str,
    /// The condition as a sentence.
    pub(super) sentence: String,
    /// The bound, pattern or list to show among the constraints, if any.
    pub(super) constraint: Option<Value>,
    /// The schema with only this keyword and the sibling keywords that it depends on.
    alone: Value,
    /// The value types that the condition applies to. Empty means every type.
    applies_to: &'static [&'static str],
}

/// The result of checking a value against one condition.
#[derive(Clone)]
pub(super) enum ConditionResult {
    Holds(bool),
    /// The condition does not apply to values of this type. Holds the reason as text.
    NotChecked(String),
}

impl From<ConditionResult> for Value {
    fn from(verdict: ConditionResult) -> Self {
        match verdict {
            ConditionResult::Holds(holds) => holds.into(),
            ConditionResult::NotChecked(reason) => reason.into(),
        }
    }
}

impl Condition {
    /// Checks a value against only this condition. Returns `None` if the schema does not compile.
    pub(super) fn evaluate(
        &self,
        schema: &SchemaParts<'_>,
        value: &Value,
    ) -> Option<ConditionResult> {
        let kind = type_of(value);
        if !self.applies_to.is_empty() && !self.applies_to.contains(&kind) {
            let reason =
                format!("not checked: it applies to {}s only", self.applies_to.join("s and "));
            return Some(ConditionResult::NotChecked(reason));
        }
        Some(ConditionResult::Holds(schema.validator(&self.alone)?.is_valid(value)))
    }
}

/// Returns the conditions that one part of a schema sets, as sentences about `subject`.
pub(super) fn conditions(subject: &str, part: &Map<String, Value>) -> Vec<Condition> {
    let keywords = KEYWORDS.iter();
    keywords.filter_map(|keyword| keyword.condition(subject, part)).collect()
}

/// Returns the JSON Schema type of a value. An integer counts as a number.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A JSON Schema keyword, the value types that it applies to, and its wording.
struct ConditionKeyword {
    word: &'static str,
    /// The name of its validation result and of its constraint.
    name: &'static str,
    applies_to: &'static [&'static str],
    /// The sibling keywords that it depends on, such as `prefixItems` for `items`.
    siblings: &'static [&'static str],
    /// Returns the words after "… must". Returns `None` if this value of the keyword sets no condition.
    words: fn(&Value, &Map<String, Value>) -> Option<String>,
    /// True if the keyword's value is shown among the constraints.
    is_constraint: bool,
}

impl ConditionKeyword {
    fn condition(&self, subject: &str, part: &Map<String, Value>) -> Option<Condition> {
        let value = part.get(self.word)?;
        let words = (self.words)(value, part)?;
        let mut alone = Map::new();
        alone.insert(self.word.to_owned(), value.clone());
        for name in self.siblings {
            let sibling = part.get(*name).and_then(|value| without_demands(name, value));
            alone.extend(sibling.map(|value| ((*name).to_owned(), value)));
        }
        let constraint = self.is_constraint.then(|| match value {
            Value::Array(values) => values.iter().take(20).map(display::value).collect(),
            other => display::value(other),
        });
        Some(Condition {
            name: self.name,
            sentence: display::sentence(&format!("{subject} must {words}")),
            constraint,
            alone: Value::Object(alone),
            applies_to: self.applies_to,
        })
    }
}

/// Returns a sibling keyword reduced to the parts that the main keyword depends on. The sibling's own
/// conditions are removed, so that they cannot fail the check.
fn without_demands(name: &str, value: &Value) -> Option<Value> {
    match (name, value) {
        ("properties" | "patternProperties", Value::Object(members)) => {
            Some(members.keys().map(|name| (name.clone(), json!({}))).collect())
        }
        ("prefixItems", Value::Array(parts)) => Some(parts.iter().map(|_| json!({})).collect()),
        // Since draft 6 an exclusive bound is a condition of its own.
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => None,
        _ => Some(value.clone()),
    }
}

const STRING: &[&str] = &["string"];
const NUMBER: &[&str] = &["number"];
const ARRAY: &[&str] = &["array"];
const OBJECT: &[&str] = &["object"];
const ANYTHING: &[&str] = &[];

const fn keyword(
    word: &'static str,
    name: &'static str,
    applies_to: &'static [&'static str],
    words: fn(&Value, &Map<String, Value>) -> Option<String>,
) -> ConditionKeyword {
    ConditionKeyword { word, name, applies_to, siblings: &[], words, is_constraint: true }
}

impl ConditionKeyword {
    const fn with_siblings(mut self, names: &'static [&'static str]) -> Self {
        self.siblings = names;
        self
    }

    /// Excludes the keyword's value from the constraints. It is a schema, or adds nothing to the words.
    const fn in_words_only(mut self) -> Self {
        self.is_constraint = false;
        self
    }
}

/// The keywords that set conditions, in the order in which they are reported.
const KEYWORDS: &[ConditionKeyword] = &[
    keyword("type", "type", ANYTHING, |kind, _| Some(format!("be {}", kinds(kind)?)))
        .in_words_only(),
    keyword("const", "exact_value", ANYTHING, |value, _| {
        Some(format!("be exactly {}", preview(value)))
    }),
    keyword("enum", "allowed_values", ANYTHING, |values, _| {
        Some(format!("be one of: {}", display::values(values.as_array()?)))
    }),
    keyword("format", "format", STRING, |format, _| {
        Some(format!("be {}", format_words(format.as_str()?)))
    })
    .in_words_only(),
    keyword("minLength", "min_length", STRING, |least, _| {
        Some(format!("have at least {}", count_of(least, "character")?))
    }),
    keyword("maxLength", "max_length", STRING, |most, _| {
        Some(format!("have at most {}", count_of(most, "character")?))
    }),
    keyword("pattern", "pattern", STRING, |pattern, _| {
        Some(format!("match the pattern {}", display::pattern(pattern.as_str()?)))
    }),
    keyword("minimum", "min_value", NUMBER, |bound, part| {
        // In draft 4 the exclusive bounds are flags next to the bound.
        let words = if part.get("exclusiveMinimum") == Some(&json!(true)) {
            "be greater than"
        } else {
            "be at least"
        };
        Some(format!("{words} {}", preview(bound)))
    })
    .with_siblings(&["exclusiveMinimum"]),
    keyword("maximum", "max_value", NUMBER, |bound, part| {
        let words = if part.get("exclusiveMaximum") == Some(&json!(true)) {
            "be less than"
        } else {
            "be at most"
        };
        Some(format!("{words} {}", preview(bound)))
    })
    .with_siblings(&["exclusiveMaximum"]),
    keyword("exclusiveMinimum", "exclusive_min_value", NUMBER, |bound, _| {
        bound.is_number().then(|| format!("be greater than {}", preview(bound)))
    }),
    keyword("exclusiveMaximum", "exclusive_max_value", NUMBER, |bound, _| {
        bound.is_number().then(|| format!("be less than {}", preview(bound)))
    }),
    keyword("multipleOf", "multiple_of", NUMBER, |factor, _| {
        Some(format!("be a multiple of {}", preview(factor)))
    }),
    keyword("minItems", "min_items", ARRAY, |least, _| {
        Some(format!("have at least {}", count_of(least, "item")?))
    }),
    keyword("maxItems", "max_items", ARRAY, |most, _| {
        Some(format!("have at most {}", count_of(most, "item")?))
    }),
    keyword("uniqueItems", "unique_items", ARRAY, |unique, _| {
        (unique == &json!(true)).then(|| "have no item twice".to_owned())
    }),
    keyword("prefixItems", "first_items", ARRAY, |parts, _| {
        let parts = parts.as_array()?.iter().take(5).map(described).collect::<Vec<_>>();
        Some(format!("start with, in this order: {}", parts.join(", ")))
    })
    .in_words_only(),
    keyword("items", "items", ARRAY, |part, _| match part {
        Value::Bool(false) => Some("have no further items".to_owned()),
        Value::Object(_) => Some(format!("have only items that are {}", described(part))),
        _ => None,
    })
    .with_siblings(&["prefixItems"])
    .in_words_only(),
    keyword("contains", "contains", ARRAY, |part, beside| {
        let least = beside.get("minContains").map_or_else(|| "1".to_owned(), preview);
        Some(format!("contain at least {least} of this: {}", described(part)))
    })
    .with_siblings(&["minContains", "maxContains"])
    .in_words_only(),
    keyword("required", "required", OBJECT, |names, _| {
        let names: Vec<&str> = names.as_array()?.iter().filter_map(Value::as_str).collect();
        (!names.is_empty()).then(|| format!("have {}", display::names(names)))
    }),
    keyword("additionalProperties", "known_members", OBJECT, |part, beside| {
        let known = beside.get("properties").and_then(Value::as_object);
        let names = display::names(known.into_iter().flat_map(Map::keys).map(String::as_str));
        match part {
            Value::Bool(false) if names.is_empty() && !beside.contains_key("patternProperties") => {
                Some("have no members".to_owned())
            }
            Value::Bool(false) if names.is_empty() => None,
            Value::Bool(false) => Some(format!("have no members other than {names}")),
            Value::Object(_) => {
                Some(format!("have only further members that are {}", described(part)))
            }
            _ => None,
        }
    })
    .with_siblings(&["properties", "patternProperties"])
    .in_words_only(),
    keyword("propertyNames", "member_names", OBJECT, |part, _| {
        Some(format!("have only member names that are {}", described(part)))
    })
    .in_words_only(),
    keyword("minProperties", "min_members", OBJECT, |least, _| {
        Some(format!("have at least {}", count_of(least, "member")?))
    }),
    keyword("maxProperties", "max_members", OBJECT, |most, _| {
        Some(format!("have at most {}", count_of(most, "member")?))
    }),
    keyword("dependentRequired", "dependent_members", OBJECT, |dependents, _| {
        let told: Vec<String> = dependents
            .as_object()?
            .iter()
            .take(5)
            .map(|(name, needed)| {
                let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                format!(
                    "{} when {} is given",
                    display::names(needed),
                    display::names([name.as_str()])
                )
            })
            .collect();
        (!told.is_empty()).then(|| format!("have {}", told.join(", and ")))
    })
    .in_words_only(),
    keyword("anyOf", "any_of", ANYTHING, |parts, _| {
        Some(format!("be at least one of these: {}", alternatives(parts)?))
    })
    .in_words_only(),
    keyword("oneOf", "one_of", ANYTHING, |parts, _| {
        Some(format!("be exactly one of these: {}", alternatives(parts)?))
    })
    .in_words_only(),
    keyword("not", "not", ANYTHING, |part, _| Some(forbidden(part))).in_words_only(),
];

/// Describes the values that a part of a schema accepts, in a few words.
fn described(part: &Value) -> String {
    let Some(members) = part.as_object() else {
        return if part == &json!(false) { "nothing at all" } else { "anything" }.to_owned();
    };
    if let Some(value) = members.get("const") {
        return preview(value);
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array) {
        return format!("one of {}", display::values(values));
    }
    if let Some(format) = members.get("format").and_then(Value::as_str) {
        return format_words(format);
    }
    let mut words = members.get("type").and_then(kinds).unwrap_or_else(|| "a value".to_owned());
    let properties = members.get("properties").and_then(Value::as_object);
    let marked = properties.into_iter().flatten().find_map(|(name, property)| {
        Some(format!(
            " whose {} is {}",
            display::names([name.as_str()]),
            preview(property.get("const")?)
        ))
    });
    let required = members.get("required").and_then(Value::as_array);
    let names: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    match (marked, names.is_empty()) {
        (Some(marked), _) => words.push_str(&marked),
        (None, false) => {
            words.push_str(" with ");
            words.push_str(&display::names(names));
        }
        (None, true) => {
            if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
                words.push_str(" that matches the pattern ");
                words.push_str(&display::pattern(pattern));
            }
        }
    }
    words
}

/// Returns the words after "must" for a `not`. A rule that a few words cannot describe exactly is only
/// mentioned, because a rough description would forbid too much.
fn forbidden(part: &Value) -> String {
    let listed = |keyword: &str| part.get(keyword).is_some();
    if listed("const") || listed("enum") {
        return format!("not be {}", described(part));
    }
    format!("be {}", call::permitted_by_not(part))
}

fn alternatives(parts: &Value) -> Option<String> {
    let parts = parts.as_array()?;
    let told: Vec<String> = parts.iter().take(6).map(described).collect();
    let more = parts.len().saturating_sub(told.len());
    let told = told.join("; or ");
    Some(if more == 0 { told } else { format!("{told}; or {more} more") })
}

fn kinds(kind: &Value) -> Option<String> {
    let words = |kind: &str| match kind {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "an array",
        "object" => "an object",
        "null" => "null",
        _ => "a value",
    };
    match kind {
        Value::String(kind) => Some(words(kind).to_owned()),
        Value::Array(list) => {
            let list: Vec<&str> = list.iter().filter_map(Value::as_str).map(words).collect();
            (!list.is_empty()).then(|| list.join(" or "))
        }
        _ => None,
    }
}

fn count_of(count: &Value, noun: &str) -> Option<String> {
    count.as_f64()?;
    let plural = if count.as_u64() == Some(1) { "" } else { "s" };
    Some(format!("{} {noun}{plural}", preview(count)))
}

/// Returns the name of a JSON Schema format in words.
pub(super) fn format_words(format: &str) -> String {
    let words = match format {
        "date-time" => "an RFC 3339 date and time (YYYY-MM-DDTHH:mm:ssZ)",
        "date" => "a date (YYYY-MM-DD)",
        "time" => "a time of day with offset (HH:mm:ssZ)",
        "duration" => "an ISO 8601 duration (such as P3DT4H)",
        "email" | "idn-email" => "an e-mail address (user@example.com)",
        "hostname" | "idn-hostname" => "a host name (example.com)",
        "ipv4" => "an IPv4 address (192.0.2.1)",
        "ipv6" => "an IPv6 address (2001:db8::1)",
        "uri" | "iri" => "an absolute URI (https://example.com/)",
        "uri-reference" | "iri-reference" => "a URI or a relative reference (/path)",
        "uri-template" => "a URI template (/users/{id})",
        "uuid" => "a UUID (8-4-4-4-12 hexadecimal digits)",
        "json-pointer" => "a JSON Pointer (/a/b)",
        "relative-json-pointer" => "a relative JSON Pointer (1/a)",
        "regex" => "a regular expression",
        other => return format!("in the format {}", preview(&Value::from(other))),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keyword_is_one_plain_sentence() {
        let table = [
            (json!({"type": ["integer", "null"]}), "x must be an integer or null"),
            (json!({"const": "a"}), r#"x must be exactly "a""#),
            (json!({"enum": ["a", 1]}), r#"x must be one of: "a", 1"#),
            (json!({"format": "date"}), "x must be a date (YYYY-MM-DD)"),
            (json!({"format": "zip"}), r#"x must be in the format "zip""#),
            (json!({"minLength": 1}), "x must have at least 1 character"),
            (json!({"maxLength": 3}), "x must have at most 3 characters"),
            (json!({"pattern": "^a"}), "x must match the pattern ^a"),
            (json!({"minimum": 1}), "x must be at least 1"),
            (json!({"minimum": 1, "exclusiveMinimum": true}), "x must be greater than 1"),
            (json!({"maximum": 1.5}), "x must be at most 1.5"),
            (json!({"exclusiveMinimum": 0}), "x must be greater than 0"),
            (json!({"exclusiveMaximum": 9}), "x must be less than 9"),
            (json!({"multipleOf": 5}), "x must be a multiple of 5"),
            (json!({"minItems": 2}), "x must have at least 2 items"),
            (json!({"maxItems": 1}), "x must have at most 1 item"),
            (json!({"uniqueItems": true}), "x must have no item twice"),
            (json!({"items": {"type": "string"}}), "x must have only items that are a string"),
            (
                json!({"prefixItems": [{"type": "string"}, {"const": 1}]}),
                "x must start with, in this order: a string, 1",
            ),
            (json!({"contains": {"const": 5}}), "x must contain at least 1 of this: 5"),
            (json!({"required": ["a", "b"]}), r#"x must have "a", "b""#),
            (json!({"additionalProperties": false}), "x must have no members"),
            (
                json!({"additionalProperties": false, "properties": {"a": {}}}),
                r#"x must have no members other than "a""#,
            ),
            (
                json!({"additionalProperties": {"type": "number"}}),
                "x must have only further members that are a number",
            ),
            (
                json!({"propertyNames": {"pattern": "^k"}}),
                "x must have only member names that are a value that matches the pattern ^k",
            ),
            (json!({"minProperties": 1}), "x must have at least 1 member"),
            (json!({"maxProperties": 2}), "x must have at most 2 members"),
            (json!({"dependentRequired": {"a": ["b"]}}), r#"x must have "b" when "a" is given"#),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"kind": {"const": "c"}}}]}),
                r#"x must be at least one of these: a string; or an object whose "kind" is "c""#,
            ),
            (
                json!({"oneOf": [{"type": "null"}, {"type": "object", "required": ["r"]}]}),
                r#"x must be exactly one of these: null; or an object with "r""#,
            ),
            (json!({"not": {"enum": [0]}}), "x must not be one of 0"),
            (
                json!({"not": {"required": ["a", "b"]}}),
                "x must be a value without 'a' and 'b' together",
            ),
            (
                json!({"not": {"type": "object", "properties": {"a": {"const": 1}}}}),
                "x must be a value that the schema's 'not' rule does not match",
            ),
        ];
        for (part, sentence) in table {
            let found = conditions("x", part.as_object().unwrap());
            let sentences: Vec<&str> =
                found.iter().map(|condition| condition.sentence.as_str()).collect();
            assert_eq!(sentences, [sentence], "{part}");
        }
        for silent in [
            json!({"uniqueItems": false}),
            json!({"title": "t"}),
            json!({"items": true}),
            json!({"additionalProperties": true}),
        ] {
            assert_eq!(conditions("x", silent.as_object().unwrap()).len(), 0, "{silent}");
        }
    }

    #[test]
    fn a_condition_judges_alone() {
        let root = json!({});
        let schema = SchemaParts::new(&root);
        let part = json!({"type": "integer", "minimum": 1, "maximum": 5});
        let checked = |value: Value| -> Vec<Value> {
            let found = conditions("x", part.as_object().unwrap());
            found
                .iter()
                .map(|condition| condition.evaluate(&schema, &value).unwrap().into())
                .collect()
        };
        assert_eq!(checked(json!(9)), [json!(true), json!(true), json!(false)]);
        let not_checked = json!("not checked: it applies to numbers only");
        assert_eq!(checked(json!("9")), [json!(false), not_checked.clone(), not_checked]);
    }
}
