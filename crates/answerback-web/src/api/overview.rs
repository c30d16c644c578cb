//! The main counts, and the description of the API.

use std::sync::Arc;

use answerback_http::{Routes, Scope};
use answerback_store::{OWN_STREAMS, StreamFilter};
use axum::extract::State;
use axum::routing::get;
use serde_json::json;

use super::problem::store_problem;
use super::response::{ApiResult, blocking, ok};
use crate::Console;

/// The largest number of streams that are counted.
const MAX_STREAMS: usize = 200;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let overview = get(overview).with_state(Arc::clone(console));
    Routes::new().route("/api/overview", Scope::Read, overview).route(
        "/api/openapi.json",
        Scope::Read,
        get(|| async { ok(&crate::openapi_document()) }),
    )
}

async fn overview(State(console): State<Arc<Console>>) -> ApiResult {
    let level = console.live.subscribe().await.map_err(|error| store_problem(&error))?;
    let level = *level.borrow();
    let store = console.store.clone();
    let filter = StreamFilter::default().without(OWN_STREAMS);
    let streams = blocking(move || store.streams(filter, MAX_STREAMS)).await?;
    let open = streams.iter().filter(|stream| !stream.is_ended).count();
    ok(&json!({
        "waiting": level.waiting, "size": level.size, "seq": level.seq,
        "streams": streams.len(), "streams_open": open,
    }))
}
