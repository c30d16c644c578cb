//! What the gateway itself says: results and errors that the server did not make.

use answerback::ToolResult;
use answerback::contract::governed::Refusal;
use answerback::finding::shown_text;
use answerback::provider::{Arguments, Provider};
use serde_json::{Map, Value, json};

use crate::call::ToolCall;
use crate::envelope::found;
use answerback_mcp::wire::{Message, Object, code};

/// The members that we add to a result's `_meta`.
pub(crate) mod meta {
    pub(crate) const RETRY: &str = "dev.answerback/retry";
    pub(crate) const ENVELOPE: &str = "dev.answerback/envelope";
    pub(crate) const RECEIPT: &str = "dev.answerback/receipt";
    pub(crate) const NOTES: &str = "dev.answerback/notes";
    pub(crate) const CUT: &str = "dev.answerback/cut";
}

/// What a caller can do about a call that did not run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    /// Mend the arguments and call again.
    Arguments,
    /// Call again later, as it is.
    Wait,
    /// Stop, and let a person decide.
    Stop,
}

impl Class {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// The facts about a call that did not run, for programs.
pub(crate) struct Retry<'a> {
    pub(crate) class: Class,
    pub(crate) code: &'a str,
    /// Which attempt it was, of how many; where attempts are counted.
    pub(crate) attempt: Option<(u8, u8)>,
    pub(crate) correlation_id: &'a str,
}

impl Retry<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let mut facts = Map::new();
        if let Some((attempt, max)) = self.attempt {
            facts.insert("attempt".into(), attempt.into());
            facts.insert("max".into(), max.into());
        }
        facts.insert("retryable".into(), (self.class != Class::Stop).into());
        facts.insert("class".into(), self.class.as_str().into());
        facts.insert("code".into(), self.code.into());
        facts.insert("correlationId".into(), self.correlation_id.into());
        facts.into()
    }
}

/// A result that the model sees, for a call that did not run.
pub(crate) fn result(call: &ToolCall, content: String, added: Map<String, Value>) -> Message {
    let told = ToolResult::error(call.id.as_json(), content);
    let echo = answerback::provider::ToolCall::new(
        call.id.as_json(),
        &call.name,
        Arguments::Value(Value::Null),
    );
    let mut result = Provider::Mcp.result(&echo, &told);
    if call.is_modern {
        result["resultType"] = "complete".into();
    }
    result["_meta"] = added.into();
    Message::result(&call.id, &result.to_string())
}

/// A tool's name as our own sentences carry it.
pub(crate) fn name(tool: &str) -> String {
    answerback::finding::shown_name(tool)
}

/// The answer to a call that could not be recorded, so that it did not run.
pub(crate) fn unavailable(call: &ToolCall, correlation_id: &str, reason: &str) -> Message {
    let code = found::NOT_RECORDED;
    let retry = Retry { class: Class::Wait, code, attempt: None, correlation_id };
    let text = format!(
        "The call of {} was not run, because it could not be recorded: {reason}. Nothing is wrong with the \
         arguments; try again later, or ask a person to look at the gateway.",
        name(&call.name)
    );
    result(call, text, facts(&retry))
}

/// The answer to a call that cannot be checked, because the server does not say which tools it has.
pub(crate) fn unlisted(call: &ToolCall, reason: &str) -> Message {
    let code = "TOOLS_UNKNOWN";
    let retry = Retry { class: Class::Wait, code, attempt: None, correlation_id: "" };
    let text = format!(
        "The call of {} was not run, because it could not be checked: {reason}. Nothing is wrong with the \
         arguments; try again later.",
        name(&call.name)
    );
    result(call, text, facts(&retry))
}

/// The answer where the tool ran and its result could not be recorded: the model must know both.
pub(crate) fn withheld(call: &ToolCall, correlation_id: &str, reason: &str) -> Message {
    let why = format!("could not be recorded and is withheld: {reason}.");
    ran(call, correlation_id, found::NOT_RECORDED, &why, "the gateway", None)
}

/// The answer where the tool ran and nobody can vouch for what it said, because it cannot be read.
pub(crate) fn unread(call: &ToolCall, correlation_id: &str, receipt: Option<Value>) -> Message {
    let why = "is withheld: it cannot be read, so nobody can vouch for it.";
    ran(call, correlation_id, found::TOOL_FAILED, why, "the server", receipt)
}

/// The answer where the tool ran and nobody vouches for what it said.
pub(crate) fn refused(
    call: &ToolCall,
    correlation_id: &str,
    refusal: &Refusal,
    receipt: Option<Value>,
) -> Message {
    let explanation = shown_text(&refusal.explanation, 500);
    let why = format!("is withheld, because it cannot be attested. {explanation}");
    let place = "the manifest and the lock of the gateway";
    ran(call, correlation_id, refusal.refusal_reason.as_str(), &why, place, receipt)
}

/// What a model is told of a tool that ran and whose result it does not get.
fn ran(
    call: &ToolCall,
    correlation_id: &str,
    code: &str,
    why: &str,
    place: &str,
    receipt: Option<Value>,
) -> Message {
    let retry = Retry { class: Class::Stop, code, attempt: None, correlation_id };
    let text = format!(
        "The tool {} ran, but its result {why} Do not repeat the call: it may have taken effect. Ask a person to look at \
         {place}.",
        name(&call.name)
    );
    let mut added = facts(&retry);
    added.extend(receipt.map(|receipt| (meta::RECEIPT.to_owned(), receipt)));
    result(call, text, added)
}

/// An error of the protocol, with the facts as its data.
pub(crate) fn error(call: &ToolCall, message: &str, added: Map<String, Value>) -> Message {
    Message::error(Some(&call.id), code::INVALID_PARAMS, message, Some(&added.into()))
}

/// The `_meta` of a result with more in it, every other byte as it was; nothing, where it is no object: that is the
/// server's fault, and not ours to take away.
pub(crate) fn meta_with(meta: &str, added: &[(&str, String)]) -> Option<String> {
    let mut meta = meta.to_owned();
    for (name, value) in added {
        meta = Object::read(&meta).ok()?.with(name, value);
    }
    Some(meta)
}

/// The facts as `_meta`.
pub(crate) fn facts(retry: &Retry<'_>) -> Map<String, Value> {
    let Value::Object(facts) = json!({meta::RETRY: retry.to_json()}) else { return Map::new() };
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_keeps_every_byte_but_for_what_is_added() {
        let added = [("dev.answerback/x", "1".to_owned())];
        for (meta, expected) in [
            ("{}", r#"{"dev.answerback/x":1}"#),
            (r#"{ "a":1.50 }"#, r#"{ "a":1.50 ,"dev.answerback/x":1}"#),
            (r#"{"dev.answerback/x":7}"#, r#"{"dev.answerback/x":1}"#),
        ] {
            assert_eq!(meta_with(meta, &added).as_deref(), Some(expected));
        }
        assert_eq!(meta_with("3", &added), None);
    }
}
