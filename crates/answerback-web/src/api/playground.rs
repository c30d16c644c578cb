//! The playground: checks, shows and converts a document without recording it.

use std::sync::Arc;

use answerback::contract::{Contract, recognise};
use answerback::convert::{Inputs, convert};
use answerback::json::{Limits, read};
use answerback_http::{Routes, Scope};
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::problem::{internal, invalid_parameter};
use super::replies::{MAX_FINDINGS, contract, profile};
use super::response::{ApiResult, ok};
use crate::reply::ReplyView;
use crate::{Console, EXAMPLES};

/// The largest document.
const MAX_BODY_BYTES: usize = 4 << 20;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(MAX_BODY_BYTES)
        .route("/api/playground", Scope::Read, post(check).with_state(state()))
        .route("/api/examples", Scope::Read, get(examples))
}

async fn examples() -> ApiResult {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
    ok(&json!({ "examples": examples }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlaygroundQuery {
    #[serde(rename = "as")]
    contract: Option<String>,
    profile: Option<String>,
}

async fn check(
    State(console): State<Arc<Console>>,
    Query(query): Query<PlaygroundQuery>,
    body: Bytes,
) -> ApiResult {
    let console = Arc::clone(&console);
    let check = move || check_document(&console, query, &body);
    // Checking may take long, so it runs on a blocking thread.
    tokio::task::spawn_blocking(check).await.map_err(internal)?
}

fn check_document(console: &Console, query: PlaygroundQuery, body: &[u8]) -> ApiResult {
    let document = read(body, Limits::default())
        .map_err(|error| invalid_parameter("body", error, "Send one JSON document"))?;
    let requested = contract("as", query.contract)?;
    let recognised = recognise(&document.value).map(|recognised| recognised.contract);
    let contract = requested.or(recognised);
    let profile = profile(query.profile)?;
    let mut findings = document.findings;
    if let Some(contract) = contract {
        findings.extend(contract.check(&document.value, profile));
    }
    let is_valid =
        contract.is_some() && !findings.iter().any(answerback::ValidationError::is_error);
    let count = findings.len();
    findings.truncate(MAX_FINDINGS);
    let is_reply = contract.is_some_and(|contract| Contract::REPLIES.contains(&contract));
    let view = ReplyView::of_document(document.value.clone(), contract.filter(|_| is_reply));
    let mut conversions = Map::new();
    if let Some(from) = contract.filter(|_| is_reply) {
        for to in Contract::REPLIES.into_iter().filter(|to| *to != from) {
            let conversion = match convert(&document.value, from, to, &Inputs::default()) {
                Ok(converted) => json!({ "document": converted.document }),
                Err(error) => json!({ "missing": error.to_string() }),
            };
            conversions.insert(to.as_str().to_owned(), conversion);
        }
    }
    ok(&json!({
        "contract": contract.map(Contract::as_str),
        "valid": is_valid,
        "findings": findings,
        "finding_count": count,
        "ui": view.ui,
        "losses": view.losses,
        "terminal": console.host.terminal(&document.value),
        "conversions": conversions,
    }))
}
