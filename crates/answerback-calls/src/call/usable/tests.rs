use serde_json::{Value, json};

use super::super::{Schema, SchemaErrorKind, check};

/// Returns the problems of a schema, one on each line.
fn problems(schema: &Schema) -> String {
    schema.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn accepts(schema: &Schema, value: &Value) -> bool {
    schema.is_valid(value).unwrap()
}

#[test]
fn an_unusable_keyword_is_dropped_and_the_rest_is_checked() {
    let large = format!("^({})$", "(a{1000}){1000}");
    for (broken, place) in [
        (json!({"pattern": large}), "pattern"),
        (json!({"pattern": "("}), "pattern"),
        (json!({"pattern": 7}), "pattern"),
        (json!({"type": "str"}), "type"),
        (json!({"type": []}), "type"),
        (json!({"minLength": "3"}), "minLength"),
        (json!({"minLength": -1}), "minLength"),
        (json!({"multipleOf": 0}), "multipleOf"),
        (json!({"minimum": "1"}), "minimum"),
        (json!({"enum": "a"}), "enum"),
        (json!({"format": 1}), "format"),
        (json!({"$ref": "#/$defs/none"}), "$ref"),
        (json!({"$ref": "https://example.com/other.json"}), "$ref"),
        (json!({"$ref": 1}), "$ref"),
        (json!({"anyOf": []}), "anyOf"),
        (json!({"allOf": "x"}), "allOf"),
        (json!({"not": 1}), "not"),
        (json!({"items": 1}), "items"),
        (json!({"uniqueItems": "true"}), "uniqueItems"),
        (json!({"required": "a"}), "required"),
        (json!({"required": true, "type": []}), "required"),
        (json!({"description": null}), "description"),
        (json!({"examples": "x"}), "examples"),
        (json!({"properties": []}), "properties"),
        (json!({"dependentRequired": {"a": "b"}}), "dependentRequired"),
    ] {
        let schema = Schema::compile(json!({
            "type": "object",
            "properties": {"x": broken, "n": {"type": "integer", "minimum": 1}},
        }));
        let schema = schema.unwrap_or_else(|error| panic!("{broken}: {error}"));
        assert!(
            problems(&schema).contains(&format!("/properties/x/{place}")),
            "{broken}: {}",
            problems(&schema)
        );
        assert!(!accepts(&schema, &json!({"n": 0, "x": 1})), "{broken}");
        assert!(accepts(&schema, &json!({"n": 1, "x": 1})), "{broken}");
    }
}

#[test]
fn every_keyword_that_cannot_be_used_is_reported() {
    let schema = Schema::compile(json!({"type": "object", "properties": {
        "a": {"type": "string", "pattern": "("},
        "b": {"type": "int"},
        "c": {"type": "string", "maxLength": 2},
    }}))
    .unwrap();
    insta::assert_snapshot!(problems(&schema), @r"
    /properties/a/pattern is not a regular expression that can be run within the limits, so it is not checked
    /properties/b/type has a value that this keyword cannot have, so it is not checked
    ");
    let findings = check(&schema, &json!({"a": 1, "b": {}, "c": "long"}), ()).unwrap();
    let places: Vec<_> = findings.iter().map(|finding| finding.field_path.as_str()).collect();
    assert_eq!(places, ["/a", "/c"]);
}

#[test]
fn spellings_of_older_drafts_are_read_where_only_they_fit() {
    let schema = Schema::compile(json!({"type": "object", "properties": {
        "path": {"type": "string", "required": true},
        "mode": {"type": "string", "required": false},
        "size": {"minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
        "pair": {"items": [{"type": "integer"}], "additionalItems": false},
        "any": {"type": "any"},
    }}))
    .unwrap();
    insta::assert_snapshot!(problems(&schema), @r#"
    /properties/path/required is true, as draft 3 writes it: the field is read as required; list its name in `required` of the object
    /properties/mode/required is false, as draft 3 writes it: the field is read as optional
    /properties/size/exclusiveMinimum is true, as draft 4 writes it: the bound beside it is read as exclusive
    /properties/size/exclusiveMaximum is false, as draft 4 writes it: the bound beside it is read as inclusive
    /properties/pair/items is a list, as drafts before 2020-12 write it: read as `prefixItems`
    /properties/any/type is "any", as draft 3 writes it: read as every type
    "#);
    assert!(!accepts(&schema, &json!({})));
    assert!(accepts(&schema, &json!({"path": "x", "size": 9, "pair": [1], "any": []})));
    for wrong in
        [json!({"size": 0}), json!({"size": 10}), json!({"pair": ["x"]}), json!({"pair": [1, 2]})]
    {
        let mut arguments = wrong;
        arguments["path"] = json!("x");
        assert!(!accepts(&schema, &arguments), "{arguments}");
    }
    // A spelling that the draft permits stays as it is.
    let draft4 = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"minimum": 0, "exclusiveMinimum": true}, "b": {"pattern": "("}},
    });
    let schema = Schema::compile(draft4).unwrap();
    assert!(!accepts(&schema, &json!({"a": 0})) && accepts(&schema, &json!({"a": 1, "b": ""})));
}

#[test]
fn an_unknown_dialect_is_read_as_the_newest() {
    for dialect in ["http://json-schema.org/draft-03/schema#", "https://example.com/dialect"] {
        let schema = json!({"$schema": dialect, "properties": {"n": {"type": "integer"}}});
        let schema = Schema::compile(schema).unwrap();
        assert!(problems(&schema).starts_with("/$schema names a dialect"), "{}", problems(&schema));
        assert!(!accepts(&schema, &json!({"n": "x"})));
    }
}

#[test]
fn a_call_that_is_right_is_not_refused_for_what_was_dropped() {
    let broken = json!({"type": "string", "pattern": "("});
    for (schema, value) in [
        (json!({"properties": {"x": {"not": broken}}}), json!({"x": "a"})),
        (
            json!({"properties": {"x": {"not": {"$ref": "#/$defs/b"}}}, "$defs": {"b": broken}}),
            json!({"x": "a"}),
        ),
        (
            json!({"properties": {"x": {"oneOf": [broken, {"type": "string", "maxLength": 3}]}}}),
            json!({"x": "a"}),
        ),
        (
            json!({"if": {"properties": {"x": broken}}, "then": {"required": ["y"]}, "type": "object"}),
            json!({"x": "a"}),
        ),
        (
            json!({"patternProperties": {"(": {}}, "additionalProperties": false, "type": "object"}),
            json!({"x": 1}),
        ),
        (
            json!({"properties": "x", "additionalProperties": false, "type": "object"}),
            json!({"x": 1}),
        ),
        (
            json!({"type": "object", "allOf": [{"properties": []}], "unevaluatedProperties": false}),
            json!({"x": 1}),
        ),
        (json!({"type": "array", "contains": broken, "maxContains": 1}), json!(["a", "b"])),
        (json!({"type": "array", "prefixItems": 1, "items": false}), json!([1])),
    ] {
        let schema =
            Schema::compile(schema.clone()).unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert!(accepts(&schema, &value), "{}: {}", schema.source(), problems(&schema));
        assert!(!schema.problems().is_empty());
    }
    // The remaining keywords of the branches are still checked.
    let union = json!({"oneOf": [broken, {"type": "integer"}]});
    let schema = Schema::compile(union).unwrap();
    assert!(!accepts(&schema, &json!([])) && accepts(&schema, &json!(1)));
}

#[test]
fn a_schema_without_a_usable_keyword_cannot_be_used() {
    for (schema, kind) in [
        (
            json!({"type": "module", "name": "x", "dependencies": {"a": "^1.0"}}),
            SchemaErrorKind::Invalid,
        ),
        (json!({"pattern": "("}), SchemaErrorKind::Pattern),
        (json!({"$ref": "#/$defs/none", "$defs": {}}), SchemaErrorKind::Reference),
        (json!({"type": "dict", "description": "x"}), SchemaErrorKind::Invalid),
    ] {
        assert_eq!(Schema::compile(schema.clone()).unwrap_err().kind(), kind, "{schema}");
    }
}

#[test]
fn patterns_share_a_budget() {
    let properties: serde_json::Map<String, Value> = (0..3000)
        .map(|index| {
            (format!("p{index}"), json!({"type": "string", "pattern": "^(\\w{1,99}-){1,99}$"}))
        })
        .collect();
    let schema = Schema::compile(json!({"properties": properties, "required": ["p0"]})).unwrap();
    assert!(!schema.problems().is_empty());
    assert!(!accepts(&schema, &json!({})) && !accepts(&schema, &json!({"p0": 1})));
}

proptest::proptest! {
    /// Checks that an unusable value of any keyword leaves the rest of the schema checked.
    #[test]
    fn the_rest_is_always_checked(keyword in 0_usize..KEYWORDS.len(), value in 0_usize..13) {
        let values = [
            json!(null), json!(true), json!(false), json!(-1), json!(0.5), json!("("), json!("x"),
            json!([]), json!([1]), json!(["x", "x"]), json!({}), json!({"(": 1}), json!({"a": {"type": "x"}}),
        ];
        let schema = json!({
            "type": "object",
            "properties": {"x": {KEYWORDS[keyword]: values[value]}, "n": {"type": "integer"}},
        });
        let compiled = Schema::compile(schema.clone());
        proptest::prop_assert!(compiled.is_ok(), "{} {:?}", schema, compiled.err());
        let compiled = compiled.unwrap();
        proptest::prop_assert!(!compiled.is_valid(&json!({"n": "x"})).unwrap(), "{}", schema);
    }
}

const KEYWORDS: [&str; 46] = [
    "$schema",
    "$ref",
    "$anchor",
    "$defs",
    "definitions",
    "type",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "contains",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "format",
    "contentEncoding",
    "title",
    "examples",
];
