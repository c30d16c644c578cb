use std::cell::OnceCell;

use answerback_json::Pointer;
use jsonschema::{Draft, PatternOptions, Registry, RegistryBuilder, Validator};
use serde_json::{Map, Value};

/// Wraps a tool's schema. It finds parts by evaluation path, and validates values against a single part.
pub(super) struct SchemaParts<'s> {
    root: &'s Value,
    draft: Draft,
    /// The whole schema under its address, registered when the first part refers to it.
    registry: OnceCell<Option<Registry<'s>>>,
}

/// The place that an evaluation path leads to.
pub(super) struct Located<'s> {
    /// The outermost part that applies to the same value. It holds the conditions on the whole field.
    pub(super) field: &'s Value,
    /// The part that has the failing keyword.
    pub(super) failing: &'s Value,
    /// The failing keyword.
    pub(super) keyword: String,
}

/// The address under which parts refer to the whole schema.
const ADDRESS: &str = "urn:answerback:schema";

/// The largest number of parts collected for one value. It also guards against circular references.
const MOST_FACETS: usize = 32;

impl<'s> SchemaParts<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        let draft = match Draft::default().detect(root) {
            Draft::Unknown => Draft::default(),
            known => known,
        };
        Self { root, draft, registry: OnceCell::new() }
    }

    /// Follows an evaluation path to the keyword at its end.
    pub(super) fn locate(&self, path: &Pointer) -> Option<Located<'s>> {
        let (parent, keyword) = path.split_last()?;
        let mut here = self.root;
        let mut field = self.root;
        let mut tokens = parent.tokens();
        while let Some(token) = tokens.next() {
            here = self.step(here, &token)?;
            let moves = match &*token {
                "properties" | "patternProperties" => {
                    here = self.step(here, &tokens.next()?)?;
                    true
                }
                // `items` holds a list of parts, or one part for all items.
                "prefixItems" | "items" if here.is_array() => {
                    here = self.step(here, &tokens.next()?)?;
                    true
                }
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => true,
                "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies" | "$defs"
                | "definitions" => {
                    here = self.step(here, &tokens.next()?)?;
                    false
                }
                _ => false,
            };
            if moves {
                field = here;
            }
        }
        Some(Located { field, failing: here, keyword: keyword.into_owned() })
    }

    fn step(&self, here: &'s Value, token: &str) -> Option<&'s Value> {
        match here {
            Value::Object(members) => match (token, members.get(token)?) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    self.target(target)
                }
                (_, member) => Some(member),
            },
            Value::Array(elements) => elements.get(token.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Resolves a reference within the same document.
    pub(super) fn target(&self, reference: &str) -> Option<&'s Value> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let id = self.root.get("$id").or_else(|| self.root.get("id")).and_then(Value::as_str);
        if !document.is_empty() && id.map(|id| id.trim_end_matches('#')) != Some(document) {
            return None;
        }
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&percent_decoded(fragment));
        }
        anchored(self.root, fragment, 0)
    }

    /// Returns all parts that apply to the same value: this one, and those that `$ref` and `allOf` lead to.
    pub(super) fn facets(&self, part: &'s Value) -> Vec<&'s Map<String, Value>> {
        let mut facets: Vec<&Map<String, Value>> = Vec::new();
        let mut waiting = vec![part];
        while let Some(next) = waiting.pop() {
            let Some(members) = next.as_object() else { continue };
            if facets.len() == MOST_FACETS || facets.iter().any(|seen| std::ptr::eq(*seen, members))
            {
                continue;
            }
            let target = members.get("$ref").and_then(Value::as_str);
            // Up to draft 7, the sibling keywords of a `$ref` are ignored.
            let is_alone = target.is_some() && self.draft < Draft::Draft201909;
            if !is_alone {
                facets.push(members);
                let all = members.get("allOf").and_then(Value::as_array);
                waiting.extend(all.into_iter().flatten().rev());
            }
            waiting.extend(target.and_then(|target| self.target(target)));
        }
        facets
    }

    /// Returns the schema of a member, from the first part that defines it.
    pub(super) fn property(&self, part: &'s Value, name: &str) -> Option<&'s Value> {
        let of = |facet: &&'s Map<String, Value>| facet.get("properties")?.get(name);
        self.facets(part).iter().find_map(of)
    }

    /// Compiles a part together with everything that it refers to, so that values can be validated against it
    /// alone. Returns `None` if it does not compile.
    pub(super) fn validator(&self, part: &Value) -> Option<Validator> {
        // The limit stops a pattern with runaway backtracking, instead of waiting for it.
        let patterns = PatternOptions::fancy_regex().backtrack_limit(50_000);
        let options = jsonschema::options()
            .with_draft(self.draft)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(patterns);
        // Most parts refer to nothing. The whole schema then does not have to be registered.
        if !refers(part) {
            return options.build(part).ok();
        }
        let registry = self.registry.get_or_init(|| {
            let added = Registry::new().draft(self.draft).add(ADDRESS, self.root);
            added.and_then(RegistryBuilder::prepare).ok()
        });
        options.with_registry(registry.as_ref()?).build(&addressed(part)).ok()
    }
}

/// True if a part has a reference.
fn refers(part: &Value) -> bool {
    match part {
        Value::Object(members) => members.iter().any(|(name, member)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef") || refers(member)
        }),
        Value::Array(elements) => elements.iter().any(refers),
        _ => false,
    }
}

/// Returns a copy of a part whose local references name the address of the whole schema.
fn addressed(part: &Value) -> Value {
    match part {
        Value::Object(members) if members.contains_key("$id") => part.clone(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| {
                let copied = match (name.as_str(), member) {
                    ("$ref" | "$dynamicRef", Value::String(target)) if target.starts_with('#') => {
                        format!("{ADDRESS}{target}").into()
                    }
                    ("const" | "enum" | "default" | "examples", data) => data.clone(),
                    (_, part) => addressed(part),
                };
                (name.clone(), copied)
            });
            Value::Object(members.collect())
        }
        Value::Array(elements) => elements.iter().map(addressed).collect(),
        other => other.clone(),
    }
}

fn anchored<'s>(part: &'s Value, anchor: &str, depth: usize) -> Option<&'s Value> {
    const DEEPEST: usize = 32;
    if depth > DEEPEST {
        return None;
    }
    match part {
        Value::Object(members) => {
            let is = |name: &str| members.get(name).and_then(Value::as_str) == Some(anchor);
            if is("$anchor") || is("$dynamicAnchor") {
                return Some(part);
            }
            members.values().find_map(|member| anchored(member, anchor, depth + 1))
        }
        Value::Array(elements) => {
            elements.iter().find_map(|element| anchored(element, anchor, depth + 1))
        }
        _ => None,
    }
}

/// Decodes percent-encoding in a URI fragment: `%24defs` becomes `$defs`.
fn percent_decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evaluation_paths_lead_through_references() {
        let root = json!({
            "properties": {
                "a": {"$ref": "#/$defs/node"},
                "b": {"allOf": [{"type": "string"}, {"minLength": 3}]},
                "c": {"items": {"$ref": "#named"}},
                "d": {"prefixItems": [{"const": 1}]},
            },
            "$defs": {
                "node": {"properties": {"next": {"$ref": "#/%24defs/node"}, "size": {"type": "integer"}}},
                "x": {"$anchor": "named", "pattern": "^a"},
            },
        });
        let schema = SchemaParts::new(&root);
        for (path, field, failing) in [
            (
                "/properties/a/$ref/properties/next/$ref/properties/size/type",
                json!({"type": "integer"}),
                None,
            ),
            (
                "/properties/b/allOf/1/minLength",
                root["properties"]["b"].clone(),
                Some(json!({"minLength": 3})),
            ),
            (
                "/properties/c/items/$ref/pattern",
                json!({"$ref": "#named"}),
                Some(root["$defs"]["x"].clone()),
            ),
            ("/properties/d/prefixItems/0/const", json!({"const": 1}), None),
            ("/required", root.clone(), None),
        ] {
            let located = schema.locate(&path.try_into().unwrap()).unwrap();
            assert_eq!(located.field, &field, "{path}");
            assert_eq!(located.failing, &failing.unwrap_or(field), "{path}");
        }
        for path in ["", "/properties/z/type", "/properties/a/$ref/nope/type"] {
            assert!(schema.locate(&path.try_into().unwrap()).is_none(), "{path}");
        }
    }

    #[test]
    fn a_part_is_judged_alone() {
        let root = json!({
            "$id": "https://example.com/tool.json",
            "required": ["never"],
            "properties": {"a": {"$ref": "#/$defs/small"}},
            "$defs": {"small": {"maximum": 3, "not": {"$ref": "#/$defs/two"}}, "two": {"const": 2}},
        });
        let schema = SchemaParts::new(&root);
        let validator = schema.validator(&root["properties"]["a"]).unwrap();
        let checked = [1, 2, 3, 4].map(|number| validator.is_valid(&json!(number)));
        assert_eq!(checked, [true, false, true, false]);
        assert_eq!(schema.facets(&root["properties"]["a"]).len(), 2);
        assert!(schema.validator(&json!({"type": "nonsense"})).is_none());
        assert!(schema.validator(&json!({"$ref": "https://example.org/other"})).is_none());
    }

    #[test]
    fn older_drafts_keep_their_meaning() {
        let root = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {"a": {"minimum": 1, "exclusiveMinimum": true}},
        });
        let schema = SchemaParts::new(&root);
        let validator = schema.validator(&root["properties"]["a"]).unwrap();
        assert!(!validator.is_valid(&json!(1)) && validator.is_valid(&json!(1.5)));
    }
}
