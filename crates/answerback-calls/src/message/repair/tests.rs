use answerback_json::Limits;
use answerback_parse::parse;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;

/// The repair of a call in one line: confidence, arguments, words; having seen to what always holds.
fn repaired(source: &Value, arguments: &Value) -> Option<String> {
    let schema = Schema::compile(source.clone()).unwrap();
    let findings = check(&schema, arguments, ()).unwrap();
    assert!(findings.iter().any(ValidationError::is_error), "{arguments} is valid");
    let repair = repair(&schema, arguments, &findings, ())?;
    assert!(schema.is_valid(&repair.arguments).unwrap(), "{arguments}");
    let patch = repair.patch.as_deref().unwrap();
    assert_eq!(patch::apply(arguments, patch).unwrap(), repair.arguments, "{arguments}");
    Some(format!("{} {} | {repair}", repair.confidence, repair.arguments))
}

/// A closed object with one optional field `v`, and a call with that field.
fn one(field: Value, value: Value) -> (Value, Value) {
    let schema = json!({
        "type": "object", "properties": {"v": field}, "additionalProperties": false,
    });
    (schema, json!({"v": value}))
}

fn closed(fields: Value, required: Value) -> Value {
    json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false})
}

#[test]
fn values_are_read_as_they_were_meant() {
    let colours = || json!({"enum": ["Red", "Sky Blue", "utf-8"]});
    let spans = || json!({"enum": ["six_months", "year", "five_years"]});
    let integer = || json!({"type": "integer"});
    let list = |items: Value| json!({"type": "array", "items": items});
    for (field, value, expected) in [
        // A closed set, by case and separators; then by a slip; then by words.
        (colours(), json!("red"), r#"safe {"v":"Red"} | write "Red" for "red" in 'v'"#),
        (
            colours(),
            json!("sky_blue"),
            r#"safe {"v":"Sky Blue"} | write "Sky Blue" for "sky_blue" in 'v'"#,
        ),
        (colours(), json!("uft8"), r#"guess {"v":"utf-8"} | write "utf-8" for "uft8" in 'v'"#),
        (
            spans(),
            json!("last six months"),
            r#"guess {"v":"six_months"} | write "six_months" for "last six months" in 'v'"#,
        ),
        (
            spans(),
            json!("past 5 years"),
            r#"guess {"v":"five_years"} | write "five_years" for "past 5 years" in 'v'"#,
        ),
        (json!({"enum": [1, 2]}), json!("2"), r#"safe {"v":2} | write 2 for "2" in 'v'"#),
        (json!({"enum": ["1", "2"]}), json!(2), r#"safe {"v":"2"} | write "2" for 2 in 'v'"#),
        (
            json!({"oneOf": [{"const": "asc"}, {"const": "desc"}]}),
            json!("DESC"),
            r#"safe {"v":"desc"} | write "desc" for "DESC" in 'v'"#,
        ),
        // Nothing, where nothing need be sent.
        (integer(), json!(null), "safe {} | leave out 'v'"),
        (integer(), json!("None"), "guess {} | leave out 'v'"),
        (integer(), json!(""), "guess {} | leave out 'v'"),
        (
            json!({"type": ["integer", "null"]}),
            json!("null"),
            r#"safe {"v":null} | write null for "null" in 'v'"#,
        ),
        // Text that holds the value.
        (integer(), json!("5"), r#"safe {"v":5} | write 5 for "5" in 'v'"#),
        (integer(), json!(" 5.0 "), r#"safe {"v":5} | write 5 for " 5.0 " in 'v'"#),
        (json!({"type": "number"}), json!("5.2"), r#"safe {"v":5.2} | write 5.2 for "5.2" in 'v'"#),
        (
            json!({"type": "boolean"}),
            json!("True"),
            r#"safe {"v":true} | write true for "True" in 'v'"#,
        ),
        (
            json!({"type": "boolean"}),
            json!("no"),
            r#"safe {"v":false} | write false for "no" in 'v'"#,
        ),
        (list(integer()), json!("[1, 2]"), r#"safe {"v":[1,2]} | write [1,2] for "[1, 2]" in 'v'"#),
        (
            list(json!({"type": "string"})),
            json!("['a', 'b']"),
            r#"safe {"v":["a","b"]} | write ["a","b"] for "['a', 'b']" in 'v'"#,
        ),
        (
            json!({"type": "object"}),
            json!("{'a': 1}"),
            r#"safe {"v":{"a":1}} | write {"a":1} for "{'a': 1}" in 'v'"#,
        ),
        (
            json!({"anyOf": [{"type": "integer"}, list(integer())]}),
            json!("[1]"),
            r#"safe {"v":[1]} | write [1] for "[1]" in 'v'"#,
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("7"),
            r#"safe {"v":7} | write 7 for "7" in 'v'"#,
        ),
        // Text that lists its parts.
        (
            list(colours()),
            json!("red, utf-8"),
            r#"guess {"v":["Red","utf-8"]} | write ["red","utf-8"] for "red, utf-8" in 'v'; write "Red" for "red" in '/v/0'"#,
        ),
        (list(integer()), json!("1, 2"), r#"guess {"v":[1,2]} | write [1,2] for "1, 2" in 'v'"#),
        (
            list(json!({"type": "string"})),
            json!("a,b"),
            r#"guess {"v":["a","b"]} | write ["a","b"] for "a,b" in 'v'"#,
        ),
        (
            list(json!({"type": "string"})),
            json!("red, deep blue, green"),
            r#"guess {"v":["red","deep blue","green"]} | write ["red","deep blue","green"] for "red, deep blue, green" in 'v'"#,
        ),
        // The other way round.
        (json!({"type": "string"}), json!(25), r#"guess {"v":"25"} | write "25" for 25 in 'v'"#),
        (
            list(json!({"type": "string"})),
            json!([10, "9"]),
            r#"guess {"v":["10","9"]} | write "10" for 10 in '/v/0'"#,
        ),
        (
            json!({"type": "string"}),
            json!(["Rome"]),
            r#"guess {"v":"Rome"} | write "Rome" for ["Rome"] in 'v'"#,
        ),
        // Text that was escaped too often.
        (
            list(list(json!({}))),
            json!(r#"[[\"a\",1]]"#),
            r#"safe {"v":[["a",1]]} | write [["a",1]] for "[[\\\"a\\\",1]]" in 'v'"#,
        ),
        // A list, for a text that lists its parts.
        (
            json!({"type": "string", "description": "One or several names, joined with |"}),
            json!(["a", "b c"]),
            r#"guess {"v":"a|b c"} | write "a|b c" for ["a","b c"] in 'v'"#,
        ),
        // Accidental blanks.
        (
            json!({"type": "string", "pattern": "^[A-Z]{3}$"}),
            json!("USD "),
            r#"safe {"v":"USD"} | write "USD" for "USD " in 'v'"#,
        ),
        (
            json!({"type": "string", "format": "ipv4"}),
            json!(" 192.0.2.1"),
            r#"safe {"v":"192.0.2.1"} | write "192.0.2.1" for " 192.0.2.1" in 'v'"#,
        ),
    ] {
        let (schema, arguments) = one(field, value);
        assert_eq!(
            repaired(&schema, &arguments).as_deref(),
            Some(expected),
            "{schema} {arguments}"
        );
    }
}

#[test]
fn fields_are_put_where_they_belong() {
    let text = || json!({"type": "string"});
    let file = || closed(json!({"path": text(), "mode": text()}), json!(["path"]));
    let open = || json!({"type": "object", "properties": {"path": text()}, "required": ["path"]});
    let nested = || closed(json!({"files": {"type": "array", "items": file()}}), json!(["files"]));
    for (schema, arguments, expected) in [
        (file(), json!({"pth": "a"}), r#"safe {"path":"a"} | rename 'pth' to 'path'"#),
        (
            file(),
            json!({"Path": "a", "Mode": "r"}),
            r#"safe {"path":"a","mode":"r"} | rename 'Path' to 'path'; rename 'Mode' to 'mode'"#,
        ),
        (file(), json!({"file_path": "a"}), r#"guess {"path":"a"} | rename 'file_path' to 'path'"#),
        (file(), json!({"location": "a"}), r#"guess {"path":"a"} | rename 'location' to 'path'"#),
        (
            file(),
            json!({"path": "a", "mod": "r"}),
            r#"guess {"path":"a","mode":"r"} | rename 'mod' to 'mode'"#,
        ),
        (file(), json!({"path": "a", "limit": null}), r#"safe {"path":"a"} | leave out 'limit'"#),
        (
            file(),
            json!({"parameters": {"path": "a", "mode": "r"}}),
            r#"safe {"path":"a","mode":"r"} | take the fields out of 'parameters'"#,
        ),
        (
            nested(),
            json!({"files": [{"path": "b"}, {"file": {"path": "a"}}]}),
            r#"safe {"files":[{"path":"b"},{"path":"a"}]} | write {"path":"a"} for {"file":{"path":"a"}} in '/files/1'"#,
        ),
        (
            nested(),
            json!({"files": [{"pth": "a"}]}),
            r#"safe {"files":[{"path":"a"}]} | rename '/files/0/pth' to 'path'"#,
        ),
        (
            open(),
            json!({"pth": "a", "more": 1}),
            r#"safe {"more":1,"path":"a"} | rename 'pth' to 'path'"#,
        ),
        // Several names are put right together.
        (
            json!({"type": "object", "properties": {"path": text(), "limit": {"type": "integer"}}, "required": ["path"]}),
            json!({"pth": "a", "limt": 5}),
            r#"guess {"path":"a","limit":5} | rename 'pth' to 'path'; rename 'limt' to 'limit'"#,
        ),
        (
            closed(json!({"path": text(), "mode": text()}), json!([])),
            json!({"args": {"mode": "r"}}),
            r#"safe {"mode":"r"} | take the fields out of 'args'"#,
        ),
        (
            file(),
            json!({"kwargs": "{\"path\": \"a\"}"}),
            r#"safe {"path":"a"} | write {"path":"a"} for "{\"path\": \"a\"}" in 'kwargs'; take the fields out of 'kwargs'"#,
        ),
        // The only field left over, for the only one that is missing, read as its type.
        (
            closed(
                json!({"values": {"type": "array", "items": {"type": "integer"}}}),
                json!(["values"]),
            ),
            json!({"data": "[1, 2]"}),
            r#"guess {"values":[1,2]} | rename 'data' to 'values'; write [1,2] for "[1, 2]" in 'values'"#,
        ),
        // A name and the form of its value.
        (
            closed(
                json!({"stationNames": {"type": "string", "description": "用|分割"}}),
                json!(["stationNames"]),
            ),
            json!({"names": ["北京", "上海"]}),
            r#"guess {"stationNames":"北京|上海"} | rename 'names' to 'stationNames'; write "北京|上海" for ["北京","上海"] in 'stationNames'"#,
        ),
        // Several at once, and one behind another.
        (
            closed(
                json!({"ids": {"type": "array", "items": {"type": "integer"}}, "unit": {"enum": ["Metric", "Imperial"]}}),
                json!(["ids"]),
            ),
            json!({"Ids": "['1', 2]", "unit": "metric"}),
            r#"safe {"unit":"Metric","ids":[1,2]} | rename 'Ids' to 'ids'; write "Metric" for "metric" in 'unit'; write ["1",2] for "['1', 2]" in 'ids'; write 1 for "1" in '/ids/0'"#,
        ),
        // The whole call as one text.
        (
            file(),
            json!("{\"path\": \"a\"}"),
            r#"safe {"path":"a"} | write {"path":"a"} for "{\"path\": \"a\"}" in the arguments"#,
        ),
    ] {
        assert_eq!(
            repaired(&schema, &arguments).as_deref(),
            Some(expected),
            "{schema} {arguments}"
        );
    }
}

#[test]
fn nothing_is_made_up_and_nothing_lost() {
    let text = || json!({"type": "string"});
    let integer = || json!({"type": "integer"});
    let list = |items: Value| json!({"type": "array", "items": items});
    let closed_set = |options: Value| json!({"enum": options});
    let values = [
        ("no list around a lone value", list(text()), json!("War")),
        ("not even where it is permitted", list(closed_set(json!(["War"]))), json!("War")),
        ("no filler", json!({"type": "array", "minItems": 2}), json!([1])),
        ("no cutting", json!({"type": "string", "maxLength": 2}), json!("abc")),
        ("no rounding", integer(), json!(1.5)),
        ("no rounding of texts", integer(), json!("8.854e-12")),
        ("no units", integer(), json!("5 km")),
        ("no words for numbers", integer(), json!("unknown")),
        ("no computing", integer(), json!("6*12")),
        ("no number that does not fit", integer(), json!("123456789012345678901234567890")),
        ("no number with leading zeros", integer(), json!("007")),
        ("no bounds", json!({"type": "integer", "maximum": 5}), json!("7")),
        ("no list that ends early", list(text()), json!("[\"a\", \"b\"")),
        ("no joining without being asked", text(), json!(["a", "b"])),
        (
            "no joining of what could not be parted again",
            json!({"type": "string", "description": "Separated by commas"}),
            json!(["a, b", "c"]),
        ),
        ("no element dropped", list(integer()), json!([null, null, 12])),
        ("no choice among elements", text(), json!(["New York", "San Francisco"])),
        (
            "no choice among options",
            closed_set(json!(["Civil", "Criminal"])),
            json!("[\"Civil\", \"Criminal\"]"),
        ),
        ("no option out of the blue", closed_set(json!(["North", "South"])), json!("Europe")),
        ("no opposite", closed_set(json!(["urgent", "low"])), json!("not urgent")),
        ("no other sign", closed_set(json!(["C", "Java"])), json!("C++")),
        ("no option of two alike", closed_set(json!(["a-b", "a_b"])), json!("A B")),
        ("no place split in two", list(text()), json!("Paris, France")),
        (
            "no sentence split",
            list(text()),
            json!("First we go there, then we rest, and then we come back."),
        ),
        ("no empty part", list(integer()), json!("1,,2")),
        ("no object out of prose", json!({"type": "object"}), json!("unknown")),
        ("no code", list(json!({"type": "number"})), json!("data['sales']")),
        (
            "no null read as an object",
            json!({"type": "object", "minProperties": 1}),
            json!("(null)"),
        ),
    ];
    for (why, field, value) in values {
        let (schema, arguments) = one(field, value);
        assert_eq!(repaired(&schema, &arguments), None, "{why}");
    }
    let file = || closed(json!({"path": text(), "mode": text()}), json!(["path"]));
    let prices =
        || closed(json!({"max_price": integer(), "min_price": integer()}), json!(["max_price"]));
    for (why, schema, arguments) in [
        ("no default for a missing field", file(), json!({})),
        ("no null for it either", file(), json!({"path": null})),
        ("no field dropped", file(), json!({"path": "a", "limit": 5})),
        ("no field of another type", file(), json!({"limit": 5})),
        ("no choice between two fields", file(), json!({"one": "a", "two": "b"})),
        ("not two fields in one place", file(), json!({"path": "a", "Mode": "r", "MODE": "w"})),
        (
            "not one of two misnamed fields",
            json!({"type": "object", "properties": {"path": text(), "query": text()}, "required": ["path"]}),
            json!({"pth": "a", "pattern": "b"}),
        ),
        (
            "no fields of another object",
            closed(json!({"path": text()}), json!([])),
            json!({"args": {"path": "a", "x": 1}}),
        ),
        ("no opposite", prices(), json!({"min_prce": 1, "x": 2})),
        (
            "no strange name where all names are allowed",
            json!({"type": "object", "properties": {"path": text()}, "required": ["path"]}),
            json!({"location": "a"}),
        ),
        (
            "no half repair",
            closed(json!({"a": integer(), "b": {"type": "integer", "minimum": 3}}), json!([])),
            json!({"a": "1", "b": 2}),
        ),
        (
            "no field out of another object",
            closed(
                json!({"name": text(), "owner": {"type": "object", "properties": {"name": text()}}}),
                json!(["name"]),
            ),
            json!({"owner": {"name": "x"}}),
        ),
    ] {
        assert_eq!(repaired(&schema, &arguments), None, "{why}");
    }
}

#[test]
fn a_malformed_text_is_repaired_by_its_reading() {
    let source =
        closed(json!({"path": {"type": "string"}, "deep": {"type": "boolean"}}), json!(["path"]));
    let schema = Schema::compile(source).unwrap();
    for (text, expected) in [
        ("{'path': 'a'}", Some(r#"safe {"path":"a"} | send {"path":"a"}"#)),
        (
            "{'path': 'a', 'deep': 'True'}",
            Some(r#"safe {"path":"a","deep":true} | send {"path":"a","deep":true}"#),
        ),
        (
            r#"{"path": "a" "deep": true}"#,
            Some(r#"guess {"path":"a","deep":true} | send {"path":"a","deep":true}"#),
        ),
        ("{'location': 'a'}", Some(r#"guess {"path":"a"} | send {"path":"a"}"#)),
        ("{'deep': True}", None),
        (
            r#"{"path": "a", "deep": true"#,
            Some(
                r#"guess {"path":"a","deep":true} | send {"path":"a","deep":true} (the text ended early; add what is missing)"#,
            ),
        ),
        (
            r#"{"path": "a"} {"path": "b"}"#,
            Some(
                r#"guess {"path":"a"} | send {"path":"a"} (only the first of several values; send the others one by one)"#,
            ),
        ),
        (r#"{"path": "a"#, None),
    ] {
        let malformed = parse(text, Limits::default()).unwrap_err();
        let repair = repair_malformed(&schema, &malformed, ());
        let shown = repair.map(|repair| {
            assert_eq!(repair.patch, None);
            format!("{} {} | {repair}", repair.confidence, repair.arguments)
        });
        assert_eq!(shown.as_deref(), expected, "{text}");
    }
}

#[test]
fn strict_mode_holds_for_the_repaired_call_too() {
    let schema = Schema::compile(json!({
        "properties": {"filter": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }))
    .unwrap();
    let arguments = json!({"filter": "{\"a\": 1, \"b\": 2}"});
    for (strict, offered) in [(false, true), (true, false)] {
        let options = CheckOptions::default().with_strict(strict);
        let findings = check(&schema, &arguments, options).unwrap();
        assert_eq!(repair(&schema, &arguments, &findings, options).is_some(), offered);
    }
}

#[test]
fn a_secret_is_not_moved_to_where_nobody_would_know_it() {
    let schema = closed(json!({"path": {"type": "string"}, "q": {}}), json!(["path"]));
    // The value would fit, and below its new name it would be shown.
    assert_eq!(repaired(&schema, &json!({"private_key": "let me in"})), None);
    assert_eq!(repaired(&schema, &json!({"credentials": {"path": "let me in"}})), None);
    let schema = closed(json!({"api_key": {"type": "string"}}), json!(["api_key"]));
    let renamed = repaired(&schema, &json!({"apiKey": "let me in"})).unwrap();
    assert!(renamed.ends_with("| rename 'apiKey' to 'api_key'"), "{renamed}");
}

#[test]
fn the_words_are_short_and_keep_secrets() {
    let fields =
        ["a", "b", "c", "d", "e", "f"].map(|name| (name.to_owned(), json!({"type": "integer"})));
    let source = closed(Value::Object(fields.into_iter().collect()), json!([]));
    let arguments = json!({"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"});
    let line = repaired(&source, &arguments).unwrap();
    assert!(line.ends_with("write 4 for \"4\" in 'd'; and 2 more changes"), "{line}");

    let source = closed(json!({"pin": {"type": "integer", "writeOnly": true}}), json!([]));
    let schema = Schema::compile(source).unwrap();
    let arguments = json!({"pin": "83746"});
    let findings = check(&schema, &arguments, ()).unwrap();
    let repair = repair(&schema, &arguments, &findings, ()).unwrap();
    assert_eq!(repair.arguments, json!({"pin": 83746}));
    assert_eq!(repair.words(), "write [redacted] for [redacted] in 'pin'");
}

#[test]
fn json_carries_patch_arguments_and_confidence() {
    let schema =
        Schema::compile(closed(json!({"path": {"type": "string"}}), json!(["path"]))).unwrap();
    let arguments = json!({"pth": "a"});
    let findings = check(&schema, &arguments, ()).unwrap();
    let repair = repair(&schema, &arguments, &findings, ()).unwrap();
    insta::assert_snapshot!(
        serde_json::to_string(&repair).unwrap(),
        @r#"{"patch":[{"op":"move","from":"/pth","path":"/path"}],"arguments":{"path":"a"},"confidence":"safe"}"#
    );
}

/// A field's schema and a value it allows.
fn field() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        (-99_i64..99).prop_map(|number| (json!({"type": "integer"}), json!(number))),
        (-9.0_f64..9.0).prop_map(|number| (json!({"type": "number"}), json!(number))),
        any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        "[a-z ]{0,6}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        select(vec!["Red", "Dark Green", "utf-8"])
            .prop_map(|option| (json!({"enum": ["Red", "Dark Green", "utf-8"]}), json!(option))),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(items, value)| {
                (json!({"type": "array", "items": items}), json!([value.clone(), value]))
            }),
            object(inner.clone()),
            inner.prop_map(|(schema, value)| {
                (json!({"anyOf": [schema, {"type": "null"}]}), value)
            }),
        ]
    })
}

fn object(fields: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let names = select(vec!["path", "max_results", "id", "a/b", "~", "items", "unit"]);
    let fields = proptest::collection::btree_map(names, (fields, any::<bool>()), 1..4);
    (fields, any::<bool>()).prop_map(|(fields, is_closed)| {
        let mut schema = json!({"type": "object", "properties": {}, "required": []});
        let mut value = json!({});
        for (name, ((field, sample), is_required)) in fields {
            schema["properties"][name] = field;
            value[name] = sample;
            if is_required {
                schema["required"].as_array_mut().unwrap().push(json!(name));
            }
        }
        if is_closed {
            schema["additionalProperties"] = json!(false);
        }
        (schema, value)
    })
}

/// Spoils a value as models do, at each place by chance.
fn spoilt(value: &Value, random: &mut impl FnMut() -> u8) -> Value {
    match (value, random() % 8) {
        (_, 0) => Value::Null,
        (Value::String(text), 1) => json!(text.to_uppercase()),
        (Value::String(text), 2) => json!(format!(" {text}x")),
        (value, 3) => json!(value.to_string()),
        (value, 4) => json!([value]),
        (value, 5) => json!({"value": value}),
        (Value::Array(elements), _) => {
            elements.iter().map(|element| spoilt(element, random)).collect()
        }
        (Value::Object(members), _) => {
            let spoilt = members.iter().map(|(name, value)| {
                let name = match random() % 4 {
                    0 => name.to_uppercase(),
                    1 => format!("{name}s"),
                    _ => name.clone(),
                };
                (name, spoilt(value, random))
            });
            Value::Object(spoilt.collect())
        }
        (value, _) => value.clone(),
    }
}

proptest! {
    #[test]
    fn a_patch_always_applies_and_always_validates(
        (source, value) in object(field()),
        chances in proptest::collection::vec(any::<u8>(), 32),
    ) {
        let mut chances = chances.iter().cycle().copied();
        let arguments = spoilt(&value, &mut || chances.next().unwrap_or(7));
        let schema = Schema::compile(source.clone()).unwrap();
        for strict in [false, true] {
            let options = CheckOptions::default().with_strict(strict);
            let findings = check(&schema, &arguments, options).unwrap();
            let Some(repair) = repair(&schema, &arguments, &findings, options) else { continue };
            let patch = repair.patch.as_deref().unwrap();
            prop_assert_eq!(&patch::apply(&arguments, patch).unwrap(), &repair.arguments);
            let left = check(&schema, &repair.arguments, options).unwrap();
            prop_assert!(!left.iter().any(ValidationError::is_error), "{} {}", source, repair.arguments);
            prop_assert!(can_be_read(&repair));
            prop_assert!(!repair.words().is_empty() && !repair.words().contains('\n'));
        }
    }

    #[test]
    fn a_repair_is_never_too_deep(levels in 90_usize..140, is_text in any::<bool>(), is_malformed in any::<bool>()) {
        let schema = Schema::compile(closed(json!({"path": {"type": "array"}}), json!(["path"]))).unwrap();
        let deep = (0..levels).fold(json!([]), |inner, _| json!([inner]));
        let value = if is_text { json!(deep.to_string()) } else { deep };
        let arguments = json!({"pth": value});
        let repair = if is_malformed {
            let text = arguments.to_string();
            let malformed = parse(&format!("{text} that is all"), Limits::default()).unwrap_err();
            repair_malformed(&schema, &malformed, ())
        } else {
            let findings = check(&schema, &arguments, ()).unwrap();
            repair(&schema, &arguments, &findings, ())
        };
        let is_offered = levels + 2 <= answerback_json::MAX_OUTPUT_DEPTH;
        prop_assert_eq!(repair.is_some(), is_offered);
        prop_assert!(repair.is_none_or(|repair| can_be_read(&repair)));
    }
}

/// Returns true if an ordinary JSON reader can read a repair inside a message.
fn can_be_read(repair: &Repair) -> bool {
    let message = json!({"result": {"_meta": {"repairs": [repair]}}});
    serde_json::from_str::<Value>(&message.to_string()).is_ok()
}
