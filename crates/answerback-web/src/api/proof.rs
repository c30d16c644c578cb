//! Proves one entry: its content matches its commitments, and the signed log includes it.

use std::sync::Arc;

use answerback_store::{LedgerEntry, Store, StoreError};
use answerback_verify::{NoteVerifierKey, verify_receipt};
use serde_json::{Value, json};

use super::response::{ApiResult, blocking, ok};
use crate::Console;

/// The result of one check.
struct ProofCheck {
    name: &'static str,
    holds: bool,
    detail: String,
}

/// Checks an entry now and returns the result of each check.
pub(super) async fn of(console: &Arc<Console>, entry: LedgerEntry) -> ApiResult {
    let store = console.store.clone();
    let verify = console.host.commands().verify;
    let proof = blocking(move || check(&store, &entry, &verify)).await?;
    ok(&proof)
}

fn check(store: &Store, entry: &LedgerEntry, command: &str) -> Result<Value, StoreError> {
    let receipt = store.receipt(entry.index)?.to_string();
    let head = store.head()?;
    let key = store.verifier_key()?.to_string();
    let checks = [content(entry), inclusion(&receipt, &key, entry)];
    let is_erased = entry.parts.len() < entry.leaf.commitments().len();
    let state = match (checks.iter().all(|check| check.holds), is_erased) {
        (false, _) => "mismatch",
        // Erased content cannot be checked, but the log proves that it was recorded.
        (true, true) => "recorded",
        (true, false) => "verified",
    };
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| json!({"name": check.name, "ok": check.holds, "detail": check.detail}))
        .collect();
    Ok(json!({
        "state": state,
        "checked_by": "server",
        "checks": checks,
        "index": entry.index,
        "leaf_hash": entry.hash.to_string(),
        "leaf": entry.leaf.members(),
        "size": head.size,
        "root": head.root.to_string(),
        "checkpoint": store.checkpoint()?.to_string(),
        "receipt": receipt,
        "key": key,
        "command": command,
    }))
}

/// Checks that each part matches its commitment in the leaf.
fn content(entry: &LedgerEntry) -> ProofCheck {
    let commitments = entry.leaf.commitments();
    let wrong: Vec<&str> = commitments
        .iter()
        .filter(|commitment| {
            let part = entry.parts.iter().find(|part| part.name().as_str() == commitment.name);
            part.is_some_and(|part| {
                part.salt().commit(part.bytes()).to_string() != commitment.commit
            })
        })
        .map(|commitment| commitment.name.as_str())
        .collect();
    let holds = wrong.is_empty();
    let stored = entry.parts.len();
    let detail = if holds {
        format!(
            "{stored} of {} parts are stored, and match the entry's commitments",
            commitments.len()
        )
    } else {
        format!("{} does not match the entry's commitment", wrong.join(", "))
    };
    ProofCheck { name: "content", holds, detail }
}

/// Checks that the signed checkpoint includes the entry, with the verifier, which shares no code with the writer.
fn inclusion(receipt: &str, key: &str, entry: &LedgerEntry) -> ProofCheck {
    let checked = NoteVerifierKey::parse(key).map_err(|error| error.to_string()).and_then(|key| {
        verify_receipt(receipt, &key, Some(entry.leaf.bytes())).map_err(|error| error.to_string())
    });
    let (holds, detail) = match checked {
        Ok(proven) => {
            let (index, size) = (proven.index, proven.checkpoint.size);
            (
                true,
                format!(
                    "entry {index} is in the signed log of size {size}; the key was read from the store itself"
                ),
            )
        }
        Err(error) => (false, error),
    };
    ProofCheck { name: "inclusion", holds, detail }
}
