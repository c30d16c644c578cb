//! There and back again: every contract to every other and home, on documents made at random.

use answerback::contract::{Contract, Profile};
use answerback::convert::{ConvertError, Inputs, convert};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::generate::document;

const REPLIES: [Contract; 4] = Contract::REPLIES;

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// All that any target may require.
fn inputs() -> Inputs {
    let agent = json!({"agent_type": "domain", "agent_id": "domain-01-writing", "agent_version": "2.0.0",
        "prompt_hash": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"});
    let governance = json!({"within_scope": true, "boundaries_respected": true, "quality_standards_met": true,
        "constraints_followed": true, "audit_trail": "log/9"});
    Inputs::default()
        .with_tool("given.tool", "3.0.0")
        .with_response_id(answerback::UuidV4::from_random([9; 16]))
        .with_agent(object(agent))
        .with_governance(object(governance))
        .with_request(object(json!({"request_type": "query", "request_summary": "asked"})))
        .with_confidence("medium")
}

fn there_and_back(original: &Value, from: Contract, to: Contract) -> Result<(), TestCaseError> {
    let errors: Vec<_> = from
        .check(original, Profile::Strict)
        .into_iter()
        .filter(answerback::ValidationError::is_error)
        .collect();
    // The generator is meant to make valid documents; a case that is not would prove nothing.
    prop_assert_eq!(&errors, &vec![], "the generator made an invalid {} document", from);
    let there = convert(original, from, to, &inputs())
        .map_err(|error| TestCaseError::fail(format!("{from} to {to}: {error}\n{original:#}")))?;
    let broken: Vec<_> = to
        .check(&there.document, Profile::Strict)
        .into_iter()
        .filter(answerback::ValidationError::is_error)
        .collect();
    prop_assert_eq!(&broken, &vec![], "{} to {}: {:#}", from, to, there.document);
    let home = convert(&there.document, to, from, &Inputs::default()).map_err(|error| {
        TestCaseError::fail(format!("{to} home to {from}: {error}\n{:#}", there.document))
    })?;
    prop_assert_eq!(&home.document, original, "{} by way of {}: {:#}", from, to, there.document);
    Ok(())
}

fn pairs(from: Contract) {
    for to in REPLIES.into_iter().filter(|to| *to != from) {
        let config = Config { cases: 10_000, failure_persistence: None, ..Config::default() };
        let result = TestRunner::new(config)
            .run(&document(from), |original| there_and_back(&original, from, to));
        if let Err(error) = result {
            panic!("{from} to {to}: {error}");
        }
    }
}

#[test]
fn atdf_round_trips_by_every_way() {
    pairs(Contract::Atdf);
}

#[test]
fn governed_round_trips_by_every_way() {
    pairs(Contract::Governed);
}

#[test]
fn tool_round_trips_by_every_way() {
    pairs(Contract::Tool);
}

#[test]
fn ui_round_trips_by_every_way() {
    pairs(Contract::Ui);
}

/// What we convert, ordinary readers can read, also inside of a message; what would be too deep is refused.
#[test]
fn a_converted_document_is_never_too_deep() {
    for levels in (1..10).chain(90..140) {
        let mut document = atdf();
        document["data"]["more"] = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        for to in REPLIES {
            match convert(&document, Contract::Atdf, to, &inputs()) {
                Ok(there) => {
                    assert!(levels < 126, "{levels} levels to {to}");
                    let message = json!({"result": {"structuredContent": there.document}});
                    assert!(serde_json::from_str::<Value>(&message.to_string()).is_ok());
                    let home = convert(&there.document, to, Contract::Atdf, &Inputs::default());
                    assert_eq!(home.map(|home| home.document).as_ref(), Ok(&document));
                }
                Err(ConvertError::Source(invalid) | ConvertError::Target(invalid)) => {
                    assert!(levels > 90, "{levels} levels to {to}: {invalid}");
                    let codes = invalid.findings.iter().map(|finding| finding.error_code.as_ref());
                    assert_eq!(codes.collect::<Vec<_>>(), ["DOC-005"]);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn atdf() -> Value {
    json!({"status": "success", "data": {"message": "Done"}, "meta": {"timestamp": "2026-03-04T05:06:07Z"}})
}

#[test]
fn what_the_target_requires_is_asked_for() {
    for (to, told) in [
        (Contract::Tool, "a tool envelope needs the tool's name and version"),
        (Contract::Governed, "a governed response needs a response id"),
    ] {
        let error = convert(&atdf(), Contract::Atdf, to, &Inputs::default()).unwrap_err();
        assert!(matches!(error, ConvertError::Missing(_)), "{error:?}");
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn what_somebody_changed_since_wins() {
    let mut tool = convert(&atdf(), Contract::Atdf, Contract::Tool, &inputs()).unwrap().document;
    tool["summary"] = "Done twice".into();
    tool["intent"] =
        json!({"recommended_next": "more", "reason": "There is more.", "parameters": {}});
    let home = convert(&tool, Contract::Tool, Contract::Atdf, &Inputs::default()).unwrap();
    assert_eq!(home.document["data"]["message"], "Done twice");
    assert_eq!(home.document["meta"]["timestamp"], "2026-03-04T05:06:07Z");
    // What ATDF cannot show is told, and comes back.
    assert!(home.carried.iter().any(|place| place.as_str() == "/intent"), "{:?}", home.carried);
    let again =
        convert(&home.document, Contract::Atdf, Contract::Tool, &Inputs::default()).unwrap();
    assert_eq!(again.document["intent"]["recommended_next"], "more");
    assert_eq!(again.document["tool"], "given.tool");
}

#[test]
fn identity_survives_a_detour() {
    let mut runner = TestRunner::deterministic();
    let governed = document(Contract::Governed).new_tree(&mut runner).unwrap();
    let governed = proptest::strategy::ValueTree::current(&governed);
    let tool = convert(&governed, Contract::Governed, Contract::Tool, &inputs()).unwrap().document;
    let ui = convert(&tool, Contract::Tool, Contract::Ui, &Inputs::default()).unwrap().document;
    let home = convert(&ui, Contract::Ui, Contract::Governed, &Inputs::default()).unwrap().document;
    for member in ["response_id", "agent", "governance", "request_context"] {
        assert_eq!(home[member], governed[member], "{member}");
    }
}
