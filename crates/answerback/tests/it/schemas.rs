//! The published JSON Schemas and the checks agree: what is good passes both, what a schema refuses is not valid.

use std::fs;
use std::path::Path;

use answerback::checker::{CallReply, CallRequest, ToolCatalog, check_call, reply_to};
use answerback::config::ValidationConfig;
use answerback::contract::{Contract, Profile};
use answerback::json::Limits;
use answerback::{RetryTracker, Timestamp, schema};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::checker::{calls, replay};
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
        let is_read = CallRequest::read(line.as_bytes(), Limits::default()).is_ok();
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
fn recorded_answers() -> Vec<CallReply> {
    let tools = serde_json::from_str(&replayed("tools.json")).unwrap();
    let (catalogue, config) = (ToolCatalog::read(&tools).unwrap(), ValidationConfig::default());
    let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
    let lines = replayed("calls.ndjson");
    let calls =
        lines.lines().filter_map(|line| CallRequest::read(line.as_bytes(), Limits::default()).ok());
    calls
        .map(|call| {
            reply_to(
                check_call(&catalogue, call, &config, Limits::default()),
                &tracker,
                now,
                [7; 10],
            )
        })
        .collect()
}

/// What `answerback init` writes.
const COMMENTED: &str = include_str!("../../../answerback-cli/src/command/init/config.yml");

/// A commented configuration with every setting in it switched on.
fn switched_on(commented: &str) -> String {
    let is_key = |line: &str| {
        let name = line.trim_start_matches("- {").split(':').next().unwrap_or_default();
        line.contains(':') && name.chars().all(|it| it.is_ascii_lowercase() || it == '_')
    };
    let line = |line: &str| {
        let (before, rest) = line.split_once("# ").unwrap_or((line, ""));
        if before.trim().is_empty() && is_key(rest.trim_start()) {
            format!("{before}{rest}\n")
        } else {
            format!("{line}\n")
        }
    };
    commented.lines().map(line).collect()
}

/// Blocks of configuration in a page of the documentation.
fn configurations(page: &str) -> impl Iterator<Item = &str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
#[cfg(feature = "yaml")]
fn what_we_show_of_the_configuration_passes_its_schema() {
    let schema = named("config");
    let whole = switched_on(COMMENTED);
    let pages = [
        include_str!("../../../../docs/how-to/decide-in-the-inbox.md"),
        include_str!("../../../../docs/how-to/record-to-postgresql.md"),
        include_str!("../../../../docs/how-to/run-behind-a-proxy.md"),
        include_str!("../../../../docs/how-to/serve-several-servers.md"),
        include_str!("../../../../docs/how-to/witness-a-ledger.md"),
        include_str!("../../../../docs/reference/configuration.md"),
        include_str!("../../../../docs/reference/console.md"),
        include_str!("../../../../docs/reference/governance.md"),
        include_str!("../../../../README.md"),
    ];
    let shown = pages.iter().flat_map(|page| configurations(page));
    let mut count = 0;
    for text in shown.chain([COMMENTED, &whole]) {
        let value: Value = serde_saphyr::from_str(text).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
        count += 1;
    }
    assert!(count >= 4, "{count} configurations are shown");
}

/// `answerback init` says that it shows every setting.
#[test]
#[cfg(feature = "yaml")]
fn every_key_of_the_configuration_is_in_the_one_to_begin_with() {
    fn keys<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    found.extend(properties.keys().map(String::as_str));
                }
                members.values().for_each(|member| keys(member, found));
            }
            Value::Array(elements) => elements.iter().for_each(|element| keys(element, found)),
            _ => {}
        }
    }
    let schema = answerback::config::schema();
    let mut found = Vec::new();
    keys(&schema, &mut found);
    let missing: Vec<&str> =
        found.into_iter().filter(|key| !COMMENTED.contains(&format!("{key}:"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
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
