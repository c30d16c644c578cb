//! Converts UI envelopes.

use answerback_findings::Severity;
use answerback_json::time::Timestamp;
use answerback_redaction::is_blank;
use serde_json::{Map, Value, json};

use super::between::{Plain, fitting};
use super::tool::text;
use super::{NextStep, NextStepKind, Reply, ReplyOutcome, ReplyProblem};

/// The value in an artifact's metadata that marks the artifact as the body.
const BODY: &str = "body";
const ERROR_PREFIX: &str = "❌ Error: ";

pub(super) fn read(document: &Value) -> Reply {
    let metadata = document.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let failed = metadata.get("error") == Some(&Value::Bool(true));
    let findings: Vec<ReplyProblem> = fitting(metadata.get("findings")).unwrap_or_default();
    let outcome = match (failed, findings.is_empty()) {
        (true, _) => ReplyOutcome::Error,
        (false, false) => ReplyOutcome::Warning,
        (false, true) => ReplyOutcome::Ok,
    };
    let written = text(document.get("timestamp"));
    let time = Timestamp::parse(&written).map_or(Timestamp::from_unix_millis(0), |(time, _)| time);
    let summary = text(document.get("summary"));
    let summary = match summary.strip_prefix(ERROR_PREFIX) {
        Some(message) if failed => message.to_owned(),
        _ => summary,
    };
    let mut reply = Reply::new(outcome, summary, time);
    reply.findings = findings;
    if failed && reply.findings.is_empty() {
        let details = metadata.get("error_details").and_then(Value::as_object).cloned();
        let message = text(metadata.get("error_message"));
        let finding = ReplyProblem::new(Severity::Error, "UNSPECIFIED", message);
        reply.findings = vec![finding.with_details(details.unwrap_or_default())];
    }
    for artifact in list(document, "artifacts") {
        match artifact.get("content") {
            Some(Value::Object(content)) if is_body(&artifact) => reply.body.clone_from(content),
            _ => reply.artifacts.push(artifact),
        }
    }
    reply.missions = list(document, "missions_spawned");
    reply.signals = list(document, "signals_emitted");
    if let Some(question) = metadata.get("clarification").and_then(|asked| asked.get("question")) {
        reply.next.push(NextStep::new(NextStepKind::Question, text(Some(question))));
    }
    let actions = document.pointer("/ui_hints/suggested_actions");
    for label in fitting::<Vec<String>>(actions).unwrap_or_default() {
        reply.next.push(NextStep::new(NextStepKind::Action, label));
    }
    reply
}

pub(super) fn write(reply: &Reply) -> Plain {
    let failed = reply.outcome.is_failure();
    let mut artifacts = reply.artifacts.clone();
    if !reply.body.is_empty() {
        artifacts.push(json!({
            "artifact_type": "json_data",
            "title": "Data",
            "content": reply.body,
            "metadata": {"answerback": BODY},
        }));
    }
    let mut metadata = Map::new();
    if failed {
        let details = reply.errors().next().map(|error| error.details.clone()).unwrap_or_default();
        metadata.insert("error".into(), true.into());
        metadata.insert("error_message".into(), reply.summary.clone().into());
        metadata.insert("error_details".into(), Value::Object(details));
    }
    if !reply.findings.is_empty() {
        metadata.insert("findings".into(), json!(reply.findings));
    }
    let response_type = if failed || artifacts.is_empty() { "text" } else { "artifact_bundle" };
    let summary = if is_blank(&reply.summary) { "(no summary)" } else { &reply.summary };
    let summary = if failed { format!("{ERROR_PREFIX}{summary}") } else { summary.to_owned() };
    let document = json!({
        "response_type": response_type,
        "summary": summary,
        "artifacts": artifacts,
        "missions_spawned": reply.missions,
        "signals_emitted": reply.signals,
        "live_stream_id": null,
        "ui_hints": hints(reply),
        "timestamp": reply.time.to_offset_micros(),
        "metadata": metadata,
    });
    Plain { document, lifted: Vec::new() }
}

fn hints(reply: &Reply) -> Value {
    let (priority, colour, icon) = match reply.outcome {
        ReplyOutcome::Ok => ("normal", "success", "checkmark"),
        ReplyOutcome::Warning | ReplyOutcome::Partial => ("normal", "warning", "alert"),
        ReplyOutcome::Error | ReplyOutcome::Refused => ("urgent", "error", "alert"),
    };
    let labels: Vec<&str> = reply
        .next
        .iter()
        .filter(|next| !is_blank(&next.label) && next.kind != NextStepKind::Context)
        .map(|next| next.label.as_str())
        .collect();
    json!({
        "layout": "inline",
        "priority": priority,
        "suggested_actions": labels,
        "color_scheme": colour,
        "icon": icon,
        "expandable": true,
    })
}

fn is_body(artifact: &Value) -> bool {
    artifact.pointer("/metadata/answerback").and_then(Value::as_str) == Some(BODY)
        && artifact.get("artifact_type").and_then(Value::as_str) == Some("json_data")
}

fn list(document: &Value, name: &str) -> Vec<Value> {
    document.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}
