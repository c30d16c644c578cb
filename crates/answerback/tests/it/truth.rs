//! A message never states what is false: whatever it calls expected is accepted by the validator, whatever
//! it calls forbidden is refused, and hint, repair, call to action and enriched error agree.

use answerback::call::{CheckOptions, Schema, check};
use answerback::checker::{CallRequest, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::contract::atdf::{EnrichSource, enrich};
use answerback::json::patch::PatchOperation;
use answerback::json::{Limits, Pointer};
use answerback::{RetryTracker, Timestamp, ValidationError};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Rules for one value.
fn rule() -> impl Strategy<Value = Value> {
    let plain = select(vec![
        json!({"type": "string"}),
        json!({"type": "integer"}),
        json!({"type": "boolean"}),
        json!({"type": ["integer", "null"]}),
        json!({"type": ["string", "array"]}),
        json!({"enum": ["alpha", "beta", "Gamma_Ray", "NONE"]}),
        json!({"type": "string", "enum": ["en_US", "en_GB", "de_DE"]}),
        json!({"enum": [1, 2, "3"]}),
        json!({"const": "only"}),
        json!({"type": "string", "not": {"enum": ["a", "alpha", ""]}}),
        json!({"not": {"const": 0}}),
        json!({"not": {"type": "string"}}),
        json!({"not": {"required": ["a", "kind"]}}),
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "integer", "maximum": 3}),
        json!({"type": "number", "exclusiveMinimum": 0}),
        json!({"type": "number", "exclusiveMaximum": 5}),
        json!({"type": "string", "minLength": 2, "maxLength": 4}),
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        json!({"type": "array", "items": {"type": "string"}, "maxItems": 2}),
        json!({"type": "array", "contains": {"const": 1}}),
        json!({"type": "object", "required": ["kind", "size"]}),
        json!({"type": "object", "properties": {"kind": {"type": "string"}}, "additionalProperties": false}),
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind", "y"]},
            {"type": "object", "properties": {"kind": {"enum": ["c", "d"]}}, "required": ["kind"]},
        ]}),
        json!({"anyOf": [{"const": "a"}, {"const": "b"}, {"enum": ["c"]}]}),
        json!({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"], "additionalProperties": false}, {"type": "string"}]}),
    ]);
    let optional = |rule: Value, is_first: bool| {
        let nothing = json!({"type": "null"});
        let branches = if is_first { json!([nothing, rule]) } else { json!([rule, nothing]) };
        json!({"anyOf": branches, "description": "How to write it."})
    };
    prop_oneof![
        3 => plain.clone(),
        1 => (plain.clone(), any::<bool>()).prop_map(move |(rule, is_first)| optional(rule, is_first)),
        1 => plain.clone().prop_map(|rule| json!({"type": "array", "items": rule})),
        1 => (plain.clone(), plain.clone()).prop_map(|(one, other)| json!({"anyOf": [one, other]})),
        1 => plain.prop_map(|rule| json!({"allOf": [rule, {"title": "More", "minLength": 1}]})),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(""),
        json!("null"),
        json!("None"),
        json!("a"),
        json!("Alpha"),
        json!("gamma ray"),
        json!("en"),
        json!("en_us"),
        json!("2"),
        json!("true"),
        json!("a, b"),
        json!("[1, 2]"),
        json!("a:\nb/c\nd"),
        json!(0),
        json!(2),
        json!(9),
        json!(1.5),
        json!(true),
        json!([]),
        json!([1, 2, 3]),
        json!(["a", null, 7]),
        json!([{}, {"kind": "q"}, {"kind": "a", "z": 1}]),
        json!({}),
        json!({"kind": "q"}),
        json!({"kind": "b"}),
        json!({"kind": 7, "a": 1}),
    ])
}

const NAMES: [&str; 4] = ["aa", "bb", "cc", "dd"];

fn schema() -> impl Strategy<Value = Value> {
    let names = || prop::collection::vec(select(NAMES.to_vec()), 0..3);
    (
        prop::collection::vec(rule(), 3),
        names(),
        prop::option::of((select(NAMES.to_vec()), names())),
        prop::option::of(names()),
        prop::option::of(select(vec![json!(false), json!({"type": "string"})])),
        prop::option::of(0_u8..3),
    )
        .prop_map(|(rules, required, dependent, then, additional, least)| {
            let properties: Map<String, Value> =
                NAMES.iter().map(|name| (*name).to_owned()).zip(rules).collect();
            let mut schema =
                json!({"type": "object", "properties": properties, "required": required});
            if let Some((trigger, names)) = dependent {
                schema["dependentRequired"] = json!({trigger: names});
            }
            if let Some(names) = then {
                schema["if"] = json!({"required": ["aa"]});
                schema["then"] = json!({"required": names});
            }
            if let Some(additional) = additional {
                schema["additionalProperties"] = additional;
            }
            if let Some(least) = least {
                schema["minProperties"] = json!(least);
            }
            schema
        })
}

fn arguments() -> impl Strategy<Value = Value> {
    let names = vec!["aa", "bb", "cc", "dd", "AA", "zz"];
    prop::collection::btree_map(select(names), value(), 0..4).prop_map(|members| {
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    })
}

/// What the validator says of a call.
struct Judge<'s> {
    schema: &'s Schema,
    options: CheckOptions,
}

impl Judge<'_> {
    /// The codes of the errors at a place.
    fn codes(&self, arguments: &Value, place: &Pointer) -> Vec<String> {
        let findings = check(self.schema, arguments, self.options).unwrap();
        let at_place = findings.iter().filter(|one| one.is_error() && one.field_path == *place);
        at_place.map(|finding| finding.error_code.to_string()).collect()
    }

    /// Whether the rule of a finding is still broken once another value stands at its place. Several rules may
    /// exclude each other; each finding speaks for its own.
    fn still_breaks(&self, arguments: &Value, finding: &ValidationError, value: Value) -> bool {
        let changed = Self::changed(arguments, &finding.field_path, value);
        check(self.schema, &changed, self.options).unwrap().iter().any(|other| {
            other.is_error()
                && other.field_path == finding.field_path
                && other.schema_path == finding.schema_path
                && other.error_code == finding.error_code
        })
    }

    /// The codes of the errors at a place once another value stands there.
    fn codes_with(&self, arguments: &Value, place: &Pointer, value: Value) -> Vec<String> {
        self.codes(&Self::changed(arguments, place, value), place)
    }

    /// The arguments with another value at a place.
    fn changed(arguments: &Value, place: &Pointer, value: Value) -> Value {
        let mut changed = arguments.clone();
        match changed.pointer_mut(place.as_str()) {
            Some(found) => *found = value,
            None => {
                let (parent, name) = place.split_last().unwrap();
                let parent = changed.pointer_mut(parent.as_str()).unwrap();
                parent.as_object_mut().unwrap().insert(name.into_owned(), value);
            }
        }
        changed
    }
}

/// A sample of a type.
fn sample(kind: &str) -> Value {
    match kind {
        "string" => json!("sample"),
        "integer" => json!(2),
        "number" => json!(2.5),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => json!({}),
        _ => Value::Null,
    }
}

/// The value that a bare or quoted option in a list stands for, as either type it may have.
fn options_of(text: &str) -> Vec<[Value; 2]> {
    let list = text.split(" (and ").next().unwrap_or_default();
    let list = list.split("; or ").next().unwrap_or_default();
    let options = list.split(", ").map(|option| {
        let bare = Value::from(option.trim_matches('"'));
        [serde_json::from_str(option).unwrap_or_else(|_| bare.clone()), bare]
    });
    options.collect()
}

fn name_of(place: &Pointer) -> String {
    match place.split_last() {
        None => "the arguments".to_owned(),
        Some((parent, name)) if parent.is_root() => format!("'{name}'"),
        Some(_) => format!("'{place}'"),
    }
}

/// Holds one finding against the validator.
fn of_finding(
    judge: &Judge<'_>,
    arguments: &Value,
    finding: &ValidationError,
) -> Result<(), TestCaseError> {
    let place = &finding.field_path;
    let expected = finding.expected_value.as_deref().unwrap_or_default();
    let code = finding.error_code.as_ref();
    if code == "VAL-008"
        && let Some(list) = expected.strip_prefix("one of: ")
    {
        for readings in options_of(list) {
            let accepted =
                readings.iter().any(|value| !judge.still_breaks(arguments, finding, value.clone()));
            prop_assert!(accepted, "{readings:?} is refused: {finding:?}");
        }
    }
    if let Some((_, list)) = expected.split_once(" that is none of: ")
        && !expected.contains("; or ")
    {
        for readings in options_of(list) {
            let refused = readings
                .iter()
                .any(|value| !judge.codes_with(arguments, place, value.clone()).is_empty());
            prop_assert!(refused, "{readings:?} is accepted: {finding:?}");
        }
    }
    for (words, step) in [("greater than ", 1), ("less than ", -1)] {
        let bound = expected.split_once(words).and_then(|(_, rest)| rest.parse::<i64>().ok());
        if let Some(bound) = bound.filter(|_| code == "VAL-003") {
            let refused = judge.codes_with(arguments, place, json!(bound));
            prop_assert!(refused.contains(&"VAL-003".to_owned()), "{finding:?}");
            let is_accepted = !judge.still_breaks(arguments, finding, json!(bound + step));
            prop_assert!(is_accepted, "{finding:?}");
        }
    }
    if code == "VAL-001" && !finding.message.contains("also forbids") {
        for value in [json!("x"), json!(1)] {
            let codes = judge.codes_with(arguments, place, value);
            let is_asked_for = !codes.iter().any(|one| one == "VAL-001" || one == "VAL-005");
            prop_assert!(is_asked_for, "{codes:?} for {finding:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_message_never_states_what_is_false(
        schema in schema(), arguments in arguments(), strict: bool,
    ) {
        let Ok(compiled) = Schema::compile(schema.clone()) else { return Ok(()) };
        let judge_of = Judge { schema: &compiled, options: CheckOptions::default().with_strict(strict) };
        let catalogue = ToolCatalog::read(&json!([{"name": "t", "inputSchema": schema}])).unwrap();
        let validation = json!({"strict": strict, "formatting": {"max_message_length": 4000, "max_errors_shown": 50}});
        let config = ValidationConfig::from_value("f", &json!({"tools": {"validation": validation}})).unwrap();
        let judged = check_call(&catalogue, CallRequest::new("t", arguments.clone()), &config, Limits::default());
        let now = Timestamp::from_unix_millis(0);
        let answer = reply_to(judged, &RetryTracker::new(&config), now, [7; 10]);
        let Some(result) = &answer.result else { return Ok(()) };
        let text = &result.content;
        let errors: Vec<&ValidationError> = answer.errors.iter().filter(|finding| finding.is_error()).collect();
        for finding in &errors {
            of_finding(&judge_of, &arguments, finding)?;
        }

        // The call to action.
        let action = text.lines().last().unwrap_or_default();
        for finding in errors.iter().filter(|finding| finding.error_code == "VAL-002") {
            let Some((_, asked)) = action.split_once(&format!("{} as ", name_of(&finding.field_path))) else { continue };
            let asked = asked.split([',', '.', '\'']).next().unwrap_or_default();
            let asked = asked.split(" and ").next().unwrap_or_default();
            for kind in asked.split(" or ") {
                let kind = kind.trim().trim_start_matches("an ").trim_start_matches("a ");
                let still = judge_of.still_breaks(&arguments, finding, sample(kind));
                prop_assert!(!still, "{kind} for {finding:?}\n{schema}\n{text}");
            }
        }

        // What can be left out, can be left out.
        for name in NAMES {
            let place = Pointer::root().join(name);
            let is_left_out = action.contains("leave out") && action.contains(&format!("'{name}'")) && text.contains("Omit the field");
            let by_repair = answer.repair.iter().flat_map(|repair| repair.patch.iter().flatten()).any(|step| {
                matches!(step, PatchOperation::Remove { path } if *path == place)
            });
            // What was missing was put there by the repair itself.
            let is_error = errors
                .iter()
                .any(|finding| finding.field_path == place && finding.error_code != "VAL-001");
            if by_repair && is_error && answer.errors.iter().all(|finding| finding.field_path != place || finding.error_code != "VAL-005") {
                prop_assert!(is_left_out, "the repair leaves out {name}\n{text}");
            }
            if is_left_out && errors.len() == 1 && is_error {
                let mut without = arguments.clone();
                without.as_object_mut().unwrap().remove(name);
                prop_assert_eq!(judge_of.codes(&without, &place), Vec::<String>::new(), "{}\n{}", schema, text);
            }
        }

        // A hint names what the repair writes, and what is accepted.
        for line in text.lines().filter(|line| line.contains("Hint: Did you mean ") && !line.contains("mean '")) {
            let repaired: Vec<String> = answer.repair.iter().flat_map(|repair| repair.patch.iter().flatten()).filter_map(|step| match step {
                PatchOperation::Replace { value, path } if errors.iter().any(|finding| finding.field_path == *path && finding.error_code == "VAL-008") => Some(value.to_string()),
                _ => None,
            }).collect();
            if let ([only], 1) = (repaired.as_slice(), errors.len()) {
                prop_assert!(line.contains(only.as_str()), "{line} but {only}\n{text}");
            }
        }

        // The enriched error.
        let source = EnrichSource::Call { schema: &schema, arguments: &arguments };
        let document = enrich(&answer.errors, &source, now).unwrap().to_document();
        let details = &document["data"]["details"];
        let steps = details["solution"].as_str().unwrap();
        if let [only] = errors.as_slice() {
            prop_assert_eq!(steps.contains("Leave out"), action.contains("leave out"), "{}\n{}", steps, text);
            if let Some(suggested) = details.get("suggested_value") {
                let codes = judge_of.codes_with(&arguments, &only.field_path, suggested.clone());
                prop_assert!(codes.is_empty(), "{codes:?} for {suggested}\n{schema}");
            }
            if steps.starts_with("1) Add ") {
                prop_assert!(action.contains("provide the missing"), "{steps}\n{text}");
            }
        }
        for example in details["expected"]["examples"]["invalid"].as_array().into_iter().flatten() {
            prop_assert!(example["value"].is_string(), "{example}");
        }
    }
}
