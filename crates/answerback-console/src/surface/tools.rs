//! Tools, and how calls of them went.

use std::collections::BTreeMap;
use std::sync::Arc;

use answerback_http::{Routes, Scope};
use answerback_ledger::{Kind, Leaf};
use answerback_store::{Filter, Store, StoreError};
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};

use crate::Console;
use crate::ask::{Answer, aside, ok};
use crate::reply::is_passed;

/// How many of the newest entries are counted.
const COUNTED: usize = 5000;
/// How many are read at a time.
const PAGE: usize = 500;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let tools = get(tools).with_state(Arc::clone(console));
    Routes::new().route("/api/tools", Scope::Read, tools)
}

/// How calls of one tool went.
#[derive(Default)]
struct Count {
    calls: u64,
    ok: u64,
    failed: u64,
    rejected: u64,
    escalated: u64,
    codes: BTreeMap<String, u64>,
}

impl Count {
    fn add(&mut self, leaf: &Leaf) {
        match leaf.kind() {
            Kind::Response => {
                self.calls += 1;
                match leaf.text("outcome") {
                    Some("ok" | "warned" | "warning" | "partial" | "interim") => self.ok += 1,
                    _ => self.failed += 1,
                }
            }
            // A program had it checked, and it passed.
            Kind::Validation if leaf.text("outcome").is_some_and(is_passed) => {
                self.calls += 1;
                self.ok += 1;
            }
            Kind::Validation => {
                self.calls += 1;
                self.rejected += 1;
                let codes = leaf.member("codes").and_then(Value::as_array).into_iter().flatten();
                for code in codes.filter_map(Value::as_str) {
                    *self.codes.entry(code.to_owned()).or_default() += 1;
                }
            }
            Kind::Escalation => self.escalated += 1,
            _ => {}
        }
    }

    fn told(&self, into: &mut Value) {
        let failures: Vec<Value> =
            self.codes.iter().map(|(code, count)| json!({"code": code, "count": count})).collect();
        for (name, count) in [
            ("calls", self.calls),
            ("ok", self.ok),
            ("failed", self.failed),
            ("rejected", self.rejected),
            ("escalated", self.escalated),
        ] {
            into[name] = count.into();
        }
        into["failures"] = failures.into();
    }
}

async fn tools(State(console): State<Arc<Console>>) -> Answer {
    let servers = console.behind.servers();
    let store = console.store.clone();
    let (mut counts, since) = aside(move || count(&store)).await?;
    let mut tools = Vec::new();
    for server in &servers {
        for tool in &server.tools {
            let mut told = serde_json::to_value(tool).unwrap_or_default();
            told["server"] = server.name.clone().into();
            counts
                .remove(&(server.name.clone(), tool.name.clone()))
                .unwrap_or_default()
                .told(&mut told);
            tools.push(told);
        }
    }
    // What was called and is not offered now: a server of another time, or of `wrap`.
    for ((server, name), count) in counts {
        let mut told = json!({
            "server": server, "name": name, "title": null, "description": null, "input_schema": null,
            "is_changed": false, "remarks": [],
        });
        count.told(&mut told);
        tools.push(told);
    }
    ok(&json!({"tools": tools, "since_index": since, "servers": servers}))
}

type Counts = BTreeMap<(String, String), Count>;

/// The newest entries by server and tool, and where they begin.
fn count(store: &Store) -> Result<(Counts, u64), StoreError> {
    let mut counts = Counts::new();
    let (mut cursor, mut seen, mut since) = (None, 0, store.head()?.size);
    let filter = Filter::default().newest_first();
    while seen < COUNTED {
        let page = store.entries(&filter, cursor, PAGE)?;
        for entry in &page.entries {
            since = entry.index;
            let (Some(server), Some(tool)) = (entry.leaf.text("upstream"), entry.leaf.text("tool"))
            else {
                continue;
            };
            counts.entry((server.to_owned(), tool.to_owned())).or_default().add(&entry.leaf);
        }
        seen += page.entries.len();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok((counts, since))
}
