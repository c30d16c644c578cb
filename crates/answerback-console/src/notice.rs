use std::sync::Arc;

use answerback_ledger::Kind;
use answerback_store::{Entry, Filter, Store, StoreError};
use serde_json::{Value, json};

use crate::Console;
use crate::reply::time_of;

/// How many decisions are read at a time.
const PAGE: usize = 100;

impl Console {
    /// Tells of every decision from this entry on, whoever records it, one after the other; without one, of those that are
    /// recorded from now on. It ends with its task.
    ///
    /// `note` is given the entry to go on from next time, after what lies before it was told. Whoever stops in between
    /// tells of one decision twice, and of none not at all.
    pub async fn tell_decisions<F>(
        self: Arc<Self>,
        from: Option<u64>,
        tell: impl Fn(Value) -> F,
        note: impl Fn(u64),
    ) where
        F: Future<Output = ()>,
    {
        let Ok(mut level) = self.live.subscribe().await else { return };
        let size = level.borrow_and_update().size;
        // Who was further than the log is was with another one.
        let mut next = from.filter(|from| *from <= size).unwrap_or(size);
        note(next);
        loop {
            let (store, from) = (self.store.clone(), next);
            match tokio::task::spawn_blocking(move || decisions(&store, from)).await {
                Ok(Ok((decisions, end))) => {
                    for (index, decision) in decisions {
                        tell(decision).await;
                        note(index + 1);
                    }
                    next = end;
                }
                Ok(Err(error)) => tracing::warn!(%error, "decisions cannot be read"),
                Err(error) => tracing::warn!(%error, "decisions cannot be read"),
            }
            if level.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The decisions at this index and behind it with their indexes, oldest first, and where to read on.
fn decisions(store: &Store, from: u64) -> Result<(Vec<(u64, Value)>, u64), StoreError> {
    // Read first: what comes meanwhile is read next time, or told now already and then past.
    let mut end = store.head()?.size.max(from);
    let filter = Filter::default().with_kind(Kind::Decision);
    let (mut cursor, mut found) = (from.checked_sub(1), Vec::new());
    loop {
        let page = store.entries(&filter, cursor, PAGE)?;
        for entry in page.entries {
            let entry = store.entry(entry.index)?;
            end = end.max(entry.as_ref().map_or(0, |entry| entry.index + 1));
            found.extend(entry.and_then(|entry| Some((entry.index, told(&entry)?))));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok((found, end));
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
    let mut told = json!({
        "event": "decision.recorded",
        "case": entry.leaf.text("case_id"),
        "index": entry.index,
        "time": time_of(&entry.leaf),
        "decision": said["decision"],
        "by": said["by"],
        "surface": said["surface"],
        "digest": entry.leaf.text("digest"),
    });
    // Only a process of this machine has one.
    if let Some(user) = said.get("os_user") {
        told["os_user"] = user.clone();
    }
    Some(told)
}
