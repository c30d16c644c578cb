//! What every handler does: read from the store aside, answer in JSON, and say what is wrong with a request.

use std::fmt::Display;

use answerback::Timestamp;
use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Allowance, Held, Principal, Problem, ProblemKind};
use answerback_store::StoreError;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) type Answer = Result<Response, Problem>;

/// Answers with JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(internal)?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Answers with JSON that all is well.
pub(crate) fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}

/// A failure of our own.
pub(crate) fn internal(error: impl Display) -> Problem {
    Problem::new(ProblemKind::Internal).because(error)
}

pub(crate) fn not_found(what: &str) -> Problem {
    let error = ErrorBuilder::new("NOT_FOUND", format!("There is no such {what}"), "path")
        .condition(format!("The address names a {what} that is here"))
        .solution("Look it up in the list; what was pruned is no longer here");
    Problem::told(ProblemKind::NotFound, error)
}

/// Where a decision comes from, as its record says it: a person at the pages, or the bearer of a token.
pub(crate) fn surface_of(principal: &Principal) -> &'static str {
    if principal.is_person() { "console" } else { "api" }
}

/// One more of what a caller may have open at a time, until it is dropped.
pub(crate) fn held(
    allowance: &Allowance,
    principal: &Principal,
    what: &str,
) -> Result<Held, Problem> {
    allowance.take(&principal.id()).ok_or_else(|| {
        let most = allowance.most();
        let error = ErrorBuilder::new(
            "TOO_MANY_OPEN",
            format!("This token has {most} {what} open, and may have no more"),
            "request",
        )
        .condition(format!("A token has at most {most} {what} open at a time"))
        .solution("Close one of them, or share one among those who need it");
        Problem::told(ProblemKind::TooManyRequests, error).with_retry_after(1)
    })
}

/// A parameter or a body that is not what it has to be.
pub(crate) fn bad(field: &str, detail: impl Display, solution: &str) -> Problem {
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail.to_string(), field)
        .condition(format!("{field} is as GET /api/openapi.json says"))
        .solution(solution);
    Problem::told(ProblemKind::BadRequest, error)
}

/// Reads a body.
pub(crate) fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        bad("body", error, "Send the JSON that GET /api/openapi.json describes for this route")
    })
}

/// Reads from the store without holding up whoever else is served.
pub(crate) async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(store_problem(&error)),
        Err(error) => Err(internal(error)),
    }
}

/// What a caller is told when the store fails: a full queue is over soon, anything else is ours.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::Busy | StoreError::Closed => {
            Problem::new(ProblemKind::Unavailable).with_retry_after(1).because(error)
        }
        _ => internal(error),
    }
}

/// A time of a query.
pub(crate) fn micros(field: &str, text: Option<&String>) -> Result<Option<i64>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let (time, _) = Timestamp::parse(text)
        .map_err(|error| bad(field, error, "Write a time such as 2026-03-04T05:06:07Z"))?;
    Ok(Some(time.unix_millis().saturating_mul(1000)))
}

/// How many of a list are wanted.
pub(crate) fn limit(asked: Option<usize>, usual: usize, most: usize) -> usize {
    asked.unwrap_or(usual).clamp(1, most)
}

/// A text that is not empty.
pub(crate) fn some(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
