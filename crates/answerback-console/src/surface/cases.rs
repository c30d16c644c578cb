//! Cases that wait for a person, and their decisions.

use std::sync::Arc;
use std::time::Duration;

use answerback::UuidV7;
use answerback::case::{CaseKind, CaseState, DecisionError, DecisionSubmission};
use answerback::contract::atdf::ErrorBuilder;
use answerback::finding::secrets;
use answerback_http::{Closing, Principal, Problem, ProblemKind, Routes, Scope};
use answerback_record::system::now;
use answerback_record::tell_acknowledgement;
use answerback_store::{CaseFilter, CaseRecord, CaseStatus, StoreError, Transaction};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::Console;
use crate::ask::{
    self, Answer, aside, bad, held, limit, not_found, ok, some, store_problem, surface_of,
};
use crate::case::{CaseDocument, Proposal, Question};

/// The longest wait for a decision in one request, in seconds.
const LONGEST_WAIT: u64 = 60;
/// The largest request body.
const LARGEST: usize = 1 << 20;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(LARGEST)
        .route("/api/cases", Scope::Read, get(list).with_state(state()))
        .route("/api/cases", Scope::Ingest, post(ask_person).with_state(state()))
        .route("/api/cases/{id}", Scope::Read, get(show).with_state(state()))
        .route("/api/cases/{id}/decision", Scope::Ingest, get(wait).with_state(state()))
        .route("/api/cases/{id}/decision", Scope::Decide, post(decide).with_state(state()))
        .route("/api/cases/{id}/acknowledgement", Scope::Ingest, post(seen).with_state(state()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CaseListRow {
    status: Option<String>,
    kind: Option<String>,
    after: Option<String>,
    limit: Option<usize>,
}

async fn list(State(console): State<Arc<Console>>, Query(listed): Query<CaseListRow>) -> Answer {
    let mut filter = CaseFilter::default();
    filter = match some(listed.status).as_deref() {
        None | Some("waiting") => filter.with_status(CaseStatus::Waiting),
        Some("decided") => filter.with_status(CaseStatus::Decided),
        Some("lapsed") => filter.with_status(CaseStatus::Lapsed),
        Some("all") => filter,
        Some(other) => {
            let words = "Use waiting, decided, lapsed or all";
            return Err(bad("status", format!("{other:?} is no status of a case"), words));
        }
    };
    if let Some(word) = some(listed.kind) {
        let kind: CaseKind = serde_json::from_value(Value::from(word))
            .map_err(|error| bad("kind", error, "Use proposal, question or escalation"))?;
        filter = filter.with_kind(kind);
    }
    let after = some(listed.after).map(|text| case_id(&text)).transpose()?;
    let (store, count) = (console.store.clone(), limit(listed.limit, 100, 500));
    let (cases, next) = aside(move || {
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
enum New {
    Proposal(Proposal),
    Question(Question),
}

/// Opens a case for a proposal or a question, which is recorded as a reply.
async fn ask_person(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    body: Bytes,
) -> Answer {
    let asked: New = ask::variant(&body, "kind", &["expires_in_seconds"])?;
    let reply = match &asked {
        New::Proposal(proposal) => proposal.reply(now()),
        New::Question(question) => question.reply(now()),
    };
    let reply = reply.map_err(|error| bad("body", error, "Say what is asked"))?;
    let id = console.ask(&reply, principal.name()).await;
    let id = id.map_err(|error| bad("body", error, "Say what is asked"))?;
    ask::json(StatusCode::CREATED, &document(&console, record(&console, id).await?).await?)
}

async fn show(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let record = record(&console, case_id(&id)?).await?;
    ok(&document(&console, record).await?)
}

async fn record(console: &Console, id: UuidV7) -> Result<CaseRecord, Problem> {
    let store = console.store.clone();
    aside(move || store.case(&id)).await?.ok_or_else(|| not_found("case"))
}

async fn document(console: &Console, record: CaseRecord) -> Result<CaseDocument, Problem> {
    let store = console.store.clone();
    aside(move || CaseDocument::of(record, &store, now())).await
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
) -> Answer {
    let submission: DecisionSubmission = ask::variant(&body, "decision", &["revision"])?;
    let submission = submission.with_by(by.name());
    let before = record(&console, case_id(&id)?).await?;
    let ticket = console.behind.decide(before.case.id.clone(), submission, surface_of(&by));
    let decided = match ticket {
        Ok(ticket) => ticket.await,
        Err(error) => Err(error),
    };
    console.behind.tell_decided();
    console.live.nudge();
    match decided {
        Ok(decided) => {
            let was_decided = before.case.decision().is_some();
            let status = if was_decided { StatusCode::OK } else { StatusCode::CREATED };
            ask::json(status, &document(&console, decided.value).await?)
        }
        Err(error) => {
            let now = record(&console, before.case.id).await.ok();
            Err(refused(&error, now.as_ref()))
        }
    }
}

/// Returns the problem for a rejected decision, with the earlier decision if there is one.
fn refused(error: &StoreError, record: Option<&CaseRecord>) -> Problem {
    let told = |kind, code: &str, solution: &str| {
        let mut builder = ErrorBuilder::new(code, error.to_string(), "decision")
            .condition("The case is open, and as the person saw it")
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
        Problem::told(kind, builder)
    };
    match error {
        StoreError::Decision(error) => match error {
            DecisionError::AlreadyDecided(_) => {
                told(ProblemKind::Conflict, "ALREADY_DECIDED", "Read the decision that holds")
            }
            DecisionError::OtherContent | DecisionError::Stale { .. } => {
                told(ProblemKind::Conflict, "CASE_CHANGED", "Look at the case again, then decide")
            }
            DecisionError::Expired(_) => {
                told(ProblemKind::Gone, "CASE_EXPIRED", "Let the agent ask again")
            }
            _ => told(ProblemKind::Unprocessable, "DECISION_UNUSABLE", "Mend the decision"),
        },
        StoreError::Unit(_) => {
            told(ProblemKind::Unprocessable, "DECISION_UNUSABLE", "Mend the decision")
        }
        StoreError::Missing(_) => not_found("case"),
        error => store_problem(error),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wait {
    wait: Option<u64>,
}

/// Waits for the decision and returns the case. After the waiting time it returns the case as it is. Only the caller
/// that asked, or one with the scope `read`, may use it.
async fn wait(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Extension(closing): Extension<Closing>,
    Path(id): Path<String>,
    Query(Wait { wait }): Query<Wait>,
) -> Answer {
    let found = heard(&console, case_id(&id)?, &principal).await?;
    let seconds = wait.unwrap_or_default().min(LONGEST_WAIT);
    let _held = match seconds {
        0 => None,
        _ => Some(held(&console.waiting, &principal, "requests that wait")?),
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    let decided = tokio::select! {
        decided = console.decided(&found.case.id, principal.name(), until) => decided,
        () = closing.begun() => return ok(&document(&console, found).await?),
    };
    let decided = decided.map_err(|error| store_problem(&error))?;
    ok(&decided.ok_or_else(|| not_found("case"))?)
}

/// Returns a case that the principal may see. Any other case is reported as not found, so its existence stays hidden.
async fn heard(
    console: &Arc<Console>,
    id: UuidV7,
    principal: &Principal,
) -> Result<CaseRecord, Problem> {
    let found = record(console, id).await?;
    let (aside_console, asked, principal) = (Arc::clone(console), found.clone(), principal.clone());
    let hears = aside(move || aside_console.hears(&asked, &principal)).await?;
    if hears { Ok(found) } else { Err(not_found("case")) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenCase {
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    note: Option<String>,
}

/// Records that the agent has seen the decision, with the outcome.
async fn seen(
    State(console): State<Arc<Console>>,
    Extension(by): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let said: SeenCase = ask::body(&body, &[])?;
    let found = heard(&console, case_id(&id)?, &by).await?;
    if found.case.decision().is_none() {
        let told = ErrorBuilder::new("NOT_DECIDED", "Nobody has decided yet", "case")
            .condition("The case is decided")
            .solution("Wait for the decision: GET /api/cases/{id}/decision?wait=30");
        return Err(Problem::told(ProblemKind::Conflict, told));
    }
    let before = document(&console, found.clone()).await?;
    if before.acknowledged.is_some() {
        return ok(&before);
    }
    let outcome = said.outcome.as_deref().unwrap_or("seen");
    let said = json!({"by": by.name(), "outcome": outcome, "note": said.note});
    let said = match aside(move || Ok(secrets::redact_value(&said))).await? {
        Value::Object(said) => said,
        _ => Map::new(),
    };
    let (case, is_hidden) = (found.case.clone(), found.private.is_some());
    let tell = move |transaction: &mut dyn Transaction| {
        tell_acknowledgement(transaction, &case, said.clone())?;
        // Once the decision is acknowledged, its private part is no longer needed.
        if is_hidden { transaction.keep_private(&case.id, None) } else { Ok(()) }
    };
    let ticket = console.store.write(tell);
    let written = ticket.map_err(|error| store_problem(&error))?.await;
    console.live.nudge();
    match written {
        Ok(_) => ask::json(StatusCode::CREATED, &document(&console, found).await?),
        // Another request acknowledged the decision first.
        Err(StoreError::Unit(_)) => ok(&document(&console, found).await?),
        Err(error) => Err(store_problem(&error)),
    }
}
