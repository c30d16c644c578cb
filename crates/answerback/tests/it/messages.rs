//! What a message, its repair and its enriched error say of calls that are wrong in many ways: never the
//! opposite of what is right, and all of them the same.

use answerback::checker::{CallReply, CallRequest, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::contract::atdf::{EnrichSource, enrich};
use answerback::json::Limits;
use answerback::{RetryTracker, Timestamp};
use serde_json::{Value, json};

/// The answer to the first attempt of a call.
fn answered(schema: &Value, arguments: &Value, validation: &Value) -> CallReply {
    let catalogue = ToolCatalog::read(&json!([{"name": "t", "inputSchema": schema}])).unwrap();
    let config = json!({"tools": {"validation": validation}});
    let config = ValidationConfig::from_value("f", &config).unwrap();
    let line = CallRequest::new("t", arguments.clone());
    let judged = check_call(&catalogue, line, &config, Limits::default());
    reply_to(judged, &RetryTracker::new(&config), Timestamp::from_unix_millis(0), [7; 10])
}

/// The message of a call that is wrong.
fn message(schema: &Value, arguments: &Value) -> String {
    let answer = answered(schema, arguments, &json!({}));
    answer.result.unwrap_or_else(|| panic!("{schema} takes {arguments}")).content
}

/// The steps of the enriched error for the same call.
fn solution(schema: &Value, arguments: &Value) -> String {
    let findings = answered(schema, arguments, &json!({})).errors;
    let source = EnrichSource::Call { schema, arguments };
    let error =
        enrich(&findings, &source, Timestamp::from_unix_millis(0)).expect("the call is wrong");
    error.to_document()["data"]["details"]["solution"].as_str().unwrap().to_owned()
}

fn fields(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn a_forbidden_value_is_not_called_expected() {
    for (rule, value, said, expected) in [
        (
            json!({"type": "string", "not": {"enum": ["root", "admin"]}}),
            json!("root"),
            "Value 'root' is not allowed",
            "string that is none of: root, admin",
        ),
        (json!({"not": {"const": 0}}), json!(0), "Value '0' is not allowed", "value that is not 0"),
        (
            json!({"type": "object", "not": {"required": ["a", "b"]}}),
            json!({"a": 1, "b": 2}),
            "Fields 'a' and 'b' are not allowed together",
            "object without 'a' and 'b' together",
        ),
        (
            json!({"not": {"properties": {"a": {"const": 1}}}}),
            json!({"a": 1}),
            "Value has a form that is not allowed",
            "value that the schema's 'not' rule does not match",
        ),
        (
            json!({"type": "array", "contains": {"type": "string", "pattern": "^a"}}),
            json!(["b"]),
            "Array has no item of the kind it must contain",
            "array with at least 1 item of this kind: string matching pattern ^a",
        ),
        (
            json!({"type": "array", "contains": {"const": 5}, "minContains": 2}),
            json!([5, 1]),
            "Array has too few items of the kind it must contain",
            "array with at least 2 items of this kind: exactly 5",
        ),
    ] {
        let text = message(&fields(json!({"v": rule})), &json!({"v": value}));
        assert!(text.contains(said) && text.contains(&format!("Expected: {expected}\n")), "{text}");
    }
}

#[test]
fn an_optional_list_stays_a_list_however_much_is_wrong() {
    let nothing = json!({"type": "null"});
    for (branch, value) in [
        (json!({"type": "array", "items": {"type": "string"}}), json!([1, 2, 3, 4, 5, 6])),
        (
            json!({"type": "array", "items": {"type": "object", "required": ["a", "b"]}}),
            json!([{}, {}, {}, {}]),
        ),
        (json!({"type": "object", "required": ["a", "b", "c"]}), json!({})),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"a": 1, "b": 2, "c": 3}),
        ),
        (json!({"type": "array", "items": {"type": "string"}}), json!("x")),
    ] {
        for union in [json!([branch, nothing]), json!([nothing, branch])] {
            let text = message(&fields(json!({"c": {"anyOf": union}})), &json!({"c": value}));
            assert!(!text.contains("null."), "{text}");
            assert!(!text.contains("as null") && !text.contains("as a null"), "{text}");
        }
    }
}

#[test]
fn bounds_are_named_with_their_direction() {
    for (rule, value, clause) in [
        (json!({"exclusiveMinimum": 0}), 0, "Please make 'x' greater than 0."),
        (json!({"exclusiveMaximum": 10}), 10, "Please make 'x' less than 10."),
        (json!({"minimum": 1}), 0, "Please raise 'x' to at least 1."),
        (json!({"maximum": 1}), 2, "Please lower 'x' to at most 1."),
    ] {
        let text = message(&fields(json!({"x": rule})), &json!({"x": value}));
        assert!(text.ends_with(clause), "{text}");
    }
    let old = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"x": {"minimum": 0, "exclusiveMinimum": true}},
    });
    let text = message(&old, &json!({"x": 0}));
    assert!(text.ends_with("Please make 'x' greater than 0."), "{text}");
}

#[test]
fn a_name_that_a_rule_asks_for_is_known() {
    let a = json!({"a": {"type": "string"}});
    for rules in [
        json!({"required": ["a", "b"]}),
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"dependentSchemas": {"b": {"required": ["a"]}}}),
        json!({"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}),
        json!({"allOf": [{"required": ["b"]}]}),
    ] {
        let mut schema = fields(a.clone());
        schema.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        let arguments = json!({"a": "x", "b": 1});
        for strict in [true, false] {
            let answer = answered(&schema, &arguments, &json!({"strict": strict}));
            assert_eq!(answer.errors, [], "{schema} {strict}");
        }
        let unknown = json!({"a": "x", "b": 1, "zzz": 1});
        let answer = answered(&schema, &unknown, &json!({"strict": true}));
        assert!(!answer.valid, "{schema}");
    }
}

#[test]
fn a_schema_that_asks_for_what_it_forbids_is_reported() {
    let schema = json!({
        "type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": false,
    });
    for arguments in [json!({"a": 1}), json!({"a": 1, "b": 1})] {
        let text = message(&schema, &arguments);
        assert!(
            text.ends_with("Please report that the tool's schema contradicts itself about 'b'."),
            "{text}"
        );
        assert!(!text.contains("is missing") && !text.contains("Did you mean"), "{text}");
    }
}

#[test]
fn nothing_is_answered_with_one_advice() {
    let optional = fields(
        json!({"x": {"type": "string"}, "n": {"type": "integer"}, "e": {"enum": ["a", "b"]}}),
    );
    for arguments in
        [json!({"x": null}), json!({"n": ""}), json!({"e": "null"}), json!({"e": null})]
    {
        let answer = answered(&optional, &arguments, &json!({}));
        let name = arguments.as_object().unwrap().keys().next().unwrap();
        let text = answer.result.unwrap().content;
        assert!(text.contains("Hint: Omit the field if you have no value for it"), "{text}");
        assert!(text.contains(&format!("leave out '{name}'\n")), "{text}");
        let last = format!("Please leave out '{name}' unless you have a value for it.");
        assert!(text.ends_with(&last), "{text}");
        assert_eq!(answer.repair.unwrap().arguments, json!({}));
        let steps = solution(&optional, &arguments);
        assert!(
            steps.starts_with(&format!("1) Leave out {name} unless you have a value for it 2)")),
            "{steps}"
        );
    }
    // Required, in whatever way: the field stays.
    for rules in [
        json!({"required": ["x"]}),
        json!({"allOf": [{"required": ["x"]}]}),
        json!({"dependentRequired": {"y": ["x"]}}),
        json!({"minProperties": 1}),
    ] {
        let mut schema = optional.clone();
        schema.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        let arguments = json!({"x": null, "y": 1});
        let answer = answered(&schema, &arguments, &json!({}));
        let text = answer.result.unwrap().content;
        assert!(text.ends_with("Please send 'x' as a string."), "{text}");
        assert!(!text.contains("Omit") && answer.repair.is_none(), "{text}");
        assert!(!solution(&schema, &arguments).contains("Leave out"));
    }
    // A word for nothing that is nearly a permitted value was meant as that.
    let none = fields(json!({"e": {"enum": ["NONE", "ALL"]}}));
    let answer = answered(&none, &json!({"e": "None"}), &json!({}));
    assert_eq!(answer.repair.unwrap().arguments, json!({"e": "NONE"}));
}

#[test]
fn a_missing_field_says_what_is_expected_and_why() {
    let declared = json!({"k": {"enum": ["a", "b"]}, "b": {"type": "integer"}});
    for (rules, reason) in [
        (json!({"dependentRequired": {"k": ["b"]}}), "as 'k' is present"),
        (json!({"dependentSchemas": {"k": {"required": ["b"]}}}), "as 'k' is present"),
        (
            json!({"if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["b"]}}),
            "as 'k' is \"a\"",
        ),
        (
            json!({"if": {"required": ["k"]}, "then": {"allOf": [{"required": ["b"]}]}}),
            "as 'k' is present",
        ),
        (
            json!({"if": {"required": ["z"]}, "else": {"required": ["b"]}}),
            "as a condition of the schema does not hold",
        ),
    ] {
        let mut schema = fields(declared.clone());
        schema.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        let text = message(&schema, &json!({"k": "a"}));
        let said = format!("Required field 'b' is missing, {reason}\n  Expected: integer\n");
        assert!(text.contains(&said), "{text}");
    }
    let undeclared = json!({"type": "object", "dependentRequired": {"a": ["b"]}});
    let text = message(&undeclared, &json!({"a": 1}));
    assert!(text.contains("is missing, as 'a' is present\n  Expected: any value\n"), "{text}");
}

#[test]
fn a_union_names_all_that_it_takes() {
    let branch = |tag: &str| json!({"type": "object", "properties": {"kind": {"const": tag}, tag: {"type": "string"}}, "required": ["kind"]});
    let schema = fields(json!({"s": {"oneOf": [branch("a"), branch("b"), branch("c")]}}));
    let text = message(&schema, &json!({"s": {"kind": "q"}}));
    for tag in ["\"a\"", "\"b\"", "\"c\""] {
        let expected = text.lines().find(|line| line.trim().starts_with("Expected:")).unwrap();
        assert!(expected.contains(tag), "{text}");
    }
    let steps = solution(&schema, &json!({"s": {"kind": "q"}}));
    assert!(steps.contains("one of: ") && !steps.contains("exactly \"a\""), "{steps}");
    let text = message(&schema, &json!({"s": {}}));
    assert!(text.contains("Expected: one of \"a\", \"b\", \"c\"\n"), "{text}");

    let types = fields(json!({"s": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}));
    let text = message(&types, &json!({"s": []}));
    assert!(text.ends_with("Please send 's' as a string or an integer."), "{text}");
    let steps = solution(&types, &json!({"s": []}));
    assert!(steps.contains("a string; or an integer"), "{steps}");
}

#[test]
fn the_schemas_description_is_shown_with_a_wrong_type() {
    let description = "Names joined with |";
    for rule in [
        json!({"type": "string", "description": description}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": description}),
        json!({"$ref": "#/$defs/names"}),
    ] {
        let mut schema = fields(json!({"s": rule}));
        schema["$defs"] = json!({"names": {"type": "string", "description": description}});
        let text = message(&schema, &json!({"s": ["a", "b"]}));
        assert!(text.contains("(\"Names joined with |\")\n"), "{text}");
    }
}

#[test]
fn short_words_are_found_in_long_lists() {
    let countries: Vec<String> = (0..250_u32)
        .map(|number| {
            format!(
                "{}{}",
                char::from(b'A' + u8::try_from(number / 26).unwrap()),
                char::from(b'A' + u8::try_from(number % 26).unwrap())
            )
        })
        .collect();
    let others = countries.iter().filter(|code| *code != "EN");
    let locales: Vec<String> = others
        .map(|code| format!("{}_ZZ", code.to_lowercase()))
        .chain(["en_US".to_owned()])
        .collect();
    for (options, word, meant) in [(countries, "ha", "\"HA\""), (locales, "en", "\"en_US\"")] {
        let text = message(&fields(json!({"s": {"enum": options}})), &json!({"s": word}));
        assert!(text.contains(&format!("Hint: Did you mean {meant}?")), "{text}");
        assert!(text.contains(&format!("write {meant} for")), "{text}");
    }
}

#[test]
fn values_are_previewed_whole() {
    let enumeration = fields(json!({"s": {"enum": ["a", "b"]}}));
    let text = message(&enumeration, &json!({"s": "z".repeat(150)}));
    assert!(
        text.contains(&format!("Invalid enum value '{}...' (truncated)\n", "z".repeat(97))),
        "{text}"
    );
    let number = fields(json!({"s": {"type": "integer"}}));
    let text = message(&number, &json!({"s": "z".repeat(100)}));
    assert!(text.contains(&format!("Actual: \"{}\"\n", "z".repeat(100))), "{text}");
}

#[test]
fn a_line_break_is_no_path() {
    let schema = fields(json!({"a": {"type": "integer"}}));
    for (value, shown) in [
        (json!("a:\nfoo/bar\nbar"), r#""a:\nfoo/bar\nbar""#),
        (json!(r"\nfoo\nbar"), r#""\\nfoo\\nbar""#),
    ] {
        let text = message(&schema, &json!({"a": value}));
        assert!(text.contains(&format!("Actual: {shown}\n")), "{text}");
    }
    let broken = Value::from("{\"a\": \"x:\\n\\nfoo\", 'b': 1}");
    let text = message(&fields(json!({"a": {}})), &broken);
    assert!(text.contains(r#"Actual: {"a": "x:\n\nfoo", →'b': 1}"#), "{text}");
}

#[test]
fn half_a_character_is_neither_an_escape_nor_repaired() {
    let schema = fields(json!({"a": {"type": "string"}}));
    let answer = answered(&schema, &Value::from(r#"{"a":"\ud800"}"#), &json!({}));
    let text = answer.result.unwrap().content;
    assert!(text.contains("half of a surrogate pair") && answer.repair.is_none(), "{text}");
    let answer = answered(&schema, &Value::from(r#"{"a":"x", oops}"#), &json!({}));
    let text = answer.result.unwrap().content;
    assert!(
        text.contains("text that belongs to no member") && !text.contains("a quote inside"),
        "{text}"
    );
    assert_eq!(answer.repair.unwrap().arguments, json!({"a": "x"}));
}

#[test]
fn a_change_elsewhere_is_told_from_another_wrong_value() {
    let catalogue = ToolCatalog::read(
        &json!([{"name": "t", "inputSchema": fields(json!({"a": {"pattern": "^[a-z]+$"}}))}]),
    )
    .unwrap();
    let config = ValidationConfig::default();
    let tracker = RetryTracker::new(&config);
    let say = |arguments: Value| {
        let line = CallRequest::new("t", arguments);
        let judged = check_call(&catalogue, line, &config, Limits::default());
        reply_to(judged, &tracker, Timestamp::from_unix_millis(0), [7; 10]).result.unwrap().content
    };
    say(json!({"a": "x0"}));
    let text = say(json!({"a": "x1"}));
    assert!(text.contains("the same rules are broken") && !text.contains("elsewhere"), "{text}");
    let tracker = RetryTracker::new(&config);
    let say = |arguments: Value| {
        let judged =
            check_call(&catalogue, CallRequest::new("t", arguments), &config, Limits::default());
        reply_to(judged, &tracker, Timestamp::from_unix_millis(0), [7; 10]).result.unwrap().content
    };
    say(json!({"a": "x0"}));
    assert!(say(json!({"a": "x0", "b": 1})).contains("the change was made elsewhere"));
}

#[test]
fn a_made_up_text_is_no_example() {
    let examples = |schema: &Value, arguments: &Value| {
        let findings = answered(schema, arguments, &json!({})).errors;
        let source = EnrichSource::Call { schema, arguments };
        let error = enrich(&findings, &source, Timestamp::from_unix_millis(0)).unwrap();
        error.to_document()["data"]["details"]["expected"]["examples"].clone()
    };
    let given = json!({"type": "object", "properties": {"email": {"type": "string", "maxLength": 99, "examples": ["user@example.com"]}}, "required": ["email"]});
    assert_eq!(examples(&given, &json!({})), json!({"valid": ["user@example.com"]}));
    let free = json!({"type": "object", "properties": {"q": {"type": "string", "minLength": 3}}, "required": ["q"]});
    assert_eq!(examples(&free, &json!({})), Value::Null);
    let wrong = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!(examples(&wrong, &json!({"n": [1, "x"]}))["invalid"][0]["value"], r#"[1,"x"]"#);
}
