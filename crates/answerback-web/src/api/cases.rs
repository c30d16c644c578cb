//! Cases that wait for a person, and their decisions.

use std::sync::Arc;
use std::time::Duration;

use answerback::UuidV7;
use answerback::case::{CaseKind, CaseState, DecisionError, DecisionSubmission};
use answerback::contract::atdf::ErrorBuilder;
use answerback::finding::secrets;
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope, ShutdownSignal};
use answerback_store::recording::append_acknowledgement_event;
use answerback_store::system::now;
use answerback_store::{CaseFilter, CaseRecord, CaseStatus, StoreError, Transaction};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::problem::{invalid_parameter, not_found, store_problem};
use super::request::{
    decision_surface, non_empty, page_size, parse_body, parse_tagged_body, reserve_slot,
};
use super::response::{ApiResult, blocking, json_response, ok};
use crate::Console;
use crate::case::{CaseDocument, Proposal, Question};

/// The longest wait for a decision in one request, in seconds.
const MAX_WAIT_SECONDS: u64 = 60;
/// The largest request body.
const MAX_BODY_BYTES: usize = 1 << 20;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(MAX_BODY_BYTES)
        .route("/api/cases", Scope::Read, get(list).with_state(state()))
        .route("/api/cases", Scope::Ingest, post(create).with_state(state()))
        .route("/api/cases/{id}", Scope::Read, get(show).with_state(state()))
        .route("/api/cases/{id}/decision", Scope::Ingest, get(wait).with_state(state()))
        .route("/api/cases/{id}/decision", Scope::Decide, post(decide).with_state(state()))
        .route(
            "/api/cases/{id}/acknowledgement",
            Scope::Ingest,
            post(acknowledge).with_state(state()),
        )
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CaseListQuery {
    status: Option<String>,
    kind: Option<String>,
    after: Option<String>,
    limit: Option<usize>,
}

async fn list(
    State(console): State<Arc<Console>>,
    Query(query): Query<CaseListQuery>,
) -> ApiResult {
    let mut filter = CaseFilter::default();
    filter = match non_empty(query.status).as_deref() {
        None | Some("waiting") => filter.with_status(CaseStatus::Waiting),
        Some("decided") => filter.with_status(CaseStatus::Decided),
        Some("lapsed") => filter.with_status(CaseStatus::Expired),
        Some("all") => filter,
        Some(other) => {
            let words = "Use waiting, decided, lapsed or all";
            return Err(invalid_parameter(
                "status",
                format!("{other:?} is not a case status"),
                words,
            ));
        }
    };
    if let Some(word) = non_empty(query.kind) {
        let kind: CaseKind = serde_json::from_value(Value::from(word)).map_err(|error| {
            invalid_parameter("kind", error, "Use proposal, question or escalation")
        })?;
        filter = filter.with_kind(kind);
    }
    let after = non_empty(query.after).map(|text| case_id(&text)).transpose()?;
    let (store, count) = (console.store.clone(), page_size(query.limit, 100, 500));
    let (cases, next) = blocking(move || {
        let page = store.cases(&filter, after.as_ref(), count)?;
        let documents =
            page.cases.into_iter().map(|record| CaseDocument::of(record, &store, now()));
        Ok((documents.collect::<Result<Vec<_>, _>>()?, page.next))
    })
    .await?;
    ok(&json!({"cases": cases, "next": next}))
}

/// A new case: `{"kind": "proposal", …}` or `{"kind": "question", …}`.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum NewCaseRequest {
    Proposal(Proposal),
    Question(Question),
}

/// Opens a case for a proposal or a question, which is recorded as a reply.
async fn create(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    body: Bytes,
) -> ApiResult {
    let request: NewCaseRequest = parse_tagged_body(&body, "kind", &["expires_in_seconds"])?;
    let reply = match &request {
        NewCaseRequest::Proposal(proposal) => proposal.reply(now()),
        NewCaseRequest::Question(question) => question.reply(now()),
    };
    let reply = reply.map_err(|error| {
        invalid_parameter("body", error, "Send a title or a question that is not blank")
    })?;
    let id = console.request_decision(&reply, principal.name()).await;
    let id = id.map_err(|error| {
        invalid_parameter("body", error, "Send a title or a question that is not blank")
    })?;
    json_response(StatusCode::CREATED, &document(&console, record(&console, id).await?).await?)
}

async fn show(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let record = record(&console, case_id(&id)?).await?;
    ok(&document(&console, record).await?)
}

async fn record(console: &Console, id: UuidV7) -> Result<CaseRecord, Problem> {
    let store = console.store.clone();
    blocking(move || store.case(&id)).await?.ok_or_else(|| not_found("case"))
}

async fn document(console: &Console, record: CaseRecord) -> Result<CaseDocument, Problem> {
    let store = console.store.clone();
    blocking(move || CaseDocument::of(record, &store, now())).await
}

fn case_id(text: &str) -> Result<UuidV7, Problem> {
    UuidV7::try_from(text).map_err(|_| not_found("case"))
}

/// Decides a case. The body is the decision with the digest and the revision that the person saw.
async fn decide(
    State(console): State<Arc<Console>>,
    Extension(by): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> ApiResult {
    let submission: DecisionSubmission = parse_tagged_body(&body, "decision", &["revision"])?;
    let submission = submission.with_by(by.name());
    let before = record(&console, case_id(&id)?).await?;
    let ticket = console.host.decide(before.case.id.clone(), submission, decision_surface(&by));
    let decided = match ticket {
        Ok(ticket) => ticket.await,
        Err(error) => Err(error),
    };
    console.host.notify_decided();
    console.live.nudge();
    match decided {
        Ok(decided) => {
            let was_decided = before.case.decision().is_some();
            let status = if was_decided { StatusCode::OK } else { StatusCode::CREATED };
            json_response(status, &document(&console, decided.value).await?)
        }
        Err(error) => {
            let now = record(&console, before.case.id).await.ok();
            Err(decision_problem(&error, now.as_ref()))
        }
    }
}

/// Returns the problem for a rejected decision, with the earlier decision if there is one.
fn decision_problem(error: &StoreError, record: Option<&CaseRecord>) -> Problem {
    let problem = |kind, code: &str, solution: &str| {
        let mut builder = ErrorBuilder::new(code, error.to_string(), "decision")
            .condition("The case is open and unchanged since the person saw it")
            .solution(solution);
        if let Some(CaseState::Decided { submission, at }) = record.map(|record| &record.case.state)
        {
            builder = builder
                .received("winning", json!(submission))
                .received("at", at.to_offset_micros());
        }
        if let Some(record) = record {
            builder = builder.received("revision", record.case.revision);
        }
        Problem::from_error(kind, builder)
    };
    match error {
        StoreError::Decision(error) => match error {
            DecisionError::AlreadyDecided(_) => problem(
                ProblemKind::Conflict,
                "ALREADY_DECIDED",
                "Read the decision that was recorded",
            ),
            DecisionError::OtherContent | DecisionError::Stale { .. } => {
                problem(ProblemKind::Conflict, "CASE_CHANGED", "Read the case again, then decide")
            }
            DecisionError::Expired(_) => problem(
                ProblemKind::Gone,
                "CASE_EXPIRED",
                "Let the agent submit the question again",
            ),
            _ => problem(ProblemKind::Unprocessable, "DECISION_UNUSABLE", "Correct the decision"),
        },
        StoreError::Unit(_) => {
            problem(ProblemKind::Unprocessable, "DECISION_UNUSABLE", "Correct the decision")
        }
        StoreError::Missing(_) => not_found("case"),
        error => store_problem(error),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DecisionWaitQuery {
    wait: Option<u64>,
}

/// Waits for the decision and returns the case. After the waiting time it returns the case as it is. Only the caller
/// that asked, or one with the scope `read`, may use it.
async fn wait(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Extension(closing): Extension<ShutdownSignal>,
    Path(id): Path<String>,
    Query(DecisionWaitQuery { wait }): Query<DecisionWaitQuery>,
) -> ApiResult {
    let found = visible_case(&console, case_id(&id)?, &principal).await?;
    let seconds = wait.unwrap_or_default().min(MAX_WAIT_SECONDS);
    let _slot = match seconds {
        0 => None,
        _ => Some(reserve_slot(
            &console.decision_waits,
            &principal,
            "requests waiting for a decision",
        )?),
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    let decided = tokio::select! {
        decided = console.wait_for_decision(&found.case.id, principal.name(), until) => decided,
        () = closing.received() => return ok(&document(&console, found).await?),
    };
    let decided = decided.map_err(|error| store_problem(&error))?;
    ok(&decided.ok_or_else(|| not_found("case"))?)
}

/// Returns a case that the principal may see. Any other case is reported as not found, so its existence stays hidden.
async fn visible_case(
    console: &Arc<Console>,
    id: UuidV7,
    principal: &Principal,
) -> Result<CaseRecord, Problem> {
    let found = record(console, id).await?;
    let (reader, record, principal) = (Arc::clone(console), found.clone(), principal.clone());
    let is_visible = blocking(move || reader.may_see_case(&record, &principal)).await?;
    if is_visible { Ok(found) } else { Err(not_found("case")) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcknowledgementRequest {
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    note: Option<String>,
}

/// Records that the agent has seen the decision, with the outcome.
async fn acknowledge(
    State(console): State<Arc<Console>>,
    Extension(by): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> ApiResult {
    let request: AcknowledgementRequest = parse_body(&body, &[])?;
    let found = visible_case(&console, case_id(&id)?, &by).await?;
    if found.case.decision().is_none() {
        let error = ErrorBuilder::new("NOT_DECIDED", "The case is not decided yet", "case")
            .condition("The case is decided")
            .solution("Wait for the decision: GET /api/cases/{id}/decision?wait=30");
        return Err(Problem::from_error(ProblemKind::Conflict, error));
    }
    let before = document(&console, found.clone()).await?;
    if before.acknowledged.is_some() {
        return ok(&before);
    }
    let outcome = request.outcome.as_deref().unwrap_or("seen");
    let body = json!({"by": by.name(), "outcome": outcome, "note": request.note});
    let body = match blocking(move || Ok(secrets::redact_value(&body))).await? {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let (case, is_redacted) = (found.case.clone(), found.private.is_some());
    let unit = move |transaction: &mut dyn Transaction| {
        append_acknowledgement_event(transaction, &case, body.clone())?;
        // Once the decision is acknowledged, its private part is no longer needed.
        if is_redacted { transaction.store_private(&case.id, None) } else { Ok(()) }
    };
    let ticket = console.store.write(unit);
    let written = ticket.map_err(|error| store_problem(&error))?.await;
    console.live.nudge();
    match written {
        Ok(_) => json_response(StatusCode::CREATED, &document(&console, found).await?),
        // Another request acknowledged the decision first.
        Err(StoreError::Unit(_)) => ok(&document(&console, found).await?),
        Err(error) => Err(store_problem(&error)),
    }
}
