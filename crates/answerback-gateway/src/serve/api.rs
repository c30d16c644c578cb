//! What programs ask without MCP: a call judged, and the cases that wait for a person.

use std::sync::Arc;

use answerback::UuidV7;
use answerback::case::Submission;
use answerback::contract::atdf::ErrorBuilder;
use answerback::judge::{CallLine, Catalogue, judge};
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use answerback_store::{CaseFilter, CaseRecord, CaseStatus, Store, StoreError};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::{Backend, Service};
use crate::decide::document;

/// How many cases one answer has.
const PAGE: usize = 100;

pub(super) fn routes(service: &Arc<Service>) -> Routes {
    let handle = || Arc::clone(service);
    let (checking, listing, showing, deciding) = (handle(), handle(), handle(), handle());
    Routes::new()
        .route(
            "/api/calls/check",
            Scope::Call,
            post(move |Extension(principal): Extension<Principal>, body: Bytes| async move {
                check(&checking, &principal, &body)
            }),
        )
        .route(
            "/api/cases",
            Scope::Read,
            get(move |RawQuery(query): RawQuery| async move { list(&listing, query).await }),
        )
        .route(
            "/api/cases/{id}",
            Scope::Read,
            get(move |Path(id): Path<String>| async move { show(&showing, &id).await }),
        )
        .route(
            "/api/cases/{id}/decision",
            Scope::Decide,
            post(
                move |Path(id): Path<String>, Extension(by): Extension<Principal>, body: Bytes| {
                    async move { decide(&deciding, &id, &by, &body).await }
                },
            ),
        )
}

fn json_response(value: &impl serde::Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(value)
        .map_err(|error| Problem::new(ProblemKind::Internal).because(error))?;
    let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
    Ok((kind, text).into_response())
}

/// A body that is not what it has to be.
fn bad(detail: impl std::fmt::Display) -> Problem {
    let error = ErrorBuilder::new("INVALID_PARAMETER", detail.to_string(), "body");
    let error = error.condition("The body is what the route takes").solution("Mend the body");
    Problem::told(ProblemKind::BadRequest, error)
}

/// A decision that does not hold.
fn refused(detail: impl std::fmt::Display) -> Problem {
    let error = ErrorBuilder::new("DECISION_REFUSED", detail.to_string(), "decision");
    let error =
        error.condition("The case is open and as it was seen").solution("Read the case again");
    Problem::told(ProblemKind::Conflict, error)
}

/// Judges one call. The body is a line of `answerback replay` with the tool's `inputSchema` as `schema`; where that is
/// missing, the tool of a server behind the gateway is meant. Attempts are counted by conversation, where one is named.
fn check(service: &Service, principal: &Principal, body: &[u8]) -> Result<Response, Problem> {
    let current = service.current();
    let gateway = &current.gateway;
    let line = CallLine::read(body, gateway.limits).map_err(bad)?;
    let schema = serde_json::from_slice::<Value>(body).ok().and_then(|mut line| {
        let schema = line.get_mut("schema").map(Value::take);
        schema.filter(|schema| !schema.is_null())
    });
    let inline = schema
        .map(|schema| Catalogue::new([(line.tool.clone(), schema)]))
        .transpose()
        .map_err(bad)?;
    let known = current.backends.iter().find_map(|backend| {
        let known = backend.known()?;
        known.tools.contains(&line.tool).then_some(known)
    });
    // What nobody has is answered with what the first server has instead.
    let other = || current.backends.iter().find_map(Backend::known);
    let known = known.or_else(other);
    let catalogue = match (&inline, &known) {
        (Some(inline), _) => inline,
        (None, Some(known)) => known.tools.inputs(),
        (None, None) => {
            let text = "no schema is given, and no server behind has listed its tools yet: give the tool's inputSchema as \"schema\"";
            return Err(bad(text));
        }
    };
    let named = line.conversation.clone();
    let conversation = json!(["api", principal.name(), named]).to_string();
    let line = line.with_conversation(conversation);
    let judged = judge(catalogue, line, &gateway.validation, gateway.limits);
    let random = crate::surroundings::random()
        .map_err(|error| Problem::new(ProblemKind::Unavailable).because(error))?;
    let now = crate::surroundings::now();
    let outcome = match named {
        Some(_) => judged.track(&gateway.tracker, now, random),
        None => judged.as_attempt(1, now, random),
    };
    json_response(&judged.answer(outcome))
}

fn store(service: &Service) -> Result<Store, Problem> {
    let current = service.current();
    let recorder = current
        .gateway
        .recorder()
        .ok_or_else(|| Problem::new(ProblemKind::NotFound).because("nothing is recorded"))?;
    Ok(recorder.store().clone())
}

/// Reads from the store without holding up whoever else is served.
async fn reading<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let internal =
        |error: &dyn std::fmt::Display| Problem::new(ProblemKind::Internal).because(error);
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(internal(&error)),
        Err(error) => Err(internal(&error)),
    }
}

/// The cases that wait; all of them with `?all=true`. `?after=ID` goes on after the last one of a page.
async fn list(service: &Service, query: Option<String>) -> Result<Response, Problem> {
    let store = store(service)?;
    let query = query.unwrap_or_default();
    let said =
        |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let mut filter = CaseFilter::default();
    if said("all") != Some("true") {
        filter = filter.with_status(CaseStatus::Waiting);
    }
    let after = said("after").map(case_id).transpose()?;
    let page = reading(move || store.cases(&filter, after.as_ref(), PAGE)).await?;
    let cases: Vec<Value> = page.cases.iter().map(document).collect();
    json_response(&json!({"cases": cases, "next": page.next}))
}

async fn show(service: &Service, id: &str) -> Result<Response, Problem> {
    json_response(&document(&find(service, id).await?))
}

async fn find(service: &Service, id: &str) -> Result<CaseRecord, Problem> {
    let (store, id) = (store(service)?, case_id(id)?);
    let record = reading(move || store.case(&id)).await?;
    record.ok_or_else(|| Problem::new(ProblemKind::NotFound))
}

/// Decides a case. The body is the decision with the digest and the revision of what the person saw.
async fn decide(
    service: &Service,
    id: &str,
    by: &Principal,
    body: &[u8],
) -> Result<Response, Problem> {
    let submission: Submission = serde_json::from_slice(body).map_err(bad)?;
    let submission = submission.with_by(by.name());
    let record = find(service, id).await?;
    let deciding = crate::decide(&store(service)?, record.case.id, submission, "api");
    let decided = match deciding {
        Ok(ticket) => ticket.await,
        Err(error) => Err(error),
    };
    match decided {
        Ok(decided) => json_response(&document(&decided.value)),
        Err(error @ (StoreError::Decision(_) | StoreError::Missing(_) | StoreError::Unit(_))) => {
            Err(refused(error))
        }
        Err(error) => Err(Problem::new(ProblemKind::Unavailable).because(error)),
    }
}

fn case_id(text: &str) -> Result<UuidV7, Problem> {
    UuidV7::try_from(text).map_err(|_| Problem::new(ProblemKind::NotFound))
}
