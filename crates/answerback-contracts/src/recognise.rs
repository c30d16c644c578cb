use serde_json::{Map, Value};

use super::Contract;

/// The contract that a document follows, with the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recognition {
    /// The recognized contract.
    pub contract: Contract,
    /// The members that identified the contract, in words.
    pub reason: String,
}

/// Recognizes a document by its shape. Returns `None` if it looks like no contract.
///
/// Each typical member of a contract has a weight, and the contract with the highest total wins. A document
/// that is broken in several places is still recognized, so that the check can report its problems.
///
/// ```
/// let document = serde_json::json!({"response_type": "text", "summary": "Done"});
/// let found = answerback_contracts::recognise(&document).unwrap();
/// assert_eq!(found.contract.as_str(), "ui");
/// assert_eq!(found.reason, "it has response_type and summary");
/// ```
pub fn recognise(document: &Value) -> Option<Recognition> {
    let members = document.as_object()?;
    if let Some(Value::String(schema)) = members.get("schema_id")
        && schema.starts_with("dotbot-mcp-response@")
    {
        let reason = format!("its schema_id is {schema:?}");
        return Some(Recognition { contract: Contract::Tool, reason });
    }
    let best = MARKS
        .iter()
        .map(|(contract, marks)| (*contract, present(members, marks)))
        .max_by_key(|(contract, found)| (weight(found), std::cmp::Reverse(*contract)))?;
    let (contract, found) = best;
    if weight(&found) < ENOUGH {
        return None;
    }
    let names: Vec<&str> = found.iter().map(|mark| mark.name).collect();
    Some(Recognition { contract, reason: format!("it has {}", joined(&names)) })
}

/// A typical member of a contract, with its weight.
struct Mark {
    name: &'static str,
    weight: u8,
}

const fn mark(name: &'static str, weight: u8) -> Mark {
    Mark { name, weight }
}

/// The least total weight: one distinctive member, or two common ones.
const ENOUGH: u8 = 2;

const MARKS: [(Contract, &[Mark]); 8] = [
    (Contract::Atdf, &[mark("status", 1), mark("data", 1), mark("meta", 1)]),
    (
        Contract::Governed,
        &[
            mark("response_id", 2),
            mark("protocol_version", 2),
            mark("agent", 1),
            mark("response", 1),
            mark("request_context", 2),
            mark("governance", 2),
        ],
    ),
    (
        Contract::Ui,
        &[
            mark("response_type", 2),
            mark("summary", 1),
            mark("artifacts", 2),
            mark("missions_spawned", 2),
            mark("signals_emitted", 2),
            mark("live_stream_id", 2),
            mark("ui_hints", 2),
        ],
    ),
    (
        Contract::Tool,
        &[
            mark("schema_id", 2),
            mark("tool", 1),
            mark("status", 1),
            mark("warnings", 1),
            mark("errors", 1),
            mark("audit", 2),
            mark("intent", 1),
        ],
    ),
    (
        Contract::Descriptor,
        &[
            mark("tool_id", 2),
            mark("when_to_use", 2),
            mark("how_to_use", 2),
            mark("schema_version", 1),
            mark("description", 1),
        ],
    ),
    (
        Contract::Handoff,
        &[
            mark("handoff_id", 3),
            mark("protocol_version", 2),
            mark("source_agent", 3),
            mark("target_agent", 3),
            mark("context", 1),
            mark("governance", 2),
        ],
    ),
    (
        Contract::Manifest,
        &[
            mark("taxonomy", 3),
            mark("domains", 2),
            mark("archetypes", 3),
            mark("orchestrators", 2),
            mark("governance", 1),
        ],
    ),
    (
        Contract::Lock,
        &[
            mark("lockfileVersion", 3),
            mark("algorithm", 1),
            mark("prompts", 2),
            mark("integrity", 2),
        ],
    ),
];

fn present<'m>(members: &Map<String, Value>, marks: &'m [Mark]) -> Vec<&'m Mark> {
    marks.iter().filter(|mark| members.contains_key(mark.name)).collect()
}

fn weight(found: &[&Mark]) -> u8 {
    found.iter().map(|mark| mark.weight).sum()
}

fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
