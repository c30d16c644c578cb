use std::sync::Arc;

use answerback_ledger::LeafKind;
use answerback_store::{EntryFilter, LedgerEntry, Store, StoreError};
use serde_json::{Value, json};

use crate::Console;
use crate::reply::time_of;

/// The number of decisions that are read at a time.
const PAGE: usize = 100;

impl Console {
    /// Calls `notify` for every decision from entry `from` on, one after the other. Without `from` it starts with the
    /// next one. It runs until its task is dropped.
    ///
    /// `save_position` receives the index to continue from after a restart, once the decisions before it were reported. A crash
    /// in between reports one decision twice and skips none.
    pub async fn notify_decisions<F>(
        self: Arc<Self>,
        from: Option<u64>,
        notify: impl Fn(Value) -> F,
        save_position: impl Fn(u64),
    ) where
        F: Future<Output = ()>,
    {
        let Ok(mut position) = self.live.subscribe().await else { return };
        let size = position.borrow_and_update().size;
        // A position beyond the end of the log belongs to another log, so it is ignored.
        let mut next = from.filter(|from| *from <= size).unwrap_or(size);
        save_position(next);
        loop {
            let (store, from) = (self.store.clone(), next);
            match tokio::task::spawn_blocking(move || decisions(&store, from)).await {
                Ok(Ok((decisions, end))) => {
                    for (index, decision) in decisions {
                        notify(decision).await;
                        save_position(index + 1);
                    }
                    next = end;
                }
                Ok(Err(error)) => tracing::warn!(%error, "decisions cannot be read"),
                Err(error) => tracing::warn!(%error, "decisions cannot be read"),
            }
            if position.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Returns the decisions from this index on, oldest first, with their indexes and the index to continue from.
fn decisions(store: &Store, from: u64) -> Result<(Vec<(u64, Value)>, u64), StoreError> {
    // The head is read first, so that no decision recorded in the meantime is skipped. `end` is raised past those that
    // are included already.
    let mut end = store.head()?.size.max(from);
    let filter = EntryFilter::default().with_kind(LeafKind::Decision);
    let (mut cursor, mut decisions) = (from.checked_sub(1), Vec::new());
    loop {
        let page = store.entries(&filter, cursor, PAGE)?;
        for entry in page.entries {
            let entry = store.entry(entry.index)?;
            end = end.max(entry.as_ref().map_or(0, |entry| entry.index + 1));
            decisions.extend(entry.and_then(|entry| Some((entry.index, message(&entry)?))));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok((decisions, end));
        }
    }
}

/// Returns the message about a decision on a case. Returns `None` for a decision on an artifact.
fn message(entry: &LedgerEntry) -> Option<Value> {
    let part = entry.parts.iter().find(|part| part.name().as_str() == "decision");
    let decision: Value =
        part.and_then(|part| serde_json::from_slice(part.bytes()).ok()).unwrap_or_default();
    if !decision["artifact"].is_null() {
        return None;
    }
    let mut message = json!({
        "event": "decision.recorded",
        "case": entry.leaf.text("case_id"),
        "index": entry.index,
        "time": time_of(&entry.leaf),
        "decision": decision["decision"],
        "by": decision["by"],
        "surface": decision["surface"],
        "digest": entry.leaf.text("digest"),
    });
    // Only decisions from a process on this machine have an OS user.
    if let Some(user) = decision.get("os_user") {
        message["os_user"] = user.clone();
    }
    Some(message)
}
