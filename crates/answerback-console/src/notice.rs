use std::sync::Arc;

use answerback_ledger::Kind;
use answerback_store::{Entry, Filter, Store, StoreError};
use serde_json::{Value, json};

use crate::Console;
use crate::reply::time_of;

/// How many decisions are read at a time.
const PAGE: usize = 100;

impl Console {
    /// Tells of every decision that is recorded from now on, whoever records it, one after the other. It ends with its
    /// task.
    pub async fn tell_decisions<F>(self: Arc<Self>, tell: impl Fn(Value) -> F)
    where
        F: Future<Output = ()>,
    {
        let Ok(mut level) = self.live.subscribe().await else { return };
        let mut seen = level.borrow_and_update().size;
        while level.changed().await.is_ok() {
            let size = level.borrow_and_update().size;
            let (store, from) = (self.store.clone(), seen);
            let read = tokio::task::spawn_blocking(move || decisions(&store, from)).await;
            match read {
                Ok(Ok(decisions)) => {
                    seen = size;
                    for decision in decisions {
                        tell(decision).await;
                    }
                }
                Ok(Err(error)) => tracing::warn!(%error, "decisions cannot be read"),
                Err(error) => tracing::warn!(%error, "decisions cannot be read"),
            }
        }
    }
}

/// The decisions at this index and behind it, oldest first.
fn decisions(store: &Store, from: u64) -> Result<Vec<Value>, StoreError> {
    let filter = Filter::default().with_kind(Kind::Decision);
    let (mut cursor, mut found) = (from.checked_sub(1), Vec::new());
    loop {
        let page = store.entries(&filter, cursor, PAGE)?;
        for entry in page.entries {
            found.extend(store.entry(entry.index)?.as_ref().and_then(told));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// What is told of a decision about a case; nothing, where it is about an artifact.
fn told(entry: &Entry) -> Option<Value> {
    let part = entry.parts.iter().find(|part| part.name().as_str() == "decision");
    let said: Value =
        part.and_then(|part| serde_json::from_slice(part.bytes()).ok()).unwrap_or_default();
    if !said["artifact"].is_null() {
        return None;
    }
    Some(json!({
        "event": "decision.recorded",
        "case": entry.leaf.text("case_id"),
        "index": entry.index,
        "time": time_of(&entry.leaf),
        "decision": said["decision"],
        "by": said["by"],
        "surface": said["surface"],
        "digest": entry.leaf.text("digest"),
    }))
}
