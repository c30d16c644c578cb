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

use super::artifacts::brought_by;
use crate::Console;
use crate::ask::{
    self, Answer, aside, bad, internal, limit, micros, not_found, ok, some, store_problem,
};
use crate::reply::{ReplyView, Row, SubmittedReply, TakeInError, part, part_text, take_in_with};

/// The largest document that is recorded.
const LARGEST: usize = 16 << 20;
/// The kinds in a list without a filter on kinds.
const KINDS: [LeafKind; 4] =
    [LeafKind::Response, LeafKind::Rejected, LeafKind::Validation, LeafKind::Escalation];
/// The number of entries that are read at a time when some are filtered out.
const PAGE: usize = 256;
/// The largest number of findings in one response. `answerback check` reports all of them.
pub(super) const MOST_FINDINGS: usize = 500;
/// The largest number of cases that are searched for those of one reply.
const MOST_CASES: usize = 500;
/// The largest part whose text is included. Larger parts are only in the export.
const LARGEST_TEXT: usize = 4 << 20;
/// How far the full-text index is extended before a search, in steps of 256 entries. The limit keeps a search on a long
/// log fast.
const MOST_STEPS: usize = 8;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    let hand_in = axum::routing::post(hand_in).with_state(state());
    Routes::with_body_limit(LARGEST).route("/api/replies", Scope::Ingest, hand_in).merge(
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
    let Some(word) = some(word) else { return Ok(None) };
    let contract = word.parse().map_err(|error| {
        bad(field, error, "Name one of atdf, governed, ui and tool, or leave it away")
    })?;
    Ok(Some(contract))
}

pub(super) fn profile(word: Option<String>) -> Result<Profile, Problem> {
    match some(word).as_deref() {
        None | Some("strict") => Ok(Profile::Strict),
        Some("lenient") => Ok(Profile::Lenient),
        Some(other) => {
            Err(bad("profile", format!("{other:?} is no profile"), "Use strict or lenient"))
        }
    }
}

/// Checks a reply, records it, and returns its receipt.
async fn hand_in(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Query(how): Query<ReplyQuery>,
    body: Bytes,
) -> Answer {
    let (named, to) = (contract("as", how.contract)?, contract("to", how.to)?);
    // The conversion comes first, so that nothing is recorded if it fails.
    let converted = match to {
        Some(to) => Some(converted_to(&body, named, to).await?),
        None => None,
    };
    let handed_in = SubmittedReply::new(body.clone(), principal.name())
        .with_contract(named)
        .with_profile(profile(how.profile)?);
    let in_force = console.behind.in_force();
    let files = &console.files;
    let taken = take_in_with(&console.store, in_force, files, handed_in).await;
    let taken = taken.map_err(|error| match error {
        error @ TakeInError::TooMuchAsked(_) => bad("body", error, "Ask in several replies"),
        TakeInError::Reply(error) => bad(
            "body",
            error,
            "Send a reply in one of the four contracts; ?as=atdf, governed, ui or tool names it",
        ),
        error @ TakeInError::Taken { .. } => {
            console.live.nudge();
            let told = ErrorBuilder::new(RESPONSE_ID_TAKEN, error.to_string(), "response_id")
                .condition("A response id means one response, as it was when it was first recorded")
                .solution("Give the response an id of its own");
            Problem::told(ProblemKind::Conflict, told)
        }
        TakeInError::Store(error @ StoreError::AlreadyAnswered { .. }) => {
            let told = ErrorBuilder::new(
                "ALREADY_ANSWERED",
                error.to_string(),
                "request_context.request_id",
            )
            .condition("A request has one response")
            .solution("Give the response the id of the request that it answers");
            Problem::told(ProblemKind::Conflict, told)
        }
        TakeInError::Store(error) => store_problem(&error),
    })?;
    console.live.nudge();
    let store = console.store.clone();
    let index = taken.index;
    let receipt = aside(move || store.receipt(index)).await?;
    let status = if taken.is_repeated { StatusCode::OK } else { StatusCode::CREATED };
    ask::json(
        status,
        &json!({
            "id": taken.id,
            "index": taken.index,
            "kind": if taken.is_rejected { "rejected" } else { "response" },
            "contract": taken.contract.as_str(),
            "valid": !taken.is_rejected,
            "findings": taken.findings.iter().take(MOST_FINDINGS).collect::<Vec<_>>(),
            "finding_count": taken.findings.len(),
            "cases": taken.cases,
            "artifacts": taken.artifacts,
            "receipt": receipt.to_string(),
            "converted": converted,
        }),
    )
}

/// Converts the body to another contract on a blocking thread.
async fn converted_to(
    body: &Bytes,
    named: Option<Contract>,
    to: Contract,
) -> Result<Value, Problem> {
    let body = body.clone();
    let convert = move || {
        // This parses like the recorder and like `answerback convert`. A duplicate member makes the document ambiguous.
        let document = read(&body, Limits::default())
            .map_err(|error| bad("body", error, "Send one JSON document"))?;
        only_reading(&document)?;
        let document = document.value;
        let from = named.or_else(|| recognise(&document).map(|recognised| recognised.contract));
        let from = from.ok_or_else(|| {
            bad("body", "not recognised as any contract", "Name its contract with ?as=")
        })?;
        converted(&document, from, to)
    };
    tokio::task::spawn_blocking(convert).await.map_err(internal)?
}

/// Rejects an ambiguous document, for example one with a duplicate member.
fn only_reading(document: &Document) -> Result<(), Problem> {
    match document.findings.iter().find(|finding| finding.is_error()) {
        Some(finding) => Err(not_convertible(&finding.to_string())),
        None => Ok(()),
    }
}

fn converted(document: &Value, from: Contract, to: Contract) -> Result<Value, Problem> {
    let converted = convert(document, from, to, &Inputs::default());
    let converted = converted.map_err(|error| not_convertible(&error.to_string()))?;
    Ok(converted.document)
}

/// Returns the problem for a reply that cannot be converted.
fn not_convertible(why: &str) -> Problem {
    let told = ErrorBuilder::new("NOT_CONVERTIBLE", why, "to")
        .condition("The reply is read in one way only, and has what the other contract requires")
        .solution("Convert it with `answerback convert`, which takes what is missing");
    Problem::told(ProblemKind::Unprocessable, told)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Listed {
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

impl Listed {
    fn filter(&self) -> Result<EntryFilter, Problem> {
        let mut filter = EntryFilter::default().newest_first();
        if let Some(outcome) = some(self.outcome.clone()) {
            filter = filter.with_outcome(outcome);
        }
        if let Some(tool) = some(self.tool.clone()) {
            filter = filter.with_tool(tool);
        }
        if let Some(agent) = some(self.agent.clone()) {
            filter = filter.with_agent(agent);
        }
        if self.text.as_ref().is_some_and(|text| text.contains('\0')) {
            return Err(bad("text", "a text has no character 0", "Search for words"));
        }
        if let Some(text) = some(self.text.clone()) {
            filter = filter.with_text(text);
        }
        if let Some(since) = micros("since", self.since.as_ref())? {
            filter = filter.since(since);
        }
        if let Some(until) = micros("until", self.until.as_ref())? {
            filter = filter.until(until);
        }
        Ok(filter)
    }

    fn kinds(&self) -> Result<Option<LeafKind>, Problem> {
        let kind = some(self.kind.clone()).map(|word| {
            word.parse()
                .map_err(|error| bad("kind", error, "Name a kind of entry, such as response"))
        });
        kind.transpose()
    }

    /// Prepares the requested page of entries, newest first.
    pub(super) fn read(
        self,
        store: &Store,
        kinds: &[LeafKind],
        usual: usize,
    ) -> Result<Read, Problem> {
        let (filter, kind) = (self.filter()?, self.kinds()?);
        let (before, count) = (self.before, limit(self.limit, usual, 200));
        let has_text = some(self.text.clone()).is_some();
        let kinds = kind.map_or_else(|| kinds.to_vec(), |kind| vec![kind]);
        Ok(Read { store: store.clone(), filter, kinds, before, count, has_text })
    }
}

/// A page to read.
pub(super) struct Read {
    store: Store,
    filter: EntryFilter,
    kinds: Vec<LeafKind>,
    before: Option<u64>,
    count: usize,
    has_text: bool,
}

impl Read {
    pub(super) fn page(self) -> Result<Page, StoreError> {
        // The store extends the index in the background, so it may lack the newest entries.
        let indexed = self.has_text.then(|| self.store.advance_text(MOST_STEPS)).transpose()?;
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
        Ok(Page { entries, next, size: self.store.head()?.size, indexed })
    }
}

/// A page that was read.
pub(super) struct Page {
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
struct RowPage {
    #[serde(serialize_with = "rows")]
    replies: Vec<Arc<Row>>,
    next: Option<u64>,
    size: u64,
    indexed: Option<u64>,
}

fn rows<S: Serializer>(rows: &[Arc<Row>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(AsRef::as_ref))
}

async fn list(State(console): State<Arc<Console>>, Query(listed): Query<Listed>) -> Answer {
    let read = listed.read(&console.store, &KINDS, 50)?;
    let page = aside(move || {
        console.summary.refresh(&console.store)?;
        let Page { entries, next, size, indexed } = read.page()?;
        let rows = entries.iter().map(|entry| console.summary.row(&console.store, entry));
        let replies = rows.collect::<Result<Vec<Arc<Row>>, StoreError>>()?;
        Ok(RowPage { replies, next, size, indexed })
    })
    .await?;
    ok(&page)
}

/// Returns the entry with this id or index.
pub(super) async fn find(console: &Console, id: &str) -> Result<LedgerEntry, Problem> {
    let store = console.store.clone();
    let (number, id) = (id.parse::<u64>().ok(), LeafId::parse(id).ok());
    let entry = aside(move || {
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
    Query(how): Query<ReplyQuery>,
) -> Answer {
    let entry = find(&console, &id).await?;
    let shown = ReplyView::of(&entry);
    if let Some(to) = contract("as", how.contract)? {
        let (Some(document), Some(from)) = (&shown.document, shown.contract) else {
            return Err(not_found("document in this entry"));
        };
        // A document that was rejected as ambiguous is not converted later either.
        let part = entry.parts.iter().find(|part| part.name().as_str() == RESPONSE);
        if let Some(Ok(read)) = part.map(|part| read(part.bytes(), Limits::default())) {
            only_reading(&read)?;
        }
        let document = converted(document, from, to)?;
        return ok(&json!({ "document": document }));
    }
    let store = console.store.clone();
    let (request, leaf) = (entry.leaf.index("request_index"), entry.index);
    let (request, cases) = aside(move || {
        let request = request.map(|index| store.entry(index)).transpose()?.flatten();
        let all = store.cases(&CaseFilter::default(), None, MOST_CASES)?.cases;
        let reference = entry_reference(leaf);
        let of_reply =
            all.into_iter().filter(|record| record.reference.as_ref() == Some(&reference));
        Ok((request, of_reply.map(|record| record.case.id).collect::<Vec<_>>()))
    })
    .await?;
    let artifacts = brought_by(&console, entry.clone()).await?;
    let presentation = shown.ui.as_ref().and_then(|ui| ResponseEnvelope::from_document(ui).ok());
    let presentation = presentation.map(|envelope| {
        let route = PresentationRouter::default().route(&envelope);
        json!({"presentation": route.presentation.to_string(), "artifact": route.artifact, "reason": route.reason.to_string()})
    });
    ok(&json!({
        "reply": Row::of(&entry, &shown),
        "contract": shown.contract.map(Contract::as_str),
        "findings": judged(&shown),
        "document": shown.document,
        "ui": shown.ui,
        "losses": shown.losses,
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

fn judged(shown: &ReplyView) -> Value {
    match (&shown.document, shown.contract) {
        (Some(document), Some(contract)) => {
            let found = contract.check(document, Profile::Strict);
            json!(found.into_iter().take(MOST_FINDINGS).collect::<Vec<_>>())
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
            let text = part.filter(|part| part.bytes().len() <= LARGEST_TEXT).and_then(part_text);
            json!({"name": name, "bytes": commitment.len, "text": text, "erased": part.is_none()})
        })
        .collect()
}

async fn findings(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let entry = find(&console, &id).await?;
    ok(&json!({ "findings": judged(&ReplyView::of(&entry)) }))
}

async fn proof(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let entry = find(&console, &id).await?;
    super::proof::of(&console, entry).await
}
