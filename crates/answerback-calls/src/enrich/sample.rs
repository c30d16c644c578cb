use std::cell::Cell;

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};
use serde_json::{Map, Number, Value, json};

use super::schema::SchemaParts;

/// Finds values that a part of a schema accepts. Each value is validated before it is returned.
pub(super) struct Sampler<'a, 's> {
    schema: &'a SchemaParts<'s>,
    /// The number of schema parts that may still be visited. The limit stops schemas that expand without end.
    fuel: Cell<u32>,
}

/// The largest number of schema parts visited for one field.
const FUEL: u32 = 400;
/// The largest nesting depth of a sample.
const DEEPEST: u8 = 6;
/// The largest length of a generated string or list.
const LONGEST: usize = 120;

impl<'a, 's> Sampler<'a, 's> {
    pub(super) fn new(schema: &'a SchemaParts<'s>) -> Self {
        Self { schema, fuel: Cell::new(FUEL) }
    }

    /// Returns at most `most` different values that the part accepts. If `use_given` is set, values from the
    /// schema's author (`examples`, `default`, `const`, `enum`) come before generated ones.
    pub(super) fn valid(&self, part: &Value, most: usize, use_given: bool) -> Vec<Value> {
        self.within(Some(part), DEEPEST + 1, most, use_given)
    }

    /// Merges a part with everything that its `$ref` and `allOf` add.
    fn merged(&self, part: &Value) -> Map<String, Value> {
        let mut merged = Map::new();
        self.merge(&mut merged, part, 0);
        merged
    }

    fn merge(&self, merged: &mut Map<String, Value>, part: &Value, depth: u8) {
        let Some(members) = part.as_object() else { return };
        if depth > DEEPEST || !self.burn() {
            return;
        }
        if let Some(target) = members.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.schema.target(target)
        {
            self.merge(merged, target, depth + 1);
        }
        for all in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.merge(merged, all, depth + 1);
        }
        for (name, value) in
            members.iter().filter(|(name, _)| !matches!(name.as_str(), "$ref" | "allOf"))
        {
            merge_keyword(merged, name, value);
        }
    }

    fn burn(&self) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(1));
        left > 0
    }

    /// Returns values that may be valid, the likeliest first.
    fn candidates(&self, merged: &Map<String, Value>, depth: u8, use_given: bool) -> Vec<Value> {
        if depth == 0 || !self.burn() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for branch in branches(merged) {
            let mut chosen = merged.clone();
            for name in ["anyOf", "oneOf", "if", "then", "else"] {
                chosen.shift_remove(name);
            }
            self.merge(&mut chosen, &branch, 0);
            if use_given {
                found.extend(author_values(&chosen));
            }
            found.extend(self.candidates(&chosen, depth - 1, use_given));
        }
        for kind in kinds(merged) {
            match kind {
                "null" => found.push(Value::Null),
                "boolean" => found.extend([json!(true), json!(false)]),
                "integer" | "number" => found.extend(numbers(merged, kind == "integer")),
                "string" => found.extend(texts(merged).into_iter().map(Value::from)),
                "array" => found.extend(self.lists(merged, depth, use_given)),
                _ => found.extend(self.objects(merged, depth, use_given)),
            }
        }
        found
    }

    /// Returns at most `most` values that a part accepts. Their members are built one level less deep.
    fn within(&self, part: Option<&Value>, depth: u8, most: usize, use_given: bool) -> Vec<Value> {
        let anything = json!({});
        let part = part.unwrap_or(&anything);
        let merged = self.merged(part);
        let given = if use_given { author_values(&merged) } else { Vec::new() };
        let Some(validator) = self.schema.validator(part) else { return Vec::new() };
        let mut found = Vec::new();
        for candidate in given {
            if found.len() < most && !found.contains(&candidate) && validator.is_valid(&candidate) {
                found.push(candidate);
            }
        }
        // The schema's author knows the tool, so these strings are better than generated ones.
        if !found.is_empty() && merged.get("type") == Some(&json!("string")) {
            return found;
        }
        for candidate in self.candidates(&merged, depth - 1, use_given) {
            if found.len() < most && !found.contains(&candidate) && validator.is_valid(&candidate) {
                found.push(candidate);
            }
        }
        found
    }

    fn lists(&self, merged: &Map<String, Value>, depth: u8, use_given: bool) -> Vec<Value> {
        let least = count(merged, "minItems");
        if least > LONGEST {
            return Vec::new();
        }
        let (first, rest) = match (merged.get("prefixItems"), merged.get("items")) {
            (Some(Value::Array(first)), rest) => (first.as_slice(), rest),
            // Up to draft 2019-09 the list of positional items is called `items`.
            (_, Some(Value::Array(first))) => (first.as_slice(), merged.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let mut list: Vec<Value> = Vec::new();
        for part in first.iter().take(LONGEST) {
            list.extend(self.within(Some(part), depth, 1, use_given));
        }
        if let Some(part) = merged.get("contains") {
            let wanted = merged.get("minContains").and_then(Value::as_u64).unwrap_or(1);
            let wanted = usize::try_from(wanted).unwrap_or(LONGEST).min(LONGEST);
            let found = self.within(Some(part), depth, wanted, use_given);
            list.extend(
                found.iter().cycle().take(if found.is_empty() { 0 } else { wanted }).cloned(),
            );
        }
        let missing = least.saturating_sub(list.len());
        // An empty list is a poor example if a list with one item is valid too.
        let wanted = if missing == 0 && list.is_empty() { 1 } else { missing };
        let mut found = Vec::new();
        let shortest = list.clone();
        if wanted > 0 {
            let is_unique = merged.get("uniqueItems") == Some(&json!(true));
            let items = self.within(rest, depth, if is_unique { wanted } else { 1 }, use_given);
            let mut longer = list;
            let spread = varied(&items, wanted, is_unique);
            longer.extend(spread);
            found.push(Value::Array(longer));
        }
        found.push(Value::Array(shortest));
        found
    }

    fn objects(&self, merged: &Map<String, Value>, depth: u8, use_given: bool) -> Vec<Value> {
        let empty = Map::new();
        let properties = merged.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required = merged.get("required").and_then(Value::as_array);
        let mut names: Vec<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        let mut next = 0;
        while next < names.len() && names.len() < LONGEST {
            let dependents = merged.get("dependentRequired").and_then(|all| all.get(names[next]));
            for name in dependents.and_then(Value::as_array).into_iter().flatten() {
                names.extend(name.as_str().filter(|name| !names.contains(name)));
            }
            next += 1;
        }
        let least = count(merged, "minProperties");
        for name in properties.keys() {
            if names.len() >= least {
                break;
            }
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut object = Map::new();
        for name in names {
            let part = properties
                .get(name)
                .or_else(|| merged.get("additionalProperties").filter(|part| part.is_object()));
            object.extend(
                self.within(part, depth, 1, use_given).pop().map(|value| (name.to_owned(), value)),
            );
        }
        vec![Value::Object(object)]
    }
}

/// Returns the values that the schema's author wrote: `const`, `examples`, `default` and `enum`.
fn author_values(merged: &Map<String, Value>) -> Vec<Value> {
    let list = |name: &str| merged.get(name).and_then(Value::as_array).into_iter().flatten();
    let one = |name: &str| merged.get(name).into_iter();
    one("const")
        .chain(list("examples"))
        .chain(one("default"))
        .chain(list("enum").take(8))
        .cloned()
        .collect()
}

/// Returns the alternatives of `anyOf`, `oneOf` and `if`. A value has to match one of them.
fn branches(merged: &Map<String, Value>) -> Vec<Value> {
    let list = |name: &str| merged.get(name).and_then(Value::as_array).into_iter().flatten();
    let chosen = list("anyOf").chain(list("oneOf")).take(6).cloned();
    let condition = merged.get("if").map(|condition| {
        let met = json!({"allOf": [condition, merged.get("then").unwrap_or(&json!({}))]});
        let unmet = merged.get("else").cloned().unwrap_or_else(|| json!({}));
        [met, unmet]
    });
    chosen.chain(condition.into_iter().flatten()).collect()
}

fn merge_keyword(merged: &mut Map<String, Value>, name: &str, value: &Value) {
    let Some(held) = merged.get_mut(name) else {
        merged.insert(name.to_owned(), value.clone());
        return;
    };
    match (name, &mut *held, value) {
        ("properties", Value::Object(held), Value::Object(more)) => {
            for (name, part) in more {
                let both = held
                    .get(name)
                    .filter(|one| *one != part)
                    .map(|one| json!({"allOf": [one, part]}));
                held.insert(name.clone(), both.unwrap_or_else(|| part.clone()));
            }
        }
        ("required", Value::Array(held), Value::Array(more)) => {
            for name in more {
                if !held.contains(name) {
                    held.push(name.clone());
                }
            }
        }
        ("enum", Value::Array(held), Value::Array(more)) => held.retain(|one| more.contains(one)),
        ("type", Value::Array(_), Value::String(_)) => *held = value.clone(),
        (name, one, other) => {
            let (one, other) = (one.as_f64(), other.as_f64());
            let is_narrower = match name {
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                    other > one
                }
                "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                    other < one
                }
                _ => false,
            };
            if is_narrower {
                *held = value.clone();
            }
        }
    }
}

/// Returns the value types to try: those that the schema names. Without a `type`, these are the types that
/// its keywords imply, then string, integer and boolean.
fn kinds(merged: &Map<String, Value>) -> Vec<&str> {
    match merged.get("type") {
        Some(Value::String(kind)) => return vec![kind],
        Some(Value::Array(list)) => {
            let mut kinds: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            // `null` is the least helpful example, so it comes last.
            kinds.sort_by_key(|kind| *kind == "null");
            return kinds;
        }
        _ => {}
    }
    let speaks_of = |names: &[&str]| names.iter().any(|name| merged.contains_key(*name));
    let mut kinds = Vec::new();
    if speaks_of(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        kinds.push("number");
    }
    if speaks_of(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]) {
        kinds.push("array");
    }
    if speaks_of(&[
        "properties",
        "required",
        "additionalProperties",
        "minProperties",
        "maxProperties",
        "propertyNames",
    ]) {
        kinds.push("object");
    }
    kinds.extend(["string", "integer", "boolean"]);
    kinds
}

fn count(merged: &Map<String, Value>, name: &str) -> usize {
    let count = merged.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    // Any other count is invalid or too large to generate.
    if count.is_finite() && (0.0..=1e6).contains(&count) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is between 0 and 1e6"
        )]
        let count = count.ceil() as usize;
        count
    } else {
        usize::MAX
    }
}

/// Returns numbers within the bounds, the simplest first.
fn numbers(merged: &Map<String, Value>, is_integer: bool) -> Vec<Value> {
    let bound = |name: &str| merged.get(name).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0).unwrap_or(1.0);
    let low = [bound("minimum"), bound("exclusiveMinimum")].into_iter().flatten().reduce(f64::max);
    let high = [bound("maximum"), bound("exclusiveMaximum")].into_iter().flatten().reduce(f64::min);
    let mut found: Vec<f64> = vec![1.0, step, 0.0];
    if let Some(low) = low {
        let next = (low / step).ceil() * step;
        found.splice(0..0, [next, next + step, low]);
    }
    if let Some(high) = high {
        let last = (high / step).floor() * step;
        found.extend([last, last - step, high]);
        found.extend(low.map(|low| f64::midpoint(low, high)));
    }
    found.extend([10.0, 100.0, -1.0, 0.5]);
    let in_bounds = |number: &f64| {
        number.is_finite()
            && low.is_none_or(|low| *number >= low)
            && high.is_none_or(|high| *number <= high)
    };
    found
        .into_iter()
        .filter(in_bounds)
        .filter_map(|number| plain_number(number, is_integer))
        .collect()
}

/// Returns an integer if the number is whole and below 2^53. Otherwise returns a float, or `None` if it has
/// to be an integer.
fn plain_number(number: f64, is_integer: bool) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "the value is whole and below 2^53")]
        let whole = number as i64;
        return Some(whole.into());
    }
    if is_integer { None } else { Number::from_f64(number).map(Value::Number) }
}

/// Returns strings that may match the format, the pattern and the lengths. The caller validates them.
fn texts(merged: &Map<String, Value>) -> Vec<String> {
    let least = count(merged, "minLength");
    if least > LONGEST {
        return Vec::new();
    }
    let most = merged.get("maxLength").map_or(usize::MAX, |_| count(merged, "maxLength"));
    let mut found: Vec<String> = Vec::new();
    if let Some(format) = merged.get("format").and_then(Value::as_str) {
        found.extend(
            FORMATS.iter().filter(|(name, _)| *name == format).map(|(_, text)| (*text).to_owned()),
        );
    }
    if let Some(pattern) = merged.get("pattern").and_then(Value::as_str) {
        for repeated in [0, 1, 2, 3, least] {
            found.extend(matching(pattern, repeated));
        }
        found.extend(FORMATS.iter().map(|(_, text)| (*text).to_owned()));
    }
    let mut word = "example".to_owned();
    while word.chars().count() < least {
        word.push('x');
    }
    word.truncate(most.min(LONGEST));
    found.push(word);
    found.extend(["a", "A", "1"].map(|letter| letter.repeat(least.max(1).min(most))));
    found.push(String::new());
    found
}

/// One example for each format. The examples are also tried for patterns.
const FORMATS: &[(&str, &str)] = &[
    ("date-time", "2024-01-15T09:30:00Z"),
    ("date", "2024-01-15"),
    ("time", "09:30:00Z"),
    ("duration", "P3D"),
    ("email", "user@example.com"),
    ("idn-email", "user@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com/"),
    ("uri-reference", "/path"),
    ("iri", "https://example.com/"),
    ("iri-reference", "/path"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
    ("uri-template", "/users/{id}"),
    ("json-pointer", "/a/b"),
    ("relative-json-pointer", "1/a"),
    ("regex", "^[a-z]+$"),
];

/// Builds a short string from a pattern, with each repetition repeated `repeated` times within its bounds.
/// Anchors are ignored, so the string may not match.
fn matching(pattern: &str, repeated: usize) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    write_match(&hir, repeated, &mut text)?;
    Some(text)
}

fn write_match(hir: &Hir, repeated: usize, text: &mut String) -> Option<()> {
    if text.len() > LONGEST {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(readable(class)?),
        HirKind::Repetition(repetition) => {
            let least = usize::try_from(repetition.min).ok()?;
            let most = repetition
                .max
                .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
            for _ in 0..repeated.clamp(least, most.max(least)).min(LONGEST) {
                write_match(&repetition.sub, repeated, text)?;
            }
        }
        HirKind::Capture(capture) => write_match(&capture.sub, repeated, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                write_match(part, repeated, text)?;
            }
        }
        HirKind::Alternation(parts) => write_match(parts.first()?, repeated, text)?,
    }
    Some(())
}

/// Returns the most readable character of a class.
fn readable(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let holds = |character: char| {
        class.iter().any(|range| (range.start()..=range.end()).contains(&character))
    };
    let first = class.iter().next().map(ClassUnicodeRange::start);
    ['a', 'A', '1', 'b', 'x', '-', '_', '.', ' ']
        .into_iter()
        .find(|character| holds(*character))
        .or(first)
}

/// Returns `wanted` items, all different if `is_unique` is set. Missing strings and numbers are derived from
/// the first item, so the list may be shorter for other types.
fn varied(items: &[Value], wanted: usize, is_unique: bool) -> Vec<Value> {
    if items.is_empty() {
        return Vec::new();
    }
    if !is_unique {
        return items.iter().cycle().take(wanted).cloned().collect();
    }
    let mut varied: Vec<Value> = items.iter().take(wanted).cloned().collect();
    let mut turn: i64 = 1;
    while varied.len() < wanted {
        turn += 1;
        let next = match &items[0] {
            Value::String(text) => format!("{text}{turn}").into(),
            Value::Number(number) => {
                match number.as_i64().and_then(|number| number.checked_add(turn)) {
                    Some(next) => next.into(),
                    None => break,
                }
            }
            _ => break,
        };
        if !varied.contains(&next) {
            varied.push(next);
        }
    }
    varied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(part: &Value) -> Option<Value> {
        let schema = SchemaParts::new(part);
        Sampler::new(&schema).valid(part, 1, true).pop()
    }

    #[test]
    fn samples() {
        let table = [
            (json!({"type": "string"}), json!("example")),
            (json!({"type": "string", "maxLength": 3}), json!("exa")),
            (json!({"type": "string", "minLength": 9}), json!("examplexx")),
            (json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,}$"}), json!("AAA-11")),
            (
                json!({"type": "string", "pattern": "^(red|green)+$", "minLength": 5}),
                json!("redred"),
            ),
            (json!({"type": "string", "pattern": "^(?=a)a+$"}), json!("a")),
            (
                json!({"type": "string", "format": "uuid"}),
                json!("123e4567-e89b-42d3-a456-426614174000"),
            ),
            (json!({"type": "integer", "minimum": 7}), json!(7)),
            (json!({"type": "integer", "exclusiveMinimum": 7, "maximum": 8}), json!(8)),
            (json!({"type": "number", "minimum": 0.2, "maximum": 0.3}), json!(0.2)),
            (json!({"type": "integer", "minimum": 7, "multipleOf": 5}), json!(10)),
            (json!({"type": "integer", "maximum": -3}), json!(-3)),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"type": ["null", "string"]}), json!("example")),
            (json!({"enum": ["b", "a"]}), json!("b")),
            (json!({"type": "integer", "default": "no", "examples": [9]}), json!(9)),
            (json!({"type": "array", "items": {"type": "integer"}}), json!([1])),
            (
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
                json!([1, 0, 10]),
            ),
            (json!({"type": "array", "contains": {"const": 5}}), json!([5])),
            (
                json!({"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": false, "minItems": 2}),
                json!([1, "example"]),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]}),
                json!({"b": "example"}),
            ),
            (
                json!({"type": "object", "required": ["x"], "dependentRequired": {"x": ["y"]}}),
                json!({"x": "example", "y": "example"}),
            ),
            (json!({"allOf": [{"type": "integer"}, {"minimum": 4}, {"maximum": 4}]}), json!(4)),
            (
                json!({"anyOf": [{"const": 3}, {"type": "string"}], "type": "string"}),
                json!("example"),
            ),
            (
                json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["n"], "properties": {"n": {"type": "null"}}}}}),
                json!({"n": null}),
            ),
            (json!({"type": "string", "not": {"const": "example"}}), json!("a")),
        ];
        for (part, sample) in table {
            assert_eq!(first(&part), Some(sample), "{part}");
        }
    }

    #[test]
    fn what_cannot_be_found_is_not_made_up() {
        for part in [
            json!(false),
            json!({"type": "integer", "minimum": 3, "maximum": 2}),
            json!({"type": "string", "pattern": "^(?!.*)$"}),
            json!({"type": "string", "minLength": 100_000_000}),
            json!({"type": "array", "minItems": 1e300}),
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/n"}}}}}),
        ] {
            assert_eq!(first(&part), None, "{part}");
        }
    }
}
