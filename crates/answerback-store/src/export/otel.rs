//! Maps the members of a leaf to OpenTelemetry's conventions for generative AI.

use answerback_ledger::{Leaf, LeafKind};
use serde_json::{Map, Value};

const OPERATION: &str = "gen_ai.operation.name";
const ERROR: &str = "error.type";

/// Pairs each member of a leaf with the attribute of the same meaning.
const NAMES: [(&str, &str); 6] = [
    ("agent_id", "gen_ai.agent.id"),
    ("agent_version", "gen_ai.agent.version"),
    ("correlation_id", "gen_ai.conversation.id"),
    ("request_id", "gen_ai.tool.call.id"),
    ("response_id", "gen_ai.response.id"),
    ("tool", "gen_ai.tool.name"),
];

/// Returns the names of all attributes that an entry can have.
#[cfg(feature = "parquet")]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(OPERATION).chain(NAMES.map(|(_, attribute)| attribute)).chain([ERROR])
}

/// Returns the attributes of an entry. They contain only data from the leaf.
pub(super) fn attributes(leaf: &Leaf) -> Map<String, Value> {
    let mut attributes = Map::new();
    if let Some(operation) = operation(leaf) {
        attributes.insert(OPERATION.to_owned(), operation.into());
    }
    for (member, attribute) in NAMES {
        // A request id is a tool call id only if the entry names a tool.
        let is_tool = attribute == "gen_ai.tool.call.id" && !is_about_tool(leaf);
        if let Some(text) = leaf.text(member).filter(|_| !is_tool) {
            attributes.insert(attribute.to_owned(), text.into());
        }
    }
    if let Some(error) =
        leaf.text("outcome").filter(|outcome| matches!(*outcome, "error" | "refused"))
    {
        attributes.insert(ERROR.to_owned(), error.into());
    }
    attributes
}

fn is_about_tool(leaf: &Leaf) -> bool {
    leaf.member("tool").or_else(|| leaf.member("tool_sha256")).is_some()
}

fn operation(leaf: &Leaf) -> Option<&'static str> {
    match leaf.kind() {
        LeafKind::Request | LeafKind::Response | LeafKind::Rejected | LeafKind::Validation => {
            if is_about_tool(leaf) {
                Some("execute_tool")
            } else {
                leaf.member("agent_id").map(|_| "invoke_agent")
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use answerback_ledger::{Draft, LeafId, LeafToken};

    use super::*;

    fn of(draft: Draft) -> String {
        Value::Object(attributes(&draft.seal(1_794_767_084_727_091, Some(1)).unwrap())).to_string()
    }

    #[test]
    fn names() {
        let (id, token) = (LeafId::from([0x42; 16]), |text| LeafToken::new(text).unwrap());
        let call = Draft::response()
            .with_request_id(id)
            .with_response_id(id)
            .with_correlation_id(id)
            .with_tool("read_file")
            .with_outcome(&token("error"));
        insta::assert_snapshot!(of(call), @r#"{"gen_ai.operation.name":"execute_tool","gen_ai.conversation.id":"42424242-4242-4242-4242-424242424242","gen_ai.tool.call.id":"42424242-4242-4242-4242-424242424242","gen_ai.response.id":"42424242-4242-4242-4242-424242424242","gen_ai.tool.name":"read_file","error.type":"error"}"#);
        let agent = Draft::response()
            .with_request_id(id)
            .with_agent(&token("domain-02"), &token("domain"), &token("1.0.0"))
            .with_outcome(&token("ok"));
        insta::assert_snapshot!(of(agent), @r#"{"gen_ai.operation.name":"invoke_agent","gen_ai.agent.id":"domain-02","gen_ai.agent.version":"1.0.0"}"#);
    }
}
