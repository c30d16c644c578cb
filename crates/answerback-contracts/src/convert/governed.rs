//! Converts governed responses.

use answerback_findings::Severity;
use answerback_json::UuidV4;
use answerback_json::time::Timestamp;
use answerback_redaction::is_blank;
use serde_json::{Map, Value, json};

use super::between::{Plain, fitting};
use super::tool::text;
use super::{
    Inputs, MissingInput, NextStep, NextStepKind, Reply, ReplyOutcome, ReplyProblem, body,
};
use crate::governed::RefusalReason;

/// The code of an error without one.
const UNKNOWN: &str = "ERR_UNSPECIFIED";
const PROTOCOL_VERSION: &str = "1.0.0";
/// The largest length of a summary taken from a text, in characters.
const LONGEST_SUMMARY: usize = 200;

pub(super) fn read(document: &Value, lifted: &[String]) -> Reply {
    let outcome = match document.pointer("/response/status").and_then(Value::as_str) {
        Some("partial") => ReplyOutcome::Partial,
        Some("error") => ReplyOutcome::Error,
        Some("refused") => ReplyOutcome::Refused,
        _ => ReplyOutcome::Ok,
    };
    let written = text(document.get("timestamp"));
    let time = Timestamp::parse(&written).map_or(Timestamp::from_unix_millis(0), |(time, _)| time);
    let mut reply = Reply::new(outcome, String::new(), time);
    match document.pointer("/response/content/data") {
        Some(Value::String(words)) => {
            reply.summary = first_line(words);
            reply.body.insert("text".into(), words.clone().into());
        }
        Some(Value::Object(data)) => content(data.clone(), lifted, &mut reply),
        _ => {}
    }
    if reply.summary.is_empty() {
        reply.summary = text(document.pointer("/request_context/request_summary"));
    }
    reply.next = next(document.get("next_actions"));
    reply.identity = Some(picked(document, &["response_id", "protocol_version", "agent"]));
    let mut attestation = picked(document, &["governance"]);
    if let Some(confidence) = document.pointer("/response/confidence") {
        attestation.insert("confidence".into(), confidence.clone());
    }
    reply.attestation = Some(attestation);
    reply.request = object(document.get("request_context"));
    reply
}

/// Reads the data of a structured or mixed response.
fn content(mut data: Map<String, Value>, lifted: &[String], reply: &mut Reply) {
    let (code, message) = match reply.outcome {
        ReplyOutcome::Error => ("error_code", "error_message"),
        ReplyOutcome::Refused => ("refusal_reason", "explanation"),
        _ => {
            let told = ["summary", "narrative", "message"]
                .iter()
                .find_map(|name| data.get(*name)?.as_str());
            reply.summary = told.map(first_line).unwrap_or_default();
            if data.get("summary").and_then(Value::as_str) == Some(&reply.summary) {
                data.shift_remove("summary");
            }
            body::read(data, lifted, reply);
            return;
        }
    };
    let code = text(data.shift_remove(code).as_ref());
    let message = text(data.shift_remove(message).as_ref());
    reply.summary = first_line(&message);
    reply.findings = vec![ReplyProblem::new(Severity::Error, code, message)];
    body::read(data, lifted, reply);
}

pub(super) fn write(reply: &Reply, inputs: &Inputs) -> Result<Plain, MissingInput> {
    let given = |group: &Option<Map<String, Value>>, name: &str| {
        group.as_ref().and_then(|group| group.get(name)).cloned()
    };
    let response_id = given(&reply.identity, "response_id")
        .or_else(|| inputs.response_id.as_ref().map(|id| id.as_str().into()))
        .ok_or(MissingInput::ResponseId)?;
    let agent = given(&reply.identity, "agent")
        .or_else(|| inputs.agent.clone().map(Value::Object))
        .ok_or(MissingInput::Agent)?;
    let governance = given(&reply.attestation, "governance")
        .or_else(|| inputs.governance.clone().map(Value::Object))
        .ok_or(MissingInput::Governance)?;
    let confidence = given(&reply.attestation, "confidence")
        .or_else(|| inputs.confidence.clone().map(Value::from))
        .ok_or(MissingInput::Confidence)?;
    let request =
        reply.request.as_ref().or(inputs.request.as_ref()).ok_or(MissingInput::Request)?;
    let protocol =
        given(&reply.identity, "protocol_version").unwrap_or_else(|| PROTOCOL_VERSION.into());

    let (content, lifted) = written_content(reply);
    let mut document = Map::new();
    document.insert("response_id".into(), response_id);
    document.insert("timestamp".into(), reply.time.to_utc_seconds().into());
    document.insert("protocol_version".into(), protocol);
    document.insert("agent".into(), agent);
    document.insert(
        "response".into(),
        json!({"status": status(reply), "content": content, "confidence": confidence}),
    );
    document.insert("request_context".into(), Value::Object(request.clone()));
    document.insert("governance".into(), governance);
    if let Some(next) = written_next(reply) {
        document.insert("next_actions".into(), next);
    }
    Ok(Plain { document: Value::Object(document), lifted })
}

/// Returns the inputs that a governed response itself contains.
pub(super) fn inputs(document: &Value) -> Inputs {
    Inputs {
        response_id: UuidV4::try_from(text(document.get("response_id"))).ok(),
        agent: object(document.get("agent")),
        governance: object(document.get("governance")),
        request: object(document.get("request_context")),
        confidence: document
            .pointer("/response/confidence")
            .and_then(Value::as_str)
            .map(str::to_owned),
        ..Inputs::default()
    }
}

fn status(reply: &Reply) -> &'static str {
    match reply.outcome {
        ReplyOutcome::Ok | ReplyOutcome::Warning => "success",
        ReplyOutcome::Partial => "partial",
        ReplyOutcome::Refused if refusal(reply).is_some() => "refused",
        ReplyOutcome::Error | ReplyOutcome::Refused => "error",
    }
}

/// Returns the error whose code is one of the contract's reasons for a refusal.
fn refusal(reply: &Reply) -> Option<&ReplyProblem> {
    reply
        .errors()
        .find(|error| RefusalReason::ALL.iter().any(|reason| reason.as_str() == error.code))
}

fn written_content(reply: &Reply) -> (Value, Vec<String>) {
    let only_text = reply.body.len() == 1
        && reply.artifacts.is_empty()
        && reply.missions.is_empty()
        && reply.signals.is_empty()
        && !reply.outcome.is_failure();
    if only_text && let Some(Value::String(words)) = reply.body.get("text") {
        return (json!({"type": "text", "data": words, "format": "plain"}), Vec::new());
    }
    let mut data = Map::new();
    match (reply.outcome, refusal(reply)) {
        (ReplyOutcome::Refused, Some(error)) => {
            data.insert("refusal_reason".into(), error.code.clone().into());
            data.insert("explanation".into(), filled(&error.message, reply).into());
        }
        (ReplyOutcome::Error | ReplyOutcome::Refused, _) => {
            let error = reply.errors().next();
            let code = error.map_or(UNKNOWN, |error| error.code.as_str());
            let code = if is_blank(code) { UNKNOWN } else { code };
            let message = error.map_or("", |error| error.message.as_str());
            data.insert("error_code".into(), code.into());
            data.insert("error_message".into(), filled(message, reply).into());
            for name in ["error_details", "recovery_suggestion"] {
                if let Some(value) = reply.body.get(name) {
                    data.insert(name.into(), value.clone());
                }
            }
            if let Some(error) = error
                && !error.details.is_empty()
                && !data.contains_key("error_details")
            {
                data.insert("error_details".into(), Value::Object(error.details.clone()));
            }
        }
        _ => {
            data.insert("summary".into(), reply.summary.clone().into());
        }
    }
    let lifted = body::write(reply, &mut data);
    (json!({"type": "structured", "data": data, "format": "json"}), lifted)
}

/// Returns a text that is not blank: the message, the reply's summary, or a placeholder.
fn filled<'r>(message: &'r str, reply: &'r Reply) -> &'r str {
    let told = [message, reply.summary.as_str()];
    told.into_iter().find(|text| !is_blank(text)).unwrap_or("(no message)")
}

fn next(actions: Option<&Value>) -> Vec<NextStep> {
    let Some(actions) = actions else { return Vec::new() };
    let mut next = Vec::new();
    for handoff in actions.get("suggested_handoffs").and_then(Value::as_array).into_iter().flatten()
    {
        let target = text(handoff.get("target_agent"));
        next.push(NextStep {
            reason: text(handoff.get("reason")),
            target: Some(target.clone()),
            required: handoff.get("required") == Some(&Value::Bool(true)),
            ..NextStep::new(NextStepKind::Handoff, target)
        });
    }
    for (name, kind) in [
        ("followup_questions", NextStepKind::Question),
        ("additional_context_needed", NextStepKind::Context),
    ] {
        let labels: Vec<String> = fitting(actions.get(name)).unwrap_or_default();
        next.extend(labels.into_iter().map(|label| NextStep::new(kind, label)));
    }
    next
}

fn written_next(reply: &Reply) -> Option<Value> {
    let of = |kind: NextStepKind| reply.next.iter().filter(move |next| next.kind == kind);
    let labels = |kind| of(kind).map(|next| next.label.as_str()).collect::<Vec<_>>();
    let handoffs: Vec<Value> = of(NextStepKind::Handoff)
        .filter_map(|next| {
            let target = next.target.as_ref()?;
            Some(json!({"target_agent": target, "reason": next.reason, "required": next.required}))
        })
        .collect();
    let (questions, context) = (labels(NextStepKind::Question), labels(NextStepKind::Context));
    if handoffs.is_empty() && questions.is_empty() && context.is_empty() {
        return None;
    }
    Some(json!({
        "suggested_handoffs": handoffs,
        "followup_questions": questions,
        "additional_context_needed": context,
    }))
}

fn picked(document: &Value, names: &[&str]) -> Map<String, Value> {
    let members = document.as_object();
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), members?.get(*name)?.clone())))
        .collect()
}

fn object(value: Option<&Value>) -> Option<Map<String, Value>> {
    value.and_then(Value::as_object).cloned()
}

fn first_line(words: &str) -> String {
    let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST_SUMMARY) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
