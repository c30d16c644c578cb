//! Converts tool envelopes.

use answerback_findings::Severity;
use answerback_json::time::Timestamp;
use answerback_redaction::is_blank;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::between::{Plain, fitting};
use super::{
    Inputs, MissingInput, NextStep, NextStepKind, Reply, ReplyOutcome, ReplyProblem, ToolFacts,
    body,
};
use crate::tool::{Action, EnvelopeStatus, ErrorObject, Intent, SCHEMA_ID};

/// The code of the warning that marks a partial outcome.
const PARTIAL: &str = "PARTIAL_RESULT";
/// The code of an error or warning without a valid one.
const UNKNOWN: &str = "UNSPECIFIED";
/// The `audit.source` of an envelope that no tool produced.
const SOURCE: &str = "answerback/convert";

pub(super) fn read(document: &Value, lifted: &[String]) -> Reply {
    let errors: Vec<ErrorObject> = fitting(document.get("errors")).unwrap_or_default();
    let warnings: Vec<ErrorObject> = fitting(document.get("warnings")).unwrap_or_default();
    let outcome = match EnvelopeStatus::of(errors.len(), warnings.len()) {
        EnvelopeStatus::Error => ReplyOutcome::Error,
        EnvelopeStatus::Warning if warnings.iter().any(|warning| warning.code == PARTIAL) => {
            ReplyOutcome::Partial
        }
        EnvelopeStatus::Warning => ReplyOutcome::Warning,
        EnvelopeStatus::Ok => ReplyOutcome::Ok,
    };
    let mut reply = Reply::new(outcome, text(document.get("summary")), time(document));
    let data = document.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    body::read(data, lifted, &mut reply);
    reply.findings = errors
        .into_iter()
        .map(|error| reported(Severity::Error, error))
        .chain(warnings.into_iter().map(|warning| reported(Severity::Warning, warning)))
        .collect();
    if let Some(intent) = fitting::<Intent>(document.get("intent")) {
        reply.next.push(NextStep {
            reason: intent.reason,
            target: Some(intent.recommended_next.clone()),
            parameters: intent.parameters,
            ..NextStep::new(NextStepKind::Intent, intent.recommended_next)
        });
    }
    for action in fitting::<Vec<Action>>(document.get("actions")).unwrap_or_default() {
        reply.next.push(NextStep {
            reason: action.reason,
            target: Some(action.tool),
            id: Some(action.id),
            parameters: action.parameters,
            ..NextStep::new(NextStepKind::Action, action.label)
        });
    }
    reply.tool = inputs(document).tool;
    reply
}

pub(super) fn write(reply: &Reply, inputs: &Inputs) -> Result<Plain, MissingInput> {
    let tool = reply.tool.as_ref().or(inputs.tool.as_ref()).ok_or(MissingInput::Tool)?;
    let mut errors: Vec<ErrorObject> = reply.errors().map(object).collect();
    let mut warnings: Vec<ErrorObject> = reply.warnings().map(object).collect();
    if reply.outcome.is_failure() && errors.is_empty() {
        errors.push(ErrorObject::new(UNKNOWN, one_line(&reply.summary)));
    }
    if reply.outcome == ReplyOutcome::Partial
        && !warnings.iter().any(|warning| warning.code == PARTIAL)
    {
        warnings.push(ErrorObject::new(PARTIAL, "Only a part of the request could be done."));
    }
    if reply.outcome == ReplyOutcome::Warning && warnings.is_empty() {
        warnings.push(ErrorObject::new(UNKNOWN, one_line(&reply.summary)));
    }
    let mut data = Map::new();
    let lifted = body::write(reply, &mut data);

    let mut audit = Map::new();
    audit.insert("timestamp".into(), reply.time.to_utc_seconds().into());
    for (name, value) in [("duration_ms", json!(0)), ("source", json!(SOURCE))] {
        audit.insert(name.into(), tool.audit.get(name).cloned().unwrap_or(value));
    }
    for (name, value) in &tool.audit {
        audit.entry(name).or_insert_with(|| value.clone());
    }

    let mut envelope = Map::new();
    envelope.insert("schema_id".into(), SCHEMA_ID.into());
    envelope.insert("tool".into(), tool.name.clone().into());
    envelope.insert("version".into(), tool.version.clone().into());
    envelope
        .insert("status".into(), EnvelopeStatus::of(errors.len(), warnings.len()).as_str().into());
    envelope.insert("summary".into(), one_line(&reply.summary).into());
    envelope.insert("data".into(), Value::Object(data));
    envelope.insert("warnings".into(), json!(warnings));
    envelope.insert("errors".into(), json!(errors));
    envelope.insert("audit".into(), Value::Object(audit));
    if let Some(intent) = intent(reply) {
        envelope.insert("intent".into(), json!(intent));
    }
    let actions: Vec<Action> = actions(reply);
    if !actions.is_empty() {
        envelope.insert("actions".into(), json!(actions));
    }
    Ok(Plain { document: Value::Object(envelope), lifted })
}

/// Returns the tool that the envelope names and its audit, as inputs.
pub(super) fn inputs(document: &Value) -> Inputs {
    let mut facts = ToolFacts::new(text(document.get("tool")), text(document.get("version")));
    facts.audit = document.get("audit").and_then(Value::as_object).cloned().unwrap_or_default();
    facts.audit.shift_remove("timestamp");
    Inputs { tool: Some(facts), ..Inputs::default() }
}

fn reported(severity: Severity, object: ErrorObject) -> ReplyProblem {
    let mut reported = ReplyProblem::new(severity, object.code, object.message);
    reported.path = object.path;
    reported.details = object.details;
    reported
}

fn object(reported: &ReplyProblem) -> ErrorObject {
    let code = if crate::form::is_code(&reported.code) { &reported.code } else { UNKNOWN };
    let message = if is_blank(&reported.message) { code } else { &reported.message };
    let mut object = ErrorObject::new(code, message);
    object.path.clone_from(&reported.path);
    object.details.clone_from(&reported.details);
    object
}

fn intent(reply: &Reply) -> Option<Intent> {
    let next = reply.next.iter().find(|next| next.kind == NextStepKind::Intent)?;
    let mut intent = Intent::new(next.target.clone()?, filled(&next.reason, &next.label));
    intent.parameters.clone_from(&next.parameters);
    Some(intent)
}

/// Returns the offered steps that name a tool as actions. A step without a tool cannot be an action.
fn actions(reply: &Reply) -> Vec<Action> {
    let offered = reply.next.iter().filter(|next| next.kind == NextStepKind::Action);
    offered
        .filter_map(|next| {
            let tool = next.target.clone()?;
            let id = next.id.clone().unwrap_or_else(|| tool.clone());
            let mut action = Action::suggestion(
                id,
                filled(&next.label, &tool),
                filled(&next.reason, &next.label),
                tool,
            );
            action.parameters.clone_from(&next.parameters);
            Some(action)
        })
        .collect()
}

fn filled(text: &str, otherwise: &str) -> String {
    if is_blank(text) { otherwise.to_owned() } else { text.to_owned() }
}

/// Returns a summary as one line that is not blank.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let unchanged = !text.contains(['\n', '\r']) && !is_blank(text);
    match (unchanged, is_blank(&line)) {
        (true, _) => text.to_owned(),
        (false, false) => line,
        (false, true) => "(no summary)".to_owned(),
    }
}

fn time(document: &Value) -> Timestamp {
    let text = document.pointer("/audit/timestamp").and_then(Value::as_str).unwrap_or_default();
    Timestamp::parse(text).map_or(Timestamp::from_unix_millis(0), |(time, _)| time)
}

pub(super) fn text(value: Option<&Value>) -> String {
    value.and_then(|value| String::deserialize(value).ok()).unwrap_or_default()
}
