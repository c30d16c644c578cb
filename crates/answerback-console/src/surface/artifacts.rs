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

use super::replies::find;
use crate::Console;
use crate::artifact::{self, ARTIFACT_STREAMS, ArtifactDocument, Settling, VersionHistory};
use crate::ask::{self, Answer, aside, bad, limit, not_found, ok, some, store_problem, surface_of};
use crate::reply::ReplyView;

/// The largest request body.
const LARGEST: usize = 4096;
/// The largest number of artifacts that are read for one page.
const MOST_LOOKED_AT: usize = 2000;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(LARGEST)
        .route("/api/artifacts", Scope::Read, get(list).with_state(state()))
        .route("/api/artifacts/{id}", Scope::Read, get(show).with_state(state()))
        .route("/api/artifacts/{id}/versions", Scope::Read, get(versions).with_state(state()))
        .route("/api/artifacts/{id}/status", Scope::Decide, post(settle).with_state(state()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ArtifactRow {
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
    fn has(&self, artifact: &ArtifactDocument) -> bool {
        self.kind.as_ref().is_none_or(|kind| artifact.kind.as_ref() == Some(kind))
            && self.status.is_none_or(|status| artifact.status == status)
    }
}

async fn list(State(console): State<Arc<Console>>, Query(listed): Query<ArtifactRow>) -> Answer {
    let status = some(listed.status).map(|word| {
        serde_json::from_value(Value::from(word))
            .map_err(|error| bad("status", error, "Use draft, final, deprecated or superseded"))
    });
    let wanted = ArtifactFilter { kind: some(listed.kind), status: status.transpose()? };
    if let Some(reply) = some(listed.reply) {
        let mut artifacts = brought_by(&console, find(&console, &reply).await?).await?;
        artifacts.retain(|artifact| wanted.has(artifact));
        return ok(&json!({"artifacts": artifacts, "next": null}));
    }
    let mut below = some(listed.before)
        .map(|text| artifact_id(&text))
        .transpose()?
        .map(|id| format!("{ARTIFACT_STREAMS}{id}"));
    let (store, count) = (console.store.clone(), limit(listed.limit, 50, 200));
    let (artifacts, next) = aside(move || {
        let (mut artifacts, mut looked_at) = (Vec::new(), 0);
        loop {
            let names = store.stream_names(ARTIFACT_STREAMS, below.as_deref(), count)?;
            for name in &names {
                let id = name.strip_prefix(ARTIFACT_STREAMS).unwrap_or_default();
                let line = match ArtifactId::try_from(id) {
                    Ok(id) => VersionHistory::read(&store, &id)?,
                    Err(_) => None,
                };
                let latest = line.map(|line| line.latest().clone());
                artifacts.extend(latest.filter(|latest| wanted.has(latest)));
                looked_at += 1;
                below = Some(name.clone());
                if artifacts.len() == count || looked_at == MOST_LOOKED_AT {
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
pub(super) async fn brought_by(
    console: &Console,
    entry: LedgerEntry,
) -> Result<Vec<ArtifactDocument>, Problem> {
    let store = console.store.clone();
    aside(move || {
        let shown = ReplyView::of(&entry);
        let (Some(document), Some(contract)) = (&shown.document, shown.contract) else {
            return Ok(Vec::new());
        };
        artifact::of_entry(&store, &entry, document, contract)
    })
    .await
}

fn artifact_id(text: &str) -> Result<ArtifactId, Problem> {
    ArtifactId::try_from(text).map_err(|_| not_found("artifact"))
}

async fn line(console: &Console, id: &str) -> Result<VersionHistory, Problem> {
    let (store, id) = (console.store.clone(), artifact_id(id)?);
    let line = aside(move || VersionHistory::read(&store, &id)).await?;
    line.ok_or_else(|| not_found("artifact"))
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
) -> Answer {
    let line = line(&console, &id).await?;
    let artifact = match version {
        Some(number) => {
            line.version(number).ok_or_else(|| not_found("version of this artifact"))?
        }
        None => line.latest(),
    };
    let document = document(&console, artifact).await?;
    let latest = line.latest().version;
    ok(&json!({"artifact": artifact, "document": document, "latest": latest}))
}

/// Returns the artifact's content from its reply, or `None` if it was erased.
async fn document(
    console: &Console,
    artifact: &ArtifactDocument,
) -> Result<Option<Value>, Problem> {
    let (store, index) = (console.store.clone(), artifact.index);
    let entry = aside(move || store.entry(index)).await?;
    let document = entry.and_then(|entry| ReplyView::of(&entry).document);
    Ok(document.zip(artifact.position).and_then(|(document, position)| {
        document.pointer(&format!("/artifacts/{position}")).cloned()
    }))
}

/// Returns the entry of an artifact's latest version and its position there.
pub(super) async fn place_of(console: &Console, id: &str) -> Result<(u64, usize), Problem> {
    let line = line(console, id).await?;
    let latest = line.latest();
    Ok((latest.index, latest.position.ok_or_else(|| not_found("artifact"))?))
}

async fn versions(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let line = line(&console, &id).await?;
    ok(&json!({"versions": line.versions()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settle {
    status: String,
    version: usize,
}

/// Changes the status of the version that the person saw. The change is recorded as a decision about its content.
async fn settle(
    State(console): State<Arc<Console>>,
    Extension(by): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let Settle { status: word, version } = ask::body(&body, &["version"])?;
    let status = artifact::status(&word).ok_or_else(|| {
        bad("status", format!("{word:?} is nothing to decide"), "Use final or deprecated")
    })?;
    let before = line(&console, &id).await?;
    let seen = before.version(version).ok_or_else(|| not_found("version of this artifact"))?;
    let held = document(&console, seen).await?.ok_or_else(|| {
        let told = ErrorBuilder::new("ARTIFACT_ERASED", "Its content was erased", "artifact")
            .condition("Somebody can still look at what is decided about")
            .solution("Hand the artifact in again");
        Problem::told(ProblemKind::Gone, told)
    })?;
    let id = artifact_id(&id)?;
    let draft = drafted(&console, &id, version, status, &held, &by)
        .map_err(|error| store_problem(&error))?;
    let (name, settled) = (by.name().to_owned(), id.clone());
    let unit = move |transaction: &mut dyn Transaction| {
        let settling = artifact::settle(transaction, &settled, version, status, &name)?;
        if settling == Settling::Done {
            transaction.append(&draft)?;
        }
        Ok(settling)
    };
    let ticket = console.store.write(unit).map_err(|error| store_problem(&error))?;
    let settling = ticket.await.map_err(|error| store_problem(&error))?.value;
    console.live.nudge();
    let refused = |code: &str, message: String, solution: &str| {
        let told = ErrorBuilder::new(code, message, "version")
            .condition("It is the latest version, and a draft or final")
            .solution(solution);
        Err(Problem::told(ProblemKind::Conflict, told))
    };
    match settling {
        Settling::Done => {
            let now = line(&console, id.as_str()).await?;
            ask::json(StatusCode::CREATED, &json!({"artifact": now.latest()}))
        }
        Settling::Unchanged => ok(&json!({"artifact": before.latest()})),
        Settling::Unknown => Err(not_found("artifact")),
        Settling::Stale(latest) => refused(
            "ARTIFACT_CHANGED",
            format!("Version {latest} has taken the place of version {version}"),
            "Look at the latest version, then say where it stands",
        ),
        Settling::Closed(status) => refused(
            "ARTIFACT_CLOSED",
            format!("It is {status}, and that is for good"),
            "Hand a new artifact in",
        ),
    }
}

/// Drafts the entry for a status change: a decision about the content of this version.
fn drafted(
    console: &Console,
    id: &ArtifactId,
    version: usize,
    status: ArtifactStatus,
    held: &Value,
    by: &Principal,
) -> Result<Draft, StoreError> {
    let said = json!({
        "artifact": id, "version": version, "status": status, "by": by.name(), "surface": surface_of(by),
    });
    let part = console.store.part("decision", said.to_string().into_bytes())?;
    let word = LeafToken::new(status.as_str()).map_err(StoreError::unit)?;
    let about = LeafId::parse(id.as_str()).map_err(StoreError::unit)?;
    Ok(Draft::decision(about, word, Digest::of(held), version as u64).with_part(part))
}
