use serde_json::json;

use super::*;

fn lines(schema: Value, arguments: &Value, options: impl Into<CheckOptions>) -> Vec<String> {
    let schema = Schema::compile(schema).unwrap();
    let findings = check(&schema, arguments, options).unwrap();
    assert!(findings.iter().all(|finding| finding.schema_path.is_some()), "{findings:?}");
    let place = |finding: &ValidationError| finding.schema_path.as_ref().map(ToString::to_string);
    let line =
        |finding: &ValidationError| format!("{finding} <{}>", place(finding).unwrap_or_default());
    findings.iter().map(line).collect()
}

#[test]
fn every_keyword_has_its_code_and_pointer() {
    for (keyword, value, code, place) in [
        (json!({"required": ["a/b"]}), json!({}), "VAL-001", "/a~1b"),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), "VAL-001", "/b"),
        (json!({"type": "string"}), json!(1), "VAL-002", ""),
        (json!({"minimum": 2}), json!(1), "VAL-003", ""),
        (json!({"maximum": 2}), json!(3), "VAL-003", ""),
        (json!({"exclusiveMinimum": 2}), json!(2), "VAL-003", ""),
        (json!({"exclusiveMaximum": 2}), json!(2), "VAL-003", ""),
        (json!({"multipleOf": 2}), json!(3), "VAL-003", ""),
        (json!({"minProperties": 1}), json!({}), "VAL-003", ""),
        (json!({"maxProperties": 0}), json!({"a": 1}), "VAL-003", ""),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1}), "VAL-003", "/ab"),
        (json!({"contains": {"const": 1}}), json!([2]), "VAL-003", ""),
        (json!({"not": {"type": "integer"}}), json!(1), "VAL-003", ""),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "VAL-003", "/a"),
        (json!({"prefixItems": [true], "items": false}), json!([1, 2]), "VAL-003", "/1"),
        (json!({"oneOf": [{"minimum": 0}, {"maximum": 9}]}), json!(5), "VAL-003", ""),
        (
            json!({"properties": {}, "additionalProperties": false}),
            json!({"a": 1}),
            "VAL-005",
            "/a",
        ),
        (json!({"unevaluatedProperties": false}), json!({"a": 1}), "VAL-005", "/a"),
        (json!({"minItems": 1}), json!([]), "VAL-006", ""),
        (json!({"maxItems": 1}), json!([1, 2]), "VAL-006", ""),
        (json!({"uniqueItems": true}), json!([1, 1]), "VAL-006", ""),
        (json!({"pattern": "^a$"}), json!("b"), "VAL-007", ""),
        (json!({"enum": [1, 2]}), json!(3), "VAL-008", ""),
        (json!({"const": 1}), json!(3), "VAL-008", ""),
        (json!({"minLength": 2}), json!("é"), "VAL-009", ""),
        (json!({"maxLength": 2}), json!("abc"), "VAL-009", ""),
        (json!({"format": "email"}), json!("nobody"), "VAL-010", ""),
    ] {
        let schema = Schema::compile(keyword.clone()).unwrap();
        let findings = check(&schema, &value, ()).unwrap();
        let got: Vec<_> = findings
            .iter()
            .map(|finding| (&*finding.error_code, finding.field_path.as_str()))
            .collect();
        assert_eq!(got, [(code, place)], "{keyword} {value}");
    }
}

#[test]
fn words_state_both_directions() {
    for (keyword, value, message, expected) in [
        (
            json!({"type": "integer", "minimum": 1, "maximum": 100}),
            json!(0),
            "Value out of range: 0 is below minimum 1",
            "integer from 1 to 100",
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 100}),
            json!(101),
            "Value out of range: 101 exceeds maximum 100",
            "integer from 1 to 100",
        ),
        (
            json!({"minItems": 2}),
            json!([1]),
            "Array length 1 is below minimum 2",
            "value of at least 2 items",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "String length 3 exceeds maximum 2",
            "string with max length 2",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 2, 1]),
            "Array items repeat: items 0 and 2 are equal",
            "value without repeats",
        ),
        (
            json!({"enum": ["utf-8", "ascii"]}),
            json!("uft8"),
            "Invalid enum value 'uft8'",
            "one of: utf-8, ascii",
        ),
        (
            json!({"type": ["string", "null"]}),
            json!(1),
            "Type mismatch: expected string or null, got integer",
            "string or null",
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("today"),
            "Invalid format: date",
            "string in date format (such as 2025-01-31)",
        ),
        (
            json!({"pattern": "^a+$"}),
            json!("b"),
            "Value doesn't match pattern: ^a+$",
            "value matching pattern ^a+$",
        ),
    ] {
        let schema = Schema::compile(keyword.clone()).unwrap();
        let findings = check(&schema, &value, ()).unwrap();
        assert_eq!(findings[0].message, message, "{keyword}");
        assert_eq!(findings[0].expected_value.as_deref(), Some(expected), "{keyword}");
    }
}

#[test]
fn everything_is_told_at_once() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "maxLength": 4096},
            "encoding": {"enum": ["utf-8", "ascii", "utf-16"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let arguments = json!({"pth": "src/main.rs", "encoding": "uft8", "limit": "ten"});
    insta::assert_snapshot!(lines(schema, &arguments, ()).join("\n"), @r"
        error VAL-008 at /encoding: Invalid enum value 'uft8' </properties/encoding/enum>
        error VAL-002 at /limit: Type mismatch: expected integer, got string </properties/limit/type>
        error VAL-005 at /pth: Unknown field 'pth' </additionalProperties>
        error VAL-001 at /path: Required field 'path' is missing </required>
        ");
}

#[test]
fn a_union_is_told_as_its_nearest_branch() {
    let shapes = json!({
        "$defs": {
            "circle": {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
            "line": {"type": "object", "properties": {"kind": {"const": "line"}, "from": {"type": "number"}, "to": {"type": "number"}}, "required": ["kind", "from", "to"]},
        },
        "type": "object",
        "properties": {"shape": {"oneOf": [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/line"}, {"type": "null"}]}},
    });
    insta::assert_snapshot!(lines(shapes.clone(), &json!({"shape": {"kind": "line", "from": 1}}), ()).join("\n"), @r#"error VAL-001 at /shape/to: Required field 'to' is missing (read as kind "line"; alternatives: kind "circle", null) </properties/shape/oneOf/1/$ref/required>"#);
    insta::assert_snapshot!(lines(shapes.clone(), &json!({"shape": {"kind": "line", "radius": "5"}}), ()).join("\n"), @r#"
        error VAL-001 at /shape/from: Required field 'from' is missing (read as kind "line"; alternatives: kind "circle", null) </properties/shape/oneOf/1/$ref/required>
        error VAL-001 at /shape/to: Required field 'to' is missing </properties/shape/oneOf/1/$ref/required>
        "#);
    insta::assert_snapshot!(lines(shapes, &json!({"shape": "circle"}), ()).join("\n"), @"error VAL-002 at /shape: Type mismatch: expected object or null, got string </properties/shape/oneOf/0/$ref/type>");
}

#[test]
fn one_of_that_fits_twice_names_the_options() {
    let schema = json!({"oneOf": [{"title": "Small", "maximum": 10}, {"title": "Even", "multipleOf": 2}, {"type": "string"}]});
    insta::assert_snapshot!(lines(schema, &json!(4), ()).join("\n"), @"error VAL-003 at (root): Value matches 2 options; must match exactly one: 1 ('Small'), 2 ('Even') </oneOf/0>");
}

#[test]
fn lists_of_values_in_all_branches_are_one_list() {
    let schema = Schema::compile(json!({"anyOf": [{"enum": ["a", "b"]}, {"const": "c"}]})).unwrap();
    let findings = check(&schema, &json!("d"), ()).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].expected_value.as_deref(), Some("one of: a, b, c"));
}

#[test]
fn unknown_fields_warn_unless_strict_or_declared() {
    let open = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let arguments = json!({"path": "a", "limt": 3});
    let line = " VAL-005 at /limt: Unknown field 'limt' </properties>";
    assert_eq!(lines(open.clone(), &arguments, ()), [format!("warning{line}")]);
    assert_eq!(
        lines(open, &arguments, CheckOptions::default().with_strict(true)),
        [format!("error{line}")]
    );
    for silent in [
        json!({"type": "object"}),
        json!({"properties": {"path": true}, "additionalProperties": true}),
        json!({"properties": {"path": true}, "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"path": true}, "patternProperties": {"^lim": true}}),
        json!({"properties": {"path": true}, "allOf": [{"properties": {"limt": true}}]}),
        json!({"properties": {"path": true}, "anyOf": [{"properties": {"limt": true}}, {"required": ["x"]}]}),
        json!({"properties": {"path": true}, "if": {"required": ["path"]}, "then": {"properties": {"limt": true}}}),
        json!({"properties": {"path": true}, "dependentSchemas": {"path": {"properties": {"limt": true}}}}),
        json!({"properties": {"path": true}, "unevaluatedProperties": true}),
        json!({"$defs": {"a": {"properties": {"limt": true}}}, "properties": {"path": true}, "$ref": "#/$defs/a"}),
    ] {
        assert_eq!(
            lines(silent.clone(), &arguments, CheckOptions::default().with_strict(true)),
            [""; 0],
            "{silent}"
        );
    }
}

#[test]
fn secrets_stay_inside() {
    let schema = Schema::compile(json!({
            "$defs": {"login": {"properties": {"pin": {"type": "integer", "maximum": 9, "writeOnly": true}}}},
            "properties": {
                "password": {"type": "string", "format": "password", "minLength": 40},
                "login": {"$ref": "#/$defs/login"},
                "both": {"anyOf": [{"type": "array"}, {"properties": {"key": {"writeOnly": true}}, "required": ["id"]}]},
                "mode": {"enum": ["x"], "writeOnly": true},
            },
            "maxProperties": 1,
        }))
        .unwrap();
    let arguments = json!({
        "password": "hunter2-hunter2",
        "login": {"pin": 778_899},
        "both": {"key": "topsecret-value"},
        "mode": "hush-hush",
    });
    let findings = check(&schema, &arguments, ()).unwrap();
    let said = serde_json::to_string(&findings).unwrap();
    assert_eq!(findings.len(), 5, "{said}");
    for secret in ["hunter2", "778899", "topsecret", "hush"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn arguments_that_nest_too_deep_are_refused() {
    let schema = Schema::compile(
        json!({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}),
    )
    .unwrap();
    let deep = (0..=DEEPEST).fold(json!(1), |inner, _| json!([inner]));
    let findings = check(&schema, &deep, ()).unwrap();
    assert_eq!(findings[0].message, "Arguments nest deeper than 128 levels");
    assert!(!schema.is_valid(&deep).unwrap());
    let near = (0..DEEPEST).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(check(&schema, &near, ()).unwrap(), []);
}

#[test]
fn a_schema_that_multiplies_findings_is_answered_briefly() {
    let branch =
        |name: &str| json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "required": [name]});
    let recursive =
        json!({"$defs": {"a": {"anyOf": [branch("p"), branch("q")]}}, "$ref": "#/$defs/a"});
    let deep = (0..60).fold(json!({}), |inner, _| json!({"x": inner}));
    let schema = Schema::compile(recursive).unwrap();
    let findings = check(&schema, &deep, ()).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].error_code, "VAL-003");
}

#[test]
fn a_pattern_that_backtracks_without_end_is_the_schemas_fault() {
    let schema = Schema::compile(json!({"pattern": "(?:(?=a)a+)+b$"})).unwrap();
    let arguments = json!("a".repeat(200));
    let fault = check(&schema, &arguments, ()).unwrap_err();
    assert_eq!(fault.kind(), crate::call::SchemaErrorKind::Backtracking);
    assert!(schema.is_valid(&arguments).is_err());
}

#[test]
fn a_linear_pattern_does_not_backtrack() {
    let schema = Schema::compile(json!({"pattern": "^(a+)+$"})).unwrap();
    let findings = check(&schema, &json!("a".repeat(50_000) + "b"), ()).unwrap();
    assert_eq!(findings[0].error_code, "VAL-007");
}
