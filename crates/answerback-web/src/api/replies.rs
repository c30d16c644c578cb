//! Replies: submits, lists and shows them in any contract.

use std::sync::Arc;

use answerback::contract::atdf::ErrorBuilder;
use answerback::contract::ui::{PresentationRouter, ResponseEnvelope};
use answerback::contract::{Contract, Profile, recognise};
use answerback::convert::{Inputs, convert};
use answerback::json::{Document, Limits, read};
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use answerback_ledger::{LeafId, LeafKind};
use answerback_store::recording::{RESPONSE, RESPONSE_ID_TAKEN};
use answerback_store::{CaseFilter, EntryFilter, LedgerEntry, Store, StoreError, entry_reference};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::artifacts::artifacts_of_reply;
use super::problem::{internal, invalid_parameter, not_found, store_problem};
use super::request::{non_empty, page_size, parse_micros};
use super::response::{ApiResult, blocking, json_response, ok};
use crate::Console;
use crate::reply::{
    IngestError, ReplyRow, ReplyView, SubmittedReply, ingest_with_files, part, part_text,
};

/// The largest document that is recorded.
const MAX_BODY_BYTES: usize = 16 << 20;
/// The kinds in a list without a filter on kinds.
const KINDS: [LeafKind; 4] =
    [LeafKind::Response, LeafKind::Rejected, LeafKind::Validation, LeafKind::Escalation];
/// The number of entries that are read at a time when some are filtered out.
const PAGE: usize = 256;
/// The largest number of findings in one response. `answerback check` reports all of them.
pub(super) const MAX_FINDINGS: usize = 500;
/// The largest number of cases that are searched for those of one reply.
const MAX_CASES: usize = 500;
/// The largest part whose text is included. Larger parts are only in the export.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// The largest extension of the full-text index before a search, in steps of 256 entries. The limit keeps a search on a long
/// log fast.
const MAX_STEPS: usize = 8;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    let submit_reply = axum::routing::post(submit_reply).with_state(state());
    Routes::with_body_limit(MAX_BODY_BYTES)
        .route("/api/replies", Scope::Ingest, submit_reply)
        .merge(
            Routes::new()
                .route("/api/replies", Scope::Read, get(list).with_state(state()))
                .route("/api/replies/{id}", Scope::Read, get(show).with_state(state()))
                .route("/api/replies/{id}/findings", Scope::Read, get(findings).with_state(state()))
                .route("/api/replies/{id}/proof", Scope::Read, get(proof).with_state(state())),
        )
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReplyQuery {
    #[serde(rename = "as")]
    contract: Option<String>,
    profile: Option<String>,
    to: Option<String>,
}

pub(super) fn contract(field: &str, word: Option<String>) -> Result<Option<Contract>, Problem> {
    let Some(word) = non_empty(word) else { return Ok(None) };
    let contract = word.parse().map_err(|error| {
        invalid_parameter(field, error, "Use atdf, governed, ui or tool, or omit it")
    })?;
    Ok(Some(contract))
}

pub(super) fn profile(word: Option<String>) -> Result<Profile, Problem> {
    match non_empty(word).as_deref() {
        None | Some("strict") => Ok(Profile::Strict),
        Some("lenient") => Ok(Profile::Lenient),
        Some(other) => Err(invalid_parameter(
            "profile",
            format!("{other:?} is not a profile"),
            "Use strict or lenient",
        )),
    }
}

/// Checks a reply, records it, and returns its receipt.
async fn submit_reply(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Query(query): Query<ReplyQuery>,
    body: Bytes,
) -> ApiResult {
    let (requested, to) = (contract("as", query.contract)?, contract("to", query.to)?);
    // The conversion comes first, so that nothing is recorded if it fails.
    let converted = match to {
        Some(to) => Some(convert_body(&body, requested, to).await?),
        None => None,
    };
    let submitted = SubmittedReply::new(body.clone(), principal.name())
        .with_contract(requested)
        .with_profile(profile(query.profile)?);
    let governance = console.host.active_governance();
    let files = &console.files;
    let recorded = ingest_with_files(&console.store, governance, files, submitted).await;
    let recorded = recorded.map_err(|error| match error {
        error @ IngestError::TooManyCases(_) => invalid_parameter("body", error, "Send several replies"),
        IngestError::Reply(error) => invalid_parameter(
            "body",
            error,
            "Send a reply in one of the four contracts; name it with ?as=atdf, governed, ui or tool",
        ),
        error @ IngestError::IdTaken { .. } => {
            console.live.nudge();
            let error = ErrorBuilder::new(RESPONSE_ID_TAKEN, error.to_string(), "response_id")
                .condition("A response id belongs to one response, which never changes")
                .solution("Send the response with a new response_id");
            Problem::from_error(ProblemKind::Conflict, error)
        }
        IngestError::Store(error @ StoreError::AlreadyAnswered { .. }) => {
            let error = ErrorBuilder::new(
                "ALREADY_ANSWERED",
                error.to_string(),
                "request_context.request_id",
            )
            .condition("A request has only one response")
            .solution("Send the response with the id of the request that it answers");
            Problem::from_error(ProblemKind::Conflict, error)
        }
        IngestError::Store(error) => store_problem(&error),
    })?;
    console.live.nudge();
    let store = console.store.clone();
    let index = recorded.index;
    let receipt = blocking(move || store.receipt(index)).await?;
    let status = if recorded.is_repeated { StatusCode::OK } else { StatusCode::CREATED };
    json_response(
        status,
        &json!({
            "id": recorded.id,
            "index": recorded.index,
            "kind": if recorded.is_rejected { "rejected" } else { "response" },
            "contract": recorded.contract.as_str(),
            "valid": !recorded.is_rejected,
            "findings": recorded.findings.iter().take(MAX_FINDINGS).collect::<Vec<_>>(),
            "finding_count": recorded.findings.len(),
            "cases": recorded.cases,
            "artifacts": recorded.artifacts,
            "receipt": receipt.to_string(),
            "converted": converted,
        }),
    )
}

/// Converts the body to another contract on a blocking thread.
async fn convert_body(
    body: &Bytes,
    requested: Option<Contract>,
    to: Contract,
) -> Result<Value, Problem> {
    let body = body.clone();
    let convert = move || {
        // This parses like the recorder and like `answerback convert`. A duplicate member makes the document ambiguous.
        let document = read(&body, Limits::default())
            .map_err(|error| invalid_parameter("body", error, "Send one JSON document"))?;
        reject_ambiguous(&document)?;
        let document = document.value;
        let from = requested.or_else(|| recognise(&document).map(|recognised| recognised.contract));
        let from = from.ok_or_else(|| {
            invalid_parameter(
                "body",
                "the body is not recognized as any contract",
                "Name its contract with ?as=",
            )
        })?;
        convert_document(&document, from, to)
    };
    tokio::task::spawn_blocking(convert).await.map_err(internal)?
}

/// Rejects an ambiguous document, for example one with a duplicate member.
fn reject_ambiguous(document: &Document) -> Result<(), Problem> {
    match document.findings.iter().find(|finding| finding.is_error()) {
        Some(finding) => Err(not_convertible(&finding.to_string())),
        None => Ok(()),
    }
}

fn convert_document(document: &Value, from: Contract, to: Contract) -> Result<Value, Problem> {
    let converted = convert(document, from, to, &Inputs::default());
    let converted = converted.map_err(|error| not_convertible(&error.to_string()))?;
    Ok(converted.document)
}

/// Returns the problem for a reply that cannot be converted.
fn not_convertible(why: &str) -> Problem {
    let error = ErrorBuilder::new("NOT_CONVERTIBLE", why, "to")
        .condition("The reply is unambiguous, and has everything that the other contract requires")
        .solution("Convert it with `answerback convert --to CONTRACT FILE`, which has options for the missing values");
    Problem::from_error(ProblemKind::Unprocessable, error)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct EntryListQuery {
    kind: Option<String>,
    outcome: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
    text: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
    limit: Option<usize>,
}

impl EntryListQuery {
    fn filter(&self) -> Result<EntryFilter, Problem> {
        let mut filter = EntryFilter::default().newest_first();
        if let Some(outcome) = non_empty(self.outcome.clone()) {
            filter = filter.with_outcome(outcome);
        }
        if let Some(tool) = non_empty(self.tool.clone()) {
            filter = filter.with_tool(tool);
        }
        if let Some(agent) = non_empty(self.agent.clone()) {
            filter = filter.with_agent(agent);
        }
        if self.text.as_ref().is_some_and(|text| text.contains('\0')) {
            return Err(invalid_parameter(
                "text",
                "the text contains the character NUL",
                "Remove it from the search text",
            ));
        }
        if let Some(text) = non_empty(self.text.clone()) {
            filter = filter.with_text(text);
        }
        if let Some(since) = parse_micros("since", self.since.as_ref())? {
            filter = filter.since(since);
        }
        if let Some(until) = parse_micros("until", self.until.as_ref())? {
            filter = filter.until(until);
        }
        Ok(filter)
    }

    fn kinds(&self) -> Result<Option<LeafKind>, Problem> {
        let kind = non_empty(self.kind.clone()).map(|word| {
            word.parse().map_err(|error| {
                invalid_parameter("kind", error, "Name a kind of entry, such as response")
            })
        });
        kind.transpose()
    }

    /// Returns the reader of the requested page of entries, newest first.
    pub(super) fn reader(
        self,
        store: &Store,
        kinds: &[LeafKind],
        default: usize,
    ) -> Result<EntryPageReader, Problem> {
        let (filter, kind) = (self.filter()?, self.kinds()?);
        let (before, count) = (self.before, page_size(self.limit, default, 200));
        let has_text = non_empty(self.text.clone()).is_some();
        let kinds = kind.map_or_else(|| kinds.to_vec(), |kind| vec![kind]);
        Ok(EntryPageReader { store: store.clone(), filter, kinds, before, count, has_text })
    }
}

/// Reads one page of entries.
pub(super) struct EntryPageReader {
    store: Store,
    filter: EntryFilter,
    kinds: Vec<LeafKind>,
    before: Option<u64>,
    count: usize,
    has_text: bool,
}

impl EntryPageReader {
    pub(super) fn page(self) -> Result<EntryListPage, StoreError> {
        // The store extends the index in the background, so it may lack the newest entries.
        let indexed = self.has_text.then(|| self.store.advance_text(MAX_STEPS)).transpose()?;
        // The store has no index of kinds. A single kind is a filter of the store; several kinds are filtered here, in
        // one pass.
        let (filter, kinds) = match self.kinds.as_slice() {
            [kind] => (self.filter.with_kind(*kind), &[][..]),
            kinds => (self.filter, kinds),
        };
        let (mut entries, mut before) = (Vec::new(), self.before);
        let next = loop {
            let most = if kinds.is_empty() { self.count } else { self.count.max(PAGE) };
            let page = self.store.entries(&filter, before, most)?;
            let is_full = page.entries.len() == most;
            let is_wanted =
                |entry: &LedgerEntry| kinds.is_empty() || kinds.contains(&entry.leaf.kind());
            entries.extend(page.entries.into_iter().filter(is_wanted));
            if entries.len() > self.count {
                entries.truncate(self.count);
                break entries.last().map(|entry| entry.index);
            }
            before = page.next;
            // A full-text search may return a page that is not full but has a next one, because it searches only so far
            // per request.
            if before.is_none() || entries.len() == self.count || !is_full {
                break before;
            }
        };
        Ok(EntryListPage { entries, next, size: self.store.head()?.size, indexed })
    }
}

/// A page of entries.
pub(super) struct EntryListPage {
    pub(super) entries: Vec<LedgerEntry>,
    /// The index before which the next page continues.
    pub(super) next: Option<u64>,
    /// The number of entries in the log.
    pub(super) size: u64,
    /// The number of entries in the full-text index, for a search.
    pub(super) indexed: Option<u64>,
}

/// The JSON form of a page of rows.
#[derive(Serialize)]
struct ReplyListPage {
    #[serde(serialize_with = "rows")]
    replies: Vec<Arc<ReplyRow>>,
    next: Option<u64>,
    size: u64,
    indexed: Option<u64>,
}

fn rows<S: Serializer>(rows: &[Arc<ReplyRow>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(AsRef::as_ref))
}

async fn list(
    State(console): State<Arc<Console>>,
    Query(query): Query<EntryListQuery>,
) -> ApiResult {
    let reader = query.reader(&console.store, &KINDS, 50)?;
    let page = blocking(move || {
        console.summary.refresh(&console.store)?;
        let EntryListPage { entries, next, size, indexed } = reader.page()?;
        let rows = entries.iter().map(|entry| console.summary.row(&console.store, entry));
        let replies = rows.collect::<Result<Vec<Arc<ReplyRow>>, StoreError>>()?;
        Ok(ReplyListPage { replies, next, size, indexed })
    })
    .await?;
    ok(&page)
}

/// Returns the entry with this id or index.
pub(super) async fn find(console: &Console, id: &str) -> Result<LedgerEntry, Problem> {
    let store = console.store.clone();
    let (number, id) = (id.parse::<u64>().ok(), LeafId::parse(id).ok());
    let entry = blocking(move || {
        let index = match (number, id) {
            (Some(index), _) => Some(index),
            (None, Some(id)) => match store.reply_index(id)? {
                Some(index) => Some(index),
                None => {
                    let filter = EntryFilter::default().with_request_id(id).newest_first();
                    store.entries(&filter, None, 1)?.entries.first().map(|entry| entry.index)
                }
            },
            (None, None) => None,
        };
        index.map_or(Ok(None), |index| store.entry(index))
    });
    entry.await?.ok_or_else(|| not_found("reply"))
}

async fn show(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    Query(query): Query<ReplyQuery>,
) -> ApiResult {
    let entry = find(&console, &id).await?;
    let view = ReplyView::of(&entry);
    if let Some(to) = contract("as", query.contract)? {
        let (Some(document), Some(from)) = (&view.document, view.contract) else {
            return Err(not_found("document in this entry"));
        };
        // A document that was rejected as ambiguous is not converted later either.
        let part = entry.parts.iter().find(|part| part.name().as_str() == RESPONSE);
        if let Some(Ok(read)) = part.map(|part| read(part.bytes(), Limits::default())) {
            reject_ambiguous(&read)?;
        }
        let document = convert_document(document, from, to)?;
        return ok(&json!({ "document": document }));
    }
    let store = console.store.clone();
    let (request, leaf) = (entry.leaf.index("request_index"), entry.index);
    let (request, cases) = blocking(move || {
        let request = request.map(|index| store.entry(index)).transpose()?.flatten();
        let all = store.cases(&CaseFilter::default(), None, MAX_CASES)?.cases;
        let reference = entry_reference(leaf);
        let of_reply =
            all.into_iter().filter(|record| record.reference.as_ref() == Some(&reference));
        Ok((request, of_reply.map(|record| record.case.id).collect::<Vec<_>>()))
    })
    .await?;
    let artifacts = artifacts_of_reply(&console, entry.clone()).await?;
    let presentation = view.ui.as_ref().and_then(|ui| ResponseEnvelope::from_document(ui).ok());
    let presentation = presentation.map(|envelope| {
        let route = PresentationRouter::default().route(&envelope);
        json!({"presentation": route.presentation.to_string(), "artifact": route.artifact, "reason": route.reason.to_string()})
    });
    ok(&json!({
        "reply": ReplyRow::of(&entry, &view),
        "contract": view.contract.map(Contract::as_str),
        "findings": reply_findings(&view),
        "document": view.document,
        "ui": view.ui,
        "losses": view.losses,
        "request": request.map(|request| json!({
            "index": request.index,
            "seen": part(&request, "seen").or_else(|| part(&request, "as_seen")),
            "sent": part(&request, "sent"),
        })).or_else(|| part(&entry, "seen").map(|seen| json!({"index": entry.index, "seen": seen, "sent": null}))),
        "parts": parts(&entry),
        "leaf": entry.leaf.members(),
        "cases": cases,
        "artifacts": artifacts,
        "presentation": presentation,
    }))
}

fn reply_findings(view: &ReplyView) -> Value {
    match (&view.document, view.contract) {
        (Some(document), Some(contract)) => {
            let found = contract.check(document, Profile::Strict);
            json!(found.into_iter().take(MAX_FINDINGS).collect::<Vec<_>>())
        }
        _ => json!([]),
    }
}

/// Returns the parts of an entry, including those that were erased.
pub(super) fn parts(entry: &LedgerEntry) -> Vec<Value> {
    let commitments = entry.leaf.commitments();
    commitments
        .iter()
        .map(|commitment| {
            let name = commitment.name.as_str();
            let part = entry.parts.iter().find(|part| part.name().as_str() == name);
            let text = part.filter(|part| part.bytes().len() <= MAX_TEXT_BYTES).and_then(part_text);
            json!({"name": name, "bytes": commitment.len, "text": text, "erased": part.is_none()})
        })
        .collect()
}

async fn findings(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let entry = find(&console, &id).await?;
    ok(&json!({ "findings": reply_findings(&ReplyView::of(&entry)) }))
}

async fn proof(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let entry = find(&console, &id).await?;
    super::proof::of(&console, entry).await
}
