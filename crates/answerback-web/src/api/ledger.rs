//! The ledger: its head, its entries and its proofs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Problem, ProblemKind, Routes, Scope};
use answerback_ledger::{Hash, Leaf};
use answerback_store::LedgerEntry;
use axum::extract::{Path, Query, State};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::{internal, invalid_parameter, not_found};
use super::replies::{EntryListPage, EntryListQuery, parts};
use super::response::{ApiResult, blocking, ok};
use crate::Console;
use crate::reply::time_of;

/// The largest log whose entries are counted by kind, since counting reads all of them.
const MAX_COUNTED_ENTRIES: u64 = 200_000;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::new()
        .route("/api/ledger", Scope::Read, get(head).with_state(state()))
        .route("/api/ledger/entries", Scope::Read, get(list).with_state(state()))
        .route("/api/ledger/entries/{index}", Scope::Read, get(show).with_state(state()))
        .route("/api/ledger/entries/{index}/proof", Scope::Read, get(proof).with_state(state()))
        .route("/api/ledger/consistency", Scope::Read, get(consistency).with_state(state()))
        .route("/api/ledger/verify", Scope::Read, post(verify).with_state(state()))
}

async fn head(State(console): State<Arc<Console>>) -> ApiResult {
    let head = blocking(move || {
        let store = &console.store;
        let head = store.head()?;
        let kinds = if head.size <= MAX_COUNTED_ENTRIES {
            console.summary.kinds(store)?
        } else {
            BTreeMap::new()
        };
        Ok(json!({
            "origin": store.origin()?,
            "size": head.size,
            "minimum": head.minimum,
            "root": head.root.to_string(),
            "checkpoint": store.checkpoint()?.to_string(),
            "key": store.verifier_key()?.to_string(),
            "witnessed": store.witnessed()?,
            "entries_by_kind": kinds,
        }))
    });
    ok(&head.await?)
}

async fn list(
    State(console): State<Arc<Console>>,
    Query(query): Query<EntryListQuery>,
) -> ApiResult {
    let reader = query.reader(&console.store, &[], 100)?;
    let EntryListPage { entries, next, size, indexed } = blocking(move || reader.page()).await?;
    let entries: Vec<Value> =
        entries.iter().map(|entry| entry_json(entry.index, &entry.hash, &entry.leaf)).collect();
    ok(&json!({"entries": entries, "next": next, "size": size, "indexed": indexed}))
}

fn entry_json(index: u64, hash: &Hash, leaf: &Leaf) -> Value {
    json!({
        "index": index,
        "time": time_of(leaf),
        "kind": leaf.kind().as_str(),
        "hash": hash.to_string(),
        "leaf": leaf.members(),
    })
}

async fn find(console: &Console, index: u64) -> Result<LedgerEntry, Problem> {
    let store = console.store.clone();
    blocking(move || store.entry(index)).await?.ok_or_else(|| not_found("entry"))
}

async fn show(State(console): State<Arc<Console>>, Path(index): Path<u64>) -> ApiResult {
    let entry = find(&console, index).await?;
    let mut response = entry_json(entry.index, &entry.hash, &entry.leaf);
    response["parts"] = parts(&entry).into();
    ok(&response)
}

async fn proof(State(console): State<Arc<Console>>, Path(index): Path<u64>) -> ApiResult {
    let entry = find(&console, index).await?;
    super::proof::of(&console, entry).await
}

#[derive(Deserialize)]
struct ConsistencyQuery {
    from: u64,
    to: u64,
}

async fn consistency(
    State(console): State<Arc<Console>>,
    Query(ConsistencyQuery { from, to }): Query<ConsistencyQuery>,
) -> ApiResult {
    let store = console.store.clone();
    let size = blocking(move || Ok(store.head()?.size)).await?;
    if from == 0 || from > to || to > size {
        let text =
            format!("there is no consistency proof from {from} to {to} in a log of size {size}");
        return Err(invalid_parameter(
            "from",
            text,
            "Use two sizes between 1 and the size of the log, the smaller one as from",
        ));
    }
    let store = console.store.clone();
    let hashes = blocking(move || store.consistency(from, to)).await?;
    let hashes: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    ok(&json!({"from": from, "to": to, "hashes": hashes}))
}

/// Verifies the whole log with the verifier, which shares no code with the writer.
async fn verify(State(console): State<Arc<Console>>) -> ApiResult {
    let host = Arc::clone(&console.host);
    let command = host.commands().verify;
    let started = Instant::now();
    let report = tokio::task::spawn_blocking(move || host.verify()).await.map_err(internal)?;
    let report = report.map_err(|reason| {
        // The reason may contain the database's address, so it only goes to the log.
        tracing::warn!(reason, "the log cannot be verified");
        let text = "The server cannot read the log to verify it";
        let error = ErrorBuilder::new("NOT_VERIFIABLE", text, "ledger")
            .condition("The server can read the log")
            .solution(format!("Verify it on the command line: {command}"));
        Problem::from_error(ProblemKind::Unprocessable, error)
    })?;
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let levels: Vec<Value> = report
        .levels
        .iter()
        .map(|level| {
            let problems: Vec<String> = level.failures.iter().map(ToString::to_string).collect();
            json!({"name": level.level, "ok": level.held, "detail": level.level.to_string(), "problems": problems})
        })
        .collect();
    ok(&json!({
        "ok": report.valid, "levels": levels, "size": report.size, "root": report.root,
        "erased_parts": report.erased_parts, "took_ms": took,
        "warnings": report.warnings,
    }))
}
