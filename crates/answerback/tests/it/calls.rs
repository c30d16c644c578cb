//! The promises about calls, kept for generated schemas and arguments.

use answerback::call::{Schema, parse};
use answerback::checker::ToolCatalog;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::checker::value;
use crate::dice::Dice;
use crate::promises;

/// Text as an enemy of whoever reads the message writes it.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "a",
        "b",
        "utf-8",
        "\n",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{feff}",
        "</tool_result>",
        "```",
        "<|im_end|>",
        "<b>",
        "\"",
        "\\",
        "é",
        "/",
        "~",
        "• /x (VAL-001): ",
    ]);
    proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

/// A name that generated arguments use too, or any.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[abc]", 1 => "[a-z]{2,8}", 1 => hostile()]
}

/// A schema that compiles, with everything that a check, a hint and a repair look at.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            "string", "integer", "number", "boolean", "null", "array", "object"
        ])
        .prop_map(|kind| json!({"type": kind})),
        proptest::collection::vec(
            prop_oneof![hostile().prop_map(Value::from), any::<i8>().prop_map(Value::from)],
            1..6
        )
        .prop_map(|options| json!({"enum": options})),
        hostile().prop_map(|text| json!({"const": text, "title": text, "description": text})),
        (0_u8..9, 0_u8..9).prop_map(
            |(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})
        ),
        (any::<i8>(), any::<i8>())
            .prop_map(|(least, most)| json!({"type": "number", "minimum": least, "maximum": most})),
        proptest::sample::select(vec!["^[a-z]+$", "^(?!x)", "\\d{2,}", "^<b>$"])
            .prop_map(|pattern| json!({"pattern": pattern})),
        proptest::sample::select(vec!["date-time", "email", "uri", "ipv4", "password"])
            .prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"$ref": "#/$defs/a"})),
        any::<bool>().prop_map(Value::from),
    ];
    let whole = leaf.prop_recursive(4, 24, 4, |inner| {
        let properties = proptest::collection::vec((name(), inner.clone()), 0..4);
        prop_oneof![
            4 => (properties, proptest::collection::vec(name(), 0..3), proptest::option::of(any::<bool>())).prop_map(
                |(properties, required, additional)| {
                    let properties: Map<String, Value> = properties.into_iter().collect();
                    let mut schema = json!({"type": "object", "properties": properties, "required": unique(required)});
                    if let Some(additional) = additional {
                        schema["additionalProperties"] = additional.into();
                    }
                    schema
                }
            ),
            1 => (inner.clone(), 0_u8..4).prop_map(|(items, most)| json!({"type": "array", "items": items, "maxItems": most, "uniqueItems": true})),
            1 => (proptest::sample::select(vec!["anyOf", "oneOf", "allOf"]), proptest::collection::vec(inner.clone(), 1..4))
                .prop_map(|(keyword, branches)| json!({keyword: branches})),
            1 => (inner.clone(), inner.clone()).prop_map(|(test, then)| json!({"if": test, "then": then, "writeOnly": true})),
            1 => (inner.clone(), inner).prop_map(|(values, negated)| json!({"additionalProperties": values, "not": negated, "propertyNames": {"maxLength": 5}})),
        ]
    });
    // Never itself at once: a reference to a reference would go round for ever.
    (whole, leaf_definition()).prop_map(|(mut schema, definition)| {
        if let Value::Object(members) = &mut schema {
            members.insert("$defs".to_owned(), json!({"a": definition}));
        }
        schema
    })
}

fn leaf_definition() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "integer"})),
        Just(
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"enum": ["x", "y"]}}, "additionalProperties": false})
        ),
        Just(
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]})
        ),
    ]
}

fn unique(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// A schema, and arguments that nearly fit it, or any.
fn call() -> impl Strategy<Value = (Value, Value)> {
    let near = (schema(), any::<u64>()).prop_map(|(schema, seed)| {
        let arguments = Nearly { definition: schema["$defs"]["a"].clone(), dice: Dice::new(seed) }
            .of(&schema, 0);
        (schema, arguments)
    });
    prop_oneof![6 => near, 1 => (schema(), value())]
}

/// Makes what a schema asks for, with the mistakes that models make.
struct Nearly {
    definition: Value,
    dice: Dice,
}

impl Nearly {
    fn of(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > 6 {
            return json!("x");
        }
        if let Some(Value::Array(branches)) =
            ["anyOf", "oneOf", "allOf"].iter().find_map(|keyword| schema.get(keyword))
        {
            let branch = self.dice.one_of(branches);
            return self.of(&branch, depth + 1);
        }
        if schema.get("$ref").is_some() {
            let definition = self.definition.clone();
            return self.of(&definition, depth + 1);
        }
        if let Some(Value::Array(options)) = schema.get("enum") {
            return match self.dice.one_of(options) {
                Value::String(text) if self.dice.below(3) == 0 => text.to_uppercase().into(),
                option => option,
            };
        }
        if let Some(fixed) = schema.get("const") {
            return fixed.clone();
        }
        let right = match schema["type"].as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                (0..self.dice.below(3)).map(|_| self.of(&schema["items"], depth + 1)).collect()
            }
            Some("integer") => json!(self.dice.below(20)),
            Some("number") => json!(0.5),
            Some("boolean") => json!(true),
            Some("null") => Value::Null,
            _ => json!(self.dice.text("ab12", 3)),
        };
        match self.dice.below(8) {
            0 | 1 if !right.is_string() => right.to_string().into(),
            0 => json!(format!(" {}\n", right.as_str().unwrap_or_default())),
            2 => Value::Null,
            _ => right,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let value = self.of(property, depth + 1);
            match self.dice.below(8) {
                0 => continue,
                1 => members.insert(name.to_uppercase(), value),
                2 => members.insert(format!("{name}{name}"), value),
                _ => members.insert(name.clone(), value),
            };
        }
        if self.dice.below(6) == 0 {
            members.insert(self.dice.text("abc", 2), json!(self.dice.text("ab<\n/", 9)));
        }
        Value::Object(members)
    }
}

/// A text that may not be JSON.
fn texts() -> impl Strategy<Value = String> {
    (value(), 0_usize..60, 0..5).prop_map(|(value, length, way)| {
        let text = value.to_string();
        match way {
            0 => text.chars().take(length).collect(),
            1 => text.replace('"', "'"),
            2 => format!("```json\n{text}"),
            3 => text.replace("true", "True").replace(',', ",,"),
            _ => format!("{text} </tool_call>{text}"),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_check_is_consistent((schema, arguments) in call()) {
        let Ok(schema) = Schema::compile(schema) else { return Ok(()) };
        promises::of_check(&schema, &arguments);
    }

    #[test]
    fn a_repair_applies_validates_and_leaves_the_rest_alone((schema, arguments) in call(), text in texts()) {
        let Ok(schema) = Schema::compile(schema) else { return Ok(()) };
        promises::of_repair(&schema, &arguments);
        if let Err(malformed) = parse(&text, answerback::json::Limits::default()) {
            promises::of_malformed_repair(&schema, &malformed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_message_is_bounded_and_neutral(
        (schema, arguments) in prop_oneof![3 => call(), 1 => (schema(), texts().prop_map(Value::from))],
        tool in hostile(),
        limit in 500_usize..=4000,
    ) {
        let catalogue = ToolCatalog::new([(tool.clone(), schema)]).unwrap();
        promises::of_answers(&catalogue, &tool, &arguments, limit);
        promises::of_answers(&catalogue, &format!("{tool}x"), &arguments, limit);
    }
}

/// The generators are worth something only if what they make is often valid, often not, and often repaired.
#[test]
fn the_generated_calls_are_of_every_kind() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut compiled, mut valid, mut repaired) = (0, 0, 0);
    for _ in 0..2000 {
        let (schema, arguments) = call().new_tree(&mut runner).unwrap().current();
        let Ok(schema) = Schema::compile(schema) else { continue };
        compiled += 1;
        valid += usize::from(schema.is_valid(&arguments) == Ok(true));
        repaired += usize::from(promises::of_repair(&schema, &arguments).is_some());
    }
    println!("of 2000 schemas {compiled} compile; {valid} calls are valid, {repaired} repaired");
    assert!(compiled > 1500 && valid > 100 && compiled - valid > 500 && repaired > 20);
}
