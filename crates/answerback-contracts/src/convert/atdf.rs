//! Converts ATDF enriched responses.

use answerback_findings::Severity;
use answerback_json::time::Timestamp;
use answerback_redaction::is_blank;
use serde_json::{Map, Value, json};

use super::between::Plain;
use super::tool::text;
use super::{NextStepKind, Reply, ReplyOutcome, ReplyProblem, body};

/// The code of a failure without a code that ATDF allows.
const UNKNOWN: &str = "UNSPECIFIED_ERROR";
const SOLUTION: &str = "Review the expected conditions and adjust your input accordingly.";

pub(super) fn read(document: &Value, lifted: &[String]) -> Reply {
    let failed = document.get("status").and_then(Value::as_str) == Some("error");
    let outcome = if failed { ReplyOutcome::Error } else { ReplyOutcome::Ok };
    let written = document.pointer("/meta/timestamp").and_then(Value::as_str).unwrap_or_default();
    let time = Timestamp::parse(written).map_or(Timestamp::from_unix_millis(0), |(time, _)| time);
    let mut data = document.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    let message = text(data.shift_remove("message").as_ref());
    let mut reply = Reply::new(outcome, message.clone(), time);
    if failed {
        let code = text(data.shift_remove("code").as_ref());
        let details = data.shift_remove("details").and_then(|details| match details {
            Value::Object(details) => Some(details),
            _ => None,
        });
        let finding = ReplyProblem::new(Severity::Error, code, message);
        reply.findings = vec![finding.with_details(details.unwrap_or_default())];
    }
    body::read(data, lifted, &mut reply);
    reply
}

pub(super) fn write(reply: &Reply) -> Plain {
    let mut data = Map::new();
    let failed = reply.outcome.is_failure();
    if failed {
        let first = reply.errors().next();
        let code = first.map(|error| error.code.as_str()).filter(|code| is_atdf_code(code));
        data.insert("code".into(), code.unwrap_or(UNKNOWN).into());
        data.insert("message".into(), filled(&reply.summary).into());
        data.insert("details".into(), Value::Object(details(reply, first)));
    } else {
        data.insert("message".into(), filled(&reply.summary).into());
    }
    let lifted = body::write(reply, &mut data);
    let document = json!({
        "status": if failed { "error" } else { "success" },
        "data": data,
        "meta": {"timestamp": reply.time.to_offset_micros()},
    });
    Plain { document, lifted }
}

/// Returns the details of the error if they have the form of ATDF. Otherwise builds details from the error.
fn details(reply: &Reply, error: Option<&ReplyProblem>) -> Map<String, Value> {
    if let Some(error) = error
        && error
            .details
            .get("expected")
            .is_some_and(|expected| expected.get("conditions").is_some())
        && ["field", "received", "solution"].iter().all(|name| error.details.contains_key(*name))
    {
        return error.details.clone();
    }
    let field = error.and_then(|error| error.path.as_deref()).unwrap_or("request");
    let received = error.map(|error| error.details.clone()).unwrap_or_default();
    let conditions: Vec<&str> = reply.errors().map(|error| error.message.as_str()).collect();
    let conditions: Vec<String> = conditions
        .iter()
        .map(|message| format!("The request succeeds without: {message}"))
        .collect();
    let advice =
        reply.next.iter().find(|next| next.kind == NextStepKind::Intent && !next.reason.is_empty());
    let mut details = Map::new();
    details.insert("field".into(), field.into());
    details.insert("received".into(), Value::Object(received));
    details.insert("expected".into(), json!({"conditions": conditions}));
    details.insert("solution".into(), advice.map_or(SOLUTION, |next| &next.reason).into());
    details
}

fn is_atdf_code(code: &str) -> bool {
    !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn filled(summary: &str) -> &str {
    if is_blank(summary) { "(no summary)" } else { summary }
}
