//! Asks the client's user about a case: builds the form and reads the answer.

use answerback::UuidV7;
use answerback::case::Decision;
use answerback::finding::display_text;
use answerback::json::{self, Limits};
use answerback::retry::Escalation;
use answerback_mcp::wire::{Message, Object};
use serde_json::{Value, json};

use crate::tool_call_request::ElicitationAnswers;

/// The limit for each text in a form, in characters.
const SUMMARY: usize = 1500;

/// Returns the parameters of `elicitation/create` for an escalation. The user may guide, correct or stop. Waiving
/// the check requires a decision source that identifies the person.
pub(crate) fn form(escalation: &Escalation) -> Value {
    let summary: Vec<String> =
        escalation.summary.lines().map(|line| display_text(line, SUMMARY)).collect();
    let first = display_text(&escalation.original_call.arguments, SUMMARY);
    let last = escalation.last_call.as_ref().map_or_else(String::new, |call| {
        format!("\n\nThe last call had the arguments {}", display_text(&call.arguments, SUMMARY))
    });
    json!({
        "message": format!("{}\n\nThe first call had the arguments {first}{last}", summary.join("\n")),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "What should happen?",
                    "enum": ["guide", "correct", "stop"],
                    "enumNames": ["Tell the model how to go on", "Run the call with arguments of mine", "Stop calling this tool"],
                },
                "guidance": {"type": "string", "title": "What the model is told", "maxLength": 2000},
                "arguments": {"type": "string", "title": "The corrected arguments, as a JSON object"},
            },
            "required": ["decision"],
        },
    })
}

/// The key of our question in an `input_required` result.
const QUESTION: &str = "answerback";
/// The prefix of our `requestState`, which the case's id follows. The state is no secret: the case belongs to the
/// principal that made the call, and the first decision wins.
const STATE: &str = "answerback/case/";

/// Returns the `input_required` result for a client of a stateless revision. The client repeats the call with the
/// user's answer.
pub(crate) fn input_required(escalation: &Escalation) -> Value {
    let mut form = form(escalation);
    form["mode"] = "form".into();
    json!({
        "resultType": "input_required",
        "inputRequests": {QUESTION: {"method": "elicitation/create", "params": form}},
        "requestState": format!("{STATE}{}", escalation.id),
    })
}

/// Returns the case that a repeated call answers, if the state is one of ours.
pub(crate) fn case_in_state(answers: &ElicitationAnswers) -> Option<UuidV7> {
    UuidV7::try_from(answers.state.strip_prefix(STATE)?.to_owned()).ok()
}

/// Returns the user's decision from a repeated call, or `None` if the user declined.
pub(crate) fn decision_in_call(answers: &ElicitationAnswers) -> Result<Option<Decision>, String> {
    let responses: Value =
        serde_json::from_str(&answers.responses).map_err(|error| error.to_string())?;
    decision_in_result(&responses[QUESTION])
}

/// Returns the user's decision, or `None` if the user declined. The error states why the answer cannot be used.
pub(crate) fn decision_in_reply(reply: &Message) -> Result<Option<Decision>, String> {
    let Some(result) = Object::read(reply.text()).ok().and_then(|reply| reply.get("result")) else {
        // The client cannot ask its user after all.
        return Ok(None);
    };
    decision_in_result(&serde_json::from_str(result).map_err(|error| error.to_string())?)
}

fn decision_in_result(result: &Value) -> Result<Option<Decision>, String> {
    if result["action"] != "accept" {
        return Ok(None);
    }
    let content = &result["content"];
    let text = |name: &str| content[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    match content["decision"].as_str() {
        Some("stop") => Ok(Some(Decision::Reject { reason: text("guidance").map(str::to_owned) })),
        Some("guide") => {
            let message = text("guidance").ok_or("no guidance was given")?.to_owned();
            Ok(Some(Decision::Respond { message }))
        }
        Some("correct") => {
            let text = text("arguments").ok_or("no corrected arguments were given")?;
            let arguments = parse_arguments(text)?;
            if !arguments.is_object() {
                return Err("the corrected arguments are not a JSON object".to_owned());
            }
            Ok(Some(Decision::Modify { arguments }))
        }
        _ => Err("no decision was made".to_owned()),
    }
}

/// Parses the arguments that a person wrote with the same rules as a call's. A repeated name is rejected, because
/// the intended value is unknown.
fn parse_arguments(text: &str) -> Result<Value, String> {
    let read = json::read(text.as_bytes(), Limits::default())
        .map_err(|error| format!("the corrected arguments are not JSON: {error}"))?;
    match read.repeated() {
        Some(place) => {
            Err(format!("in the corrected arguments {place} stands twice: write it once"))
        }
        None => Ok(read.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: Value) -> Result<Option<Decision>, String> {
        let id = answerback_mcp::wire::Id::of_text("x");
        decision_in_reply(&Message::result(&id, &result.to_string()))
    }

    #[test]
    fn each_decision_of_a_person_is_parsed() {
        let accept = |content: Value| json!({"action": "accept", "content": content});
        assert_eq!(read(json!({"action": "decline"})), Ok(None));
        assert_eq!(read(json!({"action": "cancel"})), Ok(None));
        assert_eq!(
            read(accept(json!({"decision": "guide", "guidance": " use kg "}))),
            Ok(Some(Decision::Respond { message: "use kg".into() }))
        );
        assert_eq!(
            read(accept(json!({"decision": "correct", "arguments": "{\"n\": 1}"}))),
            Ok(Some(Decision::Modify { arguments: json!({"n": 1}) }))
        );
        assert_eq!(
            read(accept(json!({"decision": "stop"}))),
            Ok(Some(Decision::Reject { reason: None }))
        );
        for content in [
            json!({"decision": "guide"}),
            json!({"decision": "correct", "arguments": "[1]"}),
            json!({"decision": "correct", "arguments": "{"}),
            json!({"decision": "approve"}),
            json!({}),
        ] {
            assert!(read(accept(content.clone())).is_err(), "{content}");
        }
        for (arguments, repeated) in
            [(r#"{"n":1,"n":2}"#, "/n"), (r#"{"a":[{"b":1,"b":1}]}"#, "/a/0/b")]
        {
            let content = json!({"decision": "correct", "arguments": arguments});
            let text = format!("in the corrected arguments {repeated} stands twice: write it once");
            assert_eq!(read(accept(content)), Err(text));
        }
    }
}
