//! The agents of manifest and lock, with the state of their prompts.

use std::sync::Arc;

use answerback_http::{Routes, Scope};
use axum::extract::State;
use axum::routing::get;

use super::problem::internal;
use super::response::{ApiResult, ok};
use crate::Console;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let agents = get(agents).with_state(Arc::clone(console));
    Routes::new().route("/api/agents", Scope::Read, agents)
}

async fn agents(State(console): State<Arc<Console>>) -> ApiResult {
    let host = Arc::clone(&console.host);
    // Prompts are files, so they are read on a blocking thread.
    let view = tokio::task::spawn_blocking(move || host.agents()).await.map_err(internal)?;
    ok(&view)
}
