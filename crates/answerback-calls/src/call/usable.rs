//! Extracts the usable part of a schema that the validator rejects.
//!
//! The validator accepts a schema as a whole or not at all. A single unusable keyword would leave a call without any
//! check. So this module drops such keywords one by one, and the rest is checked. It also converts spellings of older
//! drafts where no other draft can be meant. It reports each change to the tool's author.
//!
//! A schema with a dropped keyword accepts more than its author meant. Under `not`, `if`, `oneOf`, `maxContains` and
//! the `unevaluated…` keywords, accepting more would reject valid calls. So those keywords are dropped or loosened,
//! too.

mod older_drafts;

use answerback_findings::display_text;
use answerback_json::{Pointer, push_token};
use serde_json::{Map, Value};

use super::keywords::{self, Keyword};

/// A keyword of a tool's schema that is not checked as written. The tool's author should fix it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The place of the keyword in the schema.
    pub place: Pointer,
    /// The mistake, and the way in which it was handled.
    pub what: String,
}

impl std::fmt::Display for SchemaProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", display_text(self.place.as_str(), 200), self.what)
    }
}

/// The maximum number of reported problems. Further unusable keywords are dropped without a report.
const MOST_PROBLEMS: usize = 100;

/// The checks that decide if a keyword is usable.
pub(super) struct Tests<'t> {
    /// Returns true if a pattern compiles within the limits.
    pub(super) pattern: &'t dyn Fn(&str) -> bool,
    /// Returns true if a reference has an existing target.
    pub(super) reference: &'t dyn Fn(&str) -> bool,
    /// Returns true if the validator knows this `$schema`.
    pub(super) dialect: &'t dyn Fn(&str) -> bool,
    /// True if the schema's `$schema` names draft 4.
    pub(super) is_draft4: bool,
    /// True if the draft permits a list of schemas in `items`.
    pub(super) has_item_lists: bool,
}

/// Returns the usable part of a schema and the changes, or `None` if no keyword is usable.
pub(super) fn usable(source: &Value, tests: &Tests<'_>) -> Option<(Value, Vec<SchemaProblem>)> {
    let mut schema = source.clone();
    let mut salvage = Salvage { tests, problems: Vec::new(), dropped: Vec::new() };
    let mut place = String::new();
    salvage.schema(&mut schema, &mut place, false);
    if !salvage.dropped.is_empty() {
        salvage.drop_unevaluated(&mut schema, &mut place);
        salvage.loosen(&mut schema, &mut place);
    }
    if !has_check(&schema) {
        return None;
    }
    salvage.problems.truncate(MOST_PROBLEMS);
    Some((schema, salvage.problems))
}

/// True if a schema has a keyword that can reject a value or that describes values.
pub(crate) fn has_check(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.keys().any(|name| {
            keywords::of(name).is_some_and(|keyword| {
                !matches!(keyword, Keyword::Annotation | Keyword::Definitions | Keyword::Text)
            })
        }),
        Value::Bool(_) => true,
        _ => false,
    }
}

/// Removes the keyword at a place where the validator still reports an error after [`usable`]. Returns the problem to
/// report.
pub(super) fn without(schema: &mut Value, place: &str) -> Option<SchemaProblem> {
    let mut end = place.len();
    while end > 0 {
        let start = place[..end].rfind('/')?;
        let parent = schema.pointer_mut(&place[..start])?;
        if let Value::Object(members) = parent {
            let name = place[start + 1..end].replace("~1", "/").replace("~0", "~");
            members.remove(&name)?;
            let place = Pointer::try_from(&place[..end]).ok()?;
            let what = "cannot be used, so it is not checked".to_owned();
            return Some(SchemaProblem { place, what });
        }
        end = start;
    }
    None
}

struct Salvage<'t> {
    tests: &'t Tests<'t>,
    problems: Vec<SchemaProblem>,
    /// The places of keywords that are no longer fully checked.
    dropped: Vec<String>,
}

/// The way in which one keyword is handled.
enum KeywordUse {
    Fine,
    /// The keyword is removed. It checks nothing, so no check is lost.
    Remove(&'static str),
    /// The keyword is dropped together with its check.
    Drop(&'static str),
    /// A part of the keyword's value is dropped.
    Shorten(&'static str),
}

impl Salvage<'_> {
    fn report(&mut self, place: &str, keyword: &str, what: &str) {
        if self.problems.len() < MOST_PROBLEMS {
            let mut whole = place.to_owned();
            push_token(&mut whole, keyword);
            let place = Pointer::try_from(whole).unwrap_or_default();
            self.problems.push(SchemaProblem { place, what: what.to_owned() });
        }
    }

    fn drop(&mut self, schema: &mut Map<String, Value>, place: &str, keyword: &str, what: &str) {
        if schema.remove(keyword).is_some() {
            self.report(place, keyword, what);
            let mut whole = place.to_owned();
            push_token(&mut whole, keyword);
            self.dropped.push(whole);
        }
    }

    /// Drops the unusable keywords of a schema. Returns true if the schema marks itself as required, as draft 3 does.
    fn schema(&mut self, schema: &mut Value, place: &mut String, is_property: bool) -> bool {
        let Value::Object(members) = schema else { return false };
        let calls_itself_required = self.older_spellings(members, place, is_property);
        let names: Vec<String> = members.keys().cloned().collect();
        for name in names {
            let Some(keyword) = keywords::of(&name) else { continue };
            let Some(value) = members.get_mut(&name) else { continue };
            match self.verdict(keyword, &name, value) {
                KeywordUse::Fine => {}
                KeywordUse::Shorten(what) => {
                    self.report(place, &name, what);
                    let mut whole = place.clone();
                    push_token(&mut whole, &name);
                    self.dropped.push(whole);
                }
                KeywordUse::Remove(what) => {
                    members.remove(&name);
                    self.report(place, &name, what);
                    continue;
                }
                KeywordUse::Drop(what) => {
                    self.drop(members, place, &name, what);
                    self.drop_rest(members, place, &name);
                    continue;
                }
            }
            let length = place.len();
            push_token(place, &name);
            let required = self.below(keyword, &name, value, place);
            place.truncate(length);
            if !required.is_empty() {
                require(members, required);
            }
            let dropped_patterns = name == "patternProperties" && {
                let mut whole = place.clone();
                push_token(&mut whole, &name);
                self.dropped.iter().any(|dropped| {
                    dropped
                        .strip_prefix(whole.as_str())
                        .is_some_and(|rest| rest.matches('/').count() == 1)
                })
            };
            if dropped_patterns {
                self.drop_rest(members, place, &name);
            }
            let is_emptied = members.get(&name).is_some_and(|value| {
                value.as_array().is_some_and(Vec::is_empty)
                    || keyword == Keyword::Dependencies
                        && value.as_object().is_some_and(Map::is_empty)
            });
            if is_emptied && matches!(keyword, Keyword::Schemas | Keyword::Dependencies) {
                members.remove(&name);
            }
        }
        calls_itself_required
    }

    /// Drops the keywords whose meaning depends on a dropped keyword, such as `additionalProperties` on `properties`.
    fn drop_rest(&mut self, schema: &mut Map<String, Value>, place: &str, keyword: &str) {
        let what = "is not checked, because the keyword beside it that it completes cannot be used";
        match keyword {
            "properties" | "patternProperties"
                if schema
                    .get("additionalProperties")
                    .is_some_and(|rest| *rest != Value::Bool(true)) =>
            {
                self.drop(schema, place, "additionalProperties", what);
            }
            "prefixItems" | "items" => {
                for rest in ["items", "additionalItems"] {
                    self.drop(schema, place, rest, what);
                }
            }
            "if" => {
                for rest in ["then", "else"] {
                    self.drop(schema, place, rest, what);
                }
            }
            "contains" => {
                for rest in ["minContains", "maxContains"] {
                    self.drop(schema, place, rest, what);
                }
            }
            _ => {}
        }
    }

    fn verdict(&self, keyword: Keyword, name: &str, value: &mut Value) -> KeywordUse {
        const WRONG_KIND: &str = "has a value that this keyword cannot have, so it is not checked";
        let is_fine = match keyword {
            Keyword::Annotation => {
                return match (name, &*value) {
                    ("examples", Value::Array(_))
                    | ("default" | "example", _)
                    | ("deprecated" | "readOnly" | "writeOnly", Value::Bool(_))
                    | ("title" | "description" | "$comment", Value::String(_)) => KeywordUse::Fine,
                    _ => KeywordUse::Remove(
                        "has a value that this keyword cannot have, so it is ignored",
                    ),
                };
            }
            Keyword::Text => match (name, value.as_str()) {
                ("$schema", Some(dialect)) if !(self.tests.dialect)(dialect) => {
                    return KeywordUse::Remove(
                        "names a dialect that is not known; read as draft 2020-12",
                    );
                }
                (_, text) => text.is_some(),
            },
            Keyword::Reference => match value.as_str() {
                Some(reference) if !(self.tests.reference)(reference) => {
                    return KeywordUse::Drop(
                        "is a reference that leads nowhere, so it is not checked",
                    );
                }
                reference => reference.is_some(),
            },
            Keyword::Pattern => match value.as_str() {
                Some(pattern) if !(self.tests.pattern)(pattern) => {
                    return KeywordUse::Drop(
                        "is not a regular expression that can be run within the limits, so it is not checked",
                    );
                }
                pattern => pattern.is_some(),
            },
            Keyword::TextCheck => value.is_string(),
            Keyword::Type => is_type(value),
            Keyword::Number => {
                value.is_number()
                    || self.tests.is_draft4 && name.starts_with("exclusive") && value.is_boolean()
            }
            Keyword::Factor => value.as_f64().is_some_and(|factor| factor > 0.0),
            Keyword::Count => {
                value.as_u64().is_some()
                    || value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
            }
            Keyword::Switch => value.is_boolean(),
            Keyword::Values => value.is_array(),
            Keyword::Anything => true,
            Keyword::Names => return names(value),
            Keyword::NamesByName => match value {
                Value::Object(members) => members.values().all(|value| {
                    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
                }),
                _ => false,
            },
            Keyword::Schema => is_schema(value),
            Keyword::Items => is_schema(value) || self.tests.has_item_lists && value.is_array(),
            Keyword::Schemas => value.as_array().is_some_and(|schemas| {
                !schemas.is_empty() && (name == "allOf" || schemas.iter().all(is_schema))
            }),
            Keyword::SchemasByName
            | Keyword::SchemasByPattern
            | Keyword::Dependencies
            | Keyword::Definitions => value.is_object(),
        };
        if is_fine { KeywordUse::Fine } else { KeywordUse::Drop(WRONG_KIND) }
    }

    /// Drops the unusable keywords of the schemas inside a keyword. Returns the names of properties that mark
    /// themselves as required.
    fn below(
        &mut self,
        keyword: Keyword,
        name: &str,
        value: &mut Value,
        place: &mut String,
    ) -> Vec<String> {
        let mut required = Vec::new();
        let length = place.len();
        match (keyword, value) {
            (Keyword::Schema | Keyword::Items, schema @ Value::Object(_)) => {
                self.schema(schema, place, false);
            }
            (Keyword::Schemas | Keyword::Items, Value::Array(schemas)) => {
                if !schemas.iter().all(is_schema) {
                    self.dropped.push(place.clone());
                    if let Some((parent, _)) = place.rsplit_once('/') {
                        let what = "has members that are no schemas, so those are not checked";
                        self.report(parent, name, what);
                    }
                }
                schemas.retain(is_schema);
                for (index, schema) in schemas.iter_mut().enumerate() {
                    push_token(place, &index.to_string());
                    self.schema(schema, place, false);
                    place.truncate(length);
                }
            }
            (
                Keyword::SchemasByName
                | Keyword::SchemasByPattern
                | Keyword::Dependencies
                | Keyword::Definitions,
                Value::Object(members),
            ) => {
                let names: Vec<String> = members.keys().cloned().collect();
                for member in names {
                    if keyword == Keyword::SchemasByPattern && !(self.tests.pattern)(&member) {
                        let what = "is not a regular expression that can be run within the limits, so it is not checked";
                        self.drop(members, place, &member, what);
                        continue;
                    }
                    let Some(schema) = members.get_mut(&member) else { continue };
                    let lists_names =
                        schema.as_array().is_some_and(|names| names.iter().all(Value::is_string));
                    if keyword == Keyword::Dependencies && lists_names {
                        continue;
                    }
                    if !is_schema(schema) {
                        let what = "is not a schema, so it is not checked";
                        if keyword == Keyword::SchemasByName || keyword == Keyword::Definitions {
                            // The property keeps its name, so that it is not reported as unknown.
                            self.report(place, &member, what);
                            push_token(place, &member);
                            self.dropped.push(place.clone());
                            place.truncate(length);
                            *schema = Value::Bool(true);
                        } else {
                            self.drop(members, place, &member, what);
                        }
                        continue;
                    }
                    push_token(place, &member);
                    if self.schema(schema, place, name == "properties") {
                        required.push(member);
                    }
                    place.truncate(length);
                }
            }
            _ => {}
        }
        required
    }

    /// Drops the keywords that depend on which other keywords were evaluated.
    fn drop_unevaluated(&mut self, schema: &mut Value, place: &mut String) {
        let what = "is not checked, because another part of the schema cannot be used";
        each_schema(schema, place, &mut |members, place| {
            for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                self.drop(members, place, keyword, what);
            }
        });
    }

    /// Drops or loosens the keywords that would reject valid calls if one of their subschemas accepts too much.
    fn loosen(&mut self, schema: &mut Value, place: &mut String) {
        let what = "is not checked, because a part of it cannot be used";
        each_schema(schema, place, &mut |members, place| {
            let is_loose = |salvage: &Self, members: &Map<String, Value>, keyword: &str| {
                let mut whole = place.to_owned();
                push_token(&mut whole, keyword);
                members.get(keyword).is_some_and(|value| {
                    refers(value)
                        || salvage.dropped.iter().any(|dropped| dropped.starts_with(&whole))
                })
            };
            for keyword in ["not", "if"] {
                if is_loose(self, members, keyword) {
                    self.drop(members, place, keyword, what);
                    self.drop_rest(members, place, keyword);
                }
            }
            if is_loose(self, members, "contains") {
                self.drop(members, place, "maxContains", what);
            }
            if is_loose(self, members, "oneOf")
                && let Some(branches) = members.remove("oneOf")
            {
                let mut whole = place.to_owned();
                push_token(&mut whole, "oneOf");
                self.dropped.push(whole);
                self.report(
                    place,
                    "oneOf",
                    "is checked as anyOf, because a part of it cannot be used",
                );
                if members.contains_key("anyOf") {
                    let mut union = Map::new();
                    union.insert("anyOf".to_owned(), branches);
                    if let Value::Array(all) =
                        members.entry("allOf").or_insert_with(|| Value::Array(Vec::new()))
                    {
                        all.push(Value::Object(union));
                    }
                } else {
                    members.insert("anyOf".to_owned(), branches);
                }
            }
        });
    }
}

/// Visits every schema in a schema, the innermost first.
pub(super) fn each_schema(
    schema: &mut Value,
    place: &mut String,
    visit: &mut dyn FnMut(&mut Map<String, Value>, &str),
) {
    let Value::Object(members) = schema else { return };
    let length = place.len();
    for (name, value) in members.iter_mut() {
        let Some(keyword) = keywords::of(name) else { continue };
        push_token(place, name);
        let inner = place.len();
        match (keyword, value) {
            (Keyword::Schema | Keyword::Items, schema @ Value::Object(_)) => {
                each_schema(schema, place, visit);
            }
            (Keyword::Schemas | Keyword::Items, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter_mut().enumerate() {
                    push_token(place, &index.to_string());
                    each_schema(schema, place, visit);
                    place.truncate(inner);
                }
            }
            (
                Keyword::SchemasByName
                | Keyword::SchemasByPattern
                | Keyword::Dependencies
                | Keyword::Definitions,
                Value::Object(schemas),
            ) => {
                for (name, schema) in schemas.iter_mut() {
                    push_token(place, name);
                    each_schema(schema, place, visit);
                    place.truncate(inner);
                }
            }
            _ => {}
        }
        place.truncate(length);
    }
    visit(members, place);
}

fn require(schema: &mut Map<String, Value>, names: Vec<String>) {
    let required = schema.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(required) = required else { return };
    for name in names {
        if !required.iter().any(|known| *known == *name) {
            required.push(Value::from(name));
        }
    }
}

/// Removes everything from a list of names that is not a name or repeats one.
fn names(value: &mut Value) -> KeywordUse {
    let Value::Array(names) = value else {
        return KeywordUse::Drop("is not a list of names, so it is not checked");
    };
    let mut known = std::collections::HashSet::new();
    let count = names.len();
    names.retain(|name| name.as_str().is_some_and(|name| known.insert(name.to_owned())));
    if names.len() == count {
        KeywordUse::Fine
    } else {
        KeywordUse::Shorten(
            "has members that are no names, or has a name twice; those are not checked",
        )
    }
}

fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| {
        name.as_str().is_some_and(|name| {
            matches!(
                name,
                "null" | "boolean" | "object" | "array" | "number" | "string" | "integer"
            )
        })
    };
    match value {
        Value::Array(names) => {
            let is_new = |(index, name): (usize, &Value)| !names[..index].contains(name);
            // JSON Schema has seven types, so a longer list must contain a repetition.
            (1..=7).contains(&names.len())
                && names.iter().all(is_name)
                && names.iter().enumerate().all(is_new)
        }
        name => is_name(name),
    }
}

/// True if a schema contains a reference, whose target may have lost a keyword.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.ends_with("Ref") || name == "$ref" || refers(value)),
        Value::Array(elements) => elements.iter().any(refers),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
