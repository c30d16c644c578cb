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

use super::replies::{Listed, Page, parts};
use crate::Console;
use crate::ask::{Answer, aside, bad, internal, not_found, ok};
use crate::reply::time_of;

/// The largest log whose entries are counted by kind, since counting reads all of them.
const MOST_COUNTED: u64 = 200_000;

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

async fn head(State(console): State<Arc<Console>>) -> Answer {
    let told = aside(move || {
        let store = &console.store;
        let head = store.head()?;
        let kinds =
            if head.size <= MOST_COUNTED { console.summary.kinds(store)? } else { BTreeMap::new() };
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
    ok(&told.await?)
}

async fn list(State(console): State<Arc<Console>>, Query(listed): Query<Listed>) -> Answer {
    let read = listed.read(&console.store, &[], 100)?;
    let Page { entries, next, size, indexed } = aside(move || read.page()).await?;
    let entries: Vec<Value> =
        entries.iter().map(|entry| told(entry.index, &entry.hash, &entry.leaf)).collect();
    ok(&json!({"entries": entries, "next": next, "size": size, "indexed": indexed}))
}

fn told(index: u64, hash: &Hash, leaf: &Leaf) -> Value {
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
    aside(move || store.entry(index)).await?.ok_or_else(|| not_found("entry"))
}

async fn show(State(console): State<Arc<Console>>, Path(index): Path<u64>) -> Answer {
    let entry = find(&console, index).await?;
    let mut told = told(entry.index, &entry.hash, &entry.leaf);
    told["parts"] = parts(&entry).into();
    ok(&told)
}

async fn proof(State(console): State<Arc<Console>>, Path(index): Path<u64>) -> Answer {
    let entry = find(&console, index).await?;
    super::proof::of(&console, entry).await
}

#[derive(Deserialize)]
struct Between {
    from: u64,
    to: u64,
}

async fn consistency(
    State(console): State<Arc<Console>>,
    Query(Between { from, to }): Query<Between>,
) -> Answer {
    let store = console.store.clone();
    let size = aside(move || Ok(store.head()?.size)).await?;
    if from == 0 || from > to || to > size {
        let text = format!("there is no proof from {from} to {to} in a log of size {size}");
        return Err(bad(
            "from",
            text,
            "Take two sizes from 1 to the size of the log, the smaller first",
        ));
    }
    let store = console.store.clone();
    let hashes = aside(move || store.consistency(from, to)).await?;
    let hashes: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    ok(&json!({"from": from, "to": to, "hashes": hashes}))
}

/// Verifies the whole log with the verifier, which shares no code with the writer.
async fn verify(State(console): State<Arc<Console>>) -> Answer {
    let behind = Arc::clone(&console.behind);
    let command = behind.commands().verify;
    let started = Instant::now();
    let report = tokio::task::spawn_blocking(move || behind.verify()).await.map_err(internal)?;
    let report = report.map_err(|reason| {
        // The reason may contain the database's address, so it only goes to the log.
        tracing::warn!(reason, "the log cannot be verified");
        let text = "The log cannot be verified from here";
        let told = ErrorBuilder::new("NOT_VERIFIABLE", text, "ledger")
            .condition("The log can be read")
            .solution(format!("Verify it on the command line: {command}"));
        Problem::told(ProblemKind::Unprocessable, told)
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
