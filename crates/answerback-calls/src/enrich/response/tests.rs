use answerback_contracts::Contract;
use answerback_contracts::atdf::{ValidExamples, check};
use answerback_findings::{Profile, Severity};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_698_402_600_000)
}

/// Returns the findings of a call, with the codes that the check of calls uses.
fn findings(schema: &Value, arguments: &Value) -> Vec<ValidationError> {
    use jsonschema::error::ValidationErrorKind as Kind;
    let validator = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    let mut findings = Vec::new();
    for error in validator.iter_errors(arguments) {
        let code = match error.kind().keyword() {
            "required" | "dependentRequired" => "VAL-001",
            "type" => "VAL-002",
            "additionalProperties" | "unevaluatedProperties" => "VAL-005",
            "minItems" | "maxItems" | "uniqueItems" => "VAL-006",
            "pattern" => "VAL-007",
            "const" | "enum" => "VAL-008",
            "minLength" | "maxLength" => "VAL-009",
            "format" => "VAL-010",
            _ => "VAL-003",
        };
        let place = Pointer::try_from(error.instance_path().to_string()).unwrap();
        let places = match error.kind() {
            Kind::Required { property } => vec![place.join(property.as_str().unwrap())],
            Kind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|name| place.join(name)).collect()
            }
            _ => vec![place],
        };
        for place in places {
            findings.push(
                ValidationError::new(code, Severity::Error)
                    .with_path(place)
                    .with_message(error.to_string())
                    .with_schema_path(error.evaluation_path().to_string().try_into().unwrap()),
            );
        }
    }
    findings
}

fn enriched(schema: &Value, arguments: &Value) -> Value {
    let findings = findings(schema, arguments);
    let source = EnrichSource::Call { schema, arguments };
    let document = enrich(&findings, &source, now()).expect("a finding").to_document();
    assert_eq!(check(&document, Profile::Strict), [], "{document:#}");
    document
}

fn hotel() -> Value {
    json!({
        "type": "object",
        "properties": {
            "guest": {"type": "string", "minLength": 1, "maxLength": 40},
            "email": {"$ref": "#/$defs/email"},
            "guests": {"type": "integer", "minimum": 1, "maximum": 4},
            "room": {"enum": ["single", "double", "suite"]},
            "arrival": {"type": "string", "format": "date"},
            "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "password": {"type": "string", "minLength": 12},
            "pay": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "card"}, "number": {"type": "string"}}, "required": ["kind", "number"]},
                {"type": "object", "properties": {"kind": {"const": "cash"}}, "required": ["kind"]},
            ]},
        },
        "required": ["guest"],
        "additionalProperties": false,
        "$defs": {"email": {"type": "string", "format": "email"}},
    })
}

#[test]
fn one_wrong_field() {
    let document = enriched(&hotel(), &json!({"guest": "x", "guests": "9"}));
    insta::assert_snapshot!(serde_json::to_string_pretty(&document["data"]).unwrap(), @r#"
    {
      "code": "TYPE_MISMATCH",
      "message": "\"9\" is not of type \"integer\"",
      "details": {
        "field": "/guests",
        "received": {
          "guests": "9"
        },
        "expected": {
          "conditions": [
            "guests must be an integer",
            "guests must be at least 1",
            "guests must be at most 4"
          ],
          "constraints": {
            "min_value": 1,
            "max_value": 4
          },
          "examples": {
            "valid": {
              "guests": 1
            },
            "invalid": [
              {
                "value": "9",
                "reason": "\"9\" is not of type \"integer\""
              }
            ]
          }
        },
        "validation_results": {
          "type": false,
          "min_value": "not checked: it applies to numbers only",
          "max_value": "not checked: it applies to numbers only"
        },
        "errors": [
          {
            "error_code": "VAL-002",
            "field_path": "/guests",
            "message": "\"9\" is not of type \"integer\"",
            "severity": "error",
            "schema_path": "/properties/guests/type"
          }
        ],
        "solution": "1) Change guests: guests must be an integer (for example 1) 2) Call the tool again with everything else unchanged"
      }
    }
    "#);
}

#[test]
fn several_wrong_fields() {
    let arguments = json!({"gest": "x", "guests": 9, "email": "nobody", "code": "x"});
    let document = enriched(&hotel(), &arguments);
    insta::assert_snapshot!(serde_json::to_string_pretty(&document["data"]).unwrap(), @r#"
    {
      "code": "VALIDATION_FAILED",
      "message": "5 problems, the first: 9 is greater than the maximum of 4",
      "details": {
        "field": "arguments",
        "received": {
          "/guests": 9,
          "/email": "nobody",
          "/code": "x",
          "/gest": "x",
          "members of arguments": [
            "gest",
            "guests",
            "email",
            "code"
          ]
        },
        "expected": {
          "conditions": [
            "guests must be an integer",
            "guests must be at least 1",
            "guests must be at most 4",
            "email must be a string",
            "email must be an e-mail address (user@example.com)",
            "code must be a string",
            "code must match the pattern ^[A-Z]{2}-\\d{3}$",
            "arguments must have no members other than \"guest\", \"email\", \"guests\", \"room\", \"arrival\", \"code\", \"tags\", \"password\", \"pay\"",
            "guest must be given",
            "guest must be a string",
            "guest must have at least 1 character",
            "guest must have at most 40 characters"
          ],
          "constraints": {
            "/guests": {
              "min_value": 1,
              "max_value": 4
            },
            "/email": {
              "format": "an e-mail address (user@example.com)"
            },
            "/code": {
              "pattern": "^[A-Z]{2}-\\d{3}$"
            },
            "/guest": {
              "min_length": 1,
              "max_length": 40
            }
          },
          "examples": {
            "valid": {
              "/guests": 1,
              "/email": "user@example.com",
              "/code": "AA-111"
            },
            "invalid": [
              {
                "value": "9",
                "reason": "9 is greater than the maximum of 4"
              },
              {
                "value": "nobody",
                "reason": "\"nobody\" is not a \"email\""
              },
              {
                "value": "x",
                "reason": "\"x\" does not match \"^[A-Z]{2}-\\d{3}$\""
              }
            ]
          }
        },
        "validation_results": {
          "/guests type": true,
          "/guests min_value": true,
          "/guests max_value": false,
          "/email type": true,
          "/email format": false,
          "/code type": true,
          "/code pattern": false,
          "/gest known_members": false,
          "/guest present": false
        },
        "errors": [
          {
            "error_code": "VAL-003",
            "field_path": "/guests",
            "message": "9 is greater than the maximum of 4",
            "severity": "error",
            "schema_path": "/properties/guests/maximum"
          },
          {
            "error_code": "VAL-010",
            "field_path": "/email",
            "message": "\"nobody\" is not a \"email\"",
            "severity": "error",
            "schema_path": "/properties/email/$ref/format"
          },
          {
            "error_code": "VAL-007",
            "field_path": "/code",
            "message": "\"x\" does not match \"^[A-Z]{2}-\\d{3}$\"",
            "severity": "error",
            "schema_path": "/properties/code/pattern"
          },
          {
            "error_code": "VAL-005",
            "field_path": "/gest",
            "message": "Additional properties are not allowed ('gest' was unexpected)",
            "severity": "error",
            "schema_path": "/additionalProperties"
          },
          {
            "error_code": "VAL-001",
            "field_path": "/guest",
            "message": "\"guest\" is a required property",
            "severity": "error",
            "schema_path": "/required"
          }
        ],
        "solution": "1) Change guests: guests must be at most 4 (for example 1) 2) Change email: email must be an e-mail address (user@example.com) (for example \"user@example.com\") 3) Change code: code must match the pattern ^[A-Z]{2}-\\d{3}$ (for example \"AA-111\") 4) Rename gest: \"guest\" is meant, perhaps 5) Call the tool again with everything else unchanged"
      }
    }
    "#);
}

#[test]
fn codes_fields_suggestions_and_solutions() {
    let table = [
        (
            json!({"guest": "x", "room": "Suite"}),
            "INVALID_ENUM_VALUE",
            "/room",
            json!("suite"),
            "1) Change room to \"suite\" 2)",
        ),
        (
            json!({"guest": "x", "guests": "3"}),
            "TYPE_MISMATCH",
            "/guests",
            json!(3),
            "1) Change guests to 3 2)",
        ),
        (
            json!({"guest": "x", "guests": 0}),
            "CONSTRAINT_VIOLATION",
            "/guests",
            json!(null),
            "1) Change guests: guests must be at least 1 (for example 1) 2)",
        ),
        (
            json!({}),
            "REQUIRED_FIELD_MISSING",
            "/guest",
            json!(null),
            "1) Add guest: guest must be a string; guest must have at least 1 character; guest must have at most 40 characters 2)",
        ),
        (
            json!({"guest": "x", "Room": 1}),
            "UNKNOWN_FIELD",
            "/Room",
            json!(null),
            "1) Rename Room: \"room\" is meant, perhaps 2)",
        ),
        (json!({"guest": "x", "zzz": 1}), "UNKNOWN_FIELD", "/zzz", json!(null), "1) Remove zzz 2)"),
        (
            json!({"guest": "x", "tags": ["a", "b", "c"]}),
            "ARRAY_LENGTH_VIOLATION",
            "/tags",
            json!(null),
            "1) Change tags: tags must have at most 2 items (for example [\"example\"]) 2)",
        ),
        (
            json!({"guest": "x", "tags": [1]}),
            "TYPE_MISMATCH",
            "/tags/0",
            json!("1"),
            "1) Change tags[0] to \"1\" 2)",
        ),
        (
            json!({"guest": "x", "code": "A"}),
            "PATTERN_MISMATCH",
            "/code",
            json!(null),
            "1) Change code: code must match the pattern ^[A-Z]{2}-\\d{3}$ (for example \"AA-111\") 2)",
        ),
        (
            json!({"guest": ""}),
            "STRING_LENGTH_VIOLATION",
            "/guest",
            json!(null),
            "1) Change guest: guest must have at least 1 character 2)",
        ),
        (
            json!({"guest": "x", "email": "n"}),
            "FORMAT_VIOLATION",
            "/email",
            json!(null),
            "1) Change email: email must be an e-mail address (user@example.com) (for example \"user@example.com\") 2)",
        ),
        (
            json!({"guest": 1, "room": "attic"}),
            "VALIDATION_FAILED",
            "arguments",
            json!(null),
            "1) Change guest to \"1\" 2) Change room: room must be one of: \"single\", \"double\", \"suite\" (for example \"single\") 3)",
        ),
        (
            json!([]),
            "TYPE_MISMATCH",
            "arguments",
            json!(null),
            "1) Change arguments: arguments must be an object (for example {\"guest\":\"example\"}) 2)",
        ),
        (
            json!({"guest": "x", "pay": {"kind": "card"}}),
            "CONSTRAINT_VIOLATION",
            "/pay",
            json!(null),
            "1) Change pay: pay must be exactly one of these: an object whose \"kind\" is \"card\"; or an object whose \"kind\" is \"cash\" (for example {\"kind\":\"card\",\"number\":\"example\"}) 2)",
        ),
    ];
    for (arguments, code, field, suggested, solution) in table {
        let data = enriched(&hotel(), &arguments)["data"].take();
        let details = &data["details"];
        assert_eq!(
            (data["code"].as_str(), details["field"].as_str()),
            (Some(code), Some(field)),
            "{arguments}"
        );
        assert_eq!(
            details.get("suggested_value").unwrap_or(&Value::Null),
            &suggested,
            "{arguments}"
        );
        let told = details["solution"].as_str().unwrap();
        assert!(told.starts_with(solution), "{arguments}\n{told}\n{solution}");
    }
}

#[test]
fn a_branch_that_was_entered_leads_the_examples() {
    let schema = hotel();
    let arguments = json!({"guest": "x", "pay": {"kind": "card", "number": 5}});
    let finding = ValidationError::new("VAL-002", Severity::Error)
        .with_path("/pay/number".try_into().unwrap())
        .with_schema_path("/properties/pay/oneOf/0/properties/number/type".try_into().unwrap())
        .with_message("5 is not a string");
    let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
    let document = enrich(&[finding], &source, now()).unwrap().to_document();
    assert_eq!(document["data"]["details"]["suggested_value"], "5");
    assert_eq!(
        document["data"]["details"]["expected"]["conditions"],
        json!(["pay.number must be a string"])
    );
}

#[test]
fn secrets_are_not_shown() {
    let schema = json!({
        "properties": {
            "password": {"type": "string", "minLength": 12, "examples": ["correct-horse-1"]},
            "note": {"type": "string", "writeOnly": true, "maxLength": 3},
            "login": {"type": "object", "required": ["user"]},
        },
    });
    let arguments =
        json!({"password": "hunter2", "note": "topmost", "login": {"api_key": "sk-abc"}});
    let mut findings = findings(&schema, &arguments);
    for finding in &mut findings {
        finding.actual_value = Some("hunter2 topmost".to_owned());
    }
    findings.retain(|finding| !finding.field_path.as_str().starts_with("/login"));
    let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
    let text = enrich(&findings, &source, now()).unwrap().to_document().to_string();
    for secret in ["hunter2", "topmost", "correct-horse"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let whole = ValidationError::new("VAL-003", Severity::Error).with_message("no");
    let text = enrich(&[whole], &source, now()).unwrap().to_document().to_string();
    assert!(!text.contains("hunter2") && !text.contains("sk-abc"), "{text}");
}

#[test]
fn arguments_that_are_no_json() {
    let finding = ValidationError::new("VAL-004", Severity::Error)
        .with_message("expected ',' at line 1 column 9")
        .with_actual("{\"a\": 1 \"b\"");
    let source = EnrichSource::Call { schema: &json!({}), arguments: &Value::Null };
    let document = enrich(&[finding], &source, now()).unwrap().to_document();
    assert_eq!(check(&document, Profile::Strict), []);
    assert_eq!(document["data"]["code"], "INVALID_JSON");
    assert_eq!(document["data"]["details"]["field"], "arguments");
}

#[test]
fn without_errors_there_is_nothing_to_say() {
    let warning = ValidationError::new("VAL-003", Severity::Warning);
    let source = EnrichSource::Document { document: &Value::Null };
    assert!(enrich(&[warning], &source, now()).is_none() && enrich(&[], &source, now()).is_none());
}

#[test]
fn output_is_bounded() {
    let properties: Map<String, Value> = (0..500)
        .map(|index| {
            (
                format!("field_{index}_{}", "n".repeat(500)),
                json!({"enum": (0..500).collect::<Vec<_>>()}),
            )
        })
        .collect();
    let arguments: Value =
        properties.keys().map(|name| (name.clone(), json!("v".repeat(10_000)))).collect();
    let schema = json!({"properties": properties});
    let all = findings(&schema, &arguments);
    let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
    let text = enrich(&all, &source, now()).unwrap().to_document().to_string();
    assert!(text.len() < 50_000, "{}", text.len());
    let broken = json!({"type": 5, "properties": {"a": {"$ref": "#/properties/a"}}});
    let finding = ValidationError::new("VAL-002", Severity::Error)
        .with_path("/a".try_into().unwrap())
        .with_schema_path("/properties/a/$ref/$ref/type".try_into().unwrap());
    let source = EnrichSource::Call { schema: &broken, arguments: &json!({"a": 1}) };
    assert!(enrich(&[finding], &source, now()).is_some());
}

#[test]
fn a_document_by_its_rules() {
    let document = json!({"status": "done", "data": {}, "meta": {"timestamp": "now"}});
    let findings = Contract::Atdf.check(&document, Profile::Strict);
    let source = EnrichSource::Document { document: &document };
    let enriched = enrich(&findings, &source, now()).unwrap().to_document();
    assert_eq!(check(&enriched, Profile::Strict), []);
    insta::assert_snapshot!(serde_json::to_string_pretty(&enriched["data"]).unwrap(), @r#"
    {
      "code": "VALIDATION_FAILED",
      "message": "2 problems, the first: expected one of: success, error",
      "details": {
        "field": "document",
        "received": {
          "status": "done",
          "meta.timestamp": "now"
        },
        "expected": {
          "conditions": [
            "status is success or error",
            "meta.timestamp is an RFC 3339 date and time"
          ],
          "constraints": {
            "status": "one of: success, error",
            "meta.timestamp": "an RFC 3339 time such as 2023-10-27T10:35:00Z"
          }
        },
        "validation_results": {
          "status ATDF-003": false,
          "meta.timestamp ATDF-006": false
        },
        "errors": [
          {
            "error_code": "ATDF-003",
            "field_path": "/status",
            "message": "expected one of: success, error",
            "severity": "error",
            "expected_value": "one of: success, error",
            "actual_value": "\"done\""
          },
          {
            "error_code": "ATDF-006",
            "field_path": "/meta/timestamp",
            "message": "expected an RFC 3339 time such as 2023-10-27T10:35:00Z",
            "severity": "error",
            "expected_value": "an RFC 3339 time such as 2023-10-27T10:35:00Z",
            "actual_value": "\"now\""
          }
        ],
        "solution": "1) status: Write success, or error if the tool failed 2) meta.timestamp: Write it with Z or an offset, such as 2023-10-27T10:35:00Z 3) Check the document again"
      }
    }
    "#);
}

fn any_schema() -> impl Strategy<Value = Value> {
    let number = || (-20_i64..20).prop_map(|number| json!(number));
    let some = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::of(value).prop_map(move |value| (name, value))
    };
    let text = (
        some("minLength", (0_u8..6).prop_map(Value::from).boxed()),
        some("maxLength", (0_u8..9).prop_map(Value::from).boxed()),
        some(
            "pattern",
            prop::sample::select(vec!["^[a-z]+$", "\\d{2,3}", "^(ab|c)*$", "^[^x]"])
                .prop_map(Value::from)
                .boxed(),
        ),
        some(
            "format",
            prop::sample::select(vec!["date", "email", "uuid", "uri", "ipv4"])
                .prop_map(Value::from)
                .boxed(),
        ),
    )
        .prop_map(|(a, b, c, d)| part("string", [a, b, c, d]));
    let amount = (
        prop::sample::select(vec!["integer", "number"]),
        some("minimum", number().boxed()),
        some("maximum", number().boxed()),
        some("exclusiveMinimum", number().boxed()),
        some("multipleOf", (1_u8..7).prop_map(Value::from).boxed()),
    )
        .prop_map(|(kind, a, b, c, d)| part(kind, [a, b, c, d]));
    let chosen =
        prop::collection::vec(prop_oneof![number(), "[a-c]{1,4}".prop_map(Value::from)], 1..4)
            .prop_map(|values| json!({"enum": values}));
    let leaf = prop_oneof![
        text,
        amount,
        chosen,
        Just(json!({"type": "boolean"})),
        Just(json!({"const": "k"}))
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0_u8..3, any::<bool>())
                .prop_map(|(items, least, unique)| json!({"type": "array", "items": items, "minItems": least, "uniqueItems": unique})),
            (inner.clone(), inner.clone(), any::<bool>())
                .prop_map(|(a, b, closed)| json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["a"], "additionalProperties": !closed})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"allOf": [a, b]})),
        ]
    })
}

fn part<const N: usize>(kind: &str, members: [(&str, Option<Value>); N]) -> Value {
    let mut part = Map::new();
    part.insert("type".to_owned(), kind.into());
    part.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(part)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-30_i64..30).prop_map(Value::from),
        "[a-z0-9é]{0,8}".prop_map(Value::from),
        Just(json!("7")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..3)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    /// The schema of a field accepts each of its examples and suggestions, and the response passes the strict
    /// check.
    #[test]
    fn what_is_shown_as_right_is_right(one in any_schema(), two in any_schema(), first in any_value(), second in any_value()) {
        let schema = json!({
            "type": "object",
            "properties": {"one": {"$ref": "#/$defs/one"}, "two": {"$ref": "#/$defs/two"}},
            "$defs": {"one": one, "two": two},
        });
        let arguments = json!({"one": first, "two": second});
        let all = findings(&schema, &arguments);
        let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
        let Some(response) = enrich(&all, &source, now()) else { return Ok(()) };
        let document = response.to_document();
        prop_assert_eq!(check(&document, Profile::Strict), [], "{:#}", document);
        let EnrichedResponse::Error(error) = response else { panic!("an error") };
        let details = &error.data.details;
        let located = SchemaParts::new(&schema);
        let errors: Vec<&ValidationError> = all.iter().collect();
        let (found, _) = fields(&errors, &located, &arguments, MOST_FIELDS);
        let accepts = |field: &Field<'_, '_>, value: &Value| {
            let path = field.finding.schema_path.as_ref().unwrap();
            let part = located.locate(path).unwrap().field;
            let part = if field.is_missing() { located.property(part, &field.place.split_last().unwrap().1).unwrap() } else { part };
            located.validator(part).unwrap().is_valid(value)
        };
        match details.expected.examples.as_ref().and_then(|examples| examples.valid.as_ref()) {
            None => {}
            Some(ValidExamples::Texts(texts)) => for text in texts {
                prop_assert!(accepts(&found[0], &json!(text)), "{:#}", document);
            },
            Some(ValidExamples::ByName(values)) => for (name, value) in values {
                let field = found.iter().find(|field| field.key(found.len() == 1) == *name).unwrap();
                prop_assert!(accepts(field, value), "{} {:#}", name, document);
            },
        }
        if let Some(suggested) = &details.suggested_value {
            prop_assert!(accepts(&found[0], suggested), "{:#}", document);
        }
        prop_assert_eq!(EnrichedResponse::from_document(&document).unwrap().to_document(), document);
    }
}
