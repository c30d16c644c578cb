//! Values that a server with lax types reads, and whether reading them loses anything.

use serde_json::{Value, json};

use crate::call::{Schema, check};
use crate::message::repair;

/// Returns the lossless rewriting of a call's only argument.
fn rewritten(schema: &Value, value: &Value) -> Option<Value> {
    let schema = Schema::compile(json!({"type": "object", "properties": {"x": schema}})).unwrap();
    let arguments = json!({"x": value});
    let findings = check(&schema, &arguments, ()).unwrap();
    assert!(
        findings.iter().any(answerback_findings::ValidationError::is_error),
        "{arguments} is right"
    );
    let repair = repair(&schema, &arguments, &findings, ())?;
    repair.is_lossless().then(|| repair.arguments["x"].clone())
}

/// Lists the values that pydantic 2.14 accepts in its lax mode, as `FastMCP` uses it, and marks those that
/// lose nothing.
#[test]
fn the_table_of_lossless_spellings() {
    let integer = json!({"type": "integer"});
    let number = json!({"type": "number"});
    let boolean = json!({"type": "boolean"});
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let object = json!({"type": "object"});
    let choice = json!({"enum": ["celsius", "kelvin"]});
    for (schema, sent, read) in [
        (&integer, json!("1"), json!(1)),
        (&integer, json!(" 1 "), json!(1)),
        (&integer, json!("+1"), json!(1)),
        (&integer, json!("-5"), json!(-5)),
        (&integer, json!("1.0"), json!(1)),
        (&integer, json!("1_000"), json!(1000)),
        (&integer, json!("9007199254740993"), json!(9_007_199_254_740_993_i64)),
        (&number, json!("1"), json!(1)),
        (&number, json!("1.5"), json!(1.5)),
        (&number, json!("1e3"), json!(1000.0)),
        (&number, json!("-0.25"), json!(-0.25)),
        (&boolean, json!("true"), json!(true)),
        (&boolean, json!("True"), json!(true)),
        (&boolean, json!("TRUE"), json!(true)),
        (&boolean, json!("t"), json!(true)),
        (&boolean, json!("yes"), json!(true)),
        (&boolean, json!("y"), json!(true)),
        (&boolean, json!("on"), json!(true)),
        (&boolean, json!("1"), json!(true)),
        (&boolean, json!(1), json!(true)),
        (&boolean, json!(1.0), json!(true)),
        (&boolean, json!("false"), json!(false)),
        (&boolean, json!("no"), json!(false)),
        (&boolean, json!("n"), json!(false)),
        (&boolean, json!("off"), json!(false)),
        (&boolean, json!("0"), json!(false)),
        (&boolean, json!(0), json!(false)),
        (&list, json!("[1, 2]"), json!([1, 2])),
        (&object, json!("{\"a\": 1}"), json!({"a": 1})),
        (&choice, json!("Celsius"), json!("celsius")),
    ] {
        assert_eq!(rewritten(schema, &sent), Some(read), "{schema} {sent}");
    }
    let optional = |schema: &Value| json!({"anyOf": [schema, {"type": "null"}]});
    for (schema, sent, read) in [
        (optional(&integer), json!("5"), json!(5)),
        (optional(&number), json!("1.5"), json!(1.5)),
        (optional(&boolean), json!("yes"), json!(true)),
        (optional(&list), json!("[1, 2]"), json!([1, 2])),
        (optional(&object), json!("{}"), json!({})),
        (json!({"type": ["integer", "null"]}), json!("5"), json!(5)),
        (json!({"type": ["integer", "null"]}), json!("null"), json!(null)),
        (json!({"type": "integer", "enum": [1, 2]}), json!("2"), json!(2)),
        (json!({"enum": [1, 2]}), json!("2"), json!(2)),
        (json!({"type": "integer", "minimum": 1}), json!("5"), json!(5)),
    ] {
        assert_eq!(rewritten(&schema, &sent), Some(read), "{schema} {sent}");
    }
    // A field that may be left out, where null is forbidden.
    assert_eq!(rewritten(&integer, &Value::Null), Some(Value::Null));
}

#[test]
fn what_would_lose_something_is_left_to_the_model() {
    let types = |name: &str| json!({"type": name});
    for (schema, sent) in [
        (types("integer"), json!("1.5")),
        (types("integer"), json!(1.5)),
        (types("integer"), json!("abc")),
        (types("integer"), json!("")),
        (types("integer"), json!("1,000")),
        (types("integer"), json!("123456789012345678901234567890")),
        (types("integer"), json!(true)),
        (types("integer"), json!([1])),
        (types("number"), json!("0.12345678901234567890123")),
        (types("number"), json!("nan")),
        (types("number"), json!("1e999")),
        (types("boolean"), json!("maybe")),
        (types("boolean"), json!(2)),
        (types("boolean"), json!("")),
        (types("string"), json!(5)),
        (types("string"), json!(true)),
        (types("array"), json!("a")),
        (types("array"), json!(5)),
        (types("object"), json!("a")),
        (json!({"enum": ["celsius", "kelvin"]}), json!("fahrenheit")),
        (json!({"enum": ["celsius", "kelvin"]}), json!("celsus")),
    ] {
        assert_eq!(rewritten(&schema, &sent), None, "{schema} {sent}");
    }
    // A required field is not left out.
    let schema = json!({"properties": {"x": {"type": "integer"}}, "required": ["x"]});
    let schema = Schema::compile(schema).unwrap();
    let arguments = json!({"x": null});
    let findings = check(&schema, &arguments, ()).unwrap();
    assert_eq!(repair(&schema, &arguments, &findings, ()), None);
}
