//! The published JSON Schemas and the checks agree: what is good passes both, what a schema refuses is not valid.

use std::fs;
use std::path::Path;

use answerback::config::ValidationConfig;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::judge::{Answer, CallLine, Catalogue, answer, judge};
use answerback::{RetryTracker, Timestamp, schema};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::judge::{calls, replay};
use crate::rules::{good_documents, spoiled_documents};

fn published(contract: Contract) -> jsonschema::Validator {
    named(contract.as_str())
}

fn named(name: &str) -> jsonschema::Validator {
    let schema = schema::ALL.iter().find(|schema| schema.name == name).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema.document()).unwrap()
}

#[test]
fn good_documents_pass_their_schema() {
    for contract in Contract::ALL {
        let validator = published(contract);
        for (name, document) in good_documents(contract) {
            let errors: Vec<String> =
                validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{contract}: {name}: {errors:?}");
        }
    }
}

#[test]
fn a_schema_refuses_nothing_that_is_strictly_valid() {
    for contract in Contract::ALL {
        let validator = published(contract);
        let (mut caught, mut broken) = (0, 0);
        for (name, document) in spoiled_documents(contract) {
            let valid = !contract
                .check(&document, Profile::Strict)
                .iter()
                .any(answerback::ValidationError::is_error);
            let passes = validator.is_valid(&document);
            assert!(
                !valid || passes,
                "{contract}: {name}: valid, but its schema refuses it: {document}"
            );
            broken += usize::from(!valid);
            caught += usize::from(!valid && !passes);
        }
        // A schema cannot say everything; one that says little would be no use.
        assert!(caught * 10 >= broken * 6, "{contract}: the schema catches {caught} of {broken}");
    }
}

#[test]
fn schemas_say_who_they_are() {
    for schema in schema::ALL {
        let document: Value = schema.document();
        assert_eq!(
            document["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{}",
            schema.name
        );
        assert!(
            document["$id"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/{}.v1.schema.json", schema.name))
        );
        assert!(!document.to_string().contains("```"), "{}: an example for Rust", schema.name);
    }
}

/// A file that the program's tests replay.
fn replayed(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../answerback-cli/tests/replay");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_call_passes_its_schema_if_it_can_be_read() {
    let schema = named("call");
    let (mut read, mut refused) = (0, 0);
    let lines = [
        r#"{"tool": "t"}"#,
        r#"{"tool": "t", "id": 7, "arguments": "{}", "conversation": 1.5, "turn": 3, "model": null}"#,
        r#"{"tool": "t", "id": null, "arguments": [1], "turn": "third", "other": {}}"#,
        r#"{"tool": "t", "turn": 18446744073709551615}"#,
        r#"{"tool": "t", "turn": -1}"#,
        r#"{"tool": "t", "turn": 1.5}"#,
        r#"{"tool": "t", "turn": [1]}"#,
        r#"{"tool": "t", "id": {}}"#,
        r#"{"tool": "t", "conversation": false}"#,
        r#"{"tool": "t", "model": []}"#,
        r#"{"tool": 7}"#,
        r#"{"tool": null}"#,
        r#"{"id": "c1"}"#,
        "[]",
        "7",
    ]
    .join("\n");
    for line in lines.lines().chain(replayed("calls.ndjson").lines()) {
        // Lines that are not JSON are not for a schema to judge.
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let is_read = CallLine::read(line.as_bytes(), Limits::default()).is_ok();
        assert_eq!(schema.is_valid(&value), is_read, "{line}");
        read += usize::from(is_read);
        refused += usize::from(!is_read);
    }
    assert!(read > 10 && refused > 10, "{read} read, {refused} refused");
}

#[test]
fn answers_pass_their_schema() {
    let schema = named("answer");
    let mut runner = TestRunner::deterministic();
    let mut answers = recorded_answers();
    for _ in 0..200 {
        let calls = calls().new_tree(&mut runner).unwrap().current();
        answers.extend(replay(&calls, &ValidationConfig::default()));
    }
    let mut kinds = std::collections::BTreeSet::new();
    for answer in &answers {
        let value = serde_json::to_value(answer).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {value}");
        kinds.insert((
            answer.status.as_str(),
            answer.repair.is_some(),
            answer.escalation.is_some(),
        ));
    }
    assert!(kinds.len() > 5, "{kinds:?}");
    // A schema that takes everything would prove nothing.
    let escalated = answers.iter().find(|answer| answer.escalation.is_some()).unwrap();
    let whole = serde_json::to_value(escalated).unwrap();
    for name in whole.as_object().unwrap().keys() {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().shift_remove(name);
        assert!(!schema.is_valid(&less), "without {name}");
    }
    for (place, wrong) in [
        ("/status", json!("maybe")),
        ("/attempt", json!(-1)),
        ("/errors/0/severity", json!("fatal")),
        ("/result/role", json!("user")),
        ("/escalation/status", json!("blocked")),
        ("/escalation/options/0", json!("shrug")),
        ("/escalation/original_call/digest", json!("abc")),
    ] {
        let mut other = whole.clone();
        *other.pointer_mut(place).unwrap() = wrong;
        assert!(!schema.is_valid(&other), "{place}");
    }
}

/// The answers to the log that the program's tests replay.
fn recorded_answers() -> Vec<Answer> {
    let tools = serde_json::from_str(&replayed("tools.json")).unwrap();
    let (catalogue, config) = (Catalogue::read(&tools).unwrap(), ValidationConfig::default());
    let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
    let lines = replayed("calls.ndjson");
    let calls =
        lines.lines().filter_map(|line| CallLine::read(line.as_bytes(), Limits::default()).ok());
    calls
        .map(|call| {
            answer(judge(&catalogue, call, &config, Limits::default()), &tracker, now, [7; 10])
        })
        .collect()
}

#[test]
#[cfg(feature = "yaml")]
fn a_configuration_passes_its_schema_if_it_can_be_read() {
    let schema = named("config");
    let real = replayed("config.yml");
    let long = real.replace("max_attempts: ", "max_attempts: 9");
    let unknown = format!("{real}\ngateway: {{}}\n");
    assert_ne!(long, real);
    for text in [
        real.as_str(),
        &long,
        &unknown,
        "",
        "tools:\n",
        "tools: 7\n",
        "tools: {validation: {strict: 1}}\n",
    ] {
        let value: Value = serde_saphyr::from_str(text).unwrap_or_default();
        let is_read = ValidationConfig::from_yaml("f.yml", text).is_ok();
        assert_eq!(schema.is_valid(&value), is_read, "{text}");
    }
}
