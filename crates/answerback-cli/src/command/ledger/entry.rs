//! Prints entries: as rows for people, or as lines of JSON for programs.

use std::io::Write;

use answerback_ledger::{Leaf, LeafKind};
use answerback_store::{LedgerEntry, Store};
use anyhow::{Error, anyhow};
use serde_json::{Value, json};

use crate::options::OutputFormat;
use crate::output::{push_line, sanitise};
use crate::plural::count_noun;

/// Prints one line per entry.
pub(super) fn print(
    output: &mut impl Write,
    entries: &[LedgerEntry],
    format: OutputFormat,
) -> anyhow::Result<()> {
    let mut lines = String::new();
    for entry in entries {
        match format {
            OutputFormat::Text => {
                lines.push_str(&sanitise(&row(entry)));
                lines.push('\n');
            }
            OutputFormat::Json => push_line(&mut lines, &value(entry))?,
        }
    }
    output.write_all(lines.as_bytes())?;
    Ok(output.flush()?)
}

/// Returns an error with the reason why the entry does not exist.
pub(super) fn missing(store: &Store, index: u64) -> anyhow::Result<Error> {
    let head = store.head()?;
    if index < head.minimum {
        return Ok(anyhow!("entry {index} was pruned; the log begins at entry {}", head.minimum));
    }
    let entries = count_noun(head.size, "entry");
    Ok(anyhow!("there is no entry {index}; the log has {entries}, counted from 0"))
}

/// Converts an entry to JSON, without its content.
pub(super) fn value(entry: &LedgerEntry) -> Value {
    json!({
        "index": entry.index.to_string(),
        "hash": entry.hash.to_string(),
        "leaf": entry.leaf.members(),
    })
}

/// Formats an entry in one line: index, time, kind and the most important members.
fn row(entry: &LedgerEntry) -> String {
    let leaf = &entry.leaf;
    let time = leaf.text("ts").unwrap_or_default();
    let mut row = format!("{:>7}  {time}  {:<10}", entry.index, leaf.kind().as_str());
    for word in main_members(leaf) {
        row.push_str("  ");
        row.push_str(&word);
    }
    row.truncate(row.trim_end().len());
    row
}

fn main_members(leaf: &Leaf) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for name in ["subject", "agent_id", "tool", "contract", "status", "outcome", "decision"] {
        words.extend(leaf.text(name).map(ToOwned::to_owned));
    }
    // Status and outcome are often the same word.
    words.dedup();
    if leaf.member("tool_sha256").is_some() {
        words.push("(unknown tool)".to_owned());
    }
    match leaf.kind() {
        LeafKind::Erasure => {
            let text = |name| leaf.text(name).unwrap_or_default();
            words.push(format!(
                "part {} of {} ({})",
                text("target_part"),
                text("target_index"),
                text("basis")
            ));
        }
        LeafKind::Prune => words.push(format!("below {}", leaf.text("below").unwrap_or_default())),
        _ => {}
    }
    if let Some(codes) = leaf.member("codes").and_then(Value::as_array) {
        words.extend(codes.iter().filter_map(Value::as_str).map(ToOwned::to_owned));
    }
    if let Some(request) = leaf.text("request_index") {
        words.push(format!("to {request}"));
    }
    words
}
