//! Describes what a schema requires, in words short enough for a message.

use answerback_findings::{Preview, preview};
use serde_json::{Map, Value};

use super::types::Types;

/// The longest description, in characters.
const LONGEST: usize = 300;
/// The number of levels that a description follows into a schema.
const DEEPEST: usize = 3;
/// The number of alternatives or names that a description lists.
const MOST_LISTED: usize = 5;

/// Describes the values that a subschema accepts, such as "integer from 1 to 100". References are followed within
/// `root`.
pub(super) fn described(schema: &Value, root: &Value) -> String {
    let mut words = Phrase { root, text: String::new() };
    words.schema(schema, 0);
    bounded(words.text)
}

/// Describes the values that a `not` still permits, such as "a value that is not 0".
pub(crate) fn permitted_by_not(forbidden: &Value) -> String {
    let mut words = Phrase { root: &Value::Null, text: "a value".to_owned() };
    words.without(forbidden, 0);
    bounded(words.text)
}

/// Lists the values of an enumeration: "one of: utf-8, ascii, utf-16".
pub(super) fn options(values: &[Value]) -> String {
    join_options(values.len(), values.iter().map(bare))
}

/// Lists the names that an object may use, in the same form.
pub(super) fn names(names: &[&str]) -> String {
    join_options(names.len(), names.iter().map(|name| bare_text(name)))
}

fn join_options(count: usize, options: impl Iterator<Item = String>) -> String {
    const ROOM: usize = 240;
    let mut text = "one of: ".to_owned();
    for (index, option) in options.enumerate() {
        let room = ROOM.saturating_sub(option.chars().count());
        if index > 0 && text.chars().count() > room {
            return format!("{text} (and {} more)", count - index);
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&option);
    }
    text
}

/// Formats a value for use inside a sentence: a plain word without quotes, anything else as JSON.
pub(super) fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => bare_text(text),
        other => preview(other),
    }
}

fn bare_text(text: &str) -> String {
    let shown = Preview::new().show_text(text);
    if is_plain(text) { shown.trim_matches('"').to_owned() } else { shown }
}

/// True if a string is unambiguous in a list without quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= 40
        && text.trim() == text
        && text.chars().all(|character| {
            character.is_alphanumeric()
                || matches!(character, '-' | '_' | '.' | '/' | ' ' | '+' | '#' | '@')
        })
}

struct Phrase<'s> {
    root: &'s Value,
    text: String,
}

impl<'s> Phrase<'s> {
    fn schema(&mut self, schema: &'s Value, depth: usize) {
        let Some(schema) = schema.as_object() else {
            self.text.push_str(if schema == &Value::Bool(false) { "nothing" } else { "any value" });
            return;
        };
        self.permitted(schema, depth);
        if depth <= DEEPEST
            && let Some(forbidden) = schema.get("not")
        {
            self.without(forbidden, depth);
        }
    }

    /// Describes the values that a subschema accepts, without the part that its `not` forbids.
    fn permitted(&mut self, schema: &'s Map<String, Value>, depth: usize) {
        if depth > DEEPEST {
            self.text.push_str("value");
        } else if let Some(value) = schema.get("const") {
            self.text.push_str("exactly ");
            self.text.push_str(&preview(value));
        } else if let Some(Value::Array(values)) = schema.get("enum") {
            self.text.push_str(&options(values));
        } else if let Some(target) =
            schema.get("$ref").and_then(|reference| self.followed(reference))
        {
            self.schema(target, depth + 1);
        } else if let Some(kind) = schema.get("type") {
            self.typed(Types::of_keyword(kind), schema, depth);
        } else if let Some(Value::Array(branches)) =
            schema.get("anyOf").or_else(|| schema.get("oneOf"))
        {
            self.alternatives(branches, depth);
        } else if let Some(Value::Array(parts)) = schema.get("allOf")
            && let [only, ..] = parts.as_slice()
        {
            self.schema(only, depth + 1);
        } else if schema.contains_key("properties") || schema.contains_key("required") {
            self.typed(Types::OBJECT, schema, depth);
        } else {
            self.untyped(schema, depth);
        }
    }

    /// Describes the values that a `not` forbids. A rule that cannot be described exactly is only mentioned, because
    /// a shorter description would forbid more than the schema does.
    fn without(&mut self, forbidden: &'s Value, depth: usize) {
        let Some(rules) = forbidden.as_object() else {
            if forbidden == &Value::Bool(true) {
                self.text.clear();
                self.push("nothing");
            }
            return;
        };
        if let Some(start) = self.text.strip_suffix("any value") {
            let start = start.len();
            self.text.truncate(start);
            self.push("value");
        }
        if let Some(Value::Array(values)) = rules.get("enum") {
            let listed = options(values);
            self.push(" that is none of: ");
            self.push(listed.strip_prefix("one of: ").unwrap_or(&listed));
        } else if let Some(value) = rules.get("const") {
            self.push(&format!(" that is not {}", preview(value)));
        } else if let Some(names) = forbidden_combination(rules) {
            let quoted: Vec<String> =
                names.iter().map(|name| format!("'{}'", bare_name(name))).collect();
            match quoted.as_slice() {
                [only] => self.push(&format!(" without {only}")),
                [first @ .., last] => {
                    self.push(&format!(" without {} and {last} together", first.join(", ")));
                }
                [] => {}
            }
        } else if let (Some(pattern), true) = (rules.get("pattern"), is_text_rule(rules, "pattern"))
        {
            self.push(" that does not match pattern ");
            self.push(preview(pattern).trim_matches('"'));
        } else if is_exact(rules) {
            let mut words = Phrase { root: self.root, text: String::new() };
            words.schema(forbidden, depth + 1);
            self.push(&format!(" that is not: {}", words.text));
        } else {
            self.push(" that the schema's 'not' rule does not match");
        }
    }

    fn followed(&self, reference: &Value) -> Option<&'s Value> {
        let place = reference.as_str()?.strip_prefix('#')?;
        self.root.pointer(place)
    }

    fn typed(&mut self, types: Types, schema: &'s Map<String, Value>, depth: usize) {
        let name = types.to_string();
        self.text.push_str(&name);
        match name.as_str() {
            "string" => self.string_rules(schema),
            "integer" | "number" => self.number_rules(schema),
            "array" => self.array_rules(schema, depth),
            "object" => self.object_rules(schema, depth),
            _ => {}
        }
    }

    fn untyped(&mut self, schema: &'s Map<String, Value>, depth: usize) {
        let length = self.text.len();
        self.text.push_str("value");
        let start = self.text.len();
        self.string_rules(schema);
        self.number_rules(schema);
        if ["contains", "items", "minItems", "maxItems", "uniqueItems"]
            .iter()
            .any(|word| schema.contains_key(*word))
        {
            self.array_rules(schema, depth);
        }
        if ["propertyNames", "minProperties", "maxProperties"]
            .iter()
            .any(|word| schema.contains_key(*word))
        {
            self.object_rules(schema, depth);
        }
        if self.text.len() == start {
            self.text.truncate(length);
            self.text.push_str("any value");
        }
    }

    fn string_rules(&mut self, schema: &Map<String, Value>) {
        match (count(schema, "minLength").filter(|least| *least > 0), count(schema, "maxLength")) {
            (Some(least), Some(most)) if least == most => {
                self.push(&format!(" with length {least}"));
            }
            (Some(least), Some(most)) => self.push(&format!(" with length from {least} to {most}")),
            (Some(least), None) => self.push(&format!(" with min length {least}")),
            (None, Some(most)) => self.push(&format!(" with max length {most}")),
            (None, None) => {}
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str) {
            let name = Preview::new().show_text(format);
            self.push(&format!(" in {} format", name.trim_matches('"')));
            if let Some(example) = example(format) {
                self.push(&format!(" (such as {example})"));
            }
        }
        if let Some(pattern) = schema.get("pattern") {
            self.push(" matching pattern ");
            self.push(preview(pattern).trim_matches('"'));
        }
    }

    fn number_rules(&mut self, schema: &Map<String, Value>) {
        // In draft 4, the exclusive bounds are booleans next to the bounds.
        let exclusive = |name: &str, bound: &str| match schema.get(name) {
            Some(Value::Bool(true)) => schema.get(bound),
            Some(number @ Value::Number(_)) => Some(number),
            _ => None,
        };
        let above = exclusive("exclusiveMinimum", "minimum");
        let below = exclusive("exclusiveMaximum", "maximum");
        let least = schema.get("minimum").filter(|_| above.is_none());
        let most = schema.get("maximum").filter(|_| below.is_none());
        match (least, most) {
            (Some(least), Some(most)) => self.push(&format!(" from {least} to {most}")),
            (Some(least), None) => self.push(&format!(" of at least {least}")),
            (None, Some(most)) => self.push(&format!(" of at most {most}")),
            (None, None) => {}
        }
        if let Some(bound) = above {
            self.push(&format!(" greater than {bound}"));
        }
        if let Some(bound) = below {
            self.push(&format!(" less than {bound}"));
        }
        if let Some(step) = schema.get("multipleOf") {
            self.push(&format!(" that is a multiple of {step}"));
        }
    }

    fn array_rules(&mut self, schema: &'s Map<String, Value>, depth: usize) {
        match (count(schema, "minItems").filter(|least| *least > 0), count(schema, "maxItems")) {
            (Some(least), Some(most)) if least == most => self.push(&format!(" of {least} items")),
            (Some(least), Some(most)) => self.push(&format!(" of {least} to {most} items")),
            (Some(least), None) => self.push(&format!(" of at least {least} items")),
            (None, Some(most)) => self.push(&format!(" of at most {most} items")),
            (None, None) => {}
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.push(" without repeats");
        }
        if let Some(items @ Value::Object(rules)) = schema.get("items")
            && !rules.is_empty()
        {
            self.push(", each ");
            self.schema(items, depth + 1);
        }
        if let Some(items) = schema.get("contains") {
            let least = count(schema, "minContains").unwrap_or(1);
            let plural = |count: u64| if count == 1 { "item" } else { "items" };
            let amount = match (least, count(schema, "maxContains")) {
                (0, None) => return,
                (0, Some(most)) => format!("at most {most} {}", plural(most)),
                (least, None) => format!("at least {least} {}", plural(least)),
                (least, Some(most)) if least == most => {
                    format!("exactly {least} {}", plural(least))
                }
                (least, Some(most)) => format!("{least} to {most} items"),
            };
            self.push(&format!(" with {amount} of this kind: "));
            self.schema(items, depth + 1);
        }
    }

    fn object_rules(&mut self, schema: &'s Map<String, Value>, depth: usize) {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let names: Vec<String> = required.take(MOST_LISTED + 1).map(preview).collect();
        if !names.is_empty() {
            let listed = names.len().min(MOST_LISTED);
            self.push(&format!(" with {}", names[..listed].join(", ").replace('"', "'")));
            if names.len() > listed {
                self.push(" and more");
            }
        }
        match (count(schema, "minProperties"), count(schema, "maxProperties")) {
            (Some(least), Some(most)) => self.push(&format!(" of {least} to {most} fields")),
            (Some(least), None) => self.push(&format!(" of at least {least} fields")),
            (None, Some(most)) => self.push(&format!(" of at most {most} fields")),
            (None, None) => {}
        }
        if let Some(names @ Value::Object(rules)) = schema.get("propertyNames")
            && !rules.is_empty()
        {
            self.push(" whose field names are each: ");
            self.schema(names, depth + 1);
        }
    }

    fn alternatives(&mut self, branches: &'s [Value], depth: usize) {
        let mut told: Vec<String> = Vec::new();
        for branch in branches {
            let mut words = Phrase { root: self.root, text: String::new() };
            words.schema(branch, depth + 1);
            if !told.contains(&words.text) {
                told.push(words.text);
            }
            if told.len() > MOST_LISTED {
                break;
            }
        }
        let listed = told.len().min(MOST_LISTED);
        // After a list, a comma would make the alternative look like a part of the list.
        let is_list = told[..listed].iter().any(|words| words.contains(','));
        let separator = if is_list { "; or " } else { ", or " };
        self.push(&told[..listed].join(separator));
        if told.len() > listed {
            self.push(separator);
            self.push("another form");
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

/// Returns the names that a `not` forbids together, if it contains no other rule.
pub(super) fn forbidden_combination(rules: &Map<String, Value>) -> Option<Vec<&str>> {
    let only_names = rules.iter().all(|(keyword, value)| match keyword.as_str() {
        "required" => true,
        "type" => value == "object",
        other => is_annotation(other),
    });
    let names: Option<Vec<&str>> =
        rules.get("required")?.as_array()?.iter().map(Value::as_str).collect();
    names.filter(|names| only_names && (1..=MOST_LISTED).contains(&names.len()))
}

/// True if one keyword about texts is the only rule.
fn is_text_rule(rules: &Map<String, Value>, keyword: &str) -> bool {
    rules.iter().all(|(word, value)| {
        word == keyword || word == "type" && value == "string" || is_annotation(word)
    })
}

fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "$comment" | "default" | "examples" | "deprecated")
}

/// True if a description of these rules is complete.
fn is_exact(rules: &Map<String, Value>) -> bool {
    rules.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" | "minLength" | "maxLength" | "pattern" | "minimum" | "maximum"
        | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems"
        | "uniqueItems" | "minProperties" | "maxProperties" => {
            // For several types, the description lists only the names, without their rules.
            keyword == "type" || !rules.get("type").is_some_and(Value::is_array)
        }
        "required" => value.as_array().is_some_and(|names| names.len() <= MOST_LISTED),
        other => is_annotation(other),
    })
}

fn bare_name(name: &str) -> String {
    let shown = Preview::new().show_text(name);
    shown.trim_matches('"').to_owned()
}

fn count(schema: &Map<String, Value>, keyword: &str) -> Option<u64> {
    // A count may be written 3.0.
    let number = schema.get(keyword)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is only shown in a description, and the cast saturates"
    )]
    number.as_u64().or_else(|| number.as_f64().map(|float| float as u64))
}

/// Returns an example of a format. It illustrates the rule and does not guess the intended value.
fn example(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2025-01-31",
        "date-time" => "2025-01-31T09:30:00Z",
        "time" => "09:30:00Z",
        "duration" => "P1DT12H",
        "email" => "name@example.com",
        "uri" | "url" => "https://example.com/page",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "www.example.com",
        _ => return None,
    })
}

fn bounded(mut text: String) -> String {
    if text.chars().nth(LONGEST).is_some()
        && let Some((cut, _)) = text.char_indices().nth(LONGEST - 3)
    {
        text.truncate(cut);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_like_speech() {
        for (schema, words) in [
            (json!(true), "any value"),
            (json!({}), "any value"),
            (json!({"type": "string", "maxLength": 4096}), "string with max length 4096"),
            (json!({"type": "string", "minLength": 2, "maxLength": 2}), "string with length 2"),
            (json!({"type": "string", "pattern": "^a+$"}), "string matching pattern ^a+$"),
            (
                json!({"type": "string", "format": "date"}),
                "string in date format (such as 2025-01-31)",
            ),
            (json!({"enum": ["utf-8", "ascii", "utf-16"]}), "one of: utf-8, ascii, utf-16"),
            (json!({"enum": ["a, b", 1, null]}), r#"one of: "a, b", 1, null"#),
            (json!({"const": "x"}), r#"exactly "x""#),
            (json!({"type": "integer", "minimum": 1, "maximum": 100}), "integer from 1 to 100"),
            (json!({"type": "number", "exclusiveMinimum": 0}), "number greater than 0"),
            (
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
                "number greater than 0",
            ),
            (json!({"type": "integer", "multipleOf": 5}), "integer that is a multiple of 5"),
            (json!({"type": ["string", "null"]}), "string or null"),
            (
                json!({"type": "string", "not": {"enum": ["root", "admin"]}}),
                "string that is none of: root, admin",
            ),
            (json!({"not": {"const": 0}}), "value that is not 0"),
            (
                json!({"not": {"type": "string", "maxLength": 2}}),
                "value that is not: string with max length 2",
            ),
            (
                json!({"type": "object", "not": {"required": ["a", "b"]}}),
                "object without 'a' and 'b' together",
            ),
            (json!({"type": "object", "not": {"required": ["a"]}}), "object without 'a'"),
            (
                json!({"type": "string", "not": {"pattern": "^x"}}),
                "string that does not match pattern ^x",
            ),
            (
                json!({"not": {"properties": {"a": {"const": 1}}}}),
                "value that the schema's 'not' rule does not match",
            ),
            (
                json!({"type": "array", "contains": {"type": "string", "pattern": "^a"}}),
                "array with at least 1 item of this kind: string matching pattern ^a",
            ),
            (
                json!({"contains": {"const": 5}, "minContains": 2, "maxContains": 3}),
                "value with 2 to 3 items of this kind: exactly 5",
            ),
            (
                json!({"type": "object", "propertyNames": {"pattern": "^k"}}),
                "object whose field names are each: value matching pattern ^k",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "maxItems": 3}),
                "array of at most 3 items, each string",
            ),
            (json!({"type": "object", "required": ["a", "b"]}), "object with 'a', 'b'"),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string, or null"),
            (json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}), "integer"),
        ] {
            assert_eq!(described(&schema, &schema), words, "{schema}");
        }
    }

    #[test]
    fn stays_short() {
        let many: Vec<Value> =
            (0..10_000).map(|number| json!(format!("option-{number}"))).collect();
        let words = described(&json!({"enum": many}), &Value::Null);
        assert!(words.chars().count() <= LONGEST, "{words}");
        assert!(words.ends_with("more)"), "{words}");
        let loops = json!({"$ref": "#"});
        assert_eq!(described(&loops, &loops), "value");
    }
}
