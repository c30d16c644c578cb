//! Artifacts by id: lists them, shows any version, and changes the status.

use std::sync::Arc;

use answerback::Digest;
use answerback::contract::atdf::ErrorBuilder;
use answerback::contract::ui::{ArtifactId, ArtifactStatus};
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use answerback_ledger::{Draft, LeafId, LeafToken};
use answerback_store::{LedgerEntry, StoreError, Transaction};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::{invalid_parameter, not_found, store_problem};
use super::replies::find;
use super::request::{decision_surface, non_empty, page_size, parse_body};
use super::response::{ApiResult, blocking, json_response, ok};
use crate::Console;
use crate::artifact::{
    self, ARTIFACT_STREAMS, ArtifactDocument, StatusChangeOutcome, VersionHistory,
};
use crate::reply::ReplyView;

/// The largest request body.
const MAX_BODY_BYTES: usize = 4096;
/// The largest number of artifacts that are read for one page.
const MAX_EXAMINED: usize = 2000;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(MAX_BODY_BYTES)
        .route("/api/artifacts", Scope::Read, get(list).with_state(state()))
        .route("/api/artifacts/{id}", Scope::Read, get(show).with_state(state()))
        .route("/api/artifacts/{id}/versions", Scope::Read, get(versions).with_state(state()))
        .route("/api/artifacts/{id}/status", Scope::Decide, post(set_status).with_state(state()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ArtifactListQuery {
    kind: Option<String>,
    status: Option<String>,
    reply: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

/// The filter of a list.
struct ArtifactFilter {
    kind: Option<String>,
    status: Option<ArtifactStatus>,
}

impl ArtifactFilter {
    fn matches(&self, artifact: &ArtifactDocument) -> bool {
        self.kind.as_ref().is_none_or(|kind| artifact.kind.as_ref() == Some(kind))
            && self.status.is_none_or(|status| artifact.status == status)
    }
}

async fn list(
    State(console): State<Arc<Console>>,
    Query(query): Query<ArtifactListQuery>,
) -> ApiResult {
    let status = non_empty(query.status).map(|word| {
        serde_json::from_value(Value::from(word)).map_err(|error| {
            invalid_parameter("status", error, "Use draft, final, deprecated or superseded")
        })
    });
    let filter = ArtifactFilter { kind: non_empty(query.kind), status: status.transpose()? };
    if let Some(reply) = non_empty(query.reply) {
        let mut artifacts = artifacts_of_reply(&console, find(&console, &reply).await?).await?;
        artifacts.retain(|artifact| filter.matches(artifact));
        return ok(&json!({"artifacts": artifacts, "next": null}));
    }
    let mut below = non_empty(query.before)
        .map(|text| artifact_id(&text))
        .transpose()?
        .map(|id| format!("{ARTIFACT_STREAMS}{id}"));
    let (store, count) = (console.store.clone(), page_size(query.limit, 50, 200));
    let (artifacts, next) = blocking(move || {
        let (mut artifacts, mut examined) = (Vec::new(), 0);
        loop {
            let names = store.stream_names(ARTIFACT_STREAMS, below.as_deref(), count)?;
            for name in &names {
                let id = name.strip_prefix(ARTIFACT_STREAMS).unwrap_or_default();
                let history = match ArtifactId::try_from(id) {
                    Ok(id) => VersionHistory::read(&store, &id)?,
                    Err(_) => None,
                };
                let latest = history.map(|history| history.latest().clone());
                artifacts.extend(latest.filter(|latest| filter.matches(latest)));
                examined += 1;
                below = Some(name.clone());
                if artifacts.len() == count || examined == MAX_EXAMINED {
                    let next = below.as_deref().and_then(|it| it.strip_prefix(ARTIFACT_STREAMS));
                    return Ok((artifacts, next.map(ToOwned::to_owned)));
                }
            }
            if names.len() < count {
                return Ok((artifacts, None));
            }
        }
    })
    .await?;
    ok(&json!({"artifacts": artifacts, "next": next}))
}

/// Returns the artifacts of a reply in their present state.
pub(super) async fn artifacts_of_reply(
    console: &Console,
    entry: LedgerEntry,
) -> Result<Vec<ArtifactDocument>, Problem> {
    let store = console.store.clone();
    blocking(move || {
        let view = ReplyView::of(&entry);
        let (Some(document), Some(contract)) = (&view.document, view.contract) else {
            return Ok(Vec::new());
        };
        artifact::of_entry(&store, &entry, document, contract)
    })
    .await
}

fn artifact_id(text: &str) -> Result<ArtifactId, Problem> {
    ArtifactId::try_from(text).map_err(|_| not_found("artifact"))
}

async fn history(console: &Console, id: &str) -> Result<VersionHistory, Problem> {
    let (store, id) = (console.store.clone(), artifact_id(id)?);
    let history = blocking(move || VersionHistory::read(&store, &id)).await?;
    history.ok_or_else(|| not_found("artifact"))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionQuery {
    version: Option<usize>,
}

async fn show(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    Query(VersionQuery { version }): Query<VersionQuery>,
) -> ApiResult {
    let history = history(&console, &id).await?;
    let artifact = match version {
        Some(number) => {
            history.version(number).ok_or_else(|| not_found("version of this artifact"))?
        }
        None => history.latest(),
    };
    let document = document(&console, artifact).await?;
    let latest = history.latest().version;
    ok(&json!({"artifact": artifact, "document": document, "latest": latest}))
}

/// Returns the artifact's content from its reply, or `None` if it was erased.
async fn document(
    console: &Console,
    artifact: &ArtifactDocument,
) -> Result<Option<Value>, Problem> {
    let (store, index) = (console.store.clone(), artifact.index);
    let entry = blocking(move || store.entry(index)).await?;
    let document = entry.and_then(|entry| ReplyView::of(&entry).document);
    Ok(document.zip(artifact.position).and_then(|(document, position)| {
        document.pointer(&format!("/artifacts/{position}")).cloned()
    }))
}

/// Returns the entry of an artifact's latest version and its position there.
pub(super) async fn artifact_location(
    console: &Console,
    id: &str,
) -> Result<(u64, usize), Problem> {
    let history = history(console, id).await?;
    let latest = history.latest();
    Ok((latest.index, latest.position.ok_or_else(|| not_found("artifact"))?))
}

async fn versions(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let history = history(&console, &id).await?;
    ok(&json!({"versions": history.versions()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusChangeRequest {
    status: String,
    version: usize,
}

/// Changes the status of the version that the person saw. The change is recorded as a decision about its content.
async fn set_status(
    State(console): State<Arc<Console>>,
    Extension(by): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> ApiResult {
    let StatusChangeRequest { status: word, version } = parse_body(&body, &["version"])?;
    let status = artifact::status(&word).ok_or_else(|| {
        invalid_parameter(
            "status",
            format!("{word:?} is not a status that can be set"),
            "Use final or deprecated",
        )
    })?;
    let before = history(&console, &id).await?;
    let seen = before.version(version).ok_or_else(|| not_found("version of this artifact"))?;
    let content = document(&console, seen).await?.ok_or_else(|| {
        let error =
            ErrorBuilder::new("ARTIFACT_ERASED", "The artifact's content was erased", "artifact")
                .condition(
                    "The content still exists, so that a person can see what they decide about",
                )
                .solution("Submit the artifact again");
        Problem::from_error(ProblemKind::Gone, error)
    })?;
    let id = artifact_id(&id)?;
    let draft = decision_entry(&console, &id, version, status, &content, &by)
        .map_err(|error| store_problem(&error))?;
    let (name, artifact) = (by.name().to_owned(), id.clone());
    let unit = move |transaction: &mut dyn Transaction| {
        let outcome = artifact::set_status(transaction, &artifact, version, status, &name)?;
        if outcome == StatusChangeOutcome::Done {
            transaction.append(&draft)?;
        }
        Ok(outcome)
    };
    let ticket = console.store.write(unit).map_err(|error| store_problem(&error))?;
    let outcome = ticket.await.map_err(|error| store_problem(&error))?.value;
    console.live.nudge();
    let conflict = |code: &str, message: String, solution: &str| {
        let error = ErrorBuilder::new(code, message, "version")
            .condition("The version is the latest one, and a draft or final")
            .solution(solution);
        Err(Problem::from_error(ProblemKind::Conflict, error))
    };
    match outcome {
        StatusChangeOutcome::Done => {
            let now = history(&console, id.as_str()).await?;
            json_response(StatusCode::CREATED, &json!({"artifact": now.latest()}))
        }
        StatusChangeOutcome::Unchanged => ok(&json!({"artifact": before.latest()})),
        StatusChangeOutcome::Unknown => Err(not_found("artifact")),
        StatusChangeOutcome::Stale(latest) => conflict(
            "ARTIFACT_CHANGED",
            format!("Version {latest} replaced version {version}"),
            "Read the latest version, then set its status",
        ),
        StatusChangeOutcome::Closed(status) => conflict(
            "ARTIFACT_CLOSED",
            format!("The artifact is {status}, and this status is final"),
            "Submit a new artifact",
        ),
    }
}

/// Drafts the entry for a status change: a decision about the content of this version.
fn decision_entry(
    console: &Console,
    id: &ArtifactId,
    version: usize,
    status: ArtifactStatus,
    content: &Value,
    by: &Principal,
) -> Result<Draft, StoreError> {
    let decision = json!({
        "artifact": id, "version": version, "status": status, "by": by.name(), "surface": decision_surface(by),
    });
    let part = console.store.part("decision", decision.to_string().into_bytes())?;
    let word = LeafToken::new(status.as_str()).map_err(StoreError::unit)?;
    let about = LeafId::parse(id.as_str()).map_err(StoreError::unit)?;
    Ok(Draft::decision(about, word, Digest::of(content), version as u64).with_part(part))
}
