//! The tools, with the outcomes of their calls.

use std::sync::Arc;

use answerback_http::{Routes, Scope};
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};

use super::response::{ApiResult, blocking, ok};
use crate::Console;
use crate::log_summary::ToolOutcomes;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let tools = get(tools).with_state(Arc::clone(console));
    Routes::new().route("/api/tools", Scope::Read, tools)
}

/// Adds the outcomes of a tool's calls to its description.
fn add_outcomes(outcomes: &ToolOutcomes, tool: &mut Value) {
    let codes = outcomes.codes.iter();
    let failures: Vec<Value> =
        codes.map(|(code, count)| json!({"code": code, "count": count})).collect();
    for (name, count) in [
        ("calls", outcomes.calls),
        ("ok", outcomes.ok),
        ("failed", outcomes.failed),
        ("rejected", outcomes.rejected),
        ("escalated", outcomes.escalated),
    ] {
        tool[name] = count.into();
    }
    tool["failures"] = failures.into();
}

async fn tools(State(console): State<Arc<Console>>) -> ApiResult {
    let servers = console.host.servers();
    let reader = Arc::clone(&console);
    let (mut counts, since) = blocking(move || reader.summary.outcomes(&reader.store)).await?;
    let mut tools = Vec::new();
    for server in &servers {
        for tool in &server.tools {
            let mut view = serde_json::to_value(tool).unwrap_or_default();
            view["server"] = server.name.clone().into();
            let outcomes = counts.remove(&(server.name.clone(), tool.name.clone()));
            add_outcomes(&outcomes.unwrap_or_default(), &mut view);
            tools.push(view);
        }
    }
    // These tools were called but are not offered now, for example by an earlier server or through `wrap`.
    for ((server, name), count) in counts {
        let mut view = json!({
            "server": server, "name": name, "title": null, "description": null, "input_schema": null,
            "is_changed": false, "remarks": [],
        });
        add_outcomes(&count, &mut view);
        tools.push(view);
    }
    ok(&json!({"tools": tools, "since_index": since, "servers": servers}))
}
