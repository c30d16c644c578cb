//! The main counts, and the description of the API.

use std::sync::Arc;

use answerback_http::{Routes, Scope};
use answerback_store::{OWN_STREAMS, StreamFilter};
use axum::extract::State;
use axum::routing::get;
use serde_json::json;

use crate::Console;
use crate::ask::{Answer, aside, ok, store_problem};

/// The largest number of streams that are counted.
const MOST_STREAMS: usize = 200;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let overview = get(overview).with_state(Arc::clone(console));
    Routes::new().route("/api/overview", Scope::Read, overview).route(
        "/api/openapi.json",
        Scope::Read,
        get(|| async { ok(&crate::openapi_document()) }),
    )
}

async fn overview(State(console): State<Arc<Console>>) -> Answer {
    let level = console.live.subscribe().await.map_err(|error| store_problem(&error))?;
    let level = *level.borrow();
    let store = console.store.clone();
    let filter = StreamFilter::default().without(OWN_STREAMS);
    let streams = aside(move || store.streams(filter, MOST_STREAMS)).await?;
    let open = streams.iter().filter(|stream| !stream.is_ended).count();
    ok(&json!({
        "waiting": level.waiting, "size": level.size, "seq": level.seq,
        "streams": streams.len(), "streams_open": open,
    }))
}
